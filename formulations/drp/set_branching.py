"""Nodes of the tree over sets of servers: what follows from them, and how they are divided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.drp.burden_rows import RowsChosen
from formulations.drp.configurations import SAFE
from formulations.drp.covering_sets import CoveringSets
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible
from optsched.decomposition.packing_program import Basis, PackingProgram

URGENT = 3.0
"""Added to the worth of jobs that a node must train, so that its program always has a point; ten
times as much, again and again, where that is not enough."""
TRIED = 8
"""Candidates in a row that are no better than the best, after which no more are tried."""
MOST_TRIED = 24
"""Candidates that are tried at a node."""
STEPS = 200
"""Of the simplex method, for a candidate's child."""
RELIABLE = 4
"""Trials of both children after which their mean tells what another would."""
FRACTION = 0.02
"""Distance from a whole number from which on something is a candidate of the first choice."""
_WHOLE = 1e-5
_LEAST = 1e-6  # gain, so that a child that gains nothing is not all that counts


@dataclass(frozen=True, eq=False)
class Node:
    """What branching left, and where the parent's program ended."""

    sets: Integers
    """Those that jobs may use, ascending."""
    must: Booleans
    """Jobs that are trained, shape (jobs,)."""
    columns: Integers
    """Sets in the program."""
    rows: RowsChosen
    basis: Basis | None = None
    urgent: float = URGENT

    @property
    def worth(self) -> Floats:
        """What training each job is worth in the program, shape (jobs,)."""
        return np.where(self.must, 1.0 + self.urgent, 1.0)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The relaxation of a node that nothing proves to end here; the program holds it."""

    bound: float
    """On the number of jobs."""
    share: Floats
    """How far each job's service stands on each server, and in the last column how far the job is
    trained; shape (jobs, servers + 1)."""
    sets: Integers
    """Those that jobs may use, ascending."""
    near: Integers
    """Of these, what children begin with."""
    must: Booleans
    columns: Integers
    """Of the program."""
    weights: Floats
    """Of the columns."""
    rows: RowsChosen
    urgent: float

    @property
    def whole(self) -> bool:
        """Whether nothing is chosen in part."""
        return bool((np.abs(self.share - np.round(self.share)) <= _WHOLE).all())

    @property
    def decided(self) -> bool:
        """Whether nothing is left to choose."""
        return len(self.sets) == int(self.must.sum())


class SetBranching:
    """What is known of dividing nodes by one service on one server, or by one job."""

    def __init__(self, instance: Instance, sets: CoveringSets) -> None:
        """Prepare.

        Args:
            instance: the system, with a service for every job of its own.
            sets: of all jobs.
        """
        jobs, servers = instance.num_jobs, instance.num_servers
        self.job = sets.job
        self.held: Booleans = np.zeros((len(sets.job), servers + 1), dtype=np.bool_)
        """Servers of each set; all sets have the last entry, which is training the job."""
        self.held[np.repeat(np.arange(len(sets.job)), np.diff(sets.start)), sets.server] = True
        self.held[:, servers] = True
        self._size = visible(instance.service_load)[instance.job_service]
        self._gained = np.zeros((2, jobs, servers + 1))  # per unit that a number moves
        self._times = np.zeros((2, jobs, servers + 1))

    def narrowed(self, sets: Integers, must: Booleans, target: int) -> Integers | None:
        """The sets that storage leaves where all sets of a trained job have a server.

        Args:
            sets: those there are, ascending.
            must: jobs that are trained, shape (jobs,).
            target: jobs wanted.

        Returns:
            None where nothing is left.
        """
        while True:
            job, held = self.job[sets], self.held[sets, :-1]
            jobs = np.unique(job)
            if len(jobs) < target or not np.isin(np.flatnonzero(must), jobs).all():
                return None
            starts = np.searchsorted(job, jobs)
            fixed = np.logical_and.reduceat(held, starts, axis=0) & must[jobs, None]
            size = self._size[jobs]
            used = (fixed * size).sum(axis=0)
            if (used > 1.0 + SAFE).any():
                return None
            full = ~fixed & (used + size > 1.0 + SAFE)
            left = ~(held & full[np.searchsorted(jobs, job)]).any(axis=1)
            if left.all():
                return sets
            sets = sets[left]

    def children(self, program: PackingProgram, relaxed: Relaxed, least: float) -> list[Node]:
        """Divide a node by what gains most on both sides, as far as trials tell.

        Args:
            program: that of the relaxation, solved.
            relaxed: neither decided nor without a bound.
            least: number of jobs of interest.
        """
        basis = program.basis
        job, server = self._choice(program, basis, relaxed, least)
        column = np.flatnonzero(np.isin(relaxed.columns, relaxed.near))
        row = np.flatnonzero(~basis.loose()[len(relaxed.must) :])
        tight = np.concatenate([np.arange(len(relaxed.must)), len(relaxed.must) + row])
        part = basis.part(column, tight)
        columns, rows = relaxed.columns[column], relaxed.rows.only(row)
        children = []
        for there in (False, True):
            out = (self.job[relaxed.sets] == job) & (self.held[relaxed.sets, server] != there)
            must = relaxed.must.copy()
            must[job] |= there
            children.append(Node(relaxed.sets[~out], must, columns, rows, part, relaxed.urgent))
        return children

    def _choice(
        self, program: PackingProgram, basis: Basis, relaxed: Relaxed, least: float
    ) -> tuple[int, int]:
        """A job, and a server or, in its place, training it."""
        share, gap = relaxed.share, relaxed.bound - least
        best, most, since, tried = None, -1.0, 0, 0
        for one in self._candidates(relaxed, gap):
            if since >= TRIED or tried >= MOST_TRIED:
                break
            reliable = self._times[:, one[0], one[1]].min() >= RELIABLE
            if not reliable:
                tried += 1
                self._try(program, basis, relaxed, least, one)
            # what was just tried is part of the mean
            score = self._score(one, float(share[one]), gap)
            since += 1
            if score > most * (1 + 1e-3):
                best, most, since = one, score, 0
        assert best is not None
        return best

    def _candidates(self, relaxed: Relaxed, gap: float) -> list[tuple[int, int]]:
        """The most promising first."""
        share = relaxed.share
        distance = np.abs(share - np.round(share))
        found = np.argwhere(distance > FRACTION)
        if not len(found):
            found = np.argwhere(distance > _WHOLE)
        if not len(found):  # a whole point that cannot be placed: whatever is left to choose
            found = self._open(relaxed)
        ones = [(int(k), int(j)) for k, j in found]
        return sorted(ones, key=lambda one: -self._score(one, float(share[one]), gap))

    def _open(self, relaxed: Relaxed) -> Integers:
        """Jobs and servers, or jobs themselves, that sets leave open."""
        job = self.job[relaxed.sets]
        jobs = np.unique(job)
        starts, held = np.searchsorted(job, jobs), self.held[relaxed.sets]
        some = np.logical_or.reduceat(held, starts, axis=0)
        every = np.logical_and.reduceat(held, starts, axis=0) & relaxed.must[jobs, None]
        where = np.argwhere(some & ~every)
        return np.column_stack([jobs[where[:, 0]], where[:, 1]])

    def _score(self, one: tuple[int, int], share: float, gap: float) -> float:
        """The product of what both children are expected to gain."""
        times = self._times[:, one[0], one[1]]
        mean = self._gained.sum(axis=(1, 2)) / np.maximum(self._times.sum(axis=(1, 2)), 1.0)
        known = self._gained[:, one[0], one[1]] / np.maximum(times, 1.0)
        per_unit = np.where(times > 0, known, mean)
        down, up = per_unit * (share, 1.0 - share)
        return float(max(min(down, gap), _LEAST) * max(min(up, gap), _LEAST))

    def _try(
        self,
        program: PackingProgram,
        basis: Basis,
        relaxed: Relaxed,
        least: float,
        one: tuple[int, int],
    ) -> None:
        """Solve both children, about, and remember what they gain."""
        job, server = one
        columns = relaxed.columns
        mine, there = self.job[columns] == job, self.held[columns, server]
        gone = ~np.isin(columns, relaxed.sets)
        share = float(relaxed.share[one])
        for side, moved in ((0, share), (1, 1.0 - share)):
            forbidden = np.flatnonzero(gone | (mine & (there != bool(side))))
            must = relaxed.must.copy()
            must[job] |= bool(side)
            dearer = np.flatnonzero(mine) if side and not relaxed.must[job] else forbidden[:0]
            extra = relaxed.urgent * int(must.sum())
            value = program.tried(
                basis, forbidden, dearer, 1.0 + relaxed.urgent, least + extra, STEPS
            )
            gain = min(max(relaxed.bound - (value - extra), 0.0), relaxed.bound - least)
            self._gained[side, job, server] += gain / max(moved, 1e-3)
            self._times[side, job, server] += 1
