"""Small instances of preemptive scheduling of kinds that the generators do not draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from formulations.preemptive.instance import Instance

OTHER_OPTIMA = {"price_guided", "problem_2_no_migration", "problem_2_no_migration_time_free"}
"""Methods with another optimum, or which prove none by themselves."""


@dataclass(frozen=True)
class Kind:
    """What a shape says of its instances; ranges include their ends."""

    jobs: tuple[int, int] = (5, 8)
    servers: int = 3
    workers: tuple[int, int] = (1, 2)
    """Of each server."""
    types: int = 1
    release: tuple[int, int] = (0, 8)
    chunks: tuple[int, int] = (1, 4)
    time: tuple[int, int] = (1, 4)
    """Of a chunk with communication, slots."""
    delay: tuple[int, int] = (0, 2)
    cloud: tuple[int, int] | None = (4, 9)
    """Delay to the cloud; None: no job may use it."""
    storage: tuple[int, int] = (4, 8)
    """Of a server; a chunk takes 1 to 3."""
    identical: bool = False
    """Whether all jobs are as the first."""
    large: int = 0
    """Jobs whose chunks take six times as long."""

    def draw(self, rng: Generator) -> Instance:
        """Draw an instance."""

        def numbers(span: tuple[int, int], *shape: int) -> Any:
            return rng.integers(*span, shape, endpoint=True)

        jobs, servers = int(numbers(self.jobs)), self.servers
        slow = numbers(self.time, jobs)
        slow[: self.large] *= 6
        away = np.full(jobs, np.inf) if self.cloud is None else numbers(self.cloud, jobs)
        columns = {
            "release_time": numbers(self.release, jobs),
            "num_chunks": numbers(self.chunks, jobs),
            "chunk_time_slow": slow,
            "chunk_time_fast": np.maximum(1, slow // 2),
            "upload_delay_edge": numbers(self.delay, jobs, servers),
            "upload_delay_cloud": away,
            "job_worker_type": numbers((0, self.types - 1), jobs),
            "chunk_storage": numbers((1, 3), jobs),
        }
        if self.identical:
            columns = {name: np.repeat(c[:1], jobs, axis=0) for name, c in columns.items()}
        server = np.repeat(np.arange(servers), numbers(self.workers, servers))
        worker_type = numbers((0, self.types - 1), len(server))
        worker_type[: self.types] = np.arange(min(self.types, len(server)))
        return Instance.build(
            storage_capacity=numbers(self.storage, servers),
            worker_server=server,
            worker_type=worker_type,
            ps_server=np.arange(servers),
            **columns,
        )


SHAPES: dict[str, Callable[[Generator], Instance]] = {
    "identical jobs": Kind(identical=True).draw,
    "ties": Kind(chunks=(2, 3), time=(2, 2), delay=(0, 0), cloud=(6, 6)).draw,
    "few servers": Kind(servers=1, workers=(2, 3)).draw,
    "one worker": Kind(servers=1, workers=(1, 1)).draw,
    "no cloud": Kind(cloud=None).draw,
    "near cloud": Kind(jobs=(8, 12), cloud=(0, 2)).draw,
    "tight storage": Kind(storage=(3, 4)).draw,
    "no storage": Kind(storage=(0, 2)).draw,
    "one long job": Kind(large=1).draw,
    "all at once": Kind(release=(2, 2)).draw,
    "spread out": Kind(release=(0, 60)).draw,
    "far servers": Kind(delay=(0, 12), cloud=(10, 20)).draw,
    "two types": Kind(types=2, workers=(1, 3)).draw,
    "one chunk": Kind(jobs=(8, 12), chunks=(1, 1), time=(1, 6)).draw,
}  # fmt: skip
"""Kinds of instances by name."""
