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
from heuristics.preemptive.engine.ties import TIE
from heuristics.preemptive.engine.workers import WorkerPool
from heuristics.preemptive.printed_timetable import PrintedTimetable
from heuristics.preemptive.rules import Rules
from optsched.errors import InputError
from optsched.jit import njit_cached


@dataclass(frozen=True)
class Dispatch:
    """The irrevocable decision for one job."""

    worker: Integers
    """Edge worker of each chunk, or ``CLOUD``; shape (D_j,), in order of dispatch."""
    level: Floats
    """alpha_jd / w_j of each chunk, shape (D_j,), slots."""
    together: bool
    """zeta_j: all of it in the cloud."""


def greedy(
    job: Job, pool: WorkerPool | PrintedTimetable, worker_server: Integers, rules: Rules
) -> Dispatch:
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
    if isinstance(pool, PrintedTimetable):
        return _line_by_line(job, pool, delay, slow_time, fast_cloud, rules)
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


def _line_by_line(
    job: Job,
    timetable: PrintedTimetable,
    delay: Floats,
    slow_time: float,
    fast_cloud: float,
    rules: Rules,
) -> Dispatch:
    """Algorithm 2 as printed, errors and all.

    Line 18 leaves zeta_j = 1, so the cloud keeps its fast price; line 13 sends every chunk to the
    cloud as soon as one goes there; lines 21 to 24 take alpha after the update, so that each chunk
    has the price of the next.
    """
    chunks = job.num_chunks
    levels = timetable.levels(job, delay, chunk_time=slow_time)
    which, level = pour(levels, slow_time, chunks + 1, fast_cloud)
    if len(which) < chunks:
        return all_in_cloud(job, rules)
    following = np.append(level, fast_cloud)[1 : chunks + 1]
    return Dispatch(job.eligible_workers[which[:chunks]], following, together=False)


def _cloud_levels(job: Job, rules: Rules) -> tuple[float, float]:
    """Level that the edge must beat before and after the first chunk goes there (slots)."""
    if rules.edge_only:
        return np.inf, np.inf
    fast = rules.edge_margin * (job.upload_delay_cloud + job.chunk_time_fast / rules.speed)
    slow = rules.edge_margin * (job.upload_delay_cloud + job.chunk_time_slow / rules.speed)
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
    levels = pool.levels(job, delay, chunk_time=slow_time, ceiling=ceiling, chunks=job.num_chunks)
    which, level = pour(levels, slow_time, job.num_chunks, ceiling)
    return job.eligible_workers[which], level


def _fill_exactly(
    job: Job, pool: WorkerPool, delay: Floats, slow_time: float, ceiling: float
) -> tuple[Integers, Floats]:
    """As ``_fill_by_rule_5``, priced by the exact increase of the planned flow time."""
    which, level = pool.fill_exactly(job, delay, chunk_time=slow_time, ceiling=ceiling)
    return job.eligible_workers[which], level


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
    which, value = _terms(levels, np.argsort(levels), step, count, ceiling)
    ascending = np.argsort(value, kind="stable")
    which, value = which[ascending], value[ascending]
    _settle_ties(which, value, count)
    return which[:count], value[:count]


@njit_cached
def _terms(
    levels: Floats, order: Integers, step: float, count: int, ceiling: float
) -> tuple[Integers, Floats]:
    """At least the ``count`` smallest terms up to the ceiling, by progression."""
    # `count` steps of water over the lowest m vessels: the lowest surface is the true one, and
    # each vessel holds at least as many terms below it as it holds steps
    below, top = 0.0, ceiling
    for m in range(len(order)):
        below += levels[order[m]]
        top = min(top, (count * step + below) / (m + 1))
    top *= 1 + TIE
    terms = 0
    for i in order:
        if levels[i] > top:
            break
        terms += int(min((top - levels[i]) / step + 1, count))
    which, value = np.empty(terms, dtype=np.int64), np.empty(terms)
    n = 0
    for i in order:
        if levels[i] > top:
            break
        for rank in range(int(min((top - levels[i]) / step + 1, count))):
            which[n] = i
            value[n] = levels[i] + rank * step
            n += 1
    return which, value


@njit_cached
def _settle_ties(which: Integers, value: Floats, count: int) -> None:
    """Order equal terms, up to the ``count``-th, by index."""
    first, last = 0, -np.inf
    for i in range(len(value)):
        term, index, at = value[i], which[i], i
        if term - last > TIE * term:
            if i >= count:
                break
            first = i
        last = term
        while at > first and which[at - 1] > index:
            which[at], value[at] = which[at - 1], value[at - 1]
            at -= 1
        which[at], value[at] = index, term
