"""Safe bounds of linear programs: never above the truth, and only roundings below it."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched import Model
from optsched.model.matrix_form import MatrixForm, Rows
from optsched.solvers.dual_bound import claimed_bound, derived_bounds, dual_bound

Array = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
INF = np.inf


def bound(model: Model, duals: list[float], value: float = 0.0) -> float | None:
    return dual_bound(model.compile(), np.array(duals, dtype=float), value)


def exact_bound(form: MatrixForm, duals: np.ndarray) -> Fraction:
    """What the multipliers prove of a minimum over a box: the same bound in fractions."""
    matrix, total = form.rows.matrix.toarray(), Fraction(0)
    y = [Fraction(v) for v in duals]
    for v, low, high in zip(y, form.rows.lower, form.rows.upper, strict=True):
        total += v * Fraction(low if v > 0 else high)
    for j, (low, high) in enumerate(zip(form.lower, form.upper, strict=True)):
        reduced = Fraction(form.cost[j]) - sum(
            v * Fraction(a) for v, a in zip(y, matrix[:, j], strict=True)
        )
        total += min(reduced * Fraction(low), reduced * Fraction(high))
    return total


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_is_below_what_the_multipliers_prove_by_roundings_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.continuous("x", 6, lower=rng.normal(-5, 1, 6), upper=rng.normal(5, 1, 6))
    matrix, side = rng.normal(size=(4, 6)), rng.normal(size=4)
    m.add("rows", matrix @ x >= side)
    m.add("roof", matrix @ x <= side + 50)
    m.minimize(rng.normal(size=6) @ x)
    duals = np.concatenate([np.abs(rng.normal(size=4)), -np.abs(rng.normal(size=4))])
    found = dual_bound(m.compile(), duals, 1e3)
    assert found is not None
    missed = exact_bound(m.compile(), duals) - Fraction(found)
    assert 0 <= missed <= 1e5 * EPS


def at_least(matrix: Array, side: Array, cost: Array, upper: float) -> MatrixForm:
    """Minimise a cost over a box, some rows being at least ``side``."""
    m = Model()
    x = m.continuous("x", len(cost), lower=0.0, upper=upper)
    m.add("rows", matrix @ x >= side)
    m.minimize(cost @ x)
    return m.compile()


@pytest.mark.parametrize("seed", range(40))
def test_what_rounding_makes_of_reduced_costs_is_paid_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, duals = rng.uniform(0.1, 1, (3, 4)), rng.uniform(0.1, 1, 3)
    cost = matrix.T @ duals  # so that reduced costs are nothing but rounding
    compiled = at_least(matrix, np.zeros(3), cost, 1e6)
    true, found = exact_bound(compiled, duals), dual_bound(compiled, duals, 0.0)
    assert found is not None
    assert Fraction(found) <= true
    assert found == pytest.approx(float(true), abs=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_what_rounding_makes_of_products_and_their_sum_is_paid_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    duals, side = rng.uniform(0.1, 1, 3), rng.uniform(1, 1e6, 3)
    compiled = at_least(np.eye(3), side, duals, 0.0)  # reduced costs are zero, and so is x
    true, found = exact_bound(compiled, duals), dual_bound(compiled, duals, 1e9)
    assert found is not None
    assert Fraction(found) <= true
    assert found == pytest.approx(float(true), rel=1e-14)


def test_a_column_alone_loses_eight_units_of_rounding() -> None:
    """Two of 2 + 2 entries for its reduced cost, four for its product."""
    m = Model()
    m.minimize(m.continuous("x", lower=1, upper=1))
    assert bound(m, [], 1.0) == 1 - 8 * EPS


def test_a_row_adds_its_entry_and_its_multiplier_to_the_rounding() -> None:
    """Reduced cost 0 within 2 * (1 + 2) * (1 + 1) units, products of 1 within 4."""
    m = Model()
    x = m.continuous("x", lower=0, upper=1)
    m.add("floor", x >= 1)
    m.minimize(x)
    assert bound(m, [1.0], 1.0) == 1 - 16 * EPS


def floor(side: float = 10.0, **given: float) -> Model:
    m = Model()
    x = m.continuous("x", lower=0, upper=given.get("upper", 20))
    m.add("floor", x >= side)
    m.minimize(given.get("cost", 1) * x + given.get("offset", 0))
    return m


def test_multipliers_of_the_wrong_sign_or_none_prove_nothing_but_the_box() -> None:
    assert bound(floor(), [1.0], 15) == pytest.approx(10)
    assert bound(floor(), [0.5], 15) == pytest.approx(5)
    for useless in (-1.0, 0.0, np.nan, np.inf, -np.inf):
        assert bound(floor(), [useless], 15) == pytest.approx(0, abs=1e-12)


def test_multipliers_that_are_no_numbers_count_nothing_whichever_side_a_row_has() -> None:
    m = Model()
    x = m.continuous("x", upper=20)
    m.add("roof", x <= 10)
    m.minimize(x)
    assert bound(m, [np.nan], 0) == pytest.approx(0, abs=1e-12)


def test_a_column_in_no_row_and_without_cost_may_be_endless() -> None:
    m = floor()
    m.continuous("idle", lower=-INF)
    assert bound(m, [1.0], 15) == pytest.approx(10)


@pytest.mark.parametrize(
    ("value", "offset", "cutoff"), [(0, 0, 1), (3, 0, 7), (-3, 0, 1), (5, 2, 2 + 7), (2, 2, 3)]
)
def test_the_bound_claims_no_more_than_the_points_that_were_looked_at(
    value: float, offset: float, cutoff: float
) -> None:
    """Points worse than value + 1 + |value|, offset aside, are left out of account."""
    assert bound(floor(offset=offset), [1.0], value) == pytest.approx(cutoff, rel=1e-14)
    assert bound(floor(offset=offset), [1.0], 15) == pytest.approx(10 + offset)


def test_a_maximum_is_bounded_from_above() -> None:
    m = Model()
    x = m.continuous("x", upper=20)
    m.add("roof", x <= 10)
    m.maximize(2 * x + 1)
    assert bound(m, [2.0], 15) == pytest.approx(21, rel=1e-14)
    assert bound(m, [2.0], 15) > 21
    assert bound(m, [1.0], 15) == pytest.approx(10 + 20 + 1, rel=1e-14)
    assert bound(m, [2.0], 3) == pytest.approx(21)
    assert bound(m, [2.0], 23) == pytest.approx(21)
    # of a worst point 100 below, the cutoff is no closer than that
    assert bound(m, [0.0], 15) == pytest.approx(41)


def test_no_bound_where_a_column_may_improve_without_end() -> None:
    free = floor(upper=INF, cost=-1)
    assert bound(free, [0.0], -15) is None
    assert bound(floor(upper=INF), [0.0], 15) == pytest.approx(0, abs=1e-6)


# bounds derived from rows


def derived(
    matrix: list[list[float]], row_lower: list[float], row_upper: list[float],
    lower: list[float], upper: list[float], *, every: bool = False,
) -> tuple[list[float], list[float]]:  # fmt: skip
    rows = Rows(sp.csr_array(np.array(matrix, dtype=float)), np.array(row_lower),
                np.array(row_upper))  # fmt: skip
    low, high = derived_bounds(rows, np.array(lower), np.array(upper), every=every)
    return low.tolist(), high.tolist()


LOOSE = 1e-9


@pytest.mark.parametrize(
    ("entry", "row", "expected"),
    [
        (2.0, (-INF, 6.0), (-INF, 3 + 3.5 * LOOSE)),
        (-2.0, (-INF, 6.0), (-3 - 3.5 * LOOSE, INF)),
        (2.0, (6.0, INF), (3 - 3.5 * LOOSE, INF)),
        (-2.0, (6.0, INF), (-INF, -3 + 3.5 * LOOSE)),
        (2.0, (6.0, 6.0), (3 - 3.5 * LOOSE, 3 + 3.5 * LOOSE)),
        (0.5, (-INF, INF), (-INF, INF)),
        (0.5, (-INF, 6.0), (-INF, 12 + 14 * LOOSE)),
        (-0.5, (-INF, 6.0), (-12 - 14 * LOOSE, INF)),
    ],
)
def test_a_row_bounds_its_column_loosened_by_a_billionth(
    entry: float, row: tuple[float, float], expected: tuple[float, float]
) -> None:
    low, high = derived([[entry]], [row[0]], [row[1]], [-INF], [INF])
    assert (low[0], high[0]) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("sign", "reach", "size"), [(1, 5, 1), (-1, 8, 2), (-0.5, 7, 1)])
def test_the_other_columns_take_their_least(sign: float, reach: float, size: float) -> None:
    _, high = derived([[1, sign]], [-INF], [6], [-INF, 1], [INF, 2])
    assert high[0] == pytest.approx(reach + (1 + reach + size) * LOOSE, rel=1e-14)
    low, _ = derived([[-1, sign]], [-INF], [6], [-INF, 1], [INF, 2])
    assert low[0] == pytest.approx(-reach - (1 + reach + size) * LOOSE, rel=1e-14)


def test_of_several_rows_the_tightest_counts_and_given_bounds_stay() -> None:
    _, high = derived([[1], [1], [1]], [-INF] * 3, [6, 4, 5], [0], [INF])
    assert high == pytest.approx([4], rel=1e-7)
    low, _ = derived([[1], [1], [1]], [1, 3, 2], [INF] * 3, [-INF], [9])
    assert low == pytest.approx([3], rel=1e-7)
    assert derived([[1]], [1], [2], [0], [9]) == ([0], [9])
    assert derived([[1, 1]], [1], [2], [0, -INF], [9, 0])[0] == [0, pytest.approx(-8, rel=1e-7)]


def test_given_bounds_are_tightened_only_where_that_is_asked_for() -> None:
    box = ([[1, 1]], [-INF], [4], [0, 1], [9, 9])
    assert derived(*box) == ([0, 1], [9, 9])
    low, high = derived(*box, every=True)
    assert low == [0, 1]
    assert high == pytest.approx([3, 4], rel=1e-7)


def test_two_endless_columns_keep_each_other_endless() -> None:
    assert derived([[1, 1]], [-INF], [6], [-INF, -INF], [INF, INF])[1] == [INF, INF]
    assert derived([[1, -1]], [-INF], [6], [0, 0], [INF, INF])[1] == [INF, INF]
    assert derived([[1, 1]], [-INF], [6], [0, 0], [INF, INF])[1] == pytest.approx([6, 6], rel=1e-7)


def test_bounds_travel_over_four_rows_and_no_further() -> None:
    """x0 <= 1 and x_k <= x_(k-1): one row a pass."""
    links = np.eye(6)[1:] - np.eye(6)[:-1]
    _, high = derived(links.tolist(), [-INF] * 5, [0.0] * 5, [0] * 6, [1] + [INF] * 5)
    assert high[:5] == pytest.approx([1] * 5, rel=1e-7)
    assert high[5] == INF


def test_entries_stored_as_zero_are_none() -> None:
    matrix = sp.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    low, high = derived_bounds(
        Rows(matrix, np.array([-INF]), np.array([6.0])), np.array([0, -INF]), np.array([INF, INF])
    )
    assert (low.tolist(), high.tolist()) == ([0, -INF], [pytest.approx(6, rel=1e-7), INF])


@pytest.mark.parametrize("a", [5.0, -5.0])
def test_a_multiplier_for_a_side_that_a_row_does_not_have_proves_nothing(a):
    m = Model()
    x = m.continuous("x", lower=2, upper=9)
    m.add("row", a * x >= -100)
    m.minimize(x)
    found = bound(m, [-0.5], 9.0)
    assert found == pytest.approx(2.0)
    assert found <= 2.0


# what multipliers claim, rounding left aside


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("maximise", [False, True])
def test_a_claim_is_what_the_multipliers_prove_up_to_rounding(seed, maximise):
    rng = np.random.default_rng(seed)
    m = Model()
    x = m.continuous("x", 5, lower=rng.integers(-5, 0, 5), upper=rng.integers(1, 6, 5))
    matrix, side = rng.integers(-3, 4, (3, 5)), rng.integers(-3, 4, 3)
    m.add("rows", matrix @ x >= side)
    m.add("roof", matrix @ x <= side + 9)
    duals = np.concatenate([rng.integers(1, 9, 3), -rng.integers(1, 9, 3)]) / 8
    cost = rng.integers(-3, 4, 5) / 2
    m.minimize(cost @ x + 0.5)
    expected = float(exact_bound(m.compile(), duals)) + 0.5
    if maximise:  # the same, with every sign but the constant's turned
        m.maximize(-cost @ x + 0.5)
        duals, expected = -duals, 1 - expected
    assert claimed_bound(m.compile(), duals) == pytest.approx(expected, rel=1e-12)


def claim(cost: float, dual: float, **bounds: float) -> float:
    """What a multiplier of ``x >= 1`` claims of the least of ``cost x``."""
    m = Model()
    x = m.continuous("x", **bounds)
    m.add("row", x >= 1)
    m.minimize(cost * x)
    return claimed_bound(m.compile(), np.array([dual]))


def test_a_multiplier_for_a_side_that_a_row_does_not_have_counts_nothing_but_in_prices():
    assert claim(1.0, -0.5, lower=2, upper=9) == 3.0
    assert claim(1.0, -0.5, lower=-2, upper=9) == -3.0


def test_a_price_that_no_bound_pays_for_claims_nothing():
    assert claim(1.0, 0.5, lower=-INF) == -INF
    assert claim(1.0, 1.5) == -INF
    assert claim(1.0, 0.0) == 0.0


def test_prices_up_to_a_trillionth_of_their_parts_are_rounding():
    for off, upper, expected in ((0.99, 1e13, 1.0), (1.01, 1e13, 1 - 1.01 * 20)):
        dual = 1 + off * 2e-12  # of the cost and of what the row takes off it
        assert claim(1.0, dual, upper=upper) == pytest.approx(expected, rel=1e-3)
        assert claim(1e3, 1e3 * dual, upper=upper) == pytest.approx(1e3 * expected, rel=1e-3)


def test_prices_of_columns_without_end_are_rounding_up_to_a_millionth_of_their_parts():
    for off, expected in ((0.99, 1.0), (1.01, -INF)):
        dual = 1 + off * 2e-6
        assert claim(1.0, dual) == pytest.approx(expected, rel=1e-5)
        assert claim(1000.0, 1000 * dual) == pytest.approx(1000 * expected, rel=1e-5)
    assert claim(0.0, 0.0, lower=-INF) == 0.0
