"""The guide's exact method for jobs with fixed times: against enumeration, and as the page says."""

import inspect
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Status, solve

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))
import temporal_knapsack as problem  # noqa: E402


def feasible(jobs, machine, taken):
    """Whether a machine has room for a set of jobs at every start."""
    own = np.array(taken, dtype=np.int64)
    runs = (jobs.start[own] <= jobs.start[:, None]) & (jobs.start[:, None] < jobs.end[own])
    return bool((runs @ jobs.size[machine, own] <= jobs.room).all())


def sets(count):
    """All sets of jobs."""
    every = range(count)
    return itertools.chain.from_iterable(itertools.combinations(every, n) for n in range(count + 1))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 4))
def test_a_plan_is_the_most_valuable_one_that_conditions_allow(seed, count, beside):
    rng = np.random.default_rng(seed)
    jobs = problem.draw(rng, count, 1, beside)
    value = rng.integers(-5, 20, count).astype(float)
    least = {j: 1 for j in range(count) if rng.random() < 0.1}
    most = {j: 0 for j in range(count) if j not in least and rng.random() < 0.1}
    allowed = [
        value[list(taken)].sum()
        for taken in sets(count)
        if set(least) <= set(taken) and not set(most) & set(taken) and feasible(jobs, 0, taken)
    ]
    best, taken = problem.best_plan(jobs, 0, value, least, most)
    assert best == pytest.approx(max(allowed, default=-np.inf))
    if allowed:
        assert value[taken].sum() == pytest.approx(best)
        assert feasible(jobs, 0, taken)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 3))
def test_columns_and_the_compact_model_have_one_optimum(seed, count, machines):
    jobs = problem.draw(np.random.default_rng(seed), count, machines, beside=4)
    found = problem.temporal_knapsack(jobs).solve(dive_every=None, master_every=None)
    expected = solve(problem.compact(jobs))
    assert found.status is expected.status is Status.OPTIMAL
    assert -found.objective == pytest.approx(expected.objective) == pytest.approx(-found.bound)
    done = [j for column, _ in found.chosen for j in column.rows.tolist()]
    assert len(done) == len(set(done))
    assert all(feasible(jobs, column.block, column.rows) for column, _ in found.chosen)


@st.composite
def tiny(draw):
    """Up to five jobs on up to two machines: ties, identical jobs, profits and sizes of zero."""
    count, machines = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    start = np.sort(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    length = np.array(draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))

    def table(most):
        cells = st.lists(st.integers(0, most), min_size=count, max_size=count)
        return np.array(draw(st.lists(cells, min_size=machines, max_size=machines)))

    return problem.Jobs(start, start + length, table(3), table(2), draw(st.integers(0, 4)))


@settings(deadline=None, max_examples=60)
@given(tiny())
def test_columns_find_the_optimum_of_all_assignments_in_the_face_of_ties(jobs):
    machines, count = jobs.size.shape
    most = 0
    for machine in itertools.product(range(machines + 1), repeat=count):  # the last: not taken
        plans = [np.flatnonzero(np.array(machine) == i) for i in range(machines)]
        if all(feasible(jobs, i, plan) for i, plan in enumerate(plans)):
            most = max(most, sum(int(jobs.profit[i, plan].sum()) for i, plan in enumerate(plans)))
    found = problem.temporal_knapsack(jobs).solve(integral_objective=True)
    assert found.status is Status.OPTIMAL
    assert -found.objective == pytest.approx(most) == pytest.approx(-found.bound)


def test_the_page_shows_the_method_as_it_is_and_it_has_at_most_80_lines():
    page = (ROOT / "docs" / "decomposition.md").read_text(encoding="utf-8")
    parts = problem.Jobs, problem.best_plan, problem.temporal_knapsack
    written = [inspect.getsource(part) for part in parts]
    assert all(part in page for part in written)
    assert sum(part.count("\n") for part in written) <= 80
