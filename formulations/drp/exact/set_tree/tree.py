"""Whether so many jobs of DSRP, or more, fit, by a tree over the servers that services stand on.

A relaxation chooses, in part, a set of servers for every job; rows of single servers hold it to
what they bear, and prices of their configurations say what the rows left out. A node of the tree
says how many services stand on some servers, of some services that they stand on a server, or do
not, and of some jobs that they are trained, or are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

import numpy as np

from formulations.drp.exact.covering_sets import CoveringSets
from formulations.drp.exact.service_columns import ServiceColumns
from formulations.drp.exact.set_loads import set_loads
from formulations.drp.exact.set_tree.branching import SetBranching
from formulations.drp.exact.set_tree.burden_rows import BurdenRows
from formulations.drp.exact.set_tree.configuration_prices import ConfigurationPrices
from formulations.drp.exact.set_tree.depth_first import depth_first
from formulations.drp.exact.set_tree.near_sets import NearSets, near_sets
from formulations.drp.exact.set_tree.nodes import Limits, Node, Relaxed
from formulations.drp.exact.set_tree.relaxation import SetRelaxation, UnsolvedError
from formulations.drp.instance import Floats, Instance, Integers
from formulations.drp.problem_p3_p5 import ANGLES
from optsched.jit import limit_left, limited

PAID = 1e-6
"""Price of all loads together from which on nodes that can choose get a row."""
NEAR = 0.02
"""Reduced cost up to which a set of a job is in the first program."""
ROOT_VIOLATED, VIOLATED = 0.005, 0.05
"""Violation of interest of rows before the tree, and in it."""
PRICED = 3e-3, 0.25
"""Jobs by which a bound lies above what is wanted for all configurations to be asked for: there is
something to gain, and not too much is missing."""

Place = Callable[[CoveringSets, Integers], "Integers | bool"]
"""Puts the nodes of jobs on servers of their sets, given all sets and those chosen: the server of
each node; False where they are proven not to fit, True where that is open."""


class End(StrEnum):
    """How a search ended."""

    REFUTED = "refuted"
    """No schedule has so many jobs, or more."""
    FOUND = "found"
    LIMIT = "limit"
    UNDECIDED = "undecided"
    """Something could be neither proven to end nor divided."""


class SetTree:
    """The search on one instance, for one number of jobs."""

    def __init__(
        self,
        instance: Instance,
        near: NearSets,
        rows: BurdenRows,
        target: int,
        place: Place,
        threads: int = 1,
    ) -> None:
        """Prepare.

        Args:
            instance: the system, with a separate service for every job.
            near: the sets that a schedule of so many jobs may use.
            rows: of servers.
            target: jobs.
            place: asked once nothing is chosen in part, by several threads if there are.
            threads: nodes that are solved at a time.
        """
        sets = near.sets
        self.bound = target + near.spare
        """On the number of jobs."""
        self.nodes = 0
        self.association: Integers | None = None
        """Association of as many jobs or more, once found."""
        self.sets, self._target, self._place = sets, target, place
        self._branching = SetBranching(instance, sets, threads)
        self._prices = ConfigurationPrices(rows, self._branching.counts)
        self._relaxations = [SetRelaxation(rows, self._branching, target) for _ in range(threads)]
        self._undecided = False
        self._ended = np.zeros(threads)  # shares of the tree, by the thread that saw their end
        cheap = np.flatnonzero(sets.reduced_cost <= NEAR)
        every = np.arange(len(sets.job))
        self._open = [Node(every, near.must, Limits.none(), cheap, rows.most_urgent)]

    def cut(self, go_on: Callable[[], bool], promising: Callable[[list[float]], bool]) -> None:
        """Find rows before the tree, and bound the number of jobs by them.

        Args:
            go_on: looked at between two solves.
            promising: whether another round is worth it, told the bounds after each.
        """
        relaxation = self._relaxations[0]
        bounds: list[float] = []
        while self.nodes == 0 and self._open and go_on():
            try:
                relaxed = relaxation.solve(self._open[0], 1, ROOT_VIOLATED, go_on)
            except UnsolvedError:
                return
            if relaxed is None:
                if go_on():
                    self._ended[0] = 1.0
                    self._open, self.bound = [], float(self._target - 1)
                return
            known = len(self._open[0].rows.server)
            self.bound = min(self.bound, relaxed.bound)
            basis = relaxation.program.basis
            root = Node(
                relaxed.sets, relaxed.must, relaxed.limits, relaxed.columns, relaxed.rows, basis,
                relaxed.urgent,
            )  # fmt: skip
            self._open = [root]
            bounds.append(relaxed.bound)
            if len(root.rows.server) == known or not promising(bounds):
                return

    @property
    def done(self) -> float:
        """Share of the tree that has ended, if both children of a node always take as long."""
        return float(self._ended.sum())

    def search(self, go_on: Callable[[], bool]) -> End:
        """Depth first, until nothing is open; goes on where a limit ended it."""
        seconds = limit_left()

        def going() -> bool:
            return self.association is None and go_on()

        def visit(thread: int, node: Node) -> list[Node] | None:
            relaxation = self._relaxations[thread]
            with limited(seconds):
                try:
                    relaxed = relaxation.solve(node, 1, VIOLATED, going)
                except UnsolvedError:
                    relaxed, self._undecided = None, True
                if not going():
                    return None
                children = [] if relaxed is None else self._divided(relaxation, relaxed, going)
            if children is None:
                return None
            if not children:
                self._ended[thread] += node.share
            return [replace(child, share=node.share / len(children)) for child in children]

        self.nodes += depth_first(self._open, visit, len(self._relaxations))
        if self.association is not None:
            return End.FOUND
        if self._open:
            return End.LIMIT
        if self._undecided:
            return End.UNDECIDED
        self.bound = float(self._target - 1)
        return End.REFUTED

    def _divided(
        self, relaxation: SetRelaxation, relaxed: Relaxed, go_on: Callable[[], bool]
    ) -> list[Node] | None:
        """A node's children; None if its point is a schedule, which ends the search."""
        chosen = relaxed.columns[relaxed.weights > 0.5]
        if relaxed.whole and len(chosen) >= self._target:
            placed = self._place(self.sets, chosen)
            if not isinstance(placed, bool):
                self.association = placed
                return None
            if relaxed.decided:
                self._undecided |= placed
                return []
        goal = relaxation.goal
        if not relaxed.whole and PRICED[0] < relaxed.bound - goal < PRICED[1]:
            narrowed = self._prices.narrowed(relaxed, goal, go_on)
            if narrowed is None:
                return []
            relaxed = narrowed
        return self._branching.children(relaxation.program, relaxed, goal, go_on)


