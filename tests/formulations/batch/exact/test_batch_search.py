"""The parts of the search of (2): annealing, cuts, splits, and branch and price."""

import numpy as np
import pytest
from batch_cases import tiny_instances, worked_example
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.batch import COMPLETION, PROBLEM
from formulations.batch.check import check, cost
from formulations.batch.domain_reduction import prospects
from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.improve import Annealing
from formulations.batch.exact.search import Search, SearchParams
from formulations.batch.exact.server_cuts import Runs
from formulations.batch.exact.split import Timetable, split, split_model
from formulations.batch.exact.width_cuts import width_rows
from formulations.batch.generator import generate
from formulations.batch.insertion import Occupancy, inserted, placed_jobs, rows_of, take
from formulations.batch.instance import Instance
from formulations.batch.problem_2 import Objective, problem_2
from formulations.batch.problem_2_intervals import with_cloud
from optsched.solve import solve
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress


@given(instance=tiny_instances(), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_no_schedule_violates_a_cut_and_moves_make_none_worse(
    instance: Instance, seed: int
) -> None:
    chosen = prospects(instance)
    first = inserted(Occupancy(chosen), [], np.flatnonzero(chosen.contested).tolist())
    rng, weight = np.random.default_rng(seed), np.ones(instance.jobs)
    moved = first
    if chosen.contested.any():
        annealing = Annealing(chosen, weight, first, rng)
        moved = annealing.search(Deadline(None), (3.0, 0.1), 2)
    before, after = (with_cloud(chosen, *rows_of(runs)) for runs in (first, moved))
    assert cost(instance, after) <= cost(instance, before)
    k, all_runs = chosen.choices, Runs(chosen, *PooledColumns(chosen).schedules)
    for schedule in (before, after):
        assert not check(instance, schedule) or np.isinf(cost(instance, schedule))
        at = [
            int(i)
            for run in placed_jobs(chosen, schedule)
            for i in np.flatnonzero(
                (all_runs.job == run.job)
                & (all_runs.start == run.start)
                & (all_runs.workers == run.workers.sum())
                & (k.fast[all_runs.choice] == run.together)
            )
        ]
        mine = all_runs.take(np.array(at, dtype=np.int64))
        assert mine.violated(np.ones(len(at))) == []
        assert width_rows(all_runs, mine, np.ones(len(at))) == []
        halves = np.full(len(all_runs.start), 0.5)
        rows = [all_runs.row(cut) for cut in all_runs.violated(halves)]
        rows += width_rows(all_runs, all_runs, halves)
        for counted, values, side in rows:
            assert values[np.isin(counted, at)].sum() <= side + 1e-9


@pytest.mark.parametrize("objective", ["flow", "completion"])
def test_the_same_seed_takes_the_same_path(objective: Objective) -> None:
    problem = {"flow": PROBLEM, "completion": COMPLETION}[objective]
    instance = generate(np.random.default_rng(8), jobs=30, servers=6, time_scale=0.05)
    told: list[list[Progress]] = [[], []]
    ends = []
    for heard in told:
        options = Options(threads=1, seed=3, on_progress=heard.append)
        search = Search(instance, options, objective, SearchParams())
        search.improve(1.0)
        search.relax()
        search.branch(nodes=3)
        ends.append((search.nodes, search.best.value, search.best.bound))
    assert ends[0] == ends[1]
    steps = [[(at.bound, at.objective) for at in heard] for heard in told]
    assert steps[0] == steps[1]
    assert problem.cost(instance, search.best.schedule) == search.best.value


@given(instance=tiny_instances(), relaxed=st.booleans())
@settings(max_examples=40, deadline=None)
def test_bounds_of_branch_and_price_stay_below_the_optimum(
    instance: Instance, relaxed: bool
) -> None:
    optimum = solve(problem_2(instance)).objective
    assert optimum is not None
    for limit in (1, 2, None):
        search = Search(instance, Options(), "flow", SearchParams())
        if relaxed:
            search.insert()
            search.relax()
        search.branch(nodes=limit)
        assert search.best.bound <= optimum <= search.best.value
    assert search.best.bound == search.best.value


def test_a_cut_sees_which_servers_a_job_has_reached() -> None:
    # both jobs reach one server at once and the other in slot 3: only one can run in slot 1
    instance = Instance.build(
        worker_capacity=[[2], [2]],
        ps_capacity=[[2], [2]],
        release_slot=[1, 1],
        num_chunks=[2, 2],
        work_slow=[4, 4],
        work_fast=[4, 4],
        upload_delay=[[0, 2], [0, 2]],
    )
    chosen = prospects(instance)
    runs = Runs(chosen, *PooledColumns(chosen).schedules)
    now = runs.take((runs.start == 1) & (runs.workers == 2) & (runs.end == 2))
    shares = np.full(len(now.start), 2.0 / len(now.start))
    cut = now.violated(shares)[0]
    assert cut.servers.tolist() == [True, False]
    at, values, side = now.row(cut)
    assert values.tolist() == [2.0] * len(at)
    assert side == 2
    answer = PROBLEM.solve("problem_2_offline", instance).solution
    assert answer.objective == answer.bound == solve(problem_2(instance)).objective


def test_a_run_without_a_place_is_dropped_at_its_price() -> None:
    example = worked_example()
    chosen = prospects(example)
    k = chosen.choices
    both = [
        np.flatnonzero((k.job == j) & k.fast & (k.workers == 4 - 2 * (j == 0)))[0] for j in (0, 1)
    ]
    table = Timetable(np.array([0, 1]), np.array(both), np.array([2, 2]))
    found = split(chosen, table, np.array([1.0, 3.0]))
    assert found.kept.tolist() == [False, True]
    assert found.proven


@given(instance=tiny_instances(), seed=st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_what_is_dropped_is_worth_what_another_solver_drops(instance: Instance, seed: int) -> None:
    chosen, rng = prospects(instance, every=True), np.random.default_rng(seed)
    job = np.flatnonzero(chosen.contested)
    at = [rng.choice(np.flatnonzero(chosen.choices.job == j)) for j in job.tolist()]
    choice = np.array(at, dtype=np.int64)
    table = Timetable(job, choice, chosen.first[choice] + rng.integers(0, 2, len(job)))
    penalty = rng.integers(1, 4, len(job)).astype(float)
    found = split(chosen, table, penalty)
    other = solve(split_model(chosen, table, penalty)[0], "cpsat")
    assert found.proven
    assert penalty[found.kept].sum() == other.objective


def test_a_run_that_ends_after_all_slots_that_matter_takes_those_there_are() -> None:
    """In machine code, which does not look at ends of arrays, and interpreted, which raises."""
    for loop in (take.py_func, take):
        workers, services = np.full((3, 2), 5.0), np.ones((3, 2))
        for start, end in ((1, 9), (7, 9)):
            loop(workers, services, np.array([1, 4]), 0, start, end, 1)
        assert workers.tolist() == [[5, 5], [4, 1], [4, 1]]
        assert services.tolist() == [[1, 1], [0, 1], [0, 1]]
