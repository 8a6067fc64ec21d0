"""Column generation on unrelated machines: a set of jobs per machine, priced by programming."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Status, solve
from optsched.decomposition import Duals, Priced

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from unrelated_machines import compact_assignment as direct_model
from unrelated_machines import (
    compact_completion,
    compact_makespan,
    least_makespan,
    weighted_completion,
)
from unrelated_machines import generalised_assignment as assignment


def draw(seed: int, agents: int, jobs: int, tightness: float = 0.8):
    rng = np.random.default_rng(seed)
    weights = rng.integers(5, 26, (agents, jobs))
    costs = rng.integers(10, 51, (agents, jobs))
    room = np.floor(tightness * weights.sum(axis=1) / agents).astype(int)
    return weights, costs, room


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.integers(3, 9),
    st.sampled_from([0.55, 0.7, 0.8]),
    st.booleans(),
)
def test_the_optimum_equals_that_of_the_direct_model(seed, agents, jobs, tightness, whole):
    data = draw(seed, agents, jobs, tightness)
    direct = solve(direct_model(*data))
    # without heuristics, the tree has to find the optimum by itself
    solution = assignment(*data).solve(integral_objective=whole, dive_every=None, master_every=None)
    assert solution.status is direct.status
    if direct.status is Status.OPTIMAL:
        assert solution.objective == pytest.approx(direct.objective)
        assert solution.bound == pytest.approx(direct.objective)
        done = np.concatenate([column.rows for column, _ in solution.chosen])
        assert sorted(done) == list(range(jobs))


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 8))
def test_weighted_completion_and_makespan_equal_those_of_compact_models(seed, machines, jobs):
    rng = np.random.default_rng(seed)
    times, weights = rng.integers(1, 20, (machines, jobs)), rng.integers(1, 6, jobs)
    found = weighted_completion(times, weights).solve(dive_every=None, master_every=None)
    expected = solve(compact_completion(times, weights)).objective
    assert found.bound == pytest.approx(expected) == found.objective
    longest = solve(compact_makespan(times)).objective
    assert least_makespan(times, 60.0) == (longest, longest)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_bounds_and_relaxations_are_ordered(seed):
    data = draw(seed, 3, 8)
    model, problem = direct_model(*data), assignment(*data)
    direct, relaxed = solve(model), solve(model.relax())
    columns = problem.solve_relaxation()
    if direct.status is not Status.OPTIMAL or columns.status is not Status.OPTIMAL:
        assert direct.status is Status.INFEASIBLE
        return
    assert relaxed.objective - 1e-6 <= columns.bound <= direct.objective + 1e-6
    for step in columns.iterations:
        assert step.bound is None or step.bound <= columns.objective + 1e-9


@pytest.mark.parametrize("rounds", [1, 4, 12, None])
def test_whenever_the_relaxation_ends_its_prices_prove_its_bound(rounds):
    problem = assignment(*draw(1, 5, 30))
    found = problem.solve_relaxation(iteration_limit=rounds)
    asked = Duals(rows=found.prices, exact=True)
    saved = sum(min(0.0, problem.price(i, asked).bound) for i in range(5))
    assert found.bound == pytest.approx(found.prices.sum() + saved)


def test_thirty_jobs_have_a_stronger_bound_than_the_linear_relaxation():
    data = draw(1, 5, 30)
    relaxed = solve(direct_model(*data).relax())
    solution = assignment(*data).solve(integral_objective=True)
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 553)
    assert solution.root_bound > relaxed.bound + 10
    assert solution.objective - solution.root_bound <= 1


def test_a_node_limit_leaves_a_true_bound_and_a_solution():
    data = draw(1, 5, 60)
    solution = assignment(*data).solve(node_limit=2, integral_objective=True)
    assert solution.nodes <= 2
    assert solution.bound <= 1131
    assert solution.objective is None or solution.objective >= 1131


@pytest.mark.parametrize("call", [1, 20, 60, 100, 150, 200])
def test_an_interrupt_at_any_moment_leaves_a_true_bound(call):
    problem, calls = assignment(*draw(3, 4, 20)), itertools.count(1)
    optimum, price = problem.solve(integral_objective=True).objective, problem.price

    def interrupted(agent: int, duals: Duals) -> Priced:
        if next(calls) == call:
            raise KeyboardInterrupt
        return price(agent, duals)

    problem.price = interrupted
    solution = problem.solve()
    assert solution.status in (Status.INTERRUPTED, Status.OPTIMAL)
    assert solution.bound is None or solution.bound <= optimum + 1e-9
    assert solution.objective is None or solution.objective >= optimum
    assert call > 4 or solution.status is Status.INTERRUPTED


def test_jobs_too_large_for_every_agent_are_proven_infeasible():
    weights, costs, room = draw(0, 3, 6)
    weights[:, 2] = room.max() + 1
    solution = assignment(weights, costs, room).solve()
    assert (solution.status, solution.objective, solution.bound) == (Status.INFEASIBLE, None, None)
