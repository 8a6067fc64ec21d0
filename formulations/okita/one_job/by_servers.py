"""Cheap schedules of one job among many sites: where the server stands decides nearly all.

Once the server's site is chosen for every slot, each worker has a price, and a worker at r' trains
so many chunks, those of its own site first and then those brought most cheaply. Workers are added
one by one where a chunk costs least, all told; sites of the server are added slot by slot, and
then exchanged one at a time while that helps. This is a heuristic: nothing is bounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.terms import JobTerms, Path
from formulations.okita.transport import cheapest_transport
from optsched.jit import njit_cached

SWEEPS = 4
"""Most times that every slot's server is looked at again."""


class _Job(NamedTuple):
    """A job and its terms, as machine code takes them."""

    flow_cost: Floats
    """Of the terms, as are the next three."""
    worker_price: Floats
    server_price: Floats
    most: Integers
    supply: Integers
    """Chunks that lie at each site."""
    move: Floats
    """Price of a chunk from row to column."""
    order: Integers
    """Rows by rising price, for each column."""
    rate: int
    """With ``work``: y workers train rate * y // work chunks in a slot."""
    work: int
    step: int
    """Fewest workers that train a chunk; so many are added at a time."""


def cheapest_by_servers(instance: Instance, i: int, terms: JobTerms) -> Path | None:
    """A cheap schedule of a job that may pause and need not run anywhere; None if none is found.

    Args:
        instance: the system.
        i: the job.
        terms: prices and most workers; ``least`` and ``must_run`` ask for nothing.
    """
    slots, sites = terms.server_price.shape
    move = terms.transport_weight * instance.chunk_size_mb[i] * instance.unit_bandwidth_cost
    workers: Integers = np.zeros((slots, sites), dtype=np.int64)
    server: Integers = np.full(slots, -1, dtype=np.int64)
    job = _Job(
        terms.flow_cost, terms.worker_price, terms.server_price, terms.most,
        instance.num_chunks[i], move, np.argsort(move, axis=0, kind="stable"),
        int(instance.rate_numerator[i]), int(instance.work_per_chunk[i]),
        int(instance.workers_needed(i, 1)),
    )  # fmt: skip
    found = _search(job, workers, server)
    if not np.isfinite(found):
        return None
    runs = workers.any(axis=1)
    server = np.where(runs, server, -1)
    room = instance.chunks_done(i, workers).sum(axis=0)
    flow: Integers = np.zeros((sites, sites), dtype=np.int64)
    supply = instance.num_chunks[i]
    price = cheapest_transport(supply, room, move, flow, int(supply.sum()))
    at = np.flatnonzero(runs)
    price += terms.flow_cost[at[-1]] + terms.server_price[at, server[at]].sum()
    price += (workers[at] * terms.worker_price[at, server[at]]).sum()
    return Path(float(price), workers, server, flow)


@njit_cached
def _candidate(
    r: int, chunks: int, price: float, left: Integers, move: Floats, order: Integers
) -> tuple[float, int]:
    """What a chunk costs in the mean where new workers at r train so many; and how many there are.

    Args:
        r: the site.
        chunks: that the workers can train.
        price: of the workers.
        left: chunks not trained yet, by site.
        move: of the job, as is order.
        order: see there.
    """
    total, taken, best, count = price, 0, np.inf, 0
    for n in range(len(left)):
        site = order[n, r]
        if left[site] == 0:
            continue
        here = min(chunks - taken, left[site])
        if taken > 0 and total / taken <= move[site, r]:
            break
        total += here * move[site, r]
        taken += here
        if total / taken < best:
            best, count = total / taken, taken
        if taken == chunks:
            break
    return best, count


