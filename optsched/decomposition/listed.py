"""Columns that are all listed: pricing looks them up, and reduced costs shorten the list."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from optsched.decomposition.columns import AddedRow, Column, Duals, Feature, Priced
from optsched.decomposition.limits import Limits
from optsched.decomposition.rows import CutRow, Split
from optsched.errors import InputError
from optsched.model.expression import Floats

MOST_OFFERED = 20
"""Columns of a block that are offered at a time."""
_UNIT = float(np.finfo(np.float64).eps)

Integers = NDArray[np.int64]


def _sparse(given: Any, dtype: Any) -> Any:
    """A sparse matrix by columns, of anything like a matrix."""
    return sp.csc_array(given, dtype=dtype)


class _Part(NamedTuple):
    """The columns of one block."""

    at: Integers
    """Their places in the list."""
    cost: Floats
    rows: sp.csr_array
    """Coefficients, shape (columns, rows)."""
    size: float
    """Largest sum of absolute coefficients of a column."""
    entries: int
    """Most coefficients of a column."""


class ListedColumns:
    """Price columns by looking them up in a list of all there are.

    Give it to ``ColumnGeneration`` as ``price``. A column knows its ``number`` in the list, so that
    arrays over the list serve as coefficients of ``CutRow`` and ``Split``. Initial and known
    columns must be of the list, see :meth:`column`. In the tree, columns leave the list of a node
    if their reduced cost lies above the gap.

    Args:
        block: of every column, shape (columns,).
        cost: shape (columns,).
        rows: coefficients, shape (rows, columns), a dense or sparse matrix.
        features: whole numbers of units, shape (features, columns); rows are the features' names.
        number: of every column in the list that this one is part of; by default its place.

    Raises:
        InputError: shapes that do not fit.

    Example:
        >>> from optsched.decomposition import ColumnBlock, ColumnGeneration, ListedColumns
        >>> pieces = [[0, 1, 0], [0, 1, 1], [2, 0, 1]]      # in patterns: of 6, 4 and 5
        >>> patterns = ListedColumns([0, 0, 0], [1, 1, 1], pieces)
        >>> rolls = [ColumnBlock(lower=0, upper=9)]
        >>> ColumnGeneration([1, 1, 4], [9, 9, 9], rolls, patterns).solve().objective
        3.0
    """

    def __init__(
        self,
        block: ArrayLike,
        cost: ArrayLike,
        rows: sp.sparray | ArrayLike,
        features: sp.sparray | ArrayLike | None = None,
        number: ArrayLike | None = None,
    ) -> None:
        self.block: Integers = np.asarray(block, dtype=np.int64)
        self.cost: Floats = np.asarray(cost, dtype=np.float64)
        self.rows = _sparse(rows, np.float64)
        width = len(self.cost)
        units = np.zeros((0, width)) if features is None else features
        self.features = _sparse(units, np.int64)
        number = np.arange(width) if number is None else number
        self.number: Integers = np.asarray(number, dtype=np.int64)
        self._values: dict[AddedRow, Floats] = {}
        for name, given in (("block", block), ("rows", rows), ("features", features)):
            shape = getattr(self, name).shape
            if shape[-1] != width:
                raise InputError.of(name, given, f"{width} columns, as cost has")

    def __len__(self) -> int:
        return len(self.cost)

    @cached_property
    def _parts(self) -> dict[int, _Part]:
        order = np.argsort(self.block, kind="stable")
        blocks, first = np.unique(self.block[order], return_index=True)
        parts = {}
        for b, at in zip(blocks.tolist(), np.split(order, first[1:]), strict=True):
            rows = sp.csr_array(self.rows[:, at].T)
            size = float(abs(rows).sum(axis=1).max(initial=0.0))
            entries = int(np.diff(rows.indptr).max(initial=0))
            parts[b] = _Part(at, self.cost[at], rows, size, entries)
        return parts

    def column(self, at: int) -> Column:
        """The column at a place of the list."""
        own = slice(self.rows.indptr[at], self.rows.indptr[at + 1])
        held = slice(self.features.indptr[at], self.features.indptr[at + 1])
        names, units = self.features.indices[held].tolist(), self.features.data[held].tolist()
        return Column(
            int(self.block[at]), float(self.cost[at]), self.rows.indices[own].astype(np.int64),
            self.rows.data[own], dict(zip(names, units, strict=True)), number=int(self.number[at]),
        )  # fmt: skip

    def take(self, kept: Integers | NDArray[np.bool_]) -> ListedColumns:
        """The list of some of the columns, by their places or a mask."""
        at = np.arange(len(self))[kept]
        return ListedColumns(
            self.block[at], self.cost[at], self.rows[:, at], self.features[:, at], self.number[at]
        )

    def __call__(self, block: int, duals: Duals) -> Priced:
        """The cheapest columns of a block, with a bound on the price of all others."""
        part = self._parts.get(block)
        if part is None:
            return Priced(bound=math.inf)
        price, rounding = self._prices(part, duals)
        places = part.at
        if duals.lower or duals.upper:
            allowed = self._allowed(part.at, duals.lower, duals.upper)
            price, places = price[allowed], places[allowed]
        if not len(price):
            return Priced(bound=math.inf)
        cheap = np.argsort(price, kind="stable")[:MOST_OFFERED]
        if len(price) > 10 * MOST_OFFERED:
            few = np.argpartition(price, MOST_OFFERED)[:MOST_OFFERED]
            cheap = few[np.argsort(price[few], kind="stable")]
        best = float(price[cheap[0]])
        good = cheap[price[cheap] <= max(best, duals.threshold)]
        return Priced([self.column(int(places[k])) for k in good], bound=best - rounding)

    def _prices(self, part: _Part, duals: Duals) -> tuple[Floats, float]:
        """Prices of a block's columns, and what rounding may add to any."""
        price = duals.weight * part.cost - part.rows @ duals.rows
        summed = duals.weight * float(np.abs(part.cost).max())
        summed += part.size * float(np.abs(duals.rows).max(initial=0.0))
        for row, dual in duals.added:
            paid = dual * self._coefficients(row)[part.at]
            price -= paid
            summed += float(np.abs(paid).max())
        for term in duals.terms:
            held = [self._units(c.feature)[part.at] >= c.at_least for c in term.conditions]
            price -= term.price * np.logical_and.reduce(held, axis=0)
            summed += abs(term.price)
        terms = part.entries + len(duals.added) + len(duals.terms) + 2
        return price, 2 * terms * _UNIT * summed

    def _coefficients(self, row: AddedRow) -> Floats:
        """What every column of the list has in a row that was added."""
        known = self._values.get(row)
        if known is None:
            given = row.coefficient if isinstance(row, CutRow) else None
            given = row.amount if isinstance(row, Split) else given
            if given is None or callable(given):
                known = np.array([row.of(self.column(k)) for k in range(len(self))])
            else:
                known = np.asarray(given, dtype=np.float64)[self.number]
            self._values[row] = known
        return known

    @cached_property
    def _by_feature(self) -> sp.csr_array:
        return sp.csr_array(self.features)

    def _units(self, feature: object) -> Integers:
        """Units of a feature in every column."""
        assert isinstance(feature, int)
        return np.asarray(self._by_feature[[feature]].toarray()[0])

    def _allowed(
        self, places: Integers, lower: Mapping[Feature, int], upper: Mapping[Feature, int]
    ) -> NDArray[np.bool_]:
        allowed = np.ones(len(places), dtype=np.bool_)
        for feature, least in lower.items():
            allowed &= self._units(feature)[places] >= least
        for feature, most in upper.items():
            allowed &= self._units(feature)[places] <= most
        return allowed

    def allowed(self, limits: Limits) -> ListedColumns:
        """The columns that a node's bounds on features and numbers allow."""
        kept = np.zeros(len(self), dtype=np.bool_)
        for b, part in self._parts.items():
            if limits.upper[b] > 0:
                bounds = limits.least.get(b, {}), limits.most.get(b, {})
                kept[part.at] = self._allowed(part.at, *bounds)
        return self if kept.all() else self.take(kept)

    def within(self, duals: Duals, gap: float, least: Floats | None = None) -> ListedColumns:
        """The columns that a better solution may contain (reduced-cost fixing).

        A solution with a column costs at least the Lagrangian value of the dual values plus what
        the column costs, at these, beyond the cheapest of its block.

        Args:
            duals: any; the closer to the optimum of the relaxation, the fewer columns remain.
            gap: the cost up to which solutions are of interest, less the Lagrangian value of
                ``duals``.
            least: numbers of columns that blocks must have, shape (blocks,); None: 1 or more. A
                block that may have none is compared to having none, too.
        """
        kept = np.zeros(len(self), dtype=np.bool_)
        for b, part in self._parts.items():
            price, rounding = self._prices(part, duals)
            cheapest = float(price.min())
            if least is not None and least[b] < 1:
                cheapest = min(cheapest, 0.0)
            kept[part.at] = price <= cheapest + gap + 2 * rounding
        return self.take(kept)
