"""Problem (2) for one job under resource prices and limits, solved exactly by dynamic programming.

It is the pricing problem of the decomposition, the job alone where prices are zero, and, with
limits set to what is left, the step of an insertion heuristic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.one_job.lattice import Lattice
from formulations.okita.schedule import Schedule
from formulations.okita.transport import cheapest_flow, cheapest_transport
from optsched.jit import njit_cached

_ROUNDING = 1e-9  # relative, by which a limit on prices is widened


class SlotTerms(NamedTuple):
    """What ``JobTerms`` says of slots, as machine code takes it."""

    worker_price: Floats
    server_price: Floats
    least: Integers
    most: Integers
    must_run: Booleans
    flow_cost: Floats


@dataclass(frozen=True, eq=False)
class JobTerms:
    """Prices and limits of one job over its slots a_i .. a_i + slots - 1."""

    flow_cost: Floats
    """Of completing in each slot, shape (slots,), money; infinite where it may not."""
    worker_price: Floats
    """Of a worker by slot, site of the server, site of the worker, money."""
    server_price: Floats
    """Of the server, shape (slots, sites), money; infinite where it may not be."""
    least: Integers
    """Fewest workers, shape (slots, sites)."""
    most: Integers
    """Most workers by slot, site of the server, site of the worker."""
    must_run: Booleans
    """Slots in which the job may not pause, shape (slots,)."""
    transport_weight: float = 1.0
    """How much moving data counts."""

    @property
    def by_slot(self) -> SlotTerms:
        """These arrays alone."""
        return SlotTerms(
            self.worker_price, self.server_price, self.least, self.most, self.must_run,
            self.flow_cost,
        )  # fmt: skip

    @property
    def earliest(self) -> int:
        """The first slot in which the job may complete."""
        return int(np.flatnonzero(self.must_run).max(initial=0))


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


@njit_cached
def _sweep(
    value: Floats,
    origin: NDArray[np.int32],
    server: NDArray[np.int32],
    above: Integers,
    option_workers: Integers,
    option_levels: Integers,
    worker_price: Floats,
    server_price: Floats,
    least: Integers,
    most: Integers,
    must_run: Booleans,
    budget: Floats,
) -> None:
    """Least price of reaching every point by the end of every slot, and from where.

    Points that cost more than the slot's budget are dropped.
    """
    slots, sites = server_price.shape
    points = value.shape[1]
    value[0, :] = np.inf
    value[0, 0] = 0.0
    now, then = np.empty(points), np.empty(points)
    came = np.empty(points, dtype=np.int64)
    then_came = np.empty(points, dtype=np.int64)
    for t in range(slots):
        old, new, limit = value[t], value[t + 1], budget[t]
        for n in range(points):
            new[n] = np.inf if must_run[t] or old[n] > limit else old[n]
            origin[t, n] = n
            server[t, n] = -1
        for s in range(sites):
            left = limit - server_price[t, s]
            if left < 0:
                continue
            now[:] = np.inf
            untouched = True  # whether a point may still have no worker anywhere
            for r in range(sites):
                fewest, cap = least[t, r], most[t, s, r]
                if cap <= 0 and fewest <= 0:
                    continue
                price = worker_price[t, s, r]
                if fewest > 0:
                    then[:] = np.inf
                else:
                    then[:] = now
                    then_came[:] = came
                for m in range(points):
                    base, source = now[m], came[m]
                    if untouched and old[m] < base:
                        base, source = old[m], np.int64(m)
                    if base > left:
                        continue
                    n, climbed = m, 0
                    for o in range(len(option_workers)):
                        count = option_workers[o]
                        total = base + price * count
                        if count > cap or total > left:
                            break
                        while climbed < option_levels[o] and n >= 0:
                            n = above[r, n]
                            climbed += 1
                        if n < 0:
                            break
                        if count >= fewest and total < then[n]:
                            then[n] = total
                            then_came[n] = source
                now, then = then, now
                came, then_came = then_came, came
                if fewest > 0:
                    untouched = False
            for n in range(points):
                total = now[n] + server_price[t, s]
                if total < new[n]:
                    new[n] = total
                    origin[t, n] = came[n]
                    server[t, n] = s


@njit_cached
def _finish(
    value: Floats,
    ends: Integers,
    floor: Floats,
    known: Floats,
    flow_cost: Floats,
    weight: float,
    supply: Integers,
    room: Integers,
    price: Floats,
    earliest: int,
    best: Floats,
    state: Integers,
) -> None:
    """Cheapest end for every completion slot; transport is computed only where it may matter."""
    flow = np.zeros(price.shape, dtype=np.int64)
    amount = int(supply.sum())
    best[:] = np.inf
    state[:] = -1
    for t in range(earliest, len(flow_cost)):
        promising, lowest = -1, np.inf
        for e in range(len(ends)):
            reach = value[t + 1, ends[e]]
            if reach == np.inf:
                continue
            bound = reach + weight * (floor[e] if np.isnan(known[e]) else known[e])
            if bound < lowest:
                promising, lowest = e, bound
        if promising < 0:
            continue
        for turn in range(len(ends) + 1):  # the promising one first
            e = promising if turn == 0 else turn - 1
            reach = value[t + 1, ends[e]]
            if reach == np.inf or reach + weight * floor[e] + flow_cost[t] >= best[t]:
                continue
            if np.isnan(known[e]):
                known[e] = cheapest_transport(supply, room[e], price, flow, amount)
            total = reach + weight * known[e] + flow_cost[t]
            if total < best[t]:
                best[t] = total
                state[t] = ends[e]


def widened(limit: float) -> float:
    """A limit on prices that no rounding exceeds."""
    return limit + _ROUNDING * max(1.0, abs(limit))


def least_prices(
    lattice: Lattice, terms: JobTerms, below: float
) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32]]:
    """What every point is reached at, at least, before every slot and after the last.

    Args:
        lattice: of the job.
        terms: its prices, none of them negative, and limits.
        below: schedules of a higher price are of no interest.

    Returns:
        Prices, shape (slots + 1, points), money, infinite where no such schedule comes by; the
        point that each is reached from and the site of the server then, shape (slots, points).
    """
    slots, points, levels = len(terms.flow_cost), len(lattice.level), lattice.levels
    value = np.empty((slots + 1, points))
    origin = np.empty((slots, points), dtype=np.int32)
    server = np.empty((slots, points), dtype=np.int32)
    ahead = np.minimum.accumulate(terms.flow_cost[::-1])[::-1]  # of completing in time to come
    ahead[: terms.earliest] = ahead[terms.earliest]
    limit = widened(below)
    budget = np.full(slots, -np.inf)
    np.subtract(limit, ahead, out=budget, where=np.isfinite(ahead))
    _sweep(
        value, origin, server, lattice.above, levels.option_workers, levels.option_levels,
        terms.worker_price, terms.server_price, terms.least, terms.most, terms.must_run,
        budget,
    )  # fmt: skip
    return value, origin, server


def cheapest_paths(
    instance: Instance, lattice: Lattice, terms: JobTerms, *, below: float = np.inf
) -> Iterator[Path]:
    """The cheapest schedule for each slot as the last one allowed, cheapest first.

    The first is the optimum; none where the limits leave no schedule.

    Args:
        instance: the system.
        lattice: of the job.
        terms: its prices, none of them negative, and limits.
        below: schedules of a higher price are of no interest.
    """
    levels, slots = lattice.levels, len(terms.flow_cost)
    i = levels.job
    value, origin, server = least_prices(lattice, terms, below)
    best, state = np.empty(slots), np.empty(slots, dtype=np.int64)
    room = lattice.level[lattice.ends] * levels.unit
    supply = instance.num_chunks[i]
    move_price = instance.unit_bandwidth_cost * instance.chunk_size_mb[i]
    _finish(
        value, lattice.ends, lattice.transport_floor, lattice.transport_cost, terms.flow_cost,
        terms.transport_weight, supply, room, move_price, terms.earliest, best, state,
    )  # fmt: skip
    for t in np.argsort(best, kind="stable").tolist():
        if state[t] < 0:
            return
        workers = np.zeros((slots, instance.sites), dtype=np.int64)
        at = np.full(slots, -1)
        point = int(state[t])
        for slot in range(t, -1, -1):
            before = int(origin[slot, point])
            at[slot] = server[slot, point]
            gained = lattice.level[point] - lattice.level[before]
            chosen = np.searchsorted(levels.option_levels, gained)
            workers[slot, gained > 0] = levels.option_workers[chosen[gained > 0]]
            point = before
        flow = cheapest_flow(instance, i, lattice.level[int(state[t])] * levels.unit)
        yield Path(float(best[t]), workers, at, flow)


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
