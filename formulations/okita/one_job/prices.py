"""The terms on which a job is planned: no prices on the empty system, or duals of capacities."""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers, workers_beside_server
from formulations.okita.one_job.terms import JobTerms


def free_terms(instance: Instance, i: int, slots: int, room: Integers | None = None) -> JobTerms:
    """Terms of a job that pays for bandwidth and latency only.

    Args:
        instance: the system.
        i: the job.
        slots: a_i and so many slots in all.
        room: free resources, shape (slots, sites, resources); None: the empty system.
    """
    free = instance.capacity[None] if room is None else room
    most = workers_beside_server(free, instance.worker_demand[i], instance.ps_demand[i])
    if room is None:
        most = np.repeat(most, slots, axis=0)
    talk = instance.unit_bandwidth_cost.T * instance.exchange_size_mb[i]  # [server, worker]
    return JobTerms(
        flow_cost=instance.latency.of_slots(i, slots).copy(),  # compiled for arrays that may change
        worker_price=np.repeat(talk[None], slots, axis=0),
        server_price=np.where(most[:, :, 0] >= 0, 0.0, np.inf),
        least=np.zeros((slots, instance.sites), dtype=np.int64),
        most=np.clip(most, 0, instance.useful_workers[i]),
        must_run=np.zeros(slots, dtype=bool),
    )


def priced_terms(base: JobTerms, worker: Floats, server: Floats, weight: float) -> JobTerms:
    """The same with prices of what is limited.

    Args:
        base: terms without prices.
        worker: what a worker pays, shape (slots, sites), non-negative, money.
        server: what the server pays.
        weight: how much bandwidth and latency count.
    """
    return JobTerms(
        flow_cost=weight * base.flow_cost,
        worker_price=weight * base.worker_price + worker[:, None, :],
        server_price=base.server_price + server,
        least=base.least,
        most=base.most,
        must_run=base.must_run,
        transport_weight=weight,
    )
