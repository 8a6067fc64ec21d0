"""Event loops of a cluster in which only the number of free GPUs matters.

Each loop takes jobs in order of submission and moves from one moment at which something happens
to the next. At each it lets jobs end, then admits arrivals, then decides anew who runs. Nothing
costs time but the work itself.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from optsched.jit import njit_cached

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DONE = 1e-9
"""Share of its duration up to which what is left of a job is rounding error."""


@njit_cached
def run_in_queues(
    submit: Floats, gpus: Integers, duration: Floats, queue: Integers, queues: int, capacity: int
) -> Floats:
    """First come, first served, within each queue; between queues, whoever came first and fits.

    Args:
        submit: shape (jobs,), seconds, ascending.
        gpus: held at once by each job, at most ``capacity``.
        duration: seconds.
        queue: of each job: all in one is strict FIFO, in which the first who does not fit blocks;
            one per number of GPUs is FIFO in which jobs that do not fit are passed over.
        queues: how many there are.
        capacity: GPUs.

    Returns:
        When each job starts, shape (jobs,), seconds.
    """
    jobs = len(submit)
    start = np.zeros(jobs)
    head = np.full(queues, -1)
    tail = np.full(queues, -1)
    behind = np.full(jobs, -1)
    ends = [(np.inf, 0)]  # so that it is never empty
    free, arrived, started = capacity, 0, 0
    while started < jobs:
        now = ends[0][0]
        if arrived < jobs and submit[arrived] < now:
            now = submit[arrived]
        while ends[0][0] <= now:
            free += heappop(ends)[1]
        while arrived < jobs and submit[arrived] <= now:
            q = queue[arrived]
            if head[q] < 0:
                head[q] = arrived
            else:
                behind[tail[q]] = arrived
            tail[q] = arrived
            arrived += 1
        while True:
            best = jobs
            for q in range(queues):
                first = head[q]
                if 0 <= first < best and gpus[first] <= free:
                    best = first
            if best == jobs:
                break
            head[queue[best]] = behind[best]
            start[best] = now
            free -= gpus[best]
            heappush(ends, (now + duration[best], gpus[best]))
            started += 1
    return start


@njit_cached
def run_shortest_first(
    submit: Floats, gpus: Integers, duration: Floats, weight: Floats, capacity: int
) -> tuple[Floats, Floats, Integers]:
    """Least remaining time times weight first, preemptively; jobs that do not fit are passed over.

    Equal keys keep the order they had, those that arrive come last.

    Args:
        submit: shape (jobs,), seconds, ascending.
        gpus: held at once by each job, at most ``capacity``.
        duration: seconds, > 0.
        weight: by which the remaining time is multiplied.
        capacity: GPUs.

    Returns:
        First start and end (seconds), and preemptions of each job; each of shape (jobs,).
    """
    jobs = len(submit)
    left = duration.copy()
    first_start = np.full(jobs, np.inf)
    end = np.zeros(jobs)
    preemptions = np.zeros(jobs, dtype=np.int64)
    running = np.zeros(jobs, dtype=np.bool_)
    line = np.zeros(jobs, dtype=np.int64)  # those present, by key
    present, arrived, now, until = 0, 0, 0.0, np.inf
    while present > 0 or arrived < jobs:
        moment = min(until, submit[arrived]) if arrived < jobs else until
        kept = 0
        for i in range(present):
            j = line[i]
            if running[j]:
                left[j] -= moment - now
                if left[j] <= DONE * duration[j]:
                    end[j] = moment
                    continue
            line[kept] = j
            kept += 1
        now, present = moment, kept
        while arrived < jobs and submit[arrived] <= now:
            line[present] = arrived
            present += 1
            arrived += 1
        for i in range(1, present):  # nearly sorted, and must be stable
            j = line[i]
            key = left[j] * weight[j]
            at = i
            while at > 0 and left[line[at - 1]] * weight[line[at - 1]] > key:
                line[at] = line[at - 1]
                at -= 1
            line[at] = j
        free, until = capacity, np.inf
        for i in range(present):
            j = line[i]
            taken = gpus[j] <= free
            if taken:
                free -= gpus[j]
                until = min(until, now + left[j])
                first_start[j] = min(first_start[j], now)
            elif running[j]:
                preemptions[j] += 1
            running[j] = taken
    return first_start, end, preemptions


@njit_cached
def run_least_attained(
    submit: Floats,
    gpus: Integers,
    duration: Floats,
    rate: Floats,
    thresholds: Floats,
    late: bool,
    capacity: int,
) -> tuple[Floats, Floats, Integers]:
    """Discretised least attained service: queues by service, the least served first.

    A job enters the first queue and moves to the end of the next one when its attained service,
    ``rate`` times the time it has run, has reached the threshold. Within a queue those that run
    stay before those that wait, so nobody is preempted by its equals. Jobs that do not fit are
    passed over.

    Args:
        submit: shape (jobs,), seconds, ascending.
        gpus: held at once by each job, at most ``capacity``.
        duration: seconds, > 0.
        rate: service a job attains per second of running.
        thresholds: upper limits of all queues but the last.
        late: look for a demotion when the released Tiresias simulator does, which for a rate
            above 1 is too late unless something else happens before; otherwise in time, at the
            next whole second from now.
        capacity: GPUs.

    Returns:
        First start and end (seconds), and preemptions of each job; each of shape (jobs,).
    """
    jobs, last = len(submit), len(thresholds)
    ran = np.zeros(jobs)
    first_start = np.full(jobs, np.inf)
    end = np.zeros(jobs)
    preemptions = np.zeros(jobs, dtype=np.int64)
    running = np.zeros(jobs, dtype=np.bool_)
    line = np.zeros((last + 1, jobs), dtype=np.int64)
    length = np.zeros(last + 1, dtype=np.int64)
    waiting = np.zeros(jobs, dtype=np.int64)  # of one queue, while it is put in order
    present, arrived, now, until = 0, 0, 0.0, np.inf
    while present > 0 or arrived < jobs:
        moment = min(until, submit[arrived]) if arrived < jobs else until
        for q in range(last, -1, -1):  # from below, so that nobody falls two queues at once
            kept = 0
            for i in range(length[q]):
                j = line[q, i]
                if running[j]:
                    ran[j] += moment - now
                    if duration[j] - ran[j] <= DONE * duration[j]:
                        end[j] = moment
                        present -= 1
                        continue
                    if q < last and rate[j] * ran[j] >= thresholds[q]:
                        line[q + 1, length[q + 1]] = j
                        length[q + 1] += 1
                        continue
                line[q, kept] = j
                kept += 1
            length[q] = kept
        now = moment
        while arrived < jobs and submit[arrived] <= now:
            line[0, length[0]] = arrived
            length[0] += 1
            present += 1
            arrived += 1
        free, until = capacity, np.inf
        for q in range(last + 1):
            kept = behind = 0
            for i in range(length[q]):
                j = line[q, i]
                taken = gpus[j] <= free
                if taken:
                    free -= gpus[j]
                    until = min(until, now + duration[j] - ran[j])
                    if q < last:
                        missing = thresholds[q] - (1.0 if late else rate[j]) * ran[j]
                        steps = missing / rate[j]
                        until = min(until, now + max(1.0, steps // 1 if late else -(-steps // 1)))
                    first_start[j] = min(first_start[j], now)
                    line[q, kept] = j
                    kept += 1
                else:
                    preemptions[j] += running[j]
                    waiting[behind] = j
                    behind += 1
                running[j] = taken
            for n in range(behind):
                line[q, kept + n] = waiting[n]
    return first_start, end, preemptions
