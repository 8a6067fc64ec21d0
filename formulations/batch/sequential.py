"""A schedule at once: in the cloud who may, the others one after the other."""

from __future__ import annotations

import numpy as np

from formulations.batch.instance import Instance
from formulations.batch.problem_2_intervals import with_cloud
from formulations.batch.prospects import prospects
from formulations.batch.schedule import Schedule


def in_turn(instance: Instance) -> Schedule:
    """Run jobs without an unlimited server one at a time, in order of arrival, on one worker each.

    A job uses the servers that its data reach first.
    """
    chosen, now = prospects(instance), 0
    rows: list[tuple[int, ...]] = []
    placed: list[tuple[int, ...]] = []
    for j in instance.arrival_order[chosen.cloud_end[instance.arrival_order] < 0].tolist():
        s, p = (
            int(np.where(room[j] >= 1, chosen.reached[j], np.iinfo(np.int64).max).argmin())
            for room in (instance.worker_room, instance.ps_room)
        )
        start = max(now, int(chosen.reached[j, [s, p]].max()))
        now = start + int(instance.work_slow[j])
        placed.append((len(rows), s, 1))
        rows.append((j, start, now - 1, 0, p))
    return with_cloud(
        chosen,
        np.array(rows, dtype=np.int64).reshape(-1, 5),
        np.array(placed, dtype=np.int64).reshape(-1, 3),
    )
