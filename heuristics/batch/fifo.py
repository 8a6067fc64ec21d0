"""FIFO: in order of arrival, each job on the server that can start it earliest."""

from __future__ import annotations

from itertools import product
from typing import Literal, get_args

import numpy as np

from formulations.batch.instance import Instance, Job, System
from formulations.batch.schedule import Schedule
from heuristics.batch.profile import Profile
from optsched.errors import InputError

Earliest = Literal["start", "completion"]
"""What "the server that can schedule the job earliest" may mean."""


class FifoScheduler:
    """FIFO on one system: ``arrive`` for each job as it comes fixes all of its run."""

    def __init__(self, system: System, earliest: Earliest = "start") -> None:
        self._system = system
        self._by_start = earliest == "start"
        self._profiles: dict[tuple[str, int, int], Profile] = {}
        self._runs: list[tuple[int, int, int, bool, int]] = []
        self._placements: list[tuple[int, int, int]] = []

    def _profile(self, resource: str, server: int, kind: int) -> Profile:
        key = (resource, server, kind)
        if key not in self._profiles:
            workers = resource == "workers"
            table = self._system.worker_capacity if workers else self._system.ps_capacity
            self._profiles[key] = Profile(float(table[server, kind]))
        return self._profiles[key]

    def arrive(self, job: Job) -> None:
        """Reserve min(D_j, W_su) workers and a parameter server on the earliest server.

        Least start, then least completion, then lowest index; or completion first. A job that no
        server can serve alone takes its parameter server elsewhere, at the slow speed.
        """
        room = self._system.worker_capacity[:, job.worker_type]
        workers = np.flatnonzero(room >= 1)
        services = np.flatnonzero(self._system.ps_capacity[:, job.ps_type] >= 1)
        alone = np.intersect1d(workers, services)
        places = [(s, s) for s in alone.tolist()] or list(
            product(workers.tolist(), services.tolist())
        )
        best: tuple[tuple[int, int], int, int, int, int, int] | None = None
        for s, ps in places:
            release = job.release_slot + int(job.upload_delay[[s, ps]].max())
            n = int(min(job.num_chunks, room[s]))
            length = job.duration(n, s == ps)
            if best is not None and release + (0 if self._by_start else length) > best[0][0]:
                continue
            start = self._earliest(job, s, ps, n, length, release)
            end = start + length
            key = (start, end) if self._by_start else (end, start)
            option = (key, s, ps, n, start, end)
            best = option if best is None or option < best else best
        assert best is not None  # the instance has been validated
        _, s, ps, n, start, end = best
        self._profile("workers", s, job.worker_type).reserve(start, end, n)
        self._profile("services", ps, job.ps_type).reserve(start, end, 1)
        self._placements.append((len(self._runs), s, n))
        self._runs.append((job.id, start, end - 1, s == ps, ps))

    def _earliest(self, job: Job, s: int, ps: int, n: int, length: int, start: int) -> int:
        """First slot from which both resources are free for the whole run."""
        workers = self._profile("workers", s, job.worker_type)
        services = self._profile("services", ps, job.ps_type)
        while True:
            begin = services.earliest(workers.earliest(start, n, length), 1, length)
            if begin == start:
                return start
            start = begin

    def schedule(self) -> Schedule:
        """What has been decided so far."""
        return Schedule.build(runs=self._runs, placements=self._placements)


def fifo(instance: Instance, rng: np.random.Generator, *, earliest: Earliest = "start") -> Schedule:
    """FIFO: jobs by (a_j, j), each "dispatched to the server that can schedule the job earliest".

    Args:
        instance: jobs and servers.
        rng: not drawn from.
        earliest: by what: the job's start there, or its completion.

    Raises:
        InputError: ``earliest`` is neither.
    """
    if earliest not in get_args(Earliest):
        raise InputError.of("earliest", earliest, "one of " + ", ".join(get_args(Earliest)))
    scheduler = FifoScheduler(instance.system, earliest)
    for job in instance.arrivals():
        scheduler.arrive(job)
    return scheduler.schedule()
