"""A Lagrangian bound on (2) that sees the capacities at any size.

The columns of ``problem_2_columns`` are whole schedules of a job; where these are too many to be
searched, their prices can still be bounded from below. Besides the capacities (R11) the supplies
(2a) are priced, u_i^r per chunk, and workers may be fractions: a job then decides in every slot
by itself where its server stands, and chunk by chunk whether a chunk is worth training,

    min over L of f_i(L) + sum over t <= L of min(0, min over s of
        price of the server at (t, s) + sum over r of D_i^r min(0, c_i(t, s, r) - u_i^r)),

where c_i(t, s, r) is the cheapest way to train a chunk of site r: over all sites r', the data to
r', a worker's share of talking from r' to s, and of the resources at r'. With u_i^r D_i^r added,
and less the prices of all capacities, that bounds the optimum at any prices.
"""

from __future__ import annotations

import time
from threading import Event

import numpy as np
from numpy.typing import NDArray

from formulations.okita.construct import Planner, known_cost
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.windows import Windows, site_bounds, windows
from optsched.decomposition import maximise_dual
from optsched.jit import njit_cached
from optsched.problem import Bound

STEPS_ALONE = 150
"""Steps on the prices of supplies alone, while capacities are free."""

STEPS = 450
"""Steps on all prices after that."""

NEAREST = 16
"""Sites at which a chunk may be trained; at all others it is taken to be as cheap as at the next
one, and resources to be free."""

_ROUNDING = 1e-9  # relative, by which the bound is lowered
_SCALE = 0.05  # of a slot's lateness, by which prices of resources are scaled

Places = NDArray[np.int32]


def relaxed_column_bound(instance: Instance, *, seconds: float | None = None) -> float:
    """The best bound found, at least ``lb_sites``, money.

    Args:
        instance: the system and its jobs.
        seconds: wall time after which the best so far is returned, once a schedule is made; None:
            all steps.
    """
    until = np.inf if seconds is None else time.perf_counter() + seconds
    made = Planner(instance).best_insertion(lambda: time.perf_counter() >= until)
    known = known_cost(instance, made)
    span = windows(instance, known_cost=known, job_bounds=site_bounds(instance))
    left = None if seconds is None else until - time.perf_counter()
    return relaxed_bound(span, known, seconds=left)


def relaxed_bound(
    span: Windows, known: float, *, seconds: float | None = None, stop: Event | None = None
) -> float:
    """The same within slots that some optimum keeps to.

    Args:
        span: the slots.
        known: cost of a schedule, money; it steers the search.
        seconds: as above.
        stop: set when the search is to end.
    """
    until = np.inf if seconds is None else time.perf_counter() + seconds
    dual = _Dual(span)

    def enough() -> bool:
        return time.perf_counter() > until or (stop is not None and stop.is_set())

    free = np.where(np.arange(len(dual.start)) < dual.supplies, np.inf, 0.0)
    alone = maximise_dual(
        dual, dual.start, upper=free, steps=STEPS_ALONE, target=known, stop=enough
    )
    joint = maximise_dual(dual, alone.prices, steps=STEPS, target=known, stop=enough)
    best = max(alone.value, joint.value)
    return max(best - _ROUNDING * abs(best), float(site_bounds(span.instance).sum()))


class _Dual:
    """The bound as a function of prices: of supplies, then of capacities, both scaled."""

    def __init__(self, span: Windows) -> None:
        instance = span.instance
        self.span = span
        self._share = instance.work_per_chunk / instance.rate_numerator
        self._ways, self._places = _ways(instance, self._share)
        self._hosts = np.array([(instance.capacity >= n).all(axis=1) for n in instance.ps_demand])
        slots = int(span.last.max())
        self._capacity = np.tile(instance.capacity.astype(float), (slots, 1, 1))
        self._chunks = instance.num_chunks.astype(float)
        self._used = np.zeros_like(self._capacity)
        self._missing = np.zeros_like(self._chunks)
        typical = self._ways[:, :, :, 0].mean(axis=2)
        late = _SCALE * float(np.median(instance.latency.cost(np.arange(instance.jobs), 0)))
        units = np.maximum(self._capacity, 1.0)
        # a step moves each price by a like part of what it may be
        supply = typical.mean(axis=1, keepdims=True) / np.maximum(self._chunks, 1.0)
        self._scale = np.sqrt(np.concatenate([supply.reshape(-1), (late / units**2).reshape(-1)]))
        self._scale = np.maximum(self._scale, np.finfo(float).tiny)
        self.supplies = self._chunks.size
        """Prices of supplies, which come first."""
        self.start = np.zeros(len(self._scale))
        """Every chunk is worth what it costs where resources are free, over all servers."""
        self.start[: self.supplies] = typical.reshape(-1) / self._scale[: self.supplies]

    def __call__(self, prices: Floats) -> tuple[float, Floats]:
        """The bound at some prices, and how it changes with them."""
        instance, scaled = self.span.instance, self._scale * prices
        supply = scaled[: self.supplies].reshape(self._chunks.shape)
        resource = scaled[self.supplies :].reshape(self._capacity.shape)
        value = _bound(
            supply, resource, self._chunks, self._ways, self._places, self._hosts, self._share,
            instance.worker_demand.astype(float), instance.ps_demand.astype(float),
            self.span.flow_cost, instance.release_slot - 1, self.span.first_cell,
            self.span.earliest - instance.release_slot, self._missing, self._used,
        )  # fmt: skip
        excess = self._used - self._capacity
        slope = np.concatenate([self._missing.reshape(-1), excess.reshape(-1)])
        return value - float((resource * self._capacity).sum()), slope * self._scale


