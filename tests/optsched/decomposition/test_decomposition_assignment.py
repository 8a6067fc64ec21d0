"""Column generation on the generalised assignment problem: a knapsack of jobs per agent."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, Status, solve
from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Duals, Priced


def knapsack(weights: np.ndarray, worth: np.ndarray, capacity: int) -> np.ndarray:
    """Which items are worth most together, by dynamic programming."""
    best, taken = np.zeros(capacity + 1), np.zeros((len(weights), capacity + 1), dtype=bool)
    for j, weight in enumerate(weights):
        if worth[j] > 0 and weight <= capacity:
            candidate = best[: capacity + 1 - weight] + worth[j]
            taken[j, weight:] = candidate > best[weight:]
            best[weight:] = np.maximum(candidate, best[weight:])
    chosen, room = np.zeros(len(weights), dtype=bool), capacity
    for j in reversed(range(len(weights))):
        if taken[j, room]:
            chosen[j] = True
            room -= weights[j]
    return chosen


def assignment(weights: np.ndarray, costs: np.ndarray, room: np.ndarray) -> ColumnGeneration:
    """Columns are sets of jobs of one agent; branching says which agent does which job."""
    agents, jobs = weights.shape

    def price(agent: int, duals: Duals) -> Priced:
        forced, free = np.zeros(jobs, dtype=bool), np.ones(jobs, dtype=bool)
        for job, least in duals.lower.items():
            forced[job] = least >= 1
        for job, most in duals.upper.items():
            free[job] = most >= 1
        left = int(room[agent] - weights[agent][forced].sum())
        if left < 0:
            return Priced(bound=math.inf)
        worth = np.where(forced | ~free, 0.0, duals.rows - duals.weight * costs[agent])
        done = np.flatnonzero(knapsack(weights[agent], worth, left) | forced)
        column = Column(
            agent,
            float(costs[agent][done].sum()),
            done,
            np.ones(len(done)),
            features={int(j): 1 for j in done},
        )
        return Priced([column], bound=duals.price_of(column))

    once = np.ones(jobs)
    return ColumnGeneration(once, once, [ColumnBlock(lower=0)] * agents, price, branching=1)


def direct_model(weights: np.ndarray, costs: np.ndarray, room: np.ndarray) -> Model:
    m = Model("generalised assignment")
    does = m.binary("does", weights.shape)
    m.minimize((costs * does).sum())
    m.add("once", does.sum(axis=0) == 1)
    m.add("room", (weights * does).sum(axis=1) <= room)
    return m


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
