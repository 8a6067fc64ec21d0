"""Algorithm 4 line by line: a timetable y_jdsw(t) that dispatches write and shift, errors included.

Line 5 moves every chunk that waits behind a new one on by its own duration, where the new chunk's
is meant: a shorter one then runs at the same time as the new one, a longer one leaves the
worker idle. Line 5 reads y as it was before it; slot by slot it would move for ever what it has
just written. Prices are asked of the timetable, right or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.preemptive.instance import Floats, Integers, Job
from heuristics.preemptive.engine.ties import TIE
from heuristics.preemptive.engine.workers import Runs


@dataclass(eq=False)
class _Chunk:
    """A chunk's row of y at its worker."""

    job: int
    chunk: int
    key: float
    """D_j p_j: the lower, the denser."""
    weight: float
    duration: float
    arrival: float
    pieces: list[tuple[float, float]]
    """When y is 1, slots."""

    def after(self, moment: float) -> float:
        """Slots of it from a moment on."""
        return sum(max(0.0, end - max(start, moment)) for start, end in self.pieces)

    def shift(self, moment: float) -> None:
        """Lines 4 and 5: what runs from a moment on, later by its own duration."""
        before = [(start, min(end, moment)) for start, end in self.pieces if start < moment]
        behind = [
            (max(start, moment) + self.duration, end + self.duration)
            for start, end in self.pieces
            if end > moment
        ]
        self.pieces = before + behind


class PrintedTimetable:
    """y at every edge worker; it answers and is told what a ``WorkerPool`` is.

    Args:
        workers: how many.
    """

    def __init__(self, workers: int) -> None:
        self._chunks: list[list[_Chunk]] = [[] for _ in range(workers)]

    def _divided(self, worker: int, moment: float, key: float) -> tuple[list[_Chunk], list[_Chunk]]:
        """A_1 and A_2 of the chunks pending at a moment, as Algorithm 3 divides them."""
        pending = [
            one
            for one in self._chunks[worker]
            if one.arrival <= moment + TIE and one.after(moment) > TIE * one.duration
        ]
        ahead = [one for one in pending if one.key <= key * (1 + TIE)]
        return ahead, [one for one in pending if one not in ahead]

    def levels(self, job: Job, delay: Floats, *, chunk_time: float) -> Floats:
        """Level Q / w_j of (5) at each worker eligible for a job, slots."""
        levels = delay + chunk_time
        for i, x in enumerate(job.eligible_workers.tolist()):
            moment = job.release_time + float(delay[i])
            ahead, behind = self._divided(x, moment, job.num_chunks * chunk_time)
            levels[i] += sum(one.after(moment) for one in ahead)
            levels[i] += job.num_chunks * chunk_time * sum(one.weight for one in behind)
        return np.asarray(levels, dtype=np.float64)

    def send(self, job: Job, worker: Integers, delay: Floats, *, chunk_time: float) -> None:
        """UPDATEVARIABLES for every chunk of a job; arguments are the same as of ``WorkerPool``."""
        key = job.num_chunks * chunk_time
        for chunk, x in enumerate(worker.tolist()):
            if x < 0:
                continue
            arrival = job.release_time + float(delay[x])
            ahead, behind = self._divided(x, arrival, key)
            begin = max([arrival, *(end for one in ahead for _, end in one.pieces)])
            for one in behind:
                one.shift(begin)
            run = [(begin, begin + chunk_time)]
            self._chunks[x].append(
                _Chunk(job.id, chunk, key, 1 / job.num_chunks, chunk_time, arrival, run)
            )

    def finish(self) -> Runs:
        """What y says."""
        rows = [
            (one.job, one.chunk, x, start, end, i == len(one.pieces) - 1)
            for x, chunks in enumerate(self._chunks)
            for one in chunks
            for i, (start, end) in enumerate(one.pieces)
        ]
        columns = list(zip(*rows, strict=True)) or [()] * 6
        job, chunk, worker = (np.array(column, dtype=np.int64) for column in columns[:3])
        start, end = (np.array(column, dtype=np.float64) for column in columns[3:5])
        return Runs(job, chunk, worker, start, end, np.array(columns[5], dtype=bool))
