"""Runs that do not fit on single servers together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.batch.domain_reduction import Prospects
from formulations.batch.exact.server_cuts import Runs
from formulations.batch.exact.split import Timetable, split
from formulations.batch.instance import Integers
from optsched.solvers.options import Options


def related(chosen: Prospects, table: Timetable, run: int) -> Integers:
    """Runs that share resources with one, directly or through others, and overlap in time."""
    instance, k = chosen.instance, chosen.choices.take(table.choice)
    job, start, end = table.job, table.start, table.start + k.duration
    worker, service = instance.worker_type[job], instance.ps_type[job]
    near = (start[:, None] < end) & (start < end[:, None])
    near &= (worker[:, None] == worker) | (service[:, None] == service)
    found = np.zeros(len(job), dtype=bool)
    found[run] = True
    while True:
        wider = found | near[found].any(axis=0)
        if (wider == found).all():
            return np.flatnonzero(found)
        found = wider


def conflict(
    chosen: Prospects, table: Timetable, run: int, go_on: Callable[[], bool], options: Options
) -> Integers | None:
    """Runs, as few as deleting one by one leaves, that do not fit together.

    Args:
        chosen: what the timetable refers to.
        table: runs that do not all fit.
        run: one that was dropped.
        go_on: asked before every solve.
        options: of the solves.

    Returns:
        None where the runs related to ``run`` fit, or that could not be decided.
    """

    def fits(members: Integers) -> bool | None:
        part = table.take(members)
        found = split(chosen, part, np.ones(len(members)), options=options)
        if found.kept.all():
            return True
        return False if found.proven else None

    members = related(chosen, table, run)
    if not go_on() or fits(members) is not False:
        return None
    order = members[np.argsort(np.abs(table.start[members] - table.start[run]))[::-1]]
    for one in order.tolist():
        rest = members[members != one]
        if not go_on():
            break
        if len(rest) and fits(rest) is False:
            members = rest
    return members


def harder(runs: Runs, members: Runs) -> Integers:
    """Runs that are no easier to place than one of those that do not fit together.

    They fit no better while every one runs whenever it did, starts no later, so that it reaches no
    more servers, has at least its workers, and is no less bound to one server.
    """
    fast, own = runs.chosen.choices.fast[runs.choice], members.chosen.choices.fast[members.choice]
    found = (
        (runs.job == members.job[:, None])
        & (runs.workers >= members.workers[:, None])
        & (fast >= own[:, None])
        & (runs.start <= members.start[:, None])
        & (runs.end >= members.end[:, None])
    )
    return np.flatnonzero(found.any(axis=0))
