"""Dividing nodes of the tree over sets of servers.

By how many services stand on a server, by one service on one server, or by one job. Counts are
preferred: how many services a server holds says more than which ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from formulations.drp.covering_sets import CoveringSets
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible
from formulations.drp.set_nodes import WHOLE, Narrowing, Node, Relaxed
from optsched.decomposition.packing_program import Basis, PackingProgram

TRIED = 6
"""Candidates in a row that are no better than the best, after which no more are tried."""
MOST_TRIED = 16
"""Candidates that are tried at a node."""
COUNTED = 8.0
"""Times as much counts are worth as other divisions of the same gains."""
STEPS = 200
"""Of the simplex method, for a candidate's child."""
RELIABLE = 4
"""Trials of both children after which their mean tells what another would."""
FRACTION = 0.02
"""Distance from a whole number from which on something is a candidate of the first choice."""
_LEAST = 1e-6  # gain, so that a child that gains nothing is not all that counts


class _Solved(NamedTuple):
    """A node's program, and what is sought beyond it."""

    program: PackingProgram
    basis: Basis
    relaxed: Relaxed
    least: float
    """Number of jobs of interest."""


class SetBranching:
    """What is known of dividing nodes.

    A division is a place in ``Relaxed.amount``: what stands there is at most the whole number
    below, or at least the one above.
    """

    def __init__(self, instance: Instance, sets: CoveringSets) -> None:
        """Prepare.

        Args:
            instance: the system, with a service for every job of its own.
            sets: of all jobs.
        """
        jobs, servers = instance.num_jobs, instance.num_servers
        self.job, self.jobs, self.servers = sets.job, jobs, servers
        self.held: Booleans = np.zeros((len(sets.job), servers + 1), dtype=np.bool_)
        """Servers of each set; all sets have the last entry, which is training the job."""
        self.held[np.repeat(np.arange(len(sets.job)), np.diff(sets.start)), sets.server] = True
        self.held[:, servers] = True
        size = visible(instance.service_load)[instance.job_service]
        self.narrowing = Narrowing(sets.job, self.held[:, :-1], size)
        self._gained = np.zeros((2, jobs + 1, servers + 1))  # per unit that an amount moves
        self._times = np.zeros((2, jobs + 1, servers + 1))

    def children(self, program: PackingProgram, relaxed: Relaxed, least: float) -> list[Node]:
        """Divide a node by what gains most on both sides, as far as trials tell.

        Args:
            program: that of the relaxation, solved.
            relaxed: neither decided nor without a bound.
            least: number of jobs of interest.
        """
        basis, before = program.basis, self.servers + self.jobs
        job, server = self._choice(_Solved(program, basis, relaxed, least))
        column = np.flatnonzero(np.isin(relaxed.columns, relaxed.near))
        row = np.flatnonzero(~basis.loose()[before:])
        part = basis.part(column, np.concatenate([np.arange(before), before + row]))
        columns, rows = relaxed.columns[column], relaxed.rows.only(row)
        below = math.floor(relaxed.amount[job, server])
        children = []
        for there in (False, True):
            sets, must, counts = relaxed.sets, relaxed.must, relaxed.counts
            if job < self.jobs:
                out = (self.job[sets] == job) & (self.held[sets, server] != there)
                sets, must = sets[~out], must.copy()
                must[job] |= there
            elif there:
                counts = counts.within(server, below + 1, int(counts.most[server]))
            else:
                counts = counts.within(server, int(counts.least[server]), below)
            children.append(Node(sets, must, counts, columns, rows, part, relaxed.urgent))
        return children

    def _choice(self, solved: _Solved) -> tuple[int, int]:
        """A place in the amounts."""
        gap = solved.relaxed.bound - solved.least
        expected = self._expected(solved.relaxed.amount)
        scores = self._scores(expected, gap)
        found = self._candidates(solved.relaxed)
        best, most, since, tried = None, -1.0, 0, 0
        for k, j in found[np.argsort(-scores[found[:, 0], found[:, 1]], kind="stable")].tolist():
            if since >= TRIED or tried >= MOST_TRIED:
                break
            score = scores[k, j]
            if self._times[:, k, j].min() < RELIABLE:
                tried += 1
                expected[:, k, j] = self._try(solved, (k, j))
                score = self._scores(expected, gap)[k, j]
            since += 1
            if score > most * (1 + 1e-3):
                best, most, since = (k, j), score, 0
        assert best is not None
        return best

    def _candidates(self, relaxed: Relaxed) -> Integers:
        """Places where something is chosen in part, shape (candidates, 2)."""
        amount = relaxed.amount.copy()
        amount[self.jobs, self.servers] = 0.0  # of jobs, all nodes have as many as are wanted
        distance = np.abs(amount - np.round(amount))
        for least in (FRACTION, WHOLE):
            found = np.argwhere(distance > least)
            if len(found):
                return found
        return self._open(relaxed)  # a whole point that cannot be placed: what is left to choose

    def _open(self, relaxed: Relaxed) -> Integers:
        """Jobs and servers, or jobs themselves, that sets leave open."""
        job = self.job[relaxed.sets]
        jobs = np.unique(job)
        starts, held = np.searchsorted(job, jobs), self.held[relaxed.sets]
        some = np.logical_or.reduceat(held, starts, axis=0)
        every = np.logical_and.reduceat(held, starts, axis=0) & relaxed.must[jobs, None]
        where = np.argwhere(some & ~every)
        return np.column_stack([jobs[where[:, 0]], where[:, 1]])

    def _expected(self, amount: Floats) -> Floats:
        """What both children of each place are expected to gain, shape (2, jobs + 1, servers + 1).

        By trials of the place, or else of all others of its kind.
        """
        per_unit = self._gained / np.maximum(self._times, 1.0)
        for alike, untried in ((slice(0, self.jobs), 0.0), (slice(self.jobs, None), 1.0)):
            gained, times = self._gained[:, alike], self._times[:, alike]
            total = times.sum(axis=(1, 2))
            mean = gained.sum(axis=(1, 2)) / np.maximum(total, 1.0)
            mean += 0.0 if total.any() else untried  # counts come first
            per_unit[:, alike] = np.where(times > 0, per_unit[:, alike], mean[:, None, None])
        part = amount - np.floor(amount)
        return per_unit * np.stack([part, 1.0 - part])

    def _scores(self, gains: Floats, gap: float) -> Floats:
        """The product of what both children gain, shape (jobs + 1, servers + 1)."""
        scores: Floats = np.maximum(np.minimum(gains, gap), _LEAST).prod(axis=0)
        scores[self.jobs] *= COUNTED
        return scores

    def _try(self, solved: _Solved, one: tuple[int, int]) -> tuple[float, float]:
        """Solve both children, about, and remember what they gain; that is returned."""
        relaxed = solved.relaxed
        part = float(relaxed.amount[one]) - math.floor(relaxed.amount[one])
        gains = []
        for side, moved in ((0, part), (1, 1.0 - part)):
            value = self._side(solved, one, side)
            gain = min(max(relaxed.bound - value, 0.0), relaxed.bound - solved.least)
            self._gained[side, *one] += gain / max(moved, 1e-3)
            self._times[side, *one] += 1
            gains.append(gain)
        return gains[0], gains[1]

    def _side(self, solved: _Solved, one: tuple[int, int], side: int) -> float:
        """About the bound of one child: of the smaller amount (0), or of the larger (1)."""
        (job, server), (program, basis, relaxed, least) = one, solved
        extra = relaxed.urgent * int(relaxed.must.sum())
        if job == self.jobs:
            below = math.floor(relaxed.amount[one])
            low, high = relaxed.counts.least[server], relaxed.counts.most[server]
            low, high = (below + 1, high) if side else (low, below)
            limits = float(low), float(high)
            return program.tried_within(basis, server, *limits, least + extra, STEPS) - extra
        columns = relaxed.columns
        mine, there = self.job[columns] == job, self.held[columns, server]
        gone = ~np.isin(columns, relaxed.sets)
        forbidden = np.flatnonzero(gone | (mine & (there != bool(side))))
        urgent = bool(side) and not relaxed.must[job]
        dearer = np.flatnonzero(mine) if urgent else forbidden[:0]
        worth, extra = 1.0 + relaxed.urgent, extra + relaxed.urgent * urgent
        return program.tried(basis, forbidden, dearer, worth, least + extra, STEPS) - extra
