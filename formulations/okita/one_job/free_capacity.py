"""What jobs leave of the sites' resources, slot by slot."""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Instance, Integers
from formulations.okita.one_job.terms import Path
from formulations.okita.schedule import Schedule
from optsched.jit import njit_cached


class FreeCapacity:
    """What is left of the sites' resources, slot by slot from slot 1 on.

    Args:
        instance: the system.
        left: in its first slots, shape (slots, sites, resources), to be written; None: all.
    """

    def __init__(self, instance: Instance, left: Integers | None = None) -> None:
        self.instance = instance
        empty = np.zeros((0, *instance.capacity.shape), dtype=np.int64)
        self._left = empty if left is None else left

    def between(self, first: int, slots: int) -> Integers:
        """Free resources of slots first .. first + slots - 1, shape (slots, sites, resources)."""
        missing = first - 1 + slots - len(self._left)
        if missing > 0:
            empty = np.repeat(self.instance.capacity[None], missing, axis=0)
            self._left = np.concatenate([self._left, empty])
        return self._left[first - 1 : first - 1 + slots]

    def copy(self) -> FreeCapacity:
        """One of its own that has as much left."""
        other = FreeCapacity(self.instance)
        other._left = self._left.copy()
        return other

    @property
    def end(self) -> int:
        """The last slot in which something is taken, 0 if there is none."""
        busy = (self._left != self.instance.capacity).any(axis=(1, 2))
        return int(np.flatnonzero(busy)[-1]) + 1 if busy.any() else 0

    def take(self, schedule: Schedule) -> None:
        """Take what a schedule uses."""
        self.between(1, int(schedule.worker_slot.max(initial=0)))
        use = self.instance.worker_demand[schedule.worker_job] * schedule.worker_count[:, None]
        np.subtract.at(self._left, (schedule.worker_slot - 1, schedule.worker_site), use)
        use = self.instance.ps_demand[schedule.server_job]
        np.subtract.at(self._left, (schedule.server_slot - 1, schedule.server_site), use)

    def hold(self, i: int, path: Path, share: int = 1) -> None:
        """Take what a job's schedule uses; with share -1 give it back.

        Args:
            i: the job.
            path: its schedule.
            share: how often.
        """
        worker, server = self.instance.worker_demand[i], self.instance.ps_demand[i]
        left = self.between(int(self.instance.release_slot[i]), len(path.server))
        take(left, path.workers, path.server, worker, server, share)


@njit_cached
def take(
    left: Integers, workers: Integers, server: Integers, each: Integers, own: Integers, share: int
) -> None:
    """Take what workers and servers use.

    Args:
        left: written, shape (slots, sites, resources).
        workers: shape (slots, sites).
        server: its site in each slot, -1 in a pause.
        each: taken by a worker, shape (resources,).
        own: taken by the server.
        share: how often; -1 gives it back.
    """
    slots, sites, resources = left.shape
    for t in range(slots):
        for r in range(sites):
            count = share * workers[t, r]
            if count == 0 and server[t] != r:
                continue
            for k in range(resources):
                left[t, r, k] -= count * each[k]
                if server[t] == r:
                    left[t, r, k] -= share * own[k]
