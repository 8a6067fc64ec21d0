"""Problem (2) with chunks that stay where they are: two models, enumeration and the checks."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import preemptive_enumeration as brute_force
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemptive_cases import OPTIMUM, examples, instances

from formulations.preemptive.check import check, cost
from formulations.preemptive.generator import tiny
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.problem_2_no_migration import (
    Task,
    decode_no_migration,
    earliest_deadline_first,
    encode_no_migration,
    problem_2_no_migration,
    problem_2_no_migration_time_free,
)
from heuristics.preemptive.a_online import a_online
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Status

Build = Callable[[Instance], Model]
MODELS: tuple[Build, ...] = (problem_2_no_migration, problem_2_no_migration_time_free)


def agree(instance: Instance, build: Build, solver: str) -> float:
    """The optimum, once enumeration, model and checker have confirmed it."""
    expected = brute_force.no_migration(instance)
    model = build(instance)
    solution = solve(model, solver)
    if expected == np.inf:
        assert solution.status is Status.INFEASIBLE
        return expected
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(expected, abs=OPTIMUM)
    assert model.violations(solution.values) == []
    schedule = decode_no_migration(instance, solution)
    assert np.all(schedule.run_chunk >= 0)
    assert check(instance, schedule, slotted=True, chunks=True) == []
    assert cost(instance, schedule) == pytest.approx(expected, abs=OPTIMUM)
    return expected


@pytest.mark.parametrize("build", MODELS)
@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_the_worked_example_without_migration_costs_15_and_21_at_half_speed(
    example: Instance, doubled: Instance, build: Build, solver: str
) -> None:
    assert agree(example, build, solver) == 15
    assert agree(doubled, build, solver) == 21


@pytest.mark.parametrize("build", MODELS)
@given(data=st.data())
@examples(50)
def test_cpsat_solves_both_models_to_the_enumerated_optimum(build, data):
    fractional, tables = data.draw(st.booleans()), data.draw(st.booleans())
    agree(data.draw(instances(fractional=fractional, tables=tables)), build, "cpsat")


@pytest.mark.parametrize("build", MODELS)
@given(instance=instances(jobs=(2,)))
@examples(12)
def test_highs_solves_both_models_to_the_enumerated_optimum(build, instance):
    agree(instance, build, "highs")


@pytest.mark.parametrize("seed", range(8))
def test_with_and_without_slots_four_jobs_have_the_same_optimum(seed: int) -> None:
    instance = tiny(np.random.default_rng(seed), jobs=4, cloud=seed % 2 == 1)
    by_slots, time_free = (solve(build(instance), "cpsat") for build in MODELS)
    assert by_slots.status is time_free.status is Status.OPTIMAL
    assert by_slots.objective == pytest.approx(time_free.objective, abs=OPTIMUM)


@pytest.mark.parametrize("build", MODELS)
@given(instance=instances(jobs=(2,)), horizon=st.integers(1, 14))
@examples(25)
def test_a_horizon_cuts_both_models_as_it_cuts_enumeration(build, instance, horizon):
    agree(replace(instance, horizon=horizon), build, "cpsat")


@given(instance=instances())
@examples(30)
def test_migration_never_costs_anything(instance):
    assert brute_force.problem_2(instance) <= brute_force.no_migration(instance)


def test_migration_may_save_a_slot():
    """Three chunks of two slots on two workers: McNaughton's rule needs chunks to move."""
    instance = Instance.build(
        release_time=[0],
        num_chunks=3,
        chunk_time_slow=2,
        upload_delay_edge=[[0]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 0],
    )
    assert brute_force.problem_2(instance) == 3
    for build in MODELS:
        assert agree(instance, build, "cpsat") == 4


def test_chunk_times_are_rounded_up_one_by_one():
    instance = Instance.build(
        release_time=[0],
        num_chunks=3,
        chunk_time_slow=1.1,
        upload_delay_edge=[[0]],
        upload_delay_cloud=np.inf,
        worker_server=[0, 0],
    )
    for build in MODELS:
        assert agree(instance, build, "highs") == 4


