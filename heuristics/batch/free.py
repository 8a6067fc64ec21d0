"""Free workers and parameter servers at one moment, taken and given back as time passes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.batch.instance import Booleans, Floats, Integers, Job, System


@dataclass(frozen=True, eq=False)
class Holding:
    """What a job holds."""

    workers: Integers
    """y, shape (servers,)."""
    ps: int

    @cached_property
    def count(self) -> int:
        """N."""
        return int(self.workers.sum())

    @cached_property
    def servers(self) -> Integers:
        """Those with a worker."""
        return np.flatnonzero(self.workers)

    @cached_property
    def together(self) -> bool:
        """Whether all of it is on one server."""
        return self.count == int(self.workers[self.ps])


class Free:
    """What is free of every type on every server."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.workers: Floats = system.worker_capacity.copy()
        self.services: Floats = system.ps_capacity.copy()

    def take(self, job: Job, holding: Holding) -> None:
        """A job begins to hold something."""
        self.workers[:, job.worker_type] -= holding.workers
        self.services[holding.ps, job.ps_type] -= 1

    def give(self, job: Job, holding: Holding) -> None:
        """A job gives back what it held."""
        self.workers[:, job.worker_type] += holding.workers
        self.services[holding.ps, job.ps_type] += 1

    def has(self, job: Job, holding: Holding) -> bool:
        """Whether all of a holding is free."""
        here = holding.servers
        enough = self.workers[here, job.worker_type] >= holding.workers[here]
        return bool(self.services[holding.ps, job.ps_type] >= 1 and enough.all())


def edge(system: System, job: Job) -> Booleans:
    """Servers with limits for a job, shape (servers,)."""
    workers = np.isinf(system.worker_capacity[:, job.worker_type])
    services = np.isinf(system.ps_capacity[:, job.ps_type])
    return ~(workers & services)


def edge_can_serve(system: System, job: Job) -> bool:
    """Whether servers with limits have a worker and a parameter server of the job's types."""
    there = edge(system, job)
    workers = system.worker_capacity[there, job.worker_type]
    services = system.ps_capacity[there, job.ps_type]
    return bool((workers >= 1).any() and (services >= 1).any())


def in_cloud(system: System, job: Job) -> tuple[int, Holding]:
    """Start and holding of a job that takes D_j workers where there are no limits, soonest."""
    servers = np.flatnonzero(~edge(system, job))
    s = int(servers[np.argmin(job.upload_delay[servers])])
    workers = np.zeros(system.servers, dtype=np.int64)
    workers[s] = job.num_chunks
    return job.release_slot + int(job.upload_delay[s]), Holding(workers, s)
