"""Exact multipliers, needed if columns without a bound allow no rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from optsched.proof.exact_model import ExactModel, ExactRow
from optsched.proof.verifying import combined, row_at

_SMALL = 1e-6  # reduced costs up to here, of columns without a bound, are meant to be nothing


def mended(
    model: ExactModel,
    rows: Sequence[ExactRow],
    leaf: dict[str, Any],
    more: Sequence[ExactRow] = (),
) -> dict[str, Any] | None:
    """The leaf with its multipliers changed a little, so that no such column has a reduced cost.

    None if the rows it uses, ``more`` of its branch among them, do not allow that.
    """
    terms, _ = combined(rows, more, leaf["rows"], leaf["y"])
    scale = leaf["over"] * model.unit
    asked: dict[int, Fraction] = {}
    for j, column in enumerate(model.columns):
        if None in column:
            priced = model.cost.get(j, 0) * leaf["over"] * leaf.get("cost", 1)
            reduced = Fraction(priced - terms.get(j, 0), scale)
            wrong = (column.lower if reduced > 0 else column.upper) is None
            if wrong or abs(reduced) <= _SMALL:
                asked[j] = reduced
    equations: dict[int, dict[int, Fraction]] = {j: {} for j in asked}
    for i in leaf["rows"]:
        for j, a in row_at(rows, more, i).terms.items():
            if j in asked:
                equations[j][i] = Fraction(a, model.unit)
    change = _solution([(equations[j], side) for j, side in asked.items()])
    if change is None:
        return None
    y = [
        Fraction(n, leaf["over"]) + change.get(i, 0)
        for i, n in zip(leaf["rows"], leaf["y"], strict=True)
    ]
    if any(new * old <= 0 for new, old in zip(y, leaf["y"], strict=True) if new):
        return None  # another side of the row, which it may not have
    kept = [(i, value) for i, value in zip(leaf["rows"], y, strict=True) if value]
    over = lcm(*(value.denominator for _, value in kept))
    return {
        **leaf,
        "rows": [i for i, _ in kept],
        "y": [int(value * over) for _, value in kept],
        "over": over,
    }


def _solution(
    equations: Sequence[tuple[dict[int, Fraction], Fraction]],
) -> dict[int, Fraction] | None:
    """One solution of ``sum over i of a_i x_i = side`` for each; what it leaves out is 0."""
    solved: dict[int, tuple[dict[int, Fraction], Fraction]] = {}
    for given, given_side in equations:
        terms, side = dict(given), given_side
        for i, (other, other_side) in solved.items():
            factor = terms.get(i, Fraction(0))
            if factor:
                terms = _less(terms, factor, other)
                side -= factor * other_side
        if not terms:
            if side:
                return None
            continue
        pivot = max(terms, key=lambda i: abs(terms[i]))
        size = terms[pivot]
        row = {i: a / size for i, a in terms.items()}
        for i, (other, other_side) in solved.items():
            factor = other.get(pivot, Fraction(0))
            if factor:
                solved[i] = _less(other, factor, row), other_side - factor * side / size
        solved[pivot] = row, side / size
    return {i: side for i, (_, side) in solved.items()}


def _less(
    terms: dict[int, Fraction], factor: Fraction, other: dict[int, Fraction]
) -> dict[int, Fraction]:
    new = dict(terms)
    for i, a in other.items():
        new[i] = new.get(i, Fraction(0)) - factor * a
    return {i: a for i, a in new.items() if a}
