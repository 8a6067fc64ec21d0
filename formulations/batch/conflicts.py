"""Cuts on the pooled model from runs that do not fit on single servers together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.batch.instance import Integers
from formulations.batch.prospects import Prospects
from formulations.batch.split import Timetable, split
from optsched.model import Model
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


def add_conflict(
    model: Model, chosen: Prospects, table: Timetable, members: Integers, number: int
) -> None:
    """Require that one of the runs that do not fit together changes.

    They fit no better while every one keeps at least its workers and is no less bound to one
    server, those that overlap still do, and none starts so late that it reaches more servers.
    """
    instance, k = chosen.instance, chosen.choices
    part = table.take(members)
    own = k.take(part.choice)
    start, end = part.start, part.start + own.duration
    name = f"conflict {number}"
    harder = (
        (k.job == part.job[:, None])
        & (k.workers >= own.workers[:, None])
        & (k.fast >= own.fast[:, None])
    )
    _, choice = np.nonzero(harder)
    changed = float(len(members)) - model["b"][choice].sum()
    one, other = np.nonzero((start[:, None] < end) & (start < end[:, None]))
    apart = one != other
    one, other = part.job[one[apart]], part.job[other[apart]]
    before = model.binary(f"{name} before", len(one))
    model.indicator(before, model["end"][one] - model["start"][other] <= 0, name=f"{name} order")
    release = instance.release_slot[part.job]
    reached = release[:, None] + instance.upload_delay[part.job]
    useful = chosen.limited[part.job] & (
        (instance.worker_room[part.job] >= 1) | (instance.ps_room[part.job] >= 1)
    )
    more = np.where(useful & (reached > start[:, None]), reached, np.iinfo(np.int64).max)
    later = np.flatnonzero(more.min(axis=1) <= chosen.last[part.job])
    wait = model.binary(f"{name} later", len(later))
    model.indicator(
        wait, model["start"][part.job[later]] >= more.min(axis=1)[later], name=f"{name} wait"
    )
    model.add(name, changed + before.sum() + wait.sum() >= 1.0)
