"""What an online algorithm leaves behind: its schedule and the prices it dispatched at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from formulations.preemptive.instance import CLOUD, Floats, Integers, Job
from formulations.preemptive.schedule import Schedule
from heuristics.preemptive.dispatch import Dispatch
from heuristics.preemptive.engine.workers import Runs
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


def assemble(
    jobs: Sequence[Job],
    dispatches: Sequence[Dispatch],
    edge: Runs,
    *,
    rules: Rules,
    parameter_servers: int,
    rng: np.random.Generator,
) -> OnlineRun:
    """Join what was decided for each job with what the edge workers did.

    Args:
        jobs: in order of index.
        dispatches: the decision for each.
        edge: the runs of the edge workers.
        rules: the variant.
        parameter_servers: number at the edge.
        rng: drawn from where parameter servers are drawn only.
    """
    num_chunks = np.array([job.num_chunks for job in jobs], dtype=np.int64)
    release = np.array([job.release_time for job in jobs])
    together = np.array([dispatch.together for dispatch in dispatches])
    dispatched = np.concatenate([dispatch.worker for dispatch in dispatches])
    alpha = np.concatenate([dispatch.level / len(dispatch.level) for dispatch in dispatches])
    first = np.cumsum(num_chunks) - num_chunks

    cloud = np.flatnonzero(dispatched == CLOUD)
    cloud_job = np.repeat(np.arange(len(jobs)), num_chunks)[cloud]
    slow = np.array([job.chunk_time_slow for job in jobs])
    fast = np.array([job.chunk_time_fast for job in jobs])
    begin = release + [job.upload_delay_cloud for job in jobs]
    until = begin + np.where(together, fast, slow) / rules.speed
    completion = np.repeat(until, num_chunks)
    completion[(first[edge.job] + edge.chunk)[edge.finished]] = edge.end[edge.finished]

    # one column after the other, as there are millions of runs
    run_job = np.concatenate([edge.job, cloud_job])
    run_chunk = np.concatenate([edge.chunk, cloud - first[cloud_job]])
    run_start = np.concatenate([edge.start, begin[cloud_job]])
    order = np.lexsort((run_chunk, run_job, run_start))
    run_job = run_job[order]
    run_chunk = run_chunk[order]
    run_start = run_start[order]
    run_end = np.concatenate([edge.end, until[cloud_job]])[order]
    run_worker = np.concatenate([edge.worker, np.full(len(cloud), CLOUD)])[order]
    services = assign(
        running_intervals(run_job, run_start, run_end),
        together=together,
        eligible=[job.eligible_parameter_servers for job in jobs],
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
        alpha=alpha,
        dispatch=dispatched,
        completion=completion,
        preemptions=int(np.sum(~edge.finished)),
    )
