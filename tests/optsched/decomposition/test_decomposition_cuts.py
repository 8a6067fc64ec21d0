"""Cutting planes: rows found by separation give the optimum of the full problem."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from optsched import InputError, Model, Status, solve
from optsched.decomposition import solve_with_cuts
from optsched.solvers.solution import Limit


def tour_model(distance: np.ndarray) -> Model:
    """Every city has two of the edges chosen; that they form one tour is left to cuts."""
    n = len(distance)
    left, right = np.triu_indices(n, 1)
    m = Model("travelling salesman")
    edge = m.binary("edge", len(left))
    m.minimize(edge @ distance[left, right])
    m.add("degree", edge.sum_by(left, n) + edge.sum_by(right, n) == 2)
    return m


def subtours(model: Model, n: int):
    """Separation by connected components: exact where edges are whole."""
    left, right = np.triu_indices(n, 1)

    def separate(values):
        used = values["edge"] > 1e-6
        graph = sp.coo_array((values["edge"][used], (left[used], right[used])), shape=(n, n))
        parts, part = connected_components(graph, directed=False)
        if parts == 1:
            return []
        leaving = [(part[left] == p) != (part[right] == p) for p in range(parts)]
        return [("subtour", model["edge"][mask].sum() >= 2) for mask in leaving]

    return separate


def shortest_tour(distance: np.ndarray) -> float:
    """By trying every tour."""
    n = len(distance)
    return min(
        sum(distance[a, b] for a, b in itertools.pairwise((0, *order, 0)))
        for order in itertools.permutations(range(1, n))
    )


def cities(n: int, seed: int) -> np.ndarray:
    """Two far clusters, so that the first answer is not one tour."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 100, (n, 2)) + 500 * (np.arange(n) % 2)[:, None]
    return np.round(np.linalg.norm(place[:, None] - place, axis=2))


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 10**6), st.booleans())
def test_subtour_cuts_give_the_shortest_tour(seed, relaxation_first):
    distance = cities(7, seed)
    model = tour_model(distance)
    result = solve_with_cuts(model, subtours(model, 7), relaxation_first=relaxation_first)
    assert result.cuts > 0
    assert result.solution.status is Status.OPTIMAL
    assert result.solution.objective == result.solution.bound == shortest_tour(distance)
    assert solve(model).objective <= result.solution.objective
    # the model with its cuts says so by itself
    assert solve(result.model).objective == result.solution.objective


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_round_limit_leaves_a_true_bound(rounds):
    distance = cities(8, seed=4)
    model = tour_model(distance)
    solution = solve_with_cuts(model, subtours(model, 8), round_limit=rounds).solution
    assert solution.bound is not None
    assert solution.bound <= shortest_tour(distance)
    if solution.status is not Status.OPTIMAL:
        assert (solution.status, solution.limit) == (Status.NO_SOLUTION, Limit.NODES)


def test_the_model_given_stays_as_it_is():
    model = tour_model(cities(7, seed=0))
    solve_with_cuts(model, subtours(model, 7))
    assert list(model.blocks) == ["degree"]


def test_cover_cuts_close_the_gap_of_a_knapsack():
    weight, worth = np.array([7.0, 6.0, 5.0, 4.0]), np.array([8.0, 7.0, 6.0, 5.0])
    m = Model("knapsack")
    take = m.binary("take", 4)
    m.maximize(take @ worth)
    m.add("room", take @ weight <= 12)
    covers = [
        list(c)
        for k in (2, 3)
        for c in itertools.combinations(range(4), k)
        if weight[list(c)].sum() > 12
    ]

    def separate(values):
        broken = [c for c in covers if values["take"][c].sum() > len(c) - 1 + 1e-6]
        return [("cover", take[c].sum() <= len(c) - 1) for c in broken]

    relaxed = solve(m.relax())
    result = solve_with_cuts(m.relax(), separate)
    optimum = solve(m).objective
    assert optimum <= result.solution.bound < relaxed.bound - 1e-6
    assert solve_with_cuts(m, separate).solution.objective == optimum


