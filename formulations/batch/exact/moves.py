"""The loop that destroys a part of a schedule and repairs it, in machine code.

Only servers that have workers of a job's type, and those with its parameter servers, are looked
at: per type they are numbered from 0 ("places"), and rows of arrays are filled up with places that
have nothing. A job with N workers takes ceil(work / N) slots, so a run of d slots needs
N = ceil(work / d) of them, and no list of choices is gone through. Chance comes from a generator of
whole numbers, so that the loop does the same interpreted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.batch.insertion import NEAR
from formulations.batch.instance import Floats, Integers
from optsched.jit import njit_cached

MOST_DESTROYED = 7
"""Most jobs destroyed at a time."""
NOISE = 10.0
"""Slots by which servers are preferred at random, in half of the steps."""
REACH = 3.0
"""Most slots for which it counts that ten jobs reach a server in a slot, and not yet all others."""
JITTER = 20
"""Slots by which a job is kept waiting at most, and rarely."""
ODD = 0.25
"""Share of jobs inserted narrower, or later, than they might be."""
PRIME = 2**31 - 1
"""Modulus of the generator of chance (Park and Miller, 1988), with the multiplier below."""
MULTIPLIER = 48271

Counts = NDArray[np.int32]
"""Half as wide, for rows that are gone through all the time."""


class JobData(NamedTuple):
    """What is given: jobs, and places of each type of worker and of parameter server."""

    kind: Integers
    """u_j, shape (jobs,), as all below whose shape is not given."""
    service: Integers
    """v_j."""
    slow: Integers
    """Work of a job on several servers, worker-slots."""
    fast: Integers
    """Work of it on one server."""
    most: Integers
    """D_j."""
    first: Integers
    """Earliest start."""
    last: Integers
    """Last slot; -1: no choice but the cloud."""
    away: Integers
    """Completion slot elsewhere."""
    weight: Floats
    """w_j."""
    reached: Integers
    """First slot in which a job may use each place of its type of worker, (jobs, places)."""
    served: Integers
    """The same of its type of parameter server."""
    beside: Integers
    """Parameter-server place of each worker place, or -1, (worker types, PS types, places)."""
    early: Floats
    """Tenths of jobs that have reached each place and not yet all places, summed over the slots
    before each, (worker types, slots + 1, places)."""
    group: Integers
    """Contested jobs, those of a type together."""
    bounds: Integers
    """Where those of each type begin and end in ``group``, shape (worker types + 1,)."""


class Current(NamedTuple):
    """The current schedule, and what it leaves free; changed in place."""

    start: Integers
    """Shape (jobs,), as the next three; -1: elsewhere."""
    end: Integers
    together: Integers
    """1 where all is on one server."""
    ps: Integers
    """Place of the parameter server."""
    y: Counts
    """Workers, (jobs, places)."""
    workers: Counts
    """Free ones, (worker types, slots, places)."""
    services: Integers
    """Free ones, (PS types, slots, places)."""
    idle: Integers
    """Free workers of all places, (worker types, slots)."""


class Repair(NamedTuple):
    """How a job is inserted, in one step."""

    most: int
    """Workers at most."""
    first: int
    """Start at the earliest."""
    late: int
    """1: of runs that end together that which starts last, else first."""
    reach: float
    """What it counts that others reach a server early."""
    turn: int
    """Place from which on one for the parameter server is looked for."""


@njit_cached
def random_number(state: Integers) -> float:
    """The next number of a sequence, in 0..1; ``state`` is one number, changed."""
    state[0] = state[0] * MULTIPLIER % PRIME
    return float(state[0] / PRIME)


@njit_cached
def occupy(now: Current, u: int, v: int, j: int, sign: int) -> None:
    """Take (1) or give back (-1) what the run of a job needs, of worker type u and PS type v."""
    ps, y = now.ps[j], now.y[j] * np.int32(sign)
    workers, services, idle = now.workers[u], now.services[v], now.idle[u]
    n = y.sum()
    for t in range(now.start[j], min(now.end[j] + 1, len(workers))):
        services[t, ps] -= sign
        idle[t] -= n
        for i in range(len(y)):
            workers[t, i] -= y[i]


@njit_cached
def is_free(free: Integers, place: int, start: int, end: int) -> bool:
    """Whether there is one throughout, of what is free by slot and place."""
    least = 1
    for t in range(start, end + 1):
        least = min(least, free[t, place])
    return bool(least == 1)


@njit_cached
def narrow(room: Counts, free: Counts, t: int) -> int:
    """Of each place what it has in another slot, too; and how many that is together."""
    total = 0
    for i in range(len(room)):
        room[i] = min(room[i], free[t, i])
        total += room[i]
    return total


@njit_cached
def service_place(data: JobData, now: Current, j: int, turn: int, start: int, end: int) -> int:
    """A place for the parameter server of a run on several servers, or -1."""
    free, served = now.services[data.service[j]], data.served[j]
    for step in range(len(served)):
        i = (turn + step) % len(served)
        if served[i] <= start and is_free(free, i, start, end):
            return int(i)
    return -1


@njit_cached
def single_place(
    data: JobData, now: Current, j: int, room: Counts, n: int, start: int, end: int
) -> int:
    """The fullest place that has room for all workers of a run and its parameter server, or -1."""
    free, beside = now.services[data.service[j]], data.beside[data.kind[j], data.service[j]]
    found = -1
    for i in range(len(room)):
        fuller = room[i] >= n and (found < 0 or room[i] < room[found])
        if fuller and beside[i] >= 0 and is_free(free, beside[i], start, end):
            found = i
    return found


@njit_cached
def next_start(idle: Integers, work: int, most: int, start: int, latest: int) -> int:
    """The next slot in which enough workers may be free for a run; past ``latest`` if none is.

    All that are free count, wherever they are: where these are too few, so are those of use.

    Args:
        idle: free workers by slot.
        work: of the run at least, worker-slots.
        most: its workers at most.
        start: slot to begin with.
        latest: slot in which it ends at the latest.
    """
    while start <= latest:
        least, longest = most, latest - start + 1
        for d in range(1, longest + 1):
            least = min(least, idle[start + d - 1])
            if work > least * longest:
                break
            if work <= least * d:
                return start
        start += 1
    return start


@njit_cached
def earliest_run(
    data: JobData, now: Current, j: int, repair: Repair
) -> tuple[int, int, int, int, int]:
    """The run of a job that ends first beside the others.

    Returns:
        Start (-1: elsewhere is no worse), end, workers, its place if it is on one server, else
        -1, and place of the parameter server.
    """
    u = data.kind[j]
    free, idle, reached = now.workers[u], now.idle[u], data.reached[j]
    slow, fast = data.slow[j], data.fast[j]
    found = (-1, data.away[j], 0, -1, -1)
    latest = min(data.last[j], data.away[j] - 1)
    room = np.zeros(len(reached), dtype=np.int32)
    h = next_start(idle, fast, repair.most, max(data.first[j], repair.first), latest)
    while h <= latest:
        for i in range(len(room)):
            room[i] = free[h, i] if reached[i] <= h else 0
        longest = latest - h + 1
        for e in range(h, latest + 1):
            d = e - h + 1
            most = min(narrow(room, free, e), repair.most)
            if fast > most * longest:
                break
            if slow <= most * d:
                n = -(-slow // d)
                ps = service_place(data, now, j, repair.turn, h, e) if -(-slow // n) == d else -1
                if ps >= 0:
                    found = (h, e, n, -1, ps)
                    break
            if fast <= most * d:
                n = -(-fast // d)
                place = single_place(data, now, j, room, n, h, e) if -(-fast // n) == d else -1
                if place >= 0:
                    found = (h, e, n, place, data.beside[u, data.service[j], place])
                    break
        if found[0] == h:  # a later start may end as soon, but no later
            latest = found[1] - 1 + repair.late
        h = next_start(idle, fast, repair.most, h + 1, latest)
    return found


@njit_cached
def insert(data: JobData, now: Current, j: int, repair: Repair, noise: Floats) -> None:
    """Insert a job where it ends first; on servers that are of least use to others."""
    start, end, n, place, ps = earliest_run(data, now, j, repair)
    now.start[j], now.end[j] = start, end
    if start < 0:
        return
    y = now.y[j]
    y[:] = 0
    now.ps[j] = ps
    now.together[j] = place >= 0
    if place >= 0:
        y[place] = n
        occupy(now, data.kind[j], data.service[j], j, 1)
        return
    u = data.kind[j]
    free, early, reached = now.workers[u], data.early[u], data.reached[j]
    room = np.zeros(len(reached), dtype=np.int32)
    for i in range(len(room)):
        room[i] = free[start, i] if reached[i] <= start else 0
    for t in range(start + 1, end + 1):
        narrow(room, free, t)
    there = np.flatnonzero(room)
    wait = np.zeros(len(there))
    for k in range(len(there)):
        i = there[k]
        wait[k] = noise[i] + repair.reach * (early[end + 1, i] - early[start, i])
        t = end + 1
        while t < min(len(free), end + NEAR) and free[t, i] >= room[i]:
            t += 1
        wait[k] += t - end
        t = start - 1
        while t > max(0, start - NEAR) and free[t, i] >= room[i]:
            t -= 1
        wait[k] += start - t
    for i in there[np.argsort(wait, kind="mergesort")]:
        y[i] = min(n, room[i])
        n -= y[i]
    occupy(now, data.kind[j], data.service[j], j, 1)


@njit_cached
def copy_run(source: Current, target: Current, j: int) -> None:
    """Copy where a job runs; assigning rows takes the compiler seconds."""
    target.start[j], target.end[j] = source.start[j], source.end[j]
    target.together[j], target.ps[j] = source.together[j], source.ps[j]
    for i in range(source.y.shape[1]):
        target.y[j, i] = source.y[j, i]


@njit_cached
def destroyed(data: JobData, now: Current, state: Integers) -> Integers:
    """Some jobs of one type that end near each other, in the order in which they are inserted."""
    one = data.group[int(random_number(state) * len(data.group))]
    u = data.kind[one]
    group = data.group[data.bounds[u] : data.bounds[u + 1]]
    count = min(len(group), 1 + int(random_number(state) * MOST_DESTROYED))
    apart = np.zeros(len(group))
    for i in range(len(group)):
        apart[i] = abs(now.end[group[i]] - now.end[one]) * random_number(state)
    out = group[np.argsort(apart, kind="mergesort")[:count]]
    in_order = random_number(state) < 0.3
    moment = np.zeros(count)
    for i in range(count):
        chance = random_number(state)
        moment[i] = now.end[out[i]] if in_order else chance
    return out[np.argsort(moment, kind="mergesort")]


@njit_cached
def drawn_repair(data: JobData, j: int, state: Integers) -> Repair:
    """How a job is inserted: mostly as wide and as soon as can be."""
    most, first = data.most[j], 0
    if random_number(state) < ODD:
        most = 1 + int(random_number(state) * most)
    if random_number(state) < ODD:
        first = data.first[j] + int(random_number(state) * random_number(state) * JITTER)
    late, turn = int(random_number(state) < 0.5), int(random_number(state) * data.served.shape[1])
    return Repair(most, first, late, REACH * max(0.0, random_number(state) - 0.3), turn)


@njit_cached
def destroy_and_repair(
    data: JobData, now: Current, best: Current, value: Floats, state: Integers, steps: int
) -> float:
    """Take a number of steps, each kept or undone by the rule of Metropolis.

    Args:
        data: what is given.
        now: where it begins and ends.
        best: the best met; overwritten by better ones.
        value: that of ``now`` and of ``best``, and the temperature.
        state: of chance.
        steps: how many.

    Returns:
        The value of ``best``.
    """
    noise = np.zeros(now.y.shape[1])
    old = Current(
        now.start.copy(), now.end.copy(), now.together.copy(), now.ps.copy(), now.y.copy(),
        now.workers, now.services, now.idle,
    )  # fmt: skip
    for _ in range(steps):
        out = destroyed(data, now, state)
        before = 0.0
        for j in out:
            before += data.weight[j] * now.end[j]
            copy_run(now, old, j)
            if now.start[j] >= 0:
                occupy(now, data.kind[j], data.service[j], j, -1)
        noisy = random_number(state) < 0.5
        for i in range(len(noise)):
            noise[i] = NOISE * random_number(state) if noisy else 0.0
        after = 0.0
        for j in out:
            insert(data, now, j, drawn_repair(data, j, state), noise)
            after += data.weight[j] * now.end[j]
        loss = after - before
        if loss >= -value[2] * np.log(random_number(state)):
            for j in out:
                if now.start[j] >= 0:
                    occupy(now, data.kind[j], data.service[j], j, -1)
            for j in out:
                copy_run(old, now, j)
                if now.start[j] >= 0:
                    occupy(now, data.kind[j], data.service[j], j, 1)
            continue
        value[0] += loss
        if value[0] < value[1] - 1e-9:
            value[1] = value[0]
            for j in range(len(now.start)):
                copy_run(now, best, j)
    return float(value[1])
