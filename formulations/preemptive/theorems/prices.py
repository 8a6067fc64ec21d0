"""The prices (5) puts on a schedule, and whether it was made by them and by priority.

A worker's key of a chunk is ``work / w_j``: the whole chunk time for HAPRF (static density), the
work left for residual density. Smaller keys come first; ties may go either way.

Where a server is equally far from every job, what is pending on a worker when a chunk reaches it
is what the finished schedule shows: jobs that arrive later reach the worker later. So the prices
follow from the schedule, whoever made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from formulations.preemptive.instance import CLOUD, Booleans, Floats, Integers
from formulations.preemptive.theorems.record import MOST_ENTRIES, TOLERANCE, Record, fits
from optsched.instances.arrays import rank_within

Priority = Literal["static", "residual"]


@dataclass(frozen=True, eq=False)
class Levels:
    """(5) divided by w_j for a first chunk at every eligible edge worker; slots."""

    job: Integers
    """Ordered by worker, then by job; shape (pairs,)."""
    worker: Integers
    level: Floats
    """Delta_js + W_1 + p_j + p_j W_2 / w_j."""
    waiting: Floats
    """W_1: work that comes before."""


def levels(record: Record, priority: Priority) -> Levels:
    """(5) at every eligible edge worker, for a server equally far from every job."""
    instance = record.instance
    worker, job = np.nonzero(instance.worker_eligible.T)
    before, behind = np.zeros(len(job)), np.zeros(len(job))
    start = np.searchsorted(worker, np.arange(instance.workers + 1))
    for w, chunks, runs in record.at_workers():
        pairs = np.arange(start[w], start[w + 1])
        step = max(1, MOST_ENTRIES // max(len(runs), 1))
        for low in range(0, len(pairs), step):
            some = pairs[low : low + step]
            before[some], behind[some] = _pending(record, priority, w, job[some], chunks, runs)
    time, weight = record.edge_time[job], instance.weight[job]
    delay = instance.upload_delay_edge[job, instance.worker_server[worker]]
    return Levels(job, worker, delay + before + time + time / weight * behind, before)


def _pending(
    record: Record,
    priority: Priority,
    w: int,
    job: Integers,
    chunks: Integers,
    runs: Integers,
) -> tuple[Floats, Floats]:
    """W_1 and W_2 that each job finds on worker w, of the jobs released before it."""
    instance = record.instance
    server = instance.worker_server[w]
    moment = instance.release_time[job] + instance.upload_delay_edge[job, server]
    owner = record.job[chunks]
    known = _comes_before(record, owner, job)
    order = np.argsort(record.run_chunk[runs], kind="stable")
    runs = runs[order]
    ran = np.clip(moment[:, None] - record.run_start[runs], 0.0, None)
    ran = np.minimum(ran, record.run_end[runs] - record.run_start[runs])
    first = np.searchsorted(record.run_chunk[runs], chunks)
    left = record.duration[chunks] - np.add.reduceat(ran, first, axis=1)
    unfinished = known & (left > TOLERANCE * np.maximum(1.0, moment[:, None]))
    inverse = instance.num_chunks[owner].astype(float)
    work = record.duration[chunks] if priority == "static" else left
    key = (instance.num_chunks[job] * record.edge_time[job])[:, None]
    ahead = work * inverse <= key * (1 + TOLERANCE)
    before = np.sum(left * (unfinished & ahead), axis=1)
    behind = np.sum((unfinished & ~ahead) / inverse, axis=1)
    return before, behind


def _comes_before(record: Record, owner: Integers, job: Integers) -> Booleans:
    """Whether each chunk's job, in columns, is dispatched before each job, in rows."""
    release = record.instance.release_time
    rank = np.empty(len(release), dtype=np.int64)
    rank[np.lexsort((np.arange(len(release)), release))] = np.arange(len(release))
    return rank[owner] < rank[job][:, None]


def _places(record: Record, found: Levels) -> tuple[Integers, Integers]:
    """Pair of each chunk at the edge, and its rank among its job's chunks on that worker."""
    edge = np.flatnonzero(record.worker != CLOUD)
    jobs = record.instance.jobs
    known = found.worker * jobs + found.job
    wanted = record.worker[edge] * jobs + record.job[edge]
    return np.searchsorted(known, wanted), rank_within(wanted)


def prices(record: Record, found: Levels) -> tuple[Floats, Floats]:
    """alpha_jd by (5), and the completion planned at dispatch; of each chunk, slots.

    Chunks of one job are dispatched in order of their number.
    """
    instance, job = record.instance, record.job
    planned = instance.release_time[job] + record.delay + record.duration
    level = record.delay + record.duration
    edge = np.flatnonzero(record.worker != CLOUD)
    pair, rank = _places(record, found)
    own = rank * record.edge_time[job[edge]]
    level[edge] = found.level[pair] + own
    planned[edge] += found.waiting[pair] + own
    return record.weight * level, planned


