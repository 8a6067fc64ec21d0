"""Preemptive: jobs with less left to run take the place of others (after Tiresias).

At every event jobs are served in order of the run time they have left, at the width they would
have on one server (or spread, where no server can serve them): that of a running job only falls,
so nothing changes between arrivals, ends of uploads and completions.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, get_args

import numpy as np
from pydantic import NonNegativeInt

from formulations.batch.instance import Booleans, Instance, Job, System
from formulations.batch.schedule import Schedule
from heuristics.batch.free import Free, Holding, edge, edge_can_serve, in_cloud
from optsched.errors import InputError

Width = Literal["server", "spread"]
"""How many workers a job wants: as many as one server has, or as many as all have."""


@dataclass(eq=False)
class _Active:
    """A job that has arrived and is not done."""

    job: Job
    there: Booleans
    """Edge servers."""
    alone: Booleans
    """Of these, those that can serve it alone."""
    widest: int
    """Workers on one server, or on all where none serves it alone."""
    rest: Fraction
    """Share of its work that was left when it last started."""
    holding: Holding | None = None
    start: int = 0
    overhead: int = 0
    """First slots of the present run without progress."""
    last: Holding | None = None
    """Where it ran last."""

    def rest_at(self, slot: int) -> Fraction:
        """Share of its work that is left before a slot."""
        if self.holding is None:
            return self.rest
        done = max(0, slot - self.start - self.overhead) * self.holding.count
        return self.rest - done / self.job.exact_work[self.holding.together]

    def left(self, slot: int) -> int:
        """Slots left before a slot, at its reference width."""
        work = self.rest_at(slot) * self.job.exact_work[int(self.alone.any())]
        return ceil(work / self.widest)

    def end(self) -> int:
        """Slot past the completion of the present run."""
        assert self.holding is not None
        work = self.rest * self.job.exact_work[self.holding.together]
        return self.start + self.overhead + ceil(work / self.holding.count)


class PreemptiveScheduler:
    """The policy on one system: ``arrive`` for each job as it comes, ``advance`` in time.

    Args:
        system: servers.
        overhead_slots: slots held without progress after a job that has run resumes.
        ignore_upload: whether uploads are waited for.
        width: of a job that one server can serve.
    """

    def __init__(
        self, system: System, overhead_slots: int, ignore_upload: bool, width: Width
    ) -> None:
        self._system = system
        self._overhead = overhead_slots
        self._ignore = ignore_upload
        self._spread = width == "spread"
        self._free = Free(system)
        self._active: dict[int, _Active] = {}
        self._events: list[int] = []
        self._runs: list[tuple[int, int, int, bool, int]] = []
        self._held: list[int] = []
        self._placements: list[tuple[int, int, int]] = []

    def arrive(self, job: Job) -> None:
        """Take in a job; one that the edge can never serve goes to the cloud."""
        if not edge_can_serve(self._system, job):
            start, holding = in_cloud(self._system, job)
            start = job.release_slot if self._ignore else start
            self._note(job, holding, start, start + job.duration(holding.count, True), 0)
            return
        there = edge(self._system, job)
        room = np.where(there, self._system.worker_capacity[:, job.worker_type], 0.0)
        alone = (room >= 1) & (self._system.ps_capacity[:, job.ps_type] >= 1)
        if self._spread:  # alone only where one server has as many workers as all would give
            alone &= room >= min(job.num_chunks, room.sum())
        most = room[alone].max() if alone.any() else room.sum()
        widest = int(min(job.num_chunks, most))
        self._active[job.id] = _Active(job, there, alone, widest, Fraction(1))
        delays = np.zeros(1, dtype=np.int64) if self._ignore else job.upload_delay[there]
        for moment in np.unique(job.release_slot + delays).tolist():
            heapq.heappush(self._events, moment)

    def advance(self, until: float) -> None:
        """Go through the slots before ``until``."""
        while self._events and self._events[0] < until:
            slot = heapq.heappop(self._events)
            if not self._events or self._events[0] != slot:
                self._step(slot)

    def _step(self, slot: int) -> None:
        """Finish what is done, then give everything out anew in order of what is left."""
        for one in list(self._active.values()):
            if one.holding is not None and one.end() <= slot:
                self._note(one.job, one.holding, one.start, one.end(), one.overhead)
                del self._active[one.job.id]
        order = sorted(
            self._active.values(), key=lambda a: (a.left(slot), a.job.release_slot, a.job.id)
        )
        free = Free(self._system)
        for one in order:
            before = one.holding
            kept = before if before is not None and free.has(one.job, before) else None
            holding = kept or self._place(one, free, slot)
            if before is not None and holding is not before:
                self._stop(one, slot)
            if holding is not None:
                free.take(one.job, holding)
                if holding is not before:
                    self._begin(one, holding, slot)
        self._free = free

    def _stop(self, one: _Active, slot: int) -> None:
        """Suspend a running job."""
        assert one.holding is not None
        if slot > one.start:
            overhead = min(one.overhead, slot - one.start)
            self._note(one.job, one.holding, one.start, slot, overhead)
        one.rest = one.rest_at(slot)
        one.last, one.holding = one.holding, None

    def _begin(self, one: _Active, holding: Holding, slot: int) -> None:
        """Start or resume a job."""
        one.overhead = 0
        if one.last is not None:
            one.overhead = self._overhead
            if not self._ignore:
                new = (holding.workers > 0) & (one.last.workers == 0)
                one.overhead += int(one.job.upload_delay[new].max(initial=0))
        one.holding, one.start = holding, slot
        heapq.heappush(self._events, one.end())

    def _place(self, one: _Active, free: Free, slot: int) -> Holding | None:
        """All of a job's width on one server, or spread over several, or nothing."""
        job = one.job
        reached = one.there
        if not self._ignore:
            reached = reached & (job.release_slot + job.upload_delay <= slot)
        room = np.where(reached, free.workers[:, job.worker_type], 0.0)
        services = np.where(reached, free.services[:, job.ps_type], 0.0)
        workers = np.zeros(len(room), dtype=np.int64)
        fits = np.flatnonzero((room >= one.widest) & (services >= 1))
        if one.alone.any() and len(fits):
            workers[fits[0]] = one.widest
            return Holding(workers, int(fits[0]))
        capacity = np.where(one.there, self._system.worker_capacity[:, job.worker_type], 0.0)
        wanted = int(min(job.num_chunks, capacity.sum()))
        if room.sum() < wanted or not (services >= 1).any():
            return None
        order = np.argsort(-room, kind="stable")
        before = np.cumsum(np.minimum(room[order], wanted)) - np.minimum(room[order], wanted)
        workers[order] = np.clip(wanted - before, 0, np.minimum(room[order], wanted))
        served = np.flatnonzero(services >= 1)
        return Holding(workers, int(served[np.argmax(workers[served])]))

    def _note(self, job: Job, holding: Holding, start: int, end: int, overhead: int) -> None:
        """Write down a piece of a run, slots start..end - 1."""
        self._placements += [
            (len(self._runs), s, int(holding.workers[s]))
            for s in np.flatnonzero(holding.workers).tolist()
        ]
        self._runs.append((job.id, start, end - 1, holding.together, holding.ps))
        self._held.append(overhead)

    def schedule(self) -> Schedule:
        """What has happened so far."""
        return Schedule.build(
            runs=self._runs,
            placements=self._placements,
            overhead=self._held,
            preemptive=True,
            ignores_upload=self._ignore,
        )


