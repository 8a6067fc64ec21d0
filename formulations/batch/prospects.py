"""What is left to decide once the cloud is understood.

A job that uses a server without limits at all does best alone there, with D_j workers, and is
then in nobody's way. So each job either goes there, at a known completion slot, or
stays on the other servers and ends earlier. At the paper's sizes few choices of few jobs remain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from formulations.batch.choices import (
    Choices,
    choices,
    cloud_ends,
    earliest_starts,
    last_slots,
)
from formulations.batch.instance import Booleans, Floats, Instance, Integers


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
