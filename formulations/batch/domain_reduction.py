"""Domain reduction: the choices, starts and ends of jobs that some optimum of (2) needs.

Lemma 2 leaves few numbers of workers. A job that uses a server without limits at all does best
alone there, with D_j workers, and occupies nothing that others need. So each job either goes there,
at a known completion slot, or stays on the other servers and ends earlier. At the paper's sizes few
choices of few jobs remain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from formulations.batch.instance import Booleans, Floats, Instance, Integers, Job
from optsched.instances.arrays import ranges
from optsched.problem import Bound


@dataclass(frozen=True, eq=False)
class Choices:
    """Pairs (N, xi) of jobs with their durations, ordered by job; each array (choices,)."""

    job: Integers
    workers: Integers
    """N."""
    fast: Booleans
    """xi."""
    duration: Integers
    """d_j(N, xi), slots."""

    def take(self, kept: Booleans | Integers) -> Choices:
        """The choices that a mask or an index array picks."""
        return Choices(self.job[kept], self.workers[kept], self.fast[kept], self.duration[kept])

    def __len__(self) -> int:
        return len(self.job)


def efficient(work: Integers, most: Integers) -> tuple[Integers, Integers, Integers]:
    """The worker counts N_j^xi of Lemma 2: each shortens the job.

    Args:
        work: worker-slots of each job, shape (jobs,).
        most: largest N, shape (jobs,).

    Returns:
        Job, N and duration of every count.
    """
    job, n = ranges(np.ones(len(work), dtype=np.int64), most + 1)
    duration = -(-work[job] // n)
    kept = (n == 1) | (duration < -(-work[job] // np.maximum(n - 1, 1)))
    return job[kept], n[kept], duration[kept]


def choices(instance: Instance, *, every: bool = False) -> Choices:
    """All efficient choices of all jobs, the slow mode before the fast.

    Args:
        instance: jobs and servers; more workers than all servers have are no choice.
        every: all N up to D_j, without Lemma 2.
    """
    total = np.minimum(instance.num_chunks, instance.most_workers.sum(axis=1))
    parts = []
    for fast, work in ((False, instance.work_slow), (True, instance.work_fast)):
        if every:
            job, n = ranges(np.ones(instance.jobs, dtype=np.int64), total + 1)
            duration = -(-work[job] // n)
        else:
            job, n, duration = efficient(work, total)
        parts.append(Choices(job, n, np.full(len(job), fast), duration))
    slow, quick = parts
    joined = Choices(
        np.concatenate([slow.job, quick.job]),
        np.concatenate([slow.workers, quick.workers]),
        np.concatenate([slow.fast, quick.fast]),
        np.concatenate([slow.duration, quick.duration]),
    )
    return joined.take(np.lexsort((joined.workers, joined.fast, joined.job)))


def job_choices(job: Job) -> Choices:
    """The efficient choices of one job, whatever the servers have; ``job`` is 0 throughout."""
    parts = [
        efficient(np.array([job.work[fast]]), np.array([job.num_chunks])) for fast in (False, True)
    ]
    (slow_job, slow, slow_time), (fast_job, fast, fast_time) = parts
    return Choices(
        np.concatenate([slow_job, fast_job]),
        np.concatenate([slow, fast]),
        np.repeat([False, True], [len(slow), len(fast)]),
        np.concatenate([slow_time, fast_time]),
    )


@dataclass(frozen=True, eq=False)
class ChoiceWindows:
    """When each choice can begin and each job must end, given the servers of an instance."""

    instance: Instance
    choices: Choices

    @cached_property
    def earliest(self) -> Integers:
        """Earliest start of each choice with an empty system, shape (choices,); -1: nowhere.

        On one server for xi = 1; on all servers reached by then for xi = 0.
        """
        return earliest_starts(self.instance, self.choices)

    @cached_property
    def alone(self) -> Integers:
        """LB_j: best flow time of each job alone, shape (jobs,), slots."""
        kept = self.earliest >= 0
        best = np.full(self.instance.jobs, np.iinfo(np.int64).max)
        end = self.earliest + self.choices.duration - 1
        np.minimum.at(best, self.choices.job[kept], end[kept])
        return best - self.instance.release_slot

    @cached_property
    def last(self) -> Integers:
        """A slot by which each job ends in some optimum, shape (jobs,)."""
        return last_slots(self.instance)


def windows(instance: Instance, *, every: bool = False) -> ChoiceWindows:
    """The efficient choices of an instance (every N on demand) with their windows."""
    return ChoiceWindows(instance, choices(instance, every=every))


def earliest_starts(
    instance: Instance, chosen: Choices, usable: Booleans | None = None
) -> Integers:
    """Earliest start of each choice with an empty system, shape (choices,); -1: nowhere.

    Args:
        instance: delays and capacities.
        chosen: what may be chosen.
        usable: servers that count, shape (jobs, servers); None: all.
    """
    start = np.full(len(chosen), -1)
    there = np.ones_like(instance.unlimited) if usable is None else usable
    most = np.where(there, instance.most_workers, 0)
    service = there & (instance.ps_room >= 1)
    never = np.iinfo(np.int64).max
    order = np.argsort(instance.upload_delay, axis=1, kind="stable")
    by_delay = np.take_along_axis(instance.upload_delay, order, axis=1)
    reached = np.cumsum(np.take_along_axis(most, order, axis=1), axis=1)
    served = np.logical_or.accumulate(np.take_along_axis(service, order, axis=1), axis=1)
    alone = np.where(np.take_along_axis(service, order, axis=1),
                     np.take_along_axis(most, order, axis=1), 0)  # fmt: skip
    for fast, room in ((False, np.where(served, reached, 0)), (True, alone)):
        at = np.flatnonzero(chosen.fast == fast)
        job, n = chosen.job[at], chosen.workers[at]
        best = np.maximum.accumulate(room, axis=1)  # by then, the most in one go
        enough = best[job] >= n[:, None]
        delay = np.where(enough.any(axis=1), by_delay[job, np.argmax(enough, axis=1)], never)
        start[at] = np.where(delay == never, -1, instance.release_slot[job] + delay)
    return start


def cloud_ends(instance: Instance, known: int = 0) -> Integers:
    """Completion slot of each job alone where both its resources are unlimited; -1: nowhere.

    D_j workers on one such server: no job that uses it at all does better.

    Args:
        instance: the jobs and the system.
        known: slot before which no job starts there.
    """
    never = np.iinfo(np.int64).max
    delay = np.where(instance.unlimited, instance.upload_delay, never).min(axis=1)
    duration = -(-instance.work_fast // instance.num_chunks)
    start = np.maximum(instance.release_slot + np.where(delay == never, 0, delay), known)
    return np.where(delay == never, -1, start + duration - 1)


def longest(instance: Instance) -> int:
    """Slots after the last release in which all jobs are done in some optimum of (2)."""
    at_once = replace(instance, release_slot=np.ones_like(instance.release_slot))
    return int(last_slots(at_once).max(initial=0))


def last_slots(instance: Instance, known: int = 0) -> Integers:
    """A slot by which each job ends in some optimum of (2), shape (jobs,).

    The cloud bound where a job has an unlimited server. Otherwise no slot is idle once every job
    has arrived everywhere and those with a cloud bound are done, so the jobs that are left follow
    each other. In any case ``limited_end``.

    Args:
        instance: the jobs and the system.
        known: slot from which on it is known that no other jobs come; before it an online
            algorithm may wait.
    """
    cloud = cloud_ends(instance, known)
    edge = cloud < 0
    arrived = max(known, int((instance.release_slot[:, None] + instance.upload_delay).max()))
    busy = max(arrived, int(cloud.max(initial=0)) + 1) - 1 + int(instance.work_slow[edge].sum())
    return np.minimum(np.where(edge, busy, cloud), limited_end(instance, known))


def limited_end(instance: Instance, known: int = 0) -> int:
    """A slot by which all jobs end in some optimum of (2), servers that are far left out.

    Say that every job can run somewhere from a slot on, and that no upload to a server ends within
    the slots after it that all work takes, one worker at a time. Then no optimum waits for an
    upload that ends later: those who do could run after all others, one by one, and end sooner.
    The others leave no slot idle.

    Args:
        instance: the jobs and the system.
        known: see ``last_slots``.
    """
    reached = instance.release_slot[:, None] + instance.upload_delay
    never = np.iinfo(np.int64).max
    works, serves = instance.most_workers >= 1, instance.ps_room >= 1
    nearest = [np.where(there, reached, never).min(axis=1) for there in (works, serves)]
    from_, work = max(known, int(np.max(nearest))), int(instance.work_slow.sum())
    for slot in np.unique(reached[works | serves]).tolist():
        if from_ < slot < from_ + work:
            from_ = slot
    return min(from_ + work - 1, never)


def alone_bounds(instance: Instance) -> Integers:
    """LB_j: best flow time of each job alone, shape (jobs,), slots."""
    return windows(instance).alone


def lb_alone(instance: Instance) -> float:
    """Sum of the jobs' flow times if each were alone (slots)."""
    return float(alone_bounds(instance).sum())


