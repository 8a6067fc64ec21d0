"""What a job may do slot by slot in schedules that are little dearer than its cheapest one.

A move leads from one point of the lattice to another: workers at sites, none idle, and the site of
the server; a pause leads nowhere. At prices of what is limited, the dynamic program of pricing says
what a point is reached at, at least, and one backwards over the slots what is yet to be paid from
it. Moves are listed site by site; none is looked at whose first sites make a schedule too dear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.lattice import Lattice
from formulations.okita.move_listing import Found, Goods, Ladder, list_backwards
from formulations.okita.one_job import JobTerms, least_prices, widened

MOST_MOVES = 1_000_000
"""Moves of one job beyond which they are not listed."""


class TooManyError(Exception):
    """There are too many moves, or states of jobs, for the room or the time there is."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Of one job by slot and point, the least dear first; none where no schedule is so cheap."""

    done: int
    """What stands for a job that has completed, beside its points."""
    least: float
    """What the job pays at least, money."""
    first: Integers
    """Moves of slot t, counted from the job's first, are first[t] .. first[t + 1] - 1."""
    point: Integers
    """From which a move leads, ascending in each slot, shape (moves,)."""
    to: Integers
    """The point it leads to."""
    workers: Integers
    """Shape (moves, sites)."""
    server: Integers
    """Its site; -1: a pause."""
    dearer: Floats
    """Than the least that is yet to be paid at the point, ascending in each slot and point."""

    def within(self, slot: int, spare: float) -> Integers:
        """Moves of a slot that are dearer by at most so much; none where the job may not run."""
        if not 0 <= slot < len(self.first) - 1:
            return np.zeros(0, dtype=np.int64)
        begin, end = self.first[slot : slot + 2]
        return np.asarray(begin + np.flatnonzero(self.dearer[begin:end] <= spare))


class PricedJob:
    """One job at some terms.

    Args:
        instance: the system.
        lattice: of the job.
        terms: its prices, none of them negative, and limits on the most workers.
    """

    def __init__(self, instance: Instance, lattice: Lattice, terms: JobTerms) -> None:
        self._terms, self._ladder = terms, Ladder.of(lattice)
        self._goods = Goods.of(instance, lattice)
        self._before = least_prices(lattice, terms, np.inf)[0]
        ends = self._before[1:, lattice.ends] + self._goods.cost[lattice.ends]
        self.least = float((ends.min(axis=1, initial=np.inf) + terms.flow_cost).min(initial=np.inf))
        """What it pays at least, money; infinite where it has no schedule."""

    def moves(self, most: float) -> Moves:
        """Those of all schedules that cost no more than something, money.

        Raises:
            TooManyError: there are more than ``MOST_MOVES``.
        """
        slots, points = len(self._before) - 1, self._before.shape[1]
        value = np.full((slots + 1, points + 1), np.inf)
        value[:, points] = 0.0
        found = Found.room(MOST_MOVES, self._goods.room.shape[1])
        count = list_backwards(
            self._ladder, self._goods, self._before, value, widened(most), self._terms.flow_cost,
            self._terms.worker_price, self._terms.server_price, self._terms.most, found,
        )  # fmt: skip
        if count < 0:
            raise TooManyError("moves of a job are too many")
        slot, point = found.slot[:count], found.point[:count]
        dearer = found.paid[:count] - value[slot, point]
        order = np.lexsort((dearer, point, slot))
        return Moves(
            done=points,
            least=float(value[0, 0]),
            first=np.searchsorted(slot[order], np.arange(slots + 1)),
            point=point[order],
            to=found.to[order],
            workers=found.workers[order],
            server=found.server[order],
            dearer=dearer[order],
        )