def _ways(instance: Instance, share: Floats) -> tuple[Floats, Places]:
    """Cheapest ways to train a chunk where resources are free, and where; ascending.

    Returns:
        Money and site by job, site of the chunk, site of the server, rank; site -1 stands for all
        sites not listed.
    """
    q, sites = instance.unit_bandwidth_cost, instance.sites
    kept = min(NEAREST, sites)
    cost = np.empty((instance.jobs, sites, sites, min(kept + 1, sites)))
    place = np.empty(cost.shape, dtype=np.int32)
    for i in range(instance.jobs):
        talk = share[i] * instance.exchange_size_mb[i] * q.T  # [server, worker]
        way = instance.chunk_size_mb[i] * q[:, None, :] + talk[None]
        way[:, :, instance.useful_workers[i] == 0] = np.inf
        order = np.argsort(way, axis=2)[:, :, : cost.shape[3]]
        place[i] = order
        cost[i] = np.take_along_axis(way, order, axis=2)
    place[:, :, :, kept:] = -1
    return cost, place


@njit_cached
def _cheapest(
    worth: float, ways: Floats, places: Places, price: Floats, i: int, r: int, s: int
) -> tuple[float, int]:
    """What a chunk of r costs if that is less than it is worth, else its worth; and the rank."""
    best, rank = worth, -1
    for j in range(ways.shape[3]):
        if ways[i, r, s, j] >= best:  # slices of the arrays would cost more than this loop
            break
        site = places[i, r, s, j]
        total = ways[i, r, s, j] + (price[site] if site >= 0 else 0.0)
        if total < best:
            best, rank = total, j
    return best, rank


@njit_cached
def _bound(
    supply: Floats,
    resource: Floats,
    chunks: Floats,
    ways: Floats,
    places: Places,
    hosts: NDArray[np.bool_],
    share: Floats,
    worker: Floats,
    server: Floats,
    flow_cost: Floats,
    first_slot: Integers,
    first_cell: Integers,
    earliest: Integers,
    missing: Floats,
    used: Floats,
) -> float:
    """Sum over jobs of what they cost at least, at prices; writes what the minimum leaves and uses.

    Args:
        supply: u, shape (jobs, sites), money per chunk.
        resource: price of a unit, shape (slots, sites, resources), money.
        chunks: D, shape (jobs, sites).
        ways: see ``_ways``.
        places: see ``_ways``.
        hosts: sites that can hold the server, shape (jobs, sites).
        share: of a worker and slot that a chunk takes, shape (jobs,).
        worker: m, shape (jobs, resources).
        server: n, shape (jobs, resources).
        flow_cost: f of every cell.
        first_slot: position of the release slot, shape (jobs,).
        first_cell: see ``Windows``.
        earliest: position of the earliest completion among a job's cells, shape (jobs,).
        missing: written: chunks not trained, shape (jobs, sites).
        used: written: units in use, shape (slots, sites, resources).
    """
    jobs, sites = chunks.shape
    kinds, ranks = resource.shape[2], ways.shape[3]
    price = np.empty(sites)
    missing[:, :] = chunks
    used[:, :, :] = 0.0
    total = 0.0
    for i in range(jobs):
        length = first_cell[i + 1] - first_cell[i]
        stands = np.full(length, -1)
        so_far, best, last = 0.0, np.inf, -1
        for t in range(length):
            at = resource[first_slot[i] + t]
            for r in range(sites):
                price[r] = 0.0
                for k in range(kinds):
                    price[r] += share[i] * worker[i, k] * at[r, k]
            lowest = 0.0
            for s in range(sites):
                if not hosts[i, s]:
                    continue
                value = 0.0
                for k in range(kinds):
                    value += server[i, k] * at[s, k]
                for r in range(sites):
                    worth = supply[i, r]
                    cost = worth
                    for j in range(ranks):  # ``_cheapest``, whose call would take ten times as long
                        if ways[i, r, s, j] >= cost:
                            break
                        site = places[i, r, s, j]
                        extra = price[site] if site >= 0 else 0.0
                        cost = min(cost, ways[i, r, s, j] + extra)
                    value += chunks[i, r] * (cost - worth)
                if value < lowest:
                    lowest, stands[t] = value, s
            so_far += lowest
            done = flow_cost[first_cell[i] + t] + so_far
            if t >= earliest[i] and done < best:
                best, last = done, t
        total += best
        for r in range(sites):
            total += supply[i, r] * chunks[i, r]
        for t in range(last + 1):
            s = stands[t]
            if s < 0:
                continue
            slot = first_slot[i] + t
            for r in range(sites):
                price[r] = 0.0
                for k in range(kinds):
                    price[r] += share[i] * worker[i, k] * resource[slot, r, k]
            for k in range(kinds):
                used[slot, s, k] += server[i, k]
            for r in range(sites):
                _, rank = _cheapest(supply[i, r], ways, places, price, i, r, s)
                if rank < 0:
                    continue
                missing[i, r] -= chunks[i, r]
                if places[i, r, s, rank] >= 0:
                    for k in range(kinds):
                        amount = chunks[i, r] * share[i] * worker[i, k]
                        used[slot, places[i, r, s, rank], k] += amount
    return total


LB_RELAXED_COLUMNS = Bound(
    "lb_relaxed_columns", lambda instance: relaxed_column_bound(instance, seconds=60.0),
    "problem (2)",
    "the same of a relaxation that takes chunks one by one: sees capacities at any size",
)  # fmt: skip
