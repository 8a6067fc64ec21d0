"""The search for the optimum of (2): limits, threads, steps of the annealing, columns."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from okita_cases import tiny, worked_example

from formulations.okita import PROBLEM, Instance
from formulations.okita.bounds import lb_sites
from formulations.okita.check import check, completion_slots, cost
from formulations.okita.exact.improve import DestroyRepair
from formulations.okita.exact.method import Search, SearchParams, column_bound
from formulations.okita.exact.pricing import SiteLimits
from formulations.okita.horizon import LARGEST_COEFFICIENT
from formulations.okita.latency import Latencies
from formulations.okita.one_job import planner as planning
from formulations.okita.one_job.greedy import in_turn
from formulations.okita.one_job.paths import path_cost, path_of
from formulations.okita.one_job.planner import Planner
from optsched.decomposition import Duals
from optsched.errors import InputError
from optsched.solvers import deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

SEEDS = st.integers(0, 10_000)


def crowd(seed=2, jobs=6):
    """Jobs that arrive nearly at once at three sites."""
    return PROBLEM.generate(np.random.default_rng(seed), jobs=jobs, sites=3, horizon=2)


def moves_of(instance, seed=0):
    """Steps of the annealing from a greedy schedule."""
    planner = Planner(instance)
    made = planner.greedy()
    paths = [path_of(instance, i, made) for i in range(instance.jobs)]
    return DestroyRepair(planner, paths, planner.floors, np.random.default_rng(seed))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(SEEDS)
def test_on_two_threads_the_optimum_is_the_same(seed):
    instance = tiny(seed)
    one, two = (
        PROBLEM.solve("problem_2_columns", instance, options=Options(threads=n)) for n in (1, 2)
    )
    assert one.solution.status is two.solution.status is Status.OPTIMAL
    assert two.solution.objective == pytest.approx(one.solution.objective)
    assert check(instance, two.schedule) == []


def test_a_crowd_is_proven_on_two_threads_and_no_thread_is_left():
    instance, before = crowd(jobs=4), threading.active_count()
    alone, together = (
        PROBLEM.solve("problem_2_columns", instance, options=Options(threads=n)).solution
        for n in (1, 2)
    )
    assert threading.active_count() == before
    assert alone.status is together.status is Status.OPTIMAL
    assert together.objective == pytest.approx(alone.objective)


def test_without_a_time_limit_a_seed_has_one_path():
    instance, costs = crowd(3), []
    for _ in range(2):
        found = []
        options = Options(
            seed=5, on_progress=lambda told, found=found: found.append(told.objective)
        )
        PROBLEM.solve("problem_2_columns", instance, options=options)
        costs.append(found)
    assert costs[0] == costs[1]


def test_parameters_of_the_search_are_options_of_the_method():
    instance = tiny(3)
    plain = PROBLEM.solve("problem_2_columns", instance).solution
    own = PROBLEM.solve("problem_2_columns(states=64, patience=1)", instance).solution
    assert own.objective == pytest.approx(plain.objective)
    with pytest.raises(InputError, match="states"):
        PROBLEM.solve("problem_2_columns(states=1)", instance)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SEEDS, st.sampled_from([0.0, 1.0, 10.0]), st.booleans())
def test_steps_of_the_annealing_lead_from_one_schedule_to_another(seed, temperature, guided):
    moves = moves_of(tiny(seed, jobs=4), seed)
    instance, first = moves.instance, moves.best_cost
    if guided:
        moves.chosen = {i: [(path, 0.5)] for i, (path, _) in enumerate(moves.planner.alone)}
    least = moves.steps(20, temperature)
    assert least == np.inf or least < first
    if least < first:
        moves.keep()
    assert check(instance, moves.schedule) == []
    assert cost(instance, moves.schedule) == pytest.approx(moves.best_cost)
    assert moves.best_cost == pytest.approx(min(first, least))
    held = moves._room.between(1, moves._room.end + 1)
    assert held.min() >= 0
    again = DestroyRepair(moves.planner, moves._paths, moves.floors, moves._rng)
    assert (again._room.between(1, len(held)) == held).all()


def test_steps_make_nothing_if_there_is_no_time():
    moves = moves_of(crowd())
    late = Planner(moves.instance, lambda: True)
    for name in ("searches", "lattices", "alone"):
        late.__dict__[name] = getattr(moves.planner, name)
    moves.planner, before = late, moves.best_cost
    assert moves.steps(5, 0.0) == np.inf
    assert moves.cost == before


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS, st.booleans(), st.sampled_from([0.0, 1.0]))
def test_no_column_is_cheaper_than_its_price_is_said_to_be(seed, exact, weight):
    instance, rng = tiny(seed), np.random.default_rng(seed)
    search = Search(instance, Options(), None, "safe", SearchParams())
    search.plan()
    pricing = search.pricing
    rows = -rng.exponential(1.0, len(pricing.room())) * (rng.random(len(pricing.room())) < 0.3)
    duals = Duals(rows, weight=weight, exact=exact)
    for i in range(instance.jobs):
        priced = pricing(i, duals)
        least = pricing.least(i, pricing.terms(i, rows, weight))
        assert priced.bound <= least + 1e-7
        assert not exact or priced.bound == pytest.approx(least)
        for column in priced.columns:
            assert duals.price_of(column) >= priced.bound - 1e-7
            assert column.cost == pytest.approx(path_cost(instance, i, column.payload))


def test_the_fractional_columns_of_a_relaxation_are_offered_at_what_they_cost():
    instance = crowd()
    search = Search(instance, Options(), None, "safe", SearchParams())
    search.plan()
    assert not search.moves.chosen
    search.relax(1.0)
    for i in range(instance.jobs):
        assert sum(share for _, share in search.moves.chosen[i]) == pytest.approx(1.0)
        for path, _ in search.moves.chosen[i]:
            assert path.price == pytest.approx(path_cost(instance, i, path))


@settings(max_examples=8, deadline=None, derandomize=True)
@given(SEEDS)
def test_without_lattices_bound_and_schedule_still_hold_the_optimum_between_them(seed):
    instance = tiny(seed, sites=2, most_chunks=2)
    exact = PROBLEM.solve("problem_2_columns", instance).solution.objective
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "LARGEST_LATTICE", 0)
        answer = PROBLEM.solve("problem_2_columns", instance)
    assert answer.solution.bound <= exact + 1e-7
    assert exact <= answer.solution.objective + 1e-7
    assert check(instance, answer.schedule) == []


def test_a_horizon_mode_that_is_unknown_is_refused():
    with pytest.raises(InputError, match="horizon_mode"):
        PROBLEM.solve("problem_2_columns(horizon_mode=endless)", tiny(0))


def test_the_bound_of_columns_is_that_of_the_relaxation():
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=5, sites=4, horizon=3)
    assert 0.0 < column_bound(instance) < 700.9471645959146


def test_the_search_keeps_its_time_limit_and_keeps_a_true_bound():
    instance = PROBLEM.generate(np.random.default_rng(6), jobs=6, sites=4, horizon=1)
    start = Planner(instance).best_insertion()  # waits for machine code, which a limit does not
    limit = Options(time_limit=0.5)
    answer = PROBLEM.solve("problem_2_columns", instance, start=start, options=limit)
    assert answer.solution.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert lb_sites(instance) - 1e-9 <= answer.solution.bound <= answer.solution.objective
    assert check(instance, answer.schedule) == []


def test_a_size_beyond_exact_pricing_still_has_a_bound_and_a_schedule():
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=4, sites=20, horizon=3)
    answer = PROBLEM.solve("problem_2_columns", instance)
    assert answer.solution.status is Status.FEASIBLE
    assert lb_sites(instance) < answer.solution.bound <= cost(instance, answer.schedule)
    assert lb_sites(instance) < column_bound(instance) <= answer.solution.objective
    hurried = PROBLEM.solve("problem_2_columns", instance, options=Options(time_limit=1e-3))
    assert lb_sites(instance) <= hurried.solution.bound <= answer.solution.objective


class Turns:
    """A clock that is a second later whenever it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize(("sites", "jobs"), [(20, 12), (4, 12)])
