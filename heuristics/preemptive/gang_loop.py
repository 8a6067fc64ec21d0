"""Event loop of schedulers that run a job on all workers of its gang at once, or on none.

Whenever a job arrives, ends or changes its queue, jobs are gone through in order of priority and
taken where enough eligible workers are left; who does not fit is passed over. Jobs that run and
are taken stay where they are. Others are placed anew and first load their data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.jit import njit_cached

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ROUNDING = 1e-9
"""Moments no further apart are one (slots); remaining times and services no further apart tie."""


class Gangs(NamedTuple):
    """What is known of each job when it arrives, in order of arrival, and of the workers.

    Workers are counted in groups whose members serve the same jobs.
    """

    release: Floats
    """r_j, shape (jobs,), slots."""
    size: Integers
    """Workers a job holds, shape (jobs,)."""
    duration: Floats
    """Time a job runs on so many workers, shape (jobs,), slots."""
    delay: Floats
    """Delta_js, shape (jobs, edge servers), slots."""
    server: Integers
    """Edge server of each worker."""
    group: Integers
    """Group of each worker."""
    first_member: Integers
    """First place of each group, into ``member``; shape (groups + 1,)."""
    member: Integers
    """Workers by group, ascending within each."""
    first_eligible: Integers
    """First place of each job, into ``eligible``; shape (jobs + 1,)."""
    eligible: Integers
    """Groups that may serve a job: one, or any number of groups of one worker."""


class Ranking(NamedTuple):
    """Which jobs come first."""

    by_service: bool
    """Least attained service by queues (Tiresias-L); otherwise least remaining time (SRTF)."""
    thresholds: Floats
    """Service at which a job leaves each queue but the last, worker-slots, ascending."""
    promote: float
    """A job below the first queue returns to it after waiting this many times as long as it has
    held workers; infinite: never."""


class State(NamedTuple):
    """What changes, one entry per job in order of arrival; only ``holder`` is per worker."""

    ran: Floats
    """Time trained before the present placement, slots."""
    held: Floats
    """Time for which workers were held before it, since the last promotion, slots."""
    begin: Floats
    """When the present placement began; after it, when it ended."""
    ready: Floats
    """When its data are loaded."""
    running: Booleans
    trained: Booleans
    """Whether it has trained since its last promotion: without, no other follows."""
    first_start: Floats
    suspensions: Integers
    worker: Integers
    """Workers of the last placement, shape (jobs, largest gang)."""
    arrival: Floats
    """When the data reach the server of each of them, slots, same shape; infinite: never. Loading
    goes on while a job is suspended."""
    holder: Integers
    """Job on each worker, or -1."""

    @classmethod
    def before(cls, jobs: int, workers: int, widest: int) -> State:
        """The state before the first job."""
        return cls(
            ran=np.zeros(jobs),
            held=np.zeros(jobs),
            begin=np.zeros(jobs),
            ready=np.zeros(jobs),
            running=np.zeros(jobs, dtype=np.bool_),
            trained=np.zeros(jobs, dtype=np.bool_),
            first_start=np.full(jobs, np.inf),
            suspensions=np.zeros(jobs, dtype=np.int64),
            worker=np.zeros((jobs, widest), dtype=np.int64),
            arrival=np.full((jobs, widest), np.inf),
            holder=np.full(workers, -1),
        )


@njit_cached
def run_gangs(gangs: Gangs, ranking: Ranking, state: State) -> tuple[Integers, Floats, Integers]:
    """Run all jobs to their ends; ``state`` is left as at the end of the last one.

    Returns:
        Of every placement, in order of their ends: the job; begin, moment the data are loaded and
        end, shape (placements, 3); and its workers, as many as the job's size each.
    """
    jobs = len(gangs.release)
    log = [(0, 0.0, 0.0, 0.0)]  # a first row that tells its type, left out in the end
    crew = [0]
    active = np.zeros(jobs, dtype=np.int64)
    present, arrived, until = 0, 0, np.inf
    while present > 0 or arrived < jobs:
        now = min(until, gangs.release[arrived]) if arrived < jobs else until
        horizon = now + ROUNDING
        kept = 0
        for i in range(present):
            j = active[i]
            finish = state.ready[j] + gangs.duration[j] - state.ran[j]
            if state.running[j] and finish <= horizon:
                _let_go(gangs, state, j, finish, log, crew)
            else:
                active[kept] = j
                kept += 1
        present = kept
        while arrived < jobs and gangs.release[arrived] <= horizon:
            now = max(now, gangs.release[arrived])
            active[present] = arrived
            present += 1
            arrived += 1
        if ranking.by_service:
            _promote(gangs, ranking, state, active[:present], now)
        order = _by_priority(gangs, ranking, state, active[:present], now)
        for i in range(present):
            active[i] = order[i]  # nearly sorted next time
        chosen, quota = _choose(gangs, state, order)
        for i in range(present):
            if state.running[order[i]] and not chosen[i]:
                state.suspensions[order[i]] += 1
                _let_go(gangs, state, order[i], now, log, crew)
        row = 0
        for i in range(present):
            if chosen[i] and not state.running[order[i]]:
                _place(gangs, state, order[i], quota[row], now)
                row += 1
        until = _next_moment(gangs, ranking, state, order, now)
    return _columns(log, crew)


@njit_cached
def _columns(
    log: list[tuple[int, float, float, float]], crew: list[int]
) -> tuple[Integers, Floats, Integers]:
    """The log as arrays, without its first row."""
    placed = np.zeros(len(log) - 1, dtype=np.int64)
    moments = np.zeros((len(log) - 1, 3))
    for i in range(1, len(log)):
        placed[i - 1], moments[i - 1, 0], moments[i - 1, 1], moments[i - 1, 2] = log[i]
    workers = np.zeros(len(crew) - 1, dtype=np.int64)
    for i in range(1, len(crew)):
        workers[i - 1] = crew[i]
    return placed, moments, workers


@njit_cached
def _let_go(
    gangs: Gangs,
    state: State,
    j: int,
    now: float,
    log: list[tuple[int, float, float, float]],
    crew: list[int],
) -> None:
    """End the present placement and log it."""
    log.append((j, state.begin[j], min(state.ready[j], now), now))
    for i in range(gangs.size[j]):
        w = state.worker[j, i]
        crew.append(w)
        state.holder[w] = -1
    if now > state.ready[j]:
        state.ran[j] += now - state.ready[j]
        state.trained[j] = True
    state.held[j] += now - state.begin[j]
    state.begin[j] = now
    state.running[j] = False


@njit_cached
def _queue_of(gangs: Gangs, ranking: Ranking, state: State, j: int, now: float) -> int:
    """How many thresholds a job's attained service has reached."""
    held = state.held[j] + (now - state.begin[j] if state.running[j] else 0.0)
    queue = 0
    for threshold in ranking.thresholds:
        if threshold <= gangs.size[j] * (held + ROUNDING):
            queue += 1
    return queue


