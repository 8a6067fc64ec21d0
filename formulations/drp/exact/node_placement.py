"""The nodes of jobs on servers that are given: whether they fit, exactly."""

from __future__ import annotations

import numpy as np

from formulations.drp.decode import assoc_of
from formulations.drp.exact.covering_sets import CoveringSets
from formulations.drp.instance import Instance, Integers
from formulations.drp.problem_p3_p5 import problem_5_among
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


def place_nodes(
    instance: Instance, sets: CoveringSets, chosen: Integers, options: Options
) -> Integers | bool:
    """The nodes of some jobs on servers of one set each; storage is not looked at.

    Args:
        instance: the system.
        sets: of all jobs.
        chosen: one of each job, shape (jobs chosen,).
        options: limits.

    Returns:
        The server of each node, shape (nodes,); False where they do not fit, True where that was
        not settled within the limits.
    """
    job = sets.job[chosen]
    admit = np.zeros(instance.num_jobs, dtype=np.bool_)
    admit[job] = True
    held = np.zeros((instance.num_jobs, instance.num_servers), dtype=np.bool_)
    size = sets.start[chosen + 1] - sets.start[chosen]
    servers = [sets.server[sets.start[n] : sets.start[n + 1]] for n in chosen.tolist()]
    held[np.repeat(job, size), np.concatenate([np.zeros(0, dtype=np.int64), *servers])] = True
    allowed = held[instance.pair_job, instance.pair_server]
    solution = solve(problem_5_among(instance, admit, allowed), "highs", options=options)
    if solution.has_point:
        return assoc_of(instance, solution["x"])
    return solution.status is not Status.INFEASIBLE