def test_planning_ends_with_the_time_limit_between_two_jobs(monkeypatch, sites, jobs):
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=jobs, sites=sites, horizon=3)
    clock = Turns()
    monkeypatch.setattr(deadline, "perf_counter", clock)
    answer = PROBLEM.solve("problem_2_columns", instance, options=Options(time_limit=2.0))
    assert clock.now <= 9
    assert (answer.solution.status, answer.solution.limit) == (Status.FEASIBLE, Limit.TIME)
    assert answer.solution.bound == pytest.approx(lb_sites(instance))
    assert answer.solution.objective == cost(instance, in_turn(instance))


def test_a_start_is_what_planning_that_was_cut_short_ends_with(monkeypatch):
    instance = worked_example()
    start = PROBLEM.solve("problem_2_columns", instance).schedule
    monkeypatch.setattr(deadline, "perf_counter", Turns())
    limits = Options(time_limit=0.1)
    solution = PROBLEM.solve("problem_2_columns", instance, start=start, options=limits).solution
    assert (solution.status, solution.limit) == (Status.FEASIBLE, Limit.TIME)
    assert solution.objective == pytest.approx(12.0)
    assert lb_sites(instance) <= solution.bound <= 12.0


def queue(**changed):
    """Three jobs of four worker-slots at one site of two units; f(x) = 5 + 2 x."""
    return Instance.build(
        **{
            "capacity": [2], "unit_bandwidth_cost": [[0]], "release_slot": [1, 1, 1],
            "num_chunks": [[4], [4], [4]], "worker_rate": 1, "epochs": 1, "chunk_size_mb": 1,
            "exchange_size_mb": 1, "worker_demand": 1, "ps_demand": 0,
            "latency": Latencies.build("linear", [2.0] * 3, offset=[5.0] * 3),
        } | changed
    )  # fmt: skip