@njit_cached
def _by_priority(
    gangs: Gangs, ranking: Ranking, state: State, active: Integers, now: float
) -> Integers:
    """The jobs present, most urgent first; ties stay in order of arrival."""
    first = np.zeros(len(active))
    second = np.zeros(len(active))
    for i in range(len(active)):
        j = active[i]
        if not ranking.by_service:
            trained = max(0.0, now - state.ready[j]) if state.running[j] else 0.0
            first[i] = np.floor((gangs.duration[j] - state.ran[j] - trained) / ROUNDING + 0.5)
            continue
        queue = _queue_of(gangs, ranking, state, j, now)
        first[i] = 2 * queue + (not state.running[j])
        second[i] = state.first_start[j]
    return _sorted(active, first, second)


@njit_cached
def _promote(gangs: Gangs, ranking: Ranking, state: State, active: Integers, now: float) -> None:
    """Return those who have waited long enough to the first queue."""
    for j in active:
        if state.running[j] or not state.trained[j]:
            continue
        below = _queue_of(gangs, ranking, state, j, now) > 0
        if below and _promoted_at(ranking, state, j) <= now + ROUNDING:
            state.held[j] = 0.0
            state.trained[j] = False


@njit_cached
def _promoted_at(ranking: Ranking, state: State, j: int) -> float:
    """When a job that waits will have waited long enough."""
    return float(state.begin[j] + ranking.promote * state.held[j])


@njit_cached
def _choose(gangs: Gangs, state: State, order: Integers) -> tuple[Booleans, Integers]:
    """Who runs from now on, and how many workers of each group those placed anew will take.

    Returns:
        Shape (jobs present,) in the order given; shape (jobs placed anew, groups).
    """
    groups, workers = len(gangs.first_member) - 1, len(gangs.server)
    free = gangs.first_member[1:] - gangs.first_member[:-1]
    chosen = np.zeros(len(order), dtype=np.bool_)
    quota = np.zeros((min(len(order), workers), groups), dtype=np.int64)
    row, left = 0, workers
    for i in range(len(order)):
        if left == 0:
            break
        j = order[i]
        if state.running[j]:
            chosen[i] = _stays(gangs, state, j, free)
        else:
            chosen[i] = _fits(gangs, state, j, free, quota[row])
            row += chosen[i]
        left -= gangs.size[j] * chosen[i]
    return chosen, quota


@njit_cached
def _stays(gangs: Gangs, state: State, j: int, free: Integers) -> bool:
    """Leave a job its workers if nobody more urgent takes them."""
    for i in range(gangs.size[j]):
        g = gangs.group[state.worker[j, i]]
        if free[g] == 0:
            for k in range(i):
                free[gangs.group[state.worker[j, k]]] += 1
            return False
        free[g] -= 1
    return True


