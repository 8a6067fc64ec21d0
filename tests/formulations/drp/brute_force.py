"""Optima of tiny instances by enumeration, written from the constraints alone.

Whether a server's jobs can share its resources is decided by a one-dimensional search over how
their deadlines are split, not by the closed formula.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from formulations.drp.instance import Instance

Test = Callable[[list[float], list[float]], bool]
"""(A_k D_jk / tau_k / r^c_j of each job, B_k D_jk / tau_k / r^b_j of each) -> whether they fit."""


def exact(a: list[float], b: list[float]) -> bool:
    """Shares of the deadline exist: some s serves all, as the stationarity conditions say."""
    if sum(a) > 1 + 1e-9 or sum(b) > 1 + 1e-9:
        return False
    c = [np.sqrt(u * v) for u, v in zip(a, b, strict=True)]
    if sum(c) == 0:
        return True
    low, high = 1e-9, 1e9
    for _ in range(200):  # compute grows with s, bandwidth falls
        s = np.sqrt(low * high)
        if sum(a) + s * sum(c) <= 1 + 1e-9:
            low = s
        else:
            high = s
    return sum(b) + sum(c) / low <= 1 + 1e-7


def fixed_share(share: float) -> Test:
    """(12) and (13)."""
    return lambda a, b: sum(a) <= 1 - share + 1e-9 and sum(b) <= share + 1e-9


def linear(a: list[float], b: list[float]) -> bool:
    """[LIN]."""
    return sum(a) + sum(b) <= 1 + 1e-9


def optimum(instance: Instance, *, services: bool = False, fits: Test = exact) -> int:
    """Most jobs that can be admitted."""
    best = 0
    for admit in product([False, True], repeat=instance.num_jobs):
        if sum(admit) > best and _feasible(instance, admit, services, fits):
            best = sum(admit)
    return best


def _feasible(instance: Instance, admit: tuple[bool, ...], services: bool, fits: Test) -> bool:
    nodes = [i for i in range(instance.num_data_nodes) if admit[instance.node_job[i]]]
    reach = instance.node_servers()
    return any(
        all(
            _server_holds(instance, j, [i for i, s in zip(nodes, where, strict=True) if s == j],
                          services, fits)
            for j in set(where)
        )
        for where in product(*(reach[i] for i in nodes))
    )  # fmt: skip


def _server_holds(instance: Instance, j: int, nodes: list[int], services: bool, fits: Test) -> bool:
    if instance.node_rate_bps[nodes].sum() > instance.server_inbound_bps[j] * (1 + 1e-9):
        return False
    jobs = sorted({int(instance.node_job[i]) for i in nodes})
    if services:
        held = {int(instance.job_service[k]) for k in jobs}
        if sum(instance.service_size_bytes[s] for s in held) > instance.server_storage_bytes[j]:
            return False
    a, b = [], []
    for k in jobs:
        data = sum(instance.node_data_bytes[i] for i in nodes if instance.node_job[i] == k)
        batches = instance.job_epochs[k] * data / instance.job_batch_bytes[k]
        deadline = instance.job_deadline_s[k]
        work = batches * instance.job_flops_per_batch[k] / deadline
        sent = 8 * batches / instance.job_sync_period[k] * instance.job_model_bytes[k] / deadline
        a.append(work / instance.server_compute_flops[j])
        b.append(sent / instance.server_outbound_bps[j])
    return fits(a, b)
