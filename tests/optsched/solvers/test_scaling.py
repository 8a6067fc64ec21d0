"""Real coefficients as integers: nothing is lost that is not accounted for."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.model import Rows
from optsched.solvers.scaling import (
    INTEGER_REACH,
    SIDE_NOISE,
    ScaledRows,
    integer_bounds,
    scale_objective,
    scale_rows,
)

COLUMNS = 3
BOX = (np.full(COLUMNS, -2.0), np.full(COLUMNS, 2.0))
POINTS = np.array(list(itertools.product(range(-2, 3), repeat=COLUMNS)))

properties = settings(deadline=None, max_examples=60)
reals = st.floats(-1e3, 1e3, allow_subnormal=False).filter(lambda a: a == 0 or abs(a) > 1e-3)
integers = st.integers(-(10**6), 10**6).map(float)
decimals = st.integers(-(10**5), 10**5).map(lambda k: k / 1000)
fractions = st.tuples(st.integers(-50, 50), st.sampled_from([1, 2, 3, 4, 6, 7])).map(
    lambda pair: pair[0] / pair[1]
)


def vectors(numbers):
    return st.lists(numbers, min_size=COLUMNS, max_size=COLUMNS).map(np.array)


def one_row(a, lower, upper) -> Rows:
    return Rows(
        sp.csr_array(np.atleast_2d(np.asarray(a, dtype=float))),
        np.array([lower], dtype=float),
        np.array([upper], dtype=float),
    )


def admitted(scaled: ScaledRows, rows: Rows) -> np.ndarray:
    """Which points of the box the integer row admits."""
    dense = sp.csr_array(
        (scaled.coefficients, rows.matrix.indices, rows.matrix.indptr), shape=rows.matrix.shape
    ).toarray()
    activity = POINTS @ dense[0]
    return (scaled.lower[0] <= activity) & (activity <= scaled.upper[0])


def exactly(a, x) -> Fraction:
    return sum((Fraction(float(c)) * int(v) for c, v in zip(a, x, strict=True)), Fraction(0))


@properties
@given(vectors(integers), st.integers(-(10**6), 10**6), st.integers(0, 10**6))
def test_a_row_of_integers_is_passed_on_as_it_is(a, lower, width):
    rows = one_row(a, lower, lower + width)
    scaled = scale_rows(rows, *BOX)
    assert np.array_equal(scaled.coefficients, rows.matrix.data)
    assert scaled.slack[0] == 0
    inside = (lower <= POINTS @ a) & (POINTS @ a <= lower + width)
    assert np.array_equal(admitted(scaled, rows), inside)


@properties
@given(vectors(decimals), st.integers(-(10**5), 10**5), st.integers(0, 10**5))
def test_a_row_of_decimals_has_the_points_the_decimals_have(a, lower, width):
    rows = one_row(a, lower / 1000, (lower + width) / 1000)
    thousandths = POINTS @ np.rint(a * 1000).astype(int)
    inside = (lower <= thousandths) & (thousandths <= lower + width)
    assert np.array_equal(admitted(scale_rows(rows, *BOX), rows), inside)


@properties
@given(vectors(fractions), fractions)
def test_a_row_of_simple_fractions_has_the_points_the_fractions_have(a, side):
    rows = one_row(a, -np.inf, side)
    eighty_fourths = POINTS @ np.rint(a * 84).astype(int)
    inside = eighty_fourths <= round(side * 84)
    assert np.array_equal(admitted(scale_rows(rows, *BOX), rows), inside)


def test_a_side_that_decimals_meet_exactly_is_met_though_their_binary_fractions_miss_it():
    assert Fraction(0.2) - Fraction(2.2) < -2
    one = np.ones(2)
    for a, lower, upper in (([0.2, -2.2], -2.0, np.inf), ([-0.2, 2.2], -np.inf, 2.0)):
        scaled = scale_rows(one_row(a, lower, upper), one, one)
        activity = scaled.coefficients.sum()
        assert scaled.lower[0] <= activity <= scaled.upper[0]
        assert 0 < scaled.slack[0] < 1e-15


def test_a_coefficient_beyond_64_bits_is_dropped_where_its_variable_is_zero():
    box = (np.zeros(2), np.array([0.0, 1.0]))
    scaled = scale_rows(one_row([1e90, 1.0], -np.inf, 1.0), *box)
    assert scaled.coefficients.tolist() == [0, 1]
    objective = scale_objective(np.array([1e90, 1.0]), *box)
    assert objective is not None
    assert objective.coefficients.tolist() == [0, 1]


def test_a_third_of_three_and_a_tenth_of_ten_are_one():
    a = [1 / 3, 0.1, 0.25]
    rows = one_row(a, 0.1 + 0.2, 0.3)
    scaled = scale_rows(rows, *BOX)
    assert scaled.coefficients.tolist() == [20, 6, 15]
    assert (scaled.lower[0], scaled.upper[0]) == (18, 18)


@properties
@given(vectors(st.one_of(reals, decimals)), reals, st.floats(0, 1e3))
def test_scaled_rows_admit_every_point_of_the_row(a, lower, width):
    rows = one_row(a, lower, lower + width)
    inside = [Fraction(lower) <= exactly(a, x) <= Fraction(lower + width) for x in POINTS]
    assert not (inside & ~admitted(scale_rows(rows, *BOX), rows)).any()


@properties
@given(vectors(st.one_of(reals, decimals)), reals, st.floats(0, 1e3))
def test_a_point_of_the_scaled_row_breaks_the_row_by_no_more_than_its_slack(a, lower, width):
    upper = lower + width
    rows = one_row(a, lower, upper)
    scaled = scale_rows(rows, *BOX)
    for x in POINTS[admitted(scaled, rows)]:
        value = exactly(a, x)
        excess = max(Fraction(lower) - value, value - Fraction(upper))
        assert excess <= scaled.slack[0] + SIDE_NOISE * max(1.0, abs(lower), abs(upper))


@pytest.mark.parametrize("a", [[math.pi, math.e, math.sqrt(2)], [1e-7 / 3, 1e5 / 7, 0.1]])
def test_numbers_off_any_grid_are_scaled_finely(a):
    scaled = scale_rows(one_row(a, -np.inf, 1.0), *BOX)
    assert 0 < scaled.slack[0] < 1e-8
    assert np.abs(scaled.coefficients).sum() * 2 <= 2**50


def test_a_missing_side_and_one_beyond_reach_bind_nothing():
    for lower, upper in ((-np.inf, np.inf), (-1e300, 1e300), (-1e9, np.inf)):
        rows = one_row([1, -2, 3], lower, upper)
        assert admitted(scale_rows(rows, *BOX), rows).all()


def test_a_row_no_integer_point_satisfies_keeps_a_domain_of_one_value_out_of_reach():
    rows = one_row([2.0, 4.0, 6.0], 0.25, 0.75)
    scaled = scale_rows(rows, *BOX)
    assert scaled.lower[0] == scaled.upper[0] > 2 * 12
    assert not admitted(scaled, rows).any()


def test_rows_without_entries_are_kept_in_place():
    matrix = sp.csr_array(np.array([[0.0, 0, 0], [0.5, 0, 0], [0, 0, 0]]))
    rows = Rows(matrix, np.array([-1.0, -1.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    scaled = scale_rows(rows, *BOX)
    assert scaled.coefficients.tolist() == [1]
    assert scaled.lower[0] <= 0 <= scaled.upper[0]
    assert (scaled.lower[1], scaled.upper[1]) == (-2, 2)
    assert scaled.lower[2] > 0


def test_a_row_whose_sums_would_overflow_is_rounded_or_marked():
    huge = one_row([2.0**70, 2.0**69, 2.0**68], -np.inf, 2.0**70)
    scaled = scale_rows(huge, *BOX)
    assert np.abs(scaled.coefficients).sum() * 2 < INTEGER_REACH
    assert scaled.slack[0] == 0, "powers of two survive a power of two"
    wide = (np.full(COLUMNS, -(2.0**53)), np.full(COLUMNS, 2.0**53))
    assert scale_rows(one_row([0.1, 1e9, math.pi], -np.inf, 1.0), *wide).slack[0] > 1.0


@properties
@given(vectors(st.one_of(reals, decimals, integers)), reals)
def test_an_objective_bound_is_below_the_true_minimum_and_within_the_error(cost, offset):
    scaled = scale_objective(cost, *BOX)
    assert scaled is not None
    best = min(int(scaled.coefficients @ x) for x in POINTS)
    values = {tuple(x): exactly(cost, x) + Fraction(offset) for x in POINTS}
    optimum = min(values.values())
    bound = Fraction(scaled.bound(best, offset))
    assert bound <= optimum
    for x in POINTS:
        if int(scaled.coefficients @ x) == best:
            assert values[tuple(x)] - optimum <= scaled.error * (1 + 1e-9)
            gap = float(values[tuple(x)] - Fraction(scaled.bound(best, 0.0)) - Fraction(offset))
            assert gap <= scaled.gap(x, best) + 1e-9 * abs(float(optimum - Fraction(offset)))


@properties
@given(vectors(st.one_of(reals, decimals, integers)))
def test_the_residual_is_what_rounding_left(cost):
    scaled = scale_objective(cost, *BOX)
    assert scaled is not None
    for c, k, rest in zip(cost, scaled.coefficients, scaled.residual, strict=True):
        true = Fraction(float(c)) * Fraction(scaled.multiplier) - int(k)
        assert abs(true - Fraction(float(rest))) <= abs(true) * Fraction(2) ** -52


def test_an_integral_objective_has_no_error():
    scaled = scale_objective(np.array([3.0, -5.0, 7.0]), *BOX)
    assert scaled is not None
    assert (scaled.error, scaled.multiplier, scaled.bound(-30, 0.5)) == (0.0, 1.0, -29.5)


def test_an_objective_too_wide_for_64_bits_is_none():
    wide = (np.zeros(COLUMNS), np.full(COLUMNS, 2.0**53))
    tiny = np.array([1e9, 1e-9, -1e-9]) * math.pi
    many = np.full(4096, -1e-12 * math.pi)
    many[0] = 1.0
    assert scale_objective(tiny, *wide) is not None
    assert scale_objective(many, np.zeros(4096), np.full(4096, 2.0**53)) is None


def test_bounds_are_rounded_inward_with_noise_forgiven():
    lower = np.array([0.2, -1.5, 0.1 + 0.9 - 1e-12, 3.0 + 1e-12])
    upper = np.array([2.9, -1.0, 3 - 1e-12, 3.4])
    low, high = integer_bounds(lower, upper)
    assert low.tolist() == [1, -1, 1, 3]
    assert high.tolist() == [2, -1, 3, 3]
