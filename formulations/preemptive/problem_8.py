"""Problem (8): average fractional flow time, (4), with storage."""

from __future__ import annotations

import numpy as np

from formulations.preemptive.grid import edge_end, fast_completion
from formulations.preemptive.instance import Instance, whole_slots
from formulations.preemptive.problem_4 import fast_cloud_mean_age
from formulations.preemptive.storage.check import StorageRelease
from formulations.preemptive.storage.chunks import ChunkCells, chunk_cells, stored_chunks
from optsched.model import Model
from optsched.problem.methods import Formulation


def problem_8(instance: Instance, *, storage_release: StorageRelease = "job") -> Model:
    """(8): average fractional flow time, every chunk stored on one server and trained there.

    Args:
        instance: times are taken up to whole slots, and so are the chunk times that weigh work.
        storage_release: until when a chunk takes storage.

    Raises:
        InputError: ``storage_release`` is unknown.
    """
    cells = _cells(instance)
    model, _ = stored_chunks(cells, "problem (8)", storage_release)
    job = cells.chunk_job[cells.cell_chunk]
    age = cells.cell_slot - cells.instance.release_time[job]
    work = cells.instance.work_slow[job]
    fast = model["fast"] @ fast_cloud_mean_age(cells.instance)
    model.minimize(model["y"] @ (age / work) + fast)
    return model


def _cells(instance: Instance) -> ChunkCells:
    """Room for all work after the last arrival; (4) rewards early work in what ends late."""
    instance = instance.rounded()
    cloud = instance.upload_delay_cloud
    delay = np.maximum(
        instance.upload_delay_edge.max(axis=1, initial=0), np.where(np.isinf(cloud), 0, cloud)
    )
    arrival = whole_slots(instance.release_time + delay)
    end = int(arrival.max()) + int(instance.num_chunks @ instance.chunk_time_slow)
    if instance.horizon is not None:
        end = min(end, instance.horizon + 1)
    ends = np.minimum(end, edge_end(instance)).astype(np.int64)
    ends = np.maximum(ends, whole_slots(instance.release_time))
    return chunk_cells(instance, ends, fast_completion(instance))


FORMULATIONS = (
    Formulation("problem_8", problem_8, "problem (8)",
                "average fractional flow time; every chunk, worker and slot named"),
)  # fmt: skip
