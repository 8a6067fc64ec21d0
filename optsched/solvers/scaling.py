"""Scale real coefficients to integers with a certified error, for solvers of integer models.

A row ``lower <= a x <= upper`` over bounded integers is multiplied by ``m`` and its coefficients
are rounded. Three cases, tried in this order:

1. The numbers are integers: ``m = 1`` and nothing is rounded.
2. They are multiples of ``1/m`` up to rounding noise (2^-48 relative, some 30 units in the last
   place), with ``m`` at most 10^9: decimals such as 0.1, fractions such as 1/3, and their mixtures.
3. Anything else: ``m`` is the largest power of two that keeps every partial sum within 2^50.

Binary floating point holds neither 0.1 nor 1/3, so even case 2 rounds. The difference between the
number and the fraction is computed exactly (an error-free product) and every side is moved
outward by the largest effect it can have over the variables' bounds, never inward. The integer
rows therefore admit every integer point of the original rows, read as the exact numbers the
floating-point data are or, in cases 1 and 2, as the fractions they stand for: 0.2 x - 2.2 y >= -2
holds at x = y = 1. A bound or a proof of infeasibility carries over. Sides are then rounded to the
integer grid. A side that misses a grid point by less than 1e-9 of its magnitude (at most 1e-6 of
the grid) counts as being on it, as 0.1 + 0.2 means 0.3; every move is outward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, Rows

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Pointer = NDArray[np.integer[Any]]
Entry = TypeVar("Entry", bound=np.generic)

LARGEST = 1e100
"""Largest |coefficient| taken here."""
INTEGER_REACH = 2.0**60
"""Largest sum of |coefficient| * |value| in a row of integers; int64 cannot overflow below it."""
ROUNDED_REACH = 2.0**50
"""The same for rows that had to be multiplied; exact in double precision."""
SIDE_NOISE = 1e-9
"""Relative distance at which a right-hand side counts as a grid point."""

_NOISE = 2.0**-48
_LARGEST_DENOMINATOR = 1e6  # a random real has no denominator below it at this noise level
_LARGEST_MULTIPLIER = 1e9
_DECIMALS = (1e7, 1e8, 1e9)
_MARGIN = 1e-9  # covers the rounding of sums of errors, relative
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Integer rows ``lower <= A x <= upper`` that every integer point of the original satisfies."""

    coefficients: Integers
    """In the order of the original matrix's entries."""
    lower: Integers
    """Shape (rows,); out of the row's reach if there is no side."""
    upper: Integers
    """Shape (rows,). Both sides are equal and out of reach where no point satisfies the row."""
    slack: Floats
    """Shape (rows,), units of the original row: by how much a point of the integer row can break
    the original beyond ``SIDE_NOISE``; 0 if nothing was rounded, infinite if 64 bits are
    too few."""


@dataclass(frozen=True, eq=False)
class ScaledObjective:
    """``coefficients @ x / multiplier`` and what it differs from the objective by."""

    coefficients: Integers
    """Shape (columns,)."""
    multiplier: float
    on_grid: bool
    """Whether the data are multiples of ``1 / multiplier`` up to rounding noise."""
    residual: Floats
    """``cost * multiplier - coefficients``, shape (columns,)."""
    low: float
    """No value of ``residual @ x`` over the bounds is less."""
    high: float
    """No value of ``residual @ x`` over the bounds is greater."""

    @property
    def error(self) -> float:
        """Objective units: what the minimiser of the integers can lose, at most."""
        return (self.high - self.low) / self.multiplier

    def bound(self, integer_bound: int, offset: float) -> float:
        """Lower bound on ``cost @ x + offset`` from one on ``coefficients @ x``, rounded down."""
        low = Fraction(integer_bound) + Fraction(self.low)
        return _rounded_down(low / Fraction(self.multiplier) + Fraction(offset))

    def integer_value(self, x: Floats) -> int:
        """``coefficients @ x`` at an integer point."""
        return int(self.coefficients @ x.astype(np.int64))

    def gap(self, x: Floats, integer_bound: int) -> float:
        """How far the objective at an integer point lies above the bound, in objective units."""
        proven = self.integer_value(x) - integer_bound
        return (proven + float(self.residual @ x) - self.low) / self.multiplier


