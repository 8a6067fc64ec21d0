"""What (7) and (8) share: every chunk, worker and slot named, each chunk stored on one server.

Both are the problem they extend, (2) and (4), with x_jds(t): chunk d of job j takes u_j GB on
server s. As printed, (7a), (7c) and (7d) hold for all servers at once and would put every chunk
on every server; what is meant is one server per chunk, named here by ``place``. Parameter
servers are left out: those of the cloud serve from release on and take no storage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.preemptive.check_storage import StorageRelease, refuse_unknown_release
from formulations.preemptive.instance import (
    CLOUD,
    Booleans,
    Floats,
    Instance,
    Integers,
    whole_slots,
)
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.decode import cloud_services, merged
from optsched.instances.arrays import compress, ranges
from optsched.model import Model, Variable
from optsched.model.latex import ours

STORED = {"7a": "7a", "7b": "7b", "7c": "7c", "7d": "7d", "7e": "x"}
"""Where (7a) to (7e) are in these models."""


@dataclass(frozen=True, eq=False)
class ChunkCells:
    """Index sets of one instance; arrays are aligned with their name's first word."""

    instance: Instance
    """Chunk times in whole slots."""
    end: Integers
    """Slot before which every job is done in some optimal solution, shape (jobs,)."""
    fast_end: Floats
    """Completion of each job run whole in the cloud; infinite where it may not be, or too late."""
    chunk_job: Integers
    """Job of each chunk, shape (chunks,)."""
    cell_chunk: Integers
    cell_worker: Integers
    """Edge worker, or ``CLOUD``: a chunk in the cloud has its own worker there."""
    cell_slot: Integers
    place_chunk: Integers
    place_server: Integers
    """Where a chunk may be stored: edge servers with an eligible worker, and the cloud."""

    @property
    def first(self) -> Integers:
        """First slot at or after release, shape (jobs,)."""
        return whole_slots(self.instance.release_time)


def chunk_cells(instance: Instance, end: Integers, fast_end: Floats) -> ChunkCells:
    """Index sets of an instance with chunk times in whole slots.

    Args:
        instance: release times and delays are taken up to whole slots.
        end: slot before which every job is to be done, shape (jobs,).
        fast_end: completion of each job run whole in the cloud, shape (jobs,).
    """
    chunk_job = np.repeat(np.arange(instance.jobs), instance.num_chunks)
    job, worker = np.nonzero(instance.worker_eligible)
    open_ = np.flatnonzero(np.isfinite(instance.upload_delay_cloud))
    job = np.concatenate([job, open_])
    worker = np.concatenate([worker, np.full(len(open_), CLOUD)])
    server = np.append(instance.worker_server, CLOUD)[worker]
    delay = np.where(
        server == CLOUD,
        instance.upload_delay_cloud[job],
        np.column_stack([instance.upload_delay_edge, np.zeros(instance.jobs)])[job, server],
    )
    start = whole_slots(instance.release_time[job] + delay)
    pair, slot = ranges(start, end[job])
    first_chunk = np.cumsum(instance.num_chunks) - instance.num_chunks
    owner, chunk = ranges(first_chunk[job[pair]], (first_chunk + instance.num_chunks)[job[pair]])
    used = np.unique(np.stack([job, server]), axis=1)
    where, stored = ranges(first_chunk[used[0]], (first_chunk + instance.num_chunks)[used[0]])
    fast_end = np.where(fast_end <= end, fast_end, np.inf)
    return ChunkCells(
        instance, end, fast_end, chunk_job,
        chunk, worker[pair][owner], slot[owner], stored, used[1][where],
    )  # fmt: skip


