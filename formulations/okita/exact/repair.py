"""Rounds of neighbourhoods, compiled: until one is better, or its last job is to be planned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from formulations.okita.exact.destroy import (
    Demands,
    Offers,
    Standing,
    copy_path,
    exponential,
    hold,
    one_of,
    taken_out,
)
from formulations.okita.exact.quick_units import QuickJobs, Rent, planned_quickly, quick_bound
from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.arrays import copy_into
from optsched.jit import njit_cached

PAID = (0.0, 0.0, 0.3, 0.6)
"""Parts of the prices that jobs pay, one of them drawn each time."""

FLAT = 1e-9
"""Relative difference of costs that is rounding."""


class Around(NamedTuple):
    """What neighbourhoods of a schedule are searched with."""

    demands: Demands
    floors: Floats
    """What each job costs at least, shape (jobs,), money."""
    latency: Floats
    """Of completing in each slot, by job from its first on, shape (jobs, slots), money."""
    least: Integers
    """Slots that any schedule of each job takes, shape (jobs,)."""
    needed: Integers
    """Slots in which each job can always be run."""
    worker_rent: Floats
    """What a worker pays at the prices of sites, shape (jobs, slots, sites), money; shape
    (jobs, 0, sites) where none are known."""
    server_rent: Floats
    """What the server pays."""
    capacity: Integers
    """Shape (sites, resources)."""
    offers: Offers
    """What the relaxation chooses."""


@njit_cached
def _end(left: Integers, capacity: Integers) -> int:
    """Slots up to the last in which something is taken."""
    for t in range(len(left) - 1, -1, -1):
        for r in range(len(capacity)):
            for k in range(capacity.shape[1]):
                if left[t, r, k] != capacity[r, k]:
                    return t + 1
    return 0


@njit_cached
def _plan(
    around: Around, jobs: QuickJobs, i: int, now: Standing, then: Standing, paid: float
) -> float:
    """Plan a job quickly, from as many slots on as it takes now; what it costs, money.

    Args:
        around: see ``rounds``.
        jobs: see there.
        i: the job.
        now: the schedule.
        then: written: what the job holds, and what is left.
        paid: part of the prices that it pays.
    """
    demands, paths = around.demands, then.paths
    first, reach = demands.first[i], _end(then.left, around.capacity)
    limit = min(around.needed[i] + max(0, reach - first), len(then.left) - first)
    slots = min(max(now.paths.slots[i] + 1, around.least[i]), limit)
    cost, workers, server, flow = planned_quickly(
        jobs, i, then.left[first : first + limit], around.latency[i, :limit],
        Rent(around.worker_rent[i], around.server_rent[i], paid), slots,
    )  # fmt: skip
    if cost == np.inf:
        return cost
    used = len(server)
    while server[used - 1] < 0:
        used -= 1
    paths.slots[i], paths.price[i] = used, cost
    copy_into(paths.workers[i, :used], workers[:used])
    copy_into(paths.server[i, :used], server[:used])
    copy_into(paths.flow[i], flow)
    hold(then.left, demands, i, paths, i, 1)
    return cost


@njit_cached
def _but_the_last(
    rng: Generator,
    around: Around,
    jobs: QuickJobs,
    rest: Integers,
    now: Standing,
    then: Standing,
    spare: float,
) -> float:
    """What the last of some jobs is to cost less than, the others planned quickly; -inf: in vain.

    Args:
        rng: for the draws.
        around: see ``rounds``.
        jobs: see there.
        rest: jobs, in this order.
        now: the schedule.
        then: written.
        spare: what all of them are to cost less than.
    """
    floor = 0.0
    for i in rest:
        floor += around.floors[i]
    paid = PAID[one_of(rng, len(PAID))]
    for i in rest[:-1]:
        if spare < floor:
            return -np.inf
        spare -= _plan(around, jobs, i, now, then, paid)
        floor -= around.floors[i]
    if spare < floor:
        return -np.inf
    last = rest[-1]  # it leaves nothing to anybody, so it pays nothing
    first = around.demands.first[last]
    latency = around.latency[last, : len(then.left) - first]
    slots = np.searchsorted(latency, spare)
    within = then.left[first : first + slots]
    if slots == 0 or quick_bound(jobs, last, within, latency) >= spare:
        return -np.inf
    return spare


@njit_cached
def settle(now: Standing, then: Standing, out: Integers, cost: float) -> float:
    """Go on from what some jobs hold in another schedule; what all cost then, money.

    Args:
        now: written.
        then: that other one.
        out: the jobs.
        cost: of the schedule before; it stays the same where the difference is rounding.
    """
    copy_into(now.left, then.left)
    for i in out:
        copy_path(then.paths, i, now.paths, i)
    after = now.paths.price.sum()
    return after if abs(after - cost) > FLAT * cost else cost


@njit_cached
def rounds(
    rng: Generator,
    around: Around,
    jobs: QuickJobs,
    now: Standing,
    then: Standing,
    out: Integers,
    guided: float,
    warmth: float,
    cost: float,
    best: float,
    most: int,
) -> tuple[int, int, int, float, float]:
    """Neighbourhoods, until one is better or is to be finished.

    Args:
        rng: for the draws.
        around: what they are searched with.
        jobs: to be planned; their prices of chunks are written.
        now: the schedule, which is written.
        then: written; what an unfinished one holds but for its last job.
        out: written: jobs that an unfinished one takes out, those planned first.
        guided: part of the jobs that take what a relaxation chooses, if it fits.
        warmth: how much more is kept on average, part of what jobs cost more than their floors.
        cost: of the schedule, money.
        best: better is what costs less.
        most: rounds.

    Returns:
        Rounds made; of an unfinished one, how many jobs are planned, how many are out, and what the
        last one planned is to cost less than; the cost of the schedule.
    """
    floor = around.floors.sum()
    for n in range(1, most + 1):
        more = FLAT * cost + warmth * exponential(rng) * (cost - floor)
        rest, count, spare = taken_out(rng, around.demands, around.offers, now, then, guided, out)
        if rest > 0:
            limit = _but_the_last(rng, around, jobs, out[:rest], now, then, spare + more)
            if limit > -np.inf:
                return n, rest, count, limit, cost
        elif spare >= -more:
            cost = settle(now, then, out[:count], cost)
            if cost < best:
                return n, 0, count, 0.0, cost
    return most, 0, 0, 0.0, cost
