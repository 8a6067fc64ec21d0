"""Each job's cheapest way to complete at given prices of worker time, in integers only.

This is the subproblem of the Lagrangian relaxation. A job buys its work from pools of workers,
cheapest time first, before the moment at which it completes. At any moment it takes at most D_j
workers, and of a pool at most those that its data have reached. The caps are nested (pool, moment,
job), so greedy is exact. Within an interval of constant prices and caps the cost is linear in the
completion between the moments at which a more expensive purchase is used up, so only those are
tried. If several pools are open at once, work is counted as if the cheapest came first: that is a
lower bound within the interval, and exact at its end.

Times are whole multiples of some unit, prices of some other; every number is an exact integer, and
what is not whole is rounded down, so that the values are proven lower bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.instance import Integers
from optsched.jit import njit_cached

Table = NDArray[Any]

JOB = np.dtype(
    [(name, "i8") for name in ("release", "chunks", "work", "fast", "cloud", "first", "last")]
)
"""Time units: release; D_j; worker time at the slow speed; age at which it ends whole in the cloud
and age from which workers of the cloud serve it, ``NEVER`` if they may not; its first step, and
one past its last."""

STEP = np.dtype([(name, "i8") for name in ("age", "pool", "workers")])
"""From this age on a job may use so many more workers of a pool; ascending within a job."""

PURCHASE = np.dtype([(name, "i8") for name in ("price", "units", "row")])
"""Worker time that a job has bought of one pool in one cell."""

OFFER = np.dtype([(name, "i8") for name in ("price", "workers", "row")])
"""Workers of one pool that a job may use now; row -1 for the cloud's, which are free."""

BITS = 61
"""Every sum of one job stays below 2 ** BITS."""

NEVER = 1 << 60
"""A time that does not come."""


