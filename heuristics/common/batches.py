"""Batches at doubling times (Zhang, Zhou, Wu, Jiao and Li, MobiHoc 2020), BatchSche's loop.

What has come by a batch is placed job by job, each where it costs least at prices that grow
exponentially with use, if it ends before the next batch; what does not waits for that. A_online of
She et al. has the same loop. What a market is depends on the system: there whole slots, dual prices
and bounded parameter servers, in Wang et al. fractions of a slot and gangs of single workers; so
each paper's BatchSche brings its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Job = TypeVar("Job")


def in_batches(
    arrivals: Iterable[Job],
    came: Callable[[Job, float], bool],
    arrive: Callable[[Job], None],
    hold: Callable[[float, float], bool],
    *,
    first: float = 1,
    origin: float = 0,
) -> None:
    """Hold batches ``first * 2^i`` after ``origin``, i = 0, 1, ..., until no job waits.

    Args:
        arrivals: jobs in order of arrival.
        came: whether a job takes part in a batch at a moment.
        arrive: called with each job before the first batch that it takes part in.
        hold: called with the moment of a batch and of the next; whether jobs wait for that.
        first: time from the origin to the first batch.
        origin: moment.
    """
    upcoming = iter(arrivals)
    job = next(upcoming, None)
    waiting, step = False, first
    while job is not None or waiting:
        while job is not None and came(job, origin + step):
            arrive(job)
            job, waiting = next(upcoming, None), True
        if waiting:
            waiting = hold(origin + step, origin + 2 * step)
        step *= 2