@njit_cached
def _fits(gangs: Gangs, state: State, j: int, free: Integers, quota: Integers) -> bool:
    """Give a job to be placed anew its share of the groups if they have enough left."""
    low, high, size = gangs.first_eligible[j], gangs.first_eligible[j + 1], gangs.size[j]
    if high == low + 1:
        g = gangs.eligible[low]
        if free[g] < size:
            return False
        quota[g] = size
        free[g] -= size
        return True
    singles = np.zeros(high - low, dtype=np.int64)
    count = 0
    for k in range(low, high):
        g = gangs.eligible[k]
        if free[g] > 0:
            singles[count] = gangs.member[gangs.first_member[g]]
            count += 1
    if count < size:
        return False
    ranked = _ranked(gangs, state, j, singles[:count])
    for k in range(size):
        g = gangs.group[ranked[k]]
        quota[g] = 1
        free[g] -= 1
    return True


@njit_cached
def _sorted(items: Integers, first: Floats, second: Floats) -> Integers:
    """Items by two keys, then by themselves; quick where they are nearly in that order."""
    items, first, second = items.copy(), first.copy(), second.copy()
    for i in range(1, len(items)):
        item, one, two = items[i], first[i], second[i]
        at = i
        while at > 0 and (
            first[at - 1] > one
            or (first[at - 1] == one and second[at - 1] > two)
            or (first[at - 1] == one and second[at - 1] == two and items[at - 1] > item)
        ):
            items[at], first[at], second[at] = items[at - 1], first[at - 1], second[at - 1]
            at -= 1
        items[at], first[at], second[at] = item, one, two
    return items


@njit_cached
def _ranked(gangs: Gangs, state: State, j: int, among: Integers) -> Integers:
    """Workers in the order in which a job is placed on them.

    Idle ones come first, then servers that have its data or load them, short delays, low indices.
    """
    trouble = np.zeros(len(among))
    delay = np.zeros(len(among))
    for i in range(len(among)):
        server = gangs.server[among[i]]
        delay[i] = gangs.delay[j, server]
        trouble[i] = 2.0 * (state.holder[among[i]] >= 0)
        trouble[i] += np.isinf(_arrival(gangs, state, j, server))
    return _sorted(among, trouble, delay)


@njit_cached
def _arrival(gangs: Gangs, state: State, j: int, server: int) -> float:
    """When a job's data reach a server if its last placement was there; else infinite."""
    for i in range(gangs.size[j]):
        if state.arrival[j, i] < np.inf and gangs.server[state.worker[j, i]] == server:
            return float(state.arrival[j, i])
    return np.inf


@njit_cached
def _place(gangs: Gangs, state: State, j: int, quota: Integers, now: float) -> None:
    """Put a job on free workers, so many of each group, and start loading what is missing."""
    chosen = np.zeros(gangs.size[j], dtype=np.int64)
    taken = 0
    for g in range(len(quota)):
        if quota[g] > 0:
            idle = np.zeros(gangs.first_member[g + 1] - gangs.first_member[g], dtype=np.int64)
            count = 0
            for k in range(gangs.first_member[g], gangs.first_member[g + 1]):
                if state.holder[gangs.member[k]] < 0:
                    idle[count] = gangs.member[k]
                    count += 1
            ranked = _ranked(gangs, state, j, idle[:count])
            for k in range(quota[g]):
                chosen[taken] = ranked[k]
                taken += 1
    arrival = np.zeros(len(chosen))
    for i in range(len(chosen)):
        server = gangs.server[chosen[i]]
        arrival[i] = min(_arrival(gangs, state, j, server), now + gangs.delay[j, server])
    state.begin[j] = state.ready[j] = now
    for i in range(len(chosen)):
        state.worker[j, i] = chosen[i]
        state.arrival[j, i] = arrival[i]
        state.ready[j] = max(state.ready[j], arrival[i])
        state.holder[chosen[i]] = j
    state.running[j] = True
    state.first_start[j] = min(state.first_start[j], now)


@njit_cached
def _next_moment(
    gangs: Gangs, ranking: Ranking, state: State, order: Integers, now: float
) -> float:
    """When the next job ends or changes its queue if nobody arrives."""
    until = np.inf
    for j in order:
        if state.running[j]:
            until = min(until, state.ready[j] + gangs.duration[j] - state.ran[j])
        if not ranking.by_service:
            continue
        queue = _queue_of(gangs, ranking, state, j, now)
        if state.running[j] and queue < len(ranking.thresholds):
            need = ranking.thresholds[queue] / gangs.size[j] - state.held[j]
            until = min(until, state.begin[j] + need)
        elif state.trained[j] and not state.running[j] and queue > 0:
            until = min(until, _promoted_at(ranking, state, j))
    return until