def stored_chunks(cells: ChunkCells, name: str, release: StorageRelease) -> tuple[Model, Variable]:
    """All rows but the objective's, and "not yet complete" by job and slot from release on.

    Raises:
        InputError: ``release`` is unknown.
    """
    refuse_unknown_release(release)
    instance = cells.instance
    chunks = len(cells.chunk_job)
    job = cells.chunk_job[cells.cell_chunk]
    need = instance.chunk_time_slow[cells.chunk_job]
    slots = int(cells.end.max()) + 1
    model = Model(name)
    y = model.binary("y", len(job), formula="y_{jdw}(t)")
    place = model.binary("place", len(cells.place_chunk), formula="X_{jds}")
    fast = model.integer(
        "fast", instance.jobs, upper=np.isfinite(cells.fast_end).astype(float), formula=r"\zeta_j"
    )
    here = fast[cells.chunk_job]
    model.add(
        "4a",
        y.sum_by(cells.cell_chunk, chunks) + here * need >= need,
        formula=ours(r"\sum_{w,t} y_{jdw}(t) \ge p^0_j (1 - \zeta_j)"),
    )
    row, key = compress(cells.cell_chunk * slots + cells.cell_slot)
    model.add("4e", y.sum_by(row, len(key)) <= 1, formula=r"\sum_w y_{jdw}(t) \le 1")
    edge = np.flatnonzero(cells.cell_worker != CLOUD)
    row, key = compress(cells.cell_worker[edge] * slots + cells.cell_slot[edge])
    model.add("4b", y[edge].sum_by(row, len(key)) <= 1, formula=r"\sum_{j,d} y_{jdw}(t) \le 1")
    model.add(
        "place",
        place.sum_by(cells.place_chunk, chunks) + here == 1,
        formula=r"\sum_s X_{jds} = 1 - \zeta_j",
    )
    rank = (place * (cells.place_server + 1)).sum_by(cells.place_chunk, chunks)
    alike = np.flatnonzero(cells.chunk_job[1:] == cells.chunk_job[:-1])
    model.add("order of equal chunks", rank[alike] <= rank[alike + 1])
    server = np.append(instance.worker_server, CLOUD)[cells.cell_worker]
    width = instance.edge_servers + 1
    known = cells.place_chunk * width + cells.place_server + 1
    order = np.argsort(known)
    stored = order[np.searchsorted(known[order], cells.cell_chunk * width + server + 1)]
    model.add("7a", y <= place[stored], formula=ours(r"y_{jdw}(t) \le X_{jd s(w)}"))
    pending = _add_pending(model, cells, release)
    _add_capacity(model, cells, release)
    return model, pending


def _add_pending(model: Model, cells: ChunkCells, release: StorageRelease) -> Variable:
    """What is not yet complete: by job and slot, and by chunk where its storage depends on it."""
    y, job = model["y"], cells.chunk_job[cells.cell_chunk]
    length = cells.end - cells.first
    start = np.cumsum(length) - length
    pending = model.binary("pending", int(length.sum()), formula="h_j(t)")
    row, _ = ranges(cells.first, cells.end)
    model.add("2j", pending[start[job] + cells.cell_slot - cells.first[job]] >= y)
    follows = np.flatnonzero(row[1:] == row[:-1])
    model.add("7d", pending[follows] >= pending[follows + 1], formula=ours(r"h_j(t) \ge h_j(t+1)"))
    if release == "chunk":
        each = length[cells.chunk_job]
        start = np.cumsum(each) - each
        training = model.binary("training", int(each.sum()), formula="h_{jd}(t)")
        at = start[cells.cell_chunk] + cells.cell_slot - cells.first[job]
        model.add("chunk:until done", training[at] >= y)
        row, _ = ranges(np.zeros(len(each)), each)
        follows = np.flatnonzero(row[1:] == row[:-1])
        model.add("chunk:7d", training[follows] >= training[follows + 1])
    return pending


