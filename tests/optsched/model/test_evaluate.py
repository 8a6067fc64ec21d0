"""A point against a model: decided as exact arithmetic decides."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model
from optsched.model import FEASIBILITY

INF = np.inf


def kinds(model: Model, tolerance: float = FEASIBILITY, **values) -> dict[str, str]:
    return {v.block: v.kind for v in model.violations(values, tolerance)}


def test_a_feasible_point_breaks_nothing():
    m = Model()
    x = m.integer("x", 2, upper=3)
    m.add("row", x.sum() == 4)
    assert m.violations({"x": [1, 3]}) == []
    assert m.violations({"x": [1 + 1e-7, 3 - 1e-7]}) == []


def test_bounds_integrality_and_rows_are_told_apart_with_the_worst_entry():
    m = Model()
    x = m.integer("x", (2, 2), lower=1, upper=3)
    m.continuous("free", lower=-INF)
    m.add("rows", x.sum(axis=0) <= np.array([4, 4]))
    point = {"x": [[0, 1.5], [3, 5]], "free": 7.0}
    by_kind = {v.kind: v for v in m.violations(point)}
    assert set(by_kind) == {"bound", "integrality", "row"}
    bound, row = by_kind["bound"], by_kind["row"]
    assert (bound.block, bound.index, bound.amount, bound.entries) == ("x", (1, 1), 2.0, 2)
    assert (row.block, row.index, row.amount, row.entries) == ("rows", (1,), 2.5, 1)
    assert by_kind["integrality"].index == (0, 1)


@pytest.mark.parametrize("bad", [np.nan, INF, -INF])
def test_a_value_that_is_no_number_breaks_its_bound_and_every_row_it_is_in(bad):
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.add("with", x.sum() <= 1)
    m.add("without", x[1] <= 1)
    assert kinds(m, x=np.array([bad, 0.0])) == {"x": "bound", "with": "row"}
    assert kinds(m.relax(), x=np.array([bad, 0.0])) == {"x": "bound", "with": "row"}


def test_an_indicator_binds_only_where_all_its_literals_are_true():
    m = Model()
    x = m.integer("x", (2, 2), upper=9)
    a, b = m.binary("a", (2, 2)), m.binary("b", 2)
    m.indicator([a, b], x <= 3, active=[True, False], name="when")
    x_value = np.array([[1, 9], [9, 9]])
    assert kinds(m, x=x_value, a=np.ones((2, 2)), b=np.ones(2)) == {}
    assert kinds(m, x=x_value, a=np.zeros((2, 2)), b=np.zeros(2)) == {}
    assert kinds(m, x=np.full((2, 2), 3), a=np.ones((2, 2)), b=np.zeros(2)) == {}
    (broken,) = m.violations({"x": x_value, "a": np.ones((2, 2)), "b": [1, 0]})
    assert (broken.block, broken.kind, broken.amount, broken.entries) == ("when", "row", 6.0, 2)
    assert broken.index == (0, 1)
    # a literal off by a solver's tolerance is still the literal it was meant to be
    nearly = np.full((2, 2), 1 - 1e-7)
    assert kinds(m, x=x_value, a=nearly, b=np.zeros(2)) == {"when": "row"}


def test_a_row_with_a_large_side_is_held_to_the_digits_it_has():
    m = Model()
    m.add("row", m.continuous("x") <= 1e9)
    assert kinds(m, x=1e9 + 500) == {}
    assert kinds(m, x=1e9 + 2000) == {"row": "row"}


def exactly_broken(a, x, side, tolerance, sign) -> bool:
    total = sum((Fraction(p) * Fraction(q) for p, q in zip(a, x, strict=True)), Fraction(0))
    over = sign * (total - Fraction(side))
    return over > Fraction(tolerance) * max(Fraction(1), abs(Fraction(side)))


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_rows_near_their_tolerance_are_decided_exactly(data):
    n = data.draw(st.integers(1, 5))
    size = data.draw(st.sampled_from([1.0, 1e3, 1e9, 1e15]))
    number = st.floats(-size, size, allow_subnormal=False)
    a = data.draw(st.lists(number, min_size=n, max_size=n))
    x = data.draw(st.lists(number, min_size=n, max_size=n))
    tolerance = data.draw(st.sampled_from([0.0, 1e-9, FEASIBILITY]))
    at_least = data.draw(st.booleans())
    sign = -1 if at_least else 1
    # a side at which the row is just about broken, then a few floats to and fro
    total = sum((Fraction(p) * Fraction(q) for p, q in zip(a, x, strict=True)), Fraction(0))
    side = float(total - sign * Fraction(tolerance) * max(Fraction(1), abs(total)))
    for _ in range(data.draw(st.integers(0, 3))):
        side = float(np.nextafter(side, data.draw(st.sampled_from([-INF, INF]))))
    m = Model()
    v = m.continuous("v", n, lower=-INF)
    row = np.array(a) @ v
    m.add("row", row >= side if at_least else row <= side)
    broken = bool(m.violations({"v": np.array(x)}, tolerance))
    assert broken == exactly_broken(a, x, side, tolerance, sign)


def test_a_sum_that_floating_point_gets_wrong_is_decided_right():
    m = Model()
    x = m.continuous("x", 3, lower=-INF)
    m.add("row", x.sum() <= 0)
    point = {"x": np.array([1e16, 1.0, -1e16])}  # numpy says 0, the truth is 1
    (broken,) = m.violations(point)
    assert broken.amount == 1.0


def test_an_exact_tolerance_of_zero_sees_the_smallest_excess():
    m = Model()
    x = m.continuous("x", 2)
    m.add("row", x[0] - x[1] <= 0)
    assert kinds(m, tolerance=0.0, x=np.array([1.0, 1.0])) == {}
    assert kinds(m, tolerance=0.0, x=np.array([np.nextafter(1.0, 2.0), 1.0])) == {"row": "row"}


# tolerances, in powers of two: one case at the tolerance, one just beyond


def beyond(value: float) -> float:
    return float(np.nextafter(value, INF))


@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_and_integrality_forgive_the_tolerance_itself_and_no_more(sign):
    m = Model()
    m.continuous("x", 3, lower=-1, upper=1)
    m.integer("n", 2, lower=-4, upper=4)
    at, over = sign * 1.25, sign * beyond(1.25)
    assert kinds(m, 0.25, x=np.array([at, 0, 1]), n=np.array([sign * 2.25, 1])) == {}
    assert kinds(m, 0.25, x=np.array([at, 0, 1]), n=np.array([sign * beyond(2.25), 1])) == {
        "n": "integrality"
    }
    (broken,) = m.violations({"x": np.array([0, over, at]), "n": np.zeros(2)}, 0.25)
    assert (broken.kind, broken.index, broken.entries) == ("bound", (1,), 1)
    assert broken.amount == pytest.approx(0.25)


@pytest.mark.parametrize(("side", "allowed"), [(0, 0.25), (0.5, 0.25), (1, 0.25), (8, 2.0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_rows_forgive_the_tolerance_times_their_side_where_it_is_above_one(side, allowed, sign):
    m = Model()
    x = m.continuous("x", lower=-INF)
    m.add("row", x <= side if sign > 0 else x >= -side)
    assert kinds(m, 0.25, x=sign * (side + allowed)) == {}
    (broken,) = m.violations({"x": sign * beyond(side + allowed)}, 0.25)
    assert (broken.block, broken.index, broken.entries) == ("row", (), 1)
    assert broken.amount == pytest.approx(allowed)


def test_an_equality_is_broken_on_either_side():
    m = Model()
    m.add("row", m.continuous("x", 2, lower=-INF) == np.array([1.0, 1.0]))
    for point, index, amount in (([1, 1.75], 1, 0.75), ([0.5, 1], 0, 0.5), ([3, -4], 1, 5.0)):
        (broken,) = m.violations({"x": np.array(point)}, 0.25)
        assert (broken.index, broken.amount) == ((index,), amount)
        assert broken.entries == 1 + (point == [3, -4])


def test_an_excess_that_rounds_to_nothing_is_still_one():
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.add("row", x[0] * 2.0**-600 - x[1] * 2.0**-600 <= 0)
    (broken,) = m.violations({"x": np.array([2.0**-500, 2.0**-501])}, 0.0)
    assert broken.amount == float(np.finfo(np.float64).tiny)


def test_rows_without_entries_hold_or_break_by_their_side():
    m = Model()
    x = m.continuous("x", 3)
    m.add("rows", (x * np.array([0.0, 1.0, 0.0])).sum_by(np.array([0, 1, 2]), 4) >= np.array(
        [0.0, 1.0, 0.5, -1.0]))  # fmt: skip
    (broken,) = m.violations({"x": np.array([9.0, 1.0, 9.0])})
    assert (broken.index, broken.amount, broken.entries) == ((2,), 0.5, 1)


def test_a_value_that_is_no_number_touches_no_row_whose_coefficient_is_nothing():
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.add("rows", np.array([[0.0, 1.0], [1.0, 1.0]]) @ x <= 1)
    found = m.violations({"x": np.array([np.nan, 2.0])})
    rows = next(v for v in found if v.block == "rows")
    assert (rows.index, rows.amount, rows.entries) == ((1,), INF, 2)


def test_the_worst_entry_of_a_block_is_the_one_that_is_named():
    m = Model()
    m.continuous("a", 2, upper=1)
    m.continuous("b", (2, 2), upper=1)
    found = m.violations({"a": np.array([1, 2]), "b": np.array([[2, 1], [4, 3]])})
    assert [(v.block, v.index, v.amount, v.entries) for v in found] == [
        ("a", (1,), 1.0, 1),
        ("b", (1, 0), 3.0, 3),
    ]


def test_a_product_is_broken_by_more_than_the_tolerance():
    m = Model()
    n, x = m.integer("n", upper=3), m.continuous("x", upper=3)
    m.product(n, x, name="z")
    for right, at, over in ((1.5, 3.75, 3.76), (0.25, 0.75, 0.76)):  # of a product above one
        assert kinds(m, 0.25, n=2, x=right, z=at) == {}
        assert kinds(m, 0.25, n=2, x=right, z=over) == {"z": "product"}
    (broken,) = m.violations({"n": 2, "x": 1.5, "z": 6}, 0.25)
    assert (broken.block, broken.kind, broken.index) == ("z", "product", ())
    (broken,) = (
        v for v in m.violations({"n": 2, "x": np.nan, "z": 3}) if v.kind == "product"
    )  # fmt: skip
    assert broken.amount == INF


def test_every_row_near_its_tolerance_is_decided_by_its_own_entries():
    m = Model()
    m.add("rows", m.continuous("x", 3, lower=-INF) <= 1)
    assert kinds(m, 0.25, x=np.array([0, 1.25, 1.25])) == {}
    for row in range(3):
        point = np.zeros(3)
        point[row] = beyond(1.25)
        (broken,) = m.violations({"x": point}, 0.25)
        assert (broken.index, broken.entries) == ((row,), 1)


def test_an_indicator_is_broken_by_less_than_one_as_well():
    m = Model()
    x, b = m.continuous("x", 2, upper=9), m.binary("b", 2)
    m.indicator([b], x <= 3, active=[True], name="when")
    (broken,) = m.violations({"x": np.array([3.5, 3.5]), "b": np.array([0, 1])})
    assert (broken.block, broken.index, broken.amount, broken.entries) == ("when", (1,), 0.5, 1)


def test_products_of_several_entries_name_the_worst():
    m = Model()
    n, x = m.integer("n", (2, 2), upper=3), m.continuous("x", (2, 2), upper=3)
    m.product(n, x, name="z")
    (broken,) = m.violations({"n": np.ones((2, 2)), "x": np.ones((2, 2)), "z": [[1, 2], [1, 4]]})
    assert (broken.index, broken.amount, broken.entries) == ((1, 1), 3.0, 2)


def test_a_value_that_is_no_number_breaks_rows_that_take_it_off():
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.add("row", x[1] - x[0] <= 1)
    assert kinds(m, x=np.array([INF, 0.0])) == {"x": "bound", "row": "row"}


# what whole numbers contribute is exact


@pytest.mark.parametrize(("side", "allowed"), [(0, 0.25), (512, 0.25), (1024, 0.25), (8192, 2.0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_row_of_integers_forgives_a_thousandth_of_what_others_do(side, allowed, sign):
    m = Model()
    n = m.integer("n", lower=-INF)
    m.add("row", n <= side if sign > 0 else n >= -side)
    found = {
        over: "row" in kinds(m, 0.25, n=sign * over)
        for over in (side + allowed, beyond(side + allowed), side + allowed + 0.125)
    }
    assert list(found.values()) == [False, True, True]


@pytest.mark.parametrize(("n", "most"), [(1, 2.5), (-1, 22.5), (2, -4.5), (0, 12.5)])
def test_what_whole_numbers_leave_of_a_side_is_what_its_tolerance_is_relative_to(n, most):
    """``x + 8 n <= 10``: to 10 - 8 n, or to 1 where that is less."""
    m = Model()
    m.add("row", m.continuous("x", lower=-INF) + 8 * m.integer("n", lower=-9) <= 10)
    for x, broken in ((most, False), (beyond(most), True), (most + 1, True), (most - 1, False)):
        assert bool(m.violations({"x": x, "n": n}, 0.25)) == broken


def test_a_row_without_entries_is_not_a_row_of_integers():
    m = Model()
    m.add("row", 0 * m.integer("n") >= np.array([0.25, 0.5]))
    (broken,) = m.violations({"n": 0}, 0.25)
    assert (broken.index, broken.amount, broken.entries) == ((1,), 0.5, 1)


# where floating point cannot decide, and where it must


def test_rows_whose_products_overflow_are_decided_exactly():
    m = Model()
    x = m.continuous("x", 2, lower=-INF)
    m.add("row", 1e200 * x[0] - 1e200 * x[1] <= 0)
    assert kinds(m, x=np.array([1e199, 1e200])) == {}
    for point in ([1e200, 1e199], [1e200, -1e200]):
        (broken,) = m.violations({"x": np.array(point)})
        assert (broken.kind, broken.amount) == ("row", np.finfo(np.float64).max)


def test_rows_whose_products_underflow_are_decided_exactly():
    m = Model()
    x = m.continuous("x", 3, lower=-INF)
    m.add("row", 2.0**-537 * x.sum() <= 2 * 5e-324)
    for share, broken in ((0.51, False), (0.66, False), (0.67, True)):
        assert bool(m.violations({"x": np.full(3, share * 2.0**-537)}, 0.0)) == broken


@pytest.mark.parametrize(("x", "broken"), [(2.0**-80, True), (0.0, False), (-(2.0**-80), False)])
def test_an_excess_far_below_the_digits_of_the_tolerance_is_seen(x, broken):
    m = Model()
    m.add("row", m.continuous("x", lower=-INF) <= -0.25)
    assert bool(m.violations({"x": x}, 0.25)) == broken


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e9])
def test_rows_that_hold_or_break_beyond_doubt_are_left_to_floating_point(size, monkeypatch):
    monkeypatch.delattr("optsched.model.evaluate._exact_excess")
    m = Model()
    m.add("rows", m.continuous("x", (3, 4), lower=-INF).sum(axis=1) <= size)
    point = size / 4 * (1 + np.array([-1e-4, 1e-9 / max(size, 1e-3), 0.3]))[:, None] * np.ones(4)
    (broken,) = m.violations({"x": point})
    assert (broken.index, broken.entries) == ((2,), 1)
    assert broken.amount == pytest.approx(0.3 * size)
