"""The one door to what edge workers do: their prices, what is sent to them, what they ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.preemptive.instance import Booleans, Floats, Integers, Job
from heuristics.preemptive.engine import events, prices, sending
from heuristics.preemptive.engine.queues import (
    BLOCK,
    BLOCKS_TOGETHER,
    BUCKET,
    BUCKET_SIZE,
    ENTRY,
    NONE,
    RUN,
    TICKET,
    TOTALS,
    WORKER,
    Table,
    Tables,
    Totals,
)


@dataclass(frozen=True)
class Runs:
    """What all workers did, one row per uninterrupted run of a chunk, in no order.

    The columns may be views of what the next arrival changes.
    """

    job: Integers
    chunk: Integers
    worker: Integers
    start: Floats
    """Slots."""
    end: Floats
    """Slots."""
    finished: Booleans
    """Whether the chunk was done at the end; if not, it was preempted."""


class WorkerPool:
    """All edge workers.

    The rest of the algorithm reads and changes workers through these methods only.

    Args:
        workers: how many.
        residual: whether keys follow the work left, or stay what they are on arrival.
    """

    def __init__(self, workers: int, *, residual: bool) -> None:
        states = np.zeros(workers + 1, dtype=WORKER)
        for name in ("block", "first", "last", "spare", "head", "bucket"):
            states[name] = NONE
        totals = np.zeros(1, dtype=TOTALS)
        totals["buckets_free"] = NONE
        self._tables = Tables(
            workers=states,
            blocks=np.empty(0, dtype=BLOCK),
            entries=np.empty(0, dtype=ENTRY),
            buckets=np.empty(0, dtype=BUCKET),
            ahead=np.empty(0, dtype=ENTRY),
            runs=np.empty(0, dtype=RUN),
            tickets=np.empty(0, dtype=TICKET),
            totals=totals,
            residual=residual,
        )

    def levels(
        self,
        job: Job,
        delay: Floats,
        *,
        chunk_time: float,
        ceiling: float,
        chunks: float = np.inf,
    ) -> Floats:
        """Level Q / w_j of (5) at each worker eligible for a job, as far as is known on arrival.

        Where the level is above the ceiling, anything above the ceiling may stand in its place;
        likewise above the surface to which the ``chunks`` cheapest places reach.

        Args:
            job: the job that arrives.
            delay: of the job to each eligible worker, slots.
            chunk_time: p^0_j at the online speed, slots.
            ceiling: a level of no interest from there on, slots; may be infinite.
            chunks: places that will be taken, if nothing but the level decides.
        """
        self._reserve()
        workers, now, key = job.eligible_workers, job.release_time, job.num_chunks * chunk_time
        levels = prices.least_levels(self._tables, workers, delay, now, chunk_time, key)
        order = np.argsort(levels)
        prices.look_closely(
            self._tables,
            workers,
            delay,
            now,
            chunk_time,
            key,
            ceiling,
            float(chunks),
            order,
            levels,
        )
        return levels

    def fill_exactly(
        self, job: Job, delay: Floats, *, chunk_time: float, ceiling: float
    ) -> tuple[Integers, Floats]:
        """Chunks placed one by one where they add least to the planned weighted flow time.

        Arguments are the same as of ``levels``.

        Returns:
            Eligible worker, by position, and level of each chunk up to the ceiling.
        """
        self._reserve(blocks=len(job.eligible_workers))
        return prices.fill_exactly(
            self._tables,
            job.eligible_workers,
            delay,
            job.release_time,
            job.id,
            job.num_chunks,
            chunk_time,
            ceiling,
        )

    def send(self, job: Job, worker: Integers, delay: Floats, *, chunk_time: float) -> None:
        """Dispatch the chunks of a job.

        Args:
            job: the job that arrives.
            worker: edge worker of each chunk; negative where it does not go to the edge.
            delay: of the job to every worker, shape (workers,), slots.
            chunk_time: p^0_j at the online speed, slots.
        """
        self._reserve(blocks=len(worker))
        sending.dispatch_chunks(
            self._tables,
            worker,
            np.argsort(worker, kind="stable"),
            delay,
            job.release_time,
            job.id,
            job.num_chunks,
            chunk_time,
        )

    def finish(self) -> Runs:
        """What workers have done and will do if nothing else arrives; changes nothing."""
        self._reserve()
        tables = self._tables
        done = int(tables.totals["runs"][0])
        events.tell_all(tables)
        rows = tables.runs[: int(tables.totals["runs"][0])]
        tables.totals["runs"] = done
        ticket = tables.tickets[rows["ticket"]]
        return Runs(
            ticket["job"],
            ticket["chunk"],
            ticket["worker"],
            rows["start"],
            rows["end"],
            rows["finished"] != 0,
        )

    def _reserve(self, blocks: int = 0) -> None:
        """Make room for all that one call may add, so that compiled code need not.

        Every block under way can join a queue once and push a running chunk back into it. A
        chunk leaves one run when done, and one whenever a block that arrives pushes it back.
        A bucket splits at once if it is full, and then after half its size of entries.
        """
        now = Totals(*self._tables.totals[0].item())
        under_way = now.under_way + blocks
        buckets = 2 * now.buckets + len(self._tables.workers) + 4 * under_way // BUCKET_SIZE + 1
        needs = (
            ("blocks", now.blocks_end + blocks * BLOCKS_TOGETHER, now.blocks_end),
            ("tickets", now.tickets + blocks, now.tickets),
            ("runs", now.runs + now.chunks + under_way, now.runs),
            ("ahead", 2 * (now.most_under_way + 1) + 1, 0),
            ("buckets", buckets, now.buckets_end),
            ("entries", buckets * BUCKET_SIZE, now.buckets_end * BUCKET_SIZE),
        )
        for name, need, used in needs:
            table = getattr(self._tables, name)
            if len(table) < need:
                larger: dict[str, Any] = {name: grown(table, need, used)}
                self._tables = self._tables._replace(**larger)


def grown(table: Table, need: int, used: int) -> Table:
    """A table with twice as many rows as needed, the first ``used`` copied."""
    larger = np.empty(2 * need, dtype=table.dtype)
    larger[:used] = table[:used]
    return larger
