"""Problem (11) and ``LP_kappa``: what runs at a higher speed than the offline machine's prove.

(11) is (6) with every rate divided by 1 + epsilon. Its rows read
alpha' <= w_j (t - r_j) + (1 + epsilon) p^on_jw beta'_w(t), with p^on the duration online.

``LP_kappa`` is the linear program of the corrected Theorem 3: (4) with processing charged a second
time, kappa = 1 / (1 + epsilon). A chunk costs w_j [(mean age of its work) + kappa p'_j] at the edge
and w_j (Delta_jc + kappa p'^1_j) in the cloud, p' the durations of the offline machine. Neither
(4e) nor parameter servers are kept. If the durations online are whole slots,
sum alpha <= theta (1 + 1/epsilon) LP_kappa, and always
LP_kappa <= max(1, (3 + epsilon) / (2 (1 + epsilon))) OPT(2).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from formulations.preemptive.instance import Instance, whole_slots
from formulations.preemptive.problem_4 import Rates
from formulations.preemptive.problem_6 import dual_of_4
from formulations.preemptive.time_indexed.grid import arrivals, edge_end
from optsched.errors import InputError
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation


def at_offline_speed(instance: Instance, epsilon: float) -> Instance:
    """The instance whose run at speed 1 + epsilon has the chunk times given.

    Args:
        instance: chunk times are of the online machine.
        epsilon: speed augmentation.

    Raises:
        InputError: ``epsilon`` is not a finite number >= 0.
    """
    if not 0 <= epsilon < float("inf"):
        raise InputError.of("epsilon", epsilon, "a finite number >= 0")
    return replace(
        instance,
        chunk_time_slow=instance.chunk_time_slow * (1 + epsilon),
        chunk_time_fast=instance.chunk_time_fast * (1 + epsilon),
        jobs_document=None,
    )


def problem_11(
    instance: Instance,
    *,
    epsilon: float = 0.0,
    rates: Rates = "fast",
    chunk_parallelism: bool = True,
) -> Model:
    """(11): as (6), rates divided by 1 + epsilon.

    Args:
        instance: chunk times are of the online machine, as in (11a); for an instance that
            holds those of the offline machine, (11) is ``problem_6`` itself. Times are taken up
            to whole slots.
        epsilon: speed augmentation of the online machine.
        rates: "fast" or "slow": the one speed of a job.
        chunk_parallelism: keep the dual variable of (4e), as in ``problem_6``.

    Raises:
        InputError: ``epsilon`` is out of range, or ``rates`` is neither "fast" nor "slow".
    """
    return dual_of_4(
        at_offline_speed(instance, epsilon),
        "problem (11)",
        "11a",
        rates=rates,
        chunk_parallelism=chunk_parallelism,
    )


def lp_kappa(instance: Instance, *, epsilon: float = 1.0) -> Model:
    """``LP_kappa`` in slots, work charged from the start of its slot; identical workers counted.

    Args:
        instance: with the chunk times of the offline machine; release times and delays are taken
            up to whole slots.
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
        formula=ours(r"\sum_{k,t} y_{jk}(t) + D_j p'_j x_j \ge D_j p'_j"),
    )
    slots = int(end.max()) + 1
    row, key = compress(klass * slots + slot)
    size = classes.size[key // slots]
    model.add("4b", y.sum_by(row, len(key)) <= size, formula=ours(r"\sum_j y_{jk}(t) \le C_k"))
    return model


FORMULATIONS = (
    Formulation("problem_11", problem_11, "problem (11)",
                "(6) with every rate divided by 1 + epsilon: the dual of the offline machine",
                equations={"11": OBJECTIVE, "11a": "11a", "11b": "alpha, beta"}),
    Formulation("lp_kappa", lp_kappa, "Theorem 3, corrected",
                "(4) less (4e) with the processing time charged again, over 1 + epsilon"),
)  # fmt: skip
