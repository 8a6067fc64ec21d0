"""Schedules that are quick to make at any size: slot by slot, or jobs one after another.

``Greedy`` plans a job slot by slot, in each as many workers as fit and help beside what others
hold; the cheapest transport for what the sites train in all is found once, at the end (Lemma 1).
``in_turn`` runs one job at a time, each at two sites that can host it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers, workers_beside_server
from formulations.okita.one_job.paths import Path, path_along
from formulations.okita.schedule import Schedule
from optsched.jit import njit_cached

MOST = 1_000_000
"""Chunks up to which there is such a schedule."""


class Greedy:
    """Plans jobs of one instance one at a time."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        q = instance.unit_bandwidth_cost
        self._near = np.argsort(q, axis=0, kind="stable").T.copy()
        """Sites by rising price of talking to the server, by its site."""

    def plan(self, i: int, free: Callable[[int, int], Integers]) -> Path:
        """The schedule of one job.

        Args:
            i: the job.
            free: resources left in so many slots from one on, shape (slots, sites, resources);
                asked for more and more slots, until the job is done.
        """
        instance = self.instance
        first, slots = int(instance.release_slot[i]), 8
        at = np.array([0, int(instance.total_chunks[i])])
        workers: Integers = np.zeros((0, instance.sites), dtype=np.int64)
        server: Integers = np.zeros(0, dtype=np.int64)
        while at[1] > 0:
            more = slots - len(server)
            workers = np.concatenate([workers, np.zeros((more, instance.sites), dtype=np.int64)])
            server = np.concatenate([server, np.full(more, -1)])
            _fill(
                free(first, slots), instance.worker_demand[i], instance.ps_demand[i],
                instance.unit_bandwidth_cost, self._near, int(instance.rate_numerator[i]),
                int(instance.work_per_chunk[i]), at, workers, server,
            )  # fmt: skip
            slots *= 2
        kept = int(at[0])
        return path_along(instance, i, workers[:kept], server[:kept])


@njit_cached
def _fits(free: Integers, worker: Integers, step: int) -> int:
    """Workers that fit into what is free at a site, in steps that train a chunk."""
    most = 1 << 40
    for k in range(len(free)):
        if worker[k] > 0:
            most = min(most, max(0, free[k]) // worker[k])
    return most - most % step


@njit_cached
def _fill(
    free: Integers,
    worker: Integers,
    server: Integers,
    price: Floats,
    near: Integers,
    rate: int,
    work: int,
    at: Integers,
    workers: Integers,
    stands: Integers,
) -> None:
    """Go on slot by slot until the job is done or the slots end.

    Args:
        free: resources left, shape (slots, sites, resources).
        worker: what one takes.
        server: what it takes.
        price: q, from row to column.
        near: rows by rising price, for each column (a row of ``near``).
        rate: with ``work``: y workers train rate * y // work chunks in a slot.
        work: see there.
        at: read and written: the slot to go on with and how many chunks are left.
        workers: written, shape (slots, sites).
        stands: written: site of the server by slot.
    """
    slots, sites, kinds = free.shape
    step = -(-work // rate)
    alone = np.empty(sites, dtype=np.int64)
    beside = np.empty(sites, dtype=np.int64)
    hosts = np.empty(sites, dtype=np.bool_)
    left = np.empty(kinds, dtype=np.int64)
    t, todo = at[0], at[1]
    while t < slots and todo > 0:
        total, most = 0, 0
        for r in range(sites):
            alone[r] = _fits(free[t, r], worker, step)
            total += alone[r]
        for s in range(sites):
            hosts[s] = True
            for k in range(kinds):
                left[k] = free[t, s, k] - server[k]
                hosts[s] = hosts[s] and left[k] >= 0
            beside[s] = _fits(left, worker, step) if hosts[s] else 0
            if hosts[s]:
                most = max(most, total - alone[s] + beside[s])
        needed = -(-work * todo // rate)
        count = min(most, needed + (step - needed % step) % step)
        best, chosen = np.inf, -1
        for s in range(sites):
            if count == 0 or not hosts[s] or total - alone[s] + beside[s] < count:
                continue
            lacking, value = count, 0.0
            for n in range(sites):
                r = near[s, n]
                taken = min(lacking, beside[s] if r == s else alone[r])
                value += taken * price[r, s]
                lacking -= taken
                if lacking == 0 or value >= best:
                    break
            if value < best:
                best, chosen = value, s
        if chosen >= 0:
            stands[t] = chosen
            for n in range(sites):
                r = near[chosen, n]
                taken = min(count, beside[r] if r == chosen else alone[r])
                workers[t, r] = taken
                count -= taken
                todo -= rate * taken // work
        t += 1
    at[0], at[1] = t, todo


def in_turn(instance: Instance) -> Schedule | None:
    """Run jobs one at a time, in order of arrival.

    All workers of a job are at one site and its server at one, such that it ends soonest.

    Returns:
        The schedule; None if there are more chunks than ``MOST``, or a job fits nowhere.
    """
    if instance.total_chunks.sum() > MOST:
        return None
    workers: list[tuple[int, ...]] = []
    servers: list[tuple[int, ...]] = []
    moves: list[tuple[int, ...]] = []
    now = 0
    for i in np.argsort(instance.release_slot, kind="stable").tolist():
        room = workers_beside_server(
            instance.capacity, instance.worker_demand[i], instance.ps_demand[i]
        )
        most = np.where(room >= 0, instance.chunks_done(i, np.maximum(room, 0)), 0)
        if not most.any():
            return None
        server, site = divmod(int(most.argmax()), instance.sites)
        source = np.repeat(np.arange(instance.sites), instance.num_chunks[i])
        start = max(now + 1, int(instance.release_slot[i]))
        for first in range(0, len(source), int(most.max())):
            now = start + first // int(most.max())
            here = source[first : first + int(most.max())]
            workers.append((i, now, site, int(instance.workers_needed(i, len(here)))))
            servers.append((i, now, server))
            moves += [(i, now, r, site, n) for r, n in enumerate(np.bincount(here).tolist())]
    return Schedule.build(workers=workers, servers=servers, moves=moves)
