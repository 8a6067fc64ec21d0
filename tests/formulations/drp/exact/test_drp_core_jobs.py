"""Many jobs: prices of capacities bound them, and say which can be among the most."""

import numpy as np
import pytest
from brute_force import optimum
from drp_cases import examples, instances
from hypothesis import given
from hypothesis import strategies as st

from formulations.drp import PROBLEM
from formulations.drp.exact.core_jobs import capacity_rows, priced, value_of
from formulations.drp.generator import generate
from formulations.drp.problem_p3_p5 import soc_bound, tangent_model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status
from optsched.solvers.trajectory import SearchProgress


@pytest.fixture
def few(monkeypatch):
    """Let every instance count as one of many jobs, and begin with a single one."""
    monkeypatch.setattr("formulations.drp.exact.method.MANY_JOBS", 1)
    monkeypatch.setattr("formulations.drp.exact.core_jobs.FIRST", 1)
    monkeypatch.setattr("formulations.drp.exact.core_jobs.WIDE", 0.5)


def with_job(instance, job):
    """Most jobs of a decision that admits this one: by enumeration."""
    others = np.delete(np.arange(instance.num_jobs), job)
    best = 0
    for chosen in range(2 ** len(others)):
        kept = np.sort([job, *others[[bool(chosen >> k & 1) for k in range(len(others))]]])
        if len(kept) > best and optimum(instance.select_jobs(kept)) == len(kept):
            best = len(kept)
    return best


@given(instance=instances(), seed=st.integers(0, 2**32 - 1))
@examples(60)
def test_any_prices_bound_the_optimum_and_every_decision_with_a_job(instance, seed):
    rows = capacity_rows(instance)
    rng = np.random.default_rng(seed)
    prices = rng.exponential(0.3, (len(rows), instance.num_servers))
    found = value_of(instance, rows, prices * (rng.random(prices.shape) < 0.4))
    assert found.total >= optimum(instance) - 1e-9
    for job in range(instance.num_jobs):
        assert with_job(instance, job) <= found.total + min(0.0, found.worth[job]) + 1e-9


@pytest.mark.usefixtures("few")
@given(instance=instances())
@examples(40)
def test_among_few_jobs_at_a_time_the_optimum_is_that_of_all(instance):
    answer = PROBLEM.solve("problem_5_projected", instance)
    best = optimum(instance)
    solution = answer.solution
    assert (solution.status, solution.objective, solution.bound) == (Status.OPTIMAL, best, best)
    assert PROBLEM.check(instance, answer.schedule) == []


@pytest.mark.parametrize("seed", [0, 1])
def test_the_relaxation_over_few_jobs_is_that_over_all(seed, monkeypatch):
    monkeypatch.setattr("formulations.drp.exact.core_jobs.FIRST", 5)
    instance = generate(np.random.default_rng(seed), jobs=60, nodes_per_job=5)
    whole = solve(tangent_model(instance, covers=True).relax(), "highs")
    found = priced(instance, SearchProgress(Options(), maximise=True))
    assert found.bound == pytest.approx(whole.bound, abs=1e-6)
    assert found.bound <= found.total + 1e-9


def test_many_more_jobs_than_fit_are_settled_among_the_few_that_ask_for_least():
    instance = generate(np.random.default_rng(1), jobs=150, nodes_per_job=5)
    answer = PROBLEM.solve("problem_5_projected", instance, options=Options(time_limit=60))
    solution = answer.solution
    assert solution.objective <= solution.bound <= soc_bound(instance)
    assert solution.objective > 0
    assert PROBLEM.check(instance, answer.schedule) == []


def test_without_time_the_prices_alone_bound_and_the_start_is_kept(few):
    instance = generate(np.random.default_rng(0), jobs=30, nodes_per_job=3)
    start = PROBLEM.solve("problem_5_projected", instance).schedule
    answer = PROBLEM.solve(
        "problem_5_projected", instance, options=Options(time_limit=1e-6), start=start
    )
    solution = answer.solution
    assert solution.objective == start.admit.sum()
    assert solution.objective <= solution.bound <= 30
