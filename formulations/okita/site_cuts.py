"""Cuts on what is active at one site in one slot, true in every slot.

Workers and servers at a site pack several resources in whole numbers: v = (y_i^r, s_i^r) over jobs
is a point of a small integer set, the same in every slot. A row a v <= 1 that all of its points
satisfy is to pricing one more thing that is limited at the site. For a fractional point x the
row that it violates most solves

    max a x  over a >= 0 with a v <= 1 for all packings v of the jobs active in x,

whose rows are found one at a time: the packing that a given a values most is a small knapsack
problem. Packings are limited by capacity alone. A worker of a job that is not active counts as
much as that of an active job that demands no more of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job import Path
from formulations.okita.pricing import SiteLimits
from optsched.jit import njit_cached

LARGEST_SEARCH = 200_000
"""Steps of one search for the best packing; beyond, there is no cut."""

MOST_PACKINGS = 400
"""Packings that one cut may be found from."""

_ACTIVE = 1e-6
_VIOLATED = 1e-3  # of the right-hand side 1, from which on a cut is worth a row
_SAFE = 1e-9  # by which the right-hand side is raised


@njit_cached
def best_packing(
    worth: Floats, demand: Integers, most: Integers, room: Integers, best: Integers, steps: int
) -> float:
    """The packing of most worth, depth first with the resource that limits most as a bound.

    Args:
        worth: of one of each item, shape (items,).
        demand: shape (items, resources).
        most: of each item; its demand or this limits it.
        room: shape (resources,).
        best: written: how many of each item.
        steps: after so many the search gives up.

    Returns:
        Its worth; -1 where the search has given up.
    """
    items, kinds = demand.shape
    # what is left to gain per unit of a resource from an item on
    rate = np.zeros((items + 1, kinds))
    free = np.zeros(items + 1)
    for n in range(items - 1, -1, -1):
        rate[n] = rate[n + 1]
        free[n] = free[n + 1]
        if most[n] < 1_000_000:
            free[n] += worth[n] * most[n]
        else:
            free[n] = np.inf
        for k in range(kinds):
            density = worth[n] / demand[n, k] if demand[n, k] > 0 else np.inf
            rate[n, k] = max(rate[n, k], density if worth[n] > 0 else 0.0)
    left = np.empty((items + 1, kinds), dtype=np.int64)
    left[0] = room
    value = np.zeros(items + 1)
    count = np.full(items, -1, dtype=np.int64)
    top, n, done = -1.0, 0, 0
    while n >= 0:
        done += 1
        if done > steps:
            return -1.0
        if n == items:
            if value[n] > top:
                top = value[n]
                best[:] = count
            n -= 1
            continue
        if count[n] < 0:  # first visit: as many as fit
            gain = free[n]
            for k in range(kinds):
                if left[n, k] == 0 and rate[n, k] < np.inf:
                    gain = 0.0
                elif left[n, k] > 0:
                    gain = min(gain, rate[n, k] * left[n, k])
            if value[n] + gain <= top * (1 + 1e-12):
                n -= 1
                continue
            fits = most[n]
            for k in range(kinds):
                if demand[n, k] > 0:
                    fits = min(fits, left[n, k] // demand[n, k])
            count[n] = fits
        elif count[n] == 0:
            count[n] = -1
            n -= 1
            continue
        else:
            count[n] -= 1
        for k in range(kinds):
            left[n + 1, k] = left[n, k] - count[n] * demand[n, k]
        value[n + 1] = value[n] + worth[n] * count[n]
        n += 1
    return top


def site_cuts(
    instance: Instance, used: list[tuple[int, Path, float]], go_on: Callable[[], bool]
) -> SiteLimits | None:
    """Cuts that a fractional choice of schedules violates; None where there is none.

    Args:
        instance: the system.
        used: jobs, schedules and how far each is used.
        go_on: asked before each site and slot.
    """
    slots = max(int(instance.release_slot[i]) - 1 + len(path.server) for i, path, _ in used)
    workers = np.zeros((slots, instance.sites, instance.jobs))
    servers = np.zeros_like(workers)
    for i, path, weight in used:
        first = int(instance.release_slot[i]) - 1
        workers[first : first + len(path.workers), :, i] += weight * path.workers
        runs = np.flatnonzero(path.server >= 0)
        servers[first + runs, path.server[runs], i] += weight
    busy = np.argwhere(((workers + servers) > _ACTIVE).sum(axis=2) > 0)
    cuts: dict[tuple[bytes, int], tuple[Floats, Floats]] = {}
    for t, r in busy.tolist():
        if not go_on():
            break
        for a, b in _cuts_at(instance, r, workers[t, r], servers[t, r]):
            cuts.setdefault((np.round(np.concatenate([a, b]), 6).tobytes(), r), (a, b))
    if not cuts:
        return None
    return SiteLimits(
        site=np.array([r for _, r in cuts]),
        room=np.full(len(cuts), 1.0 + _SAFE),
        worker=np.column_stack([a for a, _ in cuts.values()]),
        server=np.column_stack([b for _, b in cuts.values()]),
    )


def _cuts_at(
    instance: Instance, r: int, workers: Floats, servers: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """At most one cut: what a worker and the server of every job count."""
    from scipy.optimize import linprog

    works, serves = np.flatnonzero(workers > _ACTIVE), np.flatnonzero(servers > _ACTIVE)
    point = np.concatenate([workers[works], servers[serves]])
    demand = np.concatenate([instance.worker_demand[works], instance.ps_demand[serves]])
    room = instance.capacity[r]
    never = np.iinfo(np.int64).max
    most = np.concatenate([np.full(len(works), never), np.ones(len(serves), dtype=np.int64)])
    if (point == np.round(point)).all():
        return
    fits = np.where(demand > 0, room // np.maximum(demand, 1), never).min(axis=1)
    packings = [row for row in np.diag(np.minimum(most, fits)) if row.any()]
    best = np.zeros(len(point), dtype=np.int64)
    while len(packings) <= MOST_PACKINGS:
        found = linprog(-point, A_ub=np.array(packings), b_ub=np.ones(len(packings)))
        if found.status != 0:
            return
        worth: Floats = np.maximum(np.asarray(found.x), 0.0)
        if worth @ point <= 1 + _VIOLATED:
            return
        order = np.argsort(-worth * np.minimum(most, fits), kind="stable")
        value = best_packing(worth[order], demand[order], most[order], room, best, LARGEST_SEARCH)
        if value < 0:
            return
        if value <= 1 + 1e-7:
            worth = worth / max(1.0, value)
            if worth @ point > 1 + _VIOLATED:
                yield _lifted(instance, works, serves, worth)
            return
        packing = np.zeros_like(best)
        packing[order] = best
        packings.append(packing)


def _lifted(
    instance: Instance, works: Integers, serves: Integers, worth: Floats
) -> tuple[Floats, Floats]:
    """Coefficients of all jobs from those of the active ones."""
    a, b = np.zeros(instance.jobs), np.zeros(instance.jobs)
    own, demand = worth[: len(works)], instance.worker_demand
    for i in np.setdiff1d(np.arange(instance.jobs), works):
        no_less = (demand[i] >= demand[works]).all(axis=1)
        a[i] = own[no_less].max(initial=0.0)
    a[works] = own
    b[serves] = worth[len(works) :]
    return a, b
