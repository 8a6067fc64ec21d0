"""Optima of tiny instances by enumeration, written from the paper's constraints alone.

Nothing here knows efficient worker counts, windows of single jobs or models: every start, every
number of workers, every way to spread them over servers, every parameter server.
"""

from collections.abc import Iterator, Sequence
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from formulations.batch.instance import Instance


class Run(NamedTuple):
    """One job's schedule."""

    start: int
    end: int
    together: bool
    workers: tuple[int, ...]
    ps: int


def compositions(n: int, limits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to put n workers on servers that take so many each."""
    if not limits:
        if n == 0:
            yield ()
        return
    for here in range(min(n, limits[0]) + 1):
        for rest in compositions(n - here, limits[1:]):
            yield here, *rest


def runs(instance: Instance, j: int, first: int, last: int) -> list[Run]:
    """Every schedule of a job alone inside first..last; (2a) to (2f), (2i)."""
    found = []
    chunks = int(instance.num_chunks[j])
    limits = [int(min(chunks, w)) for w in instance.worker_room[j]]
    servers = [s for s in range(instance.servers) if instance.ps_room[j, s] >= 1]
    for n in range(1, chunks + 1):
        for y in compositions(n, limits):
            used = [s for s, workers in enumerate(y) if workers]
            for ps in servers:
                together = used == [ps]
                work = instance.exact_work_fast[j] if together else instance.exact_work_slow[j]
                duration = ceil(work / n)
                reached = instance.release_slot[j] + max(
                    int(instance.upload_delay[j, s]) for s in {*used, ps}
                )
                for start in range(max(first, int(reached)), last - duration + 2):
                    found.append(Run(start, start + duration - 1, together, y, ps))
    return sorted(found, key=lambda run: run.end)


def fits(instance: Instance, chosen: Sequence[tuple[int, Run]]) -> bool:
    """Whether runs of jobs respect (2g) and (2h) together."""
    for slot in {run.start for _, run in chosen}:
        busy = [(j, run) for j, run in chosen if run.start <= slot <= run.end]
        workers = np.zeros_like(instance.worker_capacity)
        services = np.zeros_like(instance.ps_capacity)
        for j, run in busy:
            workers[:, instance.worker_type[j]] += run.workers
            services[run.ps, instance.ps_type[j]] += 1
        if (workers > instance.worker_capacity).any() or (services > instance.ps_capacity).any():
            return False
    return True


def problem_2(instance: Instance, horizon: int) -> float:
    """Least total flow time among schedules that end by the horizon; infinite if there is none."""
    options = [runs(instance, j, 1, horizon) for j in range(instance.jobs)]
    if not all(options):
        return inf
    soonest = [mine[0].end for mine in options]
    best = inf

    def search(chosen: list[tuple[int, Run]], total: int) -> None:
        nonlocal best
        j = len(chosen)
        if j == instance.jobs:
            best = min(best, total)
            return
        for run in options[j]:
            if total + run.end + sum(soonest[j + 1 :]) >= best:
                return
            wider = [*chosen, (j, run)]
            if fits(instance, wider):
                search(wider, total + run.end)

    search([], 0)
    return best - float(instance.release_slot.sum())


def problem_3(instance: Instance, tau: int) -> int:
    """Most jobs that run inside tau + 1..2 tau."""
    options = [runs(instance, j, tau + 1, 2 * tau) for j in range(instance.jobs)]
    best = 0

    def search(j: int, chosen: list[tuple[int, Run]]) -> None:
        nonlocal best
        best = max(best, len(chosen))
        if len(chosen) + instance.jobs - j <= best:
            return
        for run in options[j]:
            wider = [*chosen, (j, run)]
            if fits(instance, wider):
                search(j + 1, wider)
        search(j + 1, chosen)

    search(0, [])
    return best
