"""A tree over the completions of jobs, each node a linear relaxation over whole schedules.

Servers are pooled. A job that a relaxation completes at several slots completes, in one child, no
later than their mean, and later in the other; where all jobs complete with one slot each, the same
is asked of their starts, and of their choices. Schedules whose reduced costs leave no room for
something better than the best one known are in no child. Cuts hold in every node.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.cutting import ROUNDING, Cutting
from formulations.batch.exact.server_cuts import Row, Runs
from formulations.batch.instance import Booleans, Floats, Integers
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


@dataclass(frozen=True, order=True)
class Node:
    """A part of what is searched."""

    bound: float
    """On everything in it."""
    number: int
    here: Booleans = field(compare=False)
    """Schedules on servers with limits that it has, shape (schedules,)."""
    away: Booleans = field(compare=False)
    """Jobs that may be in the cloud, shape (jobs,)."""


class CompletionTree:
    """Nodes that are open, the one of the least bound first."""

    def __init__(
        self, columns: PooledColumns, runs: Runs, rows: Sequence[Row], options: Options
    ) -> None:
        """Begin with all schedules.

        Args:
            columns: these schedules.
            runs: the same.
            rows: what they satisfy beside capacities.
            options: limits of each relaxation.
        """
        k = columns.prospects.choices
        self._runs, self._jobs = runs, columns.instance.jobs
        self._job = k.job[runs.choice]
        self._cloud_end = columns.prospects.cloud_end
        self._weight = columns.weight
        self._cutting = Cutting(columns, runs, options, rows)
        self._numbers = itertools.count()
        self._put_aside = math.inf
        self.nodes = 0
        everything = np.ones(len(self._job), dtype=bool), self._cloud_end >= 0
        self._open = [Node(-math.inf, next(self._numbers), *everything)]

    @property
    def bound(self) -> float:
        """On everything that is open, or was put aside."""
        return min(self._put_aside, self._open[0].bound if self._open else math.inf)

    @property
    def done(self) -> bool:
        """Whether nothing is open."""
        return not self._open

    def cut(self, rows: Sequence[Row]) -> None:
        """Take rows that hold everywhere."""
        self._cutting.take(rows, for_good=True)

    def again(self, node: Node) -> None:
        """Open a node once more, after cuts."""
        heapq.heappush(self._open, node)

    def put_aside(self, node: Node) -> None:
        """Have a node's bound count, and nothing in it searched."""
        self._put_aside = min(self._put_aside, node.bound)

    def step(self, most: float) -> tuple[Node, Integers] | None:
        """Look at the open node of the least bound.

        Args:
            most: above what a schedule worth having costs, by more than ``ROUNDING``.

        Returns:
            Schedules on servers with limits, by number, that are the best of the node, with the
            node, which is no longer open: a choice in whole numbers. None where it had none.

        Raises:
            TimeoutError: its relaxation could not be solved; it stays open.
        """
        node = heapq.heappop(self._open)
        solution = self._cutting.solve(node.here, node.away)
        self.nodes += 1
        if solution.status is Status.INFEASIBLE:
            return None
        if solution.status is not Status.OPTIMAL or solution.bound is None:
            self.again(node)
            raise TimeoutError
        bound = max(node.bound, solution.bound)
        here = node.here & (solution.bound + solution.reduced_costs["b"] <= most)
        node = Node(bound, next(self._numbers), here, node.away)
        if bound > most - ROUNDING:
            self.put_aside(node)
            return None
        used = np.flatnonzero(solution["b"] > ROUNDING)
        share = solution["b"][used]
        children = self._children(node, used, share, solution["cloud"])
        if children:
            self._cutting.renew(solution)
        for here, away in children:
            self.again(Node(bound, next(self._numbers), here, away))
        return None if children else (node, used)

    def _children(
        self, node: Node, used: Integers, share: Floats, cloud: Floats
    ) -> list[tuple[Booleans, Booleans]]:
        """Schedules and jobs in the cloud of both children; nothing where all is whole.

        Args:
            node: the parent.
            used: schedules with a share.
            share: theirs.
            cloud: share of each job in the cloud.
        """
        away = np.flatnonzero(cloud > ROUNDING)
        job = np.concatenate([self._job[used], away])
        share = np.concatenate([share, cloud[away]])
        for of in (self._runs.end, self._runs.start, self._runs.choice):
            value = np.concatenate([of[used], self._cloud_end[away]]).astype(float)
            low, high = np.full(self._jobs, np.inf), np.full(self._jobs, -np.inf)
            np.minimum.at(low, job, value)
            np.maximum.at(high, job, value)
            open_ = low < high
            if not open_.any():
                continue
            total = np.maximum(np.bincount(job, share, self._jobs), ROUNDING)
            mean = np.bincount(job, share * value, self._jobs) / total
            apart = np.bincount(job, share * np.abs(value - mean[job]), self._jobs)
            j = int(np.argmax(np.where(open_, self._weight * apart, -1.0)))
            split = min(math.floor(mean[j]), high[j] - 1)
            mine, late = self._job == j, of > split
            later = np.zeros(self._jobs, dtype=bool)
            later[j] = self._cloud_end[j] > split
            own = np.arange(self._jobs) == j
            return [
                (node.here & ~(mine & late), node.away & ~later),
                (node.here & ~(mine & ~late), node.away & ~(own & ~later)),
            ]
        return []
