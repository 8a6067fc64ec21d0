"""From counted units of work to named workers: exact if work may change workers.

``in_turn`` makes a schedule at once, without a model.
"""

from __future__ import annotations

import numpy as np

from formulations.preemptive.instance import (
    CLOUD,
    Floats,
    Instance,
    Integers,
    whole_slots,
)
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.time_indexed.grid import Grid
from optsched.errors import InputError
from optsched.instances.arrays import ranges, rank_within, refuse_too_many

MOST_CHUNKS = 1_000_000
"""Chunks up to which ``in_turn`` makes a schedule."""
SLOTS_ADD = 1.1
"""Factor by which whole slots may raise the work of half of the jobs. If they raise it more, slots
are too long for the jobs, and time is continuous."""


def fits_slots(instance: Instance) -> bool:
    """Tell whether whole slots are a fair measure of the jobs."""
    work = instance.num_chunks * instance.chunk_time_slow
    return bool(np.median(instance.work_slow / work) <= SLOTS_ADD)


def refuse_too_many_chunks(instance: Instance) -> None:
    """Refuse an instance whose schedules memory does not hold: in the cloud, each chunk is a run.

    Raises:
        UnsupportedError: naming how many there would be.
    """
    refuse_too_many(float(instance.num_chunks.sum()), "runs of a schedule, one for each chunk")


def whole_units(values: Floats, name: str) -> Integers:
    """Solver values as whole numbers.

    Raises:
        InputError: a value is further than 1e-4 from a whole number.
    """
    units = np.round(values)
    if np.abs(values - units).max(initial=0.0) > 1e-4:
        raise InputError.of(name, float(values[np.abs(values - units).argmax()]), "a whole number")
    return units.astype(np.int64)


def slot_schedule(
    grid: Grid,
    cell_units: Integers,
    cloud_units: Integers,
    *,
    more_runs: Floats | None = None,
    services: Floats | None = None,
) -> Schedule:
    """The schedule that places counted units on named workers, slot by slot.

    Args:
        grid: index sets the units refer to.
        cell_units: units per edge cell, shape (cells,).
        cloud_units: units per cloud cell, shape (cloud cells,).
        more_runs: further rows (job, chunk, worker, start, end), such as whole jobs in the cloud.
        services: rows (job, parameter server, start, end); None: the cloud's serve everyone.
    """
    parts = [_edge_runs(grid, cell_units), _cloud_runs(grid, cloud_units)]
    runs = np.concatenate(parts if more_runs is None else [*parts, more_runs])
    if services is None:
        services = cloud_services(runs)
    together = np.ones(grid.instance.jobs, dtype=bool)
    for rows, place in ((runs, 2), (services, 1)):
        together[rows[rows[:, place] != CLOUD, 0].astype(np.int64)] = False
    return Schedule.build(runs=runs, services=services, together=together)


def cloud_services(runs: Floats) -> Floats:
    """One parameter server of the cloud for every stretch in which a job runs.

    Args:
        runs: rows (job, chunk, worker, start, end).

    Returns:
        Rows (job, ``CLOUD``, start, end): the union of each job's runs.
    """
    order = np.lexsort((runs[:, 3], runs[:, 0]))
    job, start, end = runs[order, 0], runs[order, 3], runs[order, 4]
    if len(job) == 0:
        return np.zeros((0, 4))
    # the furthest end seen so far within the job: jobs are kept apart by a large shift
    shift = job * (end.max() + 1.0)
    reached = np.maximum.accumulate(end + shift) - shift
    fresh = np.concatenate([[True], (job[1:] != job[:-1]) | (start[1:] > reached[:-1])])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(job)) - 1
    return np.column_stack([job[first], np.full(len(first), CLOUD), start[first], reached[last]])


def _edge_runs(grid: Grid, units: Integers) -> Floats:
    """Runs on edge workers: class units first, hub units on what the group has left."""
    used = np.flatnonzero(units > 0)
    owner, _ = ranges(np.zeros(len(used)), units[used])
    cell = used[owner]
    job, slot, group = grid.cell_job[cell], grid.cell_slot[cell], grid.cell_group[cell]
    slots = int(grid.end_slot.max(initial=0)) + 1
    of_worker = grid.instance.worker_classes.of_worker
    by_class = np.argsort(of_worker, kind="stable")
    size = np.bincount(of_worker, minlength=len(grid.group_of_class))
    first = np.cumsum(size) - size
    worker = np.empty(len(cell), dtype=np.int64)
    klass = grid.cell_class[cell]
    named = np.flatnonzero(klass >= 0)
    place = rank_within(klass[named] * slots + slot[named])
    worker[named] = by_class[first[klass[named]] + place]
    hub = np.flatnonzero(klass < 0)
    if len(hub):
        worker[hub] = _hub_workers(
            grid,
            group[hub] * slots + slot[hub],
            slots,
            worker[named],
            group[named] * slots + slot[named],
        )
    return merged(job, worker, slot)