def weighted_alone(instance: Instance) -> float:
    """Weighted sum of the jobs' completion slots if each were alone."""
    return float((instance.release_slot + alone_bounds(instance)) @ instance.weight)


@dataclass(frozen=True, eq=False)
class Prospects:
    """Choices on servers with limits, and where each job ends without them."""

    instance: Instance
    choices: Choices
    first: Integers
    """Earliest start of each choice with an empty system, shape (choices,)."""
    last: Integers
    """Last slot each job may run in on a server with limits, shape (jobs,)."""
    cloud_end: Integers
    """Completion slot on a server without limits, shape (jobs,); -1: it cannot be there."""

    @cached_property
    def limited(self) -> Booleans:
        """Servers with limits, shape (jobs, servers)."""
        return ~self.instance.unlimited

    @cached_property
    def reached(self) -> Integers:
        """First slot of each job on each server with limits, else no slot; (jobs, servers)."""
        since = self.instance.release_slot[:, None] + self.instance.upload_delay
        return np.where(self.limited, since, np.iinfo(np.int64).max)

    @cached_property
    def rooms(self) -> tuple[Floats, Floats]:
        """Workers and parameter servers by type where jobs of it use what has limits, else 0.

        Both have the shape (servers, types).
        """
        instance = self.instance
        workers = np.zeros_like(instance.worker_capacity)
        services = np.zeros_like(instance.ps_capacity)
        for room, capacity, kinds in (
            (workers, instance.worker_capacity, instance.worker_type),
            (services, instance.ps_capacity, instance.ps_type),
        ):
            for kind in np.unique(kinds).tolist():
                usable = self.limited[kinds == kind].any(axis=0)
                room[usable, kind] = capacity[usable, kind]
        return workers, services

    @cached_property
    def contested(self) -> Booleans:
        """Jobs that have a choice on servers with limits, shape (jobs,)."""
        return np.bincount(self.choices.job, minlength=self.instance.jobs) > 0

    @cached_property
    def soonest(self) -> Integers:
        """Earliest completion slot of each job, shape (jobs,); past ``last`` if there is none."""
        end = np.where(self.cloud_end >= 0, self.cloud_end, self.last + 1)
        np.minimum.at(end, self.choices.job, self.first + self.choices.duration - 1)
        return end

    def take(self, kept: Booleans) -> Prospects:
        """The same with the choices a mask picks only."""
        return replace(self, choices=self.choices.take(kept), first=self.first[kept])

    def within(self, late: Floats) -> Prospects:
        """Without choices that end a job more than so many slots after its soonest, shape (jobs,).

        An optimum of (2) that beats a known schedule by its distance to the lone bounds has none.
        """
        last = np.minimum(self.last, self.soonest + late).astype(np.int64)
        fewer = replace(self, last=last)
        return fewer.take(self.first + self.choices.duration - 1 <= last[self.choices.job])


