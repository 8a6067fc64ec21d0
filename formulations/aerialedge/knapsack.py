"""The pricing problem of [AE3]: the most valuable pattern that fits one node.

A bounded knapsack with several capacities, alternatives and prices on combinations (terms). Task
types are decided one after the other for all partial patterns at once. A partial pattern is kept
while it may still beat the value asked for, by the lesser of two bounds:

* prices ``u >= 0`` of the resources: the most any pattern is worth at these prices, less what each
  decision so far has lost against the best decision for its type;
* a table of what the undecided types can add within the free space, computed on a coarse grid of
  two resources; sizes are rounded down to it, so that it never says too little. Where the grid
  has a cell per unit the table is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import linprog

from formulations.aerialedge.instance import Booleans, Floats, Integers

_CELLS = 25_000  # of the grid, at most
_TABLES = 8_000_000  # cells of all tables together
_RIVALS = 32  # partial patterns every other is compared with
_COMPARED = 256  # below so many, comparing is not worth its time


@dataclass(frozen=True, eq=False)
class OptionCounts:
    """The ways to serve one task type within one pattern: how often each of its options."""

    units: Integers
    """Shape (choices, options of the type); the first is nothing at all."""
    load: Integers
    """Shape (choices, resources)."""
    first: int
    """The type's first option."""


@dataclass(frozen=True, eq=False)
class ThresholdValue:
    """A value that a pattern gets if it has at least so many units of each option named."""

    least: dict[int, int]
    value: float


@dataclass(frozen=True, eq=False)
class Patterns:
    """The outcome: good patterns, and what no pattern exceeds."""

    units: Integers
    """How often each option is packed, shape (patterns, options), most valuable first."""
    value: Floats
    """Shape (patterns,)."""
    most: float
    """Proven: no pattern is worth more. Where no pattern beats ``beat``, at most ``beat``."""


@dataclass
class Knapsack:
    """Patterns of one node type; everything that does not depend on prices is prepared once."""

    size: Integers
    """Shape (options, resources)."""
    type_of_option: Integers
    number: Integers
    """n_l, shape (types,)."""
    capacity: Integers
    """Shape (resources,)."""
    choices: list[OptionCounts] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first = np.searchsorted(self.type_of_option, np.arange(len(self.number) + 1))
        self.choices = [
            _choices(self.size[start:end], int(number), self.capacity, int(start))
            for start, end, number in zip(first[:-1], first[1:], self.number, strict=True)
        ]

    def solve(
        self,
        value: Floats,
        *,
        beat: float,
        terms: Sequence[ThresholdValue] = (),
        keep: int = 16,
        width: int = 2000,
    ) -> Patterns:
        """The most valuable patterns.

        Args:
            value: of one unit of each option, shape (options,); may be negative.
            beat: only patterns worth more than this are of interest.
            terms: values on combinations.
            keep: how many patterns to return at most.
            width: partial patterns kept at once; where some had to be dropped, ``most`` allows
                for them.
        """
        search = _Search(self, value, beat, terms, width)
        units = search.patterns(keep)
        found = units @ value + _term_values(units, terms)
        rank = np.argsort(-found, kind="stable")
        rank = rank[found[rank] > beat]
        proven = max(float(found.max(initial=beat)), search.dropped, beat)
        return Patterns(units[rank], found[rank], proven)

    def resource_prices(self, value: Floats) -> Floats:
        """u: dual prices of the capacities in the linear relaxation, shape (resources,)."""
        useful = np.flatnonzero((value > 0) & (self.size <= self.capacity).all(axis=1))
        scale = np.maximum(self.capacity, 1)
        if not len(useful):
            return np.zeros(len(scale))
        kinds, row = np.unique(self.type_of_option[useful], return_inverse=True)
        weights, side = (self.size[useful] / scale).T, np.ones(len(scale))
        if len(kinds) < len(useful):  # alternatives share the number of their type
            weights = np.vstack([weights, row[None, :] == np.arange(len(kinds))[:, None]])
            side = np.concatenate([side, self.number[kinds]])
        most = self.number[self.type_of_option[useful]]
        bounds = [(0.0, float(number)) for number in most]
        answer = linprog(-value[useful], A_ub=weights, b_ub=side, bounds=bounds, method="highs")
        if answer.status != 0:  # any prices give a true bound
            return np.asarray(value[useful].max() / scale)
        marginal = np.asarray(answer.ineqlin.marginals, dtype=np.float64)[: len(scale)]
        return np.asarray(np.maximum(-marginal, 0.0) / scale)


