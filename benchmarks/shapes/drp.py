"""Small systems for DRP and DSRP of kinds that the generators of the package do not draw.

All have 3 to 14 jobs. A capacity is given as a multiple of its even share: what all nodes ask for
when each asks one server, over the number of servers. Below 1 not all jobs fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from formulations.drp.instance import Instance

OTHER_OPTIMA = {"drp_eps", "drp_lin", "dsrp_eps", "dsrp_lin"}
"""Models with a schedule whose optimum is another one: restrictions of (5) and (22)."""

LOOSE, TIGHT = 3.0, 0.7
"""Capacities over even shares."""


@dataclass(frozen=True)
class Kind:
    """What a shape says of its systems; ranges include their ends."""

    jobs: tuple[int, int] = (6, 11)
    nodes: tuple[int, int] = (2, 4)
    """Data nodes of a job."""
    servers: tuple[int, int] = (3, 5)
    reach: float = 0.6
    """Share of the servers that a node reaches."""
    inbound: float = LOOSE
    compute: float = LOOSE
    outbound: float = LOOSE
    storage: float = LOOSE
    spread: float = 2.0
    """Largest amount over the smallest, of anything."""
    services: int | None = None
    """For all jobs together; None: one for each."""
    large: int = 0
    """Nodes of the first job, if not 0."""
    neighbours: bool = False
    """Whether a node reaches two servers that stand side by side, and no other."""

    def draw(self, rng: Generator) -> Instance:
        """Draw a system."""
        jobs, servers = _whole(rng, self.jobs), _whole(rng, self.servers)
        nodes = rng.integers(*self.nodes, jobs, endpoint=True)
        nodes[0] = self.large or nodes[0]
        node_job = np.repeat(np.arange(jobs), nodes)
        service = np.arange(jobs) if self.services is None else rng.integers(0, self.services, jobs)
        rate, data, flops, model, size, deadline = (
            rng.uniform(1.0, self.spread, n) for n in (len(node_job), len(node_job), *[jobs] * 4)
        )
        amount = data / deadline[node_job]
        asked = {
            "inbound": (rate.sum(), self.inbound),
            "compute": ((amount * flops[node_job]).sum(), self.compute),
            "outbound": ((amount * model[node_job]).sum(), self.outbound),
            "storage": (size[service[node_job]].sum(), self.storage),
        }
        capacity = {
            name: rng.uniform(1.0, self.spread, servers) / (1.0 + self.spread) * 2 * share
            * total / servers
            for name, (total, share) in asked.items()
        }  # fmt: skip
        return Instance.build(
            node_job=node_job,
            node_rate_bps=rate,
            node_data_bytes=data,
            node_servers=self._reach(rng, len(node_job), servers),
            job_flops_per_batch=flops,
            job_model_bytes=model / 8,
            job_deadline_s=deadline,
            job_service=service,
            server_inbound_bps=capacity["inbound"],
            server_compute_flops=capacity["compute"],
            server_outbound_bps=capacity["outbound"],
            server_storage_bytes=np.maximum(capacity["storage"], size.min()),
            service_size_bytes=size,
        )

    def _reach(self, rng: Generator, nodes: int, servers: int) -> list[list[int]]:
        first = rng.integers(0, servers, nodes)
        if self.neighbours:
            return [sorted({at, (at + 1) % servers}) for at in first.tolist()]
        reach = rng.random((nodes, servers)) < self.reach
        reach[np.arange(nodes), first] = True
        return [np.flatnonzero(row).tolist() for row in reach]


def _whole(rng: Generator, ends: tuple[int, int]) -> int:
    return int(rng.integers(*ends, endpoint=True))


def of_ties(rng: Generator) -> Instance:
    """All amounts are 1, 2 or 3, and capacities whole multiples of them."""
    jobs, servers = _whole(rng, (6, 11)), _whole(rng, (3, 5))
    node_job = np.repeat(np.arange(jobs), rng.integers(2, 4, jobs, endpoint=True))
    reach = Kind()._reach(rng, len(node_job), servers)
    amounts: dict[str, NDArray[Any]] = {
        name: rng.integers(1, 3, size, endpoint=True)
        for name, size in (
            ("node_rate_bps", len(node_job)),
            ("node_data_bytes", len(node_job)),
            ("job_flops_per_batch", jobs),
            ("service_size_bytes", jobs),
        )
    }
    return Instance.build(
        node_job=node_job,
        node_servers=reach,
        job_model_bytes=amounts["job_flops_per_batch"] / 8,
        job_deadline_s=np.ones(jobs),
        server_inbound_bps=rng.integers(6, 12, servers),
        server_compute_flops=rng.integers(16, 32, servers),
        server_outbound_bps=rng.integers(16, 32, servers),
        server_storage_bytes=rng.integers(4, 9, servers),
        **amounts,
    )


SHAPES: dict[str, Callable[[Generator], Instance]] = {
    "ties": of_ties,
    "few servers": Kind(jobs=(8, 14), servers=(2, 2), storage=TIGHT, inbound=1.0).draw,
    "tight inbound": Kind(inbound=TIGHT).draw,
    "tight compute": Kind(compute=1.0).draw,
    "tight outbound": Kind(outbound=1.0).draw,
    "tight storage": Kind(storage=TIGHT).draw,
    "all tight": Kind(inbound=1.0, compute=1.5, outbound=1.5, storage=TIGHT).draw,
    "identical jobs": Kind(nodes=(3, 3), reach=1.0, spread=1.0, storage=TIGHT, inbound=1.0).draw,
    "one large job": Kind(large=14, storage=TIGHT, inbound=TIGHT).draw,
    "jobs of one node": Kind(jobs=(9, 14), nodes=(1, 1), inbound=TIGHT, storage=TIGHT).draw,
    "shared services": Kind(services=3, storage=0.4, inbound=1.0).draw,
    "side by side": Kind(servers=(4, 6), neighbours=True, inbound=1.0, storage=TIGHT).draw,
    "all in reach": Kind(reach=1.0, storage=0.4).draw,
}
"""Kinds of systems by name."""
