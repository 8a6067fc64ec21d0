"""What the evaluation measures of a schedule beside its cost.

All of it is read off the runs, so that any schedule can be measured; loading that leaves no trace
in the runs counts where the schedule says how long it took (:class:`LoadingTimes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from formulations.preemptive.check import completion_times
from formulations.preemptive.instance import CLOUD, ROUNDING, Booleans, Floats, Instance, Integers
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.sweep import Spans, count_open
from optsched.errors import InputError


@runtime_checkable
class LoadingTimes(Protocol):
    """A schedule that says how long its jobs loaded data."""

    @property
    def loading(self) -> Floats:
        """First upload and all later loading of each job, shape (jobs,), slots."""


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A quantity over time, constant between the moments at which it changes."""

    time: Floats
    """Moments, ascending, shape (pieces + 1,), slots."""
    value: Floats
    """On each piece, shape (pieces,)."""

    @property
    def mean(self) -> float:
        """Mean over time; 0 without any."""
        lengths = np.diff(self.time)
        return float(self.value @ lengths / lengths.sum()) if lengths.sum() > 0 else 0.0

    def at(self, times: Floats) -> Floats:
        """Values at moments, from the right; 0 outside."""
        piece = np.searchsorted(self.time, times, side="right") - 1
        outside = np.append(self.value, 0.0)  # at -1 as well, before the first piece
        return np.asarray(outside[np.minimum(piece, len(self.value))])


def _count_over_time(start: Floats, end: Floats) -> StepFunction:
    """How many of the intervals are open, from the first start to the last end."""
    key = np.zeros(len(start), dtype=np.int64)
    steps = count_open(Spans(key, start, end)).merged()
    if not len(steps.pieces.key):
        return StepFunction(np.zeros(1), np.zeros(0))
    time = np.append(steps.pieces.start, steps.pieces.end[-1])
    return StepFunction(time, steps.counts[0].astype(np.float64))


def busy_workers(instance: Instance, schedule: Schedule) -> StepFunction:
    """Edge workers that train; those that only load data do not count."""
    edge = _worth_counting(schedule) & (schedule.run_worker != CLOUD)
    return _count_over_time(schedule.run_start[edge], schedule.run_end[edge])


def utilisation_over_time(instance: Instance, schedule: Schedule) -> StepFunction:
    """Share of the edge workers that train (Fig. 11)."""
    busy = busy_workers(instance, schedule)
    return StepFunction(busy.time, busy.value / max(instance.workers, 1))


def jobs_present(instance: Instance, schedule: Schedule) -> StepFunction:
    """Jobs released and not complete."""
    completion = completion_times(instance, schedule)
    done = np.isfinite(completion)
    return _count_over_time(instance.release_time[done], completion[done])


def queue_length(instance: Instance, schedule: Schedule) -> StepFunction:
    """Jobs released and not complete of which nothing runs: they upload, load or wait."""
    present = jobs_present(instance, schedule)
    steps = count_open(_runs(schedule, schedule.run_job))
    at_work = steps.take(steps.counts[0] > 0).pieces
    running = _count_over_time(at_work.start, at_work.end)
    time = np.unique(np.concatenate([present.time, running.time]))
    return StepFunction(time, np.maximum(present.at(time[:-1]) - running.at(time[:-1]), 0.0))


def submissions(instance: Instance, width: float = 1.0) -> StepFunction:
    """Jobs released per piece of time.

    Args:
        instance: the jobs.
        width: of a piece, slots.
    """
    first = np.floor(instance.release_time.min() / width)
    last = np.floor(instance.release_time.max() / width) + 1
    edges = np.arange(first, last + 1) * width
    count, _ = np.histogram(instance.release_time, edges)
    return StepFunction(edges, count.astype(np.float64))


def makespan(instance: Instance, schedule: Schedule) -> float:
    """max_j c_j, slots; infinite if a job never runs."""
    return float(completion_times(instance, schedule).max())