def _choices(size: Integers, number: int, capacity: Integers, first: int) -> OptionCounts:
    """Every multiset of at most ``number`` options that fits an empty node."""
    room = np.where(size > 0, capacity // np.maximum(size, 1), number).min(axis=1)
    most = np.minimum(room, number)
    units = np.array(list(product(*(range(int(m) + 1) for m in most))), dtype=np.int64)
    units = units[units.sum(axis=1) <= number]
    load = units @ size
    fit = (load <= capacity).all(axis=1)
    return OptionCounts(units[fit], load[fit], first)


def _term_values(units: Integers, terms: Sequence[ThresholdValue]) -> Floats:
    total = np.zeros(len(units))
    for term in terms:
        options, least = list(term.least), np.array(list(term.least.values()))
        total += term.value * (units[:, options] >= least).all(axis=1)
    return total


@dataclass(eq=False)
class _Layer:
    """Partial patterns after some task types, and how each came from the layer before."""

    free: Integers
    value: Floats
    loss: Floats
    alive: Booleans
    """Which terms may still apply, or do."""
    parent: Integers
    choice: Integers


class _Grid:
    """A coarse grid of two resources."""

    def __init__(self, capacity: Integers, prices: Floats, tables: int) -> None:
        self.axes = np.argsort(-prices * capacity, kind="stable")[:2]
        self.capacity = np.maximum(capacity[self.axes], 1)
        most = max(64, min(_CELLS, _TABLES // tables))
        small, large = np.argsort(self.capacity)[[0, -1]]
        self.cells = np.minimum(self.capacity, int(np.sqrt(most)))
        if small != large:  # what one resource leaves, the other may use
            self.cells[large] = min(int(self.capacity[large]), most // int(self.cells[small]))

    def cell(self, amount: Integers) -> Integers:
        """Amounts of the resources rounded down to cells, shape (n, 2)."""
        cell = amount[:, self.axes] * self.cells // self.capacity
        return cell if cell.shape[1] == 2 else np.column_stack([cell, np.zeros_like(cell)])

    def empty(self) -> Floats:
        """A table of zeros."""
        return np.zeros((int(self.cells[0]) + 1, int(self.cells[1:].sum()) + 1))


class _Search:
    """Layer by layer over the task types."""

    def __init__(
        self,
        knapsack: Knapsack,
        value: Floats,
        beat: float,
        terms: Sequence[ThresholdValue],
        width: int,
    ) -> None:
        self.knapsack, self.terms, self.width, self.beat = knapsack, terms, width, beat
        self.prices = knapsack.resource_prices(value)
        self.reward = np.array([max(term.value, 0.0) for term in terms])
        self.dropped = -np.inf
        """What patterns dropped for want of room might have been worth."""
        self.gains = [
            c.units @ value[c.first : c.first + c.units.shape[1]] for c in knapsack.choices
        ]
        worth = [
            gain - c.load @ self.prices
            for gain, c in zip(self.gains, knapsack.choices, strict=True)
        ]
        best = np.array([w.max() for w in worth])
        self.most = float(self.prices @ knapsack.capacity + best.sum() + self.reward.sum())
        losses = [top - w for top, w in zip(best, worth, strict=True)]
        slack = self.most - beat
        self.open = [np.flatnonzero(loss < slack) for loss in losses]
        self.losses = [loss[kept] for loss, kept in zip(losses, self.open, strict=True)]
        owner = knapsack.type_of_option
        self.touches = [{int(owner[k]) for k in term.least} for term in terms]
        named = set().union(*self.touches) if self.touches else set()
        # a type for which only nothing at all is left needs no decision
        self.order = sorted(
            (t for t, o in enumerate(self.open) if t in named or not np.array_equal(o, [0])),
            key=self._urgency,
        )

    def _urgency(self, t: int) -> tuple[bool, float]:
        """Forced decisions first, then those that hurt most when they go the other way."""
        loss = np.sort(self.losses[t])
        return len(loss) > 1, -float(loss[1]) if len(loss) > 1 else 0.0

    def _tables(self) -> tuple[_Grid, list[Floats]]:
        """After each decision, what the types still undecided can add, by cell of free space."""
        grid = _Grid(self.knapsack.capacity, self.prices, 1 + len(self.order))
        tables = [grid.empty()]
        for t in reversed(self.order):
            kept = self.open[t]
            before = tables[-1]
            table = np.full_like(before, -np.inf)
            cells = grid.cell(self.knapsack.choices[t].load[kept])
            for (x, y), gain in zip(cells.tolist(), self.gains[t][kept].tolist(), strict=True):
                rows, columns = before.shape[0] - x, before.shape[1] - y
                np.maximum(table[x:, y:], before[:rows, :columns] + gain, out=table[x:, y:])
            tables.append(table)
        return grid, tables[::-1]

    def patterns(self, keep: int) -> Integers:
        """The best complete patterns, shape (patterns, options)."""
        knapsack = self.knapsack
        nothing = np.zeros((0, len(knapsack.type_of_option)), dtype=np.int64)
        if self.most <= self.beat:
            return nothing
        grid, tables = self._tables()
        first = np.zeros(1, dtype=np.int64)
        alive = np.ones((1, len(self.terms)), dtype=bool)
        start = _Layer(
            knapsack.capacity[None, :].copy(), np.zeros(1), np.zeros(1), alive, first, first
        )
        layers = [start]
        left = [set(touched) for touched in self.touches]
        for t, table in zip(self.order, tables[1:], strict=True):
            layers.append(self._decide(layers[-1], t, left, grid, table))
            if not len(layers[-1].loss):
                return nothing
        return self._traced(layers, keep)

    def _decide(
        self, layer: _Layer, t: int, left: list[set[int]], grid: _Grid, table: Floats
    ) -> _Layer:
        choices, kept = self.knapsack.choices[t], self.open[t]
        free = layer.free[:, None, :] - choices.load[kept][None, :, :]
        loss = layer.loss[:, None] + self.losses[t][None, :]
        fits = (free >= 0).all(axis=2) & (self.most - loss > self.beat)
        parent, choice = np.nonzero(fits)
        new = _Layer(
            free[parent, choice],
            layer.value[parent] + self.gains[t][kept[choice]],
            loss[parent, choice],
            layer.alive[parent],
            parent,
            kept[choice],
        )
        for number in range(len(self.terms)):
            if t in self.touches[number]:
                self._apply(number, t, choices.units[new.choice], choices.first, new, left[number])
        cell = grid.cell(new.free)
        bound = new.value + table[cell[:, 0], cell[:, 1]] + new.alive @ self.reward
        bound = np.minimum(bound, self.most - new.loss)
        chosen = self._prune(new, bound)
        return _Layer(
            new.free[chosen],
            new.value[chosen],
            new.loss[chosen],
            new.alive[chosen],
            new.parent[chosen],
            new.choice[chosen],
        )

    def _apply(
        self, number: int, t: int, units: Integers, first: int, layer: _Layer, left: set[int]
    ) -> None:
        """What a decision makes of a term; settles it where no other type has a say."""
        term, owner = self.terms[number], self.knapsack.type_of_option
        left.discard(t)
        met = np.ones(len(units), dtype=bool)
        for k, least in term.least.items():
            if owner[k] == t:
                met &= units[:, k - first] >= least
        was = layer.alive[:, number]
        still = was & met
        layer.loss += np.where(was & ~met, max(term.value, 0.0), 0.0)
        layer.alive[:, number] = still
        if not left:
            layer.value += np.where(still, term.value, 0.0)
            layer.loss += np.where(still, max(-term.value, 0.0), 0.0)
            layer.alive[:, number] = False

    def _prune(self, layer: _Layer, bound: Floats) -> Integers:
        """Partial patterns worth going on with, the most promising first."""
        order = np.flatnonzero(bound > self.beat)
        order = order[np.argsort(-bound[order], kind="stable")]
        if len(order) > _COMPARED:
            order = order[~_beaten(layer.free[order], layer.value[order], layer.alive[order])]
        if len(order) > self.width:
            self.dropped = max(self.dropped, float(bound[order[self.width]]))
            order = order[: self.width]
        return order

    def _traced(self, layers: list[_Layer], keep: int) -> Integers:
        """The best complete patterns, from the last layer back to the first."""
        at = np.argsort(-layers[-1].value, kind="stable")[:keep]
        units = np.zeros((len(at), len(self.knapsack.type_of_option)), dtype=np.int64)
        for layer, t in zip(reversed(layers[1:]), reversed(self.order), strict=True):
            choices = self.knapsack.choices[t]
            chosen = choices.units[layer.choice[at]]
            units[:, choices.first : choices.first + chosen.shape[1]] = chosen
            at = layer.parent[at]
        return units


def _beaten(free: Integers, value: Floats, alive: Booleans) -> Booleans:
    """Which are worth no more than one before them that has as much space left."""
    beaten = np.zeros(len(value), dtype=bool)
    for rival in range(min(_RIVALS, len(value))):
        if beaten[rival]:
            continue
        worse = value <= value[rival]
        for r in range(free.shape[1]):
            worse &= free[:, r] <= free[rival, r]
        if alive.shape[1]:
            worse &= (alive == alive[rival]).all(axis=1)
        worse[: rival + 1] = False
        beaten |= worse
    return beaten
