"""Whether the workers of a schedule ran the chunk of highest priority, without needless pause.

A worker's key of a chunk is ``work / w_j``: the whole chunk time for HAPRF (static density), the
work left for residual density. Smaller keys come first; ties may go either way.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from formulations.preemptive.instance import Floats, Integers
from formulations.preemptive.theorems.record import MOST_ENTRIES, TOLERANCE, Record

Priority = Literal["static", "residual"]


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
