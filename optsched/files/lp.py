"""The LP format (CPLEX), as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from optsched.files.beyond_rows import BeyondRows
from optsched.files.names import Names
from optsched.model.matrix_form import MatrixForm

_PER_LINE = 6  # terms; keeps lines below the 510 characters that readers promise only for short
_LONGEST_LINE = 400


def lp_text(compiled: MatrixForm, names: Names, title: str, beyond: BeyondRows) -> str:
    """The file's content; numbers with all their digits.

    Rows without a finite side are left out, and a two-sided row is written as two rows, the
    second with ``__low`` after its name: readers do not agree on rows with two sides.
    """
    return "\n".join(_lines(compiled, names, title, beyond)) + "\n"


def _lines(compiled: MatrixForm, names: Names, title: str, beyond: BeyondRows) -> Iterator[str]:
    yield f"\\ {title}"
    yield "Maximize" if compiled.maximise else "Minimize"
    # a column that is in no row, and has no bound to be told, is said to be there by a cost of 0
    used = np.flatnonzero((compiled.cost != 0) | (_mentions(compiled) == 0))
    constant = f" {compiled.offset:+.17g}" if compiled.offset else ""
    goal = _sum([names.columns[i] for i in used.tolist()], compiled.cost[used].tolist())
    yield f" OBJ: {goal or _nothing(names)}{constant}"
    yield from _products(beyond, names)
    yield "Subject To"
    yield from _rows(compiled, names, beyond)
    yield "Bounds"
    yield from _bounds(compiled, names.columns)
    whole = [names.columns[i] for i in np.flatnonzero(compiled.integer).tolist()]
    if whole:
        yield "General"
        yield from (f" {name}" for name in whole)
    if beyond.semi:
        yield "Semi-Continuous"
        yield from (f" {names.columns[column]}" for column in sorted(beyond.semi))
    if beyond.sets:
        yield "SOS"
    for name, (order, columns) in zip(names.sets, beyond.sets, strict=True):
        yield f" {name}: S{order}::"
        yield from (f"  {names.columns[c]}:{weight}" for weight, c in enumerate(columns, 1))
    yield "End"


def _mentions(compiled: MatrixForm) -> NDArray[np.intp]:
    return np.bincount(compiled.rows.matrix.indices, minlength=len(compiled.cost))


def _products(beyond: BeyondRows, names: Names) -> Iterator[str]:
    if not beyond.products:
        return
    yield "  + ["
    for (one, other), value in beyond.products.items():
        right = "^2" if one == other else f"* {names.columns[other]}"
        yield f"  {2 * value:+.17g} {names.columns[one]} {right}"
    yield "  ] / 2"


def _rows(compiled: MatrixForm, names: Names, beyond: BeyondRows) -> Iterator[str]:
    matrix = compiled.rows.matrix
    columns = [names.columns[i] for i in matrix.indices.tolist()]
    data, cuts = matrix.data.tolist(), matrix.indptr.tolist()
    sides = zip(compiled.rows.lower.tolist(), compiled.rows.upper.tolist(), strict=True)
    for row, (low, high) in enumerate(sides):
        part = slice(cuts[row], cuts[row + 1])
        total = _sum(columns[part], data[part]) or _nothing(names)
        name, when = names.rows[row], ""
        if row in beyond.guards:
            column, on = beyond.guards[row]
            when = f"{names.columns[column]} = {int(on)} -> "
        if low == high:
            yield f" {name}: {when}{total} = {low!r}"
            continue
        if high < np.inf:
            yield f" {name}: {when}{total} <= {high!r}"
        if low > -np.inf:
            suffix = "__low" if high < np.inf else ""
            yield f" {name}{suffix}: {when}{total} >= {low!r}"


def _sum(names: Sequence[str], weights: Sequence[float]) -> str:
    terms = [f"{weight:+.17g} {name}" for name, weight in zip(names, weights, strict=True)]
    per_line = max(1, min(_PER_LINE, _LONGEST_LINE // max(map(len, terms), default=1)))
    return "\n  ".join(" ".join(terms[i : i + per_line]) for i in range(0, len(terms), per_line))


def _nothing(names: Names) -> str:
    return f"0 {names.columns[0]}" if names.columns else "0"


def _bounds(compiled: MatrixForm, names: list[str]) -> Iterator[str]:
    """Every bound that is not the default; for integers all."""
    rows = zip(
        names,
        compiled.lower.tolist(),
        compiled.upper.tolist(),
        compiled.integer.tolist(),
        strict=True,
    )
    for name, low, high, whole in rows:
        if low == high:
            yield f" {name} = {low!r}"
        elif low == -np.inf and high == np.inf:
            yield f" {name} free"
        elif high < np.inf:
            yield f" {low!r} <= {name} <= {high!r}"
        elif low or whole:
            yield f" {name} >= {low!r}"
