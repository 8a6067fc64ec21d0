"""Multiply rows with small coefficients by powers of two, so that tolerances do not hide them.

Tolerances of solvers are absolute: a row ``x / 1e8 <= 0`` broken by 5e-7 counts as kept, though x
is 50. A row is scaled so that a move of a continuous column by 1 (or by its range, if that is
less) changes it by about 1, or, if it has no such column, a step of any integer column does.
A power of two rounds nothing. Shown by
``test_dividing_by_a_capacity_does_not_change_the_optimum``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.model.evaluate import row_weight
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, Rows

SMALL = 0.1
"""Rows that such a move changes by less are multiplied."""
_LARGEST = 2.0**40  # no coefficient is made larger than this


def _scales(rows: Rows, reach: Floats) -> Floats | None:
    """The power of two of each row, shape (rows,); None if all are 1.

    Args:
        rows: over all columns.
        reach: a move of each column that matters, shape (columns,), 0 of an integer column.
    """
    lines = rows.lines
    size = np.abs(lines.data)
    if (size * np.where(reach > 0, reach, 1.0)[lines.indices]).min(initial=1.0) >= SMALL:
        return None  # the usual case
    weight = row_weight(rows, reach)
    starts = rows.starts
    least = np.minimum.reduceat(np.where(size > 0, size, np.inf), starts)
    weight[rows.filled] = np.where(weight[rows.filled] > 0, weight[rows.filled], least)
    small = (weight > 0) & (weight < SMALL)
    if not small.any():
        return None
    most = row_weight(rows, np.ones(len(reach)))
    scale = np.minimum(1.0 / np.where(small, weight, 1.0), np.maximum(_LARGEST / most, 1.0))
    return np.where(small, np.exp2(np.floor(np.log2(scale))), 1.0)


def with_scaled_rows(compiled: MatrixForm) -> tuple[MatrixForm, Floats | None]:
    """The same model with small rows multiplied, and the multipliers of its linear rows.

    The multipliers are None if no linear row changed.
    """
    reach = np.minimum(compiled.movable, 1.0)
    scale = _scales(compiled.rows, reach)
    blocks = [(block, _scales(block.rows, reach)) for block in compiled.indicators]
    if scale is None and all(factor is None for _, factor in blocks):
        return compiled, None
    scaled = replace(
        compiled,
        rows=compiled.rows if scale is None else _multiplied(compiled.rows, scale),
        indicators=tuple(
            block if factor is None else replace(block, rows=_multiplied(block.rows, factor))
            for block, factor in blocks
        ),
    )
    return scaled, scale


def _multiplied(rows: Rows, scale: Floats) -> Rows:
    import scipy.sparse as sp

    matrix = rows.matrix
    data = matrix.data * np.repeat(scale, rows.lengths)
    same = sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return Rows(same, scale * rows.lower, scale * rows.upper)