def prospects(instance: Instance, *, every: bool = False) -> Prospects:
    """The choices worth having in (2): those that end before the job would in the cloud."""
    cloud = cloud_ends(instance)
    last = last_slots(instance)
    last = np.where(cloud >= 0, np.minimum(cloud - 1, last), last)
    return _limited(instance, cloud, last, 1, every)


def round_prospects(instance: Instance, tau: int, *, every: bool = False) -> Prospects:
    """The choices of (3): inside the window tau + 1..2 tau.

    A job that can run in the cloud inside the window is accepted there at no cost to others.
    """
    never = np.iinfo(np.int64).max
    begin = np.maximum(instance.release_slot[:, None] + instance.upload_delay, tau + 1)
    duration = -(-instance.work_fast // instance.num_chunks)
    end = np.where(instance.unlimited, begin, never).min(axis=1)
    there = end < never
    end = np.where(there, end, 0) + duration - 1
    cloud = np.where(there & (end <= 2 * tau), end, -1)
    last = np.where(cloud >= 0, tau, 2 * tau)  # nothing to decide where the cloud takes it
    return _limited(instance, cloud, last, tau + 1, every)


def _limited(
    instance: Instance, cloud: Integers, last: Integers, first_slot: int, every: bool
) -> Prospects:
    chosen = choices(instance, every=every)
    start = earliest_starts(instance, chosen, ~instance.unlimited)
    first = np.maximum(start, first_slot)
    kept = (start >= 0) & (first + chosen.duration - 1 <= last[chosen.job])
    return Prospects(instance, chosen.take(kept), first[kept], last, cloud)


ALONE = Bound("alone", lb_alone, "closed form", "every job as if it were the only one", quick=True)
WEIGHTED_ALONE = replace(ALONE, compute=weighted_alone)
