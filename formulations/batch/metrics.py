"""What a table of results shows beside the cost."""

from __future__ import annotations

import numpy as np

from formulations.batch.check import completion_slots
from formulations.batch.choices import alone_bounds
from formulations.batch.instance import Booleans, Floats, Instance, Integers
from formulations.batch.schedule import Schedule


def completion(instance: Instance, schedule: Schedule) -> float:
    """Total completion time, sum_j c_j, slots."""
    return float(completion_slots(instance, schedule).sum())


def makespan(instance: Instance, schedule: Schedule) -> float:
    """Last slot in which anything runs."""
    return float(completion_slots(instance, schedule).max())


def completion_over_alone(instance: Instance, schedule: Schedule) -> float:
    """Total completion time over that of every job alone: at least the ratio to the optimum."""
    alone = instance.release_slot + alone_bounds(instance)
    return completion(instance, schedule) / float(alone.sum())


def in_cloud(instance: Instance, schedule: Schedule) -> float:
    """Share of the jobs with a run whose parameter server has no limits around it."""
    there = instance.unlimited[schedule.run_job, schedule.run_ps]
    return len(np.unique(schedule.run_job[there])) / instance.jobs


def edge_servers(instance: Instance) -> Booleans:
    """Servers with a limit on some worker, shape (servers,)."""
    return np.asarray(np.isfinite(instance.worker_capacity).any(axis=1))


def edge_load(instance: Instance, schedule: Schedule) -> tuple[Integers, Floats]:
    """Workers held on edge servers over time.

    Returns:
        Slots at which the number changes, one more than there are numbers; and the share of all
        edge workers that is held between each and the next.
    """
    edge = edge_servers(instance)
    capacity = instance.worker_capacity[edge]
    total = float(capacity[np.isfinite(capacity)].sum())
    here = edge[schedule.place_server]
    run = schedule.place_run[here]
    amount = schedule.place_workers[here].astype(float)
    start, end = schedule.run_start[run] - 1, schedule.run_end[run]
    moments = np.unique(np.concatenate([[0], start, end]))
    change = np.zeros(len(moments))
    np.add.at(change, np.searchsorted(moments, start), amount)
    np.add.at(change, np.searchsorted(moments, end), -amount)
    return moments, np.cumsum(change)[:-1] / max(total, 1.0)


def utilisation(instance: Instance, schedule: Schedule) -> float:
    """Mean share of the edge workers held from the first arrival until the edge is done."""
    moments, share = edge_load(instance, schedule)
    begin = float(instance.release_slot.min() - 1)
    span = float(moments[-1]) - begin
    return float(share @ np.diff(moments)) / span if span > 0 else 0.0


MEASURES = {
    "completion": completion,
    "completion_over_alone": completion_over_alone,
    "utilisation": utilisation,
    "in_cloud": in_cloud,
    "makespan": makespan,
}
"""What a table of ratios shows beside the cost."""
