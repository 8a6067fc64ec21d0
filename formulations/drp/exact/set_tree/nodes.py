"""Nodes of the tree over sets of servers: what branching says, and what follows for the sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from formulations.drp.exact.set_tree.burden_rows import RowsChosen
from formulations.drp.exact.set_tree.configurations import SAFE
from formulations.drp.exact.set_tree.counts import Counts
from formulations.drp.exact.set_tree.packing_program import Basis
from formulations.drp.instance import Booleans, Floats, Integers

URGENT = 3.0
"""Added to the worth of jobs that a node must train, so that its program always has a point; ten
times as much, again and again, where that is not enough."""
WHOLE = 1e-5
"""Distance from a whole number up to which nothing is chosen in part."""


class Limits(NamedTuple):
    """What some counts may come to, each of shape (limits,)."""

    number: Integers
    """Index of the count that is limited."""
    least: Integers
    most: Integers

    @classmethod
    def none(cls) -> Limits:
        """No limits."""
        return cls(*np.zeros((3, 0), dtype=np.int64))

    def cost(self, fee: Floats) -> float:
        """What counts come to at prices, shape (limits,): their most or, below 0, their least."""
        return float(fee @ np.where(fee > 0, self.most, self.least))

    def within(self, count: int, least: int, most: int) -> Limits:
        """With those of a count made narrower, or new ones after all others."""
        at = np.flatnonzero(self.number == count)
        if not len(at):
            return Limits(
                np.append(self.number, count), np.append(self.least, least),
                np.append(self.most, most),
            )  # fmt: skip
        found = Limits(self.number, self.least.copy(), self.most.copy())
        found.least[at] = np.maximum(found.least[at], least)
        found.most[at] = np.minimum(found.most[at], most)
        return found


@dataclass(frozen=True, eq=False)
class Node:
    """What branching left, and where the parent's program ended."""

    sets: Integers
    """Sets that jobs may use, ascending."""
    must: Booleans
    """Jobs that are trained, shape (jobs,)."""
    limits: Limits
    columns: Integers
    """Sets in the program."""
    rows: RowsChosen
    basis: Basis | None = None
    urgent: float = URGENT
    share: float = 1.0
    """Share of the tree, if both children of a node always take as long."""

    @property
    def worth(self) -> Floats:
        """What training each job is worth in the program, shape (jobs,)."""
        return np.where(self.must, 1.0 + self.urgent, 1.0)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The relaxation of a node that nothing proves to end here; the program holds it."""

    bound: float
    """Bound on the number of jobs."""
    amount: Floats
    """Value of each sum that nodes are divided by (``SetBranching``); whole in every schedule."""
    sets: Integers
    """Sets that jobs may use, ascending."""
    near: Integers
    """The part of ``sets`` that children begin with."""
    must: Booleans
    limits: Limits
    columns: Integers
    """Columns of the program."""
    weights: Floats
    """Weights of the columns."""
    rows: RowsChosen
    fee: Floats
    """Prices of counts with limits, of either sign, shape (limits,)."""
    paid: Floats
    """Prices of the rows, at least 0, shape (rows,)."""
    urgent: float

    @property
    def whole(self) -> bool:
        """Whether nothing is chosen in part."""
        return bool((np.abs(self.amount - np.round(self.amount)) <= WHOLE).all())

    @property
    def decided(self) -> bool:
        """Whether nothing is left to choose."""
        return len(self.sets) == int(self.must.sum())


class Proven(NamedTuple):
    """What prices prove."""

    bound: float
    """Bound on the number of jobs."""
    cost: Floats
    """Cost of each set, shape (sets,)."""
    lost: Floats
    """By how much the bound falls if the job of a set has to use it, shape (sets,)."""


def proven(job: Integers, cost: Floats, must: Booleans, beside: float = 0.0) -> Proven:
    """What prices prove of all schedules on some sets.

    Args:
        job: of each set, shape (sets,).
        cost: of each set, shape (sets,).
        must: jobs that are trained, shape (jobs,).
        beside: what all that sets pay for costs together.
    """
    most = np.where(must, -np.inf, 0.0)
    np.maximum.at(most, job, 1.0 - cost)
    return Proven(float(beside + most.sum()), cost, most[job] - (1.0 - cost))


class Narrowing:
    """What follows from storage and counts."""

    def __init__(self, job: Integers, held: Booleans, size: Floats, counts: Counts) -> None:
        """Prepare.

        Args:
            job: of each set, ascending, shape (sets,).
            held: servers of each set, shape (sets, servers).
            size: of each job's service as a share of storage, shape (jobs, servers).
            counts: of these sets.
        """
        self._job, self._held, self._size, self._counts = job, held, size, counts

    def narrowed(
        self, sets: Integers, must: Booleans, limits: Limits, target: int
    ) -> Integers | None:
        """The sets that are left where all sets of a trained job have a server.

        Args:
            sets: those there are, ascending.
            must: jobs that are trained, shape (jobs,).
            limits: of counts.
            target: jobs wanted.

        Returns:
            None where nothing is left.
        """
        needed = np.zeros(self._held.shape[1], dtype=np.int64)
        single = limits.number < len(needed)
        needed[limits.number[single]] = limits.least[single]
        while True:
            job = self._job[sets]
            jobs = np.unique(job)
            if len(jobs) < target or not np.isin(np.flatnonzero(must), jobs).all():
                return None
            starts, at = np.searchsorted(job, jobs), np.searchsorted(jobs, job)
            trained = must[jobs, None]
            allowed = self._counted(sets, starts, at, trained, limits)
            stored = self._stored(sets, starts, jobs, trained, needed)
            if allowed is None or stored is None:
                return None
            left = allowed & ~(self._held[sets] & stored[at]).any(axis=1)
            if left.all():
                return sets
            sets = sets[left]

    def _counted(
        self, sets: Integers, starts: Integers, at: Integers, trained: Booleans, limits: Limits
    ) -> Booleans | None:
        """Whether other jobs leave room for each set in counts, shape (sets,); None: in none.

        Args:
            sets: those there are.
            starts: where those of each job begin.
            at: place of each set's job, shape (sets,).
            trained: whether a job is, shape (jobs, 1).
            limits: of counts.
        """
        part = self._counts.of(sets, limits.number)
        low = np.where(trained, np.minimum.reduceat(part, starts, axis=0), 0)
        high = np.maximum.reduceat(part, starts, axis=0)
        least, most = low.sum(axis=0), high.sum(axis=0)
        if (least > limits.most).any() or (most < limits.least).any():
            return None
        allowed: Booleans = (
            (least - low[at] + part <= limits.most) & (most - high[at] + part >= limits.least)
        ).all(axis=1)
        return allowed

    def _stored(
        self, sets: Integers, starts: Integers, jobs: Integers, trained: Booleans, needed: Integers
    ) -> Booleans | None:
        """Servers that are too full for a job's service, shape (jobs, servers); None: for all."""
        held = self._held[sets]
        some = np.logical_or.reduceat(held, starts, axis=0)
        fixed = np.logical_and.reduceat(held, starts, axis=0) & trained
        size = self._size[jobs]
        used = (fixed * size).sum(axis=0)
        if (used > 1.0 + SAFE).any():
            return None
        beside = _beside(size, some & ~fixed, needed - fixed.sum(axis=0))
        full: Booleans = ~fixed & (used + beside + size > 1.0 + SAFE)
        return full


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
