"""The bounded knapsack with several capacities, alternatives and values on combinations (terms).

It is the pricing problem of cutting stock and vector packing: its solutions are their patterns.
The search is depth first, by ``knapsack_search``; if it is long, a table of what can be added on
a coarse grid of two resources bounds it better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from optsched.decomposition.knapsack_search import (
    Conditions,
    Items,
    Table,
    best_patterns,
    maximal_patterns,
    resource_prices,
    tabulated,
)
from optsched.decomposition.listed import Integers
from optsched.model.expression import Floats

NODES = 2_000_000
"""Partial patterns bounded, at most, if a proof is asked for."""
_CELLS = 25_000  # of the grid, at most
_TABLE = 4_000_000  # cells of all tables together
_SMALL = 200_000  # cells of exact tables that are worth their time at once
_UNAIDED = 20_000  # partial patterns bounded, before a table is worth its time
_ROUNDING = 1e-12  # relative; room is what is left after a few subtractions

_NO_TABLE = Table(np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros((0, 0, 0)))


@dataclass(frozen=True, eq=False)
class ThresholdValue:
    """A value that a pattern gets if it has at least so many units of each option named."""

    least: dict[int, int]
    value: float


@dataclass(frozen=True, eq=False)
class Patterns:
    """Good patterns, and a bound on the value of every pattern."""

    units: Integers
    """How often each option is packed, shape (patterns, options), most valuable first."""
    value: Floats
    """Shape (patterns,)."""
    most: float
    """Proven: no pattern is worth more. Where no pattern beats ``beat``, at most ``beat``."""


@dataclass
class Knapsack:
    """One knapsack: items of several types, each packed in one of its type's options.

    Example:
        Of three items of size 4, 3, 3 and value 5, 3, 3 the first two fill a capacity of 7.

        >>> three = np.arange(3)
        >>> bag = Knapsack(np.array([[4], [3], [3]]), three, np.array([1, 1, 1]), np.array([7]))
        >>> best = bag.solve(np.array([5.0, 3.0, 3.0]), beat=0.0, keep=1)
        >>> best.units.tolist(), best.most
        ([[1, 1, 0]], 8.0)
    """

    size: Integers
    """Shape (options, resources)."""
    type_of_option: Integers
    number: Integers
    """n_l, shape (types,)."""
    capacity: Integers
    """Shape (resources,)."""
    room_for: Integers = field(init=False, repr=False)
    """Units of each option that fit the empty knapsack, the number of its type at most."""

    def __post_init__(self) -> None:
        most = self.number[self.type_of_option]
        room = np.where(self.size > 0, self.capacity // np.maximum(self.size, 1), most[:, None])
        self.room_for = np.minimum(room.min(axis=1), most)

    def solve(
        self,
        value: Floats,
        *,
        beat: float,
        terms: Sequence[ThresholdValue] = (),
        keep: int = 16,
        nodes: int = NODES,
        left: Integers | None = None,
    ) -> Patterns:
        """Return the most valuable patterns.

        Args:
            value: of one unit of each option, shape (options,); may be negative.
            beat: only patterns worth more than this are of interest.
            terms: values on combinations.
            keep: how many patterns to return at most.
            nodes: partial patterns bounded, at most; ``most`` allows for those that were not.
            left: items of each type there are, no more than ``number``; None: that many.
        """
        left = self.number if left is None else left
        named = np.zeros(len(value), dtype=bool)
        named[[k for term in terms for k in term.least]] = True
        useful = (left[self.type_of_option] > 0) & (self.room_for > 0) & (named | (value > 0))
        options = np.flatnonzero(useful)
        items, order = self._items(options, value, left)
        conditions = _conditions(terms, order, len(value))
        number = np.minimum(self.room_for, left[self.type_of_option])[order]
        exact = float(np.prod(1.0 + self.capacity)) * len(order) <= _SMALL
        table, first = (self._table(items, number), nodes) if exact else (_NO_TABLE, _UNAIDED)
        units, found, most = best_patterns(items, conditions, table, beat, keep, min(nodes, first))
        if nodes > first and most > float(found.max(initial=beat)):
            table = self._table(items, number)
            units, found, most = best_patterns(items, conditions, table, beat, keep, nodes)
        rank = np.argsort(-found, kind="stable")
        whole = np.zeros((len(rank), len(value)), dtype=np.int64)
        whole[:, order] = units[rank]
        return Patterns(whole, found[rank], float(most))

    def listed(
        self, value: Floats, *, least: float, most: int, nodes: int = NODES
    ) -> sparse.csr_array | None:
        """Return every pattern worth at least so much that has no room for another item.

        Args:
            value: whole numbers, not negative, of which sums are exact, shape (options,).
            least: worth from which on a pattern counts.
            most: patterns beyond which the list is given up.
            nodes: partial patterns bounded beyond which it is given up.

        Returns:
            Units of each option, shape (patterns, options); None: it was given up.
        """
        options = np.flatnonzero(self.room_for > 0)
        items, order = self._items(options, value, self.number)
        held, ends, complete = maximal_patterns(items, least, most, nodes)
        if not complete:
            return None
        rows = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        entries = np.ones(len(held), dtype=np.int64), (rows, order[held])
        return sparse.csr_array(entries, shape=(len(ends), len(value)))

    def _items(self, options: Integers, value: Floats, left: Integers) -> tuple[Items, Integers]:
        """Return the options in the order of the search."""
        scale = np.maximum(self.capacity, 1)
        share, worth = self.size[options] / scale, value[options].astype(np.float64)
        good = worth > 0
        kinds = self.type_of_option[options]
        price = np.ones(len(scale))
        if good.any():
            number = np.minimum(left[kinds], self.room_for[options])
            price = resource_prices(np.ascontiguousarray(share[good]), worth[good], number[good])
        priced = share @ price
        ratio = np.where(good, worth / np.maximum(priced, 1e-200), -1.0)
        rank = np.argsort(-ratio, kind="stable")
        items = Items(
            np.ascontiguousarray(self.size[options[rank]], dtype=np.int64),
            worth[rank],
            priced[rank],
            kinds[rank],
            np.ascontiguousarray(left),
            np.ascontiguousarray(self.capacity),
            float(price.sum()) * (1 + _ROUNDING),
        )
        return items, options[rank]

    def _table(self, items: Items, number: Integers) -> Table:
        """Return the grid over the two resources whose capacity is dearest, on the whole."""
        demand = (items.size * np.minimum(number, 1)[:, None]).sum(axis=0)
        axes = np.argsort(-demand / np.maximum(self.capacity, 1), kind="stable")[:2]
        extent = np.maximum(self.capacity[axes], 1)
        most = max(64, min(_CELLS, _TABLE // (1 + len(items.value))))
        if len(axes) == 1:
            axes, extent = np.repeat(axes, 2), np.repeat(extent, 2)
            cells = np.array([min(int(extent[0]), most), 0])
        else:
            small, large = np.argsort(extent, kind="stable")
            cells = np.minimum(extent, int(np.sqrt(most)))
            # what one resource leaves, the other may use
            cells[large] = min(int(extent[large]), most // int(cells[small]))
        size = np.ascontiguousarray(items.size[:, axes] * cells // extent)
        return Table(axes, cells, tabulated(size, items.value, number, cells))


def _conditions(terms: Sequence[ThresholdValue], order: Integers, options: int) -> Conditions:
    """Return the terms, with options by place; a term on an option left out is never met."""
    place = np.full(options, -1)
    place[order] = np.arange(len(order))
    kept = [t for t in terms if all(place[k] >= 0 for k in t.least)]
    rows = [(i, place[k], least) for i, t in enumerate(kept) for k, least in t.least.items()]
    term, option, least = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
    return Conditions(np.array([t.value for t in kept], dtype=np.float64), term, option, least)
