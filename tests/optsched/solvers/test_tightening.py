"""Large constants made small, and points split where a solver rounded."""

import itertools

import numpy as np
import pytest
from support.campaign import examine, structured_recipe_of
from support.recipe import build
from support.structured_models import FAMILIES, structured_recipe

from optsched import Model, solve
from optsched.solvers.registry import available
from optsched.solvers.repairs.tightening import tightened
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.solution import Status
from optsched.testing import Word

MIXED = [
    name for name in available() if name not in ("cpsat", "glop", "pdlp", "exact", "tree-search")
]


def switched(big: float, upper: float = 12.0) -> Model:
    m = Model()
    x, y = m.continuous("x", 2, upper=upper), m.binary("y", 2)
    m.add("on", x <= big * y)
    m.add("least", big * (1 - y) + x >= 3)
    m.minimize(2 * x.sum() + y @ [1.0, 5.0])
    return m


def test_a_constant_becomes_as_small_as_the_bounds_allow():
    form = tightened(switched(1e7).compile(set()))
    dense = form.rows.matrix.toarray()
    assert dense[:2, 2:] == pytest.approx(-12 * np.eye(2), abs=0.02)
    assert dense[2:, 2:] == pytest.approx(-3 * np.eye(2), abs=0.02)
    assert form.rows.lower[2:] == pytest.approx([0, 0], abs=0.02)


@pytest.mark.parametrize("seed", range(40))
def test_no_whole_point_comes_or_goes(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.continuous("x", 2, lower=-2, upper=9)
    z = m.integer("z", 2, lower=[-1, 0], upper=[2, 1])
    big = 10.0 ** rng.integers(3, 8, size=(3, 2)) * rng.choice([-1, 1], size=(3, 2))
    rows = rng.integers(-3, 4, size=(3, 2)) @ x + big @ z
    m.add("rows", rows <= rng.integers(-5, 20, size=3) + np.abs(big).sum(axis=1) * rng.random(3))
    form = with_whole_bounds(m.compile(set()))
    tight = tightened(form)
    corners = itertools.product((-2.0, 1.5, 9.0), (-2.0, 3.0, 9.0), range(-1, 3), range(2))
    for corner in corners:
        kept = [(f.rows.matrix @ corner <= f.rows.upper + 1e-5).all() for f in (form, tight)]
        assert kept[0] == kept[1], corner


@pytest.mark.parametrize("solver", MIXED)
@pytest.mark.parametrize("sign", [1, -1])
def test_between_the_last_whole_number_and_the_end_that_a_row_implies_nothing_is_cut_off(
    solver, sign
):
    """z is at most 2.5, so 2; the constant made small as if z reached 2.5 cut x = 9 off there."""
    m = Model()
    x = m.continuous("x", upper=9)
    z = m.integer("z") if sign > 0 else m.integer("z", lower=-np.inf, upper=0)
    m.add("room", x + 1e4 * sign * z <= 25_000)
    m.maximize(x + 100 * sign * z)
    solution = solve(m, solver)
    assert solution.status is Status.OPTIMAL
    assert (solution.objective, solution["x"], solution["z"]) == pytest.approx((209, 9, 2 * sign))


def test_a_model_without_large_constants_stays_as_it_is():
    form = switched(100.0).compile(set())
    assert tightened(form) is form


@pytest.mark.parametrize("solver", MIXED)
def test_an_optimum_is_found_where_no_bound_makes_the_constant_small(solver):
    """Rounded, the solver's first point breaks a row; split, its columns are whole."""
    m = Model()
    x, y = m.continuous("x", 3), m.binary("y", 3)
    m.add("on", x <= 1e8 * y)
    m.add("total", x.sum() >= 30)
    m.minimize(x @ [1.0, 2.0, 3.0] + y @ [50.0, 20.0, 5.0])
    solution = solve(m, solver)
    assert solution.status is Status.OPTIMAL, solution
    assert solution.objective == pytest.approx(80)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("solver", MIXED)
def test_structured_models_agree_with_enumeration(family, solver):
    for seed in range(4):
        draw = lambda number: structured_recipe(np.random.default_rng(number), family)  # noqa: E731
        assert not examine(seed, [solver], draw).wrong


@pytest.mark.parametrize("seed", range(12))
def test_structured_models_once_answered_wrongly_are_right(seed):
    """HiGHS, SciPy's HiGHS and CBC: broken rows, false bounds, lost optima, false infeasibility."""
    assert all(verdict.word is Word.RIGHT for verdict in examine(
        seed, MIXED, structured_recipe_of).results)  # fmt: skip


def test_structured_models_can_be_built_and_are_told_by_their_seed():
    assert structured_recipe_of(5) == structured_recipe_of(5) != structured_recipe_of(6)
    assert build(structured_recipe_of(5)).columns


@pytest.mark.parametrize("solver", MIXED)
def test_an_optimum_lost_behind_a_large_constant_is_found_by_a_second_look(solver):
    """SCIP and CBC kept to the first branch: jobs in sequence, starts without an upper bound."""
    m = Model()
    start, first = m.continuous("start", 3), m.binary("first", 2)
    m.add("a", start[0] - start[1] - 1e8 * first[0] >= -99_999_993.5)
    m.add("b", start[1] + first[0] >= 7)
    m.add("c", start[2] >= 7)
    m.add("d", start[1] - start[2] - 1e8 * first[1] >= -99_999_993)
    m.add("e", start[2] - start[1] + 1e8 * first[1] >= 6.5)
    m.minimize(start @ [1.0, 0.00275, 1.0])
    solution = solve(m, solver)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(7.0385, rel=1e-6)


def lot_sizing():
    """CBC loses the optimum: lots of 6.75 are made at once, or more is made in the next period."""
    m = Model()
    made, stock = m.continuous("made", 2), m.continuous("stock")
    set_up, lots = m.binary("set_up"), m.integer("lots", upper=4)
    m.add("first", made[0] - stock == 14)
    m.add("second", stock + made[1] >= 10.75)
    m.add("open", made[1] <= 1e5 * set_up)
    m.add("lots", made[0] == 6.75 * lots)
    m.minimize(13 * set_up + 2 * made[1] + 3 * stock)
    return m, 39.0


def sequence():
    """SCIP loses the optimum; only the objective bounds the starts as well as it takes."""
    m = Model()
    start, first = m.continuous("start", 3), m.binary("first", 2)
    m.add("a", start[0] + start[1] - 1e7 * first[0] >= -9_999_993)
    m.add("b", 1e7 * first[0] >= 3)
    m.add("c", start[0] - start[2] - 1e7 * first[1] >= -9_999_994)
    m.add("d", start[2] - start[0] + 1e7 * first[1] >= 3)
    m.add("e", -start[2] >= -9_999_994)
    m.add("f", start[2] >= 7)
    m.minimize(start @ [0.003, 1.0, 0.003])
    return m, 0.051


def split_sequence():
    """HiGHS loses the optimum while its first point, which breaks a row, is split."""
    m = Model()
    start, first = m.continuous("start", 3), m.binary("first", 3)
    one, other = np.array([0, 0, 1]), np.array([1, 2, 2])
    gap = start[one] - start[other] - 1e8 * first
    m.add("before", gap >= [-99_999_995.25, -99_999_993, -99_999_993])
    m.add("after", -gap >= [3, 3, 4.75])
    m.add("open", start[1:] >= 2)
    m.add("due", start[2] <= 11.75)
    m.minimize(start @ [7.0, 7.0, 5.0])
    return m, 59.75


@pytest.mark.parametrize("solver", MIXED)
@pytest.mark.parametrize("draw", [lot_sizing, sequence, split_sequence])
def test_an_optimum_lost_is_found_within_the_bounds_that_the_first_one_implies(draw, solver):
    m, optimum = draw()
    solution = solve(m, solver)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum)


