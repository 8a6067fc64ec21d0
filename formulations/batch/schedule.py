"""What was decided: when each job ran, with how many workers, and where, as arrays.

A schedule of (2) has one run per job. A preemptive baseline may have several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from formulations.batch.instance import Booleans, Integers
from optsched.errors import InputError
from optsched.instances.arrays import freeze
from optsched.instances.document import LARGEST_INDEX, Document, Index


class PlacementDocument(Document):
    """Workers of a run on one server."""

    server: Index
    workers: int = Field(ge=1, le=LARGEST_INDEX)


class RunDocument(Document):
    """A job runs with fixed workers and one parameter server, without a break."""

    job: Index
    start: int = Field(ge=1, le=LARGEST_INDEX, description="first slot h_j")
    end: int = Field(ge=1, le=LARGEST_INDEX, description="last slot c_j")
    together: bool = Field(description="xi_j: workers and parameter server on one server")
    ps_server: Index = Field(description="server of the parameter server")
    overhead: int = Field(
        0, ge=0, le=LARGEST_INDEX, description="first slots held without progress"
    )
    placements: list[PlacementDocument]


class ScheduleDocument(Document):
    """A schedule of one instance."""

    format: Literal["optsched/batch/schedule"] = "optsched/batch/schedule"
    version: Literal[1] = 1
    preemptive: bool = Field(False, description="jobs may stop, move and go on")
    ignores_upload: bool = Field(False, description="upload delays were not waited for")
    runs: list[RunDocument]


_RUN_COLUMNS = ("run_job", "run_start", "run_end", "run_together", "run_ps", "run_overhead")


@dataclass(frozen=True, eq=False)
class Schedule:
    """Runs of jobs, and the workers of each run by server.

    Raises:
        InputError: columns of different lengths, or a run that ends before it starts.
    """

    document_type: ClassVar[type[Document]] = ScheduleDocument

    run_job: Integers
    """Shape (runs,)."""
    run_start: Integers
    """h: first slot, shape (runs,)."""
    run_end: Integers
    """c: last slot, shape (runs,)."""
    run_together: Booleans
    """xi: everything on one server, shape (runs,)."""
    run_ps: Integers
    """Server of the parameter server, shape (runs,)."""
    run_overhead: Integers
    """First slots of the run without progress, shape (runs,)."""
    place_run: Integers
    """Shape (placements,)."""
    place_server: Integers
    """Shape (placements,)."""
    place_workers: Integers
    """y > 0, shape (placements,)."""
    preemptive: bool = False
    """Whether it claims that jobs may stop, move and go on."""
    ignores_upload: bool = False
    """Whether it claims that upload delays need not be waited for."""

    def __post_init__(self) -> None:
        freeze(self)
        for kind, names in (
            ("run", ("job", "start", "end", "together", "ps", "overhead")),
            ("place", ("run", "server", "workers")),
        ):
            lengths = {name: len(getattr(self, f"{kind}_{name}")) for name in names}
            if len(set(lengths.values())) > 1:
                raise InputError.of(kind, lengths, "columns of one length")
        backwards = (self.run_end < self.run_start) | (self.run_overhead < 0)
        if backwards.any():
            at = int(np.argmax(backwards))
            span = (int(self.run_start[at]), int(self.run_end[at]))
            raise InputError.of(f"runs[{at}]", span, "a run that ends after it starts")
        outside = (self.place_run < 0) | (self.place_run >= len(self.run_job))
        if outside.any():
            at = int(np.argmax(outside))
            allowed = f"a run in 0..{len(self.run_job) - 1}"
            raise InputError.of(f"place_run[{at}]", int(self.place_run[at]), allowed)

    @classmethod
    def build(
        cls, *, runs: ArrayLike, placements: ArrayLike, overhead: ArrayLike = 0, **claims: Any
    ) -> Schedule:
        """Build from rows.

        Args:
            runs: rows (job, first slot, last slot, together, server of the PS), shape (runs, 5).
            placements: rows (run, server, workers), shape (placements, 3); those without workers
                are dropped.
            overhead: first slots without progress, per run.
            claims: ``preemptive`` and ``ignores_upload``.
        """
        run = np.asarray(runs, dtype=np.int64).reshape(-1, 5)
        place = np.asarray(placements, dtype=np.int64).reshape(-1, 3)
        place = place[place[:, 2] != 0]
        job, start, end, together, ps = run.T
        return cls(
            job, start, end, together.astype(bool), ps,
            np.broadcast_to(np.asarray(overhead, dtype=np.int64), len(run)),
            *place.T, **claims,
        )  # fmt: skip

    def of_jobs(self, jobs: Integers) -> Schedule:
        """The runs of some jobs, which are renumbered in that order."""
        number = np.full(max(int(self.run_job.max(initial=-1)), int(jobs.max(initial=-1))) + 1, -1)
        number[jobs] = np.arange(len(jobs))
        kept = number[self.run_job] >= 0
        run = np.cumsum(kept) - 1
        place = kept[self.place_run]
        return replace(
            self,
            **{name: getattr(self, name)[kept] for name in _RUN_COLUMNS if name != "run_job"},
            run_job=number[self.run_job[kept]],
            place_run=run[self.place_run[place]],
            place_server=self.place_server[place],
            place_workers=self.place_workers[place],
        )

    @classmethod
    def merged(cls, parts: Sequence[tuple[Integers, Schedule]]) -> Schedule:
        """Schedules of different jobs as one; each part with the numbers its jobs get."""
        runs = [
            np.column_stack([jobs[p.run_job], p.run_start, p.run_end, p.run_together, p.run_ps])
            for jobs, p in parts
        ]
        before = np.cumsum([0, *(p.runs for _, p in parts)])
        placed = [
            np.column_stack([p.place_run + first, p.place_server, p.place_workers])
            for first, (_, p) in zip(before[:-1], parts, strict=True)
        ]
        overhead = np.concatenate([p.run_overhead for _, p in parts])
        return cls.build(
            runs=np.concatenate(runs), placements=np.concatenate(placed), overhead=overhead
        )

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.run_job)

    @property
    def run_workers(self) -> Integers:
        """N: workers of each run, shape (runs,)."""
        return np.bincount(self.place_run, weights=self.place_workers, minlength=self.runs).astype(
            np.int64
        )

    def later(self, slots: Integers) -> Schedule:
        """Every job run so many slots later, shape (jobs,)."""
        by = slots[np.minimum(self.run_job, len(slots) - 1)]
        return replace(self, run_start=self.run_start + by, run_end=self.run_end + by)

    @classmethod
    def from_document(cls, document: ScheduleDocument) -> Schedule:
        """Arrays from a validated file."""
        return cls.build(
            runs=[(r.job, r.start, r.end, r.together, r.ps_server) for r in document.runs],
            placements=[
                (i, p.server, p.workers) for i, r in enumerate(document.runs) for p in r.placements
            ],
            overhead=[r.overhead for r in document.runs],
            preemptive=document.preemptive,
            ignores_upload=document.ignores_upload,
        )

    def to_document(self) -> ScheduleDocument:
        """The file that gives back this schedule."""
        places: list[list[Any]] = [[] for _ in range(self.runs)]
        rows = (self.place_run, self.place_server, self.place_workers)
        for run, server, workers in zip(*(column.tolist() for column in rows), strict=True):
            places[run].append(PlacementDocument(server=server, workers=workers))
        columns = (
            self.run_job, self.run_start, self.run_end, self.run_together, self.run_ps,
            self.run_overhead,
        )  # fmt: skip
        names = ("job", "start", "end", "together", "ps_server", "overhead")
        runs = [
            RunDocument(**dict(zip(names, row, strict=True)), placements=placements)
            for *row, placements in zip(*(c.tolist() for c in columns), places, strict=True)
        ]
        return ScheduleDocument(
            preemptive=self.preemptive, ignores_upload=self.ignores_upload, runs=runs
        )
