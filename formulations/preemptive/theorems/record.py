"""What a schedule that names its chunks did, chunk by chunk: the terms the lemmas speak of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.preemptive.instance import CLOUD, Booleans, Floats, Instance, Integers
from formulations.preemptive.schedule import Schedule
from optsched.errors import InputError

TOLERANCE = 1e-9
"""Relative to the greater of what is compared and 1."""

MOST_ENTRIES = 4_000_000
"""Entries of a dense table that is worked on at once."""


@dataclass(frozen=True, eq=False)
class Record:
    """A schedule in which every chunk ran on one worker, at speed 1 + epsilon.

    Arrays over chunks are in order of (job, chunk), arrays over runs in order of start.
    """

    instance: Instance
    """Chunk times are of the offline machine."""
    schedule: Schedule
    run_chunk: Integers
    """Chunk of each run, numbered over all jobs."""
    run_start: Floats
    run_end: Floats
    worker: Integers
    """Edge worker of each chunk, or ``CLOUD``."""

    @property
    def epsilon(self) -> float:
        """Speed augmentation."""
        return self.schedule.speed - 1.0

    @cached_property
    def first_chunk(self) -> Integers:
        """Number of each job's first chunk, shape (jobs,)."""
        return np.asarray(np.cumsum(self.instance.num_chunks) - self.instance.num_chunks)

    @cached_property
    def job(self) -> Integers:
        """Job of each chunk."""
        return np.repeat(np.arange(self.instance.jobs), self.instance.num_chunks)

    @cached_property
    def weight(self) -> Floats:
        """w_j of each chunk."""
        return self.instance.weight[self.job]

    @cached_property
    def edge_time(self) -> Floats:
        """p_j of each job online, at the edge and in the slow cloud, shape (jobs,), slots."""
        return self.instance.chunk_time_slow / self.schedule.speed

    @cached_property
    def cloud_time(self) -> Floats:
        """p^1_j of each job online, shape (jobs,), slots."""
        return self.instance.chunk_time_fast / self.schedule.speed

    @cached_property
    def duration(self) -> Floats:
        """Time each chunk takes, by zeta_j, slots."""
        return np.where(self.schedule.together, self.cloud_time, self.edge_time)[self.job]

    @cached_property
    def delay(self) -> Floats:
        """Delta of each chunk where it was sent, slots."""
        servers = np.append(self.instance.worker_server, 0)[self.worker]
        at_edge = self.instance.upload_delay_edge
        if at_edge.shape[1] == 0:
            return self.instance.upload_delay_cloud[self.job]
        return np.where(
            self.worker == CLOUD,
            self.instance.upload_delay_cloud[self.job],
            at_edge[self.job, servers],
        )

    @cached_property
    def completion(self) -> Floats:
        """c_jd, slots."""
        end = np.full(len(self.job), -np.inf)
        np.maximum.at(end, self.run_chunk, self.run_end)
        return end

    @cached_property
    def flow(self) -> Floats:
        """w_j (c_jd - r_j) of each chunk; their sum is F (slots)."""
        return self.weight * (self.completion - self.instance.release_time[self.job])

    @cached_property
    def total_jct(self) -> float:
        """Sum of c_j - r_j, slots."""
        latest = np.maximum.reduceat(self.completion, self.first_chunk)
        return float(np.sum(latest - self.instance.release_time))

    @cached_property
    def common_delays(self) -> bool:
        """Whether a server is equally far from every job, where there are workers."""
        used = np.unique(self.instance.worker_server)
        delay = self.instance.upload_delay_edge[:, used]
        return bool(np.all(delay == delay[:1]))

    def at_workers(self) -> Iterator[tuple[int, Integers, Integers]]:
        """Every edge worker that trained something, its chunks and its runs in order of start."""
        chunk_order = np.argsort(self.worker, kind="stable")
        run_worker = self.worker[self.run_chunk]
        run_order = np.argsort(run_worker, kind="stable")
        used = np.unique(self.worker[self.worker != CLOUD])
        chunks = _groups(self.worker[chunk_order], chunk_order, used)
        runs = _groups(run_worker[run_order], run_order, used)
        return zip(used.tolist(), chunks, runs, strict=True)


def _groups(keys: Integers, order: Integers, wanted: Integers) -> Iterator[Integers]:
    start = np.searchsorted(keys, wanted)
    end = np.searchsorted(keys, wanted, side="right")
    return (order[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True))


def record(instance: Instance, schedule: Schedule) -> Record | str:
    """The schedule chunk by chunk, or in words why it cannot be told that way.

    Raises:
        InputError: the schedule brings prices, but not one per chunk.
    """
    chunks = int(instance.num_chunks.sum())
    if len(schedule.together) != instance.jobs:
        return "the schedule is not one of this instance"
    if schedule.alpha is not None and len(schedule.alpha) != chunks:
        raise InputError.of("alpha", f"{len(schedule.alpha)} prices", f"one per chunk ({chunks})")
    order = np.argsort(schedule.run_start, kind="stable")
    job, number = schedule.run_job[order], schedule.run_chunk[order]
    place = schedule.run_worker[order]
    if not _all_exist(job, instance.jobs) or np.any(place >= instance.workers):
        return "the schedule is not one of this instance"
    if np.any(number < 0) or np.any(number >= instance.num_chunks[job]):
        return "not every run names its chunk"
    first = np.cumsum(instance.num_chunks) - instance.num_chunks
    chunk = first[job] + number
    worker = np.full(chunks, CLOUD)
    worker[chunk] = place
    if not np.array_equal(np.unique(chunk), np.arange(chunks)):
        return "not every chunk runs"
    if np.any(worker[chunk] != place):
        return "a chunk changes its worker"
    return Record(
        instance, schedule, chunk, schedule.run_start[order], schedule.run_end[order], worker
    )


def _all_exist(index: Integers, count: int) -> bool:
    return bool(np.all((index >= 0) & (index < count)))


def fits(left: Floats, right: Floats) -> Booleans:
    """Whether left <= right, entry by entry, up to the tolerance."""
    size = np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    return np.asarray(left <= right + TOLERANCE * size)