def cheapest(record: Record, found: Levels) -> tuple[bool, bool]:
    """Whether no chunk had a cheaper place at the edge, and none in the cloud, by (5).

    The chunks of a job go where the next place costs least: so no place taken costs more than
    one left free.
    """
    instance = record.instance
    jobs, time = instance.jobs, record.edge_time
    pair, rank = _places(record, found)
    taken = np.bincount(pair, minlength=len(found.job))
    dearest = np.full(jobs, -np.inf)
    cost = found.level[pair] + rank * time[found.job[pair]]
    np.maximum.at(dearest, found.job[pair], cost)
    spilled = np.bincount(record.job[record.worker == CLOUD], minlength=jobs)
    slow = instance.upload_delay_cloud + time
    fast = instance.upload_delay_cloud + record.cloud_time
    split = (spilled > 0) & ~record.schedule.together
    left = np.full(jobs, np.inf)
    np.minimum.at(left, found.job, found.level + taken * time[found.job])
    first = np.full(jobs, np.inf)
    np.minimum.at(first, found.job, found.level)
    together = record.schedule.together
    paid = np.where(together, fast, np.where(split, np.maximum(slow, dearest), dearest))
    at_edge = bool(np.all(fits(paid, left)))
    in_cloud = fits(dearest, slow) & (together | fits(first, fast))
    return at_edge, bool(np.all(in_cloud))


def obeys(record: Record, priority: Priority) -> bool:
    """Whether every edge worker works while it can, on a chunk that no other precedes."""
    release = record.instance.release_time[record.job]
    arrival = release + record.delay
    for _, chunks, runs in record.at_workers():
        start, end = record.run_start[runs], record.run_end[runs]
        if not _works_while_it_can(arrival[chunks], record.completion[chunks], start, end):
            return False
        local = np.searchsorted(chunks, record.run_chunk[runs])
        if not _highest_first(record, priority, chunks, arrival[chunks], local, start, end):
            return False
    return True


def _works_while_it_can(arrival: Floats, completion: Floats, start: Floats, end: Floats) -> bool:
    """No chunk has arrived and is unfinished while the worker does nothing."""
    gap_start = np.concatenate([[0.0], np.maximum.accumulate(end)])
    gap_end = np.concatenate([start, [np.inf]])
    some = np.flatnonzero(gap_end - gap_start > TOLERANCE * np.maximum(1.0, gap_start))
    # a chunk whose presence [arrival, completion) meets a gap: it is done before the last one
    order = np.argsort(arrival)
    arrival, completion = arrival[order], np.maximum.accumulate(completion[order])
    slack = TOLERANCE * np.maximum(1.0, gap_start[some])
    before = np.searchsorted(arrival, gap_end[some] - slack)
    latest = np.concatenate([[-np.inf], completion])[before]
    return bool(np.all(latest <= gap_start[some] + slack))


def _highest_first(
    record: Record,
    priority: Priority,
    chunks: Integers,
    arrival: Floats,
    local: Integers,
    start: Floats,
    end: Floats,
) -> bool:
    """No pending chunk precedes the running one, on one worker.

    It is enough to look when a run starts and when a chunk arrives during it: the running
    chunk's key does not grow, and the others' stay as they are.
    """
    time = record.duration[chunks]
    inverse = 1.0 / record.weight[chunks]
    completion = record.completion[chunks]
    done = np.zeros(len(chunks))
    step = max(1, MOST_ENTRIES // max(len(chunks), 1))
    for low in range(0, len(start), step):
        rows = np.arange(low, min(low + step, len(start)))
        length = np.zeros((len(rows), len(chunks)))
        length[np.arange(len(rows)), local[rows]] = end[rows] - start[rows]
        left = time - done - (np.cumsum(length, axis=0) - length)
        done += length.sum(axis=0)
        moment = np.maximum(start[rows, None], arrival)
        slack = TOLERANCE * np.maximum(1.0, moment)
        pending = (moment < end[rows, None] - slack) & (completion > moment + slack)
        pending[np.arange(len(rows)), local[rows]] = False
        own = local[rows]
        if priority == "static":
            running, waiting = (time * inverse)[own][:, None], time * inverse
        else:
            own_left = left[np.arange(len(rows)), own][:, None] - (moment - start[rows, None])
            running, waiting = own_left * inverse[own][:, None], left * inverse
        size = np.maximum(1.0, np.maximum(running, moment))
        if np.any(pending & (running > waiting + TOLERANCE * size)):
            return False
    return True
