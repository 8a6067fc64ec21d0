"""Algorithm 2, corrected: the closest deployment with room for all tasks; gang reservation."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from formulations.aerialedge.check import order_of_travel, served_units, within_reach
from formulations.aerialedge.construct import first_fit_decreasing
from formulations.aerialedge.dispatch import closest
from formulations.aerialedge.instance import UNIT, Floats, Instance
from formulations.aerialedge.metrics import gang_times
from formulations.aerialedge.pack import pack
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import aggregate
from optsched.errors import InputError

PACKING_SECONDS = 10.0
"""Longest time spent on whether tasks fit one deployment."""

Release = Literal["gang", "task"]
"""gang: a multi-job gives back what it holds when all of it has ended; task: each task its own."""


def dispatch(
    instance: Instance, *, check_packing: bool = True, time_limit: float = PACKING_SECONDS
) -> int | None:
    """Algorithm 2: the first feasible deployment in order of travel; None: the multi-job waits.

    Args:
        instance: the deployments and the multi-job.
        check_packing: also ask that the tasks can be packed; the printed algorithm does not, and
            may choose a deployment on which they cannot.
        time_limit: wall seconds per deployment for that question; undecided counts as no.
    """
    for i in order_of_travel(instance).tolist():
        if within_reach(instance, i):
            continue
        if not check_packing or first_fit_decreasing(aggregate(instance, i)) is not None:
            return int(i)
        if pack(instance, deployment=i, time_limit=time_limit).solution.has_point:
            return int(i)
    return None


def closest_feasible(instance: Instance) -> int:
    """The deployment of ``dispatch``, or else the closest one, where tasks must take turns."""
    chosen = dispatch(instance)
    return closest(instance) if chosen is None else chosen


@dataclass(frozen=True)
class Reservation:
    """What one multi-job got."""

    schedule: Schedule | None
    """None: it can never be served."""
    start: float
    """When all of it was reserved, seconds; infinite if never."""
    end: float
    """When its last task ends, seconds."""


def reserve_in_turn(
    multi_jobs: Sequence[Instance],
    arrival: Sequence[float],
    *,
    release: Release = "gang",
    time_limit: float = PACKING_SECONDS,
) -> list[Reservation]:
    """Gang scheduling: multi-jobs in order of arrival, each reserved whole or not at all.

    One that finds no deployment with room waits, and those behind it wait with it, until
    reservations end. Tasks start by their dependencies once all of the multi-job is reserved.

    Args:
        multi_jobs: over the same deployments.
        arrival: of each, ascending, seconds.
        release: when reservations end.
        time_limit: wall seconds for one packing.

    Raises:
        InputError: an unknown release, arrivals out of order, or of another number.
    """
    if release not in get_args(Release):
        raise InputError.of("release", release, "must be one of " + ", ".join(get_args(Release)))
    if len(arrival) != len(multi_jobs) or any(b < a for a, b in pairwise(arrival)):
        raise InputError.of("arrival", list(arrival), "one per multi-job, ascending")
    if not multi_jobs:
        return []
    free = multi_jobs[0].capacity_units.copy()
    ends: list[tuple[float, int, int, tuple[int, ...]]] = []
    now, answers = 0.0, []
    for job, (instance, arrives) in enumerate(zip(multi_jobs, arrival, strict=True)):
        now = max(now, arrives)
        _give_back(ends, free, now)
        schedule = _reserve(instance, free, time_limit)
        while schedule is None and ends:
            now = ends[0][0]
            _give_back(ends, free, now)
            schedule = _reserve(instance, free, time_limit)
        if schedule is None:
            answers.append(Reservation(None, math.inf, math.inf))
            continue
        end = now + gang_times(instance)[1]
        held = end if release == "task" else np.full(instance.tasks, end.max())
        load = served_units(instance, schedule)
        for t in range(instance.tasks):
            free[schedule.node[t]] -= load[t]
            entry = (
                float(held[t]),
                job * 10**9 + t,
                int(schedule.node[t]),
                tuple(load[t].tolist()),
            )
            heapq.heappush(ends, entry)
        answers.append(Reservation(schedule, now, float(end.max())))
    return answers


def _give_back(
    ends: list[tuple[float, int, int, tuple[int, ...]]], free: np.ndarray, now: float
) -> None:
    while ends and ends[0][0] <= now:
        _, _, node, load = heapq.heappop(ends)
        free[node] += np.array(load)


def _reserve(instance: Instance, free: np.ndarray, time_limit: float) -> Schedule | None:
    """A packing of all tasks into what is free, on the first deployment that has room."""
    rest: Floats = free * UNIT
    left = replace(instance, capacity=rest)
    chosen = dispatch(left, time_limit=time_limit)
    if chosen is None:
        return None
    return pack(left, deployment=chosen, time_limit=time_limit).schedule
