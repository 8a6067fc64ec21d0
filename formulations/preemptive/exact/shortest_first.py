"""Shortest remaining work first on named workers, and work may change workers at any time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.instance import ROUNDING, Booleans, Floats, Integers
from optsched.jit import njit_cached

IDLE = -1
"""Job of a worker that has none."""

RUN = np.dtype([("job", "i8"), ("worker", "i8"), ("start", "f8"), ("end", "f8")])


@njit_cached
def shortest_first(
    jobs: Integers,
    release: Floats,
    begin: Floats,
    chunks: Integers,
    work: Floats,
    delay: Floats,
    may: Booleans,
    group: Integers,
    server: Integers,
    cloud: Floats,
    deadline: Floats,
    slotted: bool,
) -> tuple[Floats, Floats, NDArray[Any]]:
    """Run jobs on edge workers, and what is left of them in the cloud once their data are there.

    At every event, the job with the least work left takes up to D_j workers that its data have
    reached, those it has first; then the next job. Who ends no sooner than its deadline, whatever
    it is given, is given up.

    Args:
        jobs: indices of the jobs to run, by begin.
        release: of each of them, slots.
        begin: when each may run first, slots, ascending.
        chunks: D_j.
        work: worker-slots.
        delay: Delta_js of all jobs there are, slots.
        may: whether each of those to run may use a group of workers, shape (jobs, groups).
        group: of each worker.
        server: of each worker.
        cloud: when the data of each have reached the cloud, slots.
        deadline: of each, slots.
        slotted: a worker is taken for whole slots; ``begin``, ``cloud`` and all work are whole.

    Returns:
        Completion of each job, infinite if it was given up; work left for the cloud; the runs
        on edge workers, whose jobs are counted as in ``jobs``.
    """
    workers = len(server)
    left, rest, end = work.copy(), np.zeros(len(jobs)), np.full(len(jobs), np.inf)
    owner, chosen, since = np.full(workers, IDLE), np.full(workers, IDLE), np.zeros(workers)
    # the workers of each job, a chain
    first_of, next_of = np.full(len(jobs), IDLE), np.full(workers, IDLE)
    active, rate = np.empty(len(jobs), np.int64), np.empty(len(jobs), np.int64)
    runs, made = np.empty(4 * workers + 1024, RUN), 0
    size, come, now = 0, 0, 0.0
    while size > 0 or come < len(jobs):
        if size == 0:
            now = max(now, begin[come])
        while come < len(jobs) and begin[come] <= now:
            active[size] = come
            size += 1
            come += 1
        size = _leave(active, size, now, chunks, left, rest, end, cloud, deadline, slotted)
        _sort(active, size, left)
        until = begin[come] if come < len(jobs) else np.inf
        for w in range(workers):
            chosen[w] = IDLE
            if owner[w] != IDLE:
                next_of[w], first_of[owner[w]] = first_of[owner[w]], w
        idle = workers
        for i in range(size):
            job, got = active[i], 0
            want = chunks[job]
            if slotted:
                want = min(want, np.int64(left[job]))
            w = first_of[job]
            while w != IDLE and got < want:
                if chosen[w] == IDLE:
                    chosen[w] = job
                    got += 1
                w = next_of[w]
            w = 0
            while w < workers and got < want and got < idle:
                if chosen[w] == IDLE and may[job, group[w]]:
                    arrival = release[job] + delay[jobs[job], server[w]]
                    if slotted:
                        arrival = np.ceil(arrival - ROUNDING)
                    if arrival <= now:
                        chosen[w] = job
                        got += 1
                    else:
                        until = min(until, arrival)
                w += 1
            idle -= got
            rate[i] = got
            until = min(until, cloud[job])
            if got > 0:
                span = left[job] / got
                until = min(until, now + (np.floor(span) if slotted else span))
        if made + 2 * workers > len(runs):
            longer = np.empty(2 * len(runs), RUN)
            for n in range(made):
                longer[n] = runs[n]
            runs = longer
        for w in range(workers):
            if owner[w] != IDLE:
                first_of[owner[w]] = IDLE
            if chosen[w] != owner[w]:
                made = _note(runs, made, owner[w], w, since[w], now)
                owner[w], since[w] = chosen[w], now
        kept = 0
        for i in range(size):
            job = active[i]
            left[job] -= rate[i] * (until - now)
            if rate[i] > 0 and left[job] <= ROUNDING * max(1.0, work[job]):
                end[job] = until
            else:
                active[kept] = job
                kept += 1
        size, now = kept, until
        for w in range(workers):  # who is done leaves now, and not when the next one comes
            if owner[w] != IDLE and end[owner[w]] == now:
                made = _note(runs, made, owner[w], w, since[w], now)
                owner[w] = IDLE
    for w in range(workers):
        made = _note(runs, made, owner[w], w, since[w], now)
    return end, rest, runs[:made]


@njit_cached
def _leave(
    active: Integers,
    size: int,
    now: float,
    chunks: Integers,
    left: Floats,
    rest: Floats,
    end: Floats,
    cloud: Floats,
    deadline: Floats,
    slotted: bool,
) -> int:
    """Give up who is late, let who can go on in the cloud; how many remain active."""
    kept = 0
    for i in range(size):
        job = active[i]
        alone = left[job] / chunks[job]
        if now + alone >= deadline[job]:
            continue
        if now >= cloud[job]:
            rest[job] = left[job]
            end[job] = now + (np.ceil(alone) if slotted else alone)
            continue
        active[kept] = job
        kept += 1
    return kept


@njit_cached
def _sort(active: Integers, size: int, left: Floats) -> None:
    """By work left; the order hardly ever changes."""
    for i in range(1, size):
        job, at = active[i], i
        while at > 0 and left[active[at - 1]] > left[job]:
            active[at] = active[at - 1]
            at -= 1
        active[at] = job


@njit_cached
def _note(runs: NDArray[Any], made: int, job: int, worker: int, start: float, end: float) -> int:
    """Add a run, unless nobody ran or no time; how many there are."""
    if job == IDLE or end <= start:
        return made
    run = runs[made]
    run["job"], run["worker"], run["start"], run["end"] = job, worker, start, end
    return made + 1
