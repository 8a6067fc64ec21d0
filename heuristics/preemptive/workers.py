"""What edge workers do: run the chunk of highest priority, preemptively (Algorithm 4, restated).

A worker always runs the arrived, unfinished chunk with the smallest key, where a key is
``work / w_j``: the whole chunk time for HAPRF as printed (highest density first), the work left
for residual density. Equal keys run in order of arrival. Nothing is simulated before somebody
asks: each worker keeps the moment of its next completion and catches up when looked at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from math import inf
from operator import attrgetter

import numpy as np

from formulations.preemptive.instance import Booleans, Floats, Integers
from heuristics.preemptive.ties import TIE, slack


@dataclass(frozen=True, slots=True)
class Block:
    """The chunks of one job dispatched to one worker; they arrive together and run in order."""

    arrival: float
    """r_j + Delta_js, slots."""
    release_time: float
    """r_j, slots; with the index of the job it settles equal arrivals at the worker."""
    job: int
    num_chunks: int
    """D_j of the job: the weight of a chunk is its inverse."""
    duration: float
    """p^0_j at the online speed, slots."""
    chunks: tuple[int, ...]
    """Numbers of the chunks within the job."""

    @property
    def key(self) -> float:
        """Inverse density D_j p^0_j of a fresh chunk."""
        return self.num_chunks * self.duration


@dataclass(frozen=True)
class Runs:
    """What all workers did, one row per uninterrupted run of a chunk."""

    job: Integers
    chunk: Integers
    worker: Integers
    start: Floats
    """Slots."""
    end: Floats
    """Slots."""
    finished: Booleans
    """Whether the chunk was done at the end; if not, it was preempted."""


_Entry = tuple[int, int, float, Block]  # position in block, chunks, work of the first, block
_Running = tuple[float, int, float, Block, float, float]  # key, position, work, block, from, to
_Record = tuple[Block, int, float, float, bool]  # block, position, start, end, finished

_arrival = attrgetter("arrival")


class _Worker:
    """One worker: the running chunk, those waiting in order of key, those still under way."""

    __slots__ = ("entries", "free", "keys", "log", "mass", "residual", "running", "transit", "work")

    def __init__(self, residual: bool) -> None:
        self.residual = residual
        self.running: _Running | None = None
        self.free = 0.0  # end of the last run
        self.transit: list[Block] = []  # by arrival
        self.keys: list[float] = []  # of the waiting entries, ascending
        self.entries: list[_Entry] = []
        self.work: list[float] = []  # of each entry
        self.mass: list[float] = []  # weight of each entry
        self.log: list[_Record] = []

    def copy(self) -> _Worker:
        """The same state with an empty log."""
        other = _Worker(self.residual)
        other.running, other.free = self.running, self.free
        other.transit, other.keys = self.transit.copy(), self.keys.copy()
        other.entries, other.work = self.entries.copy(), self.work.copy()
        other.mass = self.mass.copy()
        return other

    def send(self, block: Block) -> None:
        """Put chunks under way to this worker."""
        insort(self.transit, block, key=_arrival)

    def is_due(self, until: float) -> bool:
        """Whether a completion or an arrival falls due by ``until`` (slots)."""
        if self.running is not None:
            _, _, _, block, _, finish = self.running
            if finish <= until + slack(block.duration, until):
                return True
        return bool(self.transit) and _has_arrived(self.transit[0], until)

    def advance(self, until: float) -> None:
        """Run up to ``until`` (slots), what falls due at that moment included."""
        transit = self.transit
        while True:
            if self.running is not None:
                _, position, _, block, start, finish = self.running
                horizon = min(transit[0].arrival, until) if transit else until
                if finish <= horizon + slack(block.duration, horizon):
                    self.log.append((block, position, start, finish, True))
                    self.running, self.free = None, finish
                    if self.entries:
                        self._start_first(finish)
                    continue
            if not transit or not _has_arrived(transit[0], until):
                return
            self._admit(transit.pop(0))

    def _admit(self, block: Block) -> None:
        now = block.arrival
        fresh: _Entry = (0, len(block.chunks), block.duration, block)
        if self.running is not None and self._gives_way(self.running, block):
            self._suspend(self.running, now)
        self._enqueue(block.key, fresh)
        if self.running is None:
            self._start_first(max(now, self.free))

    def _gives_way(self, running: _Running, block: Block) -> bool:
        """Whether the running chunk comes after a chunk of ``block``, which arrives now."""
        key, _, _, current, _, finish = running
        if self.residual:
            key = (finish - block.arrival) * current.num_chunks
        if abs(block.key - key) <= TIE * key:
            return _came_before(block, current)
        return block.key < key

    def _suspend(self, running: _Running, now: float) -> None:
        key, position, work, block, start, finish = running
        if now - start > slack(block.duration, now):  # else it never really ran
            self.log.append((block, position, start, now, False))
            self.free = now
            work = finish - now
            if self.residual:
                key = work * block.num_chunks
        self.running = None
        self._enqueue(key, (position, 1, work, block))

    def _start_first(self, now: float) -> None:
        key = self.keys[0]
        position, count, work, block = self.entries[0]
        if count > 1:
            self.entries[0] = (position + 1, count - 1, block.duration, block)
            self.work[0] = (count - 1) * block.duration
            self.mass[0] = (count - 1) / block.num_chunks
        else:
            for column in (self.keys, self.entries, self.work, self.mass):
                del column[0]
        self.running = (key, position, work, block, now, now + work)

    def _enqueue(self, key: float, entry: _Entry) -> None:
        position, count, work, block = entry
        at = bisect_left(self.keys, key * (1 - TIE))
        end = bisect_right(self.keys, key * (1 + TIE), lo=at)
        if at < end:
            key = self.keys[at]  # equal up to rounding: share one key, order by arrival
            while at < end and not _precedes(block, position, self.entries[at]):
                at += 1
        self.keys.insert(at, key)
        self.entries.insert(at, entry)
        self.work.insert(at, (count - 1) * block.duration + work)
        self.mass.insert(at, count / block.num_chunks)

    def pending(self, moment: float, key: float) -> tuple[float, float]:
        """(W_1, W_2) of (5) in the present state, read at ``moment``.

        No completion or arrival may lie between the last event and ``moment``.
        """
        split = bisect_right(self.keys, key * (1 + TIE))
        before, behind = sum(self.work[:split]), sum(self.mass[split:])
        if self.running is not None:
            own_key, _, _, block, _, finish = self.running
            left = finish - moment
            if (left * block.num_chunks if self.residual else own_key) <= key * (1 + TIE):
                before += left
            else:
                behind += 1.0 / block.num_chunks
        return before, behind


def _has_arrived(block: Block, moment: float) -> bool:
    return block.arrival <= moment + slack(block.duration, moment)


def _came_before(one: Block, other: Block) -> bool:
    if abs(one.arrival - other.arrival) <= slack(one.duration, one.arrival):
        return (one.release_time, one.job) < (other.release_time, other.job)
    return one.arrival < other.arrival


def _precedes(block: Block, position: int, other: _Entry) -> bool:
    if other[3] is block:
        return position < other[0]
    return _came_before(block, other[3])


class WorkerPool:
    """All edge workers.

    The rest of the algorithm reads and changes workers through these methods only.
    """

    def __init__(self, workers: int, *, residual: bool) -> None:
        self._workers = [_Worker(residual) for _ in range(workers)]
        self._idle_from = np.zeros(workers)  # a moment from which a worker is surely idle
        # of the chunk that ran when a worker was last looked at, if any
        self._busy_until = np.zeros(workers)
        self._busy_weight = np.zeros(workers)

    def idle(self, workers: Integers, moments: Floats) -> Booleans:
        """Whether each worker has surely done all it knows of by the moment given (slots)."""
        return self._idle_from[workers] <= moments

    def least_pressure(self, workers: Integers, moments: Floats, *, key: float) -> Floats:
        """Lower bound on W_1 + key W_2 of ``pending``, without looking closely (slots).

        A chunk seen running cannot be done before the end then planned; whatever is left of it
        counts in W_1, or its weight in W_2.
        """
        left = np.maximum(self._busy_until[workers] - moments, 0.0)
        return np.minimum(left, key * self._busy_weight[workers])

    def pending(
        self, workers: Integers, moments: Floats, *, now: float, key: float
    ) -> tuple[Floats, Floats]:
        """W_1 (slots) and W_2 of (5) at each worker, as far as is known ``now``.

        Args:
            workers: indices, shape (n,).
            moments: t_0 of each worker, shape (n,), slots, not before ``now``.
            now: release time of the job that asks, slots.
            key: its inverse density D_j p^0_j.
        """
        sums = np.empty((2, len(workers)))
        for i, (x, moment) in enumerate(zip(workers.tolist(), moments.tolist(), strict=True)):
            worker = self._advance(x, now)
            if worker.is_due(moment):
                worker = worker.copy()
                worker.advance(moment)
            sums[:, i] = worker.pending(moment, key)
        return sums[0], sums[1]

    def planned_flow(self, x: int, extra: Block | None, *, now: float) -> float:
        """Sum of w (c - now) over unfinished chunks of worker ``x`` if nothing else arrives.

        Args:
            x: the worker.
            extra: chunks to suppose dispatched as well.
            now: release time of the job that asks, slots.
        """
        worker = self._advance(x, now)
        plan = worker.copy()
        if extra is not None:
            plan.send(extra)
        plan.advance(inf)
        return sum((end - now) / block.num_chunks for block, _, _, end, done in plan.log if done)

    def _advance(self, x: int, now: float) -> _Worker:
        worker = self._workers[x]
        if worker.is_due(now):
            worker.advance(now)
            if worker.running is not None:
                self._busy_until[x] = worker.running[5]
                self._busy_weight[x] = 1.0 / worker.running[3].num_chunks
        return worker

    def send(self, x: int, block: Block) -> None:
        """Dispatch chunks of a job to worker ``x``."""
        self._workers[x].send(block)
        self._idle_from[x] = (
            max(self._idle_from[x], block.arrival) + len(block.chunks) * block.duration
        )

    def finish(self) -> Runs:
        """What workers have done and will do if nothing else arrives; changes nothing."""
        rows: list[tuple[int, int, int, float, float, bool]] = []
        for x, worker in enumerate(self._workers):
            plan = worker.copy()
            plan.advance(inf)
            rows += [
                (block.job, block.chunks[position], x, start, end, done)
                for block, position, start, end, done in worker.log + plan.log
            ]
        columns = zip(*rows, strict=True) if rows else ((),) * 6
        job, chunk, at, start, end, done = columns
        return Runs(
            np.array(job, dtype=np.int64),
            np.array(chunk, dtype=np.int64),
            np.array(at, dtype=np.int64),
            np.array(start, dtype=np.float64),
            np.array(end, dtype=np.float64),
            np.array(done, dtype=np.bool_),
        )
