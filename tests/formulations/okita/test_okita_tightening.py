"""Rows that leave out solutions but never every optimum, and schedules as points to start from."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny, worked_example

from formulations.okita import PROBLEM, Instance, Schedule
from formulations.okita.check import check, cost
from formulations.okita.encode import encode_aggregated, encode_logical, encode_problem_2
from formulations.okita.latency import Latencies
from formulations.okita.problem_2 import problem_2
from formulations.okita.problem_2_aggregated import problem_2_aggregated, problem_2_logical
from formulations.okita.symmetry import (
    direct_sites,
    interchangeable_sites,
    site_weights,
    without_detours,
)
from heuristics.okita import HEURISTICS
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

AGGREGATED = (
    ("problem_2_aggregated", "highs"),
    ("problem_2_aggregated(exchange=hull)", "highs"),
    ("problem_2_logical", "cpsat"),
)
ENCODED = (
    (problem_2_aggregated, encode_aggregated, {}),
    (
        problem_2_aggregated,
        encode_aggregated,
        {"exchange": "hull", "order_sites": True, "direct_transport": True},
    ),
    (problem_2_aggregated, encode_aggregated, {"no_idle": False}),
    (problem_2_logical, encode_logical, {"order_sites": True, "direct_transport": True}),
    (problem_2, encode_problem_2, {}),
)


def symmetric(seed, **options):
    """A tiny instance with two or three sites that can be exchanged, and sometimes equal jobs."""
    rng = np.random.default_rng(seed)
    base = tiny(seed, jobs=2, sites=int(rng.integers(1, 3)), most_chunks=2, **options)
    copied = int(rng.integers(base.sites))
    place = np.append(np.arange(base.sites), copied)
    q = base.unit_bandwidth_cost[np.ix_(place, place)]
    q[copied, -1] = q[-1, copied] = rng.integers(0, 4)
    changed = replace(
        base,
        capacity=base.capacity[place],
        unit_bandwidth_cost=q,
        num_chunks=base.num_chunks[:, place],
    )
    return changed.select_jobs([0, 0]) if rng.random() < 0.4 else changed


def triangular(seed, **options):
    """A tiny instance whose bandwidth costs are distances on a line, some of them 0."""
    base = tiny(seed, sites=3, most_chunks=2, **options)
    at = np.random.default_rng(seed).integers(0, 4, 3).astype(float)
    return replace(base, unit_bandwidth_cost=np.abs(at[:, None] - at))


def idle(instance, schedule):
    """Whether some workers train nothing."""
    trained = {}
    for row in zip(
        schedule.move_job, schedule.move_slot, schedule.move_target, schedule.move_chunks,
        strict=True,
    ):  # fmt: skip
        trained[row[:3]] = trained.get(row[:3], 0) + row[3]
    return any(
        row[3] > instance.workers_needed(row[0], trained.get(row[:3], 0))
        for row in zip(
            schedule.worker_job, schedule.worker_slot, schedule.worker_site,
            schedule.worker_count, strict=True,
        )
    )  # fmt: skip


def objective(name, instance, solver=None):
    answer = PROBLEM.solve(name, instance, solver=solver, options=Options(time_limit=30.0))
    assert answer.solution.status is Status.OPTIMAL, (name, answer.solution)
    assert check(instance, answer.schedule) == []
    return answer.solution.objective


def with_options(name, options):
    return f"{name[:-1]}, {options})" if name.endswith(")") else f"{name}({options})"


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_putting_sites_in_order_leaves_an_optimum(seed):
    instance = symmetric(seed)
    assert interchangeable_sites(instance)[-1] < instance.sites - 1
    expected = objective("problem_2_columns", instance)
    for name, solver in AGGREGATED:
        for ordered in (False, True):
            called = with_options(name, f"order_sites={ordered}, direct_transport={ordered}")
            assert objective(called, instance, solver) == pytest.approx(expected), called


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.booleans())
def test_sparing_sites_their_detours_leaves_an_optimum(seed, triangle):
    instance = triangular(seed) if triangle else tiny(seed, sites=3, most_chunks=2)
    assert direct_sites(instance).all() or not triangle
    expected = objective("problem_2_columns", instance)
    for name, solver in AGGREGATED:
        called = with_options(name, "direct_transport=True")
        assert objective(called, instance, solver) == pytest.approx(expected), called


def test_a_site_through_which_the_way_is_shorter_may_pass_chunks_on():
    q = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0.0]])
    instance = replace(
        tiny(0, jobs=1, sites=3), unit_bandwidth_cost=q, num_chunks=np.array([[2, 1, 0]])
    )
    assert direct_sites(instance).tolist() == [True, False, True]
    through = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]])
    spared = without_detours(through, np.ones(3, dtype=bool))
    assert spared.tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert (through * q).sum() < (spared * q).sum()
    assert (without_detours(through, direct_sites(instance)) == through).all()


def test_interchangeable_sites_are_the_same_in_everything():
    even = 1.0 - np.eye(4)
    instance = Instance.build(
        capacity=[4, 4, 4, 4],
        unit_bandwidth_cost=even,
        release_slot=1,
        num_chunks=[[1, 1, 1, 1]],
        latency=Latencies.build("linear", [1.0]),
        worker_rate=1,
        worker_demand=1,
        ps_demand=1,
    )
    assert interchangeable_sites(instance).tolist() == [0, 0, 0, 0]
    skewed = even.copy()
    skewed[0, 1] = skewed[1, 0] = 2.0  # site 0 is closer to 2 and 3 than to 1
    for change, groups in (
        ({"capacity": np.array([[4], [5], [4], [4]])}, [0, 1, 0, 0]),
        ({"num_chunks": np.array([[2, 1, 1, 1]])}, [0, 1, 1, 1]),
        ({"unit_bandwidth_cost": skewed}, [0, 0, 2, 2]),
        ({"unit_bandwidth_cost": np.triu(even)}, [0, 1, 2, 3]),
    ):
        assert interchangeable_sites(replace(instance, **change)).tolist() == groups
    lone = even.copy()
    lone[0, 3] = 5.0  # 1 and 2 stay alike though neither is like 0 or 3
    assert interchangeable_sites(replace(instance, unit_bandwidth_cost=lone)).tolist() == [
        0,
        1,
        1,
        3,
    ]


def test_site_weights_are_lexicographic_and_bounded():
    instance = worked_example()
    assert site_weights(instance).tolist() == [6, 1]  # five chunks of the second job
    many = instance.select_jobs([0] * 12)
    assert site_weights(many).max() <= 10_000
    assert (site_weights(many)[-3:] == 0).all()


def test_of_a_schedule_and_its_mirror_image_only_one_is_in_order():
    base = worked_example()
    instance = replace(base, capacity=np.array([[4], [4]]), num_chunks=np.array([[3, 3], [2, 2]]))
    everything_at = {
        site: Schedule.build(
            workers=[(0, 1, site, 3), (1, 2, site, 2)],
            servers=[(0, 1, site), (1, 2, site)],
            moves=[
                row
                for job, slot, half in ((0, 1, 3), (1, 2, 2))
                for row in ((job, slot, site, site, half), (job, slot, 1 - site, site, half))
            ],
        )
        for site in (0, 1)
    }
    assert all(check(instance, schedule) == [] for schedule in everything_at.values())
    limits = {"cost_limit": 100.0}
    loose = problem_2_aggregated(instance, **limits)
    strict = problem_2_aggregated(instance, order_sites=True, **limits)
    point = encode_aggregated(instance, everything_at[0], **limits)
    mirrored = {
        name: value[:, ::-1] if name in ("y", "h", "s") else value for name, value in point.items()
    }
    mirrored["G"] = point["G"][:, ::-1, ::-1]
    assert loose.violations(mirrored) == loose.violations(point) == []
    assert strict.violations(point) == []
    assert [broken.block for broken in strict.violations(mirrored)] == ["sites"]
    again = encode_aggregated(instance, everything_at[1], **limits)
    assert all(np.array_equal(again[name], point[name]) for name in point)


def test_a_detour_that_costs_nothing_is_still_left_out():
    instance = replace(
        worked_example().select_jobs([0]), capacity=np.array([[4], [4]]),
        unit_bandwidth_cost=np.zeros((2, 2)), num_chunks=np.array([[2, 2]]),
    )  # fmt: skip
    swapped = [(0, 1, 0, 0, 1), (0, 1, 0, 1, 1), (0, 1, 1, 0, 1), (0, 1, 1, 1, 1)]
    schedule = Schedule.build(
        workers=[(0, 1, 0, 1), (0, 1, 1, 1)], servers=[(0, 1, 0)], moves=swapped
    )
    assert check(instance, schedule) == []
    model = problem_2_aggregated(instance, direct_transport=True)
    point = encode_aggregated(instance, schedule, direct_transport=True)
    assert model.violations(point) == []
    assert point["G"].tolist() == [[[2, 0], [0, 2]]]
    detour = {**point, "G": np.array([[[1, 1], [1, 1]]])}
    assert problem_2_aggregated(instance).violations(detour) == []
    for imports in ([0, 0], [0, 1], [1, 0], [1, 1]):
        broken = model.violations({**detour, "imports": np.array(imports)})
        assert {one.block for one in broken} <= {"direct:to", "direct:from"}
        assert broken


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([tiny, symmetric, triangular]))
def test_a_heuristics_schedule_is_a_point_of_every_model_at_its_cost(seed, draw):
    instance = draw(seed, slow=False)
    for name in ("okita", "fifo", "drf", "oasis"):
        schedule = HEURISTICS[name].run(instance, np.random.default_rng(seed))
        price = cost(instance, schedule)
        limits = {"cost_limit": price}
        for build, encode, options in ENCODED:
            model = build(instance, **limits, **options)
            point = encode(instance, schedule, **limits, **options)
            assert model.violations(point) == [], (name, build.__name__, options)
            # workers that train nothing are left out, and data go the cheapest way
            assert model.value(point) <= price * (1 + 1e-12) + 1e-9
            if build is problem_2 and not idle(instance, schedule):
                assert model.value(point) == pytest.approx(price)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([tiny, symmetric, triangular]))
def test_an_optimal_schedule_is_a_point_of_every_model_at_the_optimum(seed, draw):
    instance = draw(seed)
    answer = PROBLEM.solve("problem_2_columns", instance)
    for build, encode, options in ENCODED:
        model = build(instance, **options)
        point = encode(instance, answer.schedule, **options)
        assert model.violations(point) == [], (build.__name__, options)
        assert model.value(point) == pytest.approx(answer.solution.objective)


def test_a_schedule_that_needs_slots_left_out_gives_way_to_the_one_by_which_they_are():
    instance = worked_example()
    late = Schedule.build(
        workers=[(0, 1, 1, 3), (1, 9, 1, 3)], servers=[(0, 1, 1), (1, 9, 1)],
        moves=[(0, 1, 0, 1, 4), (0, 1, 1, 1, 2), (1, 9, 0, 1, 4), (1, 9, 1, 1, 1)],
    )  # fmt: skip
    assert check(instance, late) == []
    for build, encode, _ in ENCODED:
        model = build(instance)
        point = encode(instance, late)
        assert model.violations(point) == []
        assert model.value(point) < cost(instance, late)
    assert encode_aggregated(instance, late, cost_limit=12.0 - 1e-3) == {}


@pytest.mark.parametrize("name", ["problem_2_aggregated", "problem_2_logical", "problem_2"])
def test_a_solver_that_starts_from_a_schedule_is_no_worse_than_it(name):
    instance = PROBLEM.generate(np.random.default_rng(2), jobs=3, sites=3, horizon=20)
    schedule = HEURISTICS["okita"].run(instance, np.random.default_rng(0))
    answer = PROBLEM.solve(name, instance, start=schedule, options=Options(time_limit=2.0))
    assert answer.solution.objective <= cost(instance, schedule) * (1 + 1e-9)
    assert check(instance, answer.schedule) == []


@pytest.mark.parametrize(
    "name",
    ["problem_2_aggregated(exchange=hull)", "problem_2_aggregated(cut_off=False)", "problem_2"],
)
def test_a_start_is_told_the_options_of_the_model_it_starts(name):
    instance = PROBLEM.generate(np.random.default_rng(0), jobs=2, sites=2, horizon=5)
    start = HEURISTICS["okita"].run(instance, np.random.default_rng(0))
    answer = PROBLEM.solve(name, instance, start=start)
    alone = PROBLEM.solve(name, instance)
    assert answer.solution.status == "optimal"
    assert answer.solution.objective == pytest.approx(alone.solution.objective, rel=1e-6)