def set_tree(
    instance: Instance,
    columns: ServiceColumns,
    prices: Floats,
    target: int,
    place: Place,
    threads: int = 1,
) -> SetTree | None:
    """The tree at prices of a relaxation over whole services.

    Args:
        instance: the system.
        columns: of the relaxation.
        prices: of its rows.
        target: jobs.
        place: as for ``SetTree``.
        threads: as for ``SetTree``.

    Returns:
        None where jobs share a service, or the sets that a schedule may use are too many.
    """
    if np.bincount(instance.job_service).max(initial=0) > 1:
        return None
    cost = columns.charges(prices)
    near = near_sets(instance, cost.rent, cost.pair, cost.total, target)
    if near is None:
        return None
    sets = near.sets
    of_entry = np.repeat(np.arange(len(sets.job)), np.diff(sets.start))
    rent = cost.rent[instance.job_service[sets.job[of_entry]], sets.server]
    nodes = sets.price - np.bincount(of_entry, weights=rent, minlength=len(sets.job))
    counted = np.maximum(nodes, 0.0) / cost.loads if cost.loads > PAID else np.zeros(len(nodes))
    angles = np.linspace(0, np.pi / 2, ANGLES)
    rows = BurdenRows(instance, set_loads(instance, sets), columns.storage, angles, counted)
    return SetTree(instance, near, rows, target, place, threads)
