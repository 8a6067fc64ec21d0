"""The edge-cloud system and its jobs, as arrays.

Slot ``t`` is the interval [t, t + 1): a job released "in slot r" arrives at its left end, and a
completion time is the right end of the last slot used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.preemptive.classes import WorkerClasses, count_alike
from formulations.preemptive.document import (
    EdgeServerDocument,
    InstanceDocument,
    JobDocument,
    ResourceDocument,
)
from formulations.preemptive.validation import problems_of
from optsched.arrays import freeze, spread
from optsched.document import Document
from optsched.errors import FieldProblem, InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

CLOUD = -1
"""Index that stands for the cloud wherever a worker or parameter server is named."""

ROUNDING = 1e-9
"""Excess over a whole number of slots that is taken for rounding error (slots)."""


def whole_slots(duration: ArrayLike) -> Integers:
    """Slots that cover a duration (slots), an excess up to ``ROUNDING`` ignored."""
    return np.ceil(np.asarray(duration) - ROUNDING).astype(np.int64)


def chunk_times(
    *,
    num_batches: ArrayLike,
    batch_compute_time: ArrayLike,
    ps_update_time: ArrayLike,
    gradient_size_mb: ArrayLike,
    bandwidth_mbps: ArrayLike,
    slot_hours: float = 1.0,
) -> tuple[Floats, Floats]:
    """(p^0_j, p^1_j) in slots, by (1).

    Args:
        num_batches: E_j B_j.
        batch_compute_time: m_j, hours.
        ps_update_time: G_j, milliseconds.
        gradient_size_mb: q_j, 10^6 bytes.
        bandwidth_mbps: b_j, Mbit/s.
        slot_hours: length of a slot, hours.
    """
    compute = np.asarray(batch_compute_time) + np.asarray(ps_update_time) / 3.6e6
    communicate = 2 * 8 * np.asarray(gradient_size_mb) / np.asarray(bandwidth_mbps) / 3600
    batches = np.asarray(num_batches) / slot_hours
    with np.errstate(over="ignore"):  # the instance refuses what is not finite
        return batches * (compute + communicate), batches * compute


@dataclass(frozen=True)
class Job:
    """One job as an online algorithm sees it on arrival."""

    id: int
    release_time: float
    """r_j, slots."""
    num_chunks: int
    """D_j."""
    chunk_time_slow: float
    """p^0_j: one chunk, communication paid; slots."""
    chunk_time_fast: float
    """p^1_j: one chunk, whole job in the cloud; slots."""
    upload_delay_edge: Floats
    """Delta_js, shape (edge servers,), slots."""
    upload_delay_cloud: float
    """Delta_jc, slots; infinite where the job may not use the cloud."""
    eligible_workers: Integers
    """Edge workers with v_jw = 1."""
    eligible_parameter_servers: Integers
    """Edge parameter servers with o_jp = 1."""
    chunk_storage: float = 0.0
    """u_j, GB."""
    gang_size: int = 1
    """g_j."""

    @property
    def weight(self) -> float:
        """w_j = 1 / D_j."""
        return 1.0 / self.num_chunks


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance of the preemptive scheduling problem (Wang et al., Section III).

    Every array is read-only. Jobs keep the order given; ``arrivals`` orders them by
    (release time, index).

    Raises:
        InputError: a field has the wrong shape or a value out of range.
    """

    document_type: ClassVar[type[Document]] = InstanceDocument

    release_time: Floats
    """r_j, shape (jobs,), slots."""
    num_chunks: Integers
    """D_j, shape (jobs,)."""
    chunk_time_slow: Floats
    """p^0_j, shape (jobs,), slots."""
    chunk_time_fast: Floats
    """p^1_j <= p^0_j, shape (jobs,), slots."""
    upload_delay_edge: Floats
    """Delta_js, shape (jobs, edge servers), slots."""
    upload_delay_cloud: Floats
    """Delta_jc, shape (jobs,), slots; infinite where a job may not use the cloud."""
    worker_server: Integers
    """Shape (workers,)."""
    worker_type: Integers
    """tau(w), shape (workers,)."""
    ps_server: Integers
    """Shape (parameter servers,)."""
    ps_type: Integers
    """sigma(p), shape (parameter servers,)."""
    job_worker_type: Integers
    """tau_j, shape (jobs,)."""
    job_ps_type: Integers
    """sigma_j, shape (jobs,)."""
    gang_size: Integers
    """g_j in 1..D_j, shape (jobs,)."""
    chunk_storage: Floats
    """u_j, shape (jobs,), GB."""
    storage_capacity: Floats
    """U_s, shape (edge servers,), GB; may be infinite."""
    explicit_worker_eligible: Booleans | None = None
    """v_jw, shape (jobs, workers), where it is not by type."""
    explicit_ps_eligible: Booleans | None = None
    """o_jp, shape (jobs, parameter servers), where it is not by type."""
    horizon: int | None = None
    """T, slots; None: as many as needed."""
    slot_hours: float = 1.0
    """Length of a slot, hours."""
    jobs_document: tuple[JobDocument, ...] | None = field(default=None, repr=False)
    """The jobs as read from a file, kept so that writing gives back what was read."""

    @classmethod
    def build(
        cls,
        *,
        release_time: ArrayLike,
        num_chunks: ArrayLike,
        chunk_time_slow: ArrayLike,
        upload_delay_edge: ArrayLike,
        upload_delay_cloud: ArrayLike,
        worker_server: ArrayLike,
        **rest: Any,
    ) -> Instance:
        """Build from array-likes; everything else defaults to one type, no limits, no PSs.

        ``chunk_time_fast`` defaults to ``chunk_time_slow``; scalars spread over the jobs.
        """
        jobs = np.size(release_time)
        workers = np.size(worker_server)
        servers = (
            np.shape(upload_delay_edge)[-1]
            if np.ndim(upload_delay_edge)
            else (int(np.max(worker_server, initial=-1)) + 1)
        )
        ps_server = np.reshape(rest.pop("ps_server", ()), -1)
        columns: dict[str, tuple[ArrayLike, tuple[int, ...], type]] = {
            "release_time": (release_time, (jobs,), float),
            "num_chunks": (num_chunks, (jobs,), int),
            "chunk_time_slow": (chunk_time_slow, (jobs,), float),
            "chunk_time_fast": (rest.pop("chunk_time_fast", chunk_time_slow), (jobs,), float),
            "upload_delay_edge": (upload_delay_edge, (jobs, servers), float),
            "upload_delay_cloud": (upload_delay_cloud, (jobs,), float),
            "worker_server": (worker_server, (workers,), int),
            "worker_type": (rest.pop("worker_type", 0), (workers,), int),
            "ps_server": (ps_server, (len(ps_server),), int),
            "ps_type": (rest.pop("ps_type", 0), (len(ps_server),), int),
            "job_worker_type": (rest.pop("job_worker_type", 0), (jobs,), int),
            "job_ps_type": (rest.pop("job_ps_type", 0), (jobs,), int),
            "gang_size": (rest.pop("gang_size", 1), (jobs,), int),
            "chunk_storage": (rest.pop("chunk_storage", 0.0), (jobs,), float),
            "storage_capacity": (rest.pop("storage_capacity", np.inf), (servers,), float),
        }
        arrays: dict[str, Any] = {name: spread(name, *how) for name, how in columns.items()}
        return cls(**arrays, **rest)

    def __post_init__(self) -> None:
        freeze(self)
        problems = list(problems_of(self))
        if problems:
            raise InputError(problems)

    @property
    def jobs(self) -> int:
        """J."""
        return len(self.release_time)

    @property
    def edge_servers(self) -> int:
        """Number of edge servers."""
        return len(self.storage_capacity)

    @property
    def workers(self) -> int:
        """Edge workers."""
        return len(self.worker_server)

    @property
    def parameter_servers(self) -> int:
        """Edge parameter servers."""
        return len(self.ps_server)

    @cached_property
    def weight(self) -> Floats:
        """w_j = 1 / D_j, shape (jobs,)."""
        return np.asarray(1.0 / self.num_chunks, dtype=np.float64)

    @cached_property
    def density(self) -> Floats:
        """gamma_j = 1 / (D_j p^0_j), shape (jobs,), per slot."""
        return self.weight / self.chunk_time_slow

    @cached_property
    def work_slow(self) -> Integers:
        """N^0_j: worker-slots of the whole job with communication, shape (jobs,), by (2b)."""
        return whole_slots(self.num_chunks * self.chunk_time_slow)

    @cached_property
    def work_fast(self) -> Integers:
        """N^1_j: worker-slots of the whole job in the cloud, shape (jobs,), by (2b)."""
        return whole_slots(self.num_chunks * self.chunk_time_fast)

    @cached_property
    def worker_eligible(self) -> Booleans:
        """v_jw, shape (jobs, workers)."""
        if self.explicit_worker_eligible is not None:
            return self.explicit_worker_eligible
        return np.equal.outer(self.job_worker_type, self.worker_type)

    @cached_property
    def ps_eligible(self) -> Booleans:
        """o_jp, shape (jobs, parameter servers)."""
        if self.explicit_ps_eligible is not None:
            return self.explicit_ps_eligible
        return np.equal.outer(self.job_ps_type, self.ps_type)

    @cached_property
    def worker_classes(self) -> WorkerClasses:
        """Workers of one server that serve the same jobs, counted."""
        return count_alike(
            self.worker_server,
            self.worker_type,
            self.explicit_worker_eligible,
            self.job_worker_type,
        )

    @cached_property
    def ps_classes(self) -> WorkerClasses:
        """Parameter servers of one server that serve the same jobs, counted."""
        return count_alike(
            self.ps_server, self.ps_type, self.explicit_ps_eligible, self.job_ps_type
        )

    @property
    def is_integral(self) -> bool:
        """Whether release times, delays and chunk times are whole slots."""
        arrays = (
            self.release_time,
            self.upload_delay_edge,
            self.chunk_time_slow,
            self.chunk_time_fast,
            self.upload_delay_cloud[np.isfinite(self.upload_delay_cloud)],
        )
        return all(bool(np.all(a == np.round(a))) for a in arrays)

    def rounded(self) -> Instance:
        """The same instance with chunk times rounded up to whole slots."""
        return replace(
            self,
            chunk_time_slow=whole_slots(self.chunk_time_slow).astype(np.float64),
            chunk_time_fast=whole_slots(self.chunk_time_fast).astype(np.float64),
            jobs_document=None,
        )

    def first_jobs(self, count: int) -> Instance:
        """The instance cut off after its first ``count`` arrivals."""
        kept = np.sort(self._arrival_order[:count])
        return self.select_jobs(kept)

    def select_jobs(self, kept: Integers) -> Instance:
        """The instance with the jobs of these indices only, renumbered in that order."""
        per_job: dict[str, Any] = {
            name: getattr(self, name)[kept]
            for name in (
                "release_time",
                "num_chunks",
                "chunk_time_slow",
                "chunk_time_fast",
                "upload_delay_edge",
                "upload_delay_cloud",
                "job_worker_type",
                "job_ps_type",
                "gang_size",
                "chunk_storage",
            )
        }
        for name in ("explicit_worker_eligible", "explicit_ps_eligible"):
            value = getattr(self, name)
            per_job[name] = None if value is None else value[kept]
        documents = self.jobs_document
        per_job["jobs_document"] = None if documents is None else tuple(documents[j] for j in kept)
        return replace(self, **per_job)

    @cached_property
    def _arrival_order(self) -> Integers:
        return np.lexsort((np.arange(self.jobs), self.release_time))

    @cached_property
    def _workers_by_type(self) -> Callable[[int], Integers]:
        table = {int(t): np.flatnonzero(self.worker_type == t) for t in set(self.worker_type)}
        nothing = np.zeros(0, dtype=np.int64)
        return lambda kind: table.get(kind, nothing)

    @cached_property
    def _ps_by_type(self) -> Callable[[int], Integers]:
        table = {int(t): np.flatnonzero(self.ps_type == t) for t in set(self.ps_type)}
        nothing = np.zeros(0, dtype=np.int64)
        return lambda kind: table.get(kind, nothing)

    def job(self, j: int) -> Job:
        """Job ``j`` with all that is known of it on arrival."""
        by_worker, by_ps = self.explicit_worker_eligible, self.explicit_ps_eligible
        return Job(
            id=j,
            release_time=float(self.release_time[j]),
            num_chunks=int(self.num_chunks[j]),
            chunk_time_slow=float(self.chunk_time_slow[j]),
            chunk_time_fast=float(self.chunk_time_fast[j]),
            upload_delay_edge=self.upload_delay_edge[j],
            upload_delay_cloud=float(self.upload_delay_cloud[j]),
            eligible_workers=self._workers_by_type(int(self.job_worker_type[j]))
            if by_worker is None
            else np.flatnonzero(by_worker[j]),
            eligible_parameter_servers=self._ps_by_type(int(self.job_ps_type[j]))
            if by_ps is None
            else np.flatnonzero(by_ps[j]),
            chunk_storage=float(self.chunk_storage[j]),
            gang_size=int(self.gang_size[j]),
        )

    def arrivals(self) -> Iterator[Job]:
        """The jobs in order of (release time, index), one at a time."""
        return (self.job(int(j)) for j in self._arrival_order)

    @classmethod
    def from_document(cls, document: InstanceDocument) -> Instance:
        """Arrays from a validated file.

        Raises:
            InputError: fields that contradict each other, such as an unknown server.
        """
        jobs = document.jobs
        servers = len(document.edge_servers)
        problems = [
            FieldProblem(
                f"jobs[{j}].upload_delay_edge",
                job.upload_delay_edge,
                f"one number per edge server ({servers})",
            )
            for j, job in enumerate(jobs)
            if len(job.upload_delay_edge) != servers
        ]
        if problems:
            raise InputError(problems)
        slow, fast = np.transpose([_chunk_times(job, document.slot_hours) for job in jobs])
        explicit = {
            f"explicit_{name}": None
            if getattr(document, name) is None
            else _table(name, getattr(document, name), len(jobs), width)
            for name, width in (
                ("worker_eligible", len(document.workers)),
                ("ps_eligible", len(document.parameter_servers)),
            )
        }
        return cls.build(
            release_time=[job.release_time for job in jobs],
            num_chunks=[job.num_chunks for job in jobs],
            chunk_time_slow=slow,
            chunk_time_fast=fast,
            upload_delay_edge=np.array([job.upload_delay_edge for job in jobs]).reshape(
                len(jobs), servers
            ),
            upload_delay_cloud=[
                np.inf if job.upload_delay_cloud is None else job.upload_delay_cloud for job in jobs
            ],
            worker_server=[worker.server for worker in document.workers],
            worker_type=[worker.type for worker in document.workers],
            ps_server=[ps.server for ps in document.parameter_servers],
            ps_type=[ps.type for ps in document.parameter_servers],
            job_worker_type=[job.worker_type for job in jobs],
            job_ps_type=[job.ps_type for job in jobs],
            gang_size=[job.gang_size or min(1, job.num_chunks) for job in jobs],
            chunk_storage=[job.chunk_storage for job in jobs],
            storage_capacity=[
                np.inf if server.storage_capacity is None else server.storage_capacity
                for server in document.edge_servers
            ],
            horizon=document.horizon,
            slot_hours=document.slot_hours,
            jobs_document=tuple(jobs),
            **explicit,
        )

    def to_document(self) -> InstanceDocument:
        """The file that gives back this instance."""
        return InstanceDocument(
            slot_hours=self.slot_hours,
            horizon=self.horizon,
            jobs=list(self.jobs_document or (self._job_document(j) for j in range(self.jobs))),
            edge_servers=[
                EdgeServerDocument(storage_capacity=None if np.isinf(u) else float(u))
                for u in self.storage_capacity
            ],
            workers=_resources(self.worker_server, self.worker_type),
            parameter_servers=_resources(self.ps_server, self.ps_type),
            worker_eligible=None
            if self.explicit_worker_eligible is None
            else self.explicit_worker_eligible.tolist(),
            ps_eligible=None
            if self.explicit_ps_eligible is None
            else self.explicit_ps_eligible.tolist(),
        )

    def _job_document(self, j: int) -> JobDocument:
        cloud = float(self.upload_delay_cloud[j])
        return JobDocument(
            release_time=float(self.release_time[j]),
            num_chunks=int(self.num_chunks[j]),
            chunk_time_slow=float(self.chunk_time_slow[j]),
            chunk_time_fast=float(self.chunk_time_fast[j]),
            upload_delay_edge=self.upload_delay_edge[j].tolist(),
            upload_delay_cloud=None if np.isinf(cloud) else cloud,
            worker_type=int(self.job_worker_type[j]),
            ps_type=int(self.job_ps_type[j]),
            chunk_storage=float(self.chunk_storage[j]),
            gang_size=int(self.gang_size[j]),
        )


def _table(name: str, rows: list[list[bool]], jobs: int, width: int) -> Booleans:
    if len(rows) != jobs or any(len(row) != width for row in rows):
        raise InputError.of(name, f"{len(rows)} rows", f"one row per job ({jobs}) of {width}")
    return np.array(rows, dtype=bool).reshape(jobs, width)


def _resources(server: Integers, kind: Integers) -> list[ResourceDocument]:
    return [ResourceDocument(server=int(s), type=int(k)) for s, k in zip(server, kind, strict=True)]


def _chunk_times(job: JobDocument, slot_hours: float) -> tuple[float, float]:
    """(p^0_j, p^1_j) in slots, by (1)."""
    if job.chunk_time_slow is not None and job.chunk_time_fast is not None:
        return job.chunk_time_slow, job.chunk_time_fast
    assert job.batch_compute_time is not None  # the document saw to it
    slow, fast = chunk_times(
        num_batches=job.num_epochs * job.batches_per_chunk,
        batch_compute_time=job.batch_compute_time,
        ps_update_time=job.ps_update_time,
        gradient_size_mb=job.gradient_size_mb,
        bandwidth_mbps=job.bandwidth_mbps,
        slot_hours=slot_hours,
    )
    return float(slow), float(fast)
