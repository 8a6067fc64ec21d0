"""Random instances with the paper's parameters: the simulations, and the test-bed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from formulations.okita.instance import Instance, Integers, workers_beside_server
from formulations.okita.latency import Latencies
from optsched.instances.document import Document, validated
from optsched.instances.streams import integer_columns, streams

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

ROUNDS = (5, 15)
"""Chunks that a worker goes through in a slot, all their epochs."""

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
    site_kinds: Literal["mix", "largest"] = Field(
        "mix", description="simulation: sites drawn from all kinds, or the largest of each family"
    )


def generate(rng: np.random.Generator, **options: Any) -> Instance:
    """Draw an instance; jobs that the system cannot host are drawn again.

    Jobs come in order of arrival. Jobs and sites come from separate random streams: one seed gives
    the first sites whatever their number, fewer jobs are some of more, and the same jobs meet
    more sites, except those that fewer cannot host.

    Args:
        rng: source of all randomness.
        options: the fields of ``GeneratorOptions``.

    Raises:
        InputError: an option is unknown or out of range.
    """
    chosen = validated(GeneratorOptions, options)
    simulated = chosen.workload == "simulation"
    jobs, sites = chosen.jobs, chosen.sites
    own = iter(streams(rng, 16))
    table = np.array([TESTBED_SITE] if not simulated else _kinds(chosen.site_kinds))
    capacity = table[next(own).integers(0, len(table), sites)]
    q = np.zeros((sites, sites))
    for site, of_site in enumerate(streams(next(own), sites)):
        q[:site, site] = of_site.uniform(0.02, 0.08, site)
    released = next(own).integers(1, chosen.horizon, jobs, endpoint=True)
    first = np.argsort(released, kind="stable")
    demands = [_demands(of_job, capacity, simulated) for of_job in streams(next(own), jobs)]
    workers, servers = (np.array(part)[first] for part in zip(*demands, strict=True))
    epochs = next(own).integers(20, 30, jobs, endpoint=True)[first]
    if simulated:
        chunks = integer_columns(next(own), (10, 20), jobs, sites)[first]
        size = next(own).uniform(20.0, 60.0, jobs)[first]
    else:
        total = next(own).choice(TESTBED_CHUNKS, jobs)
        even = np.full(sites, 1.0 / sites)
        chunks = next(own).multinomial(total, even)[first]
        size = np.full(jobs, 2.0)
    return Instance.build(
        horizon=chosen.horizon,
        capacity=capacity,
        unit_bandwidth_cost=q + q.T,
        release_slot=released[first],
        num_chunks=chunks,
        epochs=epochs,
        worker_rate=epochs * next(own).integers(*ROUNDS, jobs, endpoint=True)[first],
        chunk_size_mb=size,
        exchange_size_mb=next(own).uniform(30.0, 575.0, jobs)[first],
        worker_demand=workers,
        ps_demand=servers,
        latency=draw_latencies(next(own), chosen.latency, first),
    )


def repair(document: dict[str, Any]) -> dict[str, Any]:
    """A like file that ``generate`` could have made: prices symmetric, whole chunks in a slot."""
    price = np.array(document["unit_bandwidth_cost"])
    jobs = []
    for job in document["jobs"]:
        epochs = job.get("epochs", 1)
        chunks = min(max(round(job["worker_rate"] / epochs), ROUNDS[0]), ROUNDS[1])
        jobs.append(job | {"worker_rate": epochs * chunks})
    price = np.triu(price, 1)
    return document | {"unit_bandwidth_cost": (price + price.T).tolist(), "jobs": jobs}


def strange(instance: Instance, options: Mapping[str, Any]) -> list[str]:
    """What ``generate`` could not have made: sites of no kind, uneven prices, odd rates."""
    chosen = validated(GeneratorOptions, options)
    kinds = [TESTBED_SITE] if chosen.workload == "testbed" else _kinds(chosen.site_kinds)
    price = instance.unit_bandwidth_cost
    chunks, rest = np.divmod(instance.rate_numerator, instance.epochs)
    odd = (rest > 0) | (chunks < ROUNDS[0]) | (chunks > ROUNDS[1])
    odd |= instance.rate_denominator != 1
    sites = map(tuple, instance.capacity.tolist())
    return [
        *(f"capacity[{r}]" for r, site in enumerate(sites) if site not in kinds),
        *(f"unit_bandwidth_cost[{r}][{s}]" for r, s in np.argwhere(price != price.T)),
        *(f"jobs[{i}].worker_rate" for i in np.flatnonzero(odd)),
    ]


def _kinds(of: Literal["mix", "largest"]) -> list[tuple[int, int, int, int]]:
    """What sites are drawn from; the kinds of a family stand in ascending order."""
    largest = {family: size for family, *size in SITE_KINDS}
    rows = [size for _, *size in SITE_KINDS] if of == "mix" else list(largest.values())
    return [(row[0], row[1], row[2], row[3]) for row in rows]


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


def draw_latencies(rng: np.random.Generator, kind: LatencyKind, first: Integers) -> Latencies:
    """f_i with the paper's ranges: tau in [20, 100], b in [50, 200], tau_2 in [300, 400], c 3..5.

    All are drawn whatever the kind, so that one seed gives the same jobs for each.

    Args:
        rng: source of all randomness.
        kind: of every job.
        first: the jobs in order, as they were drawn.
    """
    jobs, own = len(first), iter(streams(rng, 4))
    return Latencies.build(
        [kind] * jobs,
        next(own).uniform(20.0, 100.0, jobs)[first],
        offset=next(own).uniform(50.0, 200.0, jobs)[first],
        late=next(own).uniform(300.0, 400.0, jobs)[first],
        breakpoint=next(own).integers(3, 5, jobs, endpoint=True)[first],
    )
