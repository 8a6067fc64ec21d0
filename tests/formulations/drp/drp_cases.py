"""Instances of the counterexamples, the worked examples, and tiny random ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from formulations.drp.exact.covering_sets import CoveringSets, covering_sets
from formulations.drp.generator import tiny
from formulations.drp.instance import Instance

GB = 1e9
MBIT = 1e6
SHARED = {"jobs": 4, "servers": 4, "most_nodes": 3, "storage": True, "shared_services": True}
"""Of ``instances``: services that several jobs need, and storage too small for all of them."""


def examples(count: int) -> settings:
    """So many examples, the same ones every time."""
    return settings(max_examples=count, deadline=None, derandomize=True)


@st.composite
def instances(draw: st.DrawFn, **options: Any) -> Instance:
    """Contended instances small enough for enumeration."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return tiny(rng, **options)


def system(
    nodes: Sequence[tuple[int, float, Sequence[int]]],
    inbound: Sequence[float],
    *,
    alpha: Sequence[float] | float = 0.0,
    beta: Sequence[float] | float = 0.0,
    **rest: Any,
) -> Instance:
    """Capacities of one and deadlines of one second, so that loads are what is said.

    Args:
        nodes: (job, rate, servers) of each node; its data are one byte unless given.
        inbound: of each server.
        alpha: per job, load of one byte.
        beta: per job.
        rest: further fields.
    """
    jobs = 1 + max(job for job, _, _ in nodes)
    return Instance.build(
        node_job=[job for job, _, _ in nodes],
        node_rate_bps=[rate for _, rate, _ in nodes],
        node_data_bytes=rest.pop("data", 1.0),
        node_servers=[list(servers) for _, _, servers in nodes],
        server_inbound_bps=inbound,
        server_compute_flops=rest.pop("compute", 1.0),
        server_outbound_bps=rest.pop("outbound", 1.0),
        job_deadline_s=np.ones(jobs),
        job_flops_per_batch=alpha,
        job_model_bytes=np.asarray(beta) / 8,
        **rest,
    )


def x1() -> Instance:
    """One server, one node: alpha 0.8, beta 0.01."""
    return system([(0, 1, [0])], [10], alpha=0.8, beta=0.01)


def x2() -> Instance:
    """One server, two jobs of one node each: rounding may admit neither."""
    return system([(0, 2, [0]), (1, 1, [0])], [2], alpha=[0.25, 0.5], beta=1e-9)


def x3() -> Instance:
    """One feasible job that PRUNE rejects."""
    return system([(0, 3, [0, 1]), (0, 3, [0, 1]), (0, 2, [0, 1])], [5, 3])


def x4() -> Instance:
    """PRUNE halves the optimum."""
    both = [0, 1]
    return system([(0, 3, both), (0, 1, both), (0, 2, [0]), (0, 1, both), (1, 2, [1])], [4, 6])


def x5() -> Instance:
    """Two jobs of three nodes, a server for five."""
    return system([(k, 1, [0]) for k in (0, 0, 0, 1, 1, 1)], [5])


def x7(servers: int) -> Instance:
    """As many jobs of one node as identical servers, each job filling one."""
    everywhere = list(range(servers))
    return system(
        [(k, 1, everywhere) for k in everywhere], [1] * servers, alpha=1e-3, beta=1e-3,
        server_storage_bytes=1.0, service_size_bytes=np.ones(servers),
    )  # fmt: skip


def worked_drp() -> Instance:
    """The first worked example: jobs C1, C2 ask for compute, B1, B2 for bandwidth, two servers."""
    return Instance.build(
        node_job=[0, 1, 2, 3],
        node_rate_bps=300 * MBIT,
        node_data_bytes=GB,
        node_servers=[[0, 1]] * 4,
        server_inbound_bps=[1e9, 1e9],
        server_compute_flops=100e9,
        server_outbound_bps=1e9,
        job_deadline_s=[1000.0] * 4,
        job_batch_bytes=10e6,
        job_flops_per_batch=[600e9, 600e9, 20e9, 20e9],
        job_model_bytes=[100e6, 100e6, 750e6, 750e6],
        job_sync_period=[4, 4, 1, 1],
    )


def worked_dsrp() -> Instance:
    """The third worked example: three jobs with a service each, room for one service per server."""
    return Instance.build(
        node_job=[0, 1, 1, 2],
        node_rate_bps=300 * MBIT,
        node_data_bytes=1.0,
        node_servers=[[0], [0, 1], [0, 1], [1]],
        server_inbound_bps=[1e9, 1e9],
        server_compute_flops=1.0,
        server_outbound_bps=1.0,
        job_deadline_s=[1.0] * 3,
        job_flops_per_batch=0.1,
        job_model_bytes=0.02 / 8,
        server_storage_bytes=30 * GB,
        service_size_bytes=[20 * GB] * 3,
    )


def free_sets(instance: Instance) -> CoveringSets:
    """All covering sets, at prices of nothing."""
    return covering_sets(instance, 0 * instance.service_load, np.zeros(instance.num_pairs))
