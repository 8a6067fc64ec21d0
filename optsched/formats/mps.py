"""MPS in free format, as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.formats.names import Names
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm

_GOAL = "OBJ"


def mps_text(compiled: MatrixForm, names: Names, title: str) -> str:
    """The file's content; numbers with all their digits.

    Rows without a finite side say nothing and are left out. The objective's constant is the
    negative right-hand side of its row, as readers agree.
    """
    return "\n".join(_lines(compiled, names, title)) + "\n"


def _lines(compiled: MatrixForm, names: Names, title: str) -> Iterator[str]:
    yield f"NAME {title}"
    if compiled.maximise:
        yield "OBJSENSE\n    MAX"
    lower, upper = compiled.rows.lower, compiled.rows.upper
    # a two-sided row is given by its upper side and the distance to the lower one
    sense = np.where(lower == upper, "E", np.where(np.isfinite(upper), "L", "G"))
    kept = np.isfinite(lower) | np.isfinite(upper)
    yield f"ROWS\n N  {_GOAL}"
    yield from (
        f" {s}  {name}" for s, name, k in zip(sense.tolist(), names.rows, kept, strict=True) if k
    )
    yield "COLUMNS"
    yield from _columns(compiled, names, kept)
    yield "RHS"
    if compiled.offset:
        yield f"    RHS  {_GOAL}  {_text(-compiled.offset)}"
    side = np.where(sense == "G", lower, upper)
    for row in np.flatnonzero(kept & (side != 0)).tolist():
        yield f"    RHS  {names.rows[row]}  {_text(side[row])}"
    ranged = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper) & (lower != upper)).tolist()
    if ranged:
        yield "RANGES"
        yield from (
            f"    RNG  {names.rows[row]}  {_text(upper[row] - lower[row])}" for row in ranged
        )
    yield "BOUNDS"
    yield from _bounds(compiled.lower, compiled.upper, compiled.integer, names.columns)
    yield "ENDATA"


def _columns(compiled: MatrixForm, names: Names, kept: np.ndarray) -> Iterator[str]:
    matrix = compiled.rows.matrix.tocsc()
    data = matrix.data.tolist()
    rows = [names.rows[row] if kept[row] else "" for row in matrix.indices.tolist()]
    cuts = matrix.indptr.tolist()
    inside, marks = False, 0
    for column, (name, cost, whole) in enumerate(
        zip(names.columns, compiled.cost.tolist(), compiled.integer.tolist(), strict=True)
    ):
        if whole is not inside:
            yield f"    MARK{marks}  'MARKER'  '{'INTORG' if whole else 'INTEND'}'"
            inside, marks = whole, marks + 1
        part = slice(cuts[column], cuts[column + 1])
        entries = [
            f"    {name}  {row}  {value!r}"
            for row, value in zip(rows[part], data[part], strict=True)
            if row and value
        ]
        if cost or not entries:  # a column must be named, even if only with a cost of zero
            entries.append(f"    {name}  {_GOAL}  {cost!r}")
        yield from entries
    if inside:
        yield f"    MARK{marks}  'MARKER'  'INTEND'"


def _bounds(lower: Floats, upper: Floats, integer: np.ndarray, names: list[str]) -> Iterator[str]:
    """Every bound that is not the default; for integers all, as their default is not agreed on."""
    for name, low, high, whole in zip(
        names, lower.tolist(), upper.tolist(), integer.tolist(), strict=True
    ):
        if low == high:
            yield f" FX BND  {name}  {low!r}"
            continue
        if low == -np.inf and high == np.inf:
            yield f" FR BND  {name}"
            continue
        if low == -np.inf:
            yield f" MI BND  {name}"
        elif low or whole:
            yield f" LO BND  {name}  {low!r}"
        if high < np.inf:
            yield f" UP BND  {name}  {high!r}"
        elif whole:
            yield f" PL BND  {name}"


def _text(value: float) -> str:
    return repr(float(value))
