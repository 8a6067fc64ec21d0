"""A schedule at once: whole in the cloud who may, the others one after the other."""

from __future__ import annotations

import numpy as np

from formulations.preemptive.decode import cloud_services
from formulations.preemptive.instance import CLOUD, Instance, whole_slots
from formulations.preemptive.schedule import Schedule
from optsched.instances.arrays import ranges

MOST = 1_000_000
"""Chunks up to which there is such a schedule."""


def in_turn(instance: Instance) -> Schedule | None:
    """Send jobs to the cloud, and run those that are barred from it one at a time on one worker.

    Chunks take whole slots.

    Returns:
        The schedule; None if there are more chunks than ``MOST``.
    """
    if instance.num_chunks.sum() > MOST:
        return None
    together = np.isfinite(instance.upload_delay_cloud)
    start = np.zeros(instance.jobs)
    start[together] = whole_slots((instance.release_time + instance.upload_delay_cloud)[together])
    time = whole_slots(np.where(together, instance.chunk_time_fast, instance.chunk_time_slow))
    worker, now = np.full(instance.jobs, CLOUD), 0.0
    barred = np.flatnonzero(~together)
    for j in barred[np.argsort(instance.release_time[barred], kind="stable")].tolist():
        worker[j] = int(instance.worker_eligible[j].argmax())
        delay = instance.upload_delay_edge[j, instance.worker_server[worker[j]]]
        start[j] = max(now, float(whole_slots(instance.release_time[j] + delay)))
        now = start[j] + instance.num_chunks[j] * time[j]
    job, chunk = ranges(np.zeros(instance.jobs, dtype=np.int64), instance.num_chunks)
    begin = start[job] + np.where(together[job], 0, chunk * time[job])
    rows = np.column_stack([job, chunk, worker[job], begin, begin + time[job]])
    return Schedule.build(runs=rows, services=cloud_services(rows), together=together)
