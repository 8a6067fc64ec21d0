"""Which parameter server serves a job while it runs: A_ps (Algorithm 5, restated).

A job that runs entirely in the cloud takes a parameter server there. Any other takes a free
eligible one at the edge whenever it starts or resumes, keeps it until none of its chunks runs,
and falls back on the cloud if none is free. No choice changes a speed or makes a job wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from formulations.preemptive.instance import CLOUD, Booleans, Floats, Integers
from heuristics.preemptive.engine.queues import Table
from heuristics.preemptive.engine.ties import slack
from heuristics.preemptive.rules import PsPolicy
from optsched.jit import njit_cached

INTERVAL = np.dtype([("job", "i8"), ("start", "f8"), ("end", "f8")])


@dataclass(frozen=True)
class Services:
    """One row per service without a break, in order of (start, job)."""

    job: Integers
    parameter_server: Integers
    """Edge parameter server, or ``CLOUD``."""
    start: Floats
    """Slots."""
    end: Floats
    """Slots."""


def running_intervals(job: Integers, start: Floats, end: Floats) -> tuple[Integers, Floats, Floats]:
    """Maximal intervals in which each job has a chunk running, by (start, job).

    Args:
        job: job of each run, shape (runs,).
        start: its start, slots.
        end: its end, slots; runs that touch up to rounding belong to one interval.
    """
    intervals = _merged(job, start, end, np.lexsort((start, job)))
    order = np.lexsort((intervals["job"], intervals["start"]))
    return intervals["job"][order], intervals["start"][order], intervals["end"][order]


@njit_cached
def _merged(job: Integers, start: Floats, end: Floats, order: Integers) -> Table:
    """The intervals, in the order of the runs by (job, start); one pass, as runs are millions."""
    intervals = np.empty(len(order), dtype=INTERVAL)
    count = 0
    for run in order:
        last = intervals[count - 1]
        if (
            count == 0
            or job[run] != last["job"]
            or start[run] - last["end"] > slack(end[run] - start[run], start[run])
        ):
            last = intervals[count]
            last["job"], last["start"], last["end"] = job[run], start[run], end[run]
            count += 1
        else:
            last["end"] = max(last["end"], end[run])
    return intervals[:count]


def assign(
    intervals: tuple[Integers, Floats, Floats],
    *,
    together: Booleans,
    eligible: Sequence[Integers],
    parameter_servers: int,
    policy: PsPolicy,
    rng: np.random.Generator,
    printed: bool = False,
) -> Services:
    """Algorithm 5 over the intervals of ``running_intervals``, in order of time.

    Args:
        intervals: job, start and end of each.
        together: zeta_j, shape (jobs,).
        eligible: edge parameter servers with o_jp = 1, for each job, ascending.
        parameter_servers: number at the edge.
        policy: lowest free index, or uniformly random among the free.
        rng: used by the random policy, and as printed.
        printed: line by line: only a job's first interval gets a parameter server, drawn from all
            that may serve it, those that are taken and the edge's for a job in the cloud included.
    """
    job, start, end = intervals
    if printed:
        first = np.unique(job, return_index=True)[1]
        drawn = [rng.choice([*eligible[j], CLOUD]) for j in job[first].tolist()]
        order = np.lexsort((job[first], start[first]))
        kept = first[order]
        return Services(job[kept], np.array(drawn)[order], start[kept], end[kept])
    chosen = np.full(len(job), CLOUD)
    free = np.ones(parameter_servers, dtype=bool)
    busy: list[tuple[float, int]] = []  # (end, parameter server)
    for i in np.flatnonzero(~together[job]).tolist():
        j, now, until = int(job[i]), float(start[i]), float(end[i])
        while busy and busy[0][0] <= now + slack(until - now, now):
            free[heappop(busy)[1]] = True
        candidates = eligible[j][free[eligible[j]]]
        if len(candidates):
            pick = rng.integers(len(candidates)) if policy == "random" else 0
            p = int(candidates[pick])
            chosen[i], free[p] = p, False
            heappush(busy, (until, p))
    return Services(job, chosen, start, end)