def utilisation(instance: Instance, schedule: Schedule) -> float:
    """Mean share of the edge workers that train, from the first release to the makespan."""
    span = makespan(instance, schedule) - float(instance.release_time.min())
    edge = _worth_counting(schedule) & (schedule.run_worker != CLOUD)
    work = float(np.sum((schedule.run_end - schedule.run_start)[edge]))
    available = span * instance.workers
    return work / available if available > 0 else 0.0


def preemptions(instance: Instance, schedule: Schedule) -> float:
    """How often a worker left a chunk it had started and not finished.

    Where runs do not name their chunks, a job that stops altogether counts once for each worker
    it ran on at that moment. A job suspended before it had loaded its data leaves no run, and so
    does not count here.
    """
    named = schedule.run_chunk >= 0
    width = int(schedule.run_chunk.max(initial=0)) + 2
    what = schedule.run_job * width + np.where(named, schedule.run_chunk, width - 1)
    workers = count_open(_runs(schedule, what)).counts[0]
    pauses = np.flatnonzero(workers == 0)  # each lies between two spells of the same thing
    return float(workers[pauses - 1].sum())


def communication_wall_clock(instance: Instance, schedule: Schedule) -> float:
    """Wall-clock time that jobs upload, move data and exchange gradients, summed; slots.

    Chunks that upload or exchange at the same time count once: a job uploads for the longest
    delay of a place it runs in, or loads for as long as the schedule says, and of the time in
    which any of it runs, the share (p^0_j - p^1_j) / p^0_j is exchange unless it is whole in the
    cloud.
    """
    steps = count_open(_runs(schedule, schedule.run_job))
    open_ = steps.take(steps.counts[0] > 0).pieces
    running = np.bincount(open_.key, open_.end - open_.start, instance.jobs)
    share = (1 - instance.chunk_time_fast / instance.chunk_time_slow) * ~schedule.together
    if isinstance(schedule, LoadingTimes):
        loading = schedule.loading
    else:
        loading = np.zeros(instance.jobs)
        np.maximum.at(loading, schedule.run_job, _run_delay(instance, schedule))
    return float(running @ share + loading.sum())


def _run_delay(instance: Instance, schedule: Schedule) -> Floats:
    """Delta of each run's job and place, slots."""
    job, worker = schedule.run_job, schedule.run_worker
    delay: Floats = instance.upload_delay_cloud[job]
    edge = worker != CLOUD
    delay[edge] = instance.upload_delay_edge[job[edge], instance.worker_server[worker[edge]]]
    return delay


def chunk_flow_time(instance: Instance, schedule: Schedule) -> float:
    """sum_j (1 / D_j) sum_d (c_jd - r_j): what the paper's analysis sets against LB-PAPER (slots).

    Raises:
        InputError: the schedule does not name its chunks.
    """
    if (schedule.run_chunk < 0).any():
        raise InputError.of("run_chunk", NO_CHUNK, "a schedule that names the chunk of every run")
    first_chunk = np.cumsum(instance.num_chunks) - instance.num_chunks
    chunk = first_chunk[schedule.run_job] + schedule.run_chunk
    completion = np.full(int(instance.num_chunks.sum()), -np.inf)
    np.maximum.at(completion, chunk, schedule.run_end)
    job = np.repeat(np.arange(instance.jobs), instance.num_chunks)
    return float(((completion - instance.release_time[job]) * instance.weight[job]).sum())


def load(instance: Instance) -> float:
    """rho: work of all jobs at the slow speed over what edge workers can do while jobs arrive."""
    span = float(np.ptp(instance.release_time)) + 1
    available = instance.workers * span
    work = float(instance.num_chunks @ instance.chunk_time_slow)
    return work / available if available else np.inf


def _worth_counting(schedule: Schedule) -> Booleans:
    return np.asarray(schedule.run_end - schedule.run_start > ROUNDING)


def _runs(schedule: Schedule, key: Integers) -> Spans:
    kept = _worth_counting(schedule)
    return Spans(key, schedule.run_start, schedule.run_end).take(kept)


MEASURES = {
    "preemptions": preemptions,
    "communication": communication_wall_clock,
    "utilisation": utilisation,
    "makespan": makespan,
}
"""What a table of ratios shows beside the cost."""
