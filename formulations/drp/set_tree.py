"""Whether so many jobs of DSRP, or more, fit, by a tree over the servers that services stand on.

A relaxation chooses, in part, a set of servers for every job; rows of single servers hold it to
what they bear. A node of the tree says how many services some servers hold, of some services that
they stand on a server, or do not, and of some jobs that they are trained, or are not.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from formulations.drp.burden_rows import BurdenRows
from formulations.drp.covering_sets import CoveringSets
from formulations.drp.instance import Floats, Instance, Integers
from formulations.drp.near_sets import NearSets, near_sets
from formulations.drp.projected import ANGLES
from formulations.drp.service_columns import ServiceColumns
from formulations.drp.set_branching import SetBranching
from formulations.drp.set_loads import set_loads
from formulations.drp.set_nodes import Counts, Node, Relaxed
from formulations.drp.set_relaxation import SetRelaxation, UnsolvedError

PAID = 1e-6
"""Price of all loads together from which on nodes that can choose get a row."""
NEAR = 0.02
"""By which a set may be dearer than its job's cheapest to be in the first program."""
ROOT_VIOLATED, VIOLATED = 0.005, 0.02
"""Violation of interest of rows before the tree, and in it."""

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
        self, instance: Instance, near: NearSets, rows: BurdenRows, target: int, place: Place
    ) -> None:
        """Prepare.

        Args:
            instance: the system, with a service for every job of its own.
            near: the sets that a schedule of so many jobs may use.
            rows: of servers.
            target: jobs.
            place: asked once nothing is chosen in part.
        """
        sets = near.sets
        self.bound = target + near.spare
        """On the number of jobs."""
        self.nodes = 0
        self.association: Integers | None = None
        """Of as many jobs or more, once found."""
        self.sets, self._target, self._place = sets, target, place
        self._branching = SetBranching(instance, sets)
        self._relaxation = SetRelaxation(rows, self._branching, target)
        self._undecided = False
        cheap = np.flatnonzero(sets.dearer <= NEAR)
        counts = Counts.any(instance.num_servers, instance.num_jobs)
        self._open = [Node(np.arange(len(sets.job)), near.must, counts, cheap, rows.most_urgent)]

    def cut(self, go_on: Callable[[], bool], promising: Callable[[list[float]], bool]) -> None:
        """Find rows before the tree, and bound the number of jobs by them.

        Args:
            go_on: looked at between two solves.
            promising: whether another round is worth it, told the bounds after each.
        """
        bounds: list[float] = []
        while self.nodes == 0 and self._open and go_on():
            try:
                relaxed = self._relaxation.solve(self._open[0], 1, ROOT_VIOLATED, go_on)
            except UnsolvedError:
                return
            if relaxed is None:
                if go_on():
                    self._open, self.bound = [], float(self._target - 1)
                return
            known = len(self._open[0].rows.server)
            self.bound = min(self.bound, relaxed.bound)
            basis = self._relaxation.program.basis
            root = Node(
                relaxed.sets, relaxed.must, relaxed.counts, relaxed.columns, relaxed.rows, basis,
                relaxed.urgent,
            )  # fmt: skip
            self._open = [root]
            bounds.append(relaxed.bound)
            if len(root.rows.server) == known or not promising(bounds):
                return

    def search(self, go_on: Callable[[], bool]) -> End:
        """Depth first, until nothing is open; goes on where a limit ended it."""
        while self._open:
            try:
                relaxed = self._relaxation.solve(self._open[-1], 1, VIOLATED, go_on)
            except UnsolvedError:
                relaxed, self._undecided = None, True
            if not go_on():
                return End.LIMIT
            self._open.pop()
            self.nodes += 1
            if relaxed is not None and self._end(relaxed):
                return End.FOUND
        if self._undecided:
            return End.UNDECIDED
        self.bound = float(self._target - 1)
        return End.REFUTED

    def _end(self, relaxed: Relaxed) -> bool:
        """Divide a node, unless its point is a schedule, which ends the search."""
        chosen = relaxed.columns[relaxed.weights > 0.5]
        if relaxed.whole and len(chosen) >= self._target:
            placed = self._place(self.sets, chosen)
            if not isinstance(placed, bool):
                self.association = placed
                return True
            if relaxed.decided:
                self._undecided |= placed
                return False
        program, least = self._relaxation.program, self._relaxation.goal
        self._open += self._branching.children(program, relaxed, least)
        return False


def set_tree(
    instance: Instance, columns: ServiceColumns, prices: Floats, target: int, place: Place
) -> SetTree | None:
    """The tree at prices of a relaxation over whole services.

    Args:
        instance: the system.
        columns: of the relaxation.
        prices: of its rows.
        target: jobs.
        place: as for ``SetTree``.

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
    return SetTree(instance, near, rows, target, place)
