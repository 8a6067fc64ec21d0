"""Rows with small coefficients mean what they say, whatever the solver."""

import itertools

import numpy as np
import pytest

from optsched import Model, solve
from optsched.solvers.repairs.row_scaling import SMALL, with_scaled_rows

SOLVERS = ["highs", "scip", "scipy", "cbc"]


def switched_off(capacity, switched):
    """Loads that must be 0 wherever a switch is on, in rows divided by a capacity."""
    m = Model()
    y, x = m.binary("y", 2), m.continuous("x", 2, upper=50)
    m.add("off", x / capacity <= 1 - y)
    m.add("on", y.sum() >= switched)
    m.maximize(x @ [2, 1] + 2 * y.sum())
    return m


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("capacity", [1e6, 1e8, 1e10])
@pytest.mark.parametrize(("switched", "best"), [(2, 4), (0, 150)])
def test_dividing_by_a_capacity_does_not_change_the_optimum(solver, capacity, switched, best):
    solution = solve(switched_off(capacity, switched), solver)
    assert (solution.status, solution.checked) == ("optimal", True)
    assert solution.objective == pytest.approx(best)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("capacity", [1e7, 1e10])
def test_integer_loads_divided_by_a_capacity_are_switched_off(solver, capacity):
    m = Model()
    y, k = m.binary("y"), m.integer("k", upper=50)
    m.add("off", k / capacity <= 1 - y)
    m.add("on", y >= 1)
    m.maximize(k + y)
    assert solve(m, solver).objective == 1


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_worth_the_same_in_any_unit(seed):
    """Random loads, some excluding others; each row in another unit."""
    rng = np.random.default_rng(seed)
    worth, unit = rng.integers(1, 9, 4), 10.0 ** -rng.integers(0, 11, 4)
    other = rng.permutation(4)
    found = []
    for scale in (np.ones(4), unit):
        m = Model()
        y, x = m.binary("y", 4), m.continuous("x", 4, upper=40)
        m.add("off", x * scale + x[other] * scale <= 80 * scale * (1 - y))
        m.add("on", y.sum() >= 2)
        m.add("all", x.sum() * scale[0] <= 90 * scale[0])
        m.maximize(x @ worth)
        found.append(solve(m).objective)
    best = 0.0
    for on in itertools.combinations(range(4), 2):
        free = sorted(
            (worth[j] for j in range(4) if not {j} & {*on, *other[list(on)]}), reverse=True
        )
        left, value = 90.0, 0.0
        for w in free:
            value, left = value + w * min(40.0, left), left - min(40.0, left)
        best = max(best, value)
    assert found == pytest.approx([best, best])


def test_duals_are_those_of_the_rows_as_written():
    m = Model()
    x = m.continuous("x", upper=2e9)
    m.add("limit", x * 2.0**-30 <= 1)
    m.maximize(x)
    solution = solve(m)
    assert solution.objective == 2.0**30
    assert solution.duals["limit"] == pytest.approx(2.0**30)


def multipliers(m):
    return with_scaled_rows(m.compile(set()))[1]


def test_a_row_is_multiplied_by_a_power_of_two_if_a_move_of_one_changes_it_by_less_than_a_tenth():
    m = Model()
    x = m.continuous("x", 2, upper=50)
    m.add("small", x * (0.99 * SMALL) <= 5)
    assert multipliers(m).tolist() == [8, 8]
    m = Model()
    m.add("large", m.continuous("x", 2, upper=50) * (1.01 * SMALL) <= 5)
    assert multipliers(m) is None


def test_a_column_of_small_range_counts_by_its_range():
    m = Model()
    x = m.continuous("x", 2, upper=[2.0**-10, 1])
    m.add("rows", x <= 1)
    assert multipliers(m).tolist() == [2.0**10, 1]