def _hub_workers(
    grid: Grid, wanted: Integers, slots: int, taken: Integers, taken_at: Integers
) -> Integers:
    """A free worker of the group for every hub unit, keyed by (group, slot)."""
    worker_group = grid.group_of_class[grid.instance.worker_classes.of_worker]
    members = np.argsort(worker_group, kind="stable")
    size = np.bincount(worker_group, minlength=len(grid.group_size))
    start = np.cumsum(size) - size
    keys = np.unique(wanted)
    # candidates: every worker of the group at every (group, slot) with hub units
    at, place = ranges(start[keys // slots], (start + size)[keys // slots])
    worker, key = members[place], keys[at]
    workers = grid.instance.workers
    free = ~np.isin(key * workers + worker, taken_at * workers + taken)
    worker, key = worker[free], key[free]
    begin = np.searchsorted(key, keys)
    chosen: Integers = worker[begin[np.searchsorted(keys, wanted)] + rank_within(wanted)]
    return chosen


def _cloud_runs(grid: Grid, units: Integers) -> Floats:
    """Runs in the cloud: each unit has its own worker there."""
    used = np.flatnonzero(units > 0)
    owner, lane = ranges(np.zeros(len(used)), units[used])
    runs = merged(grid.cloud_job[used][owner], lane, grid.cloud_slot[used][owner])
    runs[:, 2] = CLOUD
    return runs


def fast_cloud_runs(instance: Instance, jobs: Integers) -> Floats:
    """Rows (job, chunk, worker, start, end) of jobs run whole in the cloud, N^1_j slots in all."""
    chunks = instance.num_chunks[jobs]
    owner, lane = ranges(np.zeros(len(jobs)), chunks)
    job = jobs[owner]
    full, rest = np.divmod(instance.work_fast[job], instance.num_chunks[job])
    start = whole_slots(instance.release_time[job] + instance.upload_delay_cloud[job])
    end = start + full + (lane < rest)
    rows = np.column_stack([job, np.full(len(job), NO_CHUNK), np.full(len(job), CLOUD), start, end])
    return rows[end > start].astype(float)


def merged(job: Integers, lane: Integers, slot: Integers) -> Floats:
    """Unit slots joined into runs: rows (job, NO_CHUNK, lane, start, end), ordered by lane."""
    order = np.lexsort((slot, lane, job))
    job, lane, slot = job[order], lane[order], slot[order]
    fresh = np.ones(len(job), dtype=bool)
    fresh[1:] = (job[1:] != job[:-1]) | (lane[1:] != lane[:-1]) | (slot[1:] != slot[:-1] + 1)
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(job)) - 1 if len(job) else first
    return np.column_stack([
        job[first], np.full(len(first), NO_CHUNK), lane[first], slot[first], slot[last] + 1,
    ]).astype(float)  # fmt: skip


def in_turn(instance: Instance) -> Schedule | None:
    """Send jobs to the cloud, and run those that are barred from it one at a time on one worker.

    Chunks take whole slots.

    Returns:
        The schedule; None if there are more chunks than ``MOST_CHUNKS``.
    """
    if instance.num_chunks.sum() > MOST_CHUNKS:
        return None
    together = np.isfinite(instance.upload_delay_cloud)
    start = np.zeros(instance.jobs)
    start[together] = whole_slots((instance.release_time + instance.upload_delay_cloud)[together])
    time = whole_slots(np.where(together, instance.chunk_time_fast, instance.chunk_time_slow))
    worker, now = np.full(instance.jobs, CLOUD), 0.0
    barred = np.flatnonzero(~together)
    for j in barred[np.argsort(instance.release_time[barred], kind="stable")].tolist():
        worker[j] = int(instance.worker_eligible[j].argmax())
        delay = instance.upload_delay_edge[j, instance.worker_server[worker[j]]]
        start[j] = max(now, float(whole_slots(instance.release_time[j] + delay)))
        now = start[j] + instance.num_chunks[j] * time[j]
    job, chunk = ranges(np.zeros(instance.jobs, dtype=np.int64), instance.num_chunks)
    begin = start[job] + np.where(together[job], 0, chunk * time[job])
    rows = np.column_stack([job, chunk, worker[job], begin, begin + time[job]])
    return Schedule.build(runs=rows, services=cloud_services(rows), together=together)
