"""Random instances whose servers have room for so many chunks only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from formulations.preemptive.generator import GeneratorOptions, Positive, generate
from formulations.preemptive.instance import Instance
from optsched.instances.document import validated

CHUNK_STORAGE = (0.5, 2.0)
"""u_j, GB: uniform; the paper gives no sizes."""


class StorageOptions(GeneratorOptions):
    """Options of ``generate_with_storage``."""

    room: Positive = Field(
        4.0, description="chunks of mean size that fit on a server, per worker of it"
    )


def generate_with_storage(rng: np.random.Generator, **options: Any) -> Instance:
    """An instance of ``generator.generate`` with chunk sizes and storage capacities.

    A server's capacity U_s grows with its workers. One seed gives the same jobs as ``generate``.

    Args:
        rng: source of all randomness.
        options: the fields of ``StorageOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(StorageOptions, options)
    instance = generate(rng, **{k: v for k, v in options.items() if k != "room"})
    size = rng.uniform(*CHUNK_STORAGE, instance.jobs).round(3)
    workers = np.bincount(instance.worker_server, minlength=instance.edge_servers)
    capacity = workers.astype(np.float64) * (chosen.room * sum(CHUNK_STORAGE) / 2)
    documents = instance.jobs_document
    if documents is not None:
        documents = tuple(
            job.model_copy(update={"chunk_storage": u})
            for job, u in zip(documents, size.tolist(), strict=True)
        )
    return replace(instance, chunk_storage=size, storage_capacity=capacity, jobs_document=documents)