def test_nothing_is_unbounded_whose_columns_the_rows_bound():
    m = Model()
    x, y = m.continuous("x", 2), m.continuous("y", 2, lower=3, upper=3)
    m.add("rows", x <= [5.25, 3.75] * y)
    m.maximize(x @ [6e7, 4.5e7])
    assert solve(m, "pdlp").status is not Status.UNBOUNDED
    n = Model()
    z = n.continuous("z", 2)
    n.add("rows", z[0] - z[1] <= 1)
    n.maximize(z.sum())
    assert solve(n, "highs").status is Status.UNBOUNDED


@pytest.mark.parametrize("solver", ["scip", "highs", "scipy", "cbc"])
def test_a_bound_derived_from_an_empty_store_is_zero(solver):
    """Stock at the end is 0; a bound of 1e-9 in its place has made SCIP lose the optimum."""
    m = Model()
    made, stock, on = m.continuous("made", 3, upper=10), m.continuous("stock", 3), m.binary("on", 3)
    m.add("big M", made[0] <= 1e3 * on[0])
    m.indicator(on[1:], made[1:] <= 0, active=False)
    m.add("first", made[0] - stock[0] == 2)
    m.add("second", made[1] - stock[1] + stock[0] == 6)
    m.add("third", made[2] - stock[2] + stock[1] == 6)
    m.add("end", stock[2] == 0)
    m.minimize(on @ [5, 3, 4] + made @ [3, 8, 3] + stock.sum() * 0.25)
    solution = solve(m, solver)
    assert (solution.status, solution.objective) == ("optimal", pytest.approx(52.5))


def upper_bound(side):
    """The bound that a row implies for a load beside a large constant."""
    m = Model()
    load, on = m.continuous("load"), m.binary("on")
    m.add("open", load <= 1e6 * on)
    m.add("least", load <= side)
    return tightened(m.compile(set())).upper[0]


@pytest.mark.parametrize("side", [0.0, 7.0, 12.25])
def test_a_derived_bound_is_the_number_it_was_loosened_from(side):
    assert upper_bound(side) == side


@pytest.mark.parametrize("side", [2e-8, 7.12345678, 999.9])
def test_a_derived_bound_of_many_digits_goes_outward(side):
    assert side < upper_bound(side) < 1.1 * side


@pytest.mark.parametrize("solver", MIXED)
def test_a_column_without_bounds_stays_free_beside_a_constant_that_is_made_smaller(solver):
    model = Model("free")
    on = model.binary("on", 3)
    free = model.continuous("free", 2, lower=-np.inf)
    model.add("large", -1e7 * on[2] <= 0)
    model.add("tied", free[0] <= 5)
    model.maximize(free[0] - on.sum())
    assert solve(model, solver=solver).objective == pytest.approx(5.0)
