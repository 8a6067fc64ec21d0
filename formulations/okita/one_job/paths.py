"""Whole schedules of one job: what they cost, what they hold, and on what terms they are chosen.

Problem (2) decides for each job workers y^r(t), the site of the server, and chunks moved; by Lemma
1 only the chunks between each two sites in all matter. That is a ``Path``. ``JobTerms`` are what a
job pays and may use: bandwidth and latency alone, what others leave of the sites, or dual values of
capacities besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers, workers_beside_server
from formulations.okita.problem_7 import cheapest_flow
from formulations.okita.schedule import Schedule
from optsched.jit import njit_cached


class JobTerms(NamedTuple):
    """Prices and limits of one job over its slots a_i .. a_i + slots - 1."""

    flow_cost: Floats
    """Cost of completing in each slot, shape (slots,), money."""
    worker_price: Floats
    """Price of a worker by slot, site of the server, site of the worker, money."""
    server_price: Floats
    """Price of the server, shape (slots, sites), money; infinite if it does not fit."""
    most: Integers
    """Most workers by slot, site of the server, site of the worker."""
    transport_weight: float = 1.0
    """How much moving data counts."""


def free_terms(instance: Instance, i: int, slots: int, room: Integers | None = None) -> JobTerms:
    """Return the terms of a job that pays for bandwidth and latency only.

    Args:
        instance: the system.
        i: the job.
        slots: a_i and so many slots in all.
        room: free resources, shape (slots, sites, resources); None: the empty system.
    """
    free = instance.capacity[None] if room is None else room
    most = workers_beside_server(free, instance.worker_demand[i], instance.ps_demand[i])
    if room is None:
        most = np.repeat(most, slots, axis=0)
    talk = instance.unit_bandwidth_cost.T * instance.exchange_size_mb[i]  # [server, worker]
    return JobTerms(
        flow_cost=instance.latency.of_slots(i, slots).copy(),  # compiled for arrays that may change
        worker_price=np.repeat(talk[None], slots, axis=0),
        server_price=np.where(most[:, :, 0] >= 0, 0.0, np.inf),
        most=np.clip(most, 0, instance.useful_workers[i]),
    )


def priced_terms(base: JobTerms, worker: Floats, server: Floats, weight: float) -> JobTerms:
    """Return the same terms with prices of capacities.

    Args:
        base: terms without prices.
        worker: what a worker pays, shape (slots, sites), non-negative, money.
        server: what the server pays.
        weight: how much bandwidth and latency count.
    """
    return JobTerms(
        weight * base.flow_cost, weight * base.worker_price + worker[:, None, :],
        base.server_price + server, base.most, weight,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Path:
    """A whole schedule of one job."""

    price: float
    """Under the terms asked for, money."""
    workers: Integers
    """y^r(t), shape (slots, sites)."""
    server: Integers
    """Site of the server in each slot; -1 where the job pauses, shape (slots,)."""
    flow: Integers
    """G^{rr'}: chunks from row to column in all, shape (sites, sites)."""

    @property
    def last(self) -> int:
        """Position of the last slot in which it runs."""
        return int(np.flatnonzero(self.server >= 0)[-1])

    def trimmed(self) -> Path:
        """Return the same schedule without slots after its last."""
        slots = self.last + 1
        return replace(self, workers=self.workers[:slots], server=self.server[:slots])


def path_cost(instance: Instance, i: int, path: Path) -> float:
    """f_i + B_i of a schedule, money, by (1)."""
    return float(instance.latency.cost(i, path.last)) + transfer_cost(instance, i, path)


def transfer_cost(instance: Instance, i: int, path: Path) -> float:
    """B_i of a schedule, money, by (1)."""
    q = instance.unit_bandwidth_cost
    runs = path.server >= 0
    talk = (path.workers[runs] * q[:, path.server[runs]].T).sum()
    moved = (path.flow * q).sum()
    return float(instance.exchange_size_mb[i] * talk + instance.chunk_size_mb[i] * moved)


def path_schedule(instance: Instance, i: int, path: Path) -> Schedule:
    """Slot by slot: each site deals the chunks it trains to its slots, local ones first."""
    first = int(instance.release_slot[i])
    slot, site = np.nonzero(path.workers)
    count = path.workers[slot, site]
    runs = np.flatnonzero(path.server >= 0)
    return Schedule.build(
        workers=np.column_stack([np.full(len(slot), i), slot + first, site, count]),
        servers=np.column_stack([np.full(len(runs), i), runs + first, path.server[runs]]),
        moves=dealt(i, path.flow, instance.chunks_done(i, path.workers), first),
    )


def path_of(instance: Instance, i: int, schedule: Schedule) -> Path:
    """A job's part of a schedule."""
    first = int(instance.release_slot[i])
    mine = schedule.worker_job == i
    slots = int(schedule.worker_slot[mine].max()) - first + 1
    workers = np.zeros((slots, instance.sites), dtype=np.int64)
    at = schedule.worker_slot[mine] - first, schedule.worker_site[mine]
    np.add.at(workers, at, schedule.worker_count[mine])
    server = np.full(slots, -1)
    mine = (schedule.server_job == i) & (schedule.server_slot < first + slots)
    server[schedule.server_slot[mine] - first] = schedule.server_site[mine]
    flow = np.zeros((instance.sites, instance.sites), dtype=np.int64)
    mine = schedule.move_job == i
    between = schedule.move_source[mine], schedule.move_target[mine]
    np.add.at(flow, between, schedule.move_chunks[mine])
    return _priced(instance, i, workers, server, flow)


def path_along(instance: Instance, i: int, workers: Integers, server: Integers) -> Path:
    """A deployment with the cheapest transport (Lemma 1).

    Args:
        instance: the system and its jobs.
        i: the job.
        workers: which train all chunks, shape (slots, sites).
        server: its site in each slot, shape (slots,).
    """
    flow = cheapest_flow(instance, i, instance.chunks_done(i, workers).sum(axis=0))
    return _priced(instance, i, workers, server, flow)


def _priced(
    instance: Instance, i: int, workers: Integers, server: Integers, flow: Integers
) -> Path:
    path = Path(0.0, workers, server, flow)
    return replace(path, price=path_cost(instance, i, path))


def dealt(i: int, flow: Integers, room: Integers, first: int) -> Integers:
    """Rows (job, slot, source, target, chunks) that deal transported chunks to slots.

    Args:
        i: the job.
        flow: chunks from row to column in all, shape (sites, sites).
        room: chunks each site can train in each slot, shape (slots, sites).
        first: number of the first slot.
    """
    sites, slots = len(flow), len(room)
    rows: Integers = np.empty((sites * (sites + slots), 5), dtype=np.int64)
    return rows[: _deal(i, flow, room, first, rows)]


@njit_cached
def _deal(i: int, flow: Integers, room: Integers, first: int, rows: Integers) -> int:
    """Write the rows of ``dealt``, local chunks of every target first, and say how many."""
    sites, count = len(flow), 0
    for target in range(sites):
        slot, full = 0, 0
        for n in range(-1, sites):
            source = target if n < 0 else n
            if n == target:
                continue
            left = flow[source, target]
            while left > 0:
                while room[slot, target] == full:
                    slot, full = slot + 1, 0
                taken = min(left, room[slot, target] - full)
                rows[count, 0], rows[count, 1], rows[count, 2] = i, slot + first, source
                rows[count, 3], rows[count, 4] = target, taken
                left, full, count = left - taken, full + taken, count + 1
    return count


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
        """Return another one that has as much left."""
        return FreeCapacity(self.instance, self._left.copy())

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

    def hold_if_fits(self, i: int, path: Path) -> bool:
        """Take what a job's schedule uses if there is as much; return whether there was."""
        self.hold(i, path)
        if self.between(int(self.instance.release_slot[i]), len(path.server)).min() >= 0:
            return True
        self.hold(i, path, -1)
        return False


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
