"""Schedules made with all jobs known: each job alone, and jobs inserted one after the other.

They give the costs by which slots are cut off, and the columns a decomposition starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.okita.check import completion_slots, cost
from formulations.okita.instance import Instance, Integers, workers_beside_server
from formulations.okita.job_prices import free_terms
from formulations.okita.lattice import Lattice, build_lattice
from formulations.okita.one_job import Path, cheapest_paths, dealt, path_schedule
from formulations.okita.problem_5 import exact_placement
from formulations.okita.problem_7 import exact_transport
from formulations.okita.schedule import Schedule
from formulations.okita.windows import flow_cut_off, least_slots, slots_needed


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


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans jobs of one instance one at a time, exactly where their lattices are small enough.

    Whatever is asked of it raises TimeoutError once it is too late.
    """

    instance: Instance
    late: Callable[[], bool] = lambda: False
    """Asked before each job."""

    def _in_time(self, jobs: Iterable[int]) -> Iterator[int]:
        for i in jobs:
            if self.late():
                raise TimeoutError("planning was cut short")
            yield i

    @cached_property
    def lattices(self) -> tuple[Lattice | None, ...]:
        """Of each job."""
        jobs = self._in_time(range(self.instance.jobs))
        return tuple(build_lattice(self.instance, i) for i in jobs)

    @property
    def exact(self) -> bool:
        """Whether every job can be planned exactly."""
        return all(lattice is not None for lattice in self.lattices)

    @cached_property
    def alone(self) -> tuple[Path, ...]:
        """The optimum of each job on the empty system; its price is F_i.

        Only where ``exact``.
        """
        needed = slots_needed(self.instance)
        lattices = [lattice for lattice in self.lattices if lattice is not None]
        jobs = self._in_time(range(len(lattices)))
        return tuple(self._optimum(lattices[i], int(needed[i]), None) for i in jobs)

    def _optimum(self, lattice: Lattice, limit: int, room: FreeCapacity | None) -> Path:
        """The cheapest schedule in so many slots; as few are looked at as prove it."""
        instance, i = self.instance, lattice.job
        first = int(instance.release_slot[i])
        slots = min(int(self._least[i]), limit)
        while True:
            left = None if room is None else room.between(first, slots)
            path = next(
                cheapest_paths(instance, lattice, free_terms(instance, i, slots, left)), None
            )
            if path is None:
                slots = min(2 * slots, limit)
                continue
            budget = np.full(instance.jobs, path.price)
            reach = int(flow_cut_off(instance, budget, np.full(instance.jobs, limit - 1))[i]) + 1
            if slots >= reach:
                return path
            slots = reach

    @cached_property
    def _least(self) -> Integers:
        return least_slots(self.instance)

    @cached_property
    def _needed(self) -> Integers:
        return slots_needed(self.instance)

    def insert(self, order: Sequence[int]) -> Schedule:
        """Jobs in this order, each as cheaply as what the earlier ones leave allows."""
        room, parts = FreeCapacity(self.instance), []
        for i in self._in_time(order):
            part = self._inserted(i, room)
            room.take(part)
            parts.append(part)
        return Schedule.merged(parts)

    def _inserted(self, i: int, room: FreeCapacity) -> Schedule:
        lattice = self.lattices[i]
        if lattice is None:
            return _greedy(self.instance, i, room)
        first = int(self.instance.release_slot[i])
        limit = max(0, room.end - first + 1) + int(self._needed[i])
        return path_schedule(self.instance, i, self._optimum(lattice, limit, room))

    def best_insertion(self, enough: Callable[[], bool] = lambda: False) -> Schedule:
        """The best of a few orders: of arrival, of latency weight, of size.

        Args:
            enough: asked before each order but the first.
        """
        instance = self.instance
        keys = (
            instance.release_slot,
            -instance.latency.weight,
            instance.most_workers,
            -instance.most_workers,
        )
        index = np.arange(instance.jobs)
        orders = [np.lexsort((index, instance.release_slot, key)) for key in keys]
        if not self.exact:
            orders = orders[:1]
        found = [self.insert(orders[0].tolist())]
        with suppress(TimeoutError):
            for order in orders[1:]:
                if enough():
                    break
                found.append(self.insert(order.tolist()))
        return min(found, key=lambda schedule: cost(instance, schedule))


def _greedy(instance: Instance, i: int, room: FreeCapacity) -> Schedule:
    """In every slot as many workers as fit and help, placed by (5), data by (7')."""
    q, left = instance.unit_bandwidth_cost, instance.num_chunks[i].copy()
    move, talk = q * instance.chunk_size_mb[i], q * instance.exchange_size_mb[i]
    worker, server = instance.worker_demand[i], instance.ps_demand[i]
    parts: list[Schedule] = []
    slot = int(instance.release_slot[i]) - 1
    while left.sum() > 0:
        slot += 1
        free = room.between(slot, 1)[0]
        fit = workers_beside_server(free, worker, server)
        most = int(np.maximum(fit, 0).sum(axis=1)[fit[:, 0] >= 0].max(initial=0))
        count = min(most, int(instance.workers_needed(i, left.sum())))
        placed = exact_placement(free, worker, server, talk, count)
        trains = instance.chunks_done(i, placed.workers)
        if trains.sum() == 0:
            continue
        target = np.minimum(left, trains)
        surplus = np.cumsum(trains - target)
        extra = min(int(left.sum()), int(trains.sum())) - int(target.sum())
        target += np.diff(np.minimum(surplus, extra), prepend=0)
        _, flow = exact_transport(left, target, move)
        left -= flow.sum(axis=1)
        site = np.flatnonzero(placed.workers)
        same = np.full(len(site), i)
        parts.append(
            Schedule.build(
                workers=np.column_stack(
                    [same, np.full(len(site), slot), site, placed.workers[site]]
                ),
                servers=[(i, slot, placed.server)],
                moves=dealt(i, flow, target[None], slot),
            )
        )
    return Schedule.merged(parts)


def known_cost(instance: Instance, schedule: Schedule, *, horizon: int | None = None) -> float:
    """Its cost, money; infinite where it does not keep to a horizon."""
    if horizon is not None and int(completion_slots(instance, schedule).max()) > horizon:
        return float("inf")
    return cost(instance, schedule)
