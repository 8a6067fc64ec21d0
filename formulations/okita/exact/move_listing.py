"""What a job has yet to pay, backwards over its slots, and the moves of a slot, in machine code.

What is yet to be paid at a point comes from what is paid at the points its workers lead to, decided
site by site. Only points that lie on schedules that are cheap enough are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.one_job.lattice import Lattice
from formulations.okita.problem_7 import cheapest_transport
from optsched.jit import njit_cached


class Ladder(NamedTuple):
    """How workers climb."""

    above: Integers
    below: Integers
    option_workers: Integers
    option_levels: Integers

    @classmethod
    def of(cls, lattice: Lattice) -> Ladder:
        """That of a lattice."""
        below = np.full_like(lattice.above, -1)
        site, point = np.nonzero(lattice.above >= 0)
        below[site, lattice.above[site, point]] = point
        return cls(
            lattice.above, below, lattice.levels.option_workers, lattice.levels.option_levels
        )


class Goods(NamedTuple):
    """What transport costs, computed only where a move completes the job."""

    cost: Floats
    """At each point, or what it is at least, money; infinite where chunks are left."""
    settled: Booleans
    """Whether it is the cost."""
    room: Integers
    """Chunks trained, shape (points, sites)."""
    supply: Integers
    price: Floats

    @classmethod
    def of(cls, instance: Instance, lattice: Lattice) -> Goods:
        """Return the moves of a job, with what is known of its transport."""
        levels, known = lattice.levels, lattice.transport_cost
        i = levels.job
        cost = np.full(len(lattice.level), np.inf)
        cost[lattice.ends] = np.where(np.isnan(known), lattice.transport_floor, known)
        settled = np.zeros(len(cost), dtype=np.bool_)
        settled[lattice.ends] = ~np.isnan(known)
        price = instance.unit_bandwidth_cost * instance.chunk_size_mb[i]
        return cls(cost, settled, lattice.level * levels.unit, instance.num_chunks[i], price)


class Found(NamedTuple):
    """Moves as they are found."""

    point: Integers
    to: Integers
    server: Integers
    workers: Integers
    paid: Floats
    """With all that is yet to be paid, money."""

    @classmethod
    def room(cls, moves: int, sites: int) -> Found:
        """For so many."""
        point, to, server = np.empty((3, moves), dtype=np.int64)
        workers = np.empty((moves, sites), dtype=np.int64)
        return cls(point, to, server, workers, np.empty(moves))


class _Rest(NamedTuple):
    """What the sites from each one on lead to at least, beginning at a point; inf: of no interest.

    The points of interest are listed, those of later sites first, so that the others need not be
    looked at.
    """

    any: Floats
    """By sites decided, shape (sites + 1, points of interest), money."""
    some: Floats
    """The same with one worker at least."""
    points: Integers
    """Points of interest."""
    place: Integers
    """Where a point stands among them; -1: nowhere."""
    size: Integers
    """How many they are once the sites before each one are decided, shape (sites + 1,)."""


@njit_cached
def _from_sites(ladder: Ladder, price: Floats, most: Integers, worth: float, rest: _Rest) -> None:
    """Write what workers at the sites from each one on lead to.

    Args:
        ladder: how they climb.
        price: of a worker, by site.
        most: workers, by site.
        worth: prices above it are of no interest.
        rest: written; once all sites are decided it is given.
    """
    sites = len(price)
    for x in range(rest.size[sites], rest.size[0]):
        rest.place[rest.points[x]] = -1
    for r in range(sites - 1, -1, -1):
        count = rest.size[r + 1]
        for x in range(count):
            rest.any[r, x], rest.some[r, x] = rest.any[r + 1, x], rest.some[r + 1, x]
        for x in range(rest.size[r + 1]):
            n, climbed = rest.points[x], 0
            for o in range(len(ladder.option_workers)):
                workers = ladder.option_workers[o]
                if workers > most[r]:
                    break
                total = rest.any[r + 1, x] + price[r] * workers
                if total > worth:
                    break
                while climbed < ladder.option_levels[o] and n >= 0:
                    n = ladder.below[r, n]
                    climbed += 1
                if n < 0:
                    break
                y = rest.place[n]
                if y < 0:
                    y = count
                    rest.place[n], rest.points[y] = y, n
                    rest.any[r, y] = rest.some[r, y] = np.inf
                    count += 1
                rest.some[r, y] = min(rest.some[r, y], total)
                rest.any[r, y] = min(rest.any[r, y], total)
        rest.size[r] = count


@njit_cached
def _completed(goods: Goods, n: int) -> float:
    """What transport costs at a point where nothing is left to train."""
    if not goods.settled[n]:
        flow = np.zeros(goods.price.shape, dtype=np.int64)
        amount = int(goods.supply.sum())
        goods.cost[n] = cheapest_transport(goods.supply, goods.room[n], goods.price, flow, amount)
        goods.settled[n] = True
    return float(goods.cost[n])


@njit_cached
def _enter(found: Found, count: int, point: int, to: int, paid: float) -> int:
    """Write a pause or the beginning of a move; how many there are then, -1 if too many."""
    if count < 0 or count == len(found.point):
        return -1
    found.point[count] = point
    found.to[count] = to
    found.server[count] = -1
    found.workers[count] = 0
    found.paid[count] = paid
    return count + 1


@njit_cached
def _ways_on(
    ladder: Ladder, goods: Goods, s: int, p: int, spare: float, fee: float, late: float,
    after: Floats, price: Floats, most: Integers, rest: _Rest, found: Found, count: int,
) -> int:  # fmt: skip
    """Write the moves from a point with the server at one site, and what is paid from there on.

    Args:
        ladder: how workers climb.
        goods: what transport costs.
        s: site of the server.
        p: the point.
        spare: most that may be paid from there on.
        fee: of the server.
        late: what completing in the slot costs.
        after: what is yet to be paid after the slot, at least, by point.
        price: of a worker, by site.
        most: workers, by site.
        rest: of ``_from_sites``.
        found: written.
        count: of the moves so far.

    Returns:
        How many there are then, -1 if they are too many.
    """
    sites, options = len(price), len(ladder.option_workers)
    place = np.empty(sites + 1, dtype=np.int64)
    place[0] = p
    high, option = place.copy(), np.full(sites + 1, -2)
    paid = np.full(sites + 1, fee)
    begun = np.zeros(sites + 1, dtype=np.bool_)
    r = 0
    while r >= 0:
        if r == sites:
            for ends in range(2):
                n, total = place[r], paid[r] + after[place[r]]
                if ends == 1:
                    total = paid[r] + goods.cost[n] + late
                    if total <= spare:
                        total = paid[r] + _completed(goods, n) + late
                if total <= spare:
                    count = _enter(found, count, p, len(goods.cost) if ends == 1 else n, total)
                    if count < 0:
                        return count
                    found.server[count - 1] = s
                    for x in range(sites):
                        if option[x] >= 0:
                            found.workers[count - 1, x] = ladder.option_workers[option[x]]
            r -= 1
            continue
        option[r] += 1
        o = option[r]
        if o < 0:
            high[r], workers = place[r], 0
        elif o < options and ladder.option_workers[o] <= most[r]:
            workers = ladder.option_workers[o]
            climbed = ladder.option_levels[o - 1] if o > 0 else 0
            while climbed < ladder.option_levels[o] and high[r] >= 0:
                high[r] = ladder.above[r, high[r]]
                climbed += 1
        else:
            high[r] = -1
        if high[r] < 0:
            option[r] = -2
            r -= 1
            continue
        n = high[r]
        place[r + 1] = n
        paid[r + 1] = paid[r] + price[r] * workers
        begun[r + 1] = begun[r] or workers > 0
        x = rest.place[n]
        if 0 <= x < rest.size[r + 1]:
            least = rest.any[r + 1, x] if begun[r + 1] else rest.some[r + 1, x]
            if paid[r + 1] + least <= spare:
                r += 1
    return count


@njit_cached
def _after_slot(
    goods: Goods, before: Floats, after: Floats, limit: float, late: float, rest: _Rest
) -> None:
    """Write what is yet to be paid once all sites are decided; points of interest alone.

    Args:
        goods: what transport costs.
        before: what a point is reached at, at least, at the end of the slot.
        after: what is yet to be paid after the slot, at least, by point.
        limit: most that all of a schedule may cost.
        late: what completing in the slot costs.
        rest: written: what follows the last site.
    """
    for x in range(rest.size[0]):
        rest.place[rest.points[x]] = -1
    sites, count = len(rest.size) - 1, 0
    for p in range(len(before)):
        target, ends = after[p], goods.cost[p] + late
        if before[p] + ends <= limit:
            target = min(target, ends)
        if target < np.inf:
            rest.any[sites, count], rest.some[sites, count] = target, np.inf
            rest.place[p], rest.points[count] = count, p
            count += 1
    rest.size[:] = count


@njit_cached
def _no_rest(sites: int, points: int) -> _Rest:
    return _Rest(
        np.empty((sites + 1, points)),
        np.empty((sites + 1, points)),
        np.empty(points, dtype=np.int64),
        np.full(points, -1),
        np.zeros(sites + 1, dtype=np.int64),
    )


@njit_cached
def fill_backwards(
    ladder: Ladder, goods: Goods, before: Floats, value: Floats, limit: float, flow_cost: Floats,
    worker_price: Floats, server_price: Floats, most: Integers,
) -> None:  # fmt: skip
    """Fill what is yet to be paid, whose last row and last column are given.

    Args:
        ladder: how workers climb.
        goods: what transport costs.
        before: what a point is reached at, at least, at the beginning of a slot.
        value: written, shape (slots + 1, points + 1).
        limit: most that all of a schedule may cost.
        flow_cost: of completing in each slot.
        worker_price: of a worker by slot, site of the server, site.
        server_price: by slot, site.
        most: workers by slot, site of the server, site.
    """
    slots, sites = server_price.shape
    points = before.shape[1]
    rest = _no_rest(sites, points)
    for t in range(slots - 1, -1, -1):
        least = np.inf
        for p in range(points):
            least = min(least, before[t, p])
        worth = limit - least
        _after_slot(goods, before[t + 1], value[t + 1], limit, flow_cost[t], rest)
        for p in range(points):
            if before[t, p] + value[t + 1, p] <= limit:
                value[t, p] = value[t + 1, p]
        for s in range(sites):
            fee = server_price[t, s]
            if fee > worth:
                continue
            _from_sites(ladder, worker_price[t, s], most[t, s], worth - fee, rest)
            for x in range(rest.size[0]):
                p, least = rest.points[x], rest.some[0, x] + fee
                if least <= limit - before[t, p]:
                    value[t, p] = min(value[t, p], least)


@njit_cached
def list_slot(
    ladder: Ladder, goods: Goods, t: int, before: Floats, value: Floats, limit: float,
    late: float, worker_price: Floats, server_price: Floats, most: Integers, start: Integers,
    spare: Floats, found: Found,
) -> int:  # fmt: skip
    """List the moves of a slot from some points.

    Args:
        ladder: how workers climb.
        goods: what transport costs.
        t: the slot.
        before: of ``fill_backwards``, as are value, filled, and limit.
        value: see there.
        limit: see there.
        late: what completing in the slot costs.
        worker_price: of a worker by site of the server, site.
        server_price: by site.
        most: workers by site of the server, site.
        start: the points.
        spare: by how much moves may be dearer than what is yet to be paid there at least.
        found: written.

    Returns:
        How many moves there are, -1 if they are too many.
    """
    sites, count = len(server_price), 0
    rest = _no_rest(sites, before.shape[1])
    after = value[t + 1]
    _after_slot(goods, before[t + 1], after, limit, late, rest)
    dear, worth = np.empty(len(start)), -np.inf
    for x in range(len(start)):
        p = start[x]
        dear[x] = min(limit - before[t, p], value[t, p] + spare[x])
        worth = max(worth, dear[x])
        if after[p] <= dear[x]:
            count = _enter(found, count, p, p, after[p])
    for s in range(sites):
        fee = server_price[s]
        if fee > worth:
            continue
        _from_sites(ladder, worker_price[s], most[s], worth - fee, rest)
        for x in range(len(start)):
            p = start[x]
            y = rest.place[p]
            if count >= 0 and y >= 0 and rest.some[0, y] + fee <= dear[x]:
                count = _ways_on(
                    ladder, goods, s, p, dear[x], fee, late, after, worker_price[s], most[s],
                    rest, found, count,
                )  # fmt: skip
    return count
