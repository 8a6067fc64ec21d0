"""The relaxation at a node of the tree: few sets and rows in a program, prices of all sets.

What is proven rests on prices alone, whatever a solver's tolerance:

    jobs <= sum of prices of rows + sum over jobs of max over its sets of 1 - price of the set,

where the maximum counts as at least 0 for jobs that need not be trained. Where counts have limits,
their prices are parts of those of sets, and count as often as the most of them, or, below 0, the
least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from formulations.drp.exact.set_tree.branching import SetBranching
from formulations.drp.exact.set_tree.burden_rows import BurdenRows, RowsChosen
from formulations.drp.exact.set_tree.nodes import Node, Proven, Relaxed, proven
from formulations.drp.exact.set_tree.packing_program import PackingProgram, Ranges
from formulations.drp.instance import Floats, Integers
from formulations.drp.problem_p3_p5 import FLOOR_SLACK

BROKEN = 1e-3
"""Violation from which on a known row is given to a program."""
COLUMNS_AT_ONCE, ROWS_AT_ONCE = 150, 30
"""Given to a program before it is solved again."""
CLOSE = 0.5
"""Part of what may be lost up to which a set stays in the programs of children."""
MOST_URGENT = 1e6
"""Worth beyond which a program is given up: what is missed then is rounding."""
MISSED = 1e-6
"""What may be missing of a job that must be trained, or of a count."""
PENALTY = 10.0
"""For what a count is short of, by what a job that must be trained is worth more."""
_MARGIN = 1e-6  # worth from which on a column is missing
_CHOSEN = 1e-9  # weight from which on a set is chosen in part


class UnsolvedError(Exception):
    """A program that the solver does not solve."""


class SetRelaxation:
    """Solves nodes, one after the other."""

    def __init__(self, rows: BurdenRows, branching: SetBranching, target: int) -> None:
        """Prepare.

        Args:
            rows: of servers; more come as points violate them.
            branching: knows what sets hold.
            target: jobs wanted.
        """
        self.program = PackingProgram()
        self.goal = target - FLOOR_SLACK
        """Nodes whose bound lies below end."""
        self._rows, self._branching, self._target = rows, branching, target

    def solve(
        self, node: Node, rounds: int, violated: float, go_on: Callable[[], bool]
    ) -> Relaxed | None:
        """Add columns and rows until the relaxation needs no more, or prices prove its end.

        Args:
            node: of the tree.
            rounds: of new rows for configurations of servers.
            violated: by which a point has to violate them.
            go_on: looked at between two solves.

        Returns:
            None where no schedule of the node trains as many jobs; and, whatever that means, once
            it is not to go on.

        Raises:
            UnsolvedError: the solver fails.
        """
        must, jobs, limits = node.must, len(node.must), len(node.limits.number)
        sets = self._branching.narrowing.narrowed(node.sets, must, node.limits, self._target)
        if sets is None:
            return None
        columns, rows = self._enter(node, sets), node.rows
        interest = self.goal + node.urgent * int(must.sum())
        while go_on():
            point = self.program.solve(interest)
            fee, owed, paid = np.split(point.duals, [limits, limits + jobs])
            found = self._proven(sets, node, rows, fee, paid)
            if found.bound < self.goal:
                return None
            kept = found.lost <= found.bound - self.goal
            sets, cost, lost = sets[kept], found.cost[kept], found.lost[kept]
            missing = self._missing(sets, node.worth, cost, owed, columns)
            if len(missing):
                self.program.add_columns(*self._columns(missing, rows, node))
                columns = np.concatenate([columns, missing])
                continue
            if not point.optimal:
                if interest == -np.inf:
                    raise UnsolvedError
                interest = -np.inf  # worth fell, and prices do not prove it: to the end
                continue
            trained = np.bincount(self._branching.job[columns], point.weights, jobs)
            if point.short > MISSED or (must & (trained < 1.0 - MISSED)).any():
                if node.urgent > MOST_URGENT:
                    raise UnsolvedError
                node = replace(node, urgent=10.0 * node.urgent)
                worth = node.worth[self._branching.job[columns]]
                self.program.price(worth, PENALTY * node.urgent)
                interest = self.goal + node.urgent * int(must.sum())
                continue
            chosen = np.flatnonzero(point.weights > _CHOSEN)
            weight = self._rows.weighed(columns[chosen], point.weights[chosen])
            new = self._rows.broken(weight, rows, ROWS_AT_ONCE, BROKEN)
            if not len(new.server) and rounds > 0:
                rounds -= 1
                new = self._rows.cut(weight, violated)
            if not len(new.server):
                near = sets[lost <= CLOSE * (found.bound - self.goal)]
                amount = self._branching.amount(columns, point.weights)
                return Relaxed(
                    found.bound, amount, sets, near, must, node.limits, columns, point.weights,
                    rows, fee, paid, node.urgent,
                )  # fmt: skip
            self.program.add_rows(self._rows.coefficients(new, columns).tocsr())
            rows = rows.plus(new)
        return None

    def _enter(self, node: Node, sets: Integers) -> Integers:
        """Put a node's program in the place of the last one; its columns."""
        kept = np.flatnonzero(np.isin(node.columns, sets))
        columns, basis = node.columns[kept], node.basis
        if basis is not None:
            basis = basis.part(kept, np.arange(len(basis.rows)))
        number, least, most = node.limits
        less = most < self._branching.counts.most[number]
        ranges = Ranges(np.where(least > 0, least, -np.inf), np.where(less, most, np.inf))
        self.program.enter(
            *self._columns(columns, node.rows, node), basis, ranges, PENALTY * node.urgent
        )
        return columns

    def _columns(self, sets: Integers, rows: RowsChosen, node: Node) -> tuple[Floats, sp.csc_array]:
        """Worth and coefficients: counts with limits, a row for each job, then the others."""
        job, count, worth = self._branching.job[sets], len(sets), node.worth
        counted = sp.csc_array(self._branching.counts.of(sets, node.limits.number).T)
        once = sp.csc_array((np.ones(count), (job, np.arange(count))), shape=(len(worth), count))
        matrix = sp.vstack([counted, once, self._rows.coefficients(rows, sets)], format="csc")
        return worth[job], matrix

    def _proven(
        self, sets: Integers, node: Node, rows: RowsChosen, fee: Floats, paid: Floats
    ) -> Proven:
        """What prices prove of all schedules on some sets.

        Args:
            sets: of the node.
            node: jobs that are trained, and limits of counts.
            rows: of servers.
            fee: prices of counts with limits, of either sign, shape (limits,).
            paid: prices of the rows, at least 0, shape (rows,).
        """
        counted = self._branching.counts.of(sets, node.limits.number)
        cost = self._rows.cost(sets, rows, paid) + counted @ fee
        beside = float(paid.sum()) + node.limits.cost(fee)
        return proven(self._branching.job[sets], cost, node.must, beside)

    def _missing(
        self, sets: Integers, worth: Floats, cost: Floats, owed: Floats, columns: Integers
    ) -> Integers:
        """Sets that the program lacks and is worse without, the best ones."""
        job = self._branching.job[sets]
        gain = worth[job] - cost - owed[job]
        found = np.flatnonzero((gain > _MARGIN) & ~np.isin(sets, columns))
        return sets[found[np.argsort(-gain[found], kind="stable")[:COLUMNS_AT_ONCE]]]
