"""Dominant-resource fairness by progressive filling (Ghodsi et al., NSDI 2011)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence


def progressive_filling(
    jobs: Sequence[int],
    share: Callable[[int], float],
    place: Callable[[int], bool],
    *,
    stop_at_failure: bool = False,
) -> None:
    """Give one unit at a time to the job whose dominant share is least, until nothing fits.

    A job whose next unit does not fit, or that wants no more, leaves; the others go on.

    Args:
        jobs: who takes part; equal shares are served in this order.
        share: job -> its dominant share now, the largest over resources of what it holds divided
            by what the cluster has.
        place: job -> whether it took one unit more; it does the placing and keeps the books.
        stop_at_failure: the first unit that does not fit ends the round for all.
    """
    heap = [(share(job), rank, job) for rank, job in enumerate(jobs)]
    heapq.heapify(heap)
    while heap:
        _, rank, job = heapq.heappop(heap)
        if place(job):
            heapq.heappush(heap, (share(job), rank, job))
        elif stop_at_failure:
            return
