"""A safe bound on the optimum of a linear program from any row multipliers.

By weak duality every vector of multipliers bounds the optimum. If it is not dual feasible, the
bounds of the variables make up for it (Neumaier and Shcherbina 2004, "Safe bounds in linear and
mixed-integer linear programming"). Rounding is allowed for, so the bound holds for multipliers of
any precision.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, Rows

_UNIT = float(np.finfo(np.float64).eps)
_PASSES = 4  # of deriving missing bounds from the rows
_LOOSE = 1e-9  # relative; derived bounds are loosened by far more than rounding costs
_NOISE = 1e-12  # relative; claimed reduced costs up to here are rounding
_ENDLESS = 1e-6  # the same of columns without end, of which a solver's tolerance lets through more


def dual_bound(compiled: MatrixForm, duals: Floats, value: float) -> float | None:
    """The bound that row multipliers prove; None if they prove nothing.

    Integrality is ignored, so the bound holds for mixed-integer models, too.

    Args:
        compiled: linear rows only.
        duals: shape (rows,), change of the optimum per unit of right-hand side.
        value: objective of a point in hand. Points far worse than it are left aside while
            bounds are derived, and allowed for at the end.
    """
    sign = -1.0 if compiled.maximise else 1.0
    cost = sign * compiled.cost
    rows = compiled.rows
    y = np.where(np.isfinite(duals), sign * duals, 0.0)
    side = np.where(y > 0, rows.lower, rows.upper)
    counted = np.isfinite(side)
    y[~counted] = 0.0  # a multiplier of the wrong sign proves nothing

    reduced = cost - rows.matrix.T @ y
    size = abs(rows.matrix)
    entries = np.bincount(rows.matrix.indices, minlength=len(cost))
    error = 2.0 * _UNIT * (entries + 2) * (np.abs(cost) + size.T @ np.abs(y))

    worst = sign * (value - compiled.offset)
    cutoff = worst + 1.0 + abs(worst)
    import scipy.sparse as sp

    limit = Rows(
        sp.csr_array(sp.vstack([rows.matrix, sp.csr_array(cost[None, :])])),
        np.append(rows.lower, -np.inf),
        np.append(rows.upper, cutoff),
    )
    lower, upper = derived_bounds(limit, compiled.lower, compiled.upper)
    terms = _least_product(reduced - error, reduced + error, lower, upper)
    if not np.isfinite(terms).all():
        return None
    products = np.concatenate([y[counted] * side[counted], terms])
    total = math.fsum(products)
    total -= 4.0 * _UNIT * math.fsum(np.abs(products))
    return sign * min(total, cutoff) + compiled.offset


def claimed_bound(compiled: MatrixForm, duals: Floats) -> float:
    """The bound that row multipliers claim, rounding left aside; infinite if they claim none.

    For finding a claim out that its own duals contradict; :func:`dual_bound` is for proofs.

    Args:
        compiled: linear rows only.
        duals: shape (rows,).
    """
    sign = -1.0 if compiled.maximise else 1.0
    cost, rows, matrix = sign * compiled.cost, compiled.rows, compiled.rows.matrix
    y = sign * duals
    side = np.where(y > 0, rows.lower, rows.upper)
    side[~np.isfinite(side)] = 0.0  # noise: a multiplier of the wrong sign
    # by hand: scipy's transposes cost more than solving a small model
    priced = matrix.data * np.repeat(y, np.diff(matrix.indptr))
    reduced = cost - np.bincount(matrix.indices, priced, len(cost))
    size = np.bincount(matrix.indices, np.abs(priced), len(cost))
    at = np.where(reduced > 0, compiled.lower, compiled.upper)
    noise = np.where(np.isfinite(at), _NOISE, _ENDLESS)
    counted = np.abs(reduced) > noise * (np.abs(cost) + size)
    return sign * float(y @ side + reduced[counted] @ at[counted]) + compiled.offset


def derived_bounds(
    rows: Rows, lower: Floats, upper: Floats, *, every: bool = False
) -> tuple[Floats, Floats]:
    """Bounds of every column, missing ones derived from the rows where these imply any.

    Args:
        rows: that hold.
        lower: shape (columns,).
        upper: shape (columns,).
        every: tighten the others too.
    """
    matrix = rows.matrix.tocoo()
    kept = matrix.data != 0
    row, column, value = matrix.row[kept], matrix.col[kept], matrix.data[kept]
    lower, upper = lower.copy(), upper.copy()
    for _ in range(_PASSES):
        if not every and np.isfinite(lower).all() and np.isfinite(upper).all():
            break
        new_lower, new_upper = np.full(len(lower), -np.inf), np.full(len(upper), np.inf)
        for direction, side in ((1.0, rows.upper), (-1.0, -rows.lower)):
            # direction * value * x <= side - (least activity of the other terms)
            a = direction * value
            least = np.where(a > 0, a * lower[column], a * upper[column])
            room = _room(row, least, side)
            with np.errstate(invalid="ignore"):
                reach = room / a
            up = (a > 0) & np.isfinite(reach)
            down = (a < 0) & np.isfinite(reach)
            np.minimum.at(new_upper, column[up], reach[up])
            np.maximum.at(new_lower, column[down], reach[down])
        open_lower, open_upper = every | np.isinf(lower), every | np.isinf(upper)
        lower[open_lower] = np.maximum(lower, new_lower)[open_lower]
        upper[open_upper] = np.minimum(upper, new_upper)[open_upper]
    return lower, upper


def is_bounded(compiled: MatrixForm) -> bool:
    """Whether bounds, those that the rows imply included, bound the objective."""
    lower, upper = derived_bounds(compiled.rows, compiled.lower, compiled.upper)
    cost = -compiled.cost if compiled.maximise else compiled.cost
    end = np.where(cost < 0, upper, np.where(cost > 0, lower, 0.0))
    return bool(np.isfinite(end).all())


def _room(row: np.ndarray, least: Floats, side: Floats) -> Floats:
    """What each row leaves to each of its terms, loosened; infinite if it leaves anything."""
    count = len(side)
    endless = np.isinf(least)
    known = np.where(endless, 0.0, least)
    sums = np.bincount(row, weights=known, minlength=count)
    sizes = np.bincount(row, weights=np.abs(known), minlength=count)
    others_endless = np.bincount(row, weights=endless, minlength=count)[row] - endless
    room = side[row] - (sums[row] - known)
    finite = np.isfinite(room) & (others_endless == 0)
    with np.errstate(invalid="ignore"):
        loosened = room + _LOOSE * (1.0 + np.abs(room) + sizes[row])
    return np.where(finite, loosened, np.inf)


def _least_product(low: Floats, high: Floats, lower: Floats, upper: Floats) -> Floats:
    """Least value of ``d * x`` for ``low <= d <= high`` and ``lower <= x <= upper``."""
    with np.errstate(invalid="ignore"):
        corners = np.stack([d * x for d in (low, high) for x in (lower, upper)])
    return np.asarray(np.nan_to_num(corners, nan=0.0, posinf=np.inf, neginf=-np.inf).min(axis=0))
