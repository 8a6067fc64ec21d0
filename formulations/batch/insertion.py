"""Jobs put on servers as they are, one after the other, where each completes earliest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from formulations.batch.domain_reduction import Prospects, prospects
from formulations.batch.instance import Booleans, Floats, Instance, Integers
from formulations.batch.problem_2_intervals import with_cloud
from formulations.batch.schedule import Schedule
from optsched.jit import njit_cached

NEAR = 30
"""Slots before and after a run in which a server that is free is no better than a longer time."""


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """One job on servers with limits."""

    job: int
    start: int
    end: int
    together: bool
    ps: int
    workers: Integers
    """y, shape (servers,)."""


class Occupancy:
    """Free workers and parameter servers of every type, slot and server."""

    def __init__(self, chosen: Prospects) -> None:
        self.chosen = chosen
        instance = chosen.instance
        slots = int(chosen.last[chosen.contested].max(initial=0)) + 1
        whole = np.ones((slots, 1))
        self.workers = instance.worker_capacity.T[:, None, :] * whole
        self.services = instance.ps_capacity.T[:, None, :] * whole
        self._last = chosen.last.tolist()
        self._reached = chosen.reached
        k, bounds = chosen.choices, np.arange(1, instance.jobs)
        columns = k.workers, k.duration, k.fast, chosen.first
        cut = np.searchsorted(k.job, bounds)
        self._choices = list(zip(*(np.split(column, cut) for column in columns), strict=True))

    def fits(self, run: PlacedJob) -> bool:
        """Whether what a run needs is free."""
        instance, slots = self.chosen.instance, slice(run.start, run.end + 1)
        workers = self.workers[instance.worker_type[run.job], slots]
        service = self.services[instance.ps_type[run.job], slots, run.ps]
        return bool((workers >= run.workers).all() and (service >= 1).all())

    def served(self, run: PlacedJob) -> PlacedJob | None:
        """A run as it fits, on another parameter server if need be; None where there is none."""
        if self.fits(run) or run.together:
            return run if self.fits(run) else None
        free = self.services[self.chosen.instance.ps_type[run.job], run.start : run.end + 1]
        there = (free >= 1).all(axis=0) & (self._reached[run.job] <= run.start)
        moved = (replace(run, ps=int(s)) for s in np.flatnonzero(there))
        return next((one for one in moved if self.fits(one)), None)

    def put(self, run: PlacedJob, sign: int = 1) -> None:
        """Take what a run needs; or give it back, where ``sign`` is -1."""
        u, v = self.chosen.instance.worker_type[run.job], self.chosen.instance.ps_type[run.job]
        take(self.workers[u], self.services[v], run.workers, run.ps, run.start, run.end, sign)

    def earliest(self, j: int) -> PlacedJob | None:
        """Where a job completes earliest; None where the cloud is best."""
        number, duration, fast, first = self._choices[j]
        if not len(number):
            return None
        instance = self.chosen.instance
        away = float(self.chosen.cloud_end[j]) if self.chosen.cloud_end[j] >= 0 else np.inf
        start, end, at, ps, y = cheapest_run(
            self.workers[instance.worker_type[j]], self.services[instance.ps_type[j]],
            self._reached[j], number, duration, fast, first, self._last[j], away,
        )  # fmt: skip
        return None if start < 0 else PlacedJob(j, start, end, bool(fast[at]), ps, y)


@njit_cached
def take(
    workers: Floats, services: Floats, y: Integers, ps: int, start: int, end: int, sign: int
) -> None:
    """Take what a run needs of what is free, shape (slots, servers); or give it back.

    Slots beyond these, in which a run of somebody's schedule may end, are nobody else's.
    """
    for t in range(start, min(end + 1, len(workers))):
        services[t, ps] -= sign
        for s in range(len(y)):
            workers[t, s] -= sign * y[s]


@njit_cached
def cheapest_run(
    workers: Floats,
    services: Floats,
    reached: Integers,
    number: Integers,
    duration: Integers,
    fast: Booleans,
    first: Integers,
    last: int,
    away: float,
) -> tuple[int, int, int, int, Integers]:
    """The run of a job that ends first, among equals the one that starts first.

    Args:
        workers: free ones of its type, shape (slots, servers).
        services: free parameter servers of its type, shape (slots, servers).
        reached: first slot in which the job may use each server.
        number: workers of each choice, shape (choices,), as the next three.
        duration: slots.
        fast: whether all must be on one server.
        first: earliest start.
        last: last slot.
        away: a completion slot that must be undercut.

    Returns:
        Start, end, choice, server of the parameter server, and y; start -1 where there is none.
    """
    servers = workers.shape[1]
    best, begin, at = away, -1, -1
    soonest, shortest, longest = first[0], duration[0], duration[0]
    for k in range(1, len(number)):
        soonest = min(soonest, first[k])
        shortest, longest = min(shortest, duration[k]), max(longest, duration[k])
    room, service = np.zeros(servers), np.zeros(servers)
    for h in range(soonest, last + 1):
        if h + shortest - 1 >= best:
            break
        for s in range(servers):
            there = reached[s] <= h
            room[s] = workers[h, s] if there else 0.0
            service[s] = services[h, s] if there else 0.0
        for e in range(h, min(last, h + longest - 1) + 1):
            if e >= best:
                break
            total, together, served = 0.0, 0.0, False
            for s in range(servers):
                room[s] = min(room[s], workers[e, s])
                service[s] = min(service[s], services[e, s])
                total += room[s]
                if service[s] >= 1:
                    served = True
                    together = max(together, room[s])
            if total < 1 or not served:
                break
            for k in range(len(number)):
                if duration[k] == e - h + 1 and number[k] <= (together if fast[k] else total):
                    best, begin, at = float(e), h, k
                    break
    y = np.zeros(servers, dtype=np.int64)
    ps = -1
    if begin < 0:
        return begin, -1, -1, ps, y
    end = begin + duration[at] - 1
    # servers first that are busy before and after, so that others stay free for long
    wait = np.zeros(servers)
    for s in range(servers):
        room[s] = service[s] = 0.0
        if reached[s] <= begin:
            room[s], service[s] = workers[begin, s], services[begin, s]
            for t in range(begin + 1, end + 1):
                room[s] = min(room[s], workers[t, s])
                service[s] = min(service[s], services[t, s])
        if room[s] > 0:
            t = end + 1
            while t < min(len(workers), end + NEAR) and workers[t, s] >= room[s]:
                t += 1
            wait[s] += t - end
            t = begin - 1
            while t > max(0, begin - NEAR) and workers[t, s] >= room[s]:
                t -= 1
            wait[s] += begin - t
    left = number[at]
    order = np.argsort(wait, kind="mergesort")
    for n in range(servers):
        s = int(order[n])
        if fast[at]:
            if ps < 0 and service[s] >= 1 and room[s] >= left:
                y[s], ps = left, s
        else:
            y[s] = min(left, room[s])
            left -= y[s]
    if not fast[at]:
        ps = int(np.argmax(service))
    return begin, end, at, ps, y


def placed_jobs(chosen: Prospects, schedule: Schedule) -> list[PlacedJob]:
    """The runs of a schedule on servers with limits, one of every job."""
    y = np.zeros((schedule.runs, chosen.instance.servers), dtype=np.int64)
    y[schedule.place_run, schedule.place_server] = schedule.place_workers
    return [
        PlacedJob(
            int(schedule.run_job[r]), int(schedule.run_start[r]), int(schedule.run_end[r]),
            bool(schedule.run_together[r]), int(schedule.run_ps[r]), y[r],
        )
        for r in np.flatnonzero(chosen.limited[schedule.run_job, schedule.run_ps]).tolist()
    ]  # fmt: skip


def inserted(
    occupancy: Occupancy,
    given: Sequence[PlacedJob],
    order: Sequence[int],
    go_on: Callable[[], bool] = lambda: True,
) -> list[PlacedJob]:
    """Runs that have a place, and those of other jobs where they complete earliest beside them."""
    runs = list(given)
    for run in runs:
        occupancy.put(run)
    there = {run.job for run in runs}
    for j in order:
        found = None if j in there or not go_on() else occupancy.earliest(j)
        if found is not None:
            runs.append(found)
            occupancy.put(found)
    return runs


def rows_of(runs: Sequence[PlacedJob]) -> tuple[Integers, Integers]:
    """Runs and placements as ``Schedule.build`` takes them."""
    rows = [(run.job, run.start, run.end, run.together, run.ps) for run in runs]
    placed = [
        (i, s, int(run.workers[s]))
        for i, run in enumerate(runs)
        for s in np.flatnonzero(run.workers).tolist()
    ]
    return (
        np.array(rows, dtype=np.int64).reshape(-1, 5),
        np.array(placed, dtype=np.int64).reshape(-1, 3),
    )


def in_turn(instance: Instance) -> Schedule:
    """Run jobs without an unlimited server one at a time, in order of arrival, on one worker each.

    A job uses the servers that its data reach first.
    """
    chosen, now = prospects(instance), 0
    rows: list[tuple[int, ...]] = []
    placed: list[tuple[int, ...]] = []
    for j in instance.arrival_order[chosen.cloud_end[instance.arrival_order] < 0].tolist():
        s, p = (
            int(np.where(room[j] >= 1, chosen.reached[j], np.iinfo(np.int64).max).argmin())
            for room in (instance.worker_room, instance.ps_room)
        )
        start = max(now, int(chosen.reached[j, [s, p]].max()))
        now = start + int(instance.work_slow[j])
        placed.append((len(rows), s, 1))
        rows.append((j, start, now - 1, 0, p))
    return with_cloud(
        chosen,
        np.array(rows, dtype=np.int64).reshape(-1, 5),
        np.array(placed, dtype=np.int64).reshape(-1, 3),
    )
