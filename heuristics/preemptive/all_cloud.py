"""ALL-CLOUD: the trivial policy every figure needs beside A_online."""

from __future__ import annotations

import numpy as np

from formulations.preemptive.instance import Instance
from heuristics.preemptive.dispatch import all_in_cloud
from heuristics.preemptive.engine.workers import WorkerPool
from heuristics.preemptive.online_run import Decisions, OnlineRun, assemble
from heuristics.preemptive.rules import Rules
from optsched.errors import FieldProblem, InputError
from optsched.problem.calls import NonNegative


def all_cloud(
    instance: Instance, rng: np.random.Generator, *, epsilon: NonNegative = 0.0
) -> OnlineRun:
    """Every job entirely in the cloud: c_j - r_j = Delta_jc + p^1_j / (1 + epsilon).

    Args:
        instance: every job must be allowed into the cloud.
        rng: never drawn from.
        epsilon: speed augmentation, >= 0.

    Raises:
        InputError: a job with an infinite ``upload_delay_cloud``, or ``epsilon`` out of range.
    """
    barred = np.flatnonzero(np.isinf(instance.upload_delay_cloud))
    if len(barred):
        allowed = "finite: ALL-CLOUD sends every job to the cloud, and this one is barred from it"
        raise InputError(
            [FieldProblem(f"upload_delay_cloud[{j}]", np.inf, allowed) for j in barred.tolist()]
        )
    rules = Rules(epsilon=epsilon)
    decisions = Decisions()
    for j in range(instance.jobs):
        job = instance.job(j)
        decisions.add(job, all_in_cloud(job, rules))
    return assemble(
        decisions.decided(),
        WorkerPool(0, residual=False).finish(),
        rules=rules,
        parameter_servers=instance.parameter_servers,
        rng=rng,
    )
