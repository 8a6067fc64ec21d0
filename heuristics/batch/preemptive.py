"""Preemptive: jobs with less left to run take the place of others (after Tiresias).

At every event jobs are served in order of the run time they have left, at the width they would
have on one server (or spread, where no server can serve them): that of a running job only falls,
so nothing changes between arrivals, ends of uploads and completions.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Literal, get_args

import numpy as np
from pydantic import NonNegativeInt

from formulations.batch.instance import Booleans, Floats, Instance, Integers, Job, System
from formulations.batch.schedule import Schedule
from heuristics.batch.free import Free, Holding, edge, edge_can_serve, in_cloud
from optsched.errors import InputError
from optsched.jit import njit_cached

Width = Literal["server", "spread"]
"""How many workers a job wants: as many as one server has, or as many as all have."""


@dataclass(eq=False)
class _Active:
    """A job that has arrived and is not done."""

    job: Job
    there: Booleans
    """Edge servers."""
    one_server: bool
    """Whether one of these can serve it alone."""
    widest: int
    """Workers on one server, or on all where none serves it alone."""
    wanted: int
    """Workers where it is spread over several."""
    rest: Fraction = Fraction(1)
    """Share of its work that was left when it last started or stopped."""
    holding: Holding | None = None
    start: int = 0
    overhead: int = 0
    """First slots of the present run without progress."""
    last: Holding | None = None
    """Where it ran last."""

    def __post_init__(self) -> None:
        self._count()

    def _count(self) -> None:
        """Say in whole numbers what is left, which every event asks of every job."""
        reference = self.job.exact_work[int(self.one_server)] / self.widest
        left, pace = self.rest * reference, Fraction(0)
        self.end = 0
        """Slot past the completion of the present run."""
        if self.holding is not None:
            pace = self.holding.count / self.job.exact_work[self.holding.together]
            self.end = self.start + self.overhead + ceil(self.rest / pace)
        self._pace = pace
        step = pace * reference
        self._unit = lcm(left.denominator, step.denominator)
        self._left, self._step = int(left * self._unit), int(step * self._unit)

    def _progress(self, slot: int) -> int:
        """Slots of work in the present run before a slot."""
        return max(0, slot - self.start - self.overhead)

    def left(self, slot: int) -> int:
        """Slots left before a slot, at its reference width."""
        return -((self._progress(slot) * self._step - self._left) // self._unit)

    def begin(self, holding: Holding, slot: int, overhead: int) -> None:
        """Start or resume."""
        self.holding, self.start, self.overhead = holding, slot, overhead
        self._count()

    def stop(self, slot: int) -> None:
        """Suspend."""
        self.rest -= self._progress(slot) * self._pace
        self.last, self.holding = self.holding, None
        self._count()


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
        widest, wanted = (int(min(job.num_chunks, width)) for width in (most, room.sum()))
        self._active[job.id] = _Active(job, there, bool(alone.any()), widest, wanted)
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
            if one.holding is not None and one.end <= slot:
                self._note(one.job, one.holding, one.start, one.end, one.overhead)
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
        one.stop(slot)

    def _begin(self, one: _Active, holding: Holding, slot: int) -> None:
        """Start or resume a job."""
        overhead = 0
        if one.last is not None:
            overhead = self._overhead
            if not self._ignore:
                new = (holding.workers > 0) & (one.last.workers == 0)
                overhead += int(one.job.upload_delay[new].max(initial=0))
        one.begin(holding, slot, overhead)
        heapq.heappush(self._events, one.end)

    def _place(self, one: _Active, free: Free, slot: int) -> Holding | None:
        """All of a job's width on one server, or spread over several, or nothing."""
        job = one.job
        reached = one.there
        if not self._ignore:
            reached = reached & (job.release_slot + job.upload_delay <= slot)
        workers, ps = _placed(
            free.workers[:, job.worker_type], free.services[:, job.ps_type], reached,
            one.one_server, one.widest, one.wanted,
        )  # fmt: skip
        return Holding(workers, ps) if ps >= 0 else None

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


@njit_cached
def _placed(
    free: Floats, services: Floats, reached: Booleans, one_server: bool, widest: int, wanted: int
) -> tuple[Integers, int]:
    """Workers per server and the server of the PS (-1: there is no room).

    The first server with room for all, or those with most room; the PS where most workers are.
    """
    workers = np.zeros(len(free), dtype=np.int64)
    room, served = np.zeros(len(free)), False
    for s in range(len(free)):
        if reached[s]:
            room[s] = free[s]
            served = served or services[s] >= 1
            if one_server and free[s] >= widest and services[s] >= 1:
                workers[s] = widest
                return workers, s
    if not served or room.sum() < wanted:
        return workers, -1
    order = np.argsort(-room, kind="mergesort")
    for n in range(len(free)):
        s = int(order[n])
        workers[s] = int(min(room[s], wanted))
        wanted -= workers[s]
    ps = -1
    for s in range(len(free)):
        if reached[s] and services[s] >= 1 and (ps < 0 or workers[s] > workers[ps]):
            ps = s
    return workers, ps


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
