"""Combinations of all jobs' moves in one slot, in machine code.

Moves are chosen job by job, the cheapest first. A choice is given up once it costs more than there
is to spare: above the cheapest, and with the worth of sites where nothing fits any more that a job
to come could use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers
from optsched.jit import njit_cached


class Slot(NamedTuple):
    """A slot as machine code takes it."""

    first: Integers
    """First entry of what is offered, by job, point."""
    last: Integers
    """After the last entry."""
    added: Floats
    """What an entry adds to the bound, capacities paid for."""
    reduced_cost: Floats
    """Cost above the cheapest from its point; ascending by job, point."""
    to: Integers
    """The point it leads to."""
    workers: Integers
    """Shape (entries, sites)."""
    site: Integers
    """Site of the server; -1: the job pauses."""
    worker: Floats
    """Price of what a worker holds, shape (jobs, sites)."""
    server: Floats
    worth: Floats
    """Dual values of the capacities, by site."""


class System(NamedTuple):
    """What is the same in every slot."""

    worker_demand: Integers
    """m, shape (jobs, resources)."""
    server_demand: Integers
    """n."""
    capacity: Integers
    """C."""


FITS, FULL, ENDLESS = range(3)
"""How a search ends: well, or there is no room for another state, or one has too many ways on."""


@njit_cached
def _place(points: Integers, table: Integers, wanted: Integers) -> int:
    """Where in the table the state ``wanted`` stands, or belongs."""
    at = 0
    for j in range(points.shape[1]):
        at = (at * 1_000_003 + wanted[j] + 1) % 2_147_483_647
    at %= len(table)
    while table[at] >= 0:
        j = 0
        while j < len(wanted) and points[table[at], j] == wanted[j]:
            j += 1
        if j == len(wanted):
            break
        at = (at + 1) % len(table)
    return at


@njit_cached
def enter(points: Integers, table: Integers, count: int) -> None:
    """Write the first states into the table."""
    for n in range(count):
        table[_place(points, table, points[n])] = n


@njit_cached
def _fits(system: System, j: int, workers: Integers, server: int, left: Integers) -> bool:
    """Whether a job's workers and its server fit into what is left, shape (sites, resources)."""
    for r in range(left.shape[0]):
        if workers[r] > 0 or r == server:
            for k in range(left.shape[1]):
                held = workers[r] * system.worker_demand[j, k]
                if r == server:
                    held += system.server_demand[j, k]
                if held > left[r, k]:
                    return False
    return True


@njit_cached
def _take(
    system: System, slot: Slot, j: int, n: int, left: Integers, kept: Floats, rest: Integers,
    worth: Floats,
) -> None:  # fmt: skip
    """Write what entry ``n`` of a job leaves, and what that is worth.

    Args:
        system: the jobs.
        slot: what they are offered.
        j: the job.
        n: the entry.
        left: what is left before it, shape (sites, resources).
        kept: what that is worth, by site.
        rest: written: what is left after it.
        worth: written: what that is worth.
    """
    for r in range(len(kept)):
        count, serves = slot.workers[n, r], r == slot.site[n]
        worth[r] = kept[r] - count * slot.worker[j, r]
        if serves:
            worth[r] -= slot.server[j, r]
        for k in range(left.shape[1]):
            rest[r, k] = left[r, k] - count * system.worker_demand[j, k]
            if serves:
                rest[r, k] -= system.server_demand[j, k]


@njit_cached
def _lost(system: System, slot: Slot, rest: Integers, left: Integers, kept: Floats) -> float:
    """Worth of what none of the jobs to come can use, for nothing of it fits.

    Args:
        system: the jobs.
        slot: for its prices.
        rest: the jobs to come.
        left: what is left, shape (sites, resources).
        kept: what it is worth, by site.
    """
    worker, server = system.worker_demand, system.server_demand
    total = 0.0
    for r in range(len(kept)):
        used = False
        for j in rest:
            one = slot.worker[j, r] > 0.0
            two = slot.server[j, r] > 0.0
            for k in range(left.shape[1]):
                one = one and worker[j, k] <= left[r, k]
                two = two and server[j, k] <= left[r, k]
            if one or two:
                used = True
                break
        if not used:
            total += kept[r]
    return total


@njit_cached
def _reach(
    points: Integers, remains: Floats, origin: Integers, moved: Integers, table: Integers,
    said: Integers, wanted: Integers, at: Integers, x: int, left: float,
) -> bool:  # fmt: skip
    """Enter the state ``wanted``, come to from state ``x`` by entries ``at``; False: no room."""
    h = _place(points, table, wanted)
    y = table[h]
    if y < 0:
        y = said[0]
        if y == len(points):
            said[1] = FULL
            return False
        table[h] = y
        said[0] = y + 1
    elif remains[y] >= left:
        return True
    remains[y] = left
    origin[y] = x
    for j in range(len(at)):
        points[y, j], moved[y, j] = wanted[j], at[j]
    return True


