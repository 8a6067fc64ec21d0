"""A cheap schedule of one job beside what others hold, found quickly, or that there is none.

What ``by_units`` does, from what is left of the sites on in machine code, terms included. A
schedule is looked for at one price of a chunk per site wherever the first server stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from formulations.okita.by_units import STEPS, ByUnits, least_price
from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job import Path
from optsched.jit import njit_cached

QUICK_STEPS = 8
"""Steps on the prices of chunks."""


class QuickJob(NamedTuple):
    """A job, as machine code takes it."""

    worker: Integers
    """What a worker takes, shape (resources,)."""
    server: Integers
    """What the server takes."""
    useful: Integers
    """Most workers of each site that are of use, shape (sites,)."""
    talk: Floats
    """What a worker pays for bandwidth, by site of the server, its own site; money."""
    supply: Integers
    """Chunks that lie at each site."""
    move: Floats
    """Price of a chunk from row to column."""
    rate: int
    """With ``work``: y workers train rate * y // work chunks."""
    work: int
    needed: int
    """Units that all chunks take."""
    top: int
    """Most units of any schedule."""


@dataclass(eq=False)
class QuickUnits:
    """The quick search for one job; it begins at the prices of chunks that were best last time."""

    search: ByUnits
    alpha: Floats = field(init=False)
    """Price of a chunk by site, shape (1, sites), money."""

    def __post_init__(self) -> None:
        self.alpha = self.search.alpha.mean(axis=0, keepdims=True)

    @cached_property
    def _job(self) -> QuickJob:
        instance, i = self.search.instance, self.search.job
        q = instance.unit_bandwidth_cost
        return QuickJob(
            instance.worker_demand[i], instance.ps_demand[i], instance.useful_workers[i],
            np.ascontiguousarray(q.T) * instance.exchange_size_mb[i], instance.num_chunks[i],
            instance.chunk_size_mb[i] * q, int(instance.rate_numerator[i]),
            int(instance.work_per_chunk[i]), self.search.needed, self.search.top,
        )  # fmt: skip

    def beside(
        self, left: Integers, slots: int, charges: tuple[Floats, Floats], paid: float
    ) -> Path | None:
        """A cheap schedule, at what it costs without charges; None if none was found.

        Args:
            left: of the resources from its first slot on, shape (slots, sites, resources).
            slots: so many are looked at first, and more while one might complete there.
            charges: what a worker and the server pay as well, each of shape (slots, sites) from
                its first slot on, beyond nothing; money.
            paid: part of them that is paid.
        """
        latency = self.search.instance.latency.of_slots(self.search.job, len(left))
        cost, *path = _beside(self._job, left, latency, *charges, paid, slots, self.alpha)
        return Path(cost, *path) if cost < np.inf else None

    def bound(self, left: Integers) -> float:
        """What each schedule costs at least, up to rounding, that completes in these slots, money.

        Args:
            left: of the resources, shape (slots, sites, resources).
        """
        latency = self.search.instance.latency.of_slots(self.search.job, len(left))
        return float(_bound(self._job, left, latency, self.search.alpha))


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
def _room(job: QuickJob, left: Integers, most: Integers, server_price: Floats) -> None:
    """Most workers of a slot, as ``workers_beside_server``, and where the server has no room.

    Args:
        job: that is planned.
        left: of the slot, shape (sites, resources).
        most: written, by site of the server, site of the worker.
        server_price: written, infinite where there is no room; shape (sites,).
    """
    for r in range(len(left)):
        most[:, r] = min(_workers_within(left[r], job.worker), job.useful[r])
        most[r, r] = min(_workers_within(left[r] - job.server, job.worker), job.useful[r])
        for k in range(left.shape[1]):
            if left[r, k] < job.server[k]:
                server_price[r] = np.inf


@njit_cached
def _terms(
    job: QuickJob, left: Integers, worker_charge: Floats, server_charge: Floats, paid: float
) -> tuple[Floats, Floats, Integers]:
    """Prices of workers and of the server, and most workers, as ``JobTerms`` has them."""
    slots, sites, _ = left.shape
    worker_price = np.empty((slots, sites, sites))
    server_price = np.zeros((slots, sites))
    most = np.empty((slots, sites, sites), dtype=np.int64)
    for t in range(slots):
        worker_price[t] = job.talk
        if t < len(worker_charge):
            worker_price[t] += paid * worker_charge[t]
            server_price[t] = paid * server_charge[t]
        _room(job, left[t], most[t], server_price[t])
    return worker_price, server_price, most


@njit_cached
def _beside(
    job: QuickJob,
    left: Integers,
    latency: Floats,
    worker_charge: Floats,
    server_charge: Floats,
    paid: float,
    slots: int,
    alpha: Floats,
) -> tuple[float, Integers, Integers, Integers]:
    """The cost, workers, server and flow of a cheap schedule; infinite if none was found.

    Args:
        job: that is planned.
        left: of the resources, shape (slots, sites, resources).
        latency: of completion in each slot, shape (slots,), ascending.
        worker_charge: what a worker pays, shape (slots, sites), beyond nothing.
        server_charge: what the server pays.
        paid: part of these that is paid.
        slots: so many are looked at first.
        alpha: read and written.
    """
    limit = len(left)
    while True:
        _, price, workers, server, flow = _least(
            job, left[:slots], latency, worker_charge, server_charge, paid, QUICK_STEPS, alpha
        )
        reach = min(2 * slots, limit)
        if price[0] < np.inf:
            reach = np.searchsorted(latency, price[0], side="right")
        if reach <= slots:
            break
        slots = reach
    cost = price[0]
    for t in range(min(slots, len(worker_charge)) if cost < np.inf else 0):
        cost -= paid * (workers[0, t] * worker_charge[t]).sum()
        if server[0, t] >= 0:
            cost -= paid * server_charge[t, server[0, t]]
    return cost, workers[0], server[0], flow[0]


@njit_cached
def _bound(job: QuickJob, left: Integers, latency: Floats, alpha: Floats) -> float:
    """What every schedule costs at least; prices of chunks are read and written."""
    nothing = np.zeros((0, left.shape[1]))
    return _least(job, left, latency, nothing, nothing, 0.0, STEPS, alpha)[0]


@njit_cached
def _least(
    job: QuickJob,
    left: Integers,
    latency: Floats,
    worker_charge: Floats,
    server_charge: Floats,
    paid: float,
    steps: int,
    alpha: Floats,
) -> tuple[float, Floats, Integers, Integers, Integers]:
    """The least price by units in these slots, and what ``least_price`` writes."""
    slots, sites, _ = left.shape
    worker_price, server_price, most = _terms(job, left, worker_charge, server_charge, paid)
    firsts = len(alpha)
    workers = np.zeros((firsts, slots, sites), dtype=np.int64)
    server = np.full((firsts, slots), -1)
    flow = np.zeros((firsts, sites, sites), dtype=np.int64)
    price = np.full(firsts, np.inf)
    bound = least_price(
        alpha, worker_price, server_price, np.zeros((slots, sites), dtype=np.int64), most,
        np.zeros(slots, dtype=np.bool_), latency, job.supply, job.rate, job.work, job.move,
        job.needed, job.top, job.supply.sum(), steps, workers, server, flow, price,
    )  # fmt: skip
    return bound, price, workers, server, flow
