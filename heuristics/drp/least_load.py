"""LeastLoad, beyond the paper: nodes go where little is used, and what fits nowhere is moved."""

from __future__ import annotations

import numpy as np
from pydantic import NonNegativeInt

from formulations.drp.decode import decode
from formulations.drp.instance import Instance, Integers
from formulations.drp.problem_p3_p5 import problem_5_projected, problem_22_projected
from formulations.drp.residual_capacity import Mode
from formulations.drp.schedule import Schedule
from heuristics.drp.baselines import one_after_the_other
from heuristics.drp.options import checked_share
from heuristics.drp.servers import Servers
from optsched.errors import ModelError
from optsched.problem.calls import Share
from optsched.solve import solve


def least_load(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "exact",
    comm_share: Share | None = None,
    by_load: bool = True,
    retries: NonNegativeInt = 200,
    rescue: bool = True,
    services: bool = False,
) -> Schedule:
    """LeastLoad, beyond the paper: each node on the server that is then used least, tested exactly.

    Jobs by the sum over their nodes of the mean load on the servers in reach, or, without
    ``by_load``, by their data; ``mode`` also says what use is. Where a node of a job fits nowhere,
    those before it are taken back and placed otherwise, up to ``retries`` times a job. Where no job
    is admitted so, ``rescue`` begins with one that the exact model finds (mode "exact"): then none
    is admitted only where none can be, and the optimum is at most as many times larger as there are
    jobs. See ``baselines.random`` for the other options. Nothing is relaxed or drawn.

    Raises:
        InputError: an unknown mode, or a share that is not in (0, 1).
        ModelError: the exact model's search for one job fails.
    """

    def idlest(servers: Servers, node: int) -> Integers:
        pairs = servers.candidates(node)
        return pairs[np.argsort(servers.utilisation_with(pairs), kind="stable")]

    servers = Servers(instance, mode, checked_share(instance, mode, comm_share), services=services)
    sizes = None
    if by_load:
        load = instance.inbound_load + instance.compute_load + instance.comm_load
        mean = load / np.diff(instance.first_pair)[instance.pair_node]
        sizes = np.bincount(instance.pair_job, weights=mean, minlength=instance.num_jobs)

    def filled() -> Schedule:
        return one_after_the_other(
            servers, idlest, stop_at_first_failure=False, sizes=sizes, retries=retries
        )

    made = filled()
    if not rescue or mode != "exact" or made.admit.any():
        return made
    for pair in _one_that_fits(instance, services):
        servers.place(pair)
    return filled()


def _one_that_fits(instance: Instance, services: bool) -> list[int]:
    """The pairs of some job that fits on empty servers; none where no job does."""
    model = (problem_22_projected if services else problem_5_projected)(instance)
    model.add("one job", model["y"].sum() <= 1)
    solution = solve(model, "highs")
    if not solution.has_point:
        raise ModelError(f"the search for a job ended {solution.status}: {solution.message}")
    assoc = decode(instance, solution, services=services).assoc
    return np.flatnonzero(assoc[instance.pair_node] == instance.pair_server).tolist()
