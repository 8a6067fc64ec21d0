"""What a job may do slot by slot in schedules that cost little more than its cheapest one.

A move leads from one point of the lattice to another: workers at sites, none idle, and the site of
the server; a pause leads nowhere. At prices of what is limited, the dynamic program of pricing says
what a point is reached at, at least, and one backwards over the slots what is yet to be paid from
it. Moves are listed slot by slot, from the points that the jobs together have come to, and site by
site; none is looked at whose first sites make a schedule too dear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.okita.exact.move_listing import Found, Goods, Ladder, fill_backwards, list_slot
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.lattice import Lattice, least_prices, widened
from formulations.okita.one_job.paths import JobTerms

FIRST_MOVES = 1024
"""Moves that there is room for at first."""
MOST_MOVES = 1_000_000
"""Moves of one job in one slot beyond which they are not listed."""


class TooManyError(Exception):
    """There are too many moves, or states of jobs, for the room or the time there is."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves of one job in one slot from some points, the least reduced cost first."""

    point: Integers
    """Point from which a move leads, ascending, shape (moves,)."""
    to: Integers
    """The point it leads to."""
    workers: Integers
    """Shape (moves, sites)."""
    server: Integers
    """Its site; -1: a pause."""
    reduced_cost: Floats
    """Than the least that is yet to be paid at the point, ascending at each point."""


class PricedJob:
    """One job at some terms.

    Args:
        instance: the system.
        lattice: of the job.
        terms: its prices, none of them negative, and limits on the most workers.
        least: what it pays at least, money; infinite where it has no schedule.
    """

    def __init__(self, instance: Instance, lattice: Lattice, terms: JobTerms, least: float) -> None:
        self.lattice, self.terms, self.least = lattice, terms, least
        self.ladder, self.goods = Ladder.of(lattice), Goods.of(instance, lattice)

    def within(self, most: float) -> LimitedJob:
        """The job in schedules that cost no more than something, money."""
        return LimitedJob(self, widened(most))


class LimitedJob:
    """A job in schedules that are cheap enough.

    Args:
        job: at its terms.
        limit: most that it may pay, money.
    """

    def __init__(self, job: PricedJob, limit: float) -> None:
        self._job, self._limit, terms = job, limit, job.terms
        self._before = least_prices(job.lattice, terms, limit)[0]
        slots, points = len(self._before) - 1, self._before.shape[1]
        self.done = points
        """What stands for a job that has completed, beside its points."""
        self._value = np.full((slots + 1, points + 1), np.inf)
        self._value[:, points] = 0.0
        fill_backwards(
            job.ladder, job.goods, self._before, self._value, limit, terms.flow_cost,
            terms.worker_price, terms.server_price, terms.most,
        )  # fmt: skip

    @property
    def least(self) -> float:
        """What the job pays at least, money."""
        return float(self._value[0, 0])

    def moves(self, slot: int, points: Integers, spare: Floats) -> Moves:
        """Return the moves of a slot, counted from the job's first; none where it may not run.

        Args:
            slot: in which they are made.
            points: from which they lead, each of them once.
            spare: what they may cost above what is yet to be paid there at least, one for each.

        Raises:
            TooManyError: there are more than ``MOST_MOVES``.
        """
        job, terms = self._job, self._job.terms
        size, sites = FIRST_MOVES, job.goods.room.shape[1]
        found, count = Found.room(size, sites), 0
        if not 0 <= slot < len(self._before) - 1:
            slot, points = 0, points[:0]
        while len(points):
            count = list_slot(
                job.ladder, job.goods, slot, self._before, self._value, self._limit,
                terms.flow_cost[slot], terms.worker_price[slot], terms.server_price[slot],
                terms.most[slot], points, spare, found,
            )  # fmt: skip
            if count >= 0:
                break
            if size >= MOST_MOVES:
                raise TooManyError("moves of a job are too many")
            size = min(8 * size, MOST_MOVES)
            found = Found.room(size, sites)
        point = found.point[:count]
        reduced_cost = found.paid[:count] - self._value[slot, point]
        order = np.lexsort((reduced_cost, point))
        return Moves(
            point=point[order],
            to=found.to[order],
            workers=found.workers[order],
            server=found.server[order],
            reduced_cost=reduced_cost[order],
        )
