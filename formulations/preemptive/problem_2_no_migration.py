"""(2) with chunks that stay where they are: the model the paper narrates and its algorithm obeys.

Two models with one optimum:

* ``problem_2_no_migration`` is time-indexed: chunks counted per worker, worker-slots per job;
* ``problem_2_no_migration_time_free`` knows no slots: which worker trains how many chunks, and
  when jobs complete, subject to the demand-bound condition under which preemptive
  earliest-deadline-first meets all completion times on one worker. All integer, with indicator
  blocks: the model for CP-SAT.

Parameter servers are left out: the cloud's serve from release on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from formulations.preemptive.check import completion_times
from formulations.preemptive.instance import CLOUD, Floats, Instance, Integers, whole_slots
from formulations.preemptive.problem_4 import worker_cells
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.time_indexed.decode import cloud_services, whole_units
from formulations.preemptive.time_indexed.grid import Grid, arrivals, build_grid
from optsched.instances.arrays import compress, ranges
from optsched.model import Model, Variable
from optsched.model.latex import ours
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


def problem_2_no_migration(instance: Instance) -> Model:
    """Time-indexed: ``run[j, w, t]`` says that worker w trains a chunk of job j in slot t.

    Args:
        instance: times are taken up to whole slots.
    """
    grid = build_grid(instance, hub=False)
    model = Model("problem (2), no migration")
    pair_job, pair_worker = _pairs(grid)
    assigned, completion = _add_assignment(model, grid, pair_job)
    job, worker, slot = worker_cells(grid)
    edge = np.flatnonzero(worker != CLOUD)
    job, worker, slot = job[edge], worker[edge], slot[edge]
    run = model.binary("run", len(job), formula="y_{jw}(t)")
    horizon = int(grid.end_slot.max()) + 1
    pair_of = np.full((instance.jobs, instance.workers), -1)
    pair_of[pair_job, pair_worker] = np.arange(len(pair_job))
    duration = whole_slots(instance.chunk_time_slow)
    done = run.sum_by(pair_of[job, worker], len(pair_job))
    model.add(
        "2b",
        done >= assigned * duration[pair_job],
        formula=ours(r"\sum_t y_{jw}(t) \ge p^0_j A_{jw}"),
    )
    row, keys = compress(worker * horizon + slot)
    model.add("2d", run.sum_by(row, len(keys)) <= 1, formula=ours(r"\sum_j y_{jw}(t) \le 1"))
    model.add(
        "2j:edge", completion[job] >= run * (slot + 1), formula=ours(r"c_j \ge (t+1) y_{jw}(t)")
    )
    return model


def problem_2_no_migration_time_free(instance: Instance) -> Model:
    """Without slots, by the demand-bound condition of preemptive EDF on every worker.

    For every worker, every arrival ``a`` at it and every job k with a chunk there that completes
    at or after a: the work of jobs that arrive at or after a and complete by c_k fits into
    [a, c_k).

    Args:
        instance: times are taken up to whole slots.
    """
    grid = build_grid(instance, hub=False)
    model = Model("problem (2), no migration, time-free")
    pair_job, pair_worker = _pairs(grid)
    pairs, chunks = len(pair_job), instance.num_chunks
    assigned, completion = _add_assignment(model, grid, pair_job)
    used = model.binary("used", pairs, formula="[A_{jw} > 0]")
    model.add("used", assigned - used * chunks[pair_job] <= 0)
    server = instance.worker_server[pair_worker]
    delay = instance.upload_delay_edge[pair_job, server]
    arrival = whole_slots(instance.release_time[pair_job] + delay)
    duration = whole_slots(instance.chunk_time_slow)

    model.indicator(used, completion[pair_job] >= arrival + duration[pair_job], name="2i")

    # a load is the chunks of one job that count against another on the same worker
    one, other = _same_worker(pair_worker)
    met, meeting = np.unique(pair_job[one] * instance.jobs + pair_job[other], return_inverse=True)
    i, k = np.divmod(met, instance.jobs)
    before = model.integer(
        "before", len(met), lower=(i == k).astype(float), upper=1, formula=r"[c_i \le c_k]"
    )
    model.indicator(before, completion[i] <= completion[k], name="before")
    model.indicator(before, completion[i] >= completion[k] + 1, active=False, name="after")
    load = model.integer("load", len(one), upper=chunks[pair_job[one]], formula="P_{iwk}")
    model.indicator(before[meeting.reshape(-1)], load >= assigned[one], name="load")

    # one row per pair (k, w) and arrival a at w, on where k has chunks at w and c_k >= a
    owner, since = np.unique(np.stack([other, arrival[one]]), axis=1)
    job = pair_job[owner]
    asked, which = np.unique(np.stack([job, since]), axis=1, return_inverse=True)
    late = model.integer("late", asked.shape[1], upper=1, formula=r"[c_k \ge a]")
    model.indicator(late, completion[asked[0]] <= asked[1] - 1, active=False, name="late")
    count = np.bincount(other, minlength=pairs)
    end = np.cumsum(count)
    row, term = ranges((end - count)[owner], end[owner])
    kept = arrival[one[term]] >= since[row]
    row, term = row[kept], term[kept]
    work = (load[term] * duration[pair_job[one[term]]]).sum_by(row, len(owner))
    model.indicator(
        [used[owner], late[which.reshape(-1)]],
        work - completion[job] <= -since,
        formula=r"\sum_i p^0_i P_{iwk} \le c_k - a",
        name="demand",
    )
    return model


def _pairs(grid: Grid) -> tuple[Integers, Integers]:
    """Job and worker of every eligible pair that the job reaches in its window, ordered by job."""
    instance = grid.instance
    reached = arrivals(instance, instance.worker_classes) < grid.end_slot[:, None]
    of_worker = instance.worker_classes.of_worker
    job, worker = np.nonzero(instance.worker_eligible & reached[:, of_worker])
    return job, worker


def _same_worker(pair_worker: Integers) -> tuple[Integers, Integers]:
    """All ordered pairs of (job, worker) pairs on one worker, ordered by the second."""
    order = np.argsort(pair_worker, kind="stable")
    size = np.bincount(pair_worker)
    end = np.cumsum(size)
    start = end - size
    second, place = ranges(start[pair_worker], end[pair_worker])
    return order[place], second


def _add_assignment(model: Model, grid: Grid, pair_job: Integers) -> tuple[Variable, Variable]:
    """Who trains how many chunks, what that means in the cloud, and the objective."""
    instance = grid.instance
    jobs, chunks = instance.jobs, instance.num_chunks
    slow_end = (
        grid.fast_end
        + whole_slots(instance.chunk_time_slow)
        - whole_slots(instance.chunk_time_fast)
    )
    may = (grid.fast_end <= grid.end_slot).astype(float)
    fast_end, slow_end = (np.where(may, end, 0.0) for end in (grid.fast_end, slow_end))
    assigned = model.integer("assigned", len(pair_job), upper=chunks[pair_job], formula="A_{jw}")
    cloud = model.integer("cloud", jobs, upper=chunks * may, formula="A_{jc}")
    somewhere = model.binary("in_cloud", jobs, formula=r"\theta_j")
    together = model.binary("together", jobs, formula=r"\zeta_j")
    completion = model.integer(
        "completion",
        jobs,
        lower=grid.first_slot,
        upper=np.maximum(grid.first_slot, grid.end_slot),
        formula="c_j",
    )
    model.minimize(completion.sum() - float(instance.release_time.sum()))
    model.add(
        "dispatch",
        assigned.sum_by(pair_job, jobs) + cloud == chunks,
        formula=r"\sum_w A_{jw} + A_{jc} = D_j",
    )
    model.add("2h:some", cloud - somewhere * chunks <= 0)
    model.add("2h:all", cloud - together * chunks >= 0)
    model.add("2j:cloud", completion >= (somewhere - together) * slow_end + together * fast_end)
    return assigned, completion


def decode_no_migration(instance: Instance, solution: Solution) -> Schedule:
    """The schedule of either model: preemptive earliest-deadline-first on every worker."""
    pair_job, pair_worker = _pairs(build_grid(instance, hub=False))
    assigned = whole_units(solution["assigned"], "assigned")
    together = whole_units(solution["together"], "together").astype(bool)
    due = whole_units(solution["completion"], "completion")
    used = np.flatnonzero(assigned)
    job, worker, count = pair_job[used], pair_worker[used], assigned[used]
    first = np.cumsum(count) - count
    first -= first[np.searchsorted(job, job)]  # chunks of a job are numbered over its workers
    delay = instance.upload_delay_edge[job, instance.worker_server[worker]]
    arrival = whole_slots(instance.release_time[job] + delay)
    duration = whole_slots(instance.chunk_time_slow)
    runs: list[tuple[int, int, int, int, int]] = []
    for w in np.unique(worker):
        mine = np.flatnonzero(worker == w)
        tasks = [
            Task(
                int(arrival[p]),
                int(due[job[p]]),
                int(duration[job[p]]),
                int(count[p]),
                int(job[p]),
                int(first[p]),
            )
            for p in mine
        ]
        runs += [
            (j, chunk, int(w), start, end)
            for j, chunk, start, end in earliest_deadline_first(tasks)
        ]
    in_cloud = whole_units(solution["cloud"], "cloud")
    placed = np.bincount(job, weights=count, minlength=instance.jobs).astype(np.int64)
    owner, chunk = ranges(placed, placed + in_cloud)
    start = whole_slots(instance.release_time[owner] + instance.upload_delay_cloud[owner])
    length = np.where(together, whole_slots(instance.chunk_time_fast), duration)[owner]
    rows = np.concatenate([
        np.array(runs, dtype=float).reshape(-1, 5),
        np.column_stack([owner, chunk, np.full(len(owner), CLOUD), start, start + length]),
    ])  # fmt: skip
    return Schedule.build(
        runs=rows,
        services=cloud_services(rows),
        together=np.bincount(job, minlength=instance.jobs) == 0,
    )


def encode_no_migration(instance: Instance, schedule: Schedule) -> dict[str, Floats]:
    """Dispatch and completion times of a schedule that names chunks, as a start.

    A job that completes after its window goes whole to the cloud, where the window ends: sooner,
    and in nobody's way.
    """
    grid = build_grid(instance, hub=False)
    pair_job, pair_worker = _pairs(grid)
    completion = completion_times(instance, schedule)
    late = (completion > grid.end_slot) & (grid.fast_end <= grid.end_slot)
    due = whole_slots(np.minimum(completion, grid.end_slot)).astype(float)
    chunk = np.unique(np.stack([schedule.run_job, schedule.run_chunk, schedule.run_worker]), axis=1)
    edge = chunk[:, chunk[2] != CLOUD]
    counts = np.zeros((instance.jobs, instance.workers))
    np.add.at(counts, (edge[0], edge[2]), 1.0)
    cloud = np.bincount(chunk[0, chunk[2] == CLOUD], minlength=instance.jobs)
    counts[late], cloud[late] = 0.0, instance.num_chunks[late]
    return {
        "assigned": counts[pair_job, pair_worker],
        "cloud": cloud.astype(float),
        "in_cloud": (cloud > 0).astype(float),
        "together": (cloud == instance.num_chunks).astype(float),
        "completion": due,
    }


def stays(instance: Instance, schedule: Schedule) -> bool:
    """Whether every chunk is named and stays on one worker, except of jobs whole in the cloud."""
    apart = ~schedule.together[schedule.run_job]
    chunk = schedule.run_chunk[apart]
    runs = np.stack([schedule.run_job[apart], chunk, schedule.run_worker[apart]])
    places = np.unique(runs, axis=1)
    alone = len(np.unique(places[:2], axis=1).T) == len(places.T)
    return bool((chunk != NO_CHUNK).all()) and alone


FORMULATIONS = (
    Formulation(
        "problem_2_no_migration", problem_2_no_migration, "problem (2), Section III-B",
        "total completion time, chunks stay on their worker; time-indexed",
        decode_no_migration, encode_no_migration, admits=stays,
    ),
    Formulation(
        "problem_2_no_migration_time_free", problem_2_no_migration_time_free,
        "problem (2), Section III-B",
        "total completion time, chunks stay on their worker; demand-bound condition, no slots",
        decode_no_migration, encode_no_migration, solver="cpsat",
        admits=stays,
    ),
)  # fmt: skip


class Task(NamedTuple):
    """Equal chunks of one job that wait for one worker."""

    arrival: int
    """Slot from which they may run."""
    deadline: int
    duration: int
    """Slots one chunk takes."""
    chunks: int
    """How many."""
    job: int
    first_chunk: int
    """Number of the first; the others follow."""


def earliest_deadline_first(tasks: Sequence[Task]) -> Iterator[tuple[int, int, int, int]]:
    """Run every task, ties by job.

    Yields:
        (job, chunk, start, end) of every uninterrupted run, in order of time.
    """
    waiting = sorted(tasks)
    ready: list[tuple[int, int, int, Task]] = []  # deadline, job, work left, task
    now, arrived = 0, 0
    while ready or arrived < len(waiting):
        if not ready:
            now = max(now, waiting[arrived].arrival)
        while arrived < len(waiting) and waiting[arrived].arrival <= now:
            task = waiting[arrived]
            heappush(ready, (task.deadline, task.job, task.chunks * task.duration, task))
            arrived += 1
        deadline, job, left, task = heappop(ready)
        done = task.chunks * task.duration - left
        chunk, spent = divmod(done, task.duration)
        end = now + task.duration - spent  # a chunk at a time
        if arrived < len(waiting):
            end = min(end, waiting[arrived].arrival)
        yield job, task.first_chunk + chunk, now, end
        left -= end - now
        now = end
        if left:
            heappush(ready, (deadline, job, left, task))
