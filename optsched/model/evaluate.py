"""A point against a model, decided as if in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.model.expression import Floats, Shape
from optsched.model.matrix_form import MatrixForm, Rows
from optsched.model.terms import Coefficients

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # eight times what one operation loses
_TINY = float(np.finfo(np.float64).tiny)
_HUGE = float(np.finfo(np.float64).max)
WHOLE = 2.0**-10
"""Of the tolerance, in rows of integers alone: nothing but the decimals of data is rounded."""


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

    A row's tolerance is ``tolerance * max(1, |side|)``, so that a large right-hand side is not
    held to more digits than a number has; what integer columns contribute is exact and goes over
    to the side first, so that a large constant that is switched off lets nothing through.
    """
    broken: list[BlockViolation] = []
    finite = np.isfinite(x)
    with np.errstate(invalid="ignore"):  # infinite less infinite
        outside = np.maximum(compiled.lower - x, x - compiled.upper)
        fraction = np.abs(x - np.rint(x)) * compiled.integer
    outside[~finite] = np.inf  # what is not a number is outside everything
    for kind, amount in (("bound", outside), ("integrality", fraction)):
        broken += _report(kind, amount, amount > tolerance, compiled.column_blocks)
    whole = compiled.integer
    excess = row_excess(compiled.rows, x, tolerance, whole)
    broken += _report("row", excess, excess > 0, compiled.row_blocks)
    for indicator in compiled.indicators:
        active = (np.round(x[indicator.literals]) == indicator.active).all(axis=1)
        excess = row_excess(indicator.rows, x, tolerance, whole)
        wrong = active & (excess > 0)
        broken += _report("row", excess, wrong, {indicator.name: (0, indicator.shape)})
    for block in compiled.nonlinear:
        shape = block.shape
        excess = block.excess(x).ravel() if finite.all() else np.full(math.prod(shape), np.inf)
        broken += _report(block.kind, excess, excess > tolerance, {block.name: (0, shape)})
    return broken


def row_excess(
    rows: Rows, x: Floats, tolerance: float, integer: NDArray[np.bool_] | None = None
) -> Floats:
    """By how much each row is broken; 0 where it holds within the tolerance.

    Floating point decides unless its error bound leaves the answer open; those rows, few if
    any, are decided with rationals.

    Args:
        rows: over all columns.
        x: shape (columns,).
        tolerance: relative to ``max(1, |side|)``, the side less what integer columns contribute;
            of a row of integers alone a thousandth of the side counts, for its decimals.
        integer: which columns hold whole numbers, shape (columns,); None: none.
    """
    matrix = rows.lines
    if not np.isfinite(x).all():
        hit = (matrix.data != 0) & ~np.isfinite(x)[matrix.indices]
        touched = _row_sums(rows, hit)
        x = np.where(np.isfinite(x), x, 0.0)
        return np.where(touched > 0, np.inf, row_excess(rows, x, tolerance, integer))
    with np.errstate(over="ignore", invalid="ignore"):  # rows that overflow stay open
        terms = matrix.data * x[matrix.indices]
        activity = _row_sums(rows, terms)
        # standard bound on a rounded dot product; tiny products lose more than their share
        error = rows.lengths * _ROUNDING * (_row_sums(rows, np.abs(terms)) + _TINY)
        excess = np.zeros(rows.count)
        nearest = np.maximum(rows.lower - activity, activity - rows.upper)
        if (nearest + error < 0.5 * tolerance).all():
            return excess  # the usual case: every row holds beyond doubt
        whole = np.zeros(len(x), dtype=bool) if integer is None else integer
        exact = whole[matrix.indices]
        fixed = _row_sums(rows, np.where(exact, terms, 0.0))
        alone = _row_sums(rows, exact) == rows.lengths
        for side, sign in ((rows.lower, -1.0), (rows.upper, 1.0)):
            bounded = np.flatnonzero(np.isfinite(side))
            value = side[bounded]
            left = np.abs(np.where(alone[bounded], WHOLE * value, value - fixed[bounded]))
            allowed = tolerance * np.maximum(1.0, left)
            over = sign * (activity[bounded] - value)
            margin = (1.0 + tolerance) * error[bounded] + _ROUNDING * (np.abs(over) + allowed)
            amount = over * (over > allowed)
            for k in np.flatnonzero(~(np.abs(over - allowed) > margin)):
                row = int(bounded[k])
                amount[k] = _exact_excess(matrix, x, whole, row, side[row], sign, tolerance)
            excess[bounded] = np.maximum(excess[bounded], amount)
    return excess


def _row_sums(rows: Rows, terms: NDArray[Any]) -> Floats:
    """Sum of a value per entry over each row; for small models much faster than scipy."""
    sums = np.zeros(rows.count)
    if len(rows.filled):
        starts = rows.lines.indptr[rows.filled]
        sums[rows.filled] = np.add.reduceat(terms, starts, dtype=np.float64)
    return sums


def _exact_excess(
    matrix: sp.csr_array | Coefficients,
    x: Floats,
    whole: NDArray[np.bool_],
    row: int,
    bound: float,
    sign: float,
    tolerance: float,
) -> float:
    side = Fraction(float(bound))
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    columns = matrix.indices[part]
    total = fixed = Fraction(0)
    for a, column in zip(matrix.data[part], columns, strict=True):
        term = Fraction(float(a)) * Fraction(float(x[column]))
        total += term
        fixed += term if whole[column] else 0
    left = Fraction(WHOLE) * side if whole[columns].all() else side - fixed
    over = Fraction(sign) * (total - side)
    if over <= Fraction(tolerance) * max(Fraction(1), abs(left)):
        return 0.0
    return max(float(min(over, Fraction(_HUGE))), _TINY)  # broken, if by more or less than floats


def _report(
    kind: str,
    amount: Floats,
    wrong: NDArray[np.bool_],
    blocks: dict[str, tuple[int, Shape]],
) -> Iterator[BlockViolation]:
    if not wrong.any():
        return
    for name, (first, shape) in blocks.items():
        part = slice(first, first + math.prod(shape))
        if wrong[part].any():
            worst = int(np.argmax(np.where(wrong[part], amount[part], -np.inf)))
            index = tuple(int(i) for i in np.unravel_index(worst, shape)) if shape else ()
            count = int(np.count_nonzero(wrong[part]))
            yield BlockViolation(name, kind, index, float(amount[part][worst]), count)
