"""Where the chunks of an arriving job go: A_greedy and CALCULATEQ (Algorithms 2 and 3).

Prices are kept as levels ``Q / w_j``, in slots. By (5) every further chunk of a job on one edge
worker costs ``p^0_j`` more than the one before, so the chunks of a job are poured into the edge
workers like water: they take the ``D_j`` smallest terms of as many arithmetic progressions, up
to the level of the cloud.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.preemptive.instance import CLOUD, Floats, Integers, Job
from heuristics.preemptive.rules import Rules
from heuristics.preemptive.ties import TIE
from heuristics.preemptive.workers import Block, WorkerPool
from optsched.errors import InputError


@dataclass(frozen=True)
class Dispatch:
    """The irrevocable decision for one job."""

    worker: Integers
    """Edge worker of each chunk, or ``CLOUD``; shape (D_j,), in order of dispatch."""
    level: Floats
    """alpha_jd / w_j of each chunk, shape (D_j,), slots."""
    together: bool
    """zeta_j: all of it in the cloud."""


def greedy(job: Job, pool: WorkerPool, worker_server: Integers, rules: Rules) -> Dispatch:
    """Algorithm 2: the cheapest place for each chunk, edge before cloud, lowest index first.

    Args:
        job: the job that arrives.
        pool: the edge workers; only looked at.
        worker_server: server of each edge worker, shape (workers,).
        rules: the variant.

    Raises:
        InputError: the job may use neither the cloud nor any edge worker.
    """
    slow_time = job.chunk_time_slow / rules.speed
    fast_cloud, slow_cloud = _cloud_levels(job, rules)
    delay = job.upload_delay_edge[worker_server[job.eligible_workers]]
    fill = _fill_by_rule_5 if rules.pending_rule == "arrived" else _fill_exactly
    worker, level = fill(job, pool, delay, slow_time, slow_cloud)
    spilled = job.num_chunks - len(worker)
    to_edge = len(worker) > 0 and bool(level[0] <= fast_cloud * (1 + TIE))
    if not to_edge or (rules.no_spill and spilled > 0):
        return all_in_cloud(job, rules)
    return Dispatch(
        np.concatenate([worker, np.full(spilled, CLOUD)]),
        np.concatenate([level, np.full(spilled, slow_cloud)]),
        together=False,
    )


def _cloud_levels(job: Job, rules: Rules) -> tuple[float, float]:
    """Level of the cloud before and after the first chunk goes to the edge (slots)."""
    if rules.edge_only:
        return np.inf, np.inf
    fast = job.upload_delay_cloud + job.chunk_time_fast / rules.speed
    slow = job.upload_delay_cloud + job.chunk_time_slow / rules.speed
    return fast, fast if rules.no_spill else slow


def all_in_cloud(job: Job, rules: Rules) -> Dispatch:
    """The whole job in the cloud, zeta_j = 1.

    Raises:
        InputError: the job may not use the cloud.
    """
    level = job.upload_delay_cloud + job.chunk_time_fast / rules.speed
    if not np.isfinite(level):
        raise InputError.of(
            f"upload_delay_cloud[{job.id}]",
            job.upload_delay_cloud,
            "finite for a job that goes to the cloud",
        )
    chunks = job.num_chunks
    return Dispatch(np.full(chunks, CLOUD), np.full(chunks, level), together=True)


def _fill_by_rule_5(
    job: Job, pool: WorkerPool, delay: Floats, slow_time: float, ceiling: float
) -> tuple[Integers, Floats]:
    """Edge worker and level of the chunks that go to the edge, in order of dispatch."""
    now, workers = job.release_time, job.eligible_workers
    key = job.num_chunks * slow_time  # p^0_j / w_j
    unloaded = delay + slow_time
    levels = unloaded + pool.least_pressure(workers, now + delay, key=key)
    in_question = (levels <= ceiling * (1 + TIE)) & ~pool.idle(workers, now + delay)
    close = np.flatnonzero(in_question)
    before, behind = pool.pending(workers[close], now + delay[close], now=now, key=key)
    levels[close] = unloaded[close] + before + key * behind
    which, level = pour(levels, slow_time, job.num_chunks, ceiling)
    return workers[which], level


def pour(levels: Floats, step: float, count: int, ceiling: float) -> tuple[Integers, Floats]:
    """The ``count`` smallest terms of progressions, none above a ceiling, in ascending order.

    Terms within a relative ``TIE`` are equal, and equal terms go by progression index.

    Args:
        levels: first term of each progression, shape (n,).
        step: common difference, > 0.
        count: terms wanted.
        ceiling: no term above it is taken; may be infinite.

    Returns:
        Index of the progression and value of each term, of at most ``count`` terms.
    """
    if not len(levels):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    order = np.argsort(levels)
    # `count` steps of water over the lowest m vessels: the lowest surface is the true one, and
    # each vessel holds at least as many terms below it as it holds steps
    surface = (count * step + np.cumsum(levels[order])) / np.arange(1, len(levels) + 1)
    top = min(float(surface.min()), ceiling) * (1 + TIE)
    wet = order[levels[order] <= top]
    terms = np.minimum((top - levels[wet]) / step + 1, count).astype(np.int64)
    which = np.repeat(wet, terms)
    rank = np.arange(len(which)) - np.repeat(np.cumsum(terms) - terms, terms)
    value = levels[which] + rank * step
    ascending = np.argsort(value, kind="stable")
    value, which = value[ascending], which[ascending]
    group = np.cumsum(np.diff(value, prepend=value[:1]) > TIE * value)
    chosen = np.lexsort((which, group))[:count]
    return which[chosen], value[chosen]


def _fill_exactly(
    job: Job, pool: WorkerPool, delay: Floats, slow_time: float, ceiling: float
) -> tuple[Integers, Floats]:
    """As ``_fill_by_rule_5``, priced by the exact increase of the planned flow time.

    Only the price at the chosen worker changes with each chunk; it need not rise, because a
    chunk may bear the whole loss of a gap that the next one no longer finds.
    """
    now, workers = job.release_time, job.eligible_workers
    supposed = np.zeros(len(workers), dtype=np.int64)
    flow = [pool.planned_flow(x, None, now=now) for x in workers.tolist()]

    def price_next(i: int) -> float:
        block = Block(
            arrival=now + float(delay[i]),
            release_time=now,
            job=job.id,
            num_chunks=job.num_chunks,
            duration=slow_time,
            chunks=tuple(range(int(supposed[i]) + 1)),
        )
        with_next = pool.planned_flow(int(workers[i]), block, now=now)
        increase, flow[i] = with_next - flow[i], with_next
        return increase * job.num_chunks

    levels = np.array([price_next(i) for i in range(len(workers))])
    chosen: list[int] = []
    paid: list[float] = []
    while len(workers) and len(chosen) < job.num_chunks:
        lowest = float(levels.min())
        if lowest > ceiling * (1 + TIE):
            break
        i = int(np.argmax(levels <= lowest * (1 + TIE)))
        chosen.append(i)
        paid.append(float(levels[i]))
        supposed[i] += 1
        levels[i] = price_next(i)
    return workers[np.array(chosen, dtype=np.int64)], np.array(paid)
