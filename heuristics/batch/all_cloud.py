"""ALL-CLOUD: the trivial policy that every figure needs beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from formulations.batch.instance import Instance
from formulations.batch.schedule import Schedule
from heuristics.batch.fifo import FifoScheduler
from optsched.errors import InputError


def all_cloud(instance: Instance, rng: np.random.Generator) -> Schedule:
    """Every job entirely in the cloud, in order of arrival where it has limits.

    Args:
        instance: jobs and servers, the cloud among them.
        rng: not drawn from.

    Raises:
        InputError: there is no cloud, or it cannot serve a job alone.
    """
    cloud = instance.cloud_index
    if cloud is None:
        raise InputError.of("cloud_index", cloud, "an instance with a cloud")
    there = (np.arange(instance.servers) == cloud)[:, None]
    system = replace(
        instance.system,
        worker_capacity=np.where(there, instance.worker_capacity, 0.0),
        ps_capacity=np.where(there, instance.ps_capacity, 0.0),
    )
    scheduler = FifoScheduler(system)
    for job in instance.arrivals():
        if min(system.worker_capacity[cloud, job.worker_type],
               system.ps_capacity[cloud, job.ps_type]) < 1:  # fmt: skip
            raise InputError.of("servers", cloud, f"a cloud that can serve job {job.id}")
        scheduler.arrive(job)
    return scheduler.schedule()