def integer_bounds(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """The integers within bounds: shape (columns,), lower above upper where none is."""
    if _all_whole(lower) and _all_whole(upper):
        return lower, upper
    one = np.ones(len(lower))
    return -_round_outward(-lower, one, 0.0 * one), _round_outward(upper, one, 0.0 * one)


def with_whole_bounds(compiled: MatrixForm) -> MatrixForm:
    """The model with its integers' bounds rounded to the integers within, if there are any."""
    if not compiled.has_integers:
        return compiled
    chosen = compiled.integer
    given = np.array([compiled.lower[chosen], compiled.upper[chosen]])
    if (given == np.rint(given)).all():
        return compiled  # the usual case
    rounded = integer_bounds(*given)
    lower, upper = compiled.lower.copy(), compiled.upper.copy()
    some = rounded[0] <= rounded[1]
    lower[chosen], upper[chosen] = (
        np.where(some, new, old) for new, old in zip(rounded, given, strict=True)
    )
    return replace(compiled, lower=lower, upper=upper)


def scale_rows(rows: Rows, lower: Floats, upper: Floats) -> ScaledRows:
    """Rows as integers, over integer bounds of the columns.

    Args:
        rows: with coefficients of magnitude at most ``LARGEST``.
        lower: shape (columns,), integers of magnitude at most 2^53.
        upper: as ``lower``.
    """
    pointer, columns = rows.lines.indptr, rows.lines.indices
    low, high = lower[columns], upper[columns]
    reach = np.maximum(np.abs(low), np.abs(high))
    if (whole := _whole_rows(rows, reach)) is not None:
        return whole
    values = np.where(reach > 0, rows.lines.data, 0.0)
    multiplier, on_grid = _multipliers(values, pointer, reach)
    product, rest = _two_product(values, np.repeat(multiplier, np.diff(pointer)))
    scaled = np.rint(product)
    least, most = _range((scaled - product) - rest, low, high, pointer)
    least[on_grid], most[on_grid] = least[on_grid].clip(max=0.0), most[on_grid].clip(min=0.0)
    # no point of the box gets there, so a side beyond is as good as none
    beyond = 2.0 * _reduce(np.add, np.abs(scaled) * reach, pointer, 0.0) + 2.0
    at_most = np.clip(_round_outward(rows.upper, multiplier, most), -beyond, beyond)
    at_least = np.clip(-_round_outward(-rows.lower, multiplier, -least), -beyond, beyond)
    empty = at_least > at_most
    at_most[empty] = at_least[empty] = beyond[empty]
    slack = (most - least) / multiplier
    slack[beyond > 4.0 * INTEGER_REACH] = np.inf
    return ScaledRows(
        scaled.astype(np.int64), at_least.astype(np.int64), at_most.astype(np.int64), slack
    )


def _whole_rows(rows: Rows, reach: Floats) -> ScaledRows | None:
    """Rows that are integers already, the usual case, at a fraction of the work; else None."""
    values, sides = rows.lines.data, (rows.lower, rows.upper)
    if not (_all_whole(values) and all(_all_whole(side) for side in sides)):
        return None
    activity = _reduce(np.add, np.abs(values) * np.maximum(reach, 1.0), rows.lines.indptr, 0.0)
    if activity.max(initial=0.0) > INTEGER_REACH:
        return None
    beyond = 2.0 * activity + 2.0  # no point gets there
    at_least, at_most = (np.minimum(np.maximum(side, -beyond), beyond) for side in sides)
    if (at_least > at_most).any():
        return None
    return ScaledRows(
        values.astype(np.int64),
        at_least.astype(np.int64),
        at_most.astype(np.int64),
        np.zeros(rows.count),
    )


def _all_whole(values: Floats) -> bool:
    """Whether every value is whole or infinite."""
    return bool((values == np.rint(values)).all())


def scale_objective(cost: Floats, lower: Floats, upper: Floats) -> ScaledObjective | None:
    """An objective to be minimised as integers, over integer bounds; None: 64 bits are too few.

    Costs off any grid are rounded down: with variables counted from their lower bounds, the
    integers then underestimate, and a point loses only what its own terms were rounded by.
    """
    pointer = np.array([0, len(cost)])
    reach = np.maximum(np.abs(lower), np.abs(upper))
    # not by @: its threads take longer to wake than this takes
    if _all_whole(cost) and (np.abs(cost) * np.maximum(reach, 1.0)).sum() <= INTEGER_REACH:
        nothing = np.zeros(len(cost))
        return ScaledObjective(cost.astype(np.int64), 1.0, True, nothing, 0.0, 0.0)
    cost = np.where(reach > 0, cost, 0.0)
    multipliers, on_grid = _multipliers(cost, pointer, reach)
    multiplier = float(multipliers[0])
    product, rest = _two_product(cost, np.full(len(cost), multiplier))
    scaled = np.rint(product) if on_grid[0] else np.floor(product)
    residual = (product - scaled) + rest
    low, high = _range(residual, lower, upper, pointer)
    if (np.abs(scaled) * reach).sum() > 2.0 * INTEGER_REACH:
        return None
    return ScaledObjective(
        scaled.astype(np.int64),
        multiplier,
        bool(on_grid[0]),
        residual,
        float(low[0]),
        float(high[0]),
    )


def _multipliers(values: Floats, pointer: Pointer, reach: Floats) -> tuple[Floats, Flags]:
    """Multiplier of each row, and whether its values are multiples of the inverse."""
    integral = _reduce(np.logical_and, values == np.rint(values), pointer, True)
    multiplier = np.ones(len(pointer) - 1)
    if not integral.all():
        lengths = np.diff(pointer)
        chosen = np.repeat(~integral, lengths)
        starts = np.concatenate([[0], np.cumsum(lengths[~integral])])
        multiplier[~integral] = _common_denominators(values[chosen], starts)
    activity = _reduce(np.add, np.abs(values) * reach, pointer, 0.0)
    limit = np.where(integral, INTEGER_REACH, ROUNDED_REACH)
    on_grid = activity * multiplier <= limit  # false where there is no multiplier
    off = ~on_grid
    exponent = np.floor(np.log2(ROUNDED_REACH / np.maximum(activity[off], 1e-100)))
    multiplier[off] = np.exp2(exponent)
    return multiplier, on_grid


def _common_denominators(values: Floats, pointer: Pointer) -> Floats:
    """Smallest multiplier found that makes each row integral up to noise; NaN for none."""
    common = _reduce(np.lcm, _denominators(values), pointer, 1).astype(np.float64)
    # an lcm that overflowed is caught here as any other number that fits nothing
    fits = (common >= 1) & (common <= _LARGEST_MULTIPLIER)
    fits &= _fits(values, pointer, np.where(fits, common, 1.0))
    result = np.where(fits, common, np.nan)
    for decimal in _DECIMALS:
        if fits.all():
            break
        now = ~fits & _fits(values, pointer, np.full(len(common), decimal))
        result[now] = decimal
        fits |= now
    return result


def _fits(values: Floats, pointer: Pointer, multiplier: Floats) -> Flags:
    product = values * np.repeat(multiplier, np.diff(pointer))
    return _reduce(np.logical_and, _near_integer(product), pointer, True)


def _near_integer(product: Floats) -> Flags:
    return np.abs(product - np.rint(product)) <= _NOISE * np.abs(product)


def _denominators(values: Floats) -> Integers:
    """Denominator of the first convergent that equals each value up to noise; 0 for none.

    Continued fractions: a value within noise of ``k / q`` has ``k / q`` among its convergents as
    long as ``q`` is below ``_LARGEST_DENOMINATOR``.
    """
    found = np.zeros(len(values), dtype=np.int64)
    value = np.abs(values)
    entry = np.arange(len(values))
    rest = value - np.floor(value)
    before, denominator = np.zeros(len(values)), np.ones(len(values))
    while len(entry):
        hit = _near_integer(value * denominator)
        found[entry[hit]] = denominator[hit].astype(np.int64)
        go = ~hit & (rest * _LARGEST_DENOMINATOR >= 1.0)
        value, entry, rest = value[go], entry[go], rest[go]
        inverse = 1.0 / rest
        whole = np.floor(inverse)
        before, denominator = denominator[go], whole * denominator[go] + before[go]
        rest = inverse - whole
        small = denominator <= _LARGEST_DENOMINATOR
        value, entry, rest = value[small], entry[small], rest[small]
        before, denominator = before[small], denominator[small]
    return found


def _range(error: Floats, lower: Floats, upper: Floats, pointer: Pointer) -> tuple[Floats, Floats]:
    """Least and greatest ``error @ x`` of each row over the bounds, rounded outward."""
    a, b = error * lower, error * upper
    sums = []
    for sign, terms in ((-1.0, np.minimum(a, b)), (1.0, np.maximum(a, b))):
        margin = _MARGIN * _reduce(np.add, np.abs(terms), pointer, 0.0)
        sums.append(_reduce(np.add, terms, pointer, 0.0) + sign * margin)
    return sums[0], sums[1]


def _round_outward(side: Floats, multiplier: Floats, error: Floats) -> Floats:
    """Greatest integer that ``side * multiplier + error`` allows, infinite sides kept."""
    finite = np.isfinite(side)
    value = np.clip(np.where(finite, side, 0.0), -1e150, 1e150)  # further is out of reach anyway
    product, rest = _two_product(value, multiplier)
    whole = np.floor(product)
    part = (product - whole) + rest
    near = np.minimum(1e-6, SIDE_NOISE * multiplier * np.maximum(1.0, np.abs(value)))
    noise = np.minimum(0.5, np.maximum(near, 4.0 * _EPS * np.abs(product)))
    noise[part == 0] = 0.0  # on the grid already
    return np.where(finite, whole + np.floor(part + error + noise), side)


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Floating-point product and the exact rest, ``a * b = product + rest`` (Dekker 1971)."""
    product = a * b
    uneven = np.frexp(b)[0] != 0.5  # products with powers of two are exact
    rest = np.zeros(len(product))
    if uneven.any():
        a_high, a_low = _halves(a[uneven])
        b_high, b_low = _halves(b[uneven])
        high = a_high * b_high - product[uneven]
        rest[uneven] = ((high + a_high * b_low) + a_low * b_high) + a_low * b_low
    return product, rest


def _halves(a: Floats) -> tuple[Floats, Floats]:
    shifted = 134217729.0 * a  # 2^27 + 1
    high = shifted - (shifted - a)
    return high, a - high


def _reduce(
    ufunc: np.ufunc, values: NDArray[Entry], pointer: Pointer, empty: float
) -> NDArray[Entry]:
    """``ufunc`` over each row's entries."""
    result = np.full(len(pointer) - 1, empty, dtype=values.dtype)
    filled = np.flatnonzero(np.diff(pointer))
    if len(filled):
        result[filled] = ufunc.reduceat(values, pointer[filled])
    return result


def _rounded_down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
