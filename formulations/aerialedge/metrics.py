"""The paper's metrics: use of nodes (27) to (29), and execution times, printed and honest.

(10) is a sum of mean task times, not a time at which anything ends. It is reported under its own
name, AET, next to makespans.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.aerialedge.instance import Floats, Instance
from formulations.aerialedge.schedule import Schedule


@dataclass(frozen=True)
class Usage:
    """How much of a deployment a schedule uses; one entry per resource."""

    actual_resource_usage: tuple[float, ...]
    """(27): capacity of the nodes opened over that of the deployment."""
    utilisation: tuple[float, ...]
    """(28), (29): demand of the tasks placed over the capacity of the nodes opened."""
    cluster_utilisation: tuple[float, ...]
    """(12): demand of the tasks placed over the capacity of the deployment; the product of the
    other two."""
    deployed: float
    """Share of the tasks that are placed."""


def usage(instance: Instance, schedule: Schedule) -> Usage:
    """(27) to (29) of a schedule; NaN where nothing is opened or a resource is not there."""
    total = instance.deployment_capacity[schedule.deployment]
    opened = instance.capacity[schedule.opened].sum(axis=0)
    placed = schedule.placed
    demand = served_demand(instance, schedule)[placed].sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = opened / total, demand / opened, demand / total
    opened_share, used, used_of_all = (tuple(ratio.tolist()) for ratio in ratios)
    return Usage(opened_share, used, used_of_all, float(placed.mean()))


def served_demand(instance: Instance, schedule: Schedule) -> Floats:
    """The demand each task is served with, shape (tasks, resources)."""
    demand = instance.demand.copy()
    for k in np.flatnonzero(instance.option_number > 0):
        t = instance.option_task[k]
        if schedule.option[t] == instance.option_number[k]:
            demand[t] = instance.alternative_demand[k - instance.tasks]
    return demand


def aet_pooled(instance: Instance, schedule: Schedule, *, serial: int = 0) -> float:
    """(A1): the sum over batches of the mean execution time in each, seconds.

    This is what the published figures show.

    Args:
        instance: the execution times.
        schedule: the batches; tasks that are not placed count, as they do in the paper.
        serial: the first so many batches count with the sum of their times instead, as the
            formulas printed for Graphene and Spear do.
    """
    batch, number = np.unique(schedule.batch, return_inverse=True)
    total = np.bincount(number, weights=instance.exec_time)
    size = np.where(np.arange(len(batch)) < serial, 1, np.bincount(number))
    return float((total / size).sum())


def aet_per_job(instance: Instance, schedule: Schedule) -> float:
    """(10): as ``aet_pooled``, each job by itself, summed over the jobs (seconds)."""
    _, number = np.unique(
        np.column_stack([instance.task_job, schedule.batch]), axis=0, return_inverse=True
    )
    number = number.reshape(-1)
    return float((np.bincount(number, weights=instance.exec_time) / np.bincount(number)).sum())


def makespan_independent(instance: Instance, schedule: Schedule) -> float:
    """Batches one after the other, dependencies ignored: the sum of the longest times (seconds)."""
    batch, number = np.unique(schedule.batch, return_inverse=True)
    longest = np.zeros(len(batch))
    np.maximum.at(longest, number, instance.exec_time)
    return float(longest.sum())


def gang_times(instance: Instance) -> tuple[Floats, Floats]:
    """Start and end of every task where all is reserved at time 0, shape (tasks,), seconds.

    A task starts when its last predecessor ends.
    """
    start, end = np.zeros(instance.tasks), np.zeros(instance.tasks)
    for t in instance.topological_order.tolist():
        before = instance.parents[t]
        start[t] = end[before].max() if len(before) else 0.0
        end[t] = start[t] + instance.exec_time[t]
    return start, end