def _add_capacity(model: Model, cells: ChunkCells, release: StorageRelease) -> None:
    """(7b): what is stored and not yet released fits, in every slot from release on."""
    instance = cells.instance
    job = cells.chunk_job[cells.place_chunk]
    limited = np.append(instance.storage.limited, False)[cells.place_server]
    entry = np.flatnonzero(limited & (instance.storage.size[job] > 0))
    since = np.floor(instance.release_time).astype(np.int64)
    which, slot = ranges(since[job[entry]], np.maximum(cells.end, since + 1)[job[entry]])
    which = entry[which]
    held = model.binary("x", len(which), formula="x_{jds}(t)")
    owner, length = job[which], cells.end - cells.first
    open_ = _open(cells, owner, slot)
    formula = ours(r"x_{jds}(t) \ge X_{jds}")
    model.add("7c:on arrival", held[~open_] >= model["place"][which[~open_]], formula=formula)
    if release == "job":
        state, at = model["pending"], (np.cumsum(length) - length)[owner]
    else:
        each = length[cells.chunk_job]
        state, at = model["training"], (np.cumsum(each) - each)[cells.place_chunk[which]]
    at = (at + slot - cells.first[owner])[open_]
    model.add(
        "7c",
        held[open_] >= model["place"][which[open_]] + state[at] - 1,
        formula=ours(r"x_{jds}(t) \ge X_{jds} + h_j(t) - 1"),
    )
    slots = int(cells.end.max()) + 1
    row, key = compress(cells.place_server[which] * slots + slot)
    formula = r"\sum_j \sum_d x_{jds}(t) u_j \le U_s"
    add_storage(model, held, instance, owner, row, key // slots, formula)


def add_storage(
    model: Model,
    held: Variable,
    instance: Instance,
    job: Integers,
    row: Integers,
    server: Integers,
    formula: str,
) -> None:
    """(7b): the chunks held at once fit.

    Args:
        model: to which the rows are added.
        held: chunks of one job that one row counts.
        instance: sizes and capacities.
        job: of each entry of ``held``.
        row: of each entry of ``held``.
        server: of each row.
        formula: LaTeX of the rows.
    """
    size, capacity = instance.storage.size, instance.storage.capacity
    load = (held * size[job]).sum_by(row, len(server))
    model.add("7b", load <= capacity[server], formula=formula)


def _open(cells: ChunkCells, job: Integers, slot: Integers) -> Booleans:
    """Whether a slot lies within the job's window; before it, release falls within the slot."""
    return (slot >= cells.first[job]) & (slot < cells.end[job])


def chunk_runs(
    instance: Instance, job: Integers, chunk: Integers, worker: Integers, slot: Integers
) -> Floats:
    """Unit slots of chunks, numbered over all jobs, as rows (job, chunk, worker, start, end)."""
    width = instance.workers + 1
    rows = merged(job, chunk * width + worker + 1, slot)
    chunk, worker = np.divmod(rows[:, 2].astype(np.int64), width)
    first = np.cumsum(instance.num_chunks) - instance.num_chunks
    rows[:, 1] = chunk - first[rows[:, 0].astype(np.int64)]
    rows[:, 2] = worker - 1
    return rows


def named_schedule(instance: Instance, runs: Floats, fast: Booleans) -> Schedule:
    """A schedule that names chunks, with the jobs run whole in the cloud added to its runs.

    Args:
        instance: chunk times in whole slots.
        runs: rows (job, chunk, worker, start, end) of the other jobs.
        fast: which jobs run whole in the cloud, shape (jobs,).
    """
    jobs = np.flatnonzero(fast)
    owner, chunk = ranges(np.zeros(len(jobs)), instance.num_chunks[jobs])
    job = jobs[owner]
    start = whole_slots(instance.release_time[job] + instance.upload_delay_cloud[job])
    end = start + instance.chunk_time_fast[job]
    rows = np.concatenate(
        [runs, np.column_stack([job, chunk, np.full(len(job), CLOUD), start, end])]
    )
    together = np.ones(instance.jobs, dtype=bool)
    together[rows[rows[:, 2] != CLOUD, 0].astype(np.int64)] = False
    return Schedule.build(runs=rows, services=cloud_services(rows), together=together)
