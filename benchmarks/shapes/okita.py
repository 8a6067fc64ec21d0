"""Small instances of learning over edge sites of kinds that the generator does not draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from formulations.okita.instance import Instance
from formulations.okita.latency import Latencies

OTHER_OPTIMA: set[str] = set()
"""Models with another optimum."""


@dataclass(frozen=True)
class Kind:
    """What a shape says of its instances; ranges include their ends."""

    jobs: tuple[int, int] = (3, 4)
    sites: int = 3
    resources: int = 2
    capacity: tuple[int, int] = (6, 9)
    """Of each resource at each site."""
    tight: int | None = None
    """The resource of which there is as much as one worker and one server take."""
    release: tuple[int, int] = (1, 3)
    chunks: tuple[int, int] = (0, 3)
    """At each site."""
    epochs: tuple[int, int] = (1, 3)
    rate: tuple[int, int] = (1, 3)
    size: tuple[int, int] = (1, 9)
    """Of a chunk, and of what is exchanged; MB."""
    price: tuple[int, int] = (1, 5)
    """Of a MB between sites."""
    latency: tuple[int, int] = (5, 40)
    """Cost of a slot."""
    identical: bool = False
    """Whether all jobs are as the first, and all sites as the first."""
    large: int = 0
    """Jobs with five times the epochs."""

    def draw(self, rng: Generator) -> Instance:
        """Draw an instance."""

        def numbers(span: tuple[int, int], *shape: int) -> Any:
            return rng.integers(*span, shape, endpoint=True)

        jobs, sites, resources = int(numbers(self.jobs)), self.sites, self.resources
        capacity = numbers(self.capacity, sites, resources)
        worker, server = numbers((1, 2), jobs, resources), numbers((0, 2), jobs, resources)
        if self.tight is not None:
            capacity[:, self.tight], worker[:, self.tight], server[:, self.tight] = 2, 1, 1
        price = numbers(self.price, sites, sites)
        np.fill_diagonal(price, 0)
        chunks = numbers(self.chunks, jobs, sites)
        chunks[chunks.sum(axis=1) == 0, 0] = 1
        epochs = numbers(self.epochs, jobs)
        epochs[: self.large] *= 5
        # so that a worker's chunk fits beside the server at once
        rate = np.maximum(numbers(self.rate, jobs), -(-epochs // 2))
        columns = {
            "release_slot": numbers(self.release, jobs), "num_chunks": chunks, "epochs": epochs,
            "worker_rate": rate, "chunk_size_mb": numbers(self.size, jobs),
            "exchange_size_mb": numbers(self.size, jobs), "worker_demand": worker,
            "ps_demand": server,
        }  # fmt: skip
        weight = numbers(self.latency, jobs).astype(float)
        if self.identical:
            columns = {name: np.repeat(c[:1], jobs, axis=0) for name, c in columns.items()}
            weight, capacity = np.repeat(weight[:1], jobs), np.repeat(capacity[:1], sites, axis=0)
            price = np.full((sites, sites), price[0, 1]) * (1 - np.eye(sites, dtype=int))
        return Instance.build(
            capacity=capacity,
            unit_bandwidth_cost=price,
            latency=Latencies.build(kind=["linear"] * jobs, weight=weight),
            **columns,
        )


SHAPES: dict[str, Callable[[Generator], Instance]] = {
    "identical jobs": Kind(identical=True).draw,
    "ties": Kind(size=(1, 1), price=(1, 1), latency=(5, 5), epochs=(1, 1), rate=(1, 1)).draw,
    "few sites": Kind(jobs=(4, 5), sites=2).draw,
    "one site": Kind(jobs=(4, 5), sites=1).draw,
    "first resource tight": Kind(tight=0).draw,
    "second resource tight": Kind(tight=1).draw,
    "one long job": Kind(large=1).draw,
    "all at once": Kind(release=(2, 2)).draw,
    "spread out": Kind(release=(1, 30)).draw,
    "few chunks": Kind(jobs=(5, 6), chunks=(0, 1)).draw,
    "dear exchange": Kind(price=(10, 50), latency=(1, 3)).draw,
    "dear slots": Kind(price=(0, 1), latency=(100, 900)).draw,
    "five sites": Kind(jobs=(2, 3), sites=5, chunks=(0, 2)).draw,
}
"""Kinds of instances by name."""
