"""Sites, bandwidth costs and jobs, as arrays.

Slots are 1, 2, ...: slot t is a whole slot, data move at its start and training fills the rest.
All rounding of workers and chunks is in whole numbers; rates are fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from formulations.okita.latency import PIECEWISE, Latencies
from optsched.errors import FieldProblem
from optsched.instances.declared import Declared, Given
from optsched.instances.fields import LARGEST_WHOLE, Group, declare, in_file, refused

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

LATEST = 10**12
"""Slots: Unix time stamps in milliseconds are below."""

LARGEST = 1e9
"""Largest size (MB) and bandwidth cost (money per MB): products with counts stay exact enough."""
Count = Annotated[int, Field(ge=1, le=LARGEST_WHOLE)]


@dataclass(frozen=True, eq=False)
class Instance(Declared):
    """An instance of problem (2) (unbiased distributed learning over edge sites).

    Every array is read-only.

    Raises:
        InputError: a field has the wrong shape or a value out of range, or a job can run nowhere
            even on the empty system (A1).
    """

    format: ClassVar[str] = "optsched/okita/instance"
    groups: ClassVar[dict[str, Group]] = {
        "jobs": Group("jobs[]", "One training job."),
        "latency": Group("jobs[].latency", "Cost of a flow time of x slots."),
    }
    filled: ClassVar[tuple[str, ...]] = ("jobs", "sites", "resources")

    horizon: int = declare(
        at_least=1, at_most=LATEST, symbol="T", unit="slots",
        meaning="last slot in which a job may arrive",
    )  # fmt: skip
    capacity: Integers = declare(
        "sites", "resources", at_least=0, symbol="C_r^k", unit="units per slot",
        meaning="units of each resource at each site",
    )  # fmt: skip
    unit_bandwidth_cost: Floats = declare(
        "sites", "sites", at_least=0, at_most=LARGEST, symbol="q^{rr'}", unit="money per MB",
        meaning="cost of moving data from site (row) to site (column), 0 on the diagonal",
        note="neither symmetry nor the triangle inequality is assumed",
    )  # fmt: skip
    release_slot: Integers = declare(
        "jobs", at_least=1, at_most=LATEST, symbol="a_i", unit="slots",
        meaning="arrival, at most the horizon",
    )  # fmt: skip
    num_chunks: Integers = declare(
        "jobs", "sites", at_least=0, symbol="D_i^r", meaning="data chunks at each site"
    )
    epochs: Integers = declare(
        "jobs", default=1, at_least=1, symbol="E_i", meaning="epochs of every chunk"
    )
    worker_rate = in_file(
        "jobs", Count | tuple[Count, Count], symbol="rho_i",
        unit="chunk-epochs per worker and slot", meaning="speed",
        note="a pair is numerator, denominator",
    )  # fmt: skip
    rate_numerator: Integers = declare(
        "jobs", file="jobs[].worker_rate", derived=True, at_least=1,
        unit="chunk-epochs per worker and slot", meaning="rho_i times its denominator",
    )  # fmt: skip
    rate_denominator: Integers = declare(
        "jobs", file="jobs[].worker_rate", derived=True, at_least=1, meaning="that denominator"
    )
    chunk_size_mb: Floats = declare(
        "jobs", default=1.0, required=True, above=0, at_most=LARGEST, symbol="delta_i",
        unit="MB", meaning="size of a chunk",
    )  # fmt: skip
    exchange_size_mb: Floats = declare(
        "jobs", default=0.0, required=True, at_least=0, at_most=LARGEST, symbol="pi_i", unit="MB",
        meaning="parameters exchanged per worker and slot, both directions together",
    )  # fmt: skip
    worker_demand: Integers = declare(
        "jobs", "resources", at_least=0, symbol="m_i^k", unit="units", meaning="of a worker"
    )
    ps_demand: Integers = declare(
        "jobs", "resources", at_least=0, symbol="n_i^k", unit="units",
        meaning="of the parameter server",
    )  # fmt: skip
    latency: Latencies = declare("jobs")

    def contradictions(self) -> Iterator[FieldProblem]:
        """Arrivals after the horizon, jobs without work, costs that fall; (A1)."""
        late = self.release_slot > self.horizon
        yield from refused(self, "release_slot", late, f"a slot in 1..{self.horizon}")
        inside = np.eye(self.sites, dtype=bool) & (self.unit_bandwidth_cost != 0)
        yield from refused(self, "unit_bandwidth_cost", inside, "0 on the diagonal")
        yield from refused(self, "num_chunks", self.total_chunks < 1, "at least one chunk")
        idle = (self.worker_demand == 0).all(axis=1)
        yield from refused(self, "worker_demand", idle, "some resource per worker")
        law = self.latency
        falls = (law.kind == PIECEWISE) & (law.late < law.weight)
        allowed = "at least the weight: a cost that does not fall"
        yield from refused(self, "latency.late", falls, allowed)
        if not idle.any():
            allowed = "demands that the empty system can host, with a parameter server (A1)"
            yield from refused(self, "worker_demand", self._stranded(), allowed)

    def _stranded(self) -> Booleans:
        """(A1) fails: on the empty system no worker's chunk can be trained beside a server."""
        fit = [
            workers_beside_server(self.capacity, worker, server).max()
            for worker, server in zip(self.worker_demand, self.ps_demand, strict=True)
        ]
        return np.asarray(np.array(fit) < self.workers_needed(np.arange(self.jobs), 1))

    @classmethod
    def build(cls, **given: Any) -> Instance:
        """Build from array-likes; scalars spread over jobs.

        ``worker_rate`` is whole, or a pair (numerators, denominators); the horizon defaults to
        the last arrival.
        """
        given = Given(given)
        given["num_chunks"] = np.atleast_2d(given["num_chunks"])
        room: NDArray[Any] = np.asarray(given["capacity"])
        given["capacity"] = room.reshape(-1, 1) if room.ndim == 1 else room
        rate = given.take("worker_rate")
        given["rate_numerator"], given["rate_denominator"] = (
            rate if isinstance(rate, tuple) else (rate, 1)
        )
        if given.get("horizon") is None:
            given["horizon"] = int(np.max(given["release_slot"], initial=1))
        return super().build(**given)

    @classmethod
    def read(cls, document: Any) -> dict[str, Any]:
        """Arguments of ``build`` from a validated file."""
        given = super().read(document)
        parts = [name for name in given if name.startswith("latency.")]
        law = {name.removeprefix("latency."): given.pop(name) for name in parts}
        rates = [job.worker_rate for job in document.jobs]
        pairs = [rate if isinstance(rate, tuple) else (rate, 1) for rate in rates]
        numerators, denominators = zip(*pairs, strict=True)
        return given | {
            "latency": Latencies.build(**law), "worker_rate": (numerators, denominators)
        }  # fmt: skip

    def written(self) -> dict[str, Any]:
        """What a file holds, by path."""
        rates = zip(self.rate_numerator.tolist(), self.rate_denominator.tolist(), strict=True)
        listed = [rate if divisor == 1 else (rate, divisor) for rate, divisor in rates]
        return super().written() | self.latency.written() | {"jobs[].worker_rate": listed}

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
        return self.select({"jobs": kept})


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
    """A^r for every site of the parameter server, shape (..., servers' sites, sites); -1: no room.

    Args:
        room: free resources, shape (..., sites, resources).
        worker: m_i^k.
        server: n_i^k.
    """
    sites = room.shape[-2]
    fit = np.repeat(workers_within(room, worker)[..., None, :], sites, axis=-2)
    fit[..., np.arange(sites), np.arange(sites)] = workers_within(room - server, worker)
    fit[(room < server).any(axis=-1)] = -1
    return fit
