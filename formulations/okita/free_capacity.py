"""What jobs leave of the sites' resources, slot by slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job import Path
from formulations.okita.schedule import Schedule
from optsched.jit import njit_cached


@dataclass(frozen=True, eq=False)
class Choices:
    """Schedules of one job that a relaxation chooses in part."""

    paths: Sequence[Path]
    share: Floats
    """How far each is chosen, shape (paths,)."""

    @classmethod
    def of(cls, chosen: Sequence[tuple[Path, float]]) -> Choices:
        """From schedules and how far each is chosen."""
        return cls([path for path, _ in chosen], np.array([share for _, share in chosen]))

    @cached_property
    def padded(self) -> tuple[Integers, Integers]:
        """Workers and server of each, pausing in the end; shape (paths, slots, sites)."""
        slots = max(len(path.server) for path in self.paths)
        rest = [slots - len(path.server) for path in self.paths]
        pairs = list(zip(self.paths, rest, strict=True))
        return (
            np.stack([np.pad(path.workers, ((0, n), (0, 0))) for path, n in pairs]),
            np.stack([np.pad(path.server, (0, n), constant_values=-1) for path, n in pairs]),
        )


class FreeCapacity:
    """What is left of the sites' resources, slot by slot from slot 1 on."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._left = np.zeros((0, *instance.capacity.shape), dtype=np.int64)

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
        _take(left, path.workers, path.server, share * worker, share * server)

    def hold_first(self, i: int, choices: Choices, order: Integers) -> Path | None:
        """Take what the first schedule in this order uses that there is room for, if there is one.

        Args:
            i: the job.
            choices: its schedules.
            order: positions among them.
        """
        worker, server = self.instance.worker_demand[i], self.instance.ps_demand[i]
        left = self.between(int(self.instance.release_slot[i]), choices.padded[1].shape[1])
        n = _take_first(left, *choices.padded, order, worker, server)
        return None if n < 0 else choices.paths[n]

    def lacking(self, i: int, path: Path) -> tuple[int, int] | None:
        """The first slot, from 1 on, and site where there is less than a job's schedule uses."""
        instance, first = self.instance, int(self.instance.release_slot[i])
        left = self.between(first, len(path.server))
        worker, server = instance.worker_demand[i], instance.ps_demand[i]
        position, site = _lacking(left, path.workers, path.server, worker, server)
        return None if site < 0 else (first + position, site)


@njit_cached
def _take(
    left: Integers, workers: Integers, server: Integers, each: Integers, own: Integers
) -> None:
    """Take what workers and servers use.

    Args:
        left: written, shape (slots, sites, resources).
        workers: shape (slots, sites).
        server: its site in each slot, -1 in a pause.
        each: taken by a worker, shape (resources,).
        own: taken by the server.
    """
    slots, sites, resources = left.shape
    for t in range(slots):
        for r in range(sites):
            for k in range(resources):
                left[t, r, k] -= workers[t, r] * each[k]
                if server[t] == r:
                    left[t, r, k] -= own[k]


@njit_cached
def _lacking(
    left: Integers, workers: Integers, server: Integers, each: Integers, own: Integers
) -> tuple[int, int]:
    """The first slot and site where there is less than is used; -1 for both if there is none."""
    slots, sites, resources = left.shape
    for t in range(slots):
        for r in range(sites):
            if workers[t, r] == 0 and server[t] != r:
                continue
            for k in range(resources):
                use = workers[t, r] * each[k] + (own[k] if server[t] == r else 0)
                if use > left[t, r, k]:
                    return t, r
    return -1, -1


@njit_cached
def _take_first(
    left: Integers,
    workers: Integers,
    server: Integers,
    order: Integers,
    each: Integers,
    own: Integers,
) -> int:
    """Take what the first of several uses that there is room for; its number, -1 for none."""
    for n in range(len(order)):
        at = int(order[n])
        if _lacking(left, workers[at], server[at], each, own)[1] < 0:
            _take(left, workers[at], server[at], each, own)
            return at
    return -1
