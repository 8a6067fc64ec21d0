"""OASiS (Bao et al., INFOCOM 2018) in this system: prices that rise with what is reserved.

Every job must finish, so none is rejected. The prices' constants are not given in the paper: the
least price is 1 and the largest 1000 per unit of a resource's capacity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.okita.instance import Instance
from formulations.okita.one_job.paths import FreeCapacity
from formulations.okita.schedule import Schedule
from heuristics.okita.kernels import split, transport
from heuristics.okita.online import Job, Recorder, Rules, SiteCosts
from optsched.errors import FieldProblem, InputError
from optsched.jit import njit_cached
from optsched.problem.calls import Positive

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def oasis(
    instance: Instance,
    rng: np.random.Generator,
    *,
    least_price: Positive = 1.0,
    largest_price: Positive = 1000.0,
) -> Schedule:
    """On arrival each job reserves the workers, slot by slot, that are cheapest with its latency.

    Args:
        instance: every job trains at least a chunk per worker and slot (A2).
        rng: not used.
        least_price: L, of a whole free resource.
        largest_price: U, of a resource that is all reserved.

    Raises:
        InputError: prices that do not rise from a positive one, or a job that breaks (A2).
    """
    if not 0 < least_price <= largest_price < np.inf:
        raise InputError(
            [FieldProblem("largest_price", largest_price, f"at least {least_price} > 0, finite")]
        )
    system, recorder, room = SiteCosts(instance, Rules()), Recorder(), FreeCapacity(instance)
    for i in np.argsort(instance.release_slot, kind="stable").tolist():
        job = Job(system, i)
        own = Recorder()
        market = _Market(job, room, least_price, largest_price)
        for slot, number in market.cheapest_numbers():
            workers, server, order = market.deployment(slot, number)
            flow = _train(job, workers, order)
            for one in (own, recorder):
                one.add(i, slot, workers, server, flow)
        room.take(own.schedule())
    return recorder.schedule()


class _Offer(NamedTuple):
    """One slot's sites and prices."""

    order: Integers
    """Sites by a worker's price."""
    price: Floats
    """Price of a worker at each site."""
    fit: Integers
    """Workers at each site, the server in its place."""
    server: int
    """The server's site; -1: it fits nowhere with a worker."""
    of_server: float
    """Its price."""


class _Market:
    """What resources cost a job that arrives, slot by slot."""

    def __init__(self, job: Job, room: FreeCapacity, least: float, largest: float) -> None:
        self.job, self.room = job, room
        self.least, self.ratio = least, largest / least
        self.capacity = job.system.instance.capacity
        self._offers: dict[int, _Offer] = {}

    def _prices(self, free: Integers) -> tuple[Floats, Floats]:
        """Prices of a worker and of the server at each site, shape (sites,)."""
        whole = np.maximum(self.capacity, 1)
        unit = self.least * self.ratio ** ((self.capacity - free) / whole) / whole
        return unit @ self.job.worker, unit @ self.job.server

    def deployment(self, slot: int, number: int) -> tuple[Integers, int, Integers]:
        """Workers per site, the server's site, and sites by price, for a number that fits."""
        offer = self._offer(slot)
        order, fit = offer.order, offer.fit
        before = np.cumsum(fit[order]) - fit[order]
        workers = np.zeros(len(fit), dtype=np.int64)
        workers[order] = np.clip(number - before, 0, fit[order])
        return workers, offer.server, order

    def _offer(self, slot: int) -> _Offer:
        """What a slot offers: nothing is reserved while a job chooses."""
        if slot not in self._offers:
            self._offers[slot] = self._offered(slot)
        return self._offers[slot]

    def _offered(self, slot: int) -> _Offer:
        free = self.room.between(slot, 1)[0]
        worker, server = self._prices(free)
        alone, beside = self.job.fits(free)
        # the server leaves room for a worker somewhere, or the slot is of no use
        able = (beside >= 0) & (alone.sum() - alone + beside > 0)
        where = int(np.argmin(np.where(able, server, np.inf))) if able.any() else -1
        fit = alone.copy()
        fit[where] = beside[where] if where >= 0 else 0
        order = np.argsort(worker, kind="stable")
        return _Offer(order, worker, fit, where, server[where] if where >= 0 else np.inf)

    def _slot_costs(self, slot: int, most: int) -> Floats:
        """v(t, n) for n = 0 .. most, infinite where so many do not fit."""
        order, price, fit, server, of_server = self._offer(slot)
        cost = np.full(most + 1, np.inf)
        cost[0] = 0.0
        if server < 0:
            return cost
        one_by_one = np.repeat(price[order], np.minimum(fit[order], most))[:most]
        cost[1 : len(one_by_one) + 1] = np.cumsum(one_by_one) + of_server
        return cost

    def cheapest_numbers(self) -> list[tuple[int, int]]:
        """Slots with their numbers of workers, by dynamic programming over slots.

        Where whole chunks leave something over, single workers follow in the next slots.
        """
        job, most = self.job, self.job.most_workers
        value = np.full(most + 1, np.inf)
        value[0] = 0.0
        chosen: list[Integers] = []
        best, end, slot = np.inf, 0, job.release
        last = max(self.room.end, slot) + most
        while slot <= last:
            late = float(job.latency(np.array([slot - job.release]))[0])
            if late >= best:
                break
            value, number = _cheaper(value, self._slot_costs(slot, most))
            chosen.append(number)
            if value[most] + late < best:
                best, end = value[most] + late, slot
            slot += 1
        numbers, needed = [], most
        for at in range(end - job.release, -1, -1):
            taken = int(chosen[at][needed])
            if taken:
                numbers.append((job.release + at, taken))
            needed -= taken
        return [*reversed(numbers), *self._remainders(reversed(numbers), end)]

    def _remainders(self, numbers: Iterable[tuple[int, int]], end: int) -> list[tuple[int, int]]:
        """Single workers for chunks that the rounding of rates leaves over."""
        job = self.job
        left = job.total
        for slot, number in numbers:
            workers, _, _ = self.deployment(slot, number)
            left -= int((job.numerator * workers // job.divisor).sum())
        more, slot = [], end
        while left > 0:
            slot += 1
            if np.isfinite(self._slot_costs(slot, 1)[1]):
                more.append((slot, 1))
                left -= job.numerator // job.divisor
        return more


def _train(job: Job, workers: Integers, order: Integers) -> Integers:
    """SPLIT and DTA for one slot; returns chunks from row to column."""
    able = job.numerator * workers // job.divisor
    target = split(job.left, able, order, min(int(job.left.sum()), int(able.sum())))
    flow = np.zeros(job.move.shape, dtype=np.int64)
    transport(job.left, target, job.move, job.system.sources, flow)
    job.left = job.left - flow.sum(axis=1)
    return flow


@njit_cached
def _cheaper(value: Floats, cost: Floats) -> tuple[Floats, Integers]:
    """V(t, n) from V(t - 1, n) and v(t, n), and how many workers slot t takes."""
    best = value.copy()
    taken = np.zeros(len(value), dtype=np.int64)
    for number in range(1, len(cost)):
        if cost[number] == np.inf:
            break
        for n in range(number, len(value)):
            total = value[n - number] + cost[number]
            if total < best[n]:
                best[n] = total
                taken[n] = number
    return best, taken
