"""The linear program of the corrected Theorem 3: (4) with processing charged a second time.

At speed 1 + epsilon, kappa = 1 / (1 + epsilon). A chunk costs w_j [(mean age of its work) +
kappa p'_j] at the edge and w_j (Delta_jc + kappa p'^1_j) in the cloud, p' the durations of the
offline machine. Neither (4e) nor parameter servers are kept. If the durations online are whole
slots, sum alpha <= theta (1 + 1/epsilon) LP_kappa, and always
LP_kappa <= max(1, (3 + epsilon) / (2 (1 + epsilon))) OPT(2).
"""

from __future__ import annotations

import numpy as np

from formulations.preemptive.grid import arrivals, edge_end
from formulations.preemptive.instance import Instance, whole_slots
from optsched.errors import InputError
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.problem.methods import Formulation


def lp_kappa(instance: Instance, *, epsilon: float = 1.0) -> Model:
    """``LP_kappa`` in slots, work charged from the start of its slot; identical workers counted.

    Args:
        instance: chunk times are those of the offline machine; release times and delays are
            taken up to whole slots.
        epsilon: speed augmentation of the online machine, > 0.

    Raises:
        InputError: ``epsilon`` is not a finite number > 0.
    """
    if not 0 < epsilon < float("inf"):
        raise InputError.of("epsilon", epsilon, "a finite number > 0")
    kappa = 1 / (1 + epsilon)
    classes = instance.worker_classes
    job, klass = np.nonzero(classes.eligible)
    arrival = arrivals(instance, classes)[job, klass]
    work = instance.num_chunks * instance.chunk_time_slow
    # later than that the cloud is cheaper; without it, all work is done by then
    everything = int(arrival.max(initial=0) + np.ceil(work).sum())
    open_ = np.isfinite(instance.upload_delay_cloud)
    delay = np.where(open_, instance.upload_delay_cloud, 0.0)
    end = np.where(open_, whole_slots(instance.release_time + delay) + 1, everything)
    end = np.minimum(end, edge_end(instance)).astype(np.int64)
    pair, slot = ranges(arrival, end[job])
    job, klass = job[pair], klass[pair]
    model = Model("LP kappa")
    y = model.continuous("y", len(job), upper=classes.size[klass], formula="y_{jk}(t)")
    cloud = model.continuous("cloud", instance.jobs, upper=open_.astype(float), formula="x_j")
    age = slot - instance.release_time[job]
    cost = (age / instance.chunk_time_slow[job] + kappa) * instance.weight[job]
    model.minimize(y @ cost + cloud @ (delay + kappa * instance.chunk_time_fast))
    model.add(
        "4a",
        y.sum_by(job, instance.jobs) + cloud * work >= work,
        formula=r"\sum_{k,t} y_{jk}(t) + D_j p'_j x_j \ge D_j p'_j",
    )
    slots = int(end.max()) + 1
    row, key = compress(klass * slots + slot)
    size = classes.size[key // slots]
    model.add("4b", y.sum_by(row, len(key)) <= size, formula=r"\sum_j y_{jk}(t) \le C_k")
    return model


FORMULATIONS = (
    Formulation("lp_kappa", lp_kappa, "Theorem 3, corrected",
                "(4) less (4e) with the processing time charged again, over 1 + epsilon"),
)  # fmt: skip
