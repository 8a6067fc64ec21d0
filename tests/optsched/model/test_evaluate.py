"""A point against a model: decided as exact arithmetic decides."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model
from optsched.model import FEASIBILITY
from optsched.model.evaluate import DATA_NOISE

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
    moves = [
        abs(Fraction(p)) * max(Fraction(1), abs(Fraction(q))) for p, q in zip(a, x, strict=True)
    ]
    most = max(moves) if any(a) else Fraction(1)
    return over > Fraction(tolerance) * min(max(Fraction(1), abs(Fraction(side))), most)


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


@pytest.mark.parametrize("side", [0.0, 7.0, 1e6, 85899345919.0, 2.0**52])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_row_of_whole_numbers_is_broken_by_one_whatever_its_size(side, sign):
    m = Model()
    n = m.integer("n", 2, lower=-INF)
    m.add("row", sign * (3 * n[0] + n[1]) <= sign * side)
    assert kinds(m, n=[1, side - 3]) == {}
    (broken,) = m.violations({"n": [1, side - 3 + sign]})
    assert (broken.block, broken.amount) == ("row", 1.0)


def test_whole_numbers_that_floating_point_cannot_add_are_added_exactly():
    m = Model()
    n = m.integer("n", 3, lower=-INF)
    m.add("row", n @ [2.0**60, 1, -(2.0**60)] <= 0)
    assert kinds(m, n=[1, 0, 1]) == {}
    assert kinds(m, n=[1, 1, 1]) == {"row": "row"}  # floating point says 0


def test_a_row_of_decimals_forgives_what_rounding_them_explains_and_no_more():
    m = Model()
    n = m.integer("n", 2, upper=9)
    m.add("row", n @ [0.1, 0.2] <= 0.3)
    assert kinds(m, n=[1, 1]) == {}  # 0.1 + 0.2 is greater than 0.3 in floating point
    for part, broken in ((0.9, False), (1.1, True)):
        m = Model()
        n = m.integer("n", upper=9)
        m.add("row", 0.5 * n <= 1 - part * 2 * DATA_NOISE)  # terms of 1 and a side of 1
        assert bool(m.violations({"n": 2})) == broken
        assert m.violations({"n": 2}, 0.0)


def test_cents_are_told_apart_in_sums_of_billions():
    m = Model()
    n = m.integer("n", upper=99)
    m.add("budget", 1234567.89 * n <= 99 * 1234567.89 - 0.01)
    assert kinds(m, n=98) == {}
    assert kinds(m, n=99) == {"budget": "row"}


@pytest.mark.parametrize("n", [3 - 1e-7, 3 + 1e-7])
def test_what_is_whole_within_the_tolerance_counts_as_whole_in_rows(n):
    m = Model()
    x, k = m.continuous("x", upper=1e3), m.integer("k", upper=9)
    m.add("big M", x + 1e9 * k <= 3e9)
    assert kinds(m, x=0.0, k=n) == {}
    assert kinds(m, x=50.0, k=n) == {"big M": "row"}


# a row is judged by the least move of a continuous column that mends it


@pytest.mark.parametrize("capacity", [1.0, 1e8, 2.0**60])
@pytest.mark.parametrize(("load", "broken"), [(0.9e-6, False), (1.1e-6, True), (50.0, True)])
def test_dividing_a_row_by_a_capacity_changes_nothing(capacity, load, broken):
    m = Model()
    x, y = m.continuous("x", upper=50), m.binary("y")
    m.add("row", x / capacity <= 1 - y)
    assert bool(m.violations({"x": load, "y": 1})) == broken


@pytest.mark.parametrize(("over", "broken"), [(0.9, False), (1.1, True)])
def test_a_column_of_small_range_moves_by_the_tolerance_times_its_range(over, broken):
    m = Model()
    x = m.continuous("x", 2, upper=2.0**-10)
    m.add("row", x.sum() <= 2.0**-10)
    point = [2.0**-11, 2.0**-11 + over * FEASIBILITY * 2.0**-10]
    assert bool(m.violations({"x": point})) == broken


def test_the_column_that_moves_least_is_the_measure_of_a_row():
    m = Model()
    x = m.continuous("x", 3, lower=-INF)
    m.add("row", x @ [2.0**-20, 0.5, 0.25] <= 0)
    for over, broken in ((0.9, False), (1.1, True)):
        assert bool(m.violations({"x": [0, 0, over * 2 * FEASIBILITY]})) == broken


def test_a_column_without_room_mends_nothing():
    m = Model()
    x, fixed = m.continuous("x", upper=1), m.continuous("fixed", lower=2, upper=2)
    m.add("row", x / 2.0**30 + fixed <= 2)
    assert kinds(m, x=0.5e-6, fixed=2) == {}
    assert kinds(m, x=2e-6, fixed=2) == {"row": "row"}


@pytest.mark.parametrize(("n", "most"), [(1, 2.5), (-1, 22.5), (0, 12.5)])
def test_what_whole_numbers_leave_of_a_side_is_what_its_tolerance_is_relative_to(n, most):
    """``x + 8 n <= 10``: to 10 - 8 n, or to 1 where that is less."""
    m = Model()
    m.add("row", m.continuous("x", lower=-INF) + 8 * m.integer("n", lower=-9) <= 10)
    for x, broken in ((most, False), (beyond(most), True), (most + 1, True), (most - 1, False)):
        assert bool(m.violations({"x": x, "n": n}, 0.25)) == broken


def test_a_row_is_not_forgiven_more_than_its_columns_can_move():
    """``x + 16 <= 10``: a quarter of x = -4.8, and not of the side -6."""
    m = Model()
    m.add("row", m.continuous("x", lower=-INF) + 8 * m.integer("n", lower=-9) <= 10)
    for x, broken in ((-4.81, False), (-4.79, True)):
        assert bool(m.violations({"x": x, "n": 2}, 0.25)) == broken


def test_a_row_without_entries_is_forgiven_the_tolerance():
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
