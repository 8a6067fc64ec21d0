"""The back end "exact", beside what every back end must do."""

import numpy as np
import pytest

from optsched import InputError, Model, UnsupportedError, solve
from optsched.solvers.exact.backend import ExactSearch
from optsched.solvers.solution import Limit, Status

# not by its import: a folder of tests that is called exact can be imported, too
try:
    ExactSearch().version()
except ImportError as missing:
    pytest.skip(str(missing), allow_module_level=True)


def knapsack(unit=1.0) -> Model:
    m = Model("knapsack")
    take = m.integer("take", 3, upper=3)
    m.add("weight", take @ [3, 2, 2] <= 7)
    m.maximize(unit * (take @ [6, 5, 4]) + 1)
    return m


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-7, 1e6])
def test_an_optimum_is_the_optimum_in_whatever_units(unit):
    solution = solve(knapsack(unit), ExactSearch())
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(16 * unit + 1, rel=1e-12)
    assert solution.bound == pytest.approx(solution.objective, rel=1e-9)


def test_no_whole_numbers_that_add_up_is_infeasible():
    m = Model()
    x = m.integer("x", 2, lower=-5, upper=10**6)
    m.add("even", x @ [4, 6] == 7)
    assert solve(m, ExactSearch()).status is Status.INFEASIBLE


def test_without_an_objective_any_point_does():
    m = Model()
    x = m.integer("x", 2, upper=9)
    m.add("sum", x @ [2, 3] == 13)
    solution = solve(m, ExactSearch())
    assert solution.status is Status.OPTIMAL
    assert solution["x"] @ [2, 3] == 13


def test_it_confirms_what_another_family_says():
    solution = solve(knapsack(), "highs", confirm=ExactSearch())
    assert solution.message.startswith("confirmed: exact")


def test_it_refuses_what_it_cannot_count():
    m = Model()
    m.minimize(m.continuous("x", upper=1))
    with pytest.raises(UnsupportedError, match="exact takes integer variables only"):
        solve(m, ExactSearch())
    with pytest.raises(UnsupportedError, match="gap"):
        solve(knapsack(), ExactSearch(), gap=0.1)
    with pytest.raises(InputError, match="extra"):
        solve(knapsack(), ExactSearch(), extra={"no such option": 1})


def test_a_time_limit_ends_it_with_a_bound_that_holds():
    rng = np.random.default_rng(1)
    m = Model()
    x, over, under = (
        m.binary("x", 40),
        m.integer("o", 4, upper=10**4),
        m.integer("u", 4, upper=10**4),
    )
    weights = rng.integers(0, 100, (4, 40))
    m.add("split", weights @ x + under - over == weights.sum(axis=1) // 2)
    m.minimize((over + under).sum())
    solution = solve(m, ExactSearch(), time_limit=0.5)
    assert solution.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert solution.limit is Limit.TIME
    assert solution.bound >= 0
