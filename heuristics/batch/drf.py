"""DRF: waiting jobs share the free edge by progressive filling, and keep what they get."""

from __future__ import annotations

import heapq

import numpy as np

from formulations.batch.instance import Booleans, Instance, Integers, Job, System
from formulations.batch.schedule import Schedule
from heuristics.batch.free import Free, Holding, edge, edge_can_serve, in_cloud
from heuristics.common.progressive_filling import progressive_filling


class _Filling:
    """One round of filling: units of one worker, the first with the parameter server."""

    def __init__(self, free: Free, slot: int, jobs: dict[int, Job]) -> None:
        self._free = free
        self._slot = slot
        self._jobs = jobs
        self._totals: dict[int, tuple[float, float]] = {}
        self._reach: dict[int, Booleans] = {}
        self.workers: dict[int, Integers] = {}
        self.ps: dict[int, int] = {}
        for id, job in jobs.items():
            there = edge(free.system, job)
            self._totals[id] = (
                float(free.system.worker_capacity[there, job.worker_type].sum()),
                float(free.system.ps_capacity[there, job.ps_type].sum()),
            )
            self._reach[id] = there & (job.release_slot + job.upload_delay <= slot)

    def share(self, id: int) -> float:
        """Dominant share of what a job holds."""
        if id not in self.ps:
            return 0.0
        workers, services = self._totals[id]
        return max(float(self.workers[id].sum()) / workers, 1.0 / services)

    def place(self, id: int) -> bool:
        """One worker more, beside the parameter server if possible, else where most are free."""
        job, free = self._jobs[id], self._free
        room = np.where(self._reach[id], free.workers[:, job.worker_type], 0.0)
        if not (room >= 1).any():
            return False
        if id not in self.ps:
            services = np.where(self._reach[id], free.services[:, job.ps_type], 0.0)
            if not (services >= 1).any():
                return False
            self.ps[id] = int(np.argmax(services))
            self.workers[id] = np.zeros(len(room), dtype=np.int64)
            free.services[self.ps[id], job.ps_type] -= 1
        elif self.workers[id].sum() >= job.num_chunks:
            return False
        beside = self.ps[id]
        s = beside if room[beside] >= 1 else int(np.argmax(room))
        self.workers[id][s] += 1
        free.workers[s, job.worker_type] -= 1
        return True


class DrfScheduler:
    """DRF on one system: ``arrive`` for each job as it comes, ``step`` for the slots in order.

    Nothing changes between the ends of runs and of uploads, so only those slots are looked at.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._free = Free(system)
        self._waiting: dict[int, Job] = {}
        self._running: list[tuple[int, int, Job, Holding]] = []
        self._events: list[int] = []
        self._runs: list[tuple[int, int, int, bool, int]] = []
        self._placements: list[tuple[int, int, int]] = []

    def arrive(self, job: Job) -> None:
        """Take in a job; one that the edge can never serve goes to the cloud."""
        if not edge_can_serve(self._system, job):
            start, holding = in_cloud(self._system, job)
            self._fix(job, start, holding)
            return
        self._waiting[job.id] = job
        there = edge(self._system, job)
        for moment in np.unique(job.release_slot + job.upload_delay[there]).tolist():
            heapq.heappush(self._events, moment)

    def advance(self, until: float) -> None:
        """Go through the slots before ``until``."""
        while self._events and self._events[0] < until:
            slot = heapq.heappop(self._events)
            if not self._events or self._events[0] != slot:
                self._step(slot)

    def _step(self, slot: int) -> None:
        """What ends before a slot gives back; what waits shares what is free."""
        while self._running and self._running[0][0] <= slot:
            _, _, job, holding = heapq.heappop(self._running)
            self._free.give(job, holding)
        waiting = sorted(self._waiting.values(), key=lambda job: (job.release_slot, job.id))
        filling = _Filling(self._free, slot, {job.id: job for job in waiting})
        progressive_filling([job.id for job in waiting], filling.share, filling.place)
        for id in filling.ps:
            job, holding = self._waiting.pop(id), Holding(filling.workers[id], filling.ps[id])
            end = self._fix(job, slot, holding)
            heapq.heappush(self._running, (end, id, job, holding))
            heapq.heappush(self._events, end)

    def _fix(self, job: Job, start: int, holding: Holding) -> int:
        """Note a run down; the slot past its end."""
        end = start + job.duration(holding.count, holding.together)
        self._placements += [
            (len(self._runs), s, int(holding.workers[s]))
            for s in np.flatnonzero(holding.workers).tolist()
        ]
        self._runs.append((job.id, start, end - 1, holding.together, holding.ps))
        return end

    def schedule(self) -> Schedule:
        """What has been decided so far."""
        return Schedule.build(runs=self._runs, placements=self._placements)


def drf(instance: Instance, rng: np.random.Generator) -> Schedule:
    """DRF by progressive filling over workers and parameter servers, fixed to completion.

    Args:
        instance: jobs and servers.
        rng: not drawn from.
    """
    scheduler = DrfScheduler(instance.system)
    for job in instance.arrivals():
        scheduler.advance(job.release_slot)
        scheduler.arrive(job)
    scheduler.advance(np.inf)
    return scheduler.schedule()
