"""Algorithm 2, corrected: the closest deployment with room for all tasks."""

from __future__ import annotations

from formulations.aerialedge.check import order_of_travel, within_reach
from formulations.aerialedge.construct import first_fit_decreasing
from formulations.aerialedge.exact.method import pack
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.problem_ae1 import closest
from formulations.aerialedge.vector_packing import aggregate

PACKING_SECONDS = 10.0
"""Longest time spent on whether tasks fit one deployment."""


def dispatch(
    instance: Instance, *, check_packing: bool = True, time_limit: float = PACKING_SECONDS
) -> int | None:
    """Algorithm 2: the first feasible deployment in order of travel; None: the multi-job waits.

    Args:
        instance: the deployments and the multi-job.
        check_packing: also ask that the tasks can be packed; the printed algorithm does not, and
            may choose a deployment on which they cannot.
        time_limit: wall seconds per deployment for that question; undecided counts as no.
    """
    for i in order_of_travel(instance).tolist():
        if within_reach(instance, i):
            continue
        if not check_packing or first_fit_decreasing(aggregate(instance, i)) is not None:
            return int(i)
        if pack(instance, deployment=i, time_limit=time_limit).solution.has_point:
            return int(i)
    return None


def closest_feasible(instance: Instance) -> int:
    """The deployment of ``dispatch``, or else the closest one, where tasks must take turns."""
    chosen = dispatch(instance)
    return closest(instance) if chosen is None else chosen
