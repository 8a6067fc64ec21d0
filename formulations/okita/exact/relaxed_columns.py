"""A Lagrangian bound on (2) that sees the capacities at any size.

The columns of ``problem_2_columns`` are whole schedules of a job; where these are too many to be
searched, their prices can still be bounded from below. Besides the capacities (R11) the supplies
(2a) are priced, u_i^r per chunk: a job then decides in every slot by itself where its server
stands, and worker by worker whether what it trains is worth more than it costs,

    min over L of f_i(L) + sum over t <= L of min(0, min over s of
        price of the server at (t, s) + sum over r', y of min(0, c_i(t, s, r') - e_i(r', y))),

where c_i(t, s, r') is what a worker at r' pays for talking to s and for resources, and e_i(r', y)
what the y-th worker there adds to the best that y of them can earn (``by_units``). With u_i^r D_i^r
added, and less the prices of all capacities, that bounds the optimum at any prices.
"""

from __future__ import annotations

import time
from threading import Event

import numpy as np

from formulations.okita.horizon import Windows, site_bounds, windows
from formulations.okita.instance import (
    Booleans,
    Floats,
    Instance,
    Integers,
    workers_beside_server,
)
from formulations.okita.one_job.chunk_prices import earnings, subtract
from formulations.okita.one_job.planner import Planner, known_cost
from optsched.decomposition import maximise_dual
from optsched.jit import njit_cached
from optsched.problem import Bound

STEPS_ALONE = 150
"""Steps on the prices of supplies alone, while capacities are free."""

STEPS = 450
"""Steps on all prices after that."""

_ROUNDING = 1e-9  # relative, by which the bound is lowered
_SCALE = 0.05  # of a slot's lateness, by which prices of resources are scaled


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
        q, demands = instance.unit_bandwidth_cost, (instance.worker_demand, instance.ps_demand)
        free = instance.capacity[None]
        fit = [workers_beside_server(free, m, n)[0] for m, n in zip(*demands, strict=True)]
        self._most = np.clip(np.array(fit), 0, instance.useful_workers[:, None, :])
        self._hosts = np.array([(instance.capacity >= n).all(axis=1) for n in instance.ps_demand])
        self._talk = instance.exchange_size_mb[:, None, None] * q.T  # [job, server, worker]
        self._move = instance.chunk_size_mb[:, None, None] * q
        slots = int(span.last.max())
        self._capacity = np.tile(instance.capacity.astype(float), (slots, 1, 1))
        self._chunks = instance.num_chunks.astype(float)
        self._used = np.zeros_like(self._capacity)
        self._missing = np.zeros_like(self._chunks)
        talk = self._share[:, None, None] * self._talk
        ways = zip(self._move, talk, strict=True)
        typical = np.array([(m[:, None] + w).min(axis=2).mean(axis=1) for m, w in ways])
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
            supply, resource, instance.num_chunks, self._talk, self._move, self._most, self._hosts,
            1.0 / self._share, instance.worker_demand.astype(float),
            instance.ps_demand.astype(float), self.span.flow_cost, instance.release_slot - 1,
            self.span.first_cell, self.span.earliest - instance.release_slot, self._missing,
            self._used,
        )  # fmt: skip
        excess = self._used - self._capacity
        slope = np.concatenate([self._missing.reshape(-1), excess.reshape(-1)])
        return value - float((resource * self._capacity).sum()), slope * self._scale


@njit_cached
def _bound(
    supply: Floats,
    resource: Floats,
    chunks: Integers,
    talk: Floats,
    move: Floats,
    most: Integers,
    hosts: Booleans,
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
        talk: what a worker pays for the exchange, by job, site of the server, site of the worker.
        move: price of a chunk by job, from row to column.
        most: workers that fit, by job, site of the server, site of the worker.
        hosts: sites that can hold the server, shape (jobs, sites).
        share: chunks that a worker trains in a slot at most, shape (jobs,).
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
    kinds = resource.shape[2]
    price = np.empty(sites)
    missing[:, :] = chunks
    used[:, :, :] = 0.0
    total = 0.0
    for i in range(jobs):
        length = first_cell[i + 1] - first_cell[i]
        stands = np.full(length, -1)
        earned = np.zeros((sites, most[i].max() + 1))
        earnings(supply[i], chunks[i], move[i], share[i], earned)
        lowest, so_far, best, last = 0.0, 0.0, np.inf, -1
        for t in range(length):
            at = resource[first_slot[i] + t]
            for r in range(sites):
                price[r] = 0.0
                for k in range(kinds):
                    price[r] += worker[i, k] * at[r, k]
            if t > 0 and (at == resource[first_slot[i] + t - 1]).all():
                stands[t] = stands[t - 1]
            else:
                lowest = 0.0
                for s in range(sites):
                    if not hosts[i, s]:
                        continue
                    value = 0.0
                    for k in range(kinds):
                        value += server[i, k] * at[s, k]
                    for r in range(sites):
                        pays = talk[i, s, r] + price[r]
                        for y in range(1, most[i, s, r] + 1):
                            gain = earned[r, y] - pays
                            if gain <= 0.0:
                                break
                            value -= gain
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
            for k in range(kinds):
                used[slot, s, k] += server[i, k]
            for r in range(sites):
                pays = talk[i, s, r]
                for k in range(kinds):
                    pays += worker[i, k] * resource[slot, r, k]
                count = 0
                while count < most[i, s, r] and earned[r, count + 1] > pays:
                    count += 1
                if count == 0:
                    continue
                subtract(supply[i], chunks[i], move[i], r, share[i] * count, missing[i])
                for k in range(kinds):
                    used[slot, r, k] += count * worker[i, k]
    return total


LB_RELAXED_COLUMNS = Bound(
    "lb_relaxed_columns", lambda instance: relaxed_column_bound(instance, seconds=60.0),
    "problem (2)",
    "the same of a relaxation that takes chunks one by one: sees capacities at any size",
)  # fmt: skip
