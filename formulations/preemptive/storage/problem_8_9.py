"""Problems (8) and (9): average fractional flow time, (4), with storage, and the dual.

(9) is not the dual of relaxed (8), which would have a variable for the link between where a chunk
is stored and where it is trained. It is the dual of a weaker program: (4) less (4e), in which a
chunk takes storage only in the slots in which it is trained. That is a relaxation of (8), so (9)
is a valid bound.
"""

from __future__ import annotations

import numpy as np

from formulations.preemptive.check_storage import StorageRelease
from formulations.preemptive.instance import CLOUD, Instance, whole_slots
from formulations.preemptive.problem_4 import (
    BEFORE_UPLOAD,
    F_JD,
    IN_CLOUD,
    Rates,
    fast_cloud_mean_age,
    problem_4,
    refuse_unknown,
    worker_cells,
)
from formulations.preemptive.problem_6 import dual_of_4
from formulations.preemptive.storage.chunks import STORED, ChunkCells, chunk_cells, stored_chunks
from formulations.preemptive.time_indexed.grid import build_grid, edge_end, fast_completion
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE
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
    model.minimize(model["y"] @ (age / work) + fast, formula=F_JD)
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


def problem_9(
    instance: Instance, *, rates: Rates = "fast", chunk_parallelism: bool = False
) -> Model:
    """(9): maximise sum alpha - sum beta - sum U eta; rows from the end of the upload on.

    Args:
        instance: times are taken up to whole slots.
        rates: "fast" or "slow": the one speed of a job. At the fast one it bounds (8) from below.
        chunk_parallelism: add the dual variable of (4e), which the paper leaves out.

    Raises:
        InputError: ``rates`` is neither "fast" nor "slow".
    """
    return dual_of_4(
        instance,
        "problem (9)",
        "9a",
        rates=rates,
        chunk_parallelism=chunk_parallelism,
        storage=True,
    )


def problem_8_while_training(
    instance: Instance, *, rates: Rates = "fast", chunk_parallelism: bool = False
) -> Model:
    """The linear program whose dual is ``problem_9``: storage is taken only while training.

    Arguments and errors are the same as of ``problem_9``.
    """
    refuse_unknown(rates, ("fast", "slow"))
    model = problem_4(instance, rates=rates, chunk_parallelism=chunk_parallelism, integer=False)
    grid = build_grid(instance, hub=False, slow_cloud=rates == "slow")
    job, worker, slot = worker_cells(grid)
    owner, _ = ranges(np.zeros(len(job)), instance.num_chunks[job])
    job, worker, slot = job[owner], worker[owner], slot[owner]
    edge = np.flatnonzero(worker != CLOUD)
    server = instance.worker_server[worker[edge]]
    kept = edge[np.isfinite(instance.storage_capacity[server])]
    horizon = int(grid.end_slot.max()) + 1
    row, keys = compress(instance.worker_server[worker[kept]] * horizon + slot[kept])
    taken = model["y"][kept] * instance.chunk_storage[job[kept]]
    model.add(
        "7b",
        taken.sum_by(row, len(keys)) <= instance.storage_capacity[keys // horizon],
        formula=ours(r"\sum_{j,d} \sum_{w \in s} u_j y_{jdw}(t) \le U_s"),
    )
    return model


_NO_SERVERS = "Left out: the cloud's parameter servers serve from release on, enough for all jobs."

FORMULATIONS = (
    Formulation("problem_8", problem_8, "problem (8)",
                "average fractional flow time; every chunk, worker and slot named",
                equations={
                    "8": OBJECTIVE, "4a": "4a", "4b": "4b", "4c": _NO_SERVERS, "4d": _NO_SERVERS,
                    "4e": "4e", "4f": IN_CLOUD,
                    "4g": "`place`: a job with zeta_j = 1 stores no chunk on a server, and `7a` "
                    "trains none there.",
                    "4h": BEFORE_UPLOAD, **STORED,
                }),
    Formulation("problem_8_while_training", problem_8_while_training, "problem (9), its primal",
                "linear relaxation of (8) that charges storage only while a chunk is trained"),
    Formulation("problem_9", problem_9, "problem (9)",
                "the dual with prices of storage, rows from the end of the upload on",
                equations={"9": OBJECTIVE, "9a": "9a", "9b": "alpha, beta, eta"}),
)  # fmt: skip
