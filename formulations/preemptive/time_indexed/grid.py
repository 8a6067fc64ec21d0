"""Where work may be placed: the feasible (job, pool, slot) cells of the time-indexed models.

Identical workers are counted, not named. Workers of one server that serve the same jobs form a
*class*; classes that serve the same jobs form a *group* (with eligibility by type: all workers
of a type). Once a job's data have reached every class it may use, nothing tells the classes of
its group apart any more, and its work there goes to the group as a whole: the *hub*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from formulations.preemptive.classes import WorkerClasses
from formulations.preemptive.instance import (
    ROUNDING,
    Booleans,
    Floats,
    Instance,
    Integers,
    whole_slots,
)
from optsched.instances.arrays import compress, freeze, ranges, refuse_too_many
from optsched.instances.read_only import ReadOnly
from optsched.model import Expression, Model, Variable
from optsched.model.latex import ours


@dataclass(frozen=True, eq=False)
class Grid(ReadOnly):
    """Index sets of one instance; every array is aligned with its name's first word."""

    instance: Instance
    first_slot: Integers
    """First slot at or after release, shape (jobs,)."""
    end_slot: Integers
    """H_j: slot before which some optimal schedule completes the job, shape (jobs,)."""
    group_of_class: Integers
    """Shape (classes,)."""
    group_size: Integers
    """Workers of each group, shape (groups,)."""
    cell_job: Integers
    cell_class: Integers
    """Class of the cell; -1 for a hub cell."""
    cell_group: Integers
    cell_slot: Integers
    cloud_job: Integers
    cloud_slot: Integers
    """Slots in which a job may use workers of the cloud."""

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def cells(self) -> int:
        """Number of edge cells."""
        return len(self.cell_job)

    @cached_property
    def window_start(self) -> Integers:
        """Position of each job's first slot in the concatenated windows, shape (jobs,)."""
        length = self.end_slot - self.first_slot
        return np.asarray(np.cumsum(length) - length)

    @cached_property
    def windows(self) -> tuple[Integers, Integers]:
        """Job and slot of every (job, slot) with first_slot <= slot < end_slot."""
        return ranges(self.first_slot, self.end_slot)

    def window(self, job: Integers, slot: Integers) -> Integers:
        """Position of (job, slot) among the windows."""
        return self.window_start[job] + slot - self.first_slot[job]

    @cached_property
    def cell_window(self) -> Integers:
        """Window position of each edge cell."""
        return self.window(self.cell_job, self.cell_slot)

    @cached_property
    def cloud_window(self) -> Integers:
        """Window position of each cloud cell."""
        return self.window(self.cloud_job, self.cloud_slot)

    @cached_property
    def named(self) -> Integers:
        """Cells that name their class."""
        return np.flatnonzero(self.cell_class >= 0)

    @cached_property
    def class_slots(self) -> tuple[Integers, Floats]:
        """Row of each named cell among the used (class, slot), and the capacity C_k per row."""
        slots = int(self.end_slot.max())
        row, key = compress(self.cell_class[self.named] * slots + self.cell_slot[self.named])
        return row, self.instance.worker_classes.size[key // slots].astype(float)

    @cached_property
    def group_slots(self) -> tuple[Integers, Floats]:
        """Row of each cell among the used (group, slot), and the capacity per row."""
        slots = int(self.end_slot.max())
        row, key = compress(self.cell_group * slots + self.cell_slot)
        return row, self.group_size[key // slots].astype(float)

    @cached_property
    def pool_size(self) -> Floats:
        """Workers of the class, or hub, of each edge cell."""
        return np.where(
            self.cell_class >= 0,
            self.instance.worker_classes.size[self.cell_class],
            self.group_size[self.cell_group],
        ).astype(float)

    @cached_property
    def cell_limit(self) -> Floats:
        """min(D_j, workers of the pool): most units a cell can hold."""
        return np.minimum(self.instance.num_chunks[self.cell_job], self.pool_size)

    @cached_property
    def cell_age(self) -> Floats:
        """T - r_j of each edge cell, slots."""
        return self.cell_slot - self.instance.release_time[self.cell_job]

    @cached_property
    def cloud_age(self) -> Floats:
        """T - r_j of each cloud cell, slots."""
        return self.cloud_slot - self.instance.release_time[self.cloud_job]

    @cached_property
    def fast_end(self) -> Floats:
        """Completion time of each job run whole in the cloud; infinite where barred."""
        return fast_completion(self.instance)

    @cached_property
    def rate(self) -> Floats:
        """Most units of each window: D_j, or what of its pools is open to the job by then."""
        job, _ = self.windows
        limit = self.instance.num_chunks[job].astype(np.float64)
        open_ = np.zeros(len(job))
        np.add.at(open_, self.cell_window, self.pool_size)
        open_[self.cloud_window] = np.inf
        return np.minimum(limit, open_)

    @cached_property
    def earliest_slow_end(self) -> Floats:
        """r_j + L_j: completion of each job alone with communication, shape (jobs,).

        Infinite where that lies beyond ``end_slot``.
        """
        job, slot = self.windows
        done = np.cumsum(self.rate)
        before = np.concatenate([[0.0], done])[self.window_start]
        enough = done - before[job] >= self.instance.work_slow[job] - 0.5
        end = np.full(self.instance.jobs, np.inf)
        np.minimum.at(end, job[enough], slot[enough] + 1.0)
        return end


def fast_completion(instance: Instance) -> Floats:
    """r_j + Delta_jc + ceil(p^1_j) in whole slots: the job alone in the cloud, shape (jobs,)."""
    arrival = instance.release_time + instance.upload_delay_cloud
    end = np.full(instance.jobs, np.inf)
    open_ = np.isfinite(arrival)
    end[open_] = whole_slots(arrival[open_]) + whole_slots(instance.chunk_time_fast[open_])
    return end


@lru_cache(maxsize=1)  # a bound, a model and its decoding ask for that of the same instance
def build_grid(
    instance: Instance,
    *,
    hub: bool = True,
    slow_cloud: bool = False,
    ps_delay_applies: bool = False,
    edge_suffices: bool = True,
) -> Grid:
    """Index sets for the time-indexed models.

    Args:
        instance: release times and delays are taken up to whole slots.
        hub: pool the classes of a group once a job's data have reached all of them; exact
            where work may change workers, that is everywhere but without migration.
        slow_cloud: leave room for the job to end in the cloud with communication, too (windows
            otherwise end with the fast cloud).
        ps_delay_applies: leave room for parameter servers that may not serve from release on.
        edge_suffices: end windows with ``edge_end``. False: a job may wait for the cloud, as who
            will come to the edge is not known yet.

    Some optimal schedule of (2) completes every job within its window: a job that would end later
    is better off whole in the cloud, or on one worker at the edge. That says nothing of the mean
    age of its work, so (4) needs ``slow_cloud`` wherever a job may have the slow speed: then there
    is room in the cloud, within the window, for every unit of work that would come after it. If a
    job may not use the cloud and ``edge_suffices`` is False, its window holds all work after the
    last arrival, one worker at a time. ``instance.horizon`` cuts every window.

    Raises:
        UnsupportedError: there would be more cells than memory holds as columns of a model.
    """
    classes = instance.worker_classes
    first = whole_slots(instance.release_time)
    arrival = arrivals(instance, classes)
    ends = _end_slots(instance, slow_cloud, ps_delay_applies, edge_suffices)
    refuse_too_many(float(np.sum(ends - first)), "slots in the windows of the jobs")
    end = ends.astype(np.int64)
    group_of_class, group_size = _groups(classes.eligible, classes.size)
    job, klass = np.nonzero(classes.eligible)
    start = arrival[job, klass]
    latest = np.where(classes.eligible, arrival, 0).max(axis=1, initial=0)
    stop = np.minimum(latest, end)[job] if hub else end[job]
    pair, slot = ranges(start, stop)
    parts = [(job[pair], klass[pair], group_of_class[klass[pair]], slot)]
    if hub:
        used = np.unique(np.stack([job, group_of_class[klass]]), axis=1)
        pair, slot = ranges(np.maximum(latest, first)[used[0]], end[used[0]])
        parts.append((used[0][pair], np.full(len(pair), -1), used[1][pair], slot))
    cells = [np.concatenate(column) for column in zip(*parts, strict=True)]
    open_ = np.isfinite(instance.upload_delay_cloud)
    cloud = whole_slots(instance.release_time + np.where(open_, instance.upload_delay_cloud, 0.0))
    cloud_job, cloud_slot = ranges(np.where(open_, cloud, end), end)
    return Grid(
        instance, first, end, group_of_class, group_size,
        cells[0], cells[1], cells[2], cells[3], cloud_job, cloud_slot,
    )  # fmt: skip


def arrivals(instance: Instance, classes: WorkerClasses) -> Integers:
    """First slot after each job's upload to each class of workers or parameter servers."""
    delay = instance.upload_delay_edge[:, classes.server]
    return whole_slots(instance.release_time[:, None] + delay)


def edge_end(instance: Instance, *, ps_delay_applies: bool = False) -> Floats:
    """Slot before which some optimal schedule of (2) or (4) completes each job, cloud or not.

    From its arrival at a worker on, the job can have every slot there that no job uses. The other
    jobs use no more slots than all their work, one worker at a time. So a job that ends later ends
    sooner if it runs whole on that worker, and no other job is touched. With storage that needs a
    server that holds all chunks of all jobs at once: workers of the others do not count.

    Args:
        instance: times are taken up to whole slots.
        ps_delay_applies: a parameter server, too, may serve only once the data have arrived at it.

    Returns:
        Shape (jobs,); infinite if no such worker, or no parameter server, serves the job.
    """
    classes = instance.worker_classes
    work = (instance.num_chunks * whole_slots(instance.chunk_time_slow)).astype(np.float64)
    sharing = work @ classes.eligible
    ready = np.zeros(instance.jobs)
    if ps_delay_applies:
        servers = instance.ps_classes
        served = np.where(servers.eligible, arrivals(instance, servers), np.inf)
        cloud = np.ceil(instance.release_time + instance.upload_delay_cloud - ROUNDING)
        ready = np.minimum(served.min(axis=1, initial=np.inf), cloud)
        sharing[:] = work.sum()  # jobs meet at parameter servers, too
    holds_all = instance.storage_capacity >= instance.num_chunks @ instance.chunk_storage
    end = np.full(instance.jobs, np.inf)
    for k in np.flatnonzero(holds_all[classes.server]):  # one by one: the table would be large
        arrival = instance.release_time + instance.upload_delay_edge[:, classes.server[k]]
        begin = np.maximum(np.ceil(arrival - ROUNDING), ready)
        end = np.minimum(end, np.where(classes.eligible[:, k], begin + sharing[k], np.inf))
    return end


def window_slots(instance: Instance) -> float:
    """Slots of the windows of all jobs together, counted without a grid."""
    ends = _end_slots(instance, False, False, True)
    return float(np.sum(ends - whole_slots(instance.release_time)))


def longest(instance: Instance, *, edge_suffices: bool = True) -> int:
    """Slots after the last release in which all jobs can be done, one worker at a time.

    Args:
        instance: any.
        edge_suffices: see ``build_grid``.
    """
    at_once = replace(instance, release_time=np.zeros(instance.jobs), horizon=None)
    return int(_end_slots(at_once, True, True, edge_suffices).max(initial=0))


def _end_slots(
    instance: Instance, slow_cloud: bool, ps_delay_applies: bool, edge_suffices: bool
) -> Floats:
    end = fast_completion(instance)
    if slow_cloud:
        end += whole_slots(instance.chunk_time_slow) - whole_slots(instance.chunk_time_fast)
    if edge_suffices:
        end = np.minimum(end, edge_end(instance, ps_delay_applies=ps_delay_applies))
    unknown = np.isinf(end)
    if unknown.any():
        pools = [instance.worker_classes]
        if ps_delay_applies:
            pools.append(instance.ps_classes)
        reached = [np.where(p.eligible, arrivals(instance, p), 0).max(initial=0) for p in pools]
        work = instance.num_chunks * whole_slots(instance.chunk_time_slow)
        end[unknown] = float(max(reached)) + work.sum(dtype=np.float64)
    if instance.horizon is not None:
        # slots are 1..T in the paper: the last one ends at T + 1
        end = np.minimum(end, instance.horizon + 1)
    return np.maximum(end, whole_slots(instance.release_time))


def _groups(eligible: Booleans, size: Integers) -> tuple[Integers, Integers]:
    """Classes with one column of eligibility, and how many workers each group counts."""
    if eligible.shape[1] == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    group = np.unique(eligible, axis=1, return_inverse=True)[1].reshape(-1)
    return group, np.bincount(group, weights=size).astype(np.int64)


def add_capacity(model: Model, name: str, grid: Grid, y: Expression | None = None) -> None:
    """Workers serve one unit a slot: rows per (class, slot) and, with hubs, per (group, slot).

    Args:
        model: what to add to.
        name: of the rows.
        grid: index sets.
        y: units per edge cell; None: the model's variable of that name.
    """
    y = model["y"] if y is None else y
    row, capacity = grid.class_slots
    model.add(
        f"{name}:class",
        y[grid.named].sum_by(row, len(capacity)) <= capacity,
        formula=ours(r"\sum_j y_{jk}(t) \le C_k"),
    )
    if len(grid.named) < grid.cells:
        row, capacity = grid.group_slots
        model.add(
            f"{name}:group",
            y.sum_by(row, len(capacity)) <= capacity,
            formula=ours(r"\sum_j \sum_{k \in \tau} y_{jk}(t) \le C_\tau"),
        )


def add_parameter_servers(
    model: Model,
    grid: Grid,
    *,
    together: Variable | None,
    ps_delay_applies: bool,
    rows: Literal["2", "4"],
) -> None:
    """One parameter server for each job in each slot it runs in: (2e), (2f), (2h) and (2i).

    Args:
        model: has the block "running", a binary per window of the grid.
        grid: the windows.
        together: zeta_j, shape (jobs,); None: no job is bound to the cloud.
        ps_delay_applies: a parameter server serves only once an upload to it would be done.
        rows: whose numbers the rows have: (4) prints them as (4c), (4d), (4g) and (4h).
    """
    names = {"2": ("2e", "2f", "2h", "2i"), "4": ("4c", "4d", "4g", "4h")}[rows]
    instance = grid.instance
    window_job = grid.windows[0]
    window, klass = service_cells(grid, ps_delay_applies)
    size = instance.ps_classes.size
    z = model.binary("z", len(window), formula="z_{jq}(t)")
    cloud = model.binary("z_cloud", len(window_job), formula="z_{jc}(t)")
    model.add(
        names[0],
        z.sum_by(window, len(window_job)) + cloud == model["running"],
        formula=ours(r"\sum_q z_{jq}(t) = \rho_j(t)"),
    )
    slots = int(grid.end_slot.max(initial=0)) + 1
    row, key = compress(klass * slots + grid.windows[1][window])
    model.add(
        names[1],
        z.sum_by(row, len(key)) <= size[key // slots],
        formula=ours(r"\sum_j z_{jq}(t) \le R_q"),
    )
    if together is not None:
        model.add(
            f"{names[2]}:parameter servers",
            z + together[window_job[window]] <= 1,
            formula=ours(r"z_{jq}(t) \le 1 - \zeta_j"),
        )
    if ps_delay_applies:
        arrival = instance.release_time + instance.upload_delay_cloud
        early = np.flatnonzero(grid.windows[1] < arrival[window_job])
        model.add(names[3], cloud[early] <= 0)


def service_cells(grid: Grid, ps_delay_applies: bool) -> tuple[Integers, Integers]:
    """Window and class of every parameter-server variable."""
    instance = grid.instance
    classes = instance.ps_classes
    job, klass = np.nonzero(classes.eligible)
    start = grid.first_slot[job]
    if ps_delay_applies:
        start = arrivals(instance, classes)[job, klass]
    pair, slot = ranges(start, grid.end_slot[job])
    return grid.window(job[pair], slot), klass[pair]
