"""A compiled linear model as an MPS file, in numbers that read back to the same bits."""

from __future__ import annotations

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, Rows


def mps(compiled: MatrixForm, cost: Floats) -> tuple[str, np.ndarray]:
    """Free-format MPS text that minimises ``cost``, and the rows it holds.

    Columns are named C0, C1, ... in the model's order. Rows without a finite side are left out;
    the others are named R0, R1, ... by their number in the model. The objective has no constant.

    Args:
        compiled: linear rows only.
        cost: shape (columns,).
    """
    rows = compiled.rows
    kept = np.flatnonzero(np.isfinite(rows.lower) | np.isfinite(rows.upper))
    lines = ["NAME model FREE", "ROWS", " N obj"]
    lines += [f" {s} R{i}" for i, s in zip(kept.tolist(), _senses(rows, kept), strict=True)]
    lines += ["COLUMNS", *_columns(compiled, cost, kept)]
    lines += ["RHS", *_sides(rows, kept)]
    lines += ["BOUNDS", *_bounds(compiled), "ENDATA", ""]
    return "\n".join(lines), kept


def _senses(rows: Rows, kept: np.ndarray) -> list[str]:
    lower, upper = rows.lower[kept], rows.upper[kept]
    sense = np.where(lower == upper, "E", np.where(np.isfinite(upper), "L", "G"))
    return list(sense.tolist())


def _columns(compiled: MatrixForm, cost: Floats, kept: np.ndarray) -> list[str]:
    matrix = compiled.rows.matrix[kept].tocsc()
    names = [f"R{i}" for i in kept.tolist()]
    entries, pointer = matrix.indices.tolist(), matrix.indptr.tolist()
    values = [repr(v) for v in matrix.data.tolist()]
    weights = [repr(v) for v in cost.tolist()]
    lines: list[str] = []
    inside = False
    for column, integer in enumerate(compiled.integer.tolist()):
        if integer != inside:
            lines.append(f" M{column} 'MARKER' '{'INTORG' if integer else 'INTEND'}'")
            inside = integer
        lines.append(f" C{column} obj {weights[column]}")
        lines += [
            f" C{column} {names[entries[k]]} {values[k]}"
            for k in range(pointer[column], pointer[column + 1])
        ]
    if inside:
        lines.append(" M 'MARKER' 'INTEND'")
    return lines


def _sides(rows: Rows, kept: np.ndarray) -> list[str]:
    lower, upper = rows.lower[kept], rows.upper[kept]
    side = np.where(np.isfinite(upper), upper, lower)
    lines = [f" RHS R{i} {v!r}" for i, v in zip(kept.tolist(), side.tolist(), strict=True)]
    two = np.isfinite(lower) & np.isfinite(upper) & (lower != upper)
    if two.any():
        widths = (upper - lower)[two]
        lines.append("RANGES")
        lines += [
            f" RNG R{i} {v!r}" for i, v in zip(kept[two].tolist(), widths.tolist(), strict=True)
        ]
    return lines


def _bounds(compiled: MatrixForm) -> list[str]:
    """Both bounds of every column in words: readers differ on what they take for granted."""
    lines = []
    pairs = zip(compiled.lower.tolist(), compiled.upper.tolist(), strict=True)
    for column, (low, high) in enumerate(pairs):
        if low == high:
            lines.append(f" FX BND C{column} {low!r}")
            continue
        lines.append(f" MI BND C{column}" if low == -np.inf else f" LO BND C{column} {low!r}")
        lines.append(f" PL BND C{column}" if high == np.inf else f" UP BND C{column} {high!r}")
    return lines
