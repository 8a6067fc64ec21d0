"""The servers and the jobs, as arrays.

Slots are numbered from 1; slot ``t`` is the unit interval (t - 1, t]. A job that runs in slots
``h..c`` starts at slot h, completes at slot c and has duration ``c - h + 1``.

All that durations need of a job is its work in worker-slots, rounded up: as N is whole,
``ceil(work / N) = ceil(ceil(work) / N)``. So durations are integers' business throughout; the
exact fractions are kept for schedules that change a job's speed on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.batch.document import InstanceDocument, JobDocument, ServerDocument, exactly
from formulations.batch.validation import problems_of
from optsched.arrays import freeze, spread
from optsched.document import Document
from optsched.errors import FieldProblem, InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class System:
    """What an online algorithm knows before the first job.

    Raises:
        InputError: a field has the wrong shape or a value out of range.
    """

    worker_capacity: Floats
    """W_su, shape (servers, worker types); infinite where unlimited."""
    ps_capacity: Floats
    """P_sv, shape (servers, PS types); infinite where unlimited."""
    horizon: int = 100
    """T: the span of arrivals, and part of the prices; no deadline."""
    worker_price_cap: float = 1.0
    """F_1."""
    ps_price_cap: float = 1.0
    """F_2."""
    cloud_index: int | None = None
    """Which server is the cloud; None: there is none."""

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def servers(self) -> int:
        """S, the cloud included."""
        return len(self.worker_capacity)

    @property
    def worker_types(self) -> int:
        """U."""
        return int(self.worker_capacity.shape[1])

    @property
    def ps_types(self) -> int:
        """V."""
        return int(self.ps_capacity.shape[1])


@dataclass(frozen=True)
class Job:
    """One job as an online algorithm sees it on arrival."""

    id: int
    release_slot: int
    """a_j."""
    num_chunks: int
    """D_j."""
    exact_work: tuple[Fraction, Fraction]
    """(Omega_j / p^0_j, Omega_j / p^1_j), worker-slots."""
    worker_type: int
    """u_j."""
    ps_type: int
    """v_j."""
    upload_delay: Integers
    """Delta_js, shape (servers,), slots."""
    weight: float = 1.0
    """w_j."""

    @cached_property
    def work(self) -> tuple[int, int]:
        """(ceil(Omega_j / p^0_j), ceil(Omega_j / p^1_j)), worker-slots, by mode xi."""
        return ceil(self.exact_work[0]), ceil(self.exact_work[1])

    def duration(self, workers: int, fast: bool) -> int:
        """d_j(N, xi), slots, by (1)."""
        return -(-self.work[fast] // workers)


@dataclass(frozen=True, eq=False)
class Instance(System):
    """An instance of the batch scheduling problem (2).

    Every array is read-only. Jobs keep the order given; ``arrivals`` orders them by
    (release slot, index).
    """

    document_type: ClassVar[type[Document]] = InstanceDocument

    release_slot: Integers = field(kw_only=True)
    """a_j, shape (jobs,)."""
    num_chunks: Integers = field(kw_only=True)
    """D_j, shape (jobs,)."""
    exact_work_slow: tuple[Fraction, ...] = field(kw_only=True, repr=False)
    """Omega_j / p^0_j, one per job, worker-slots."""
    exact_work_fast: tuple[Fraction, ...] = field(kw_only=True, repr=False)
    """Omega_j / p^1_j, one per job, worker-slots."""
    worker_type: Integers = field(kw_only=True)
    """u_j, shape (jobs,)."""
    ps_type: Integers = field(kw_only=True)
    """v_j, shape (jobs,)."""
    upload_delay: Integers = field(kw_only=True)
    """Delta_js, shape (jobs, servers), slots."""
    weight: Floats = field(kw_only=True)
    """w_j, shape (jobs,)."""
    slot_hours: float = field(default=1.0, kw_only=True)
    """Length of a slot, hours."""
    jobs_document: tuple[JobDocument, ...] | None = field(default=None, kw_only=True, repr=False)
    """The jobs as read from a file, kept so that writing gives back what was read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        problems = list(problems_of(self))
        if problems:
            raise InputError(problems)

    @classmethod
    def build(
        cls,
        *,
        worker_capacity: ArrayLike,
        ps_capacity: ArrayLike,
        release_slot: ArrayLike,
        num_chunks: ArrayLike,
        work_slow: Sequence[Any],
        work_fast: Sequence[Any],
        upload_delay: ArrayLike,
        worker_type: ArrayLike = 0,
        ps_type: ArrayLike = 0,
        weight: ArrayLike = 1.0,
        **rest: Any,
    ) -> Instance:
        """Build from array-likes; scalars spread over the jobs, and delays over jobs.

        Args:
            worker_capacity: shape (servers, worker types); ``inf`` is unlimited.
            ps_capacity: shape (servers, PS types).
            release_slot: shape (jobs,).
            num_chunks: shape (jobs,).
            work_slow: Omega_j / p^0_j, one number, text or fraction per job.
            work_fast: Omega_j / p^1_j.
            upload_delay: shape (servers,) or (jobs, servers).
            worker_type: shape (jobs,).
            ps_type: shape (jobs,).
            weight: shape (jobs,).
            rest: further fields.
        """
        workers = np.atleast_2d(np.asarray(worker_capacity, dtype=float))
        services = np.atleast_2d(np.asarray(ps_capacity, dtype=float))
        jobs, servers = np.size(release_slot), len(workers)
        works: dict[str, Any] = {}
        for name, given in (("work_slow", work_slow), ("work_fast", work_fast)):
            try:
                works[f"exact_{name}"] = tuple(exactly(plain(value)) for value in given)
            except ValueError as error:
                raise InputError.of(name, list(given), str(error)) from None
        columns: dict[str, tuple[ArrayLike, tuple[int, ...], type]] = {
            "release_slot": (release_slot, (jobs,), int),
            "num_chunks": (num_chunks, (jobs,), int),
            "worker_type": (worker_type, (jobs,), int),
            "ps_type": (ps_type, (jobs,), int),
            "upload_delay": (upload_delay, (jobs, servers), int),
            "weight": (weight, (jobs,), float),
        }
        arrays: dict[str, Any] = {name: spread(name, *how) for name, how in columns.items()}
        return cls(worker_capacity=workers, ps_capacity=services, **works, **arrays, **rest)

    @property
    def jobs(self) -> int:
        """J."""
        return len(self.release_slot)

    @cached_property
    def work_slow(self) -> Integers:
        """ceil(Omega_j / p^0_j), shape (jobs,), worker-slots."""
        return np.array([ceil(w) for w in self.exact_work_slow], dtype=np.int64)

    @cached_property
    def work_fast(self) -> Integers:
        """ceil(Omega_j / p^1_j), shape (jobs,), worker-slots."""
        return np.array([ceil(w) for w in self.exact_work_fast], dtype=np.int64)

    @cached_property
    def worker_room(self) -> Floats:
        """W_su_j: workers of each job's type on each server, shape (jobs, servers)."""
        return self.worker_capacity[:, self.worker_type].T

    @cached_property
    def ps_room(self) -> Floats:
        """P_sv_j: parameter servers of each job's type, shape (jobs, servers)."""
        return self.ps_capacity[:, self.ps_type].T

    @cached_property
    def most_workers(self) -> Integers:
        """min(D_j, W_su_j), shape (jobs, servers)."""
        return np.minimum(self.num_chunks[:, None], self.worker_room).astype(np.int64)

    @cached_property
    def unlimited(self) -> Booleans:
        """Where a job finds workers and parameter servers without limit, (jobs, servers)."""
        return np.isinf(self.worker_room) & np.isinf(self.ps_room)

    @cached_property
    def system(self) -> System:
        """The system without its jobs."""
        return System(**{item.name: getattr(self, item.name) for item in fields(System)})

    def job(self, j: int) -> Job:
        """Job ``j`` with all that is known of it on arrival."""
        return Job(
            id=j,
            release_slot=int(self.release_slot[j]),
            num_chunks=int(self.num_chunks[j]),
            exact_work=(self.exact_work_slow[j], self.exact_work_fast[j]),
            worker_type=int(self.worker_type[j]),
            ps_type=int(self.ps_type[j]),
            upload_delay=self.upload_delay[j],
            weight=float(self.weight[j]),
        )

    @cached_property
    def arrival_order(self) -> Integers:
        """Jobs by (a_j, j), shape (jobs,)."""
        return np.lexsort((np.arange(self.jobs), self.release_slot))

    def arrivals(self) -> Iterator[Job]:
        """The jobs in order of (release slot, index), one at a time."""
        return (self.job(int(j)) for j in self.arrival_order)

    def select_jobs(self, kept: Integers | Sequence[int]) -> Instance:
        """The instance with the jobs of these indices only, renumbered in that order."""
        index = np.asarray(kept, dtype=np.int64)
        names = ("release_slot", "num_chunks", "worker_type", "ps_type", "upload_delay", "weight")
        changes: dict[str, Any] = {name: getattr(self, name)[index] for name in names}
        for name in ("exact_work_slow", "exact_work_fast", "jobs_document"):
            column = getattr(self, name)
            changes[name] = None if column is None else tuple(column[j] for j in index.tolist())
        return replace(self, **changes)

    @classmethod
    def from_document(cls, document: InstanceDocument) -> Instance:
        """Arrays from a validated file.

        Raises:
            InputError: fields that contradict each other, such as rows of different lengths.
        """
        problems = list(_ragged(document))
        if problems:
            raise InputError(problems)
        jobs = document.jobs
        works = [job.works(document.slot_hours) for job in jobs]
        return cls.build(
            worker_capacity=[_row(server.workers) for server in document.servers],
            ps_capacity=[_row(server.parameter_servers) for server in document.servers],
            release_slot=[job.release_slot for job in jobs],
            num_chunks=[job.num_chunks for job in jobs],
            work_slow=[slow for slow, _ in works],
            work_fast=[fast for _, fast in works],
            upload_delay=[job.upload_delay for job in jobs],
            worker_type=[job.worker_type for job in jobs],
            ps_type=[job.ps_type for job in jobs],
            weight=[job.weight for job in jobs],
            horizon=document.horizon,
            worker_price_cap=document.worker_price_cap,
            ps_price_cap=document.ps_price_cap,
            cloud_index=document.cloud_index,
            slot_hours=document.slot_hours,
            jobs_document=tuple(jobs),
        )

    def to_document(self) -> InstanceDocument:
        """The file that gives back this instance."""
        return InstanceDocument(
            slot_hours=self.slot_hours,
            horizon=self.horizon,
            worker_price_cap=self.worker_price_cap,
            ps_price_cap=self.ps_price_cap,
            cloud_index=self.cloud_index,
            servers=[
                ServerDocument(workers=_listed(w), parameter_servers=_listed(p))
                for w, p in zip(self.worker_capacity, self.ps_capacity, strict=True)
            ],
            jobs=list(self.jobs_document or map(self._job_document, range(self.jobs))),
        )

    def _job_document(self, j: int) -> JobDocument:
        return JobDocument(
            release_slot=int(self.release_slot[j]),
            num_chunks=int(self.num_chunks[j]),
            work_slow=self.exact_work_slow[j],
            work_fast=self.exact_work_fast[j],
            worker_type=int(self.worker_type[j]),
            ps_type=int(self.ps_type[j]),
            upload_delay=self.upload_delay[j].tolist(),
            weight=float(self.weight[j]),
        )


def plain(value: Any) -> Any:
    """A numpy number as a Python one."""
    return value.item() if isinstance(value, np.generic) else value


def _ragged(document: InstanceDocument) -> Iterator[FieldProblem]:
    """Rows that are not of one length."""
    for name in ("workers", "parameter_servers"):
        rows = [getattr(server, name) for server in document.servers]
        for s, row in enumerate(rows):
            if len(row) != len(rows[0]):
                allowed = f"one number per type, as of server 0 ({len(rows[0])})"
                yield FieldProblem(f"servers[{s}].{name}", row, allowed)
    servers = len(document.servers)
    for j, job in enumerate(document.jobs):
        if len(job.upload_delay) != servers:
            allowed = f"one number per server ({servers})"
            yield FieldProblem(f"jobs[{j}].upload_delay", job.upload_delay, allowed)


def _row(capacities: Sequence[int | None]) -> list[float]:
    return [np.inf if c is None else float(c) for c in capacities]


def _listed(row: Floats) -> list[int | None]:
    return [None if np.isinf(c) else int(c) for c in row]
