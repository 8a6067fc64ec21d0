"""Random instances with the paper's parameters: the simulations, and the test-bed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from formulations.okita.instance import Instance, Integers, workers_beside_server
from formulations.okita.latency import Latencies
from optsched.document import Document, validated

LatencyKind = Literal["exponential", "linear", "piecewise"]

SITE_KINDS = (
    ("P3", 1, 8, 61, 200), ("P3", 4, 32, 244, 400), ("P3", 8, 64, 488, 400),
    ("P2", 1, 4, 61, 200), ("P2", 8, 32, 488, 400), ("P2", 16, 64, 732, 400),
    ("G3", 1, 16, 122, 200), ("G3", 2, 32, 244, 300), ("G3", 4, 64, 488, 400),
)  # fmt: skip
"""Instances of Amazon EC2: family, GPUs, vCPUs, memory (GB), disk (GB)."""

TESTBED_SITE = (1, 12, 16)
"""GPUs, CPUs, memory (GB) of each server of the test-bed."""
TESTBED_CHUNKS = (27, 115, 150)
"""Chunks of the test-bed's three data sets."""

Size = Annotated[int, Field(ge=1, le=100_000)]


class GeneratorOptions(Document):
    """Options of ``generate``."""

    jobs: Size = Field(100, description="jobs I")
    sites: Size = Field(50, description="sites R")
    horizon: Size = Field(150, description="arrivals are uniform on slots 1..T")
    latency: LatencyKind = Field("exponential", description="how lateness costs")
    workload: Literal["simulation", "testbed"] = Field(
        "simulation", description="sites and jobs of the simulations, or of the test-bed"
    )


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance; jobs that the system cannot host are drawn again.

    Jobs come in order of arrival. The order of draws is fixed: sites, bandwidth costs, arrivals,
    then job by job.

    Args:
        rng: source of all randomness.
        options: the fields of ``GeneratorOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(GeneratorOptions, options)
    simulated = chosen.workload == "simulation"
    table = np.array([kind[1:] for kind in SITE_KINDS] if simulated else [TESTBED_SITE])
    capacity = table[rng.integers(0, len(table), chosen.sites)]
    q = np.triu(rng.uniform(0.02, 0.08, (chosen.sites, chosen.sites)), 1)
    released = np.sort(rng.integers(1, chosen.horizon, chosen.jobs, endpoint=True))
    demands = [_demands(rng, capacity, simulated) for _ in range(chosen.jobs)]
    workers, servers = (np.array(part) for part in zip(*demands, strict=True))
    jobs = chosen.jobs
    epochs = rng.integers(20, 30, jobs, endpoint=True)
    if simulated:
        chunks = rng.integers(10, 20, (jobs, chosen.sites), endpoint=True)
        size = rng.uniform(20.0, 60.0, jobs)
    else:
        total = rng.choice(TESTBED_CHUNKS, jobs)
        even = np.full(chosen.sites, 1.0 / chosen.sites)
        chunks = np.array([rng.multinomial(count, even) for count in total])
        size = np.full(jobs, 2.0)
    return Instance.build(
        horizon=chosen.horizon,
        capacity=capacity,
        unit_bandwidth_cost=q + q.T,
        release_slot=released,
        num_chunks=chunks,
        epochs=epochs,
        worker_rate=epochs * rng.integers(5, 15, jobs, endpoint=True),
        chunk_size_mb=size,
        exchange_size_mb=rng.uniform(30.0, 575.0, jobs),
        worker_demand=workers,
        ps_demand=servers,
        latency=draw_latencies(rng, chosen.latency, jobs),
    )


def _demands(
    rng: np.random.Generator, capacity: Integers, simulated: bool
) -> tuple[Integers, Integers]:
    """m_i and n_i that the empty system can host together (A1)."""
    while True:
        if simulated:  # GPUs, vCPUs, memory, disk; the server needs no GPU
            worker = rng.integers([0, 1, 2, 5], [4, 10, 32, 10], endpoint=True)
            server = rng.integers([0, 1, 2, 5], [0, 10, 32, 10], endpoint=True)
        else:
            worker, server = rng.integers([0, 1, 2], [1, 3, 6], (2, 3), endpoint=True)
        if workers_beside_server(capacity, worker, server).max() >= 1:
            return worker, server


def draw_latencies(rng: np.random.Generator, kind: LatencyKind, jobs: int) -> Latencies:
    """f_i with the paper's ranges: tau in [20, 100], b in [50, 200], tau_2 in [300, 400], c 3..5.

    All are drawn whatever the kind, so that one seed gives the same jobs for each.
    """
    return Latencies.build(
        [kind] * jobs,
        rng.uniform(20.0, 100.0, jobs),
        offset=rng.uniform(50.0, 200.0, jobs),
        late=rng.uniform(300.0, 400.0, jobs),
        breakpoint=rng.integers(3, 5, jobs, endpoint=True),
    )
