"""Rows of whole numbers are decided exactly, whatever their size and the solver."""

import itertools

import numpy as np
import pytest

from optsched import Model, solve
from optsched.solvers.repairs.digits import TIED, in_digits, large_in_digits
from optsched.solvers.scaling import with_whole_bounds

SOLVERS = ["highs", "scip", "scipy", "cpsat", "cbc"]


def knapsack(sizes, side, upper, worth=None):
    m = Model()
    k = m.integer("k", len(sizes), upper=upper)
    m.add("memory", k @ np.asarray(sizes, dtype=float) <= side)
    m.maximize(k @ np.asarray(sizes if worth is None else worth, dtype=float))
    return m


@pytest.mark.parametrize("solver", SOLVERS)
def test_bytes_fill_a_memory_to_the_byte(solver):
    g = 2**30
    solution = solve(knapsack([g + 1, 3 * 2**28 + 7], 80 * g - 1, 10**4), solver)
    assert (solution.status, solution.checked) == ("optimal", True)
    assert solution.objective == 85630911200


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_side_one_below_a_reachable_sum_is_not_reached(solver):
    sizes = [7037110, 8245026, 1203878, 8271467]
    assert solve(knapsack(sizes, 42447372, 4), solver).objective == 42443335


def drawn(size, seed):
    """A knapsack of one or two rows, its sides near reachable sums, and its optimum."""
    rng = np.random.default_rng([size, seed])
    sizes = rng.integers(10**size // 10, 10**size, (int(rng.integers(1, 3)), 4))
    sides = sizes @ rng.integers(0, 4, 4) - rng.integers(0, 2, len(sizes))
    worth = sizes[0] if seed % 2 else rng.integers(1, 99, 4)
    points = np.array(list(itertools.product(range(4), repeat=4)))
    fits = (points @ sizes.T <= sides).all(axis=1)
    m = Model()
    k = m.integer("k", 4, upper=3)
    m.add("rows", sizes.astype(float) @ k <= sides.astype(float))
    m.maximize(k @ worth.astype(float))
    return m, max((points[fits] @ worth).tolist(), default=None)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("size", [7, 9, 11])
@pytest.mark.parametrize("seed", range(4))
def test_knapsacks_of_large_numbers_have_the_optimum_of_enumeration(solver, size, seed):
    m, best = drawn(size, seed)
    solution = solve(m, solver)
    if best is None:
        assert solution.status == "infeasible"
    else:
        assert (solution.status, solution.objective) == ("optimal", best)


@pytest.mark.parametrize("solver", ["highs", "scip", "scipy", "cpsat"])
@pytest.mark.parametrize("seed", range(2))
def test_so_do_those_of_numbers_that_a_solver_refuses(solver, seed):
    m, best = drawn(15, seed)
    assert solve(m, solver).objective == best


@pytest.mark.parametrize("solver", ["highs", "scip", "scipy"])
def test_bytes_are_exact_beside_continuous_columns(solver):
    sizes = np.array([7037110.0, 8245026, 1203878, 8271467]) * 1000 + 1
    m = Model()
    k, x = m.integer("k", 4, upper=4), m.continuous("x", upper=1)
    m.add("memory", k @ sizes <= 42447372e3 + 6)
    m.add("beside", x + k.sum() <= 16.5)
    m.maximize(k @ sizes + x)
    points = np.array(list(itertools.product(range(5), repeat=4)))
    best = (points @ sizes)[points @ sizes <= 42447372e3 + 6].max()
    assert solve(m, solver).objective == pytest.approx(best + 1, abs=0.5)


@pytest.mark.parametrize("cents", [123456789, 12345678901])
def test_cents_are_exact(cents):
    price = np.array([cents, cents // 3, cents // 7]) / 100
    m = Model()
    k = m.integer("k", 3, upper=9)
    m.add("budget", k @ price <= float(5 * cents - 1) / 100)
    m.maximize(k @ price)
    points = np.array(list(itertools.product(range(10), repeat=3)))
    total = points @ np.array([cents, cents // 3, cents // 7])
    found = solve(m)
    assert found.status == "optimal"
    assert round(found.objective * 100) == total[total <= 5 * cents - 1].max()


@pytest.mark.parametrize("equal", [False, True])
def test_digits_hold_for_the_points_for_which_the_row_does(equal):
    """Every point, by itself: the row in digits is feasible or not as the row is."""
    a, b = np.array([98765432.0, -12345678.0, 3.0]), 98765432.0 * 2 - 12345678 + 3
    for point in itertools.product(range(3), repeat=3):
        m = Model()
        k = m.integer("k", 3, lower=list(point), upper=list(point))
        m.add("row", k @ a == b if equal else k @ a <= b)
        digits = in_digits(with_whole_bounds(m.compile(set())))
        ends = zip(digits.lower[3:], digits.upper[3:], strict=True)
        carries = itertools.product(*(range(int(low), int(high) + 1) for low, high in ends))
        activities = [digits.rows.matrix @ np.array([*point, *carry]) for carry in carries]
        holds = any(
            ((digits.rows.lower <= activity) & (activity <= digits.rows.upper)).all()
            for activity in activities
        )
        assert holds == (np.dot(a, point) == b if equal else np.dot(a, point) <= b)


def test_digits_are_small():
    digits = in_digits(with_whole_bounds(knapsack([98765432, 2**40 + 1], 3 * 2**40, 9).compile()))
    bounded = np.isfinite(digits.rows.upper)
    assert np.abs(digits.rows.matrix[np.flatnonzero(bounded)].data).max() <= 2**15


@pytest.mark.parametrize(("apart", "in_question"), [(0.9, True), (1.1, False), (0.0, False)])
def test_decimals_that_nearly_tie_are_written_in_digits(apart, in_question):
    m = knapsack([1 / 7, 1 / 7 * (1 - apart * TIED), 2 / 7], 1, 3)
    form = with_whole_bounds(m.compile(set()))
    assert (large_in_digits(form) is not form) == in_question


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
@pytest.mark.parametrize("seed", range(6))
def test_shares_of_a_capacity_that_nearly_tie_are_decided_at_any_tolerance(seed, tolerance):
    """Two servers; what each may hold is a byte more or less than some of the services need."""
    rng = np.random.default_rng(seed)
    size = 10**9 * rng.integers(1, 3, 6) + rng.integers(-1, 2, 6)
    room = np.array([size[rng.random(6) < 0.5].sum() + rng.integers(-1, 2) for _ in range(2)])
    room = np.maximum(room, size.min())
    m = Model()
    on = m.binary("on", (2, 6))
    m.add("once", on.sum(axis=0) <= 1)
    m.add("room", (on * (size / room[:, None])).sum(axis=1) <= 1)
    m.maximize(on.sum())
    best = max(
        np.count_nonzero(place)
        for place in itertools.product(range(3), repeat=6)
        if all(size[np.array(place) == s + 1].sum() <= room[s] for s in range(2))
    )
    found = solve(m, extra={"mip_feasibility_tolerance": tolerance})
    assert (found.status, found.objective) == ("optimal", best)
