"""The relaxation of DSRP that R-DSR rounds, and what its point says resources cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.instance import Booleans, Floats, Instance
from formulations.drp.lp1_lp2 import lp2
from formulations.drp.problem_p3_p5 import COARSE, soc_relaxation
from formulations.drp.residual_capacity import Mode
from optsched.errors import ModelError
from optsched.solve import solve


class PricedRelaxation(NamedTuple):
    """The relaxation's point and the costs it implies."""

    value: float
    x: Floats
    """Shape (pairs,)."""
    admit: Floats
    """Shape (jobs,)."""
    cost: Floats
    """c_ij, shape (pairs,)."""
    service_price: Floats
    """price_o_j, shape (servers,)."""


def relax(instance: Instance, mode: Mode, comm_share: float) -> PricedRelaxation:
    """Solve the relaxation and price every resource by its utilisation there.

    Raises:
        ModelError: the relaxation fails.
    """
    if mode == "eps":
        # the simplex method takes four times as long from 40 jobs on a hexagon on
        solution = solve(lp2(instance, comm_share=comm_share), "highs", extra={"solver": "ipm"})
        parts = (1 - comm_share, comm_share)
    else:
        solution = soc_relaxation(instance, services=True, tolerance=COARSE)
        parts = (1.0, 1.0)
    if not solution.has_point:
        raise ModelError(f"the relaxation ended {solution.status}: {solution.message}")
    x, admit = solution["x"], solution["y"]
    server, servers = instance.pair_server, instance.num_servers
    cost = np.zeros(instance.num_pairs)
    for load in (
        instance.inbound_load,
        instance.compute_load / parts[0],
        instance.comm_load / parts[1],
    ):
        price = np.bincount(server, weights=load * x, minlength=servers)
        cost += price[server] * load
    placed = np.zeros((instance.num_services, servers))
    np.maximum.at(placed, (instance.job_service[instance.pair_job], server), x)
    return PricedRelaxation(
        float(admit.sum()), x, admit, cost, (placed * instance.service_load).sum(axis=0)
    )


def placed_whole(instance: Instance, relaxed: PricedRelaxation) -> Booleans:
    """Whether the relaxation places something of every node of a job, shape (jobs,).

    It does not where y_k = 0, by which (26) divides, nor may it where y_k is above 0 by no more
    than the solver's tolerance.
    """
    kept = relaxed.x > 0
    placed = np.bincount(instance.pair_node[kept], minlength=instance.num_data_nodes) > 0
    missing = np.bincount(instance.node_job[~placed], minlength=instance.num_jobs)
    return np.asarray(missing == 0)


def job_tables(
    instance: Instance, relaxed: PricedRelaxation, job: int
) -> tuple[Floats, Floats, Booleans]:
    """x_ij, c_ij and whether j is in V_i, each of shape (nodes of the job, servers)."""
    pairs, nodes = instance.job_pairs[job], instance.job_nodes[job]
    row = np.searchsorted(nodes, instance.pair_node[pairs])
    at = (row, instance.pair_server[pairs])
    shape = (len(nodes), instance.num_servers)
    x, cost, reach = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
    x[at] = np.maximum(relaxed.x[pairs], 0.0)
    cost[at] = relaxed.cost[pairs]
    reach[at] = True
    return x, cost, reach
