"""Combinations of all jobs' moves in one slot, in machine code.

Moves are chosen job by job, the cheapest first. A choice is given up once what it is dearer than
the cheapest, with the worth of sites where nothing fits any more that a job to come could use, is
more than there is to spare.
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
    dearer: Floats
    """How much dearer it is than the cheapest from its point; ascending by job, point."""
    to: Integers
    """The point it leads to."""
    workers: Integers
    """Shape (entries, sites)."""
    site: Integers
    """Of the server; -1: the job pauses."""
    worker: Floats
    """Price of what a worker holds, shape (jobs, sites)."""
    server: Floats
    worth: Floats
    """Of the capacities, by site."""


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
    while table[at] >= 0 and (points[table[at]] != wanted).any():
        at = (at + 1) % len(table)
    return at


@njit_cached
def enter(points: Integers, table: Integers, count: int) -> None:
    """Write the first states into the table."""
    for n in range(count):
        table[_place(points, table, points[n])] = n


@njit_cached
def _fits(
    before: Integers,
    workers: Integers,
    server: int,
    worker_demand: Integers,
    server_demand: Integers,
    left: Integers,
) -> bool:
    """Whether a move fits into what is left, and what it leaves, written."""
    for r in range(before.shape[0]):
        for k in range(before.shape[1]):
            left[r, k] = before[r, k] - workers[r] * worker_demand[k]
            if r == server:
                left[r, k] -= server_demand[k]
            if left[r, k] < 0:
                return False
    return True


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
    first, last, added, dearer = slot.first, slot.last, slot.added, slot.dearer
    site, to, worth = slot.site, slot.to, slot.worth.sum()
    jobs, sites = point.shape[1], len(slot.worth)
    room = np.empty((jobs + 1, sites, system.capacity.shape[1]), dtype=np.int64)
    room[0] = system.capacity
    kept = np.empty((jobs + 1, sites))
    kept[0] = slot.worth
    at, wanted = np.empty(jobs, dtype=np.int64), np.empty(jobs, dtype=np.int64)
    busy = np.empty(jobs, dtype=np.int64)
    paid, least = np.zeros(jobs + 1), np.zeros(jobs + 1)
    dues, mild = np.zeros(jobs + 1), np.zeros(jobs + 1)
    total = 0
    said[1] = FITS
    for x in range(begun, len(point)):
        if total > steps:
            return x
        stuck, tried, idle = False, 0, jobs
        for j in range(jobs - 1, -1, -1):
            at[j] = first[j, point[x, j]]
            end = last[j, point[x, j]]
            stuck = stuck or at[j] == end
            if stuck:
                break
            least[j] = least[j + 1] + added[at[j] : end].min()
            mild[j] = mild[j + 1] + dearer[at[j]]
            if end > at[j] + 1 or site[at[j]] >= 0:
                idle -= 1
                busy[idle] = j
        j = -1 if stuck else 0
        while j >= 0:
            n = at[j]
            if n == last[j, point[x, j]] or dues[j] + dearer[n] + mild[j + 1] > spare[x]:
                at[j] = first[j, point[x, j]]
                j -= 1
                if j >= 0:
                    at[j] += 1
                continue
            tried += 1
            if tried > steps:
                said[1] = ENDLESS
                return x
            paid[j + 1] = paid[j] + added[n]
            dues[j + 1] = dues[j] + dearer[n]
            good = paid[j + 1] + least[j + 1] + worth <= spare[x]
            if good and site[n] < 0:
                room[j + 1] = room[j]
                kept[j + 1] = kept[j]
            elif good:
                workers, server = slot.workers[n], site[n]
                good = _fits(
                    room[j], workers, server, system.worker_demand[j], system.server_demand[j],
                    room[j + 1],
                )  # fmt: skip
                for r in range(sites):
                    kept[j + 1, r] = kept[j, r] - workers[r] * slot.worker[j, r]
                kept[j + 1, server] -= slot.server[j, server]
            if good and j < jobs - 1:
                later = idle
                while later < jobs and busy[later] <= j:
                    later += 1
                lost = _lost(system, slot, busy[later:], room[j + 1], kept[j + 1])
                good = dues[j + 1] + mild[j + 1] + lost <= spare[x]
            if not good:
                at[j] += 1
                continue
            if j < jobs - 1:
                j += 1
                continue
            at[j] += 1
            for i in range(jobs):
                wanted[i] = to[at[i] if i < j else n]
            left = spare[x] - worth - paid[jobs]
            h = _place(points, table, wanted)
            y = table[h]
            if y < 0:
                y = said[0]
                if y == len(points):
                    said[1] = FULL
                    return x
                table[h] = y
                points[y] = wanted
                said[0] = y + 1
            elif remains[y] >= left:
                continue
            remains[y] = left
            origin[y] = x
            for i in range(jobs):
                moved[y, i] = at[i] if i < j else n
        total += tried
    return len(point)
