"""MPS in free format, as text, in numbers that read back to the same bits.

If no float is the difference of the two sides of a row, one side may miss its last bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.files.beyond_rows import NOTHING, BeyondRows
from optsched.files.names import Names
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm

_GOAL = "OBJ"


def mps_text(compiled: MatrixForm, names: Names, title: str, beyond: BeyondRows = NOTHING) -> str:
    """The file's content: a minimisation, of the negative if the model is to be maximised.

    Not every reader reads the section on the sense (CBC's does not). Rows without a finite side say
    nothing and are left out. The objective's constant is the negative right-hand side of its
    row, as readers agree; on bounds that go without saying they do not, so all are written.
    """
    return "\n".join(_lines(compiled, names, title, beyond)) + "\n"


def _lines(compiled: MatrixForm, names: Names, title: str, beyond: BeyondRows) -> Iterator[str]:
    sign = -1.0 if compiled.maximise else 1.0
    lower, upper = compiled.rows.lower, compiled.rows.upper
    kept = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    lower, upper, rows = lower[kept], upper[kept], [names.rows[row] for row in kept.tolist()]
    two = np.isfinite(lower) & np.isfinite(upper) & (lower != upper)
    with np.errstate(invalid="ignore"):
        width = upper - lower
        # a two-sided row is given by the distance from one side: where rounding shows, the smaller
        rounded = (upper - width != lower) & (np.abs(lower) <= np.abs(upper))
        below = np.where(two, rounded, upper == np.inf)
    sense = np.where(lower == upper, "E", np.where(below, "G", "L"))
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
    if two.any():
        yield "RANGES"
        yield from (f" RNG {rows[i]} {float(width[i])!r}" for i in np.flatnonzero(two).tolist())
    yield "BOUNDS"
    for column, (name, low, high) in enumerate(
        zip(names.columns, compiled.lower.tolist(), compiled.upper.tolist(), strict=True)
    ):
        if column in beyond.semi:
            sort = "SI" if compiled.integer[column] else "SC"  # HiGHS takes SC for continuous
            yield f" LO BND {name} {low!r}\n {sort} BND {name} {high!r}"
            continue
        if low == high:
            yield f" FX BND {name} {low!r}"
            continue
        yield f" MI BND {name}" if low == -np.inf else f" LO BND {name} {low!r}"
        yield f" PL BND {name}" if high == np.inf else f" UP BND {name} {high!r}"
    yield from _beyond_rows(beyond, names, sign, set(kept.tolist()))
    yield "ENDATA"


def _beyond_rows(beyond: BeyondRows, names: Names, sign: float, kept: set[int]) -> Iterator[str]:
    if beyond.products:
        yield "QUADOBJ"  # one triangle of the matrix in x' Q x / 2
    for (one, other), value in beyond.products.items():
        entry = sign * value * (2.0 if one == other else 1.0)
        yield f" {names.columns[one]} {names.columns[other]} {entry!r}"
    if beyond.sets:
        yield "SOS"
    for name, (order, columns) in zip(names.sets, beyond.sets, strict=True):
        yield f" S{order} {name}"
        yield from (f" {names.columns[c]} {weight}" for weight, c in enumerate(columns, 1))
    guards = {row: guard for row, guard in beyond.guards.items() if row in kept}
    if guards:
        yield "INDICATORS"
    for row, (column, on) in guards.items():
        yield f" IF {names.rows[row]} {names.columns[column]} {int(on)}"


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