@njit_cached
def expand(
    system: System,
    slot: Slot,
    point: Integers,
    spare: Floats,
    begun: int,
    points: Integers,
    remains: Floats,
    origin: Integers,
    moved: Integers,
    table: Integers,
    said: Integers,
    steps: int,
) -> int:
    """Try all combinations of moves from states ``begun`` on; the state to go on with.

    Args:
        system: the jobs.
        slot: what they are offered.
        point: of the states of the slot before, shape (states, jobs).
        spare: what is left of the limit of each.
        begun: the state to begin with.
        points: written: the states come to, as are remains (the most is kept), origin and moved,
            the entries of their jobs.
        remains: see there.
        origin: see there.
        moved: see there.
        table: where states are found by their points.
        said: written: how many states there are, and how this ended.
        steps: combinations after which to return.
    """
    added, reduced_cost, worth = slot.added, slot.reduced_cost, slot.worth.sum()
    jobs, sites = point.shape[1], len(slot.worth)
    room = np.empty((jobs, sites, system.capacity.shape[1]), dtype=np.int64)
    kept = np.empty((jobs, sites))
    for r in range(sites):
        kept[0, r] = slot.worth[r]
        for k in range(room.shape[2]):
            room[0, r, k] = system.capacity[r, k]
    at, wanted = np.empty(jobs, dtype=np.int64), np.empty(jobs, dtype=np.int64)
    begin, end = np.empty(jobs, dtype=np.int64), np.empty(jobs, dtype=np.int64)
    turn = np.empty(jobs, dtype=np.int64)
    paid, least = np.zeros(jobs + 1), np.zeros(jobs + 1)
    dues, mild = np.zeros(jobs + 1), np.zeros(jobs + 1)
    total = 0
    said[1] = FITS
    for x in range(begun, len(point)):
        if total > steps:
            return x
        blocked, depth = False, 0
        for j in range(jobs):
            begin[j], end[j] = slot.first[j, point[x, j]], slot.last[j, point[x, j]]
            at[j], blocked = begin[j], blocked or begin[j] == end[j]
        if blocked:
            continue
        paid[0] = dues[0] = 0.0
        for j in range(jobs):
            n, d = begin[j], depth
            wanted[j] = slot.to[n]
            last = j == jobs - 1 and depth == 0  # one of them makes the choice that there is
            if not last and end[j] == n + 1 and slot.site[n] < 0:
                paid[0] += added[n]
                dues[0] += reduced_cost[n]
                continue
            while d > 0 and end[turn[d - 1]] - begin[turn[d - 1]] > end[j] - n:
                turn[d] = turn[d - 1]  # fewest moves first
                d -= 1
            turn[d] = j
            depth += 1
        least[depth] = mild[depth] = 0.0
        for d in range(depth - 1, -1, -1):
            j = int(turn[d])
            low = np.inf
            for n in range(begin[j], end[j]):
                low = min(low, added[n])
            least[d] = least[d + 1] + low
            mild[d] = mild[d + 1] + reduced_cost[begin[j]]
        tried, d = 0, 0
        while d >= 0:
            j = int(turn[d])
            n = at[j]
            if n == end[j] or dues[d] + reduced_cost[n] + mild[d + 1] > spare[x]:
                at[j] = begin[j]
                d -= 1
                if d >= 0:
                    at[turn[d]] += 1
                continue
            tried += 1
            if tried > steps:
                said[1] = ENDLESS
                return x
            paid[d + 1] = paid[d] + added[n]
            dues[d + 1] = dues[d] + reduced_cost[n]
            left = spare[x] - worth - paid[d + 1]
            good = least[d + 1] <= left and _fits(system, j, slot.workers[n], slot.site[n], room[d])
            if good and d < depth - 1:
                _take(system, slot, j, n, room[d], kept[d], room[d + 1], kept[d + 1])
                lost = _lost(system, slot, turn[d + 1 : depth], room[d + 1], kept[d + 1])
                good = dues[d + 1] + mild[d + 1] + lost <= spare[x]
            if good:
                wanted[j] = slot.to[n]
                if d < depth - 1:
                    d += 1
                    continue
                if not _reach(points, remains, origin, moved, table, said, wanted, at, x, left):
                    return x
            at[j] += 1
        total += tried
    return len(point)
