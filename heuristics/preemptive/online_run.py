"""What an online algorithm leaves behind: its schedule and the prices it dispatched at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.preemptive.instance import CLOUD, Floats, Integers, Job
from formulations.preemptive.schedule import Schedule
from heuristics.preemptive.dispatch import Dispatch
from heuristics.preemptive.engine.queues import Table
from heuristics.preemptive.engine.workers import Runs, grown
from heuristics.preemptive.parameter_servers import assign, running_intervals
from heuristics.preemptive.rules import Rules
from optsched.errors import InputError


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineRun(Schedule):
    """The schedule of an online run, chunk by chunk, with its dual variables.

    Chunks are numbered 0..D_j - 1 in order of dispatch; arrays over chunks are in order of
    (job, chunk).
    """

    release_time: Floats
    """r_j, shape (jobs,), slots."""
    num_chunks: Integers
    """D_j, shape (jobs,)."""
    alpha: Floats
    """alpha_jd: weighted price at dispatch, shape (chunks,), slots."""
    dispatch: Integers
    """Edge worker of each chunk, or ``CLOUD``; shape (chunks,)."""
    completion: Floats
    """c_jd, shape (chunks,), slots."""
    preemptions: int
    """How often a started, unfinished chunk stopped because another started."""

    @cached_property
    def chunk_job(self) -> Integers:
        """Job of each chunk, shape (chunks,)."""
        return np.repeat(np.arange(len(self.num_chunks)), self.num_chunks)

    @cached_property
    def job_completion(self) -> Floats:
        """c_j = max_d c_jd, shape (jobs,), slots."""
        first = np.cumsum(self.num_chunks) - self.num_chunks
        return np.maximum.reduceat(self.completion, first)

    @property
    def total_jct(self) -> float:
        """Total job completion time, sum of c_j - r_j (slots)."""
        return float(np.sum(self.job_completion - self.release_time))

    @property
    def chunk_flow(self) -> Floats:
        """w_j (c_jd - r_j), shape (chunks,), slots; their sum is F in Lemma 4."""
        j = self.chunk_job
        return (self.completion - self.release_time[j]) / self.num_chunks[j]

    def beta(self, worker: int, times: ArrayLike) -> Floats:
        """beta_w(t): weight of the chunks dispatched to an edge worker and unfinished at t.

        A chunk counts for r_j <= t < c_jd, its final completion time. (A chunk in the cloud has
        its own worker.)

        Args:
            worker: the edge worker.
            times: any shape, slots.

        Raises:
            InputError: ``worker`` is not an edge worker.
        """
        if worker < 0:
            raise InputError.of("worker", worker, "an edge worker")
        here = np.flatnonzero(self.dispatch == worker)
        job = self.chunk_job[here]
        t = np.asarray(times, dtype=float)[..., np.newaxis]
        present = (self.release_time[job] <= t) & (t < self.completion[here])
        return np.asarray(present @ (1.0 / self.num_chunks[job]), dtype=np.float64)


JOB = np.dtype(
    [
        ("id", "i8"),
        ("release_time", "f8"),
        ("num_chunks", "i8"),
        ("slow_time", "f8"),  # p^0_j, p^1_j, Delta_jc
        ("fast_time", "f8"),
        ("cloud_delay", "f8"),
        ("together", "?"),
    ]
)
CHUNK = np.dtype([("alpha", "f8"), ("worker", "i4")])


class Decisions:
    """The decision for each job that arrived, beside the fields that its run follows from.

    There are millions of chunks: they are rows of one table, in order of dispatch.
    """

    def __init__(self) -> None:
        self._jobs = np.empty(0, dtype=JOB)
        self._chunks = np.empty(0, dtype=CHUNK)
        self._size = 0
        self._end = 0
        self._parameter_servers: list[Integers] = []

    @property
    def now(self) -> float:
        """Release time of the last job, slots; 0 before the first."""
        return float(self._jobs["release_time"][self._size - 1]) if self._size else 0.0

    def add(self, job: Job, dispatch: Dispatch) -> None:
        """Note the decision for the job that arrives."""
        chunks = len(dispatch.worker)
        if len(self._jobs) == self._size:
            self._jobs = grown(self._jobs, self._size + 1, self._size)
        self._jobs[self._size] = (
            job.id,
            job.release_time,
            chunks,
            job.chunk_time_slow,
            job.chunk_time_fast,
            job.upload_delay_cloud,
            dispatch.together,
        )
        self._size += 1
        if len(self._chunks) < self._end + chunks:
            self._chunks = grown(self._chunks, self._end + chunks, self._end)
        rows = self._chunks[self._end : self._end + chunks]
        rows["alpha"] = dispatch.level / chunks
        rows["worker"] = dispatch.worker
        self._end += chunks
        self._parameter_servers.append(job.eligible_parameter_servers)

    def decided(self) -> Decided:
        """All decisions, in order of index.

        Raises:
            InputError: the jobs are not numbered 0, 1, ... in some order.
        """
        jobs, chunks = self._jobs[: self._size], self._chunks[: self._end]
        order = np.argsort(jobs["id"])
        if not self._size or not np.array_equal(jobs["id"][order], np.arange(self._size)):
            allowed = "jobs numbered 0, 1, ..., each handed over once"
            raise InputError.of("id", np.sort(jobs["id"]).tolist(), allowed)
        if not np.array_equal(order, np.arange(self._size)):
            chunks = chunks[np.argsort(np.repeat(jobs["id"], jobs["num_chunks"]), kind="stable")]
        return Decided(
            jobs[order],
            [self._parameter_servers[i] for i in order.tolist()],
            chunks["worker"].copy(),
            chunks["alpha"].copy(),
        )


@dataclass(frozen=True)
class Decided:
    """All decisions, in order of index."""

    jobs: Table
    """``JOB``."""
    parameter_servers: list[Integers]
    """At the edge, with o_jp = 1, for each job."""
    worker: NDArray[np.int32]
    """Of each chunk, by (job, chunk)."""
    alpha: Floats
    """Price of each chunk, slots."""


def assemble(
    decided: Decided,
    edge: Runs,
    *,
    rules: Rules,
    parameter_servers: int,
    rng: np.random.Generator,
) -> OnlineRun:
    """Join what was decided for each job with what the edge workers did.

    Args:
        decided: for every job.
        edge: the runs of the edge workers.
        rules: the variant.
        parameter_servers: number at the edge.
        rng: drawn from where parameter servers are drawn only.
    """
    release, num_chunks = decided.jobs["release_time"].copy(), decided.jobs["num_chunks"].copy()
    together = decided.jobs["together"].copy()
    first = np.cumsum(num_chunks) - num_chunks
    begin = release + decided.jobs["cloud_delay"]
    duration = np.where(together, decided.jobs["fast_time"], decided.jobs["slow_time"])
    until = begin + duration / rules.speed
    preemptions = int(np.sum(~edge.finished))
    cloud = np.flatnonzero(decided.worker == CLOUD)
    cloud_job = np.repeat(np.arange(len(num_chunks)), num_chunks)[cloud]
    columns = [
        _joined(edge.job, cloud_job),
        _joined(edge.chunk, cloud - first[cloud_job]),
        _joined(edge.worker, np.full(len(cloud), CLOUD)),
        np.concatenate([edge.start, begin[cloud_job]]),
        np.concatenate([edge.end, until[cloud_job]]),
    ]
    del edge  # the tables of the workers, if nobody else holds them
    run_job, run_chunk, run_worker, run_start, run_end = _in_order(columns)
    completion = np.empty(len(decided.alpha))
    completion[first[run_job] + run_chunk] = run_end  # the last of a chunk stays
    services = assign(
        running_intervals(run_job, run_start, run_end),
        together=together,
        eligible=decided.parameter_servers,
        parameter_servers=parameter_servers,
        policy=rules.ps_policy,
        rng=rng,
        printed=rules.printed,
    )
    return OnlineRun(
        run_job,
        run_chunk,
        run_worker,
        run_start,
        run_end,
        services.job,
        services.parameter_server,
        services.start,
        services.end,
        together,
        rules.speed,
        release_time=release,
        num_chunks=num_chunks,
        alpha=decided.alpha,
        dispatch=decided.worker.astype(np.int64),
        completion=completion,
        preemptions=preemptions,
    )


def _joined(edge: NDArray[Any], cloud: Integers) -> NDArray[np.int32]:
    """Indices of runs, half as long as in a schedule until they are in order."""
    return np.concatenate([edge, cloud], dtype=np.int32, casting="same_kind")


def _in_order(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Columns of runs by (start, job, chunk), one after the other; the list is emptied."""
    job, chunk, _, start, _ = columns
    order = np.lexsort((chunk, job, start))
    del job, chunk, start
    ordered = []
    while columns:
        column = columns.pop(0)[order]
        ordered.append(column.astype(np.int64) if column.dtype.kind == "i" else column)
    return ordered