def preemptive(
    instance: Instance,
    rng: np.random.Generator,
    *,
    overhead_slots: NonNegativeInt = 0,
    ignore_upload: bool = True,
    width: Width = "server",
) -> Schedule:
    """Shortest remaining run time first, whole jobs, all or nothing.

    The defaults are those of Figures 7 and 8; ``overhead_slots=1, ignore_upload=False`` those of
    9 and 10: after every resumption a slot is held without progress, and a move to servers where
    the job did not run before waits for their upload again. Servers with limits only, so a cloud
    that has some as well, except for jobs that they can never serve.

    Args:
        instance: jobs and servers.
        rng: not drawn from.
        overhead_slots: >= 0.
        ignore_upload: whether uploads are waited for.
        width: "server": as many workers as the widest single server has; "spread": as many as
            there are, D_j at most, over several servers where one has too few.

    Raises:
        InputError: an option out of range.
    """
    if width not in get_args(Width):
        raise InputError.of("width", width, "one of " + ", ".join(get_args(Width)))
    if overhead_slots < 0:
        raise InputError.of("overhead_slots", overhead_slots, "an integer >= 0")
    scheduler = PreemptiveScheduler(instance.system, overhead_slots, ignore_upload, width)
    for job in instance.arrivals():
        scheduler.advance(job.release_slot)
        scheduler.arrive(job)
    scheduler.advance(np.inf)
    return scheduler.schedule()
