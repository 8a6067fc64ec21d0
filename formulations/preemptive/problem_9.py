"""Problem (9): the dual with storage, and the program it is the dual of.

(9) is not the dual of relaxed (8), which would have a variable for the link between where a chunk
is stored and where it is trained. It is the dual of a weaker program: (4) less (4e), in which a
chunk takes storage only in the slots in which it is trained. That is a relaxation of (8), so (9)
is a valid bound.
"""

from __future__ import annotations

import numpy as np

from formulations.preemptive.grid import build_grid
from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.problem_4 import Rates, problem_4, refuse_unknown, worker_cells
from formulations.preemptive.problem_6 import dual_of_4
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.problem.methods import Formulation


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

    Arguments and errors are those of ``problem_9``.
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
        formula=r"\sum_{j,d} \sum_{w \in s} u_j y_{jdw}(t) \le U_s",
    )
    return model


FORMULATIONS = (
    Formulation("problem_8_while_training", problem_8_while_training, "problem (9), its primal",
                "linear relaxation of (8) that charges storage only while a chunk is trained"),
    Formulation("problem_9", problem_9, "problem (9)",
                "the dual with prices of storage, rows from the end of the upload on"),
)  # fmt: skip
