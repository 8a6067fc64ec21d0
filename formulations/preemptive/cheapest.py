"""Each job's cheapest schedule at given prices of worker-slots (LB-LAG, sheet 3.5).

A job buys ``N^0_j`` units before some completion slot, at most ``D_j`` of them in a slot and at
most so many of each offer. As the caps are nested (unit, slot, job), greedy is exact: of each
slot the cheapest ``D_j`` units, of all slots so far the cheapest ``N^0_j``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.instance import Floats, Integers
from optsched.jit import njit_cached

Table = NDArray[Any]

OFFER = np.dtype([("cost", "f8"), ("units", "f8"), ("index", "i8")])
"""Units of one offer that a job has taken into account."""


@njit_cached
def cheapest_schedules(
    window_start: Integers,
    first: Integers,
    waited: Floats,
    chunks: Integers,
    work: Integers,
    fast: Floats,
    cost: Floats,
    limit: Floats,
) -> tuple[Floats, Floats]:
    """Least completion time plus price of each job, and what it buys.

    Args:
        window_start: first (job, slot) window of each job, and one past the last; (jobs + 1,).
        first: first offer of each window, and one past the last; shape (windows + 1,).
        waited: from release to the first slot of each job, slots.
        chunks: D_j.
        work: N^0_j.
        fast: completion time of each job whole in the fast cloud, infinite where it may not.
        cost: of each offer, slots of completion time per unit.
        limit: units of each offer.

    Returns:
        Value, shape (jobs,), infinite where nothing is feasible; units of each offer.
    """
    jobs = len(chunks)
    most = 0
    for j in range(jobs):
        most = max(most, first[window_start[j + 1]] - first[window_start[j]])
    heap, slot = np.empty(most + 1, dtype=OFFER), np.empty(most + 1, dtype=OFFER)
    value, bought = np.empty(jobs), np.zeros(len(cost))
    for j in range(jobs):
        value[j] = fast[j]
        best, size, total, held = -1, 0, 0.0, 0.0
        for window in range(window_start[j], window_start[j + 1]):
            length = waited[j] + (window - window_start[j] + 1)
            if length >= value[j]:
                break  # prices are not negative
            offers = _of_slot(first[window], first[window + 1], chunks[j], cost, limit, slot)
            size, total, held = _keep_cheapest(heap, size, slot[:offers], work[j], total, held)
            if held >= work[j] and length + total < value[j]:
                value[j] = length + total
                best = window
        size, total, held = 0, 0.0, 0.0
        for window in range(window_start[j], best + 1):  # again, to the end that was best
            offers = _of_slot(first[window], first[window + 1], chunks[j], cost, limit, slot)
            size, total, held = _keep_cheapest(heap, size, slot[:offers], work[j], total, held)
        spent = 0.0
        for i in range(size):
            spent += heap[i]["cost"] * heap[i]["units"]
            bought[heap[i]["index"]] = heap[i]["units"]
        if best >= 0:
            value[j] = waited[j] + (best - window_start[j] + 1) + spent
    return value, bought


@njit_cached
def _of_slot(first: int, end: int, chunks: int, cost: Floats, limit: Floats, slot: Table) -> int:
    """Write the cheapest ``chunks`` units of a slot, cheapest first; how many offers they are."""
    size, held = 0, 0.0
    for i in range(first, end):
        if held >= chunks and cost[i] >= slot[size - 1]["cost"]:
            continue
        at = size
        while at > 0 and slot[at - 1]["cost"] > cost[i]:
            slot[at] = slot[at - 1]
            at -= 1
        slot[at]["cost"] = cost[i]
        slot[at]["units"] = min(limit[i], float(chunks))
        slot[at]["index"] = i
        held += slot[at]["units"]
        size += 1
        while held - slot[size - 1]["units"] >= chunks:
            held -= slot[size - 1]["units"]
            size -= 1
    if held > chunks:
        slot[size - 1]["units"] -= held - chunks
    return size


@njit_cached
def _keep_cheapest(
    heap: Table, size: int, slot: Table, work: int, total: float, held: float
) -> tuple[int, float, float]:
    """Add offers to a heap, the dearest on top, and drop what is dearest beyond ``work`` units.

    Returns:
        Offers in the heap, their price and their units.
    """
    for k in range(len(slot)):
        cost, units = slot[k]["cost"], slot[k]["units"]
        if held >= work and cost >= heap[0]["cost"]:
            break  # and so are the others
        _push(heap, size, slot[k])
        size += 1
        total += cost * units
        held += units
        while held > work:
            spare = min(held - work, heap[0]["units"])
            total -= heap[0]["cost"] * spare
            held -= spare
            if spare < heap[0]["units"]:
                heap[0]["units"] -= spare
            else:
                size -= 1
                _pop(heap, size)
    return size, total, held


@njit_cached
def _push(heap: Table, size: int, offer: Any) -> None:
    at = size
    while at > 0 and heap[(at - 1) // 2]["cost"] < offer["cost"]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = offer


@njit_cached
def _pop(heap: Table, size: int) -> None:
    """Take off the top of a heap that has ``size`` others."""
    last, at = heap[size], 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1]["cost"] > heap[child]["cost"]:
            child += 1
        if heap[child]["cost"] <= last["cost"]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