def test_latencies_that_no_solver_may_see_leave_a_schedule_and_a_bound():
    grows = replace(
        queue(),
        latency=Latencies.build("exponential", [20.0] * 3, rate=4.0),
    )  # the last of three in six slots costs 20 exp(20)
    assert float(grows.latency.cost(0, 5)) > LARGEST_COEFFICIENT
    start = Planner(grows).best_insertion()  # waits for machine code, which a limit does not
    limit = Options(time_limit=0.5)
    answer = PROBLEM.solve("problem_2_columns", grows, start=start, options=limit)
    assert check(grows, answer.schedule) == []
    assert completion_slots(grows, answer.schedule).max() == 6
    assert answer.solution.status is Status.FEASIBLE
    assert "latency" in answer.solution.message
    # four worker-slots are done by slot 2; that of the last two is half of what slot 6 costs
    assert answer.solution.objective / 4 < answer.solution.bound <= answer.solution.objective


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_packing_of_a_site_breaks_a_row_by_rounding(seed):
    rng = np.random.default_rng(seed)
    instance = tiny(seed, jobs=4)
    limits = SiteLimits.of(instance)
    for r in range(instance.sites):
        left, taken = instance.capacity[r].copy(), np.zeros(len(limits.site))
        for i in rng.integers(0, instance.jobs, 12):
            serves = bool(rng.random() < 0.3)
            demand = instance.ps_demand[i] if serves else instance.worker_demand[i]
            if (demand <= left).all():
                left -= demand
                taken += limits.server[i] if serves else limits.worker[i]
        mine = limits.site == r
        assert (taken[mine] <= limits.room[mine]).all()


def test_a_crowded_site_that_holds_one_large_worker_is_bounded_beyond_its_capacity():
    """Six of eight jobs want 3 or 4 of the 4 GPUs of one site; the last ends at slot 68, while
    capacities alone let all end at slot 60."""
    instance = PROBLEM.generate(np.random.default_rng(1), jobs=8, sites=6, horizon=20)
    large = instance.worker_demand[:, 0] >= 3
    limits = SiteLimits.of(instance)
    row = (limits.worker[large] == 1.0).all(axis=0) & (limits.room < 1.1) & (limits.site == 5)
    assert row.any()
