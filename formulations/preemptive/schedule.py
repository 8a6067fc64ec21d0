"""What was decided: who ran where and when, as arrays.

The same object holds a slot schedule of problem (2), whose workers carry a job without naming
its chunks, and the event-driven schedule of an online algorithm, which names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from optsched.errors import InputError
from optsched.instances.document import LARGEST_INDEX, Document, Index

NO_CHUNK = -1
"""Chunk index of a run that does not say which chunk it trains."""

_KINDS = ("run", "service")


class RunDocument(Document):
    """A job occupies one worker without a break."""

    job: Index
    chunk: int = Field(NO_CHUNK, ge=-1, le=LARGEST_INDEX, description="-1: not said")
    worker: int = Field(
        ge=-1, le=LARGEST_INDEX, description="edge worker; -1: a worker of the cloud"
    )
    start: float = Field(ge=0, description="slots")
    end: float = Field(ge=0, description="slots")


class ServiceDocument(Document):
    """A parameter server serves one job without a break."""

    job: Index
    parameter_server: int = Field(
        ge=-1, le=LARGEST_INDEX, description="edge parameter server; -1: the cloud's"
    )
    start: float = Field(ge=0, description="slots")
    end: float = Field(ge=0, description="slots")


class ScheduleDocument(Document):
    """A schedule of one instance."""

    format: Literal["optsched/preemptive/schedule"] = "optsched/preemptive/schedule"
    version: Literal[1] = 1
    speed: float = Field(1.0, gt=0, description="1 + epsilon at which it was run")
    together: list[bool] = Field(description="zeta_j: the whole job is in the cloud")
    runs: list[RunDocument]
    services: list[ServiceDocument] = Field(default_factory=list)
    alpha: list[float] | None = Field(
        None, description="price of each chunk at dispatch, by job and chunk; null: not said"
    )


@dataclass(frozen=True, eq=False)
class Schedule:
    """Runs of jobs on workers and services of parameter servers.

    ``CLOUD`` (-1) stands for the cloud, which has a worker and a parameter server for everyone:
    each run there is its own worker.

    Raises:
        InputError: columns of different lengths, or an interval that ends before it starts.
    """

    document_type: ClassVar[type[Document]] = ScheduleDocument

    run_job: NDArray[np.int64]
    """Shape (runs,)."""
    run_chunk: NDArray[np.int64]
    """Shape (runs,); ``NO_CHUNK`` where the schedule does not say."""
    run_worker: NDArray[np.int64]
    """y: shape (runs,)."""
    run_start: NDArray[np.float64]
    """Shape (runs,), slots."""
    run_end: NDArray[np.float64]
    """Shape (runs,), slots."""
    service_job: NDArray[np.int64]
    """Shape (services,)."""
    service_ps: NDArray[np.int64]
    """z: shape (services,)."""
    service_start: NDArray[np.float64]
    """Shape (services,), slots."""
    service_end: NDArray[np.float64]
    """Shape (services,), slots."""
    together: NDArray[np.bool_]
    """zeta_j: workers and parameter server all in the cloud, shape (jobs,)."""
    speed: float = 1.0
    """1 + epsilon: chunks take their time divided by this."""
    alpha: NDArray[np.float64] | None = None
    """alpha_jd: price at which an algorithm dispatched each chunk, in order of (job, chunk),
    shape (chunks,), slots; None where there is none."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        for kind in _KINDS:
            columns = {name: getattr(self, name) for name in _columns(kind)}
            if len({len(column) for column in columns.values()}) > 1:
                lengths = {name: len(column) for name, column in columns.items()}
                raise InputError.of(kind, lengths, "columns of one length")
            start, end = columns[f"{kind}_start"], columns[f"{kind}_end"]
            backwards = ~(end >= start) | ~np.isfinite(end)
            if backwards.any():
                at = int(np.argmax(backwards))
                raise InputError.of(
                    f"{kind}s[{at}]",
                    (float(start[at]), float(end[at])),
                    "an interval that ends after it starts",
                )

    @classmethod
    def build(
        cls,
        *,
        runs: ArrayLike,
        services: ArrayLike = (),
        together: ArrayLike,
        speed: float = 1.0,
        alpha: ArrayLike | None = None,
    ) -> Schedule:
        """Build from rows.

        Args:
            runs: rows (job, chunk, worker, start, end), shape (runs, 5).
            services: rows (job, parameter server, start, end), shape (services, 4).
            together: zeta_j, shape (jobs,).
            speed: 1 + epsilon.
            alpha: price of each chunk, where an algorithm says.
        """
        run = np.asarray(runs, dtype=float).reshape(-1, 5)
        service = np.asarray(services, dtype=float).reshape(-1, 4)
        job, chunk, worker = run[:, :3].T.astype(np.int64)
        served, server = service[:, :2].T.astype(np.int64)
        return cls(
            run_job=job,
            run_chunk=chunk,
            run_worker=worker,
            run_start=run[:, 3].copy(),
            run_end=run[:, 4].copy(),
            service_job=served,
            service_ps=server,
            service_start=service[:, 2].copy(),
            service_end=service[:, 3].copy(),
            together=np.array(together, dtype=bool),
            speed=speed,
            alpha=None if alpha is None else np.array(alpha, dtype=float),
        )

    def later(self, slots: NDArray[np.int64]) -> Schedule:
        """Every job served so many slots later, shape (jobs,)."""
        last = len(slots) - 1
        run = slots[np.minimum(self.run_job, last)]
        service = slots[np.minimum(self.service_job, last)]
        return replace(
            self,
            run_start=self.run_start + run,
            run_end=self.run_end + run,
            service_start=self.service_start + service,
            service_end=self.service_end + service,
        )

    def of_jobs(self, jobs: NDArray[np.int64]) -> Schedule:
        """What some jobs do, which are renumbered in that order."""
        number = np.full(len(self.together), -1)
        number[jobs] = np.arange(len(jobs))
        columns: dict[str, Any] = {}
        for kind in _KINDS:
            job = number[getattr(self, f"{kind}_job")]
            for name in _columns(kind):
                columns[name] = getattr(self, name)[job >= 0]
            columns[f"{kind}_job"] = job[job >= 0]
        return Schedule(**columns, together=self.together[jobs], speed=self.speed)

    @classmethod
    def merged(cls, parts: Sequence[tuple[NDArray[np.int64], Schedule]]) -> Schedule:
        """Schedules of all jobs as one; each part with the numbers its jobs get."""
        columns: dict[str, Any] = {}
        for kind in _KINDS:
            for name in _columns(kind):
                columns[name] = np.concatenate([getattr(part, name) for _, part in parts])
            job = f"{kind}_job"
            columns[job] = np.concatenate([jobs[getattr(part, job)] for jobs, part in parts])
        together = np.zeros(sum(len(jobs) for jobs, _ in parts), dtype=bool)
        for jobs, part in parts:
            together[jobs] = part.together
        return cls(**columns, together=together)

    @classmethod
    def from_document(cls, document: ScheduleDocument) -> Schedule:
        """Arrays from a validated file."""
        return cls.build(
            runs=[(r.job, r.chunk, r.worker, r.start, r.end) for r in document.runs],
            services=[(s.job, s.parameter_server, s.start, s.end) for s in document.services],
            together=document.together,
            speed=document.speed,
            alpha=document.alpha,
        )

    def to_document(self) -> ScheduleDocument:
        """The file that gives back this schedule."""
        runs: list[Any] = [
            dict(zip(RunDocument.model_fields, row, strict=True))
            for row in zip(
                self.run_job.tolist(),
                self.run_chunk.tolist(),
                self.run_worker.tolist(),
                self.run_start.tolist(),
                self.run_end.tolist(),
                strict=True,
            )
        ]
        services: list[Any] = [
            dict(zip(ServiceDocument.model_fields, row, strict=True))
            for row in zip(
                self.service_job.tolist(),
                self.service_ps.tolist(),
                self.service_start.tolist(),
                self.service_end.tolist(),
                strict=True,
            )
        ]
        return ScheduleDocument(
            speed=self.speed,
            together=self.together.tolist(),
            runs=runs,
            services=services,
            alpha=None if self.alpha is None else self.alpha.tolist(),
        )


def _columns(kind: str) -> list[str]:
    """Names of the columns of runs, or of services."""
    return [field.name for field in fields(Schedule) if field.name.startswith(f"{kind}_")]
