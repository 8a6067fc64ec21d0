"""How far a job can have come: chunks trained so far at each site, as points of a lattice.

A dynamic program over these points and the slots solves problem (2) for one job exactly. Transport
is settled at the end, for it depends only on what each site trains in all (Lemma 1); workers are
never idle (Lemma 2), which keeps the points few: all slots a site is used in but its last are
full (proof of Lemma 3), so a site wastes less than one worker's chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.paths import JobTerms, Path
from formulations.okita.problem_7 import cheapest_flow, cheapest_transport
from optsched.instances.arrays import ranges
from optsched.jit import njit_cached

_ROUNDING = 1e-9  # relative, by which a limit on prices is widened


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels that a job's sites can reach without an idle worker."""

    job: int
    unit: int
    """Chunks per level."""
    needed: int
    """Levels of all sites at which all chunks are trained."""
    most: Integers
    """Most levels of each site, shape (sites,)."""
    in_all: int
    """Most levels of all sites."""
    option_workers: Integers
    """Numbers of workers on one site without an idle one, ascending, shape (options,)."""
    option_levels: Integers
    """Levels that each advances, ascending, shape (options,)."""

    @classmethod
    def of(cls, instance: Instance, i: int) -> Levels:
        """Derive the levels of a job."""
        rate, work = int(instance.rate_numerator[i]), int(instance.work_per_chunk[i])
        total, useful = int(instance.total_chunks[i]), instance.useful_workers[i]
        unit = rate // work if rate % work == 0 else 1
        waste = -(-rate // work) - 1  # of a site, in chunks
        workers = np.arange(1, int(useful.max()) + 1)
        chunks = instance.chunks_done(i, workers)
        busy = chunks > instance.chunks_done(i, workers - 1)
        return cls(
            job=i,
            unit=unit,
            needed=-(-total // unit),
            most=np.where(useful > 0, (total + waste) // unit, 0),
            in_all=(total + instance.sites * waste) // unit,
            option_workers=workers[busy],
            option_levels=chunks[busy] // unit,
        )

    @cached_property
    def gains(self) -> Integers:
        """Levels that workers on one site advance, by their number; -1 where one would idle."""
        table = np.full(int(self.option_workers.max(initial=0)) + 1, -1)
        table[0] = 0
        table[self.option_workers] = self.option_levels
        return table

    def reaches(self, workers: Integers) -> bool:
        """Whether a deployment, shape (slots, sites), trains all chunks and no worker idles."""
        if workers.max() >= len(self.gains):
            return False
        gained = self.gains[workers]
        level = gained.sum(axis=0)
        ends = self.needed <= level.sum() <= self.in_all and (level <= self.most).all()
        return bool(gained.min() >= 0) and bool(ends)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points that a job's levels are; point 0 is the origin."""

    levels: Levels
    level: Integers
    """Levels by point, shape (points, sites)."""
    above: Integers
    """The point one level higher at a site, -1 if none, shape (sites, points)."""
    ends: Integers
    """Points at which all chunks are trained."""
    transport_floor: Floats
    """What transport costs at least, by entry of ``ends``, money."""
    transport_cost: Floats = field(repr=False)
    """What it costs, NaN until it is computed; written by the search."""


def lattice_points(levels: Levels) -> float:
    """How many points there are."""
    ways = np.zeros(levels.in_all + 1)
    ways[0] = 1.0
    for most in levels.most:
        total = np.cumsum(ways)
        shifted = np.concatenate([np.zeros(min(most + 1, len(ways))), total])[: len(ways)]
        ways = total - shifted
    return float(ways.sum())


def build_lattice(instance: Instance, levels: Levels) -> Lattice:
    """The lattice of a job, however large."""
    i, each = levels.job, levels.most
    level = np.zeros((1, 0), dtype=np.int64)
    for most in each:
        room = np.minimum(most, levels.in_all - level.sum(axis=1))
        owner, value = ranges(np.zeros(len(level)), room + 1)
        level = np.column_stack([level[owner], value])
    stride = np.concatenate([np.cumprod((each + 1)[::-1])[::-1][1:], [1]])
    key = level @ stride  # ascending, as points are in lexicographic order
    higher = key + stride[:, None]
    above = np.minimum(np.searchsorted(key, higher), len(key) - 1)
    above[(key[above] != higher) | (each[:, None] == level.T)] = -1
    room = level * levels.unit
    ends = np.flatnonzero(level.sum(axis=1) >= levels.needed)
    q = instance.unit_bandwidth_cost
    leaving = np.where(np.eye(instance.sites, dtype=bool), np.inf, q).min(axis=1)
    leaving = np.where(np.isfinite(leaving), leaving, 0.0) * instance.chunk_size_mb[i]
    exported = np.maximum(instance.num_chunks[i] - room[ends], 0)
    return Lattice(
        levels=levels,
        level=level,
        above=above,
        ends=ends,
        transport_floor=exported @ leaving,
        transport_cost=np.full(len(ends), np.nan),
    )


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
    most: Integers,
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
            new[n] = np.inf if old[n] > limit else old[n]
            origin[t, n] = n
            server[t, n] = -1
        for s in range(sites):
            left = limit - server_price[t, s]
            if left < 0:
                continue
            now[:] = np.inf
            for r in range(sites):
                cap, price = most[t, s, r], worker_price[t, s, r]
                if cap <= 0:
                    continue
                for m in range(points):  # assigning all at once takes the compiler seconds
                    then[m], then_came[m] = now[m], came[m]
                for m in range(points):
                    base, source = now[m], came[m]
                    if old[m] < base:
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
                        if total < then[n]:
                            then[n] = total
                            then_came[n] = source
                now, then = then, now
                came, then_came = then_came, came
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
    best: Floats,
    state: Integers,
) -> None:
    """Cheapest end for every completion slot; transport is computed only where it may matter."""
    flow = np.zeros(price.shape, dtype=np.int64)
    amount = int(supply.sum())
    best[:] = np.inf
    state[:] = -1
    for t in range(len(flow_cost)):
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
    limit = widened(below)
    budget = np.full(slots, -np.inf)
    np.subtract(limit, ahead, out=budget, where=np.isfinite(ahead))
    _sweep(
        value, origin, server, lattice.above, levels.option_workers, levels.option_levels,
        terms.worker_price, terms.server_price, terms.most, budget,
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
        terms.transport_weight, supply, room, move_price, best, state,
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
