"""The servers and the jobs, as arrays.

Slots are numbered from 1; slot ``t`` is the unit interval (t - 1, t]. A job that runs in slots
``h..c`` starts at slot h, completes at slot c and has duration ``c - h + 1``.

All that durations need of a job is its work in worker-slots, rounded up: as N is whole,
``ceil(work / N) = ceil(ceil(work) / N)``. So durations are integers' business throughout; the
exact fractions are kept for schedules that change a job's speed on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from optsched.errors import FieldProblem, InputError
from optsched.instances.arrays import freeze
from optsched.instances.declared import Declared, Given
from optsched.instances.declared_files import Rational, entry_type, exactly
from optsched.instances.fields import Group, declare, in_file, refused
from optsched.instances.read_only import ReadOnly

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


LARGEST_WORK = 10**9
"""Worker-slots of a job."""
LATEST = 10**12
"""Slots: Unix time stamps in milliseconds are below."""

MOST = 1_000_000
"""Chunks, epochs, mini-batches of a job; slots of a horizon."""


def _work_is_given_once(job: Any) -> Any:
    direct = (job.work_slow, job.work_fast)
    if (direct[0] is None) != (direct[1] is None):
        raise ValueError("work_slow and work_fast must be given together")
    if (direct[0] is None) == (job.minibatch_time is None):
        raise ValueError("the work must be given once: minibatch_time, or work_slow and work_fast")
    for name in ("minibatch_time", "bandwidth_mbps"):
        if getattr(job, name) == 0:
            raise ValueError(f"{name} must be greater than 0")
    return job


def _works(job: Any, slot_hours: float) -> tuple[Fraction, Fraction]:
    """(Omega_j / p^0_j, Omega_j / p^1_j) of a job in a file by (1), worker-slots."""
    if job.work_slow is not None:
        return job.work_slow, job.work_fast
    passes = job.epochs * job.num_chunks * job.minibatches_per_chunk
    here = job.minibatch_time + job.update_time
    seconds = 16 * job.gradient_size_mb / job.bandwidth_mbps
    return passes * (here + seconds / (3600 * exactly(slot_hours))), passes * here


@dataclass(frozen=True, eq=False)
class System(Declared):
    """What an online algorithm knows before the first job."""

    groups: ClassVar[dict[str, Group]] = {
        "servers": Group("servers[]", "One server: an edge server, or the cloud."),
        "jobs": Group(
            "jobs[]",
            "One training job. Its work is given either by what the paper lists "
            "(``minibatch_time`` and the fields around it) or as work_slow and work_fast.",
            rule=_work_is_given_once,
        ),
    }
    filled: ClassVar[tuple[str, ...]] = ("servers",)

    slot_hours: float = declare(default=1.0, above=0, unit="hours", meaning="length of one slot")
    horizon: int = declare(
        default=100, at_least=1, at_most=MOST, symbol="T", unit="slots",
        meaning="span of arrivals, and part of the prices; no deadline",
    )  # fmt: skip
    worker_price_cap: float = declare(
        default=1.0, above=0, symbol="F_1", meaning="upper bound of unit prices of workers"
    )
    ps_price_cap: float = declare(
        default=1.0, above=0, symbol="F_2", meaning="upper bound of unit prices of PSs"
    )
    cloud_index: int | None = declare(
        default=None, index_of="servers", meaning="which server is the cloud"
    )
    worker_capacity: Floats = declare(
        "servers", "worker types", file="servers[].workers", at_least=0, whole=True, null=np.inf,
        symbol="W_su", meaning="workers of every type", note="null is unlimited",
    )  # fmt: skip
    ps_capacity: Floats = declare(
        "servers", "PS types", file="servers[].parameter_servers", at_least=0, whole=True,
        null=np.inf, symbol="P_sv", meaning="parameter servers of every type",
        note="null is unlimited",
    )  # fmt: skip

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
class Job(ReadOnly):
    """One job as an online algorithm sees it on arrival; every array is read-only."""

    id: int
    release_slot: int
    """a_j."""
    num_chunks: int
    """D_j."""
    exact_work_slow: Fraction
    """Omega_j / p^0_j, worker-slots."""
    exact_work_fast: Fraction
    """Omega_j / p^1_j, worker-slots."""
    worker_type: int
    """u_j."""
    ps_type: int
    """v_j."""
    upload_delay: Integers
    """Delta_js, shape (servers,), slots."""
    weight: float = 1.0
    """w_j."""

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def exact_work(self) -> tuple[Fraction, Fraction]:
        """(Omega_j / p^0_j, Omega_j / p^1_j), worker-slots, by mode xi."""
        return self.exact_work_slow, self.exact_work_fast

    @cached_property
    def work(self) -> tuple[int, int]:
        """The same, rounded up."""
        return ceil(self.exact_work_slow), ceil(self.exact_work_fast)

    def duration(self, workers: int, fast: bool) -> int:
        """d_j(N, xi), slots, by (1)."""
        return -(-self.work[fast] // workers)


@dataclass(frozen=True, eq=False)
class Instance(System):
    """An instance of the batch scheduling problem (2).

    Every array is read-only. Jobs keep the order given; ``arrivals`` orders them by
    (release slot, index).
    """

    format: ClassVar[str] = "optsched/batch/instance"
    filled: ClassVar[tuple[str, ...]] = ("servers", "jobs")

    release_slot: Integers = declare(
        "jobs", at_least=1, at_most=LATEST, symbol="a_j", unit="slots", meaning="arrival"
    )
    num_chunks: Integers = declare(
        "jobs", at_least=1, at_most=MOST, symbol="D_j", meaning="data chunks, and most workers"
    )
    epochs = in_file(
        "jobs", int, default=1, at_least=1, at_most=MOST, symbol="E_j", meaning="epochs"
    )
    minibatches_per_chunk = in_file(
        "jobs", int, default=1, at_least=1, at_most=MOST, symbol="M_j",
        meaning="mini-batches per chunk",
    )  # fmt: skip
    minibatch_time = in_file(
        "jobs", Rational, default=None, symbol="n_j", unit="slots",
        meaning="one mini-batch on one worker",
    )  # fmt: skip
    update_time = in_file(
        "jobs", Rational, default=Fraction(0), symbol="H_j", unit="slots",
        meaning="parameter-server update per mini-batch",
    )  # fmt: skip
    gradient_size_mb = in_file(
        "jobs", Rational, default=Fraction(0), symbol="k_j", unit="10^6 bytes", meaning="gradients"
    )
    bandwidth_mbps = in_file(
        "jobs", Rational, default=Fraction(1000), symbol="B_j", unit="Mbit/s", meaning="bandwidth"
    )
    exact_work_slow: tuple[Fraction, ...] = declare(
        "jobs", file="jobs[].work_slow", file_default=None, repr=False, symbol="Omega_j / p^0_j",
        unit="worker-slots", meaning="all mini-batches with communication",
    )  # fmt: skip
    exact_work_fast: tuple[Fraction, ...] = declare(
        "jobs", file="jobs[].work_fast", file_default=None, repr=False, symbol="Omega_j / p^1_j",
        unit="worker-slots", meaning="the same on one server, at most work_slow",
    )  # fmt: skip
    worker_type: Integers = declare(
        "jobs", default=0, index_of="worker types", symbol="u_j", meaning="type of worker"
    )
    ps_type: Integers = declare(
        "jobs", default=0, index_of="PS types", symbol="v_j", meaning="type of parameter server"
    )
    upload_delay: Integers = declare(
        "jobs", "servers", at_least=0, symbol="Delta_js", unit="slots",
        meaning="delay of a chunk to every server",
    )  # fmt: skip
    weight: Floats = declare("jobs", default=1.0, above=0, symbol="w_j", meaning="weight")
    jobs_document: tuple[Any, ...] | None = declare(
        "jobs", file="jobs[]", default=None, repr=False,
        meaning="the jobs as read from a file, kept so that writing gives back what was read",
    )  # fmt: skip

    def contradictions(self) -> Iterator[FieldProblem]:
        """Works out of order; (A1): somewhere a worker and a PS of each job's types."""
        pairs = zip(self.exact_work_slow, self.exact_work_fast, strict=True)
        for j, (slow, fast) in enumerate(pairs):
            if not 0 < fast <= slow <= LARGEST_WORK:
                allowed = f"0 < work_fast <= work_slow <= {LARGEST_WORK}"
                yield FieldProblem(f"jobs[{j}].work_fast", (str(slow), str(fast)), allowed)
        for name, capacity in (
            ("worker_type", self.worker_capacity),
            ("ps_type", self.ps_capacity),
        ):
            there: Booleans = np.asarray((capacity >= 1).any(axis=0))
            lacking = ~there[getattr(self, name)]
            yield from refused(self, name, lacking, "a type that some server has")

    @classmethod
    def build(cls, **given: Any) -> Instance:
        """Build from array-likes; scalars spread over the jobs, and delays over jobs.

        ``work_slow`` and ``work_fast`` are Omega_j / p^0_j and Omega_j / p^1_j, one number, text
        or fraction per job; capacities have a row per server, ``inf`` is unlimited.
        """
        given = Given(given)
        for name in ("worker_capacity", "ps_capacity"):
            given[name] = np.atleast_2d(given[name])
        for name in ("work_slow", "work_fast"):
            works = given.take(name)
            try:
                given[f"exact_{name}"] = tuple(map(exactly, works))
            except ValueError as error:
                raise InputError.of(f"jobs[].{name}", list(works), str(error)) from None
        return super().build(**given)

    @classmethod
    def read(cls, document: Any) -> dict[str, Any]:
        """Arguments of ``build`` from a validated file."""
        works = [_works(job, document.slot_hours) for job in document.jobs]
        given = super().read(document)
        del given["exact_work_slow"], given["exact_work_fast"]
        return given | {"work_slow": [w for w, _ in works], "work_fast": [w for _, w in works]}

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
        return self.entry(j, Job, id=j)

    @cached_property
    def arrival_order(self) -> Integers:
        """Jobs by (a_j, j), shape (jobs,)."""
        return np.lexsort((np.arange(self.jobs), self.release_slot))

    def arrivals(self) -> Iterator[Job]:
        """The jobs in order of (release slot, index), one at a time."""
        return (self.job(int(j)) for j in self.arrival_order)

    def select_jobs(self, kept: Integers | Sequence[int]) -> Instance:
        """The instance with the jobs of these indices only, renumbered in that order."""
        return self.select({"jobs": kept})


def by_worker_type(instance: Instance) -> list[Instance]:
    """The jobs of each type of worker by themselves: a schedule's runs of one type are one's."""
    kinds = np.unique(instance.worker_type)
    return [instance.select_jobs(np.flatnonzero(instance.worker_type == u)) for u in kinds]


JobDocument = entry_type(Instance, "jobs")
"""A job in a file; named here so that it can be pickled."""
