"""scipy's HiGHS as a back end: statuses, duals, and what it refuses."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_models import knapsack, market_split
from support.enumeration import enumerate_optimum

from optsched import InputError, Model, UnsupportedError, solve
from optsched.solvers.solution import Limit, Status

INF = np.inf


@pytest.mark.parametrize("integer", [True, False])
def test_an_optimum_is_proven_with_its_bound(integer):
    solution = solve(knapsack(integer=integer), "scipy")
    assert solution.status is Status.OPTIMAL
    assert solution.checked
    assert (solution.objective, solution.bound) == (9.5, 9.5)


@pytest.mark.parametrize("integer", [True, False])
def test_unbounded_and_infeasible_are_told_apart(integer):
    for extra_row, status in ((False, Status.UNBOUNDED), (True, Status.INFEASIBLE)):
        m = Model()
        x = m.integer("x", 2) if integer else m.continuous("x", 2)
        m.maximize(x.sum())
        m.add("apart", x[0] - x[1] <= 1)
        if extra_row:
            m.add("further", x[0] - x[1] >= 2)
        assert solve(m, "scipy").status is status


def test_a_feasible_unbounded_program_is_not_called_infeasible():
    # what HiGHS's presolve says of it
    m = Model()
    x = m.continuous("x", 5, lower=[-INF, -2, -3, 0, -INF], upper=[INF, 4, INF, 4, 4])
    twice = np.array([6.0, 1, -4, -1, 1])
    m.add("first", (x @ twice).between(-3, 8))
    m.add("second", x @ np.array([0.0, 1, 0, 0, 4]) <= 12)
    m.add("third", x @ np.array([-4.0, 7, 2, -3, 0]) <= 17)
    m.minimize(x @ np.array([-4.0, 5, 1, 8, 8]))
    assert solve(m, "scipy").status is Status.UNBOUNDED


def test_sides_that_exclude_each_other_are_infeasible():
    m = Model()
    x = m.continuous("x", 2, upper=1)
    m.add("impossible", x.sum().between(2, 1))
    assert solve(m, "scipy").status is Status.INFEASIBLE


def test_a_model_without_rows_is_solved():
    for integer in (True, False):
        m = Model()
        x = m.integer("x", 2, upper=3) if integer else m.continuous("x", 2, upper=3)
        m.maximize(x.sum())
        assert solve(m, "scipy").objective == 6


def test_a_time_limit_reads_as_such():
    solution = solve(market_split(), "scipy", time_limit=0.3)
    assert solution.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert solution.limit is Limit.TIME
    assert solution.bound is None or solution.bound <= 1e-6


def test_a_node_limit_reads_as_such():
    solution = solve(market_split(), "scipy", extra={"node_limit": 1}, time_limit=20)
    assert solution.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    assert solution.limit is Limit.NODES


def test_a_gap_asked_for_ends_the_search_without_a_claim_of_optimality():
    m = market_split()
    m.minimize(m["over"].sum() + m["under"].sum() + 1000)
    solution = solve(m, "scipy", gap=0.5, time_limit=20)
    assert solution.status is Status.FEASIBLE
    assert solution.limit is Limit.GAP
    assert solution.bound == pytest.approx(1000)


@pytest.mark.parametrize("maximise", [True, False])
def test_duals_are_what_the_optimum_changes_by(maximise):
    costs, width = np.array([3.0, 1.0, 2.5]), 1e-3

    def program(shift: float = 0.0, column: float = 0.0) -> Model:
        m = Model()
        x = m.continuous("x", 3, lower=np.array([column, 0, 0]), upper=[column, 4, 4])
        m.add("most", (x @ np.array([1.0, 2.0, 1.0])).between(-9, 5 + shift))
        m.add("free", x.sum().between(-INF, INF))
        m.add("least", x.sum().between(1 + shift, 99))
        m.add("same", x[1] - x[2] == 0.5 + shift)
        (m.maximize if maximise else m.minimize)(x @ costs)
        return m

    base = solve(program(), "scipy")
    change = (solve(program(shift=width), "scipy").objective - base.objective) / width
    total = base.dual("most") + base.dual("least") + base.dual("same")
    assert float(total) == pytest.approx(change, abs=1e-6)
    assert abs(change) > 0.1
    assert base.dual("free") == 0
    change = (solve(program(column=width), "scipy").objective - base.objective) / width
    assert float(base.reduced_costs["x"][0]) == pytest.approx(change, abs=1e-6)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_scipy_finds_the_optimum_of_small_models(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    m = Model()
    b = m.binary("b", n)
    y = m.integer("y", n, lower=-2, upper=rng.integers(0, 4, n))
    u = m.continuous("u", n, lower=-1, upper=rng.integers(1, 5, n))
    m.add("row", (b + y).sum() <= float(rng.integers(-3, 6)))
    m.add("range", (b - y + 0.5 * u).between(float(rng.integers(-3, 2)), 2.5))
    m.indicator(b, y + u <= float(rng.integers(-2, 3)))
    total = (y * rng.integers(-3, 4, n)).sum() + (u * (rng.integers(-6, 7, n) / 2)).sum()
    (m.minimize if rng.random() < 0.5 else m.maximize)(total + b.sum())
    truth, solution = enumerate_optimum(m), solve(m, "scipy")
    assert solution.status is truth.status
    if truth.value is not None:
        assert solution.objective == pytest.approx(truth.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "settings_",
    [{"threads": 2}, {"seed": 1}, {"absolute_gap": 1.0}, {"stop": threading.Event()}],
)
def test_options_scipy_does_not_hand_on_are_refused(settings_):
    with pytest.raises(UnsupportedError, match=next(iter(settings_))):
        solve(knapsack(), "scipy", **settings_)


@pytest.mark.parametrize("integer", [True, False])
def test_extra_options_are_those_of_the_function_called(integer):
    assert solve(knapsack(integer=integer), "scipy", extra={"presolve": False}).objective == 9.5
    with pytest.raises(InputError, match="mip_rel_gap"):
        solve(knapsack(integer=integer), "scipy", extra={"mip_rel_gap": 1})


def test_numbers_highs_would_change_are_refused():
    m = Model()
    x = m.continuous("x", 2, upper=1)
    m.add("row", x @ np.array([1.0, 1e-10]) <= 1)
    with pytest.raises(UnsupportedError, match="rescale"):
        solve(m, "scipy")


def test_a_warm_start_is_a_hint_that_may_go_unused():
    solution = solve(knapsack(), "scipy", warm_start={"take": np.ones(3)})
    assert solution.objective == 9.5
