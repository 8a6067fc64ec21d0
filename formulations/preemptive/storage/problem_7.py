"""Problem (7): total job completion time, (2), with storage.

Two models with one optimum on instances whose chunk times are whole slots:

* ``problem_7`` names every chunk, worker and slot, as printed (a chunk is stored on one server);
* ``problem_7_compact`` counts the chunks each server stores and states completion by
  monotone binaries, as ``problem_2_compact`` does. With completions and counts fixed, what
  remains is a flow: whole units exist without being asked for.

Chunks may change workers within their server. Parameter servers are left out: those of the cloud
serve from release on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.preemptive.check import completion_times
from formulations.preemptive.check_storage import StorageRelease
from formulations.preemptive.instance import (
    CLOUD,
    ROUNDING,
    Booleans,
    Floats,
    Instance,
    Integers,
    whole_slots,
)
from formulations.preemptive.problem_2 import last_windows
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.storage.chunks import (
    STORED,
    ChunkCells,
    add_storage,
    chunk_cells,
    chunk_runs,
    named_schedule,
    stored_chunks,
)
from formulations.preemptive.time_indexed.decode import whole_units
from formulations.preemptive.time_indexed.grid import Grid, add_capacity, build_grid
from optsched.errors import ModelError
from optsched.instances.arrays import compress, ranges, rank_within
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution

LARGE = 1e5
"""Amounts of storage from here on are counted in integer columns."""


def _cells_7(instance: Instance) -> ChunkCells:
    """Windows of (2): a job that would end later is better off whole in the cloud."""
    instance = instance.rounded()
    grid = build_grid(instance, hub=False)
    return chunk_cells(instance, grid.end_slot, grid.fast_end)


def problem_7(instance: Instance, *, storage_release: StorageRelease = "job") -> Model:
    """(7): total job completion time, every chunk stored on one server and trained there.

    Chunks may change workers within their server; chunk times are taken up to whole slots.

    Args:
        instance: times are taken up to whole slots.
        storage_release: until when a chunk takes storage.

    Raises:
        InputError: ``storage_release`` is unknown.
    """
    cells = _cells_7(instance)
    model, pending = stored_chunks(cells, "problem (7)", storage_release)
    job, slot = ranges(cells.first, cells.end)
    may = np.isfinite(cells.fast_end)
    early = np.flatnonzero(slot < np.where(may, cells.fast_end, 0.0)[job])
    model.add("2j:cloud", pending[early] >= model["fast"][job[early]])
    late = cells.first - cells.instance.release_time
    model.minimize(pending.sum() + float(late.sum()), formula=r"\sum_j (c_j - r_j)")
    return model


def decode_problem_7(
    instance: Instance, solution: Solution, *, storage_release: StorageRelease = "job"
) -> Schedule:
    """The schedule a solution of ``problem_7`` stands for, every run with its chunk."""
    cells = _cells_7(instance)
    used = np.flatnonzero(whole_units(solution["y"], "y"))
    fast = whole_units(solution["fast"], "fast").astype(bool)
    runs = chunk_runs(
        cells.instance,
        cells.chunk_job[cells.cell_chunk[used]],
        cells.cell_chunk[used],
        cells.cell_worker[used],
        cells.cell_slot[used],
    )
    return named_schedule(cells.instance, runs, fast)


def problem_7_compact(instance: Instance, *, whole: bool = False) -> Model:
    """(7) by counts of stored chunks and monotone completion binaries; the storage is held by job.

    A job still pending in its last slot is one run whole in the cloud, as in
    ``problem_2_compact``.

    Args:
        instance: times are taken up to whole slots.
        whole: declare units of work and of storage integer, for solvers that know nothing else.
    """
    shelves = shelves_of(instance)
    grid, instance = shelves.grid, shelves.grid.instance
    jobs, chunks = instance.jobs, instance.num_chunks.astype(float)
    time = instance.chunk_time_slow
    window_job, window_slot = grid.windows
    windows = len(window_job)
    earliest = np.minimum(grid.earliest_slow_end, grid.fast_end)
    model = Model("problem (7), compact")
    units = model.integer if whole else model.continuous
    pending = model.integer(
        "pending",
        windows,
        lower=(window_slot < earliest[window_job]).astype(float),
        upper=1,
        formula="h_j(t)",
    )
    stored = model.integer(
        "stored", len(shelves.job), upper=chunks[shelves.job], formula=r"\chi_{js}"
    )
    y = units("y", grid.cells, upper=grid.cell_limit, formula="y_{jk}(t)")
    x = units("x", len(grid.cloud_job), upper=chunks[grid.cloud_job], formula="x_j(t)")
    fast_jobs, last = last_windows(grid)
    fast = pending[last].sum_by(fast_jobs, jobs)
    at_edge = stored.sum_by(shelves.job, jobs)
    in_cloud = chunks - at_edge - fast * chunks
    model.minimize(pending.sum() + float((grid.first_slot - instance.release_time).sum()))
    barred = np.isinf(instance.upload_delay_cloud)
    model.add("place", in_cloud >= 0, formula=r"\sum_s \chi_{js} \le D_j (1 - \zeta_j)")
    model.add("place:barred", in_cloud[np.flatnonzero(barred)] <= 0)
    done = y.sum_by(shelves.of_cell, len(shelves.job))
    model.add(
        "2b",
        done == stored * time[shelves.job],
        formula=ours(r"\sum_t \sum_{k \in s} y_{jk}(t) = p^0_j \chi_{js}"),
    )
    open_ = np.flatnonzero(~barred)
    model.add(
        "2b:cloud",
        x.sum_by(grid.cloud_job, jobs)[open_] == in_cloud[open_] * time[open_],
        formula=ours(r"\sum_t x_j(t) = p^0_j \chi_{jc}"),
    )
    slots = int(grid.end_slot.max()) + 1
    row, key = compress(shelves.of_cell * slots + grid.cell_slot)
    model.add(
        "7a",
        y.sum_by(row, len(key)) <= stored[key // slots],
        formula=ours(r"\sum_{k \in s} y_{jk}(t) \le \chi_{js}"),
    )
    model.add("7a:cloud", x <= in_cloud[grid.cloud_job], formula=ours(r"x_j(t) \le \chi_{jc}"))
    busy = y.sum_by(grid.cell_window, windows) + x.sum_by(grid.cloud_window, windows)
    model.add(
        "2c",
        busy + (fast[window_job] - pending) * chunks[window_job] <= 0,
        formula=ours(r"\sum_k y_{jk}(t) \le D_j (h_j(t) - \zeta_j)"),
    )
    add_capacity(model, "2d", grid)
    follows = np.flatnonzero(window_job[1:] == window_job[:-1])
    model.add(
        "7d", pending[follows] >= pending[follows + 1], formula=ours(r"h_j(t) \ge h_j(t + 1)")
    )
    _add_storage(model, shelves, whole=whole)
    return model


@dataclass(frozen=True, eq=False)
class Shelves:
    """Pairs of a job and an edge server that may store its chunks."""

    grid: Grid
    """Without hubs; its instance has chunk times in whole slots."""
    job: Integers
    server: Integers
    of_cell: Integers
    """Pair of each edge cell of the grid."""

    def units(self, runs: Floats, end: int) -> Integers:
        """Units of work per edge cell in runs (job, chunk, worker, start, end) before a slot."""
        grid, classes = self.grid, self.grid.instance.worker_classes
        cells = np.stack([grid.cell_job, grid.cell_class, grid.cell_slot])
        job, worker = runs[:, 0].astype(np.int64), runs[:, 2].astype(np.int64)
        run, slot = ranges(whole_slots(runs[:, 3]), np.minimum(whole_slots(runs[:, 4]), end))
        done = np.stack([job[run], classes.of_worker[worker[run]], slot])
        _, key = np.unique(np.concatenate([cells, done], axis=1), axis=1, return_inverse=True)
        key = key.reshape(-1)
        count = np.bincount(key[grid.cells :], minlength=grid.cells)
        return np.asarray(count[key[: grid.cells]])


def shelves_of(instance: Instance) -> Shelves:
    grid = build_grid(instance.rounded(), hub=False)
    servers = max(instance.edge_servers, 1)
    server = instance.worker_classes.server[grid.cell_class]
    of_cell, pairs = compress(grid.cell_job * servers + server)
    return Shelves(grid, pairs // servers, pairs % servers, of_cell)


def _add_storage(model: Model, shelves: Shelves, *, whole: bool) -> None:
    """(7b), (7c): what is stored fits, in every slot from release until the job completes."""
    grid, instance = shelves.grid, shelves.grid.instance
    pending, stored = model["pending"], model["stored"]
    storage = instance.storage
    size = storage.size[shelves.job]
    # a row with continuous columns is kept to a millionth, one of integers exactly
    large = max(storage.size.max(), storage.capacity.max(initial=0)) > LARGE
    limited = np.flatnonzero(storage.limited[shelves.server] & (size > 0))
    since = np.floor(instance.release_time).astype(np.int64)
    pair, slot = ranges(since[shelves.job[limited]], grid.end_slot[shelves.job[limited]])
    pair = limited[pair]
    job = shelves.job[pair]
    amount = model.integer if whole or large else model.continuous
    held = amount(
        "held", len(pair), upper=instance.num_chunks[job].astype(float), formula="x_{js}(t)"
    )
    early = slot < grid.first_slot[job]  # the job is released within this slot
    model.add("7c:on arrival", held[early] >= stored[pair[early]])
    job_open, window = job[~early], grid.window(job[~early], slot[~early])
    chunks = instance.num_chunks[job_open]
    model.add(
        "7c",
        held[~early] >= stored[pair[~early]] + (pending[window] - 1) * chunks,
        formula=ours(r"x_{js}(t) \ge \chi_{js} - D_j (1 - h_j(t))"),
    )
    slots = int(grid.end_slot.max()) + 1
    row, key = compress(shelves.server[pair] * slots + slot)
    formula = ours(r"\sum_j u_j x_{js}(t) \le U_s")
    add_storage(model, held, instance, job, row, key // slots, formula)


def decode_problem_7_compact(
    instance: Instance, solution: Solution, *, whole: bool = False
) -> Schedule:
    """The schedule a solution of ``problem_7_compact`` stands for, every run with its chunk.

    Units of work are whole: a maximum flow within the completion times and stored chunks the
    solver chose. Dealt out in order of time, those of one server give each chunk its share.
    """
    return completed(shelves_of(instance), solution, np.zeros((0, 5)), 0)


def completed(shelves: Shelves, solution: Solution, past: Floats, slot: int) -> Schedule:
    """The schedule a solution stands for whose work at the edge before a slot is given.

    Args:
        shelves: of the instance.
        solution: of ``problem_7_compact`` with that work as it is.
        past: rows (job, chunk, worker, start, end) of that work, dealt out as here.
        slot: first slot that is free to decide on.
    """
    grid = shelves.grid
    window_job, jobs = grid.windows[0], grid.instance.jobs
    pending = whole_units(solution["pending"], "pending").astype(bool)
    stored = whole_units(solution["stored"], "stored")
    fast = np.zeros(jobs, dtype=bool)
    may, last = last_windows(grid)
    fast[may] = pending[last]
    due = grid.first_slot + np.bincount(window_job, weights=pending, minlength=jobs)
    done = np.bincount(
        shelves.of_cell, weights=shelves.units(past, slot), minlength=len(stored)
    ).astype(np.int64)
    cell, _ = ranges(
        np.zeros(grid.cells), _edge_flow(shelves, stored, due.astype(np.int64), done, slot)
    )
    dealt, in_cloud = _dealt(shelves, stored, cell, done), _cloud_chunks(shelves, stored, fast)
    return named_schedule(grid.instance, np.concatenate([past, dealt, in_cloud]), fast)


def _edge_flow(
    shelves: Shelves, stored: Integers, due: Integers, done: Integers, slot: int
) -> Integers:
    """Whole units per edge cell from a slot on that train the stored chunks before given times.

    Args:
        shelves: of the instance.
        stored: chunks of each pair of a job and a server.
        due: time of each job.
        done: units of each pair that were trained before.
        slot: first slot that is free to decide on.

    Raises:
        ModelError: no flow does all the work; a point of the model would be one.
    """
    from ortools.graph.python import max_flow

    grid = shelves.grid
    slots = int(grid.end_slot.max()) + 1
    row, key = compress(shelves.of_cell * slots + grid.cell_slot)
    place, capacity = grid.class_slots
    pairs, crossings = len(stored), len(key)
    crossing = pairs + np.arange(crossings)
    pool = pairs + crossings + np.arange(len(capacity))
    source, sink = pairs + crossings + len(capacity), pairs + crossings + len(capacity) + 1
    owner = key // slots
    open_ = (key % slots < due[shelves.job[owner]]) & (key % slots >= slot)
    work = stored * grid.instance.chunk_time_slow[shelves.job].astype(np.int64) - done
    parts = [
        (crossing[row], pool[place], grid.cell_limit.astype(np.int64)),
        (np.full(pairs, source), np.arange(pairs), work),
        (owner, crossing, np.where(open_, stored[owner], 0)),
        (pool, np.full(len(capacity), sink), capacity.astype(np.int64)),
    ]
    flow = max_flow.SimpleMaxFlow()
    arcs = flow.add_arcs_with_capacity(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    if not work.any():
        return np.zeros(grid.cells, dtype=np.int64)
    status = flow.solve(source, sink)
    if status != flow.OPTIMAL or flow.optimal_flow() != work.sum():
        raise ModelError("these completion times leave no room for all work")
    return np.asarray(flow.flows(arcs), dtype=np.int64)[: grid.cells]


def _dealt(shelves: Shelves, stored: Integers, cell: Integers, done: Integers) -> Floats:
    """Rows (job, chunk, worker, start, end) of units at the edge, cell by cell.

    Of the units of one job on one server, in order of time, chunk i of the n stored there takes
    every n-th, those done before counted: a slot has at most n of them, so no chunk takes two at
    once.
    """
    grid, instance = shelves.grid, shelves.grid.instance
    pair, slot = shelves.of_cell[cell], grid.cell_slot[cell]
    order = np.lexsort((slot, pair))
    cell, pair, slot = cell[order], pair[order], slot[order]
    before = np.cumsum(stored) - stored
    first_of_job = np.searchsorted(shelves.job, np.arange(instance.jobs))
    offset = before - np.append(before, 0)[first_of_job][shelves.job]
    first_chunk = np.cumsum(instance.num_chunks) - instance.num_chunks
    job = shelves.job[pair]
    chunk = first_chunk[job] + offset[pair] + (rank_within(pair) + done[pair]) % stored[pair]
    klass = grid.cell_class[cell]
    members = np.argsort(instance.worker_classes.of_worker, kind="stable")
    size = instance.worker_classes.size
    slots = int(grid.end_slot.max()) + 1
    worker = members[(np.cumsum(size) - size)[klass] + rank_within(klass * slots + slot)]
    return chunk_runs(instance, job, chunk, worker, slot)


def _cloud_chunks(shelves: Shelves, stored: Integers, fast: Booleans) -> Floats:
    """Rows (job, chunk, worker, start, end) of the chunks of other jobs in the slow cloud."""
    instance = shelves.grid.instance
    at_edge = np.bincount(shelves.job, weights=stored, minlength=instance.jobs).astype(np.int64)
    job, chunk = ranges(np.where(fast, instance.num_chunks, at_edge), instance.num_chunks)
    start = whole_slots(instance.release_time[job] + instance.upload_delay_cloud[job])
    end = start + instance.chunk_time_slow[job]
    return np.column_stack([job, chunk, np.full(len(job), CLOUD), start, end]).astype(float)


def encode_problem_7_compact(instance: Instance, schedule: Schedule) -> dict[str, Floats]:
    """Completion times and places of a schedule that names chunks, as a start.

    A job that completes no sooner than it would whole in the cloud goes there: its window ends
    then, and it is in nobody's way.
    """
    shelves = shelves_of(instance)
    grid = shelves.grid
    job, slot = grid.windows
    completion = completion_times(instance, schedule)
    late = (completion > grid.fast_end - ROUNDING) & (grid.fast_end <= grid.end_slot)
    due = whole_slots(np.minimum(completion, grid.end_slot))
    edge = schedule.run_worker != CLOUD
    server = instance.worker_server[schedule.run_worker[edge]]
    chunk = np.unique(np.stack([schedule.run_job[edge], server, schedule.run_chunk[edge]]), axis=1)
    counts = np.zeros((instance.jobs, max(instance.edge_servers, 1)))
    np.add.at(counts, (chunk[0], chunk[1]), 1.0)
    counts[late] = 0.0
    return {
        "pending": (slot < due[job]).astype(float),
        "stored": counts[shelves.job, shelves.server],
    }


_NO_SERVERS = "Left out: the cloud's parameter servers serve from release on, enough for all jobs."
_OF_2 = {
    "2a": "`y` has no entry for a worker that may not train the job.",
    "2b": "`4a`, and `place` for a job with zeta_j = 1: every chunk is trained.",
    "2c": "`4e`: each of the D_j chunks has at most one worker at a time.",
    "2d": "4b",
    "2e": _NO_SERVERS, "2f": _NO_SERVERS,
    "2g": "`fast`, zeta_j: a job that is whole in the cloud never gains by the slow speed.",
    "2h": "`place`: a job with zeta_j = 1 stores no chunk on a server.",
    "2i": "`y` has no slot before r_j + Delta_js.",
    "2j": "2j", "2k": "y, fast",
}  # fmt: skip

FORMULATIONS = (
    Formulation(
        "problem_7_compact", problem_7_compact, "problem (7)",
        "total completion time; stored chunks counted, monotone completion binaries: the model "
        "for scale",
        decode_problem_7_compact, encode_problem_7_compact,
    ),
    Formulation(
        "problem_7", problem_7, "problem (7)",
        "total completion time; every chunk, worker and slot named, storage held by job or chunk",
        decode_problem_7, solver="cpsat", equations={"7": OBJECTIVE, **_OF_2, **STORED},
    ),
)  # fmt: skip