def test_jobs_barred_from_the_cloud_stay_at_the_edge():
    instance = Instance.build(
        release_time=[0, 0],
        num_chunks=[2, 1],
        chunk_time_slow=[3, 2],
        upload_delay_edge=[[0], [0]],
        upload_delay_cloud=[np.inf, 1],
        worker_server=[0],
    )
    for build in MODELS:
        assert agree(instance, build, "cpsat") == 6 + 3
        solution = solve(build(instance), "cpsat")
        assert solution["cloud"].tolist() == [0, 1]


@pytest.mark.parametrize("build", MODELS)
@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_a_horizon_too_short_for_chunks_that_stay_is_a_status(
    example: Instance, build: Build, solver: str
) -> None:
    assert solve(build(replace(example, horizon=3)), solver).status is Status.INFEASIBLE


@pytest.mark.parametrize("build", MODELS)
@given(data=st.data())
@examples(25)
def test_dispatch_and_completion_times_of_a_schedule_are_a_feasible_start(build, data):
    """Fixed as they are, they extend to a point that costs no more than the schedule."""
    instance = data.draw(instances(tables=data.draw(st.booleans())))
    run = a_online(instance, np.random.default_rng(0))
    start = encode_no_migration(instance, run)
    model = build(instance)
    for name, value in start.items():
        model.add(f"start:{name}", model[name] == value)
    solution = solve(model, "cpsat")
    assert solution.status is Status.OPTIMAL
    assert solution.objective <= cost(instance, run)


def test_a_start_that_ends_after_the_fast_cloud_is_moved_there(example: Instance) -> None:
    """A_online completes A in slot 9; whole in the cloud it is done by 7."""
    run = a_online(example, np.random.default_rng(0))
    start = encode_no_migration(example, run)
    assert start["completion"].tolist() == [7, 7, 5]
    assert start["cloud"].tolist() == [3, 3, 0]
    assert start["together"].tolist() == [1, 1, 0]
    solution = solve(problem_2_no_migration_time_free(example), "cpsat", warm_start=start)
    assert solution.objective == 15 == start["completion"].sum() - 4


# earliest deadline first


@given(
    tasks=st.lists(
        st.tuples(st.integers(0, 8), st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=5
    ),
    order=st.randoms(use_true_random=False),
)
@examples(100)
def test_earliest_deadline_first_meets_deadlines_that_any_priorities_meet(tasks, order):
    """Deadlines are taken from a run by arbitrary fixed priorities."""
    priority = list(range(len(tasks)))
    order.shuffle(priority)
    left = [duration * chunks for _, duration, chunks in tasks]
    due, now = [0] * len(tasks), 0
    while any(left):
        ready = [i for i in priority if left[i] and tasks[i][0] <= now]
        now += 1
        if ready:
            left[ready[0]] -= 1
            due[ready[0]] = now
    runs = list(
        earliest_deadline_first([Task(a, due[i], p, n, i, 0) for i, (a, p, n) in enumerate(tasks)])
    )
    for (_, _, _, end), (_, _, start, _) in pairwise(runs):
        assert end <= start
    for i, (arrival, duration, chunks) in enumerate(tasks):
        mine = [run for run in runs if run[0] == i]
        assert min(start for _, _, start, _ in mine) >= arrival
        assert max(end for *_, end in mine) <= due[i]
        for chunk in range(chunks):
            assert sum(end - start for _, c, start, end in mine if c == chunk) == duration


def test_the_decoded_schedule_numbers_a_jobs_chunks_over_its_workers(example: Instance) -> None:
    solution = solve(problem_2_no_migration(example), "cpsat")
    schedule = decode_no_migration(example, solution)
    for j, chunks in enumerate(example.num_chunks):
        assert set(schedule.run_chunk[schedule.run_job == j]) == set(range(chunks))
    cloud = schedule.run_worker == CLOUD
    assert cloud.sum() == solution["cloud"].sum()
