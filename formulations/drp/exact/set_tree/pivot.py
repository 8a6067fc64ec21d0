"""One step of the simplex method on a dense inverse, for compiled loops."""

from __future__ import annotations

import numpy as np

from optsched.jit import njit_cached
from optsched.model.expression import Floats

PRECISION = 1e-9
"""Share of what a column takes of a row, up to which it is rounding."""


@njit_cached
def pivot(inverse: Floats, weight: Floats, change: Floats) -> int:
    """Let a column into the basis for the one that reaches nothing first.

    Args:
        inverse: of the basis, changed, shape (rows, rows).
        weight: of the columns in the basis, changed, shape (rows,).
        change: the inverse times the new column, shape (rows,).

    Returns:
        The place of the column that left, which is the new one's; -1 if none does, and nothing
        is changed.
    """
    rows = len(weight)
    out, least = -1, np.inf
    for i in range(rows):
        if change[i] > PRECISION and weight[i] < least * change[i]:
            out, least = i, weight[i] / change[i]
    if out < 0:
        return -1
    row = inverse[out] / change[out]
    for i in range(rows):
        weight[i] = max(weight[i] - least * change[i], 0.0)
        inverse[i] -= change[i] * row
    inverse[out], weight[out] = row, least
    return out