@njit_cached
def _filled(
    job: _Job, last: int, server: Integers, missing: float, workers: Integers
) -> tuple[float, int]:
    """Price of workers and transport for servers of slots 0 .. last, and chunks left over.

    Args:
        job: whose price it is.
        last: the last slot of the schedule.
        server: site by slot, -1 for none.
        missing: price of a chunk left over.
        workers: written where there is a server, shape (slots, sites).
    """
    move, order, step = job.move, job.order, job.step  # machine code reads a tuple slowly
    worker_price, most, rate, work = job.worker_price, job.most, job.rate, job.work
    sites = len(job.supply)
    left = job.supply.copy()
    todo = int(left.sum())
    ratio = np.empty(sites)
    slot = np.empty(sites, dtype=np.int64)
    fresh = np.zeros(sites, dtype=np.bool_)
    total = 0.0
    runs, busy = np.empty(last + 1, dtype=np.int64), 0
    for t in range(last + 1):
        if server[t] >= 0:
            runs[busy], busy = t, busy + 1
            workers[t] = 0
            total += job.server_price[t, server[t]]
    ratio[:] = -np.inf
    while todo > 0:
        r = 0
        for v in range(1, sites):
            if ratio[v] < ratio[r]:
                r = v
        if ratio[r] == np.inf:
            break
        if not fresh[r]:  # what is offered only gets dearer as chunks become fewer
            best = np.inf
            slot[r] = -1
            for t in runs[:busy]:
                if workers[t, r] + step > most[t, server[t], r]:
                    continue
                if worker_price[t, server[t], r] < best:
                    best, slot[r] = worker_price[t, server[t], r], t
            ratio[r] = np.inf
            if slot[r] >= 0:
                y = workers[slot[r], r]
                gain = rate * (y + step) // work - rate * y // work
                ratio[r], _ = _candidate(r, gain, best * step, left, move, order)
            fresh[r] = True
            continue
        if ratio[r] >= missing:
            break
        t = slot[r]
        y = workers[t, r]
        price = worker_price[t, server[t], r] * step
        gain = rate * (y + step) // work - rate * y // work
        _, count = _candidate(r, gain, price, left, move, order)
        workers[t, r] += step
        total += price
        for n in range(sites):
            site = order[n, r]
            taken = min(count, left[site])
            left[site] -= taken
            count -= taken
            todo -= taken
            total += taken * move[site, r]
            if count == 0:
                break
        fresh[:] = False
    return total + missing * todo, todo


@njit_cached
def _search(job: _Job, workers: Integers, server: Integers) -> float:
    """The least price found; writes its workers and servers.

    Args:
        job: whose schedule is looked for.
        workers: written, shape (slots, sites).
        server: written, by slot.
    """
    slots, sites = job.server_price.shape
    now = np.full(slots, -1, dtype=np.int64)
    trial = np.zeros_like(workers)
    missing = 4.0 * (job.move.max() + job.worker_price[0].max() * job.step) + job.flow_cost[0]
    best, least = np.inf, -1
    for last in range(slots):
        if job.flow_cost[last] >= best:
            break
        price, _ = _filled(job, last, now, missing, trial)
        chosen, left = -1, 1
        for s in range(sites):
            if job.server_price[last, s] == np.inf:
                continue
            now[last] = s
            tried, remain = _filled(job, last, now, missing, trial)
            if tried < price:
                price, chosen, left = tried, s, remain
        now[last] = chosen
        if chosen >= 0 and left == 0 and price + job.flow_cost[last] < best:
            best, least = price + job.flow_cost[last], last
            server[:] = now
    if least < 0:
        return np.inf
    now[:] = server
    now[least + 1 :] = -1
    price = best - job.flow_cost[least]
    for _ in range(SWEEPS):
        before = price
        for t in range(least + 1):
            kept = now[t]
            for s in range(sites):
                if s == kept or job.server_price[t, s] == np.inf:
                    continue
                old = now[t]
                now[t] = s
                tried, left = _filled(job, least, now, missing, trial)
                if left == 0 and tried < price:
                    price = tried
                else:
                    now[t] = old
        if price >= before:
            break
    server[:] = now
    _filled(job, least, now, missing, workers)
    return float(price + job.flow_cost[least])