@njit_cached
def cheapest_ages(
    jobs: Table, steps: Table, edges: Integers, price: Integers, price_bits: int, slotted: bool
) -> tuple[Integers, Integers, Integers]:
    """Least age at completion plus price of each job, and what all of them buy.

    Args:
        jobs: of ``JOB``.
        steps: of ``STEP``.
        edges: of the cells of time; the first is no later than any release.
        price: of a unit of worker time, shape (pools, cells); the last cell, which is as long as
            all work needs, is free.
        price_bits: a price is a whole multiple of 2 ** -price_bits.
        slotted: jobs complete at the ends of cells only, but for the last.

    Returns:
        Value of each job, in units of time times price; age at completion, -1 for whole in the
        cloud; worker time bought, shape (pools, cells).
    """
    pools, cells = price.shape
    value, age = np.empty(len(jobs), dtype=np.int64), np.full(len(jobs), -1)
    use = np.zeros((pools, cells), dtype=np.int64)
    steps_of_one = 0
    for j in range(len(jobs)):
        steps_of_one = max(steps_of_one, jobs[j]["last"] - jobs[j]["first"])
    # workers that a job reaches within a cell, and the cloud, part it further
    heap = np.empty(pools * (cells + steps_of_one + 1), dtype=PURCHASE)
    offers = np.empty(pools + 1, dtype=OFFER)
    open_workers = np.zeros(pools, dtype=np.int64)
    for j in range(len(jobs)):
        stop = NEVER
        for _ in range(2):  # the second time up to the moment that was best
            value[j], event, reached, size = _buy(
                jobs[j], steps, edges, price, price_bits, slotted, stop, heap, offers, open_workers
            )
            if event < 0:
                break
            age[j], stop = reached, event
        for i in range(size if event >= 0 else 0):
            row = heap[i]["row"]
            use[row // cells, row % cells] += heap[i]["units"]
    return value, age, use


@njit_cached
def _buy(
    job: Any,
    steps: Table,
    edges: Integers,
    price: Integers,
    price_bits: int,
    slotted: bool,
    stop: int,
    heap: Table,
    offers: Table,
    open_workers: Integers,
) -> tuple[int, int, int, int]:
    """One job's purchases in order of time.

    Args:
        job: of ``JOB``.
        steps: see ``cheapest_ages``.
        edges: see ``cheapest_ages``.
        price: see ``cheapest_ages``.
        price_bits: see ``cheapest_ages``.
        slotted: see ``cheapest_ages``.
        stop: event at which to stop, leaving in the heap what is bought; ``NEVER``: none.
        heap: room for what is bought, the most expensive on top.
        offers: room for the offers of a moment.
        open_workers: room for the workers of each pool.

    Returns:
        Least value, the event it is reached at and the age then (-1: in the fast cloud), and the
        size of the heap.
    """
    release, chunks, work, fast = job["release"], job["chunks"], job["work"], job["fast"]
    opens, step = release + job["cloud"], job["first"]
    best = (fast << price_bits) if fast < NEVER else 1 << 62
    # no sum overflows at this price, and whoever sees lower prices pays no more
    dearest = (1 << (BITS - 1)) // max(work, 1)
    open_workers[:] = 0
    best_event, best_age, event, size, held, total = -1, -1, 0, 0, 0, 0
    now = opens if step == job["last"] else min(opens, release + steps[step]["age"])
    cell = np.searchsorted(edges, now, side="right") - 1
    while cell < price.shape[1] and (now - release) << price_bits < best:
        if work == 0:  # less than a unit of it: there is nothing to buy
            return (now - release) << price_bits, 0, now - release, 0
        while step < job["last"] and release + steps[step]["age"] <= now:
            open_workers[steps[step]["pool"]] += steps[step]["workers"]
            step += 1
        free, end = opens <= now, edges[cell + 1]
        if step < job["last"]:
            end = min(end, release + steps[step]["age"])
        if not free:
            end = min(end, opens)
        if free:
            count, rate = 1, chunks
            offers[0]["price"], offers[0]["workers"], offers[0]["row"] = 0, chunks, -1
        else:
            count, rate = offered(offers, open_workers, chunks, price, cell, dearest)
        at_end = slotted and cell + 1 < price.shape[1]
        left = rate * (end - now)  # worker time of this interval not yet used
        for i in range(count):
            cost, row = offers[i]["price"], offers[i]["row"]
            room = offers[i]["workers"] * (end - now)
            bought = 0
            while room > 0:
                if held < work:
                    units = min(room, work - held)
                    held += units
                    total += cost * units
                elif size > 0 and heap[0]["price"] > cost:
                    units = min(room, heap[0]["units"])
                    total -= (heap[0]["price"] - cost) * units
                    heap[0]["units"] -= units
                    if heap[0]["units"] == 0:
                        size -= 1
                        pop(heap, size)
                else:
                    break
                room -= units
                left -= units
                bought += units
                if held == work and not at_end:
                    reached = end - (left + rate - 1) // rate - release
                    if (reached << price_bits) + total < best:
                        best = (reached << price_bits) + total
                        best_event, best_age = event, reached
                    event += 1
                    if event > stop:
                        break
            if bought > 0 and row >= 0:
                push(heap, size, cost, bought, row)
                size += 1
            if room > 0 or event > stop:
                break  # what follows is dearer
        if held == work and at_end:
            reached = end - release
            if (reached << price_bits) + total < best:
                best = (reached << price_bits) + total
                best_event, best_age = event, reached
            event += 1
        if event > stop:
            break
        if held == work and total == 0:
            break  # nothing is cheaper
        now = end
        if now == edges[cell + 1]:
            cell += 1
    return best, best_event, best_age, size


@njit_cached
def offered(
    offers: Table, open_workers: Integers, chunks: int, price: Integers, cell: int, dearest: int
) -> tuple[int, int]:
    """Write the cheapest ``chunks`` open workers, cheapest first; how many pools and workers."""
    count = 0
    for pool in range(len(open_workers)):
        if open_workers[pool] == 0:
            continue
        cost = min(price[pool, cell], dearest)
        at = count
        while at > 0 and offers[at - 1]["price"] > cost:
            offers[at] = offers[at - 1]
            at -= 1
        offers[at]["price"] = cost
        offers[at]["workers"] = open_workers[pool]
        offers[at]["row"] = pool * price.shape[1] + cell
        count += 1
    rate = 0
    for i in range(count):
        offers[i]["workers"] = min(offers[i]["workers"], chunks - rate)
        rate += offers[i]["workers"]
        if rate == chunks:
            return i + 1, rate
    return count, rate


@njit_cached
def push(heap: Table, size: int, price: int, units: int, row: int) -> None:
    at = size
    while at > 0 and heap[(at - 1) // 2]["price"] < price:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at]["price"], heap[at]["units"], heap[at]["row"] = price, units, row


@njit_cached
def pop(heap: Table, size: int) -> None:
    """Take off the top of a heap that has ``size`` others."""
    last, at = heap[size], 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1]["price"] > heap[child]["price"]:
            child += 1
        if heap[child]["price"] <= last["price"]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
