"""All integer points of a tiny model at once, with what follows from them.

Every column holds an interval per point: one value if it is known, the bounds if it is a
continuous variable still to be chosen. Intervals of results follow from those of their arguments,
by code of its own and not by the ranges the model computed.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.errors import ModelError
from optsched.model import MatrixForm, Model, Rows
from optsched.model.blocks import (
    ActiveSlot,
    Block,
    Cumulative,
    Element,
    Intervals,
    Maximum,
    Piecewise,
    Power,
    Product,
    Ratio,
    RotatedCone,
    SemiContinuous,
    SpecialOrdered,
    Table,
)
from optsched.model.expression import Expression, Floats
from optsched.model.ranges import affine

LARGEST_GRID = 200_000
"""Points beyond which nothing is enumerated."""

TOLERANCE = 1e-9
"""Relative to max(1, |side|): decimals such as 0.1 + 0.2 meet 0.3."""

Mask = NDArray[np.bool_]
Valued = Product | Table | ActiveSlot | Maximum | Element | Piecewise | Power | Ratio


class IntegerBox:
    """Integer points of a model; blocks are taken in the order in which they were stated."""

    def __init__(self, model: Model, compiled: MatrixForm) -> None:
        self.columns = model.columns
        results = np.zeros(self.columns, dtype=bool)
        for block in compiled.nonlinear:
            if isinstance(block, Valued):
                results[columns_of(block.result)] = True
        self.known: Mask = compiled.integer & ~results
        """Shape (columns,): the column has one value at every point."""
        self.low, self.high = _spread(compiled, self.known, results)
        """Shape (points, columns)."""
        self.alive: Mask = np.ones(len(self.low), dtype=bool)
        """Shape (points,): no known block is broken."""
        self.open: list[Block] = []
        """Blocks that say something of columns to be chosen."""

    def take(self, block: Block) -> None:
        """Judge a block, or compute the result it defines.

        Raises:
            ModelError: it says of continuous variables what no linear program can.
        """
        match block:
            case Product():
                self._product(block)
            case Maximum():
                self._maximum(block)
            case Table():
                self._table(block)
            case ActiveSlot():
                self._active_slot(block)
            case Intervals():
                self._intervals(block)
            case Cumulative():
                self._cumulative(block)
            case RotatedCone():
                self._rotated_cone(block)
            case Element():
                self._element(block)
            case Piecewise():
                self._piecewise(block)
            case Power():
                value = self._value(block, block.base) ** block.exponent
                self._set(block, value, value, True)
            case Ratio():
                self._ratio(block)
            case SpecialOrdered() | SemiContinuous() if self._depends(*block.expressions()):
                self.open.append(block)
            case _:
                self._judged(block)

    def rows_may_hold(self, rows: Rows, on: Mask | None = None) -> Mask:
        """Points at which some choice of the unknown columns satisfies each row by itself.

        Args:
            rows: over all columns.
            on: shape (points, rows): where a row binds; by default everywhere.
        """
        least, most = interval(rows.matrix, np.zeros(rows.count), self.low, self.high)
        slack = [TOLERANCE * np.maximum(1.0, np.abs(s)) for s in (rows.lower, rows.upper)]
        slack = [np.where(np.isfinite(s), s, 0.0) for s in slack]
        hold = (least <= rows.upper + slack[1]) & (most >= rows.lower - slack[0])
        return np.asarray((hold if on is None else hold | ~on).all(axis=1))

    # blocks

    def _range(self, expression: Expression) -> tuple[Floats, Floats]:
        """Least and greatest value, shape (points, *shape)."""
        matrix, constant = affine(expression, self.columns)
        shape = (len(self.low), *expression.shape)
        least, most = interval(matrix, constant, self.low, self.high)
        return least.reshape(shape), most.reshape(shape)

    def _value(self, block: Block, expression: Expression) -> Floats:
        if not self.known[columns_of(expression)].all():
            raise ModelError(f"block {block.name!r} depends on continuous variables")
        return self._range(expression)[0]

    def _set(self, block: Valued, low: Floats, high: Floats, known: bool) -> None:
        columns = columns_of(block.result)
        self.low[:, columns] = low.reshape(len(low), -1)
        self.high[:, columns] = high.reshape(len(high), -1)
        self.known[columns] = known

    def _depends(self, *expressions: Expression) -> bool:
        return not all(self.known[columns_of(e)].all() for e in expressions)

    def _product(self, block: Product) -> None:
        left, right = self._range(block.left), self._range(block.right)
        with np.errstate(invalid="ignore"):
            corners = np.nan_to_num(
                np.array([a * b for a in left for b in right]), posinf=np.inf, neginf=-np.inf
            )
        unknown = self._depends(block.left, block.right)
        if unknown and self._depends(block.left) and self._depends(block.right):
            raise ModelError(f"block {block.name!r} multiplies continuous variables")
        self._set(block, corners.min(axis=0), corners.max(axis=0), not unknown)
        if unknown:
            self.open.append(block)

    def _maximum(self, block: Maximum) -> None:
        low, high = self._range(block.arguments)
        pick = np.max if block.sign > 0 else np.min
        unknown = self._depends(block.arguments)
        self._set(block, pick(low, axis=-1), pick(high, axis=-1), not unknown)
        if unknown:
            self.open.append(block)

    def _table(self, block: Table) -> None:
        index = self._value(block, block.index)
        inside = (index >= 0) & (index < len(block.table))
        self.alive &= inside.reshape(len(inside), -1).all(axis=1)
        value = block.table[np.where(inside, index, 0).astype(int)]
        self._set(block, value, value, True)

    def _active_slot(self, block: ActiveSlot) -> None:
        activity = self._value(block, block.activity)
        result = np.full(activity.shape[:-1], block.empty)
        # the last one seen stands: go forwards for the last slot, backwards for the first
        order = range(len(block.slots)) if block.last else reversed(range(len(block.slots)))
        for slot in order:
            result = np.where(activity[..., slot] == 1, block.slots[slot], result)
        self._set(block, result, result, True)

    def _intervals(self, block: Intervals) -> None:
        start, duration, end, presence = (
            self._value(block, e) for e in (block.start, block.duration, block.end, block.presence)
        )
        right = (presence == 0) | ((start + duration == end) & (duration >= 0))
        self.alive &= right.reshape(len(right), -1).all(axis=1)

    def _cumulative(self, block: Cumulative) -> None:
        start, end, presence, demand, capacity = (
            self._value(block, e)
            for e in (block.start, block.end, block.presence, block.demand, block.capacity)
        )
        self.alive &= capacity >= 0  # nothing at all needs room for nothing
        if not start.size:
            return
        for moment in range(int(start.min()), int(end.max())):
            under_way = (presence == 1) & (start <= moment) & (moment < end)
            self.alive &= np.where(under_way, demand, 0.0).sum(axis=1) <= capacity

    def _ratio(self, block: Ratio) -> None:
        over, under = self._range(block.numerator), self._value(block, block.divisor)
        ends = np.sort([end / under for end in over], axis=0)
        unknown = self._depends(block.numerator)
        self._set(block, ends[0], ends[1], not unknown)
        if unknown:
            self.open.append(block)

    def _element(self, block: Element) -> None:
        index, (low, high) = self._value(block, block.index), self._range(block.array)
        inside = (index >= 0) & (index < block.array.size)
        self.alive &= inside.reshape(len(inside), -1).all(axis=1)
        chosen = np.where(inside, index, 0).astype(int).reshape(len(inside), -1)
        unknown = self._depends(block.array)
        low, high = (np.take_along_axis(side, chosen, axis=1) for side in (low, high))
        self._set(block, low, high, not unknown)
        if unknown:
            self.open.append(block)

    def _piecewise(self, block: Piecewise) -> None:
        if self._depends(block.argument):
            ends = np.broadcast_to(block.values.min(), (len(self.low), *block.shape))
            self._set(block, ends, np.full(ends.shape, block.values.max()), False)
            self.open.append(block)
            return
        at = self._value(block, block.argument)
        slack = TOLERANCE * np.abs(block.points).max()
        inside = (at >= block.points[0] - slack) & (at <= block.points[-1] + slack)
        self.alive &= inside.reshape(len(inside), -1).all(axis=1)
        value = np.interp(at, block.points, block.values)
        self._set(block, value, value, True)

    def _judged(self, block: Block) -> None:
        """A kind that is not known here, by its own excess at every point."""
        for expression in block.expressions():
            self._value(block, expression)
        columns = np.unique(np.concatenate([columns_of(e) for e in block.expressions()]))
        _, first, same = np.unique(
            self.low[:, columns], axis=0, return_index=True, return_inverse=True
        )
        right = [bool((block.excess(self.low[point]) <= TOLERANCE).all()) for point in first]
        self.alive &= np.array(right)[same.reshape(-1)]

    def _rotated_cone(self, block: RotatedCone) -> None:
        u, v, w = (self._value(block, e) for e in (block.u, block.v, block.w))
        right = (u >= 0) & (v >= 0) & (u * v >= (w**2).sum(axis=-1))
        self.alive &= right.reshape(len(right), -1).all(axis=1)


def columns_of(expression: Expression) -> NDArray[np.int32]:
    """Columns an expression mentions."""
    parts = [term.columns for term in expression.terms]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


def interval(
    matrix: sp.csr_array, constant: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Range of ``matrix @ x + constant`` over a box per point, shape (points, rows) each."""
    least = np.tile(constant, (len(low), 1)).astype(np.float64)
    most = least.copy()
    entries = matrix.tocoo()
    for row, column, value in zip(entries.row, entries.col, entries.data, strict=True):
        if value:
            ends = (low, high) if value > 0 else (high, low)
            least[:, row] += value * ends[0][:, column]
            most[:, row] += value * ends[1][:, column]
    return least, most


def _spread(compiled: MatrixForm, chosen: Mask, results: Mask) -> tuple[Floats, Floats]:
    """Every combination of the integers, the other columns at their bounds."""
    lower, upper = np.ceil(compiled.lower[chosen]), np.floor(compiled.upper[chosen])
    count = math.prod(int(c) for c in np.maximum(upper - lower + 1, 0) if np.isfinite(c))
    if not np.isfinite(upper - lower).all() or count > LARGEST_GRID:
        raise ModelError(f"more than {LARGEST_GRID} integer points")
    axes = [np.arange(a, b + 1) for a, b in zip(lower, upper, strict=True)]
    points = np.stack([g.reshape(-1) for g in np.meshgrid(*axes, indexing="ij")], axis=1) if (
        axes) else np.zeros((1, 0))  # fmt: skip
    low, high = (np.tile(side, (len(points), 1)) for side in (compiled.lower, compiled.upper))
    low[:, results], high[:, results] = -np.inf, np.inf
    low[:, chosen] = high[:, chosen] = points
    return low, high
