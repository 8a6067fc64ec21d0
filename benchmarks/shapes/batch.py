"""Small instances of batch scheduling of kinds that the generator does not draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from formulations.batch.instance import Instance

OTHER_OPTIMA: set[str] = set()
"""Models with another optimum."""


@dataclass(frozen=True)
class Kind:
    """What a shape says of its instances; ranges include their ends."""

    jobs: tuple[int, int] = (6, 9)
    servers: int = 4
    types: int = 1
    workers: tuple[int, int] = (1, 3)
    """Of each type on each server."""
    services: tuple[int, int] = (1, 3)
    """Parameter servers of each type on each server."""
    release: tuple[int, int] = (1, 8)
    chunks: tuple[int, int] = (1, 5)
    work: tuple[int, int] = (3, 16)
    """Of a job with communication, worker-slots."""
    fast: float = 0.6
    """Part of the work that is left on one server."""
    delay: tuple[int, int] = (0, 2)
    cloud: int | None = None
    """Delay to the cloud; None: there is no cloud."""
    identical: bool = False
    """Whether all jobs are as the first."""
    large: int = 0
    """Jobs with ten times the work."""
    weights: int = 1
    """Largest weight."""

    def draw(self, rng: Generator) -> Instance:
        """Draw an instance."""

        def numbers(span: tuple[int, int], *shape: int) -> Any:
            return rng.integers(*span, shape, endpoint=True)

        jobs, servers = int(numbers(self.jobs)), self.servers
        workers = numbers(self.workers, servers, self.types).astype(float)
        services = numbers(self.services, servers, self.types).astype(float)
        delay = numbers(self.delay, jobs, servers)
        if self.cloud is not None:
            workers, services = (
                np.vstack([c, np.full(self.types, np.inf)]) for c in (workers, services)
            )
            delay = np.column_stack([delay, np.full(jobs, self.cloud)])
        work = numbers(self.work, jobs)
        work[: self.large] *= 10
        columns = {
            "release_slot": numbers(self.release, jobs),
            "num_chunks": numbers(self.chunks, jobs),
            "work_slow": work,
            "work_fast": np.maximum(1, np.round(self.fast * work).astype(int)),
            "upload_delay": delay,
            "worker_type": numbers((0, self.types - 1), jobs),
            "ps_type": numbers((0, self.types - 1), jobs),
            "weight": numbers((1, self.weights), jobs).astype(float),
        }
        if self.identical:
            columns = {
                name: np.repeat(column[:1], jobs, axis=0) for name, column in columns.items()
            }
        columns["work_slow"], columns["work_fast"] = (
            columns[name].tolist() for name in ("work_slow", "work_fast")
        )
        workers[0, :] = np.maximum(workers[0, :], 1)
        services[0, :] = np.maximum(services[0, :], 1)
        return Instance.build(
            worker_capacity=workers,
            ps_capacity=services,
            cloud_index=None if self.cloud is None else servers,
            **columns,
        )


SHAPES: dict[str, Callable[[Generator], Instance]] = {
    "identical jobs": Kind(
        jobs=(6, 8), servers=3, release=(2, 2), chunks=(2, 4), work=(8, 12), delay=(0, 1),
        identical=True,
    ).draw,
    "ties": Kind(release=(1, 2), chunks=(2, 3), work=(4, 6), delay=(0, 0)).draw,
    "few servers": Kind(servers=2, workers=(2, 4), services=(2, 4)).draw,
    "few workers": Kind(workers=(0, 1), services=(3, 6)).draw,
    "few parameter servers": Kind(workers=(3, 6), services=(0, 1)).draw,
    "one long job": Kind(large=1).draw,
    "all at once": Kind(release=(3, 3)).draw,
    "spread out": Kind(release=(1, 60)).draw,
    "far servers": Kind(delay=(0, 12)).draw,
    "narrow jobs": Kind(jobs=(8, 10), chunks=(1, 1), work=(2, 9)).draw,
    "near cloud": Kind(jobs=(8, 12), cloud=5).draw,
    "two types": Kind(jobs=(8, 12), types=2).draw,
    "weights": Kind(weights=9).draw,
    "no gain on one server": Kind(fast=1.0).draw,
}  # fmt: skip
"""Kinds of instances by name."""
