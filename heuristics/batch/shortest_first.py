"""ShortestFirst, beyond the paper: no job waits for a round, and a plan binds only once it begins.

Worst instances of A_online are jobs that miss a round, or fit into none until a window is long
enough: what is lost is waiting, not packing. Here every arrival plans all jobs anew that have not
begun, the shortest first, each where it ends first. Jobs that have begun stay as they are, so that
the schedule before an arrival does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Literal, get_args

import numpy as np

from formulations.batch.instance import Booleans, Floats, Instance, Integers, Job, System
from formulations.batch.schedule import Schedule
from optsched.errors import InputError

Order = Literal["shortest", "weighted", "arrival"]
"""Jobs are planned by their least duration, by that over their weight, or as they came."""


@dataclass(frozen=True, eq=False)
class _Run:
    """A job as planned; it holds what it takes in slots ``start`` to ``end - 1``."""

    job: Job
    start: int
    end: int
    together: bool
    workers: Integers
    """y, shape (servers,)."""
    ps: int


class _Market:
    """What is free for one job from now on, in pieces of time in which nothing changes.

    Args:
        system: servers.
        job: who asks.
        runs: that hold something.
        now: first slot.
    """

    def __init__(self, system: System, job: Job, runs: Iterable[_Run], now: int) -> None:
        self._system, self._job = system, job
        rivals = [
            (max(run.start, now), run.end, run)
            for run in runs
            if run.job.worker_type == job.worker_type or run.job.ps_type == job.ps_type
        ]
        self._cuts = np.unique([now, *(slot for start, end, _ in rivals for slot in (start, end))])
        pieces = (len(self._cuts), 1)
        self._workers = np.tile(system.worker_capacity[:, job.worker_type], pieces)
        self._services = np.tile(system.ps_capacity[:, job.ps_type], pieces)
        for start, end, run in rivals:
            held = slice(*np.searchsorted(self._cuts, (start, end)))
            if run.job.worker_type == job.worker_type:
                self._workers[held] -= run.workers
            if run.job.ps_type == job.ps_type:
                self._services[held, run.ps] -= 1

    def first_to_end(self) -> _Run:
        """The run that ends first, with the fewest workers that make it so short.

        It begins where something becomes free or an upload is done: any other start could be
        moved forward.
        """
        job = self._job
        reached = np.maximum(job.release_slot + job.upload_delay, self._cuts[0])
        shortest = least_duration(self._system, job)
        best: _Run | None = None
        for start in np.unique(np.concatenate([reached, self._cuts])).tolist():
            if best is not None and start + shortest >= best.end:
                break
            best = self._from(start, reached <= start, best) or best
        assert best is not None  # the instance has been validated: an empty system serves it
        return best

    def _from(self, start: int, there: Booleans, best: _Run | None) -> _Run | None:
        """The run that ends first of those that begin with a slot, if it ends before the best."""
        job = self._job
        workers, services = np.where(there, np.inf, 0.0), np.where(there, np.inf, 0.0)
        for piece in range(int(np.searchsorted(self._cuts, start, side="right")) - 1,
                           len(self._cuts)):  # fmt: skip
            workers = np.minimum(workers, self._workers[piece])
            services = np.minimum(services, self._services[piece])
            served = services >= 1
            if not served.any():
                return None
            alone = min(job.num_chunks, float(workers[served].max()))
            spread = min(job.num_chunks, float(workers.sum()))
            quick = start + job.duration(int(alone), True) if alone >= 1 else np.inf
            slow = start + job.duration(int(spread), False) if spread >= 1 else np.inf
            end = min(quick, slow)
            if end >= (np.inf if best is None else best.end):  # later pieces have no more room
                return None
            if piece + 1 == len(self._cuts) or end <= self._cuts[piece + 1]:
                break
        count = ceil(job.work[quick <= slow] / (end - start))
        return _placed(job, start, int(end), bool(quick <= slow), count, workers, services)


def _placed(
    job: Job, start: int, end: int, together: bool, count: int, room: Floats, services: Floats
) -> _Run:
    """On one server with the least room that does, or on those with most; without limit first."""
    workers = np.zeros(len(room), dtype=np.int64)
    if together:
        fits = (room >= count) & (services >= 1)
        ps = int(np.argmin(np.where(fits, np.where(np.isinf(room), 0.0, room), np.inf)))
        workers[ps] = count
        return _Run(job, start, end, True, workers, ps)
    left = count
    for server in np.argsort(-room, kind="stable").tolist():
        workers[server] = min(left, room[server])
        left -= int(workers[server])
        if not left:
            break
    return _Run(job, start, end, False, workers, int(np.argmax(services)))


def least_duration(system: System, job: Job) -> int:
    """Slots that a job takes in an empty system, all its data there."""
    room = system.worker_capacity[:, job.worker_type]
    served = system.ps_capacity[:, job.ps_type] >= 1
    spread = job.duration(int(min(job.num_chunks, room.sum())), False)
    alone = int(min(job.num_chunks, np.where(served, room, 0.0).max()))
    return min(spread, job.duration(alone, True)) if alone else spread


class ShortestFirst:
    """The policy on one system: ``arrive`` for each job as it comes.

    Args:
        system: servers.
        order: in which jobs are planned.
        replan: whether plans that have not begun may change.
    """

    def __init__(self, system: System, order: Order, replan: bool) -> None:
        self._system, self._rule, self._replan = system, order, replan
        self._order: dict[int, tuple[float, int, int]] = {}
        self._begun: list[_Run] = []
        self._planned: list[_Run] = []

    def arrive(self, job: Job) -> None:
        """Plan a job, and anew those after it in order that have not begun before it arrives."""
        now = job.release_slot
        self._begun += [run for run in self._planned if run.start < now]
        waiting = [run for run in self._planned if run.start >= now]
        place = self._order[job.id] = (self._size(job), now, job.id)
        stays = [
            not self._replan or not self._takes(run) or self._order[run.job.id] < place
            for run in waiting
        ]
        self._planned = [run for run, stay in zip(waiting, stays, strict=True) if stay]
        later = [run.job for run, stay in zip(waiting, stays, strict=True) if not stay]
        holding = [run for run in self._begun + self._planned if run.end > now and self._takes(run)]
        for one in [job, *sorted(later, key=lambda one: self._order[one.id])]:
            run = _Market(self._system, one, holding, now).first_to_end()
            holding.append(run)
            self._planned.append(run)

    def _size(self, job: Job) -> float:
        """Size by which jobs are planned, smallest first."""
        if self._rule == "arrival":
            return 0.0
        length = least_duration(self._system, job)
        return length / job.weight if self._rule == "weighted" else length

    def _takes(self, run: _Run) -> bool:
        """Whether a run holds anything of which there is a limit."""
        room = self._system.worker_capacity[run.workers > 0, run.job.worker_type]
        return bool(np.isfinite(room).any()) or bool(
            np.isfinite(self._system.ps_capacity[run.ps, run.job.ps_type])
        )

    def schedule(self) -> Schedule:
        """What happens if no other job arrives."""
        runs = sorted(self._begun + self._planned, key=lambda run: run.job.id)
        return Schedule.build(
            runs=[(r.job.id, r.start, r.end - 1, r.together, r.ps) for r in runs],
            placements=[
                (i, s, int(run.workers[s]))
                for i, run in enumerate(runs)
                for s in np.flatnonzero(run.workers).tolist()
            ],
        )


def shortest_first(
    instance: Instance,
    rng: np.random.Generator,
    *,
    order: Order = "shortest",
    replan: bool = True,
) -> Schedule:
    """Jobs that have not begun are planned anew on every arrival, shortest first.

    Each runs where it ends first, given those before it, with the fewest workers that make its
    run so short; nothing is ever interrupted.

    Args:
        instance: jobs and servers.
        rng: not drawn from.
        order: in which jobs are planned; "weighted" is what the weighted completion time asks for.
        replan: whether plans that have not begun may change; otherwise each job is planned once.

    Raises:
        InputError: ``order`` is not known.
    """
    if order not in get_args(Order):
        raise InputError.of("order", order, "one of " + ", ".join(get_args(Order)))
    policy = ShortestFirst(instance.system, order, replan)
    for job in instance.arrivals():
        policy.arrive(job)
    return policy.schedule()
