"""Sites, bandwidth costs and jobs, as arrays.

Slots are 1, 2, ...: slot t is a whole slot, data move at its start and training fills the rest.
All rounding of workers and chunks is in whole numbers; rates are fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.okita.document import InstanceDocument, JobDocument
from formulations.okita.latency import PIECEWISE, Latencies
from optsched.arrays import freeze, refused, spread
from optsched.document import Document
from optsched.errors import FieldProblem, InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

_PER_JOB = (
    "release_slot", "num_chunks", "epochs", "rate_numerator", "rate_denominator", "chunk_size_mb",
    "exchange_size_mb", "worker_demand", "ps_demand",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance of problem (2) (unbiased distributed learning over edge sites).

    Every array is read-only.

    Raises:
        InputError: a field has the wrong shape or a value out of range, or a job can run nowhere
            even on the empty system (A1).
    """

    document_type: ClassVar[type[Document]] = InstanceDocument

    horizon: int
    """T: last slot in which a job may arrive."""
    capacity: Integers
    """C_r^k, shape (sites, resources), units per slot."""
    unit_bandwidth_cost: Floats
    """q^{rr'} from r to r', shape (sites, sites), money per MB; neither symmetry nor the triangle
    inequality is assumed."""
    release_slot: Integers
    """a_i in 1..T, shape (jobs,)."""
    num_chunks: Integers
    """D_i^r, shape (jobs, sites)."""
    epochs: Integers
    """E_i, shape (jobs,)."""
    rate_numerator: Integers
    """rho_i times its denominator, shape (jobs,), chunk-epochs per worker and slot."""
    rate_denominator: Integers
    """Shape (jobs,)."""
    chunk_size_mb: Floats
    """delta_i, shape (jobs,), MB."""
    exchange_size_mb: Floats
    """pi_i, shape (jobs,), MB per worker and slot, both directions together."""
    worker_demand: Integers
    """m_i^k, shape (jobs, resources), units."""
    ps_demand: Integers
    """n_i^k, shape (jobs, resources), units."""
    latency: Latencies
    """f_i."""

    @classmethod
    def build(
        cls,
        *,
        capacity: ArrayLike,
        unit_bandwidth_cost: ArrayLike,
        release_slot: ArrayLike,
        num_chunks: ArrayLike,
        latency: Latencies,
        worker_rate: ArrayLike | tuple[ArrayLike, ArrayLike],
        worker_demand: ArrayLike,
        ps_demand: ArrayLike,
        epochs: ArrayLike = 1,
        chunk_size_mb: ArrayLike = 1.0,
        exchange_size_mb: ArrayLike = 0.0,
        horizon: int | None = None,
    ) -> Instance:
        """Build from array-likes; scalars spread over jobs.

        ``worker_rate`` is whole, or a pair (numerators, denominators); the horizon defaults to
        the last arrival.
        """
        chunks: NDArray[Any] = np.atleast_2d(np.asarray(num_chunks))
        room: NDArray[Any] = np.asarray(capacity)
        room = room.reshape(-1, 1) if room.ndim == 1 else room
        jobs, resources = len(chunks), room.shape[-1]
        rate = worker_rate if isinstance(worker_rate, tuple) else (worker_rate, 1)
        released = spread("release_slot", release_slot, jobs, int)
        return cls(
            horizon=int(released.max(initial=1)) if horizon is None else horizon,
            capacity=spread("capacity", room, room.shape, int),
            unit_bandwidth_cost=np.array(unit_bandwidth_cost, dtype=np.float64),
            release_slot=released,
            num_chunks=spread("num_chunks", chunks, chunks.shape, int),
            epochs=spread("epochs", epochs, jobs, int),
            rate_numerator=spread("worker_rate", rate[0], jobs, int),
            rate_denominator=spread("worker_rate", rate[1], jobs, int),
            chunk_size_mb=spread("chunk_size_mb", chunk_size_mb, jobs, float),
            exchange_size_mb=spread("exchange_size_mb", exchange_size_mb, jobs, float),
            worker_demand=spread("worker_demand", worker_demand, (jobs, resources), int),
            ps_demand=spread("ps_demand", ps_demand, (jobs, resources), int),
            latency=latency,
        )

    def __post_init__(self) -> None:
        freeze(self)
        problems = list(_problems(self))
        if problems:
            raise InputError(problems)

    # sizes

    @property
    def jobs(self) -> int:
        """I."""
        return len(self.release_slot)

    @property
    def sites(self) -> int:
        """R."""
        return len(self.capacity)

    @property
    def resources(self) -> int:
        """K."""
        return int(self.capacity.shape[1])

    # workers and chunks

    @cached_property
    def total_chunks(self) -> Integers:
        """D_i, shape (jobs,)."""
        return np.asarray(self.num_chunks.sum(axis=1), dtype=np.int64)

    @cached_property
    def work_per_chunk(self) -> Integers:
        """E_i times the denominator of rho_i: y workers finish numerator * y // this chunks."""
        return self.epochs * self.rate_denominator

    def chunks_done(self, job: ArrayLike, workers: ArrayLike) -> Integers:
        """kappa_i(y): whole chunks that y workers of one site finish in a slot."""
        i = np.asarray(job, dtype=np.int64)
        return np.asarray(self.rate_numerator[i] * np.asarray(workers) // self.work_per_chunk[i])

    def workers_needed(self, job: ArrayLike, chunks: ArrayLike) -> Integers:
        """ceil(E_i h / rho_i): workers of one site that finish h chunks in a slot."""
        i = np.asarray(job, dtype=np.int64)
        needed = -(-self.work_per_chunk[i] * np.asarray(chunks) // self.rate_numerator[i])
        return np.asarray(needed, dtype=np.int64)

    @cached_property
    def most_workers(self) -> Integers:
        """N-bar_i = ceil(E_i D_i / rho_i), shape (jobs,)."""
        return self.workers_needed(np.arange(self.jobs), self.total_chunks)

    @cached_property
    def useful_workers(self) -> Integers:
        """Y_i^r: most workers ever useful at a site, shape (jobs, sites)."""
        alone = np.array([workers_within(self.capacity, m) for m in self.worker_demand])
        useful = np.minimum(alone, self.most_workers[:, None])
        return np.asarray(useful, dtype=np.int64)

    # parts

    def select_jobs(self, kept: ArrayLike) -> Instance:
        """The instance with these jobs only, renumbered in that order."""
        index: Integers = np.asarray(kept, dtype=np.int64)
        parts: dict[str, Any] = {name: getattr(self, name)[index] for name in _PER_JOB}
        return replace(self, latency=self.latency.select(index), **parts)

    # files

    @classmethod
    def from_document(cls, document: InstanceDocument) -> Instance:
        """Arrays from a validated file.

        Raises:
            InputError: lists of different lengths.
        """
        sites, jobs = len(document.capacity), document.jobs
        resources = len(document.capacity[0])
        problems = _uneven("capacity", document.capacity, resources)
        problems += _uneven("unit_bandwidth_cost", document.unit_bandwidth_cost, sites)
        if len(document.unit_bandwidth_cost) != sites:
            shown = f"{len(document.unit_bandwidth_cost)} rows"
            problems.append(FieldProblem("unit_bandwidth_cost", shown, f"one per site ({sites})"))
        for j, job in enumerate(jobs):
            for name, width in (
                ("num_chunks", sites), ("worker_demand", resources), ("ps_demand", resources)
            ):  # fmt: skip
                values = getattr(job, name)
                if len(values) != width:
                    allowed = f"{width} entries"
                    problems.append(FieldProblem(f"jobs[{j}].{name}", values, allowed))
        if problems:
            raise InputError(problems)
        rates = [_pair(job.worker_rate) for job in jobs]
        laws = [job.latency for job in jobs]
        return cls.build(
            horizon=document.horizon,
            capacity=np.array(document.capacity, dtype=np.int64).reshape(sites, resources),
            unit_bandwidth_cost=document.unit_bandwidth_cost,
            release_slot=[job.release_slot for job in jobs],
            num_chunks=[job.num_chunks for job in jobs],
            epochs=[job.epochs for job in jobs],
            worker_rate=([n for n, _ in rates], [d for _, d in rates]),
            chunk_size_mb=[job.chunk_size_mb for job in jobs],
            exchange_size_mb=[job.exchange_size_mb for job in jobs],
            worker_demand=[job.worker_demand for job in jobs],
            ps_demand=[job.ps_demand for job in jobs],
            latency=Latencies.build(
                [law.kind for law in laws],
                [law.weight for law in laws],
                rate=[law.rate for law in laws],
                offset=[law.offset for law in laws],
                late=[law.late for law in laws],
                breakpoint=[law.breakpoint for law in laws],
            ),
        )

    def to_document(self) -> InstanceDocument:
        """The file that gives back this instance."""
        return InstanceDocument(
            horizon=self.horizon,
            capacity=self.capacity.tolist(),
            unit_bandwidth_cost=self.unit_bandwidth_cost.tolist(),
            jobs=[self._job_document(i) for i in range(self.jobs)],
        )

    def _job_document(self, i: int) -> JobDocument:
        rate, divisor = int(self.rate_numerator[i]), int(self.rate_denominator[i])
        return JobDocument(
            release_slot=int(self.release_slot[i]),
            num_chunks=self.num_chunks[i].tolist(),
            epochs=int(self.epochs[i]),
            worker_rate=rate if divisor == 1 else (rate, divisor),
            chunk_size_mb=float(self.chunk_size_mb[i]),
            exchange_size_mb=float(self.exchange_size_mb[i]),
            worker_demand=self.worker_demand[i].tolist(),
            ps_demand=self.ps_demand[i].tolist(),
            latency=self.latency.document(i),
        )


def workers_within(room: Integers, demand: Integers) -> Integers:
    """Workers that fit into each row of free resources; resources not asked for do not count.

    Args:
        room: shape (..., resources), units; negative entries fit nothing that asks for them.
        demand: m_i^k, shape (resources,), not all 0.
    """
    asked = demand > 0
    fit = (room[..., asked] // demand[asked]).min(axis=-1)
    return np.asarray(np.maximum(fit, 0), dtype=np.int64)


def workers_beside_server(room: Integers, worker: Integers, server: Integers) -> Integers:
    """A^r for every site of the parameter server, shape (servers' sites, sites); -1: no room.

    Args:
        room: free resources, shape (sites, resources).
        worker: m_i^k.
        server: n_i^k.
    """
    sites = len(room)
    fit = np.repeat(workers_within(room, worker)[None], sites, axis=0)
    fit[np.arange(sites), np.arange(sites)] = workers_within(room - server, worker)
    fit[(room < server).any(axis=1)] = -1
    return fit


def _pair(rate: int | tuple[int, int]) -> tuple[int, int]:
    return rate if isinstance(rate, tuple) else (rate, 1)


def _uneven(name: str, rows: list[Any], width: int) -> list[FieldProblem]:
    return [
        FieldProblem(f"{name}[{r}]", row, f"{width} entries")
        for r, row in enumerate(rows)
        if len(row) != width
    ]


def _problems(instance: Instance) -> Iterator[FieldProblem]:
    refuse = partial(refused, instance)
    jobs, sites, resources = instance.jobs, instance.sites, instance.resources
    shapes: dict[str, tuple[int, ...]] = {
        "capacity": (sites, resources),
        "unit_bandwidth_cost": (sites, sites),
    }
    shapes |= dict.fromkeys(_PER_JOB, (jobs,))
    shapes |= {"num_chunks": (jobs, sites), "worker_demand": (jobs, resources)}
    shapes |= {"ps_demand": (jobs, resources)}
    wrong = {
        n: getattr(instance, n).shape for n in shapes if getattr(instance, n).shape != shapes[n]
    }
    wrong |= {"latency": (len(instance.latency),)} if len(instance.latency) != jobs else {}
    for name, shape in wrong.items():
        yield FieldProblem(name, f"shape {shape}", f"shape {shapes.get(name, (jobs,))}")
    if wrong or jobs == 0 or sites == 0 or resources == 0:
        if not wrong:
            yield FieldProblem("num_chunks", (jobs, sites), "at least one job, site and resource")
        return
    if instance.horizon < 1:
        yield FieldProblem("horizon", instance.horizon, "an integer >= 1")
    for name in ("capacity", "num_chunks", "worker_demand", "ps_demand"):
        yield from refuse(name, getattr(instance, name) < 0, "an integer >= 0")
    for name in ("epochs", "rate_numerator", "rate_denominator"):
        yield from refuse(name, getattr(instance, name) < 1, "an integer >= 1")
    released = instance.release_slot
    outside = (released < 1) | (released > instance.horizon)
    yield from refuse("release_slot", outside, f"a slot in 1..{instance.horizon}")
    size, exchange, q = (
        instance.chunk_size_mb, instance.exchange_size_mb, instance.unit_bandwidth_cost
    )  # fmt: skip
    yield from refuse("chunk_size_mb", ~(np.isfinite(size) & (size > 0)), "a finite number > 0")
    good = np.isfinite(exchange) & (exchange >= 0)
    yield from refuse("exchange_size_mb", ~good, "a finite number >= 0")
    allowed = "a finite number >= 0, and 0 on the diagonal"
    good = np.isfinite(q) & (q >= 0) & ~(np.eye(sites, dtype=bool) & (q != 0))
    yield from refuse("unit_bandwidth_cost", ~good, allowed)
    for i in np.flatnonzero(instance.total_chunks < 1)[:3].tolist():
        yield FieldProblem(
            f"num_chunks[{i}]", instance.num_chunks[i].tolist(), "at least one chunk"
        )
    idle = (instance.worker_demand <= 0).all(axis=1)
    for i in np.flatnonzero(idle)[:3].tolist():
        yield FieldProblem(f"worker_demand[{i}]", [0] * resources, "some resource per worker")
    yield from _latency_problems(instance.latency)
    if not idle.any() and (instance.capacity >= 0).all() and (instance.rate_numerator > 0).all():
        yield from _stranded(instance)


def _latency_problems(law: Latencies) -> Iterator[FieldProblem]:
    refuse = partial(refused, law)
    yield from refuse("weight", ~(np.isfinite(law.weight) & (law.weight > 0)), "a number > 0")
    for name in ("rate", "offset", "late", "breakpoint"):
        value = getattr(law, name)
        yield from refuse(name, ~(np.isfinite(value) & (value >= 0)), "a number >= 0")
    falls = (law.kind == PIECEWISE) & (law.late < law.weight)
    yield from refuse("late", falls, "at least the weight: a cost that does not fall")


def _stranded(instance: Instance) -> Iterator[FieldProblem]:
    """(A1): on the empty system one worker's chunk can be trained somewhere, beside a server."""
    found = 0
    for i in range(instance.jobs):
        fit = workers_beside_server(
            instance.capacity, instance.worker_demand[i], instance.ps_demand[i]
        )
        if fit.max() < instance.workers_needed(i, 1) and found < 3:
            found += 1
            allowed = "demands that the empty system can host, with a parameter server (A1)"
            yield FieldProblem(f"worker_demand[{i}]", instance.worker_demand[i].tolist(), allowed)