def test_cuts_that_leave_nothing_prove_infeasibility():
    m = Model("nothing left")
    x = m.integer("x", upper=5)
    m.maximize(x)

    def separate(values):
        return [("below", x <= float(values["x"]) - 1)] if values["x"] > -0.5 else []

    solution = solve_with_cuts(m, separate).solution
    assert solution.status is Status.INFEASIBLE
    assert not solution.has_point


def test_an_unbounded_relaxation_is_cut_where_it_runs_off():
    m = Model("runs off")
    x = m.continuous("x", 2)
    m.maximize(x.sum())

    def separate(values):
        worst = int(np.argmax(values["x"]))
        return [("bound", x[worst] <= 3 + worst)] if values["x"][worst] > 3 + worst else []

    solution = solve_with_cuts(m, separate).solution
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 7)


def test_what_no_cut_bounds_is_reported_unbounded():
    m = Model("no end")
    m.maximize(m.continuous("x"))
    solution = solve_with_cuts(m, lambda values: []).solution
    assert solution.status is Status.INFEASIBLE_OR_UNBOUNDED


def test_a_cut_the_solver_cannot_tell_from_satisfied_ends_the_loop():
    m = Model("within tolerance")
    x = m.continuous("x", upper=1)
    m.maximize(x)
    result = solve_with_cuts(m, lambda values: [("again", x <= 1 - 1e-9)])
    assert result.solution.status is Status.NO_SOLUTION
    assert result.solution.bound == pytest.approx(1)
    assert "again" in result.solution.message


def test_an_interrupt_leaves_a_true_bound():
    distance = cities(8, seed=1)
    model = tour_model(distance)
    separate = subtours(model, 8)
    calls = itertools.count(1)

    def interrupted(values):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return separate(values)

    solution = solve_with_cuts(model, interrupted).solution
    assert solution.status is Status.INTERRUPTED
    assert solution.bound is not None
    assert solution.bound <= shortest_tour(distance)


def test_limits_are_heard():
    model = tour_model(cities(8, seed=1))
    late = solve_with_cuts(model, subtours(model, 8), time_limit=1e-9).solution
    assert (late.status, late.limit) == (Status.NO_SOLUTION, Limit.TIME)


def test_options_are_checked_before_anything_runs():
    model = tour_model(cities(5, seed=0))
    with pytest.raises(InputError, match="rounds"):
        solve_with_cuts(model, lambda values: [], rounds=3)
    with pytest.raises(InputError, match="round_limit"):
        solve_with_cuts(model, lambda values: [], round_limit=0)
    with pytest.raises(InputError, match="solver"):
        solve_with_cuts(model, lambda values: [], "abacus")


@pytest.mark.parametrize("limit", [{"time_limit": 1e-9}, {"round_limit": 1}])
def test_no_limit_loses_a_start_that_violates_nothing(limit: dict) -> None:
    distance = cities(8, 0)
    m = tour_model(distance)
    left, right = np.triu_indices(8, 1)
    along = (right - left == 1) | (right - left == 7)
    start = {"edge": along.astype(float)}
    solution = solve_with_cuts(m, subtours(m, 8), warm_start=start, **limit).solution
    assert solution.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert solution.objective is not None
    assert solution.objective <= distance[left, right] @ along
    assert solution.bound is None or solution.bound <= solution.objective


def test_a_start_that_a_row_still_unknown_cuts_off_is_no_answer() -> None:
    m = tour_model(cities(6, 0))
    left, right = np.triu_indices(6, 1)
    start = {"edge": (left % 2 == right % 2).astype(float)}  # two triangles
    solution = solve_with_cuts(m, subtours(m, 6), warm_start=start, time_limit=1e-9).solution
    assert solution.objective is None
