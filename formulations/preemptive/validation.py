"""What an instance may hold: every field that cannot be accepted, named."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import refused
from optsched.errors import FieldProblem

if TYPE_CHECKING:
    from formulations.preemptive.instance import Instance


def problems_of(instance: Instance) -> Iterator[FieldProblem]:
    """The entries of an instance that are out of range or contradict each other."""
    refuse = partial(refused, instance)

    if instance.jobs == 0:
        yield FieldProblem("release_time", [], "at least one job")
    for name in ("release_time", "upload_delay_edge", "chunk_storage"):
        value = getattr(instance, name)
        yield from refuse(name, ~(np.isfinite(value) & (value >= 0)), "a finite number >= 0")
    for name in ("chunk_time_slow", "chunk_time_fast"):
        value = getattr(instance, name)
        yield from refuse(name, ~(np.isfinite(value) & (value > 0)), "a finite number > 0")
    for name in ("upload_delay_cloud", "storage_capacity"):
        yield from refuse(name, ~(getattr(instance, name) >= 0), "a number >= 0, or infinite")
    yield from refuse("num_chunks", instance.num_chunks < 1, "an integer >= 1")
    yield from refuse(
        "chunk_time_fast",
        instance.chunk_time_fast > instance.chunk_time_slow,
        "at most chunk_time_slow of the same job",
    )
    yield from refuse(
        "gang_size",
        (instance.gang_size < 1) | (instance.gang_size > instance.num_chunks),
        "an integer in 1..num_chunks",
    )
    for name in ("worker_server", "ps_server"):
        value = getattr(instance, name)
        yield from refuse(
            name,
            (value < 0) | (value >= instance.edge_servers),
            f"an edge server in 0..{instance.edge_servers - 1}",
        )
    if instance.horizon is not None and instance.horizon < 1:
        yield FieldProblem("horizon", instance.horizon, "an integer >= 1")
    stranded = np.isinf(instance.upload_delay_cloud)
    if stranded.any():  # only then is the table worth building
        stranded &= ~instance.worker_classes.eligible.any(axis=1)
        yield from refuse(
            "upload_delay_cloud", stranded, "finite for a job without an eligible edge worker"
        )
