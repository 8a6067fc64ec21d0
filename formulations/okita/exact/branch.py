"""Branch and bound on completions: what one joint search leaves open is divided.

A node limits the slots in which each job may complete. Column generation gives it a bound and dual
values, and joint search at these decides it or raises its bound. If neither closes it, the job
whose columns complete early and late in the most equal parts completes early in one child, and late
in the other. A node whose columns agree about all completions is searched with more states instead.
The tree of ``ColumnGeneration`` would have no place for joint search at its nodes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from formulations.okita.exact.joint_states import JointSearch
from formulations.okita.exact.pricing import Ends, Pricing
from formulations.okita.instance import Integers
from formulations.okita.schedule import Schedule
from optsched.decomposition import ColumnSolution, Incumbent
from optsched.solvers.solution import Status

ROUNDING = 1e-9
"""Relative distance of a bound from the cutoff at which nothing better is below it."""
WHOLE = 1e-6
"""Part of a job's columns up to which completing early, or late, is not counted."""


@dataclass(order=True)
class Node:
    """Slots in which jobs may complete, and what every schedule there costs at least."""

    bound: float
    number: int
    """The order in which nodes were made."""
    pricing: Pricing = field(compare=False)
    relaxed: ColumnSolution = field(compare=False)


Relax = Callable[[Pricing], ColumnSolution]


class Tree:
    """Branch and bound, the node of the least bound first.

    Args:
        best: the incumbent, which takes schedules and bounds.
        joint: the search at the dual values of a node.
        relax: column generation in the slots of a node.
        states: of a slot that a joint search keeps: at first, and at last.
        below: schedules of this cost or more are of no interest, money.
    """

    def __init__(
        self,
        best: Incumbent[Schedule],
        joint: JointSearch,
        relax: Relax,
        states: tuple[int, int],
        below: float,
    ) -> None:
        self._best, self._joint, self._relax, self._below = best, joint, relax, below
        self._first, self._most = states
        self.nodes = 0
        self.left = math.inf
        """The least bound of what could be neither decided nor divided, money."""

    def search(self, pricing: Pricing, relaxed: ColumnSolution) -> None:
        """Search from a root until it is decided, nothing can be divided, or the time is over."""
        open_nodes: list[Node] = []
        self._push(open_nodes, pricing, relaxed, -math.inf)
        while open_nodes and self._joint.go_on():
            node = heapq.heappop(open_nodes)
            bound = max(node.bound, self._searched(node, self._first))
            if self._may_improve(bound):
                children = self._divided(node)
                for ends in children:
                    own = replace(node.pricing, ends=ends)
                    self._push(open_nodes, own, self._relax(own), bound)
                if not children:
                    self.left = min(self.left, self._finished(node, bound))
            lowest = open_nodes[0].bound if open_nodes else math.inf
            self._best.raise_bound(min(self.left, lowest, self._cutoff))
        if not open_nodes and self.left >= self._below and self._best.schedule is None:
            self._best.infeasible = True

    @property
    def _cutoff(self) -> float:
        return min(self._best.value, self._below)

    def _may_improve(self, bound: float) -> bool:
        return bound < self._cutoff - ROUNDING * abs(self._cutoff)

    def _push(
        self, open_nodes: list[Node], pricing: Pricing, relaxed: ColumnSolution, least: float
    ) -> None:
        """Add a node, unless nothing in it is better than what is known."""
        bound = least if relaxed.bound is None else max(least, relaxed.bound)
        if relaxed.status is not Status.INFEASIBLE and self._may_improve(bound):
            self.nodes += 1
            heapq.heappush(open_nodes, Node(bound, self.nodes, pricing, relaxed))

    def _searched(self, node: Node, states: int) -> float:
        """What every schedule of a node costs at least, by joint search; its best is offered."""
        if node.relaxed.prices is None:
            return -math.inf
        bound, schedule = self._joint.search(
            node.pricing, node.relaxed.prices, self._cutoff, states
        )
        self._best.offer(schedule)
        return bound

    def _finished(self, node: Node, bound: float) -> float:
        """The bound of a node that nothing divides, by more and more states."""
        states = 4 * self._first
        while states <= self._most and self._may_improve(bound) and self._joint.go_on():
            bound = max(bound, self._searched(node, states))
            states *= 4
        return bound

    def _divided(self, node: Node) -> list[Ends]:
        """The slots of the children; none if the columns agree about every completion."""
        jobs = range(node.pricing.instance.jobs)
        part, job, early = max(self._parts(node, i) for i in jobs)
        if part <= WHOLE:
            return []
        ends = node.pricing.ends
        return [
            Ends(ends.first, _with(ends.last, job, early)),
            Ends(_with(ends.first, job, early + 1), ends.last),
        ]

    def _parts(self, node: Node, i: int) -> tuple[float, int, int]:
        """Return the lesser part of early and late columns, the job, and the last early slot."""
        ends, chosen = node.pricing.ends, node.relaxed.chosen
        own = [(ends.of(i, c.payload), part) for c, part in chosen if c.block == i]
        if not own:
            return 0.0, i, 0
        last, part = (np.array(column, dtype=float) for column in zip(*own, strict=True))
        early = int(np.floor(last @ part / part.sum() + WHOLE))
        before = float(part[last <= early].sum())
        return min(before, float(part.sum()) - before), i, early


def _with(values: Integers, i: int, value: int) -> Integers:
    changed = values.copy()
    changed[i] = value
    return changed
