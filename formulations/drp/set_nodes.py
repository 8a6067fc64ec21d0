"""Nodes of the tree over sets of servers: what branching says, and what follows for the sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from formulations.drp.burden_rows import RowsChosen
from formulations.drp.configurations import SAFE
from formulations.drp.instance import Booleans, Floats, Integers
from optsched.decomposition.packing_program import Basis

URGENT = 3.0
"""Added to the worth of jobs that a node must train, so that its program always has a point; ten
times as much, again and again, where that is not enough."""
WHOLE = 1e-5
"""Distance from a whole number up to which nothing is chosen in part."""


class Counts(NamedTuple):
    """How many services servers may hold, each of shape (servers,)."""

    least: Integers
    most: Integers

    @classmethod
    def any(cls, servers: int, jobs: int) -> Counts:
        """No limits: up to a service for every job."""
        return cls(np.zeros(servers, dtype=np.int64), np.full(servers, jobs))

    def within(self, server: int, least: int, most: int) -> Counts:
        """With a server's limits replaced."""
        found = Counts(self.least.copy(), self.most.copy())
        found.least[server], found.most[server] = least, most
        return found


@dataclass(frozen=True, eq=False)
class Node:
    """What branching left, and where the parent's program ended."""

    sets: Integers
    """Those that jobs may use, ascending."""
    must: Booleans
    """Jobs that are trained, shape (jobs,)."""
    counts: Counts
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
    amount: Floats
    """How far each job's service stands on each server, and in the last column how far the job is
    trained; in the last row their sums: services on each server. Shape (jobs + 1, servers + 1)."""
    sets: Integers
    """Those that jobs may use, ascending."""
    near: Integers
    """Of these, what children begin with."""
    must: Booleans
    counts: Counts
    columns: Integers
    """Of the program."""
    weights: Floats
    """Of the columns."""
    rows: RowsChosen
    urgent: float

    @property
    def whole(self) -> bool:
        """Whether nothing is chosen in part."""
        return bool((np.abs(self.amount - np.round(self.amount)) <= WHOLE).all())

    @property
    def decided(self) -> bool:
        """Whether nothing is left to choose."""
        return len(self.sets) == int(self.must.sum())


class Narrowing:
    """What follows from storage and counts."""

    def __init__(self, job: Integers, held: Booleans, size: Floats) -> None:
        """Prepare.

        Args:
            job: of each set, ascending, shape (sets,).
            held: servers of each set, shape (sets, servers).
            size: of each job's service as a share of storage, shape (jobs, servers).
        """
        self._job, self._held, self._size = job, held, size

    def narrowed(
        self, sets: Integers, must: Booleans, counts: Counts, target: int
    ) -> Integers | None:
        """The sets that are left where all sets of a trained job have a server.

        Args:
            sets: those there are, ascending.
            must: jobs that are trained, shape (jobs,).
            counts: services that servers may hold.
            target: jobs wanted.

        Returns:
            None where nothing is left.
        """
        while True:
            job, held = self._job[sets], self._held[sets]
            jobs = np.unique(job)
            if len(jobs) < target or not np.isin(np.flatnonzero(must), jobs).all():
                return None
            starts = np.searchsorted(job, jobs)
            some = np.logical_or.reduceat(held, starts, axis=0)
            fixed = np.logical_and.reduceat(held, starts, axis=0) & must[jobs, None]
            size = self._size[jobs]
            used = (fixed * size).sum(axis=0)
            if (used > 1.0 + SAFE).any() or (some.sum(axis=0) < counts.least).any():
                return None
            room = counts.most - fixed.sum(axis=0)
            if (room < 0).any():
                return None
            beside = _beside(size, some & ~fixed, counts.least - fixed.sum(axis=0))
            full = ~fixed & ((used + beside + size > 1.0 + SAFE) | (room == 0))
            left = ~(held & full[np.searchsorted(jobs, job)]).any(axis=1)
            if left.all():
                return sets
            sets = sets[left]


def _beside(size: Floats, open_: Booleans, needed: Integers) -> Floats:
    """Share of storage that a server's other services take at least, beside one of those open.

    Args:
        size: of each job's service, shape (jobs, servers).
        open_: whether a job's service may come, shape (jobs, servers).
        needed: services that have to come, that one among them, shape (servers,).

    Returns:
        Shape (servers,): that of the smallest ones, one less than needed. A job that is among
        these counts itself twice, in the place of one that is no smaller.
    """
    smallest = np.sort(np.where(open_, size, np.inf), axis=0)
    taken = np.vstack([np.zeros(len(needed)), np.cumsum(smallest, axis=0)])
    beside: Floats = taken[np.maximum(needed - 1, 0), np.arange(len(needed))]
    return beside
