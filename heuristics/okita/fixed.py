"""Deployments that FIFO and DRF keep from a job's start to its end."""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Integers
from heuristics.okita.kernels import in_a_slot, transport
from heuristics.okita.online import Job, Recorder


class Fixed:
    """A job with its workers and server in place, its data shared out evenly."""

    def __init__(self, job: Job, workers: Integers, server: int) -> None:
        self.job, self.workers, self.server = job, workers, server
        self.held = job.demand(workers, server)
        """Resources, shape (sites, resources)."""
        quota = even_quota(job.chunks, workers)
        sites = len(quota)
        self._flow = np.zeros((sites, sites), dtype=np.int64)
        transport(job.chunks, quota, job.move, job.system.sources, self._flow)
        self._able = job.numerator * workers // job.divisor

    @property
    def done(self) -> bool:
        """Whether everything is trained."""
        return not self._flow.any()

    def run(self, slot: int, recorder: Recorder) -> None:
        """One slot: every site trains what it can of its quota, local chunks first."""
        flow = in_a_slot(self._flow, self._able)
        self._flow -= flow
        recorder.add(self.job.id, slot, self.workers, self.server, flow)


def even_quota(chunks: Integers, workers: Integers) -> Integers:
    """Chunks each site trains in all: in proportion to workers, the rest where most data lie."""
    quota = chunks.sum() * workers // workers.sum()
    open_ = np.flatnonzero(workers)
    for _ in range(int(chunks.sum() - quota.sum())):
        most = open_[np.argmax((chunks - quota)[open_])]
        quota[most] += 1
    return np.asarray(quota, dtype=np.int64)


def place(job: Job, room: Integers, number: int) -> tuple[Integers, int] | None:
    """PA for so many workers; None where they do not fit."""
    options = job.options(room, number, number)
    if not np.isfinite(options.exchange[0]):
        return None
    server = int(options.server[0])
    return job.workers(room, server, number), server


def most_beside_server(job: Job, room: Integers) -> int:
    """Most workers that fit together with the server; 0 where it does not fit."""
    alone, beside = job.fits(room)
    with_server: Integers = alone.sum() - alone + beside
    return max(0, int(with_server[beside >= 0].max(initial=0)))
