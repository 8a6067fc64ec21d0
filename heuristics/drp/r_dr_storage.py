"""R-DR with the storage constraint: the baseline of the paper's evaluation of R-DSR."""

from __future__ import annotations

import numpy as np

from formulations.drp.decode import schedule_of
from formulations.drp.instance import NO_SERVER, Instance
from formulations.drp.prune import Prune
from formulations.drp.residual_capacity import Mode
from formulations.drp.schedule import Schedule
from heuristics.drp.options import checked_share
from heuristics.drp.r_dr import r_dr
from optsched.problem.calls import Share


def r_dr_storage(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    prune: Prune = "paper",
    comm_share: Share | None = None,
) -> Schedule:
    """R-DR ignoring storage; then, in order of admission, jobs whose services do not fit go.

    Args:
        instance: the system.
        rng: handed to ``r_dr``.
        mode: "eps" or "exact".
        prune: "paper" or "safe".
        comm_share: epsilon of mode "eps"; None: the instance's.

    Raises:
        InputError: an option out of range.
        ModelError: a relaxation fails.
    """
    run = r_dr(instance, rng, mode=mode, prune=prune, comm_share=comm_share)
    placed = np.zeros((instance.num_services, instance.num_servers), dtype=bool)
    assoc = np.full(instance.num_data_nodes, NO_SERVER)
    for job in run.order.tolist():
        nodes = instance.job_nodes[job]
        wanted = placed.copy()
        wanted[instance.job_service[job], run.assoc[nodes]] = True
        if ((wanted * instance.service_load).sum(axis=0) <= 1 + 1e-12).all():
            placed = wanted
            assoc[nodes] = run.assoc[nodes]
    share = checked_share(instance, mode, comm_share)
    return schedule_of(instance, assoc, services=True, mode=mode, comm_share=share)
