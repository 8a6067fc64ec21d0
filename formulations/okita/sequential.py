"""A schedule at once: jobs one after the other, each at two sites that can host it."""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Instance, workers_beside_server
from formulations.okita.schedule import Schedule

MOST = 1_000_000
"""Chunks up to which there is such a schedule."""


def in_turn(instance: Instance) -> Schedule | None:
    """Run jobs one at a time, in order of arrival.

    All workers of a job are at one site and its server at one, such that it ends soonest.

    Returns:
        The schedule; None if there are more chunks than ``MOST``, or a job fits nowhere.
    """
    if instance.total_chunks.sum() > MOST:
        return None
    workers: list[tuple[int, ...]] = []
    servers: list[tuple[int, ...]] = []
    moves: list[tuple[int, ...]] = []
    now = 0
    for i in np.argsort(instance.release_slot, kind="stable").tolist():
        room = workers_beside_server(
            instance.capacity, instance.worker_demand[i], instance.ps_demand[i]
        )
        most = np.where(room >= 0, instance.chunks_done(i, np.maximum(room, 0)), 0)
        if not most.any():
            return None
        server, site = divmod(int(most.argmax()), instance.sites)
        source = np.repeat(np.arange(instance.sites), instance.num_chunks[i])
        start = max(now + 1, int(instance.release_slot[i]))
        for first in range(0, len(source), int(most.max())):
            now = start + first // int(most.max())
            here = source[first : first + int(most.max())]
            workers.append((i, now, site, int(instance.workers_needed(i, len(here)))))
            servers.append((i, now, server))
            moves += [(i, now, r, site, n) for r, n in enumerate(np.bincount(here).tolist())]
    return Schedule.build(workers=workers, servers=servers, moves=moves)
