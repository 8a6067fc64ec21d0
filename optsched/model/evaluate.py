"""Evaluate a point in a model, with decisions as in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.model.expression import Floats, Shape
from optsched.model.matrix_form import MatrixForm, Rows

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # eight times what one operation loses
_TINY = float(np.finfo(np.float64).tiny)
_HUGE = float(np.finfo(np.float64).max)
_EXACT = 2.0**53  # floating point adds whole numbers below without an error
DATA_NOISE = 2.0**-48
"""What rounding decimals to floating point explains in a row, relative to the size of its terms."""


@dataclass(frozen=True)
class BlockViolation:
    """A block that a point breaks."""

    block: str
    """Name of the constraint block, or of the variable for a bound or integrality."""
    kind: str
    """"row", "bound", "integrality", or the kind of a nonlinear block."""
    index: tuple[int, ...]
    """Entry of the block that is broken most."""
    amount: float
    """By how much, in the units of the row or variable."""
    entries: int
    """How many entries of the block are broken."""


def evaluate(compiled: MatrixForm, x: Floats, tolerance: float) -> list[BlockViolation]:
    """Every block broken by more than the tolerance.

    In rows, an integer column within the tolerance of a whole number counts as that number. What a
    row is forgiven is said in :func:`row_excess`.
    """
    broken: list[BlockViolation] = []
    finite = np.isfinite(x)
    with np.errstate(invalid="ignore"):  # infinite less infinite
        outside = np.maximum(compiled.lower - x, x - compiled.upper)
        nearest = np.rint(x)
        fraction = np.abs(x - nearest) * compiled.integer
    outside[~finite] = np.inf  # what is not a number is outside everything
    for kind, amount in (("bound", outside), ("integrality", fraction)):
        if (wrong := amount > tolerance).any():
            broken += _report(kind, amount, wrong, compiled.column_blocks)
    meant = np.where(compiled.integer & (fraction <= tolerance), nearest, x)
    room = compiled.movable
    excess = row_excess(compiled.rows, meant, tolerance, room)
    if excess.any():
        broken += _report("row", excess, excess > 0, compiled.row_blocks)
    for indicator in compiled.indicators:
        active = (np.round(x[indicator.literals]) == indicator.active).all(axis=1)
        excess = row_excess(indicator.rows, meant, tolerance, room)
        wrong = active & (excess > 0)
        broken += _report("row", excess, wrong, {indicator.name: (0, indicator.shape)})
    for block in compiled.nonlinear:
        shape = block.shape
        excess = block.excess(x).ravel() if finite.all() else np.full(math.prod(shape), np.inf)
        broken += _report(block.kind, excess, excess > tolerance, {block.name: (0, shape)})
    return broken


def row_excess(rows: Rows, x: Floats, tolerance: float, room: Floats | None = None) -> Floats:
    """By how much each row is broken; 0 if it holds within the tolerance.

    The measure is the least move of one continuous column that mends the row. A column may move
    by the tolerance, times its value if that is above 1, or times its range if that is less. A row
    is never forgiven more than ``tolerance * max(1, |side|)``, the side less what columns without
    room contribute. If no column of a row has room, the row is forgiven ``DATA_NOISE``, and nothing
    if all its numbers are whole.

    Floating point decides unless its error bound leaves the answer open; those rows, few if
    any, are decided with rationals.

    Args:
        rows: over all columns.
        x: shape (columns,).
        tolerance: of a column of size 1; 0 forgives nothing.
        room: by how much each column can move, shape (columns,), 0 of an integer column; None:
            all can move.
    """
    matrix = rows.lines
    if not np.isfinite(x).all():
        hit = (matrix.data != 0) & ~np.isfinite(x)[matrix.indices]
        touched = _row_sums(rows, hit)
        x = np.where(np.isfinite(x), x, 0.0)
        return np.where(touched > 0, np.inf, row_excess(rows, x, tolerance, room))
    reach = np.maximum(1.0, np.abs(x))
    if room is not None:
        reach = np.minimum(room, reach)
    excess = np.zeros(len(rows.lower))
    with np.errstate(over="ignore", invalid="ignore"):  # rows that overflow stay open
        terms = matrix.data * x[matrix.indices]
        activity, size = _row_sums(rows, np.array([terms, np.abs(terms)]))
        # standard bound on a rounded dot product; tiny products lose more than their share
        error = rows.lengths * _ROUNDING * (size + _TINY)
        whole = _are_whole(rows, matrix.data, x[matrix.indices])
        error[whole & (size < _EXACT)] = 0.0
        weight = row_weight(rows, reach)
        nearest = np.maximum(rows.lower - activity, activity - rows.upper)
        if (nearest + error <= 0.5 * tolerance * np.minimum(weight, 1.0)).all():
            return excess  # the usual case: every row holds beyond doubt
        stuck = (reach == 0)[matrix.indices]
        fixed = _row_sums(rows, np.where(stuck, terms, 0.0))
        for side, sign in ((rows.lower, -1.0), (rows.upper, 1.0)):
            near = np.flatnonzero(np.isfinite(side) & ~(sign * (activity - side) + error <= 0))
            value = side[near]
            over = sign * (activity[near] - value)
            noise = DATA_NOISE * (np.abs(value) + size[near]) if tolerance else 0.0
            noise = np.where(whole[near] & (value == np.rint(value)), 0.0, noise)
            left = np.maximum(1.0, np.abs(value - fixed[near]))
            allowed = tolerance * np.minimum(left, weight[near])
            allowed = np.where(weight[near] == 0, noise, allowed)
            margin = (1.0 + tolerance) * error[near] + _ROUNDING * (np.abs(over) + allowed)
            amount = over * (over > allowed)
            for k in np.flatnonzero(~(np.abs(over - allowed) > margin) & (margin != 0)):
                row = int(near[k])
                amount[k] = _exact_excess(rows, x, reach, row, side[row], sign, tolerance)
            excess[near] = np.maximum(excess[near], amount)
    return excess


def row_weight(rows: Rows, reach: Floats) -> Floats:
    """By how much a move of one column within its reach changes each row, at most; shape (rows,).

    0 if no column of the row can move, 1 if no column has a coefficient.
    """
    matrix = rows.lines
    size = np.abs(matrix.data)
    weight, most = np.zeros((2, len(rows.lower)))
    if len(rows.filled):
        change = np.array([size * reach[matrix.indices], size])
        weight[rows.filled], most[rows.filled] = np.maximum.reduceat(change, rows.starts, axis=1)
    weight[most == 0] = 1.0
    return weight


def _are_whole(rows: Rows, data: Floats, x: Floats) -> NDArray[np.bool_]:
    """Whether all coefficients of each row and their columns are whole numbers, shape (rows,).

    Args:
        rows: the rows.
        data: coefficients, entry by entry.
        x: values of their columns, entry by entry.
    """
    broken = (x != np.rint(x)) | (data != np.rint(data))
    if not broken.any():  # the usual case of integer columns
        return np.ones(len(rows.lower), dtype=bool)
    return np.asarray(_row_sums(rows, broken) == 0)


def _row_sums(rows: Rows, terms: NDArray[Any]) -> Floats:
    """Sum of values per entry, shape (..., entries), over each row; faster than scipy if small."""
    sums = np.zeros((*terms.shape[:-1], len(rows.lower)))
    if len(rows.filled):
        sums[..., rows.filled] = np.add.reduceat(terms, rows.starts, axis=-1, dtype=np.float64)
    return sums


def _exact_excess(
    rows: Rows, x: Floats, reach: Floats, row: int, bound: float, sign: float, tolerance: float
) -> float:
    """By how much one row is broken on one side, decided with rationals."""
    matrix = rows.lines
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    columns = matrix.indices[part]
    a = [Fraction(float(value)) for value in matrix.data[part]]
    terms = [p * Fraction(float(q)) for p, q in zip(a, x[columns], strict=True)]
    moves = [abs(p) * Fraction(float(r)) for p, r in zip(a, reach[columns], strict=True)]
    side = Fraction(float(bound))
    over = Fraction(sign) * (sum(terms) - side)
    if any(moves) or not any(a):
        fixed = sum(t for t, r in zip(terms, reach[columns], strict=True) if r == 0)
        most = max(moves) if any(a) else Fraction(1)
        allowed = Fraction(tolerance) * min(max(Fraction(1), abs(side - fixed)), most)
    elif tolerance == 0 or all(v.denominator == 1 for v in (*a, *terms, side)):
        allowed = Fraction(0)
    else:
        allowed = Fraction(DATA_NOISE) * (abs(side) + sum(map(abs, terms)))
    if over <= allowed:
        return 0.0
    return max(float(min(over, Fraction(_HUGE))), _TINY)  # broken, if by more or less than floats


def _report(
    kind: str,
    amount: Floats,
    wrong: NDArray[np.bool_],
    blocks: dict[str, tuple[int, Shape]],
) -> Iterator[BlockViolation]:
    for name, (first, shape) in blocks.items():
        part = slice(first, first + math.prod(shape))
        if wrong[part].any():
            worst = int(np.argmax(np.where(wrong[part], amount[part], -np.inf)))
            index = tuple(int(i) for i in np.unravel_index(worst, shape)) if shape else ()
            count = int(np.count_nonzero(wrong[part]))
            yield BlockViolation(name, kind, index, float(amount[part][worst]), count)
