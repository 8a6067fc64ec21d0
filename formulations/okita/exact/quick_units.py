"""A cheap schedule of one job beside what others hold, found quickly, or that there is none.

What ``by_units`` does, from what is left of the sites on in machine code, terms included. A
schedule is looked for at one price of a chunk per site wherever the first server stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.arrays import copy_into
from formulations.okita.one_job.terms import SlotTerms
from formulations.okita.one_job.unit_search import Met, UnitWork, least_price
from formulations.okita.one_job.units import STEPS, ByUnits
from optsched.jit import njit_cached

QUICK_STEPS = 8
"""Steps on the prices of chunks."""


class QuickJobs(NamedTuple):
    """Jobs, as machine code takes them."""

    worker: Integers
    """What a worker takes, shape (jobs, resources)."""
    server: Integers
    """What the server takes."""
    useful: Integers
    """Most workers of each site that are of use, shape (jobs, sites)."""
    talk: Floats
    """What a worker pays for bandwidth, by job, site of the server, its own site; money."""
    supply: Integers
    """Chunks that lie at each site."""
    move: Floats
    """Price of a chunk by job from row to column."""
    rate: Integers
    """With ``work``: y workers train rate * y // work chunks, shape (jobs,)."""
    work: Integers
    needed: Integers
    """Units that all chunks take."""
    top: Integers
    """Most units of any schedule."""
    quick_alpha: Floats
    """Price of a chunk for schedules, by job, one for all first servers, site; money. The search
    begins at those that were best last time."""
    alpha: Floats
    """The same for bounds, by job, site of the first server (or one for all), site."""

    @classmethod
    def of(cls, searches: Sequence[ByUnits]) -> QuickJobs:
        """All jobs of an instance, whose searches by units have their prices here from now on."""
        instance = searches[0].instance
        q, exchange = instance.unit_bandwidth_cost, instance.exchange_size_mb[:, None, None]
        alpha = np.stack([search.alpha for search in searches])
        for search, own in zip(searches, alpha, strict=True):
            search.alpha = own
        return cls(
            instance.worker_demand, instance.ps_demand, instance.useful_workers,
            np.ascontiguousarray(q.T) * exchange, instance.num_chunks,
            instance.chunk_size_mb[:, None, None] * q, instance.rate_numerator,
            instance.work_per_chunk, np.array([search.needed for search in searches]),
            np.array([search.top for search in searches]), alpha.mean(axis=1, keepdims=True), alpha,
        )  # fmt: skip


class Rent(NamedTuple):
    """What a job pays for sites besides, from its first slot on and beyond nothing; money."""

    worker: Floats
    """Of a worker, shape (slots, sites)."""
    server: Floats
    """Of the server."""
    part: float
    """How much of these is paid."""


@njit_cached
def _workers_within(left: Integers, worker: Integers) -> int:
    """Workers that fit into what is left of a site."""
    fit = -1
    for k in range(len(left)):
        if worker[k] > 0:
            more = max(0, left[k] // worker[k])
            fit = more if fit < 0 else min(fit, more)
    return fit


@njit_cached
def _room(jobs: QuickJobs, i: int, left: Integers, most: Integers, server_price: Floats) -> None:
    """Most workers of a slot, as ``workers_beside_server``, and where the server has no room.

    Args:
        jobs: of which one is planned.
        i: that one.
        left: of the slot, shape (sites, resources).
        most: written, by site of the server, site of the worker.
        server_price: written, infinite where there is no room; shape (sites,).
    """
    worker, server, useful = jobs.worker[i], jobs.server[i], jobs.useful[i]
    for r in range(len(left)):
        fit = min(_workers_within(left[r], worker), useful[r])
        for s in range(len(left)):
            most[s, r] = fit
        most[r, r] = min(_workers_within(left[r] - server, worker), useful[r])
        for k in range(left.shape[1]):
            if left[r, k] < server[k]:
                server_price[r] = np.inf


@njit_cached
def _terms(jobs: QuickJobs, i: int, left: Integers, latency: Floats, rent: Rent) -> SlotTerms:
    """Prices and limits of a job in these slots."""
    slots, sites, _ = left.shape
    worker_price = np.empty((slots, sites, sites))
    server_price = np.zeros((slots, sites))
    most = np.empty((slots, sites, sites), dtype=np.int64)
    for t in range(slots):
        copy_into(worker_price[t], jobs.talk[i])
        if t < len(rent.worker):
            for r in range(sites):
                server_price[t, r] = rent.part * rent.server[t, r]
                for s in range(sites):
                    worker_price[t, s, r] += rent.part * rent.worker[t, r]
        _room(jobs, i, left[t], most[t], server_price[t])
    none, free = np.zeros((slots, sites), dtype=np.int64), np.zeros(slots, dtype=np.bool_)
    return SlotTerms(worker_price, server_price, none, most, free, latency[:slots])


@njit_cached
def planned_quickly(
    jobs: QuickJobs,
    i: int,
    left: Integers,
    latency: Floats,
    rent: Rent,
    slots: int,
) -> tuple[float, Integers, Integers, Integers]:
    """A cheap schedule: its cost without rent, money, workers, server and flow as in ``Path``.

    The cost is infinite if none was found.

    Args:
        jobs: of which one is planned; its prices of chunks are written.
        i: that one.
        left: of the resources from its first slot on, shape (slots, sites, resources).
        latency: of completion in each slot, shape (slots,), ascending.
        rent: what it pays for sites besides.
        slots: so many are looked at first, and more while one might complete there.
    """
    limit = len(left)
    while True:
        met = _least(jobs, i, left[:slots], latency, rent, QUICK_STEPS, jobs.quick_alpha[i])[1]
        cost, workers, server = met.price[0], met.workers[0], met.server[0]
        reach = min(2 * slots, limit)
        if cost < np.inf:
            reach = np.searchsorted(latency, cost, side="right")
        if reach <= slots:
            break
        slots = reach
    for t in range(min(slots, len(rent.worker)) if cost < np.inf else 0):
        for r in range(left.shape[1]):
            cost -= rent.part * workers[t, r] * rent.worker[t, r]
        if server[t] >= 0:
            cost -= rent.part * rent.server[t, server[t]]
    return cost, workers, server, met.flow[0]


@njit_cached
def quick_bound(jobs: QuickJobs, i: int, left: Integers, latency: Floats) -> float:
    """What each schedule costs at least, up to rounding, that completes in these slots, money.

    Args:
        jobs: see ``planned_quickly``.
        i: see there.
        left: see there.
        latency: see there.
    """
    nothing = np.zeros((0, left.shape[1]))
    return _least(jobs, i, left, latency, Rent(nothing, nothing, 0.0), STEPS, jobs.alpha[i])[0]


@njit_cached
def _least(
    jobs: QuickJobs,
    i: int,
    left: Integers,
    latency: Floats,
    rent: Rent,
    steps: int,
    alpha: Floats,
) -> tuple[float, Met]:
    """The least price by units in these slots, and schedules met."""
    work = UnitWork(
        jobs.supply[i], jobs.move[i], jobs.rate[i], jobs.work[i], jobs.needed[i], jobs.top[i]
    )
    return least_price(alpha, _terms(jobs, i, left, latency, rent), work, steps)
