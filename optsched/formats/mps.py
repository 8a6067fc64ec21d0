"""MPS in free format, as text, in numbers that read back to the same bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.formats.names import Names
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm

_GOAL = "OBJ"


def mps_text(compiled: MatrixForm, names: Names, title: str) -> str:
    """The file's content: a minimisation, of the negative where the model is to be maximised.

    Not every reader heeds a word on the sense (CBC's does not). Rows without a finite side say
    nothing and are left out. The objective's constant is the negative right-hand side of its
    row, as readers agree; on bounds that go without saying they do not, so all are written.
    """
    return "\n".join(_lines(compiled, names, title)) + "\n"


def _lines(compiled: MatrixForm, names: Names, title: str) -> Iterator[str]:
    sign = -1.0 if compiled.maximise else 1.0
    lower, upper = compiled.rows.lower, compiled.rows.upper
    kept = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    lower, upper, rows = lower[kept], upper[kept], [names.rows[row] for row in kept.tolist()]
    # a two-sided row is given by its upper side and the distance to the lower one
    sense = np.where(lower == upper, "E", np.where(np.isfinite(upper), "L", "G"))
    yield f"NAME {title} FREE"
    yield f"ROWS\n N {_GOAL}"
    yield from (f" {s} {row}" for s, row in zip(sense.tolist(), rows, strict=True))
    yield "COLUMNS"
    yield from _columns(compiled, sign * compiled.cost, names.columns, kept, rows)
    yield "RHS"
    if compiled.offset:
        yield f" RHS {_GOAL} {-sign * compiled.offset!r}"
    side = np.where(sense == "G", lower, upper)
    yield from (f" RHS {rows[row]} {float(side[row])!r}" for row in np.flatnonzero(side).tolist())
    two = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper) & (lower != upper)).tolist()
    if two:
        yield "RANGES"
        yield from (f" RNG {rows[row]} {float(upper[row] - lower[row])!r}" for row in two)
    yield "BOUNDS"
    for name, low, high in zip(
        names.columns, compiled.lower.tolist(), compiled.upper.tolist(), strict=True
    ):
        if low == high:
            yield f" FX BND {name} {low!r}"
            continue
        yield f" MI BND {name}" if low == -np.inf else f" LO BND {name} {low!r}"
        yield f" PL BND {name}" if high == np.inf else f" UP BND {name} {high!r}"
    yield "ENDATA"


def _columns(
    compiled: MatrixForm, cost: Floats, names: list[str], kept: np.ndarray, rows: list[str]
) -> Iterator[str]:
    matrix = compiled.rows.matrix[kept].tocsc()
    entries, data, cuts = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    inside, marks = False, 0
    for column, (name, weight, whole) in enumerate(
        zip(names, cost.tolist(), compiled.integer.tolist(), strict=True)
    ):
        if whole is not inside:
            yield f" MARK{marks} 'MARKER' '{'INTORG' if whole else 'INTEND'}'"
            inside, marks = whole, marks + 1
        yield f" {name} {_GOAL} {weight + 0.0!r}"  # be it 0: a column must be named
        for k in range(cuts[column], cuts[column + 1]):
            if data[k]:
                yield f" {name} {rows[entries[k]]} {data[k]!r}"
    if inside:
        yield f" MARK{marks} 'MARKER' 'INTEND'"
