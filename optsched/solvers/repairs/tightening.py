"""Make large constants that switch rows off as small as the bounds of the columns allow.

Solvers take 1e-6 for zero in an integer column; with a coefficient of 1e6 this switches a whole row
off. The integer points stay the same (coefficient tightening, Savelsbergh 1994). Shown by
``test_dividing_by_a_capacity_does_not_change_the_optimum`` and tests/data/regressions/
scip_bound_beside_a_side.json.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, Rows
from optsched.solvers.dual_bound import derived_bounds

LARGE = 1e3
"""Coefficients of integer columns from here on are made smaller."""

_PASSES = 4  # one coefficient of a row in each
_WORSE = 1e-6  # relative; how much worse than a value is still no worse
_LOOSE = 1e-9  # relative; far more than rounding costs
_DIGITS = 2.0**10
_DECIMALS = 6
_NEAR = 1e-8  # of a column's range, at most; ten times what derived bounds are loosened by


def tightened(compiled: MatrixForm) -> MatrixForm:
    """The model with smaller constants in rows that have large ones and a single side."""
    if compiled.largest_switch < LARGE:
        return compiled
    matrix = compiled.rows.matrix
    row = np.repeat(np.arange(compiled.rows.count), compiled.rows.lengths)
    above = np.isinf(compiled.rows.lower)
    single = above != np.isinf(compiled.rows.upper)
    whole = compiled.integer[matrix.indices]
    large = whole & single[row] & (np.abs(matrix.data) >= LARGE)
    if not large.any():
        return compiled
    lower, upper = _bounds(compiled, compiled.rows)
    if (lower > upper).any():
        return compiled  # there is no point, and the solver is to say so
    # every row with one side as terms x <= side
    sign = np.where(above, 1.0, -1.0)
    a = matrix.data * sign[row]
    side = np.where(above, compiled.rows.upper, -compiled.rows.lower)
    low, high = lower[matrix.indices], upper[matrix.indices]
    changed = False
    for _ in range(_PASSES):
        large = whole & single[row] & (np.abs(a) >= LARGE) & np.isfinite(low) & np.isfinite(high)
        entry = _largest(np.where(large, np.abs(a), 0.0), row)
        if not _tighten(a, side, low, high, row, entry):
            break
        changed = True
    if not changed:
        return compiled
    import scipy.sparse as sp

    rows = Rows(
        sp.csr_array((a * sign[row], matrix.indices, matrix.indptr), shape=matrix.shape),
        np.where(single & ~above, -side, compiled.rows.lower),
        np.where(single & above, side, compiled.rows.upper),
    )
    return replace(compiled, rows=rows, lower=lower, upper=upper)  # what the rows now rely on


def bounded_by(compiled: MatrixForm, value: float) -> MatrixForm:
    """The model with the bounds that points no worse than a value keep, its constants small again.

    The model itself where that makes no constant smaller and settles no whole number.
    """
    import scipy.sparse as sp

    sign = -1.0 if compiled.maximise else 1.0
    most = sign * (value - compiled.offset)
    cost = sp.csr_array(sign * compiled.cost[None, :])
    limit = Rows(
        sp.csr_array(sp.vstack([compiled.rows.matrix, cost])),
        np.append(compiled.rows.lower, -np.inf),
        np.append(compiled.rows.upper, most + _WORSE * (1.0 + abs(most))),
    )
    lower, upper = _bounds(compiled, limit, every=True)
    nearer = replace(compiled, lower=lower, upper=upper)
    if (lower > upper).any():
        return compiled
    small = tightened(nearer)
    settled = compiled.integer & (lower == upper) & (compiled.lower < compiled.upper)
    return compiled if small is nearer and not settled.any() else small


def _bounds(compiled: MatrixForm, rows: Rows, *, every: bool = False) -> tuple[Floats, Floats]:
    """Bounds that rows imply, of whole columns whole: a constant is made small between those.

    Others are what they were loosened from where that is plain to see, or go outward to few
    digits: SCIP has been seen to lose optima by 7.00000001 beside 7, and by 1.0004e-9 beside 0.
    """
    lower, upper = derived_bounds(rows, compiled.lower, compiled.upper, every=every)
    whole = compiled.integer
    lower, upper = _plain(lower, compiled), _plain(upper, compiled)
    low = np.where(lower > compiled.lower, -_coarser(-lower), lower)
    high = np.where(upper < compiled.upper, _coarser(upper), upper)
    low, high = np.maximum(low, compiled.lower), np.minimum(high, compiled.upper)
    return np.where(whole, np.ceil(lower), low), np.where(whole, np.floor(upper), high)


def _plain(end: Floats, compiled: MatrixForm) -> Floats:
    """A column's bound or a short decimal in the place of a derived bound just beside it."""
    with np.errstate(invalid="ignore"):  # infinite less infinite
        near = np.minimum(np.maximum(1.0, np.abs(end)), compiled.upper - compiled.lower) * _NEAR
        for plain in (np.round(end, _DECIMALS), compiled.lower, compiled.upper):
            end = np.where(np.isfinite(end) & (np.abs(end - plain) <= near), plain, end)
    return end


def _coarser(value: Floats) -> Floats:
    """The next greater numbers of ten binary digits."""
    part, exponent = np.frexp(value)
    return np.asarray(np.ldexp(np.ceil(part * _DIGITS) / _DIGITS, exponent))


def _largest(size: Floats, row: np.ndarray) -> np.ndarray:
    """The entry of the greatest size in each row that has any but zero."""
    order = np.lexsort((size, row))
    last = np.append(row[order][1:] != row[order][:-1], True)
    chosen = order[last]
    return np.asarray(chosen[size[chosen] > 0])


def _tighten(
    a: Floats, side: Floats, low: Floats, high: Floats, row: np.ndarray, entry: np.ndarray
) -> bool:
    """Shrink these entries, one a row, in place; whether any became much smaller.

    Where the column leaves its end that binds by one, the row must just not bind.
    """
    most = a * np.where(a > 0, high, np.where(a < 0, low, 0.0))
    here, binding = row[entry], np.where(a[entry] > 0, high[entry], low[entry])
    most[entry] = 0.0
    known = np.where(np.isfinite(most), most, 0.0)
    endless = np.bincount(row, ~np.isfinite(most), len(side))[here] > 0
    others = np.bincount(row, known, len(side))[here]
    size = np.bincount(row, np.abs(known), len(side))[here] + np.abs(side[here])
    off = binding - np.sign(a[entry])  # one step from where it binds
    slack = side[here] - (others + a[entry] * off) - _LOOSE * (1.0 + size)
    most = np.abs(a[entry])
    slack = np.maximum(most - _coarser(most - np.clip(slack, 0.0, most)), 0.0)
    use = ~endless & (slack > 0.5 * np.abs(a[entry])) & (low[entry] < high[entry])
    chosen, change = entry[use], (np.sign(a[entry]) * slack)[use]
    a[chosen] -= change
    side[row[chosen]] -= change * binding[use]
    return bool(use.any())
