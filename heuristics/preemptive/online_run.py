"""What an online algorithm leaves behind: its schedule and the prices it dispatched at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from formulations.preemptive.instance import Floats, Integers
from formulations.preemptive.schedule import Schedule
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
        a worker of its own.)

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
