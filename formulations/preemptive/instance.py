"""The edge-cloud system and its jobs, as arrays.

Slot ``t`` is the interval [t, t + 1): a job released "in slot r" arrives at its left end, and a
completion time is the right end of the last slot used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.common.amounts import on_one_grid, whole_steps
from formulations.preemptive.classes import WorkerClasses, count_alike
from optsched.errors import FieldProblem, InputError
from optsched.instances.arrays import freeze
from optsched.instances.declared import Declared, Given
from optsched.instances.declared_files import entry_type
from optsched.instances.fields import Group, declare, in_file, refused
from optsched.instances.read_only import ReadOnly

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


def work_slots(work: ArrayLike) -> Integers:
    """Worker-slots that cover some work, a product of chunks and slots.

    Ignored is what a product of decimals loses, 3e-9 of 50,000 times 300.00000000000006.
    """
    work = np.asarray(work, dtype=np.float64)
    lost = np.maximum(ROUNDING, 4 * np.spacing(work))
    return np.asarray(np.ceil(work - lost), dtype=np.int64)


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
class Job(ReadOnly):
    """One job as an online algorithm sees it on arrival; every array is read-only."""

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

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def weight(self) -> float:
        """w_j = 1 / D_j."""
        return 1.0 / self.num_chunks


@dataclass(frozen=True, eq=False)
class Storage:
    """Sizes of chunks and capacities of servers as whole numbers: sums are compared exactly."""

    size: Integers
    """u_j, shape (jobs,)."""
    capacity: Integers
    """U_s rounded down, shape (edge servers,); 0 for a server that is not limited."""
    limited: Booleans
    """Servers that do not hold all chunks of all jobs at once, shape (edge servers,)."""

    def __post_init__(self) -> None:
        freeze(self)


LATEST = 1e12
"""Largest release time or delay, slots: whole slots and their sums stay exact."""
LONGEST = 1e9
"""Largest time of one chunk, slots."""
MOST = 1_000_000
"""Chunks, epochs, mini-batches of a job; slots of a horizon."""


def _speed_is_given_once(job: Any) -> Any:
    direct = (job.chunk_time_slow, job.chunk_time_fast)
    if (direct[0] is None) != (direct[1] is None):
        raise ValueError("chunk_time_slow and chunk_time_fast must be given together")
    if (direct[0] is None) == (job.batch_compute_time is None):
        raise ValueError(
            "the speed must be given once: batch_compute_time, "
            "or chunk_time_slow and chunk_time_fast"
        )
    return job


@dataclass(frozen=True, eq=False)
class Instance(Declared):
    """An instance of the preemptive scheduling problem (Wang et al., Section III).

    Every array is read-only. Jobs keep the order given; ``arrivals`` orders them by
    (release time, index).

    Raises:
        InputError: a field has the wrong shape or a value out of range.
    """

    format: ClassVar[str] = "optsched/preemptive/instance"
    groups: ClassVar[dict[str, Group]] = {
        "jobs": Group(
            "jobs[]",
            "One training job. Its speed is given either by what pre-training measures "
            "(``batch_compute_time`` and the fields around it) or as chunk_time_slow and "
            "chunk_time_fast.",
            rule=_speed_is_given_once,
        ),
        "edge_servers": Group("edge_servers[]", "One edge server.", at_least=0),
        "workers": Group("workers[]", "One worker at the edge.", at_least=0),
        "parameter_servers": Group(
            "parameter_servers[]", "One parameter server at the edge.", at_least=-1
        ),
    }

    slot_hours: float = declare(default=1.0, above=0, unit="hours", meaning="length of one slot")
    horizon: int | None = declare(
        default=None, at_least=1, at_most=MOST, symbol="T", unit="slots", meaning="horizon",
        note="null means as many as any schedule worth having needs",
    )  # fmt: skip
    release_time: Floats = declare(
        "jobs", at_least=0, at_most=LATEST, symbol="r_j", unit="slots", meaning="arrival"
    )
    num_chunks: Integers = declare(
        "jobs", at_least=1, at_most=MOST, symbol="D_j", meaning="equal-sized data chunks"
    )
    num_epochs = in_file(
        "jobs", int, default=1, at_least=1, at_most=MOST, symbol="E_j", meaning="epochs per chunk"
    )
    batches_per_chunk = in_file(
        "jobs", int, default=1, at_least=1, at_most=MOST, symbol="B_j",
        meaning="mini-batches per chunk",
    )  # fmt: skip
    batch_compute_time = in_file(
        "jobs", float, default=None, above=0, symbol="m_j", unit="hours",
        meaning="one mini-batch on one worker",
    )  # fmt: skip
    ps_update_time = in_file(
        "jobs", float, default=0.0, at_least=0, symbol="G_j", unit="milliseconds",
        meaning="parameter-server update per mini-batch",
    )  # fmt: skip
    gradient_size_mb = in_file(
        "jobs", float, default=0.0, at_least=0, symbol="q_j", unit="10^6 bytes", meaning="gradients"
    )
    bandwidth_mbps = in_file(
        "jobs", float, default=1000.0, above=0, symbol="b_j", unit="Mbit/s",
        meaning="reserved bandwidth",
    )  # fmt: skip
    chunk_time_slow: Floats = declare(
        "jobs", file_default=None, above=0, at_most=LONGEST, symbol="p^0_j", unit="slots",
        meaning="one chunk with communication",
    )  # fmt: skip
    chunk_time_fast: Floats = declare(
        "jobs", file_default=None, above=0, at_most=LONGEST, symbol="p^1_j <= p^0_j", unit="slots",
        meaning="one chunk without communication, whole job in the cloud",
    )  # fmt: skip
    upload_delay_edge: Floats = declare(
        "jobs", "edge_servers", at_least=0, at_most=LATEST, symbol="Delta_js", unit="slots",
        meaning="delay of each chunk to every edge server",
    )  # fmt: skip
    upload_delay_cloud: Floats = declare(
        "jobs", at_least=0, at_most=LATEST, null=np.inf, symbol="Delta_jc", unit="slots",
        meaning="delay of each chunk to the cloud", note="null bars the cloud",
    )  # fmt: skip
    job_worker_type: Integers = declare(
        "jobs", file="jobs[].worker_type", default=0, at_least=0, symbol="tau_j",
        meaning="type of worker asked for",
    )  # fmt: skip
    job_ps_type: Integers = declare(
        "jobs", file="jobs[].ps_type", default=0, at_least=0, symbol="sigma_j",
        meaning="type of parameter server asked for",
    )  # fmt: skip
    chunk_storage: Floats = declare(
        "jobs", default=0.0, at_least=0, symbol="u_j", unit="GB", meaning="storage of one chunk"
    )
    gang_size: Integers = declare(
        "jobs", default=1, file_default=None, null=1, at_least=1, at_most=MOST, symbol="g_j",
        meaning="workers a gang-scheduled baseline needs, at most num_chunks",
    )  # fmt: skip
    jobs_document: tuple[Any, ...] | None = declare(
        "jobs", file="jobs[]", default=None, repr=False,
        meaning="the jobs as read from a file, kept so that writing gives back what was read",
    )  # fmt: skip
    storage_capacity: Floats = declare(
        "edge_servers", default=np.inf, at_least=0, null=np.inf, symbol="U_s", unit="GB",
        meaning="storage", note="null is unlimited",
    )  # fmt: skip
    worker_server: Integers = declare(
        "workers", file="workers[].server", index_of="edge_servers", meaning="its edge server"
    )
    worker_type: Integers = declare(
        "workers", file="workers[].type", default=0, at_least=0, symbol="tau(w)",
        meaning="its type",
    )  # fmt: skip
    ps_server: Integers = declare(
        "parameter_servers", file="parameter_servers[].server", default=(), required=True,
        index_of="edge_servers", meaning="its edge server",
    )  # fmt: skip
    ps_type: Integers = declare(
        "parameter_servers", file="parameter_servers[].type", default=0, at_least=0,
        symbol="sigma(p)", meaning="its type",
    )  # fmt: skip
    explicit_worker_eligible: Booleans | None = declare(
        "jobs", "workers", file="worker_eligible", default=None, symbol="v_jw",
        meaning="whether a worker serves a job", note="null means by type",
    )  # fmt: skip
    explicit_ps_eligible: Booleans | None = declare(
        "jobs", "parameter_servers", file="ps_eligible", default=None, symbol="o_jp",
        meaning="whether a parameter server serves a job", note="null means by type",
    )  # fmt: skip

    def contradictions(self) -> Iterator[FieldProblem]:
        """A fast chunk slower than a slow one, a gang of too many, a job that can run nowhere,
        storage that cannot be told apart.
        """
        faster = self.chunk_time_fast > self.chunk_time_slow
        allowed = "at most chunk_time_slow of the same job"
        yield from refused(self, "chunk_time_fast", faster, allowed)
        crowded = self.gang_size > self.num_chunks
        yield from refused(self, "gang_size", crowded, "an integer in 1..num_chunks")
        stranded = np.isinf(self.upload_delay_cloud)
        if stranded.any():  # only then is the table worth building
            stranded &= ~self.worker_classes.eligible.any(axis=1)
            allowed = "finite for a job without an eligible edge worker"
            yield from refused(self, "upload_delay_cloud", stranded, allowed)
        try:
            _ = self.storage
        except InputError as refusal:
            yield from refusal.problems

    @classmethod
    def build(cls, **given: Any) -> Instance:
        """Build from array-likes; all but what a job needs has a default.

        ``chunk_time_fast`` defaults to ``chunk_time_slow``, the rest to one type, no limits, no
        parameter servers; scalars spread over the jobs.
        """
        given = Given(given)
        given.setdefault("chunk_time_fast", given["chunk_time_slow"])
        return super().build(**given)

    @classmethod
    def read(cls, document: Any) -> dict[str, Any]:
        """Arguments of ``build`` from a validated file."""
        times = np.array([_chunk_times(job, document.slot_hours) for job in document.jobs])
        slow, fast = times.T
        return super().read(document) | {"chunk_time_slow": slow, "chunk_time_fast": fast}

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
        return work_slots(self.num_chunks * self.chunk_time_slow)

    @cached_property
    def work_fast(self) -> Integers:
        """N^1_j: worker-slots of the whole job in the cloud, shape (jobs,), by (2b)."""
        return work_slots(self.num_chunks * self.chunk_time_fast)

    @cached_property
    def storage(self) -> Storage:
        """u_j and U_s as whole numbers of one amount.

        Raises:
            InputError: two of them differ by too little beside the largest.
        """
        all_chunks = float(self.num_chunks @ self.chunk_storage)
        limited = self.storage_capacity < all_chunks * (1 + ROUNDING)
        size, limit = whole_steps(
            "chunk_storage, storage_capacity", self.chunk_storage, self.storage_capacity[limited]
        )
        size, limit = on_one_grid(size, limit)
        capacity = np.zeros(self.edge_servers, dtype=np.int64)
        capacity[limited] = limit
        return Storage(size, capacity, limited)

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
        """Whether release times, delays and chunk times are whole slots, up to ``ROUNDING``."""
        arrays = (
            self.release_time,
            self.upload_delay_edge,
            self.chunk_time_slow,
            self.chunk_time_fast,
            self.upload_delay_cloud[np.isfinite(self.upload_delay_cloud)],
        )
        return all(bool(np.all(np.abs(a - np.round(a)) <= ROUNDING)) for a in arrays)

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
        return self.select({"jobs": kept})

    @cached_property
    def _arrival_order(self) -> Integers:
        return np.lexsort((np.arange(self.jobs), self.release_time))

    @cached_property
    def _workers_by_type(self) -> dict[int, Integers]:
        return _by_type(self.worker_type, self.job_worker_type)

    @cached_property
    def _ps_by_type(self) -> dict[int, Integers]:
        return _by_type(self.ps_type, self.job_ps_type)

    def job(self, j: int) -> Job:
        """Job ``j`` with all that is known of it on arrival."""
        by_worker, by_ps = self.explicit_worker_eligible, self.explicit_ps_eligible
        return self.entry(
            j,
            Job,
            id=j,
            eligible_workers=self._workers_by_type[int(self.job_worker_type[j])]
            if by_worker is None
            else np.flatnonzero(by_worker[j]),
            eligible_parameter_servers=self._ps_by_type[int(self.job_ps_type[j])]
            if by_ps is None
            else np.flatnonzero(by_ps[j]),
        )

    def arrivals(self) -> Iterator[Job]:
        """The jobs in order of (release time, index), one at a time."""
        return (self.job(int(j)) for j in self._arrival_order)


def _by_type(there: Integers, asked: Integers) -> dict[int, Integers]:
    """Positions of each type that is asked for; copies of what numpy gives, whose memory may be
    written, so that all jobs of a type hold one array.
    """
    return {int(kind): np.flatnonzero(there == kind).copy() for kind in np.unique(asked)}


def _chunk_times(job: Any, slot_hours: float) -> tuple[float, float]:
    """(p^0_j, p^1_j) of a job in a file by (1), slots."""
    if job.chunk_time_slow is not None:
        return job.chunk_time_slow, job.chunk_time_fast
    slow, fast = chunk_times(
        num_batches=job.num_epochs * job.batches_per_chunk,
        batch_compute_time=job.batch_compute_time,
        ps_update_time=job.ps_update_time,
        gradient_size_mb=job.gradient_size_mb,
        bandwidth_mbps=job.bandwidth_mbps,
        slot_hours=slot_hours,
    )
    return float(slow), float(fast)


JobDocument = entry_type(Instance, "jobs")
"""A job in a file; named here so that it can be pickled."""
