"""What a table of results shows beside the cost."""

from __future__ import annotations

import numpy as np

from formulations.batch.check import completion_slots
from formulations.batch.domain_reduction import alone_bounds
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
    """Share of the jobs with a run whose parameter server is in the cloud."""
    there = schedule.run_ps == instance.cloud_index
    return len(np.unique(schedule.run_job[there])) / instance.jobs


def edge_servers(instance: Instance) -> Booleans:
    """Servers but the cloud with a limit on some worker, shape (servers,)."""
    limited = np.array(np.isfinite(instance.worker_capacity).any(axis=1))
    if instance.cloud_index is not None:
        limited[instance.cloud_index] = False
    return limited


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


def utilisation(instance: Instance, schedule: Schedule, until: float | None = None) -> float:
    """Mean share of the edge workers held from the first arrival on.

    Args:
        instance: jobs and servers.
        schedule: what is held.
        until: end of the window, slots; None: when the edge is done. Schedules are compared over
            one window only: one that ends early is busy while it lasts, whatever it leaves idle.
    """
    moments, share = edge_load(instance, schedule)
    begin = float(instance.release_slot.min() - 1)
    end = float(moments[-1]) if until is None else until
    held = np.diff(np.minimum(moments, end))
    return float(share @ held) / (end - begin) if end > begin else 0.0


MEASURES = {
    "completion": completion,
    "completion_over_alone": completion_over_alone,
    "utilisation": utilisation,
    "in_cloud": in_cloud,
    "makespan": makespan,
}
"""What a table of ratios shows beside the cost."""
