"""Packings by diving: patterns most used in the relaxation are taken, the rest is priced again.

After each step patterns are generated for what is left, from the items left alone, so that the
last nodes are filled as well as the first. Later dives change at random which patterns come first,
and go on with all patterns known.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from formulations.aerialedge.construct import lighten
from formulations.aerialedge.exact.listing import DualPrices, dual_prices, size_prices
from formulations.aerialedge.exact.patterns import PatternModel
from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking, total_weight
from optsched.decomposition.columns import Column
from optsched.decomposition.knapsack import NODES
from optsched.decomposition.master import MasterPoint, RestrictedMaster
from optsched.solvers.solution import Status

_ROUNDS, _LATER = 300, 4  # of pricing: for the whole, and after each step
_AT_ROOT = 0.5  # of the time left, for the relaxation of the whole
_SHARE = 0.1  # of the nodes still to be filled, taken in one step at most
_DISJOINT = 20  # patterns of a node type offered at a time
_NODES = 5_000  # partial patterns looked at, as long as that finds some
_SHAKE = 0.5  # of a pattern's weight, changed at random from the second dive on
_FRUITLESS = 6  # dives one after the other
_PASSED_ON = 4  # patterns for each task type, for others to begin with
_ROUNDING = 1e-6  # of a pattern's weight or price


@dataclass(eq=False)
class Dives:
    """One master problem for all dives; patterns stay known."""

    packing: VectorPacking
    start: Sequence[Bin]
    """A packing to begin with."""
    known: Sequence[Bin] = ()
    """Further patterns to begin with."""
    deadline: float = math.inf
    stop: threading.Event | None = None
    relaxed: MasterPoint | None = field(init=False, default=None)
    """Optimum of the relaxation over the patterns known when it was last solved."""

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.model = PatternModel(self.packing)
        problem = self.model.problem(self.start, self.known)
        self.master = RestrictedMaster(problem.lower, problem.upper, problem.blocks)
        self.master.add(problem.initial)

    @property
    def seconds(self) -> float:
        """Wall time left, not negative."""
        return max(0.0, self.deadline - time.perf_counter())

    @property
    def over(self) -> bool:
        """Whether to end."""
        stopped = self.stop is not None and self.stop.is_set()
        return stopped or self.seconds <= 0

    def packings(self, best: float = math.inf) -> Iterator[list[Bin]]:
        """Packings lighter than the best, as long as the relaxation leaves room for one.

        It ends after ``_FRUITLESS`` dives that found none, too.

        Args:
            best: weight of a packing known.
        """
        shake, fruitless = 0.0, 0
        while not self.over and fruitless < _FRUITLESS:
            fruitless += 1
            root = self.relax(_AT_ROOT * self.seconds)
            if _hopeless(root, best):
                return
            bins = self._dive(root, best, shake)
            shake = _SHAKE
            if bins is not None and total_weight(self.packing, bins) < best:
                best, fruitless = total_weight(self.packing, bins), 0
                yield bins

    def relax(self, seconds: float = math.inf) -> MasterPoint:
        """Solve the relaxation of the whole, as far as the time allows."""
        self.master.fix(np.zeros(len(self.master.pool)))
        packing = self.packing
        root = self._generate(packing.number, packing.available, _ROUNDS, seconds, (_NODES, NODES))
        if root.status is Status.OPTIMAL:
            self.relaxed = root
        return root

    def prices(self, best: float) -> list[DualPrices]:
        """The prices of the relaxation, and so a bound, and others; none where it is not solved.

        The others are halfway to prices by size, where these bound nearly as well: between two
        optimal ones fewer patterns cost nothing than at either.

        Args:
            best: weight of a packing known; the prices are for lighter ones.
        """
        if self.relaxed is None:
            return []
        point, packing, knapsacks = self.relaxed, self.packing, self.model.knapsacks
        chosen, by_size = [(point.duals, point.thresholds)], size_prices(packing)
        if packing.number @ by_size > point.value - 1:  # else far from optimal
            chosen.append(((point.duals + by_size) / 2, point.thresholds / 2))
        return [
            dual_prices(packing, knapsacks, duals, thresholds, best) for duals, thresholds in chosen
        ]

    def patterns(self) -> list[Bin]:
        """Those of the patterns known that are cheapest at the prices of the relaxation."""
        if self.relaxed is None:
            return []
        pool, point = self.master.pool, self.relaxed
        columns = len(point.weights)
        price = pool.prices(1.0, point.duals)[:columns] - point.thresholds[pool.block[:columns]]
        cheap = np.argsort(price, kind="stable")[: _PASSED_ON * self.packing.task_types]
        return [Bin(pool.columns[k].block, pool.columns[k].payload) for k in cheap.tolist()]

    def _dive(self, point: MasterPoint, best: float, shake: float) -> list[Bin] | None:
        packing = self.packing
        left, unused = packing.number.copy(), packing.available.copy()
        bins: list[Bin] = []
        least = np.zeros(len(self.master.pool))
        while left.any():
            if bins:
                point = self._generate(left, unused)
            if self.over or _hopeless(point, best):
                return None
            columns = len(self.master.pool)  # those the point does not know yet count nothing
            least = np.pad(least, (0, columns - len(least)))
            order = np.pad(point.weights, (0, columns - len(point.weights))) - least
            order *= 1 - shake * self.rng.random(len(order))
            taken = self._take(order, left, unused)
            if not taken:
                return None
            for k, options in taken:
                bins.append(Bin(self.master.pool.columns[k].block, options))
                least[k] += 1
            self.master.fix(least)
        return lighten(packing, bins)

    def _generate(
        self,
        left: Integers,
        unused: Integers,
        rounds: int = _LATER,
        seconds: float = math.inf,
        nodes: Sequence[int] = (_NODES,),
    ) -> MasterPoint:
        """The relaxation, with new patterns of the items left; the last one solved to the end.

        Args:
            left: items of each type.
            unused: nodes of each type.
            rounds: of pricing, at most.
            seconds: after which no round is begun.
            nodes: partial patterns looked at, a number being tried where those before find none.
        """
        enough = time.perf_counter() + seconds
        point = self.master.solve(self.seconds)
        if point.status is not Status.OPTIMAL:
            return point
        for _ in range(rounds):
            if self.over or time.perf_counter() > enough:
                break
            if not any(self.master.add(self._improving(point, left, unused, n)) for n in nodes):
                break
            later = self.master.solve(self.seconds)
            if later.status is not Status.OPTIMAL:  # the prices before it are as valid
                break
            point = later
        return point

    def _improving(
        self, point: MasterPoint, left: Integers, unused: Integers, nodes: int
    ) -> list[Column]:
        """Of each node type several patterns that share no item: they help different rows."""
        packing = self.packing
        value: Floats = point.duals[packing.type_of_option]
        found: list[Column] = []
        for s in np.flatnonzero(unused > 0).tolist():
            weight = float(packing.weight[s])
            beat = weight - float(point.thresholds[s]) + _ROUNDING * max(1.0, weight)
            there = left.copy()
            for _ in range(_DISJOINT):
                best = self.model.knapsacks[s].solve(
                    value, beat=beat, keep=1, nodes=nodes, left=there
                )
                if not len(best.units) or self.over:
                    break
                found.append(self.model.column_of(s, best.units[0]))
                there -= np.add.reduceat(best.units[0], self.model.first)
        return found

    def _take(
        self, weight: Floats, left: Integers, unused: Integers
    ) -> list[tuple[int, tuple[int, ...]]]:
        """The patterns most used, as far as their items are left; takes them off what is left."""
        wanted = np.flatnonzero(weight > _ROUNDING)
        wanted = wanted[np.argsort(-weight[wanted], kind="stable")]
        most = max(1, math.ceil(_SHARE * float(weight[wanted].sum())))
        taken: list[tuple[int, tuple[int, ...]]] = []
        for k in wanted.tolist():
            column = self.master.pool.columns[k]
            for _ in range(max(1, math.floor(weight[k] + _ROUNDING))):
                options = self._still_there(column.payload, left)
                whole = len(options) == len(column.payload)
                if not options or not unused[column.block] or (taken and not whole):
                    break
                np.subtract.at(left, self.packing.type_of_option[list(options)], 1)
                unused[column.block] -= 1
                taken.append((k, options))
            if len(taken) >= most:
                break
        return taken

    def _still_there(self, options: Sequence[int], left: Integers) -> tuple[int, ...]:
        """Those of a pattern's items that are left."""
        there = left.copy()
        kept = []
        for k in options:
            kind = self.packing.type_of_option[k]
            if there[kind] > 0:
                there[kind] -= 1
                kept.append(k)
        return tuple(kept)


def _hopeless(point: MasterPoint, best: float) -> bool:
    """Whether nothing lighter than the best is in sight; weights are whole."""
    return point.status is not Status.OPTIMAL or point.value > best - 1 + _ROUNDING
