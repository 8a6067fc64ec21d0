"""Data nodes, edge servers and jobs, as arrays, with the loads everything else is written in.

A *pair* is a data node with one of its feasible servers: (i, j) with j in V_i. Pairs are sorted
by node, then server; arrays over pairs are the sparse index set of x_ij.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.drp.document import InstanceDocument
from optsched.arrays import freeze, refused, spread
from optsched.document import Document
from optsched.errors import FieldProblem, InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

NO_SERVER = -1
"""Server index of a node that is not associated."""

_POSITIVE = (
    "node_rate_bps", "node_data_bytes", "server_inbound_bps", "server_compute_flops",
    "server_outbound_bps", "job_deadline_s", "job_batch_bytes",
)  # fmt: skip
_NON_NEGATIVE = ("job_flops_per_batch", "job_model_bytes", "service_size_bytes")
_SHOWN = 3
"""Entries of one field that a refusal names."""


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance of DRP (5) and DSRP (22) (Chen et al., Sections 2 and 4).

    Every array is read-only.

    Raises:
        InputError: a field has the wrong shape or a value out of range, a node has no feasible
            server, a job has no nodes.
    """

    document_type: ClassVar[type[Document]] = InstanceDocument

    node_job: Integers
    """k(i), shape (nodes,)."""
    node_rate_bps: Floats
    """u_i, shape (nodes,), bit/s."""
    node_data_bytes: Floats
    """d_i, shape (nodes,), bytes."""
    pair_node: Integers
    """Node of each pair, ascending, shape (pairs,)."""
    pair_server: Integers
    """Server of each pair, ascending within a node, shape (pairs,)."""
    server_inbound_bps: Floats
    """r^d_j, shape (servers,), bit/s."""
    server_compute_flops: Floats
    """r^c_j, shape (servers,), FLOP/s."""
    server_outbound_bps: Floats
    """r^b_j, shape (servers,), bit/s."""
    server_storage_bytes: Floats
    """r^o_j, shape (servers,), bytes; may be infinite."""
    job_deadline_s: Floats
    """tau_k, shape (jobs,), seconds."""
    job_batch_bytes: Floats
    """f_k, shape (jobs,), bytes."""
    job_flops_per_batch: Floats
    """g_k, shape (jobs,), FLOP."""
    job_model_bytes: Floats
    """h_k, shape (jobs,), bytes."""
    job_sync_period: Integers
    """E_k, shape (jobs,)."""
    job_epochs: Integers
    """chi_k, shape (jobs,)."""
    job_service: Integers
    """s(k), shape (jobs,)."""
    service_size_bytes: Floats
    """s^o_l, shape (services,), bytes."""
    comm_share: float = 0.5
    """epsilon of LP1 and LP2, in (0, 1)."""
    node_xy: Floats | None = None
    """Shape (nodes, 2), cell units."""
    server_xy: Floats | None = None
    """Shape (servers, 2), cell units."""

    @classmethod
    def build(
        cls,
        *,
        node_job: ArrayLike,
        node_rate_bps: ArrayLike,
        node_data_bytes: ArrayLike,
        node_servers: Sequence[Sequence[int]],
        server_inbound_bps: ArrayLike,
        server_compute_flops: ArrayLike,
        server_outbound_bps: ArrayLike,
        job_deadline_s: ArrayLike,
        **rest: Any,
    ) -> Instance:
        """Build from array-likes; scalars spread over nodes, servers or jobs.

        The number of servers is that of ``server_inbound_bps``, of jobs that of
        ``job_deadline_s``. Storage is unlimited and every job has a service of its own unless
        given; a service takes no storage unless given.
        """
        nodes, servers = len(node_servers), np.size(server_inbound_bps)
        jobs = np.size(job_deadline_s)
        service = rest.pop("job_service", None)
        service = np.arange(jobs) if service is None else np.asarray(service)
        size = rest.pop("service_size_bytes", 0.0)
        services = np.size(size) if np.ndim(size) else int(service.max(initial=-1)) + 1
        columns: dict[str, tuple[ArrayLike, int, type]] = {
            "node_job": (node_job, nodes, int),
            "node_rate_bps": (node_rate_bps, nodes, float),
            "node_data_bytes": (node_data_bytes, nodes, float),
            "server_inbound_bps": (server_inbound_bps, servers, float),
            "server_compute_flops": (server_compute_flops, servers, float),
            "server_outbound_bps": (server_outbound_bps, servers, float),
            "server_storage_bytes": (rest.pop("server_storage_bytes", np.inf), servers, float),
            "job_deadline_s": (job_deadline_s, jobs, float),
            "job_batch_bytes": (rest.pop("job_batch_bytes", 1.0), jobs, float),
            "job_flops_per_batch": (rest.pop("job_flops_per_batch", 0.0), jobs, float),
            "job_model_bytes": (rest.pop("job_model_bytes", 0.0), jobs, float),
            "job_sync_period": (rest.pop("job_sync_period", 1), jobs, int),
            "job_epochs": (rest.pop("job_epochs", 1), jobs, int),
            "job_service": (service, jobs, int),
            "service_size_bytes": (size, services, float),
        }
        arrays: dict[str, Any] = {name: spread(name, *how) for name, how in columns.items()}
        pair_node, pair_server = _pairs(node_servers)
        return cls(pair_node=pair_node, pair_server=pair_server, **arrays, **rest)

    def __post_init__(self) -> None:
        freeze(self)
        problems = list(_problems(self))
        if problems:
            raise InputError(problems)

    # sizes

    @property
    def num_data_nodes(self) -> int:
        """Data nodes n."""
        return len(self.node_job)

    @property
    def num_servers(self) -> int:
        """Servers m."""
        return len(self.server_inbound_bps)

    @property
    def num_jobs(self) -> int:
        """Jobs q."""
        return len(self.job_deadline_s)

    @property
    def num_services(self) -> int:
        """Services p."""
        return len(self.service_size_bytes)

    @property
    def num_pairs(self) -> int:
        """Number of x_ij: the sum of all |V_i|."""
        return len(self.pair_node)

    # coefficients

    @cached_property
    def flop_per_byte(self) -> Floats:
        """A_k = g_k chi_k / f_k, shape (jobs,), FLOP/byte."""
        return self.job_flops_per_batch * self.job_epochs / self.job_batch_bytes

    @cached_property
    def bit_per_byte(self) -> Floats:
        """B_k = 8 chi_k h_k / (E_k f_k), shape (jobs,), bit/byte."""
        updates = self.job_epochs / (self.job_sync_period * self.job_batch_bytes)
        return np.asarray(8 * updates * self.job_model_bytes)

    @cached_property
    def pair_job(self) -> Integers:
        """Job of each pair, shape (pairs,)."""
        return self.node_job[self.pair_node]

    @cached_property
    def node_compute(self) -> Floats:
        """A_k d_i / tau_k: FLOP/s that node i's data ask for if communication took no time."""
        return (self.flop_per_byte / self.job_deadline_s)[self.node_job] * self.node_data_bytes

    @cached_property
    def node_outbound(self) -> Floats:
        """B_k d_i / tau_k: bit/s that node i's data ask for if computing took no time."""
        return (self.bit_per_byte / self.job_deadline_s)[self.node_job] * self.node_data_bytes

    @cached_property
    def compute_load(self) -> Floats:
        """alpha_ij: share of server j's compute, communication taking no time; shape (pairs,)."""
        return self.node_compute[self.pair_node] / self.server_compute_flops[self.pair_server]

    @cached_property
    def comm_load(self) -> Floats:
        """beta_ij: share of server j's outbound bandwidth, computing taking no time; (pairs,)."""
        return self.node_outbound[self.pair_node] / self.server_outbound_bps[self.pair_server]

    @cached_property
    def cross_load(self) -> Floats:
        """gamma_ij = sqrt(alpha_ij beta_ij), shape (pairs,)."""
        return np.sqrt(self.compute_load * self.comm_load)

    @cached_property
    def inbound_load(self) -> Floats:
        """u_i / r^d_j, shape (pairs,)."""
        return self.node_rate_bps[self.pair_node] / self.server_inbound_bps[self.pair_server]

    @cached_property
    def service_load(self) -> Floats:
        """s^o_l / r^o_j, shape (services, servers)."""
        return np.divide.outer(self.service_size_bytes, self.server_storage_bytes)

    # lookups

    @cached_property
    def first_pair(self) -> Integers:
        """Pairs of node i are first_pair[i] .. first_pair[i + 1] - 1; shape (nodes + 1,)."""
        return np.searchsorted(self.pair_node, np.arange(self.num_data_nodes + 1))

    @cached_property
    def degree(self) -> Integers:
        """|V_i|, shape (nodes,)."""
        return np.diff(self.first_pair)

    @cached_property
    def job_nodes(self) -> tuple[Integers, ...]:
        """C_k: the nodes of each job, ascending."""
        order = np.argsort(self.node_job, kind="stable")
        size = np.bincount(self.node_job, minlength=self.num_jobs)
        return tuple(np.split(order, np.cumsum(size)[:-1]))

    @cached_property
    def job_pairs(self) -> tuple[Integers, ...]:
        """Pairs of each job, ascending."""
        order = np.argsort(self.pair_job, kind="stable")
        size = np.bincount(self.pair_job, minlength=self.num_jobs)
        return tuple(np.split(order, np.cumsum(size)[:-1]))

    @cached_property
    def _pair_key(self) -> Integers:
        return self.pair_node * self.num_servers + self.pair_server

    def pair_of(self, node: ArrayLike, server: ArrayLike) -> Integers:
        """Index of each pair (node, server); -1 where the server is not in V_i."""
        given = np.asarray(server, dtype=np.int64)
        key = np.asarray(node, dtype=np.int64) * self.num_servers + given
        at = np.minimum(np.searchsorted(self._pair_key, key), self.num_pairs - 1)
        found = (self._pair_key[at] == key) & (given >= 0) & (given < self.num_servers)
        return np.where(found, at, -1)

    def node_servers(self) -> list[list[int]]:
        """V_i of each node."""
        return [part.tolist() for part in np.split(self.pair_server, self.first_pair[1:-1])]

    # files

    @classmethod
    def from_document(cls, document: InstanceDocument) -> Instance:
        """Arrays from a validated file.

        Raises:
            InputError: lists of different lengths, or an index out of range.
        """
        nodes, servers = len(document.node_job), len(document.server_inbound_bps)
        jobs = len(document.job_deadline_s)
        problems = []
        for name in type(document).model_fields:
            value = getattr(document, name)
            width = {"node": nodes, "server": servers, "job": jobs}.get(name.split("_")[0])
            if isinstance(value, list) and width is not None and len(value) != width:
                allowed = f"one entry per {name.split('_')[0]} ({width})"
                problems.append(FieldProblem(name, f"{len(value)} entries", allowed))
        if problems:
            raise InputError(problems)
        given: dict[str, Any] = {
            name: getattr(document, name)
            for name in type(document).model_fields
            if name not in ("format", "version") and getattr(document, name) is not None
        }
        storage = given.get("server_storage_bytes", [None] * servers)
        given["server_storage_bytes"] = [np.inf if size is None else size for size in storage]
        for name in ("node_xy", "server_xy"):
            if name in given:
                given[name] = np.array(given[name], dtype=float).reshape(-1, 2)
        return cls.build(**given)

    def to_document(self) -> InstanceDocument:
        """The file that gives back this instance."""
        arrays: dict[str, Any] = {
            item.name: getattr(self, item.name).tolist()
            for item in fields(self)
            if isinstance(getattr(self, item.name), np.ndarray) and not item.name.startswith("pair")
        }
        arrays["server_storage_bytes"] = [
            None if np.isinf(size) else float(size) for size in self.server_storage_bytes
        ]
        return InstanceDocument(
            node_servers=self.node_servers(), comm_share=self.comm_share, **arrays
        )


def _pairs(node_servers: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
    """Pairs sorted by node, then server; a server named twice counts once."""
    degree = [len(servers) for servers in node_servers]
    node = np.repeat(np.arange(len(degree)), degree)
    server = np.array([j for servers in node_servers for j in servers], dtype=np.int64)
    pairs = np.unique(np.stack([node, server], axis=1), axis=0)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _problems(instance: Instance) -> Iterator[FieldProblem]:
    refuse = partial(refused, instance)

    counts = {
        "node_job": instance.num_data_nodes,
        "job_deadline_s": instance.num_jobs,
        "server_inbound_bps": instance.num_servers,
    }
    for name, count in counts.items():
        if count == 0:
            yield FieldProblem(name, [], "at least one entry")
    for name in _POSITIVE:
        value = getattr(instance, name)
        yield from refuse(name, ~(np.isfinite(value) & (value > 0)), "a finite number > 0")
    for name in _NON_NEGATIVE:
        value = getattr(instance, name)
        yield from refuse(name, ~(np.isfinite(value) & (value >= 0)), "a finite number >= 0")
    yield from refuse(
        "server_storage_bytes", ~(instance.server_storage_bytes > 0), "a number > 0, or infinite"
    )
    for name in ("job_sync_period", "job_epochs"):
        yield from refuse(name, getattr(instance, name) < 1, "an integer >= 1")
    for name, count, what in (
        ("node_job", instance.num_jobs, "job"),
        ("job_service", instance.num_services, "service"),
        ("pair_server", instance.num_servers, "server"),
    ):
        value = getattr(instance, name)
        shown = "node_servers" if name == "pair_server" else name
        wrong = np.flatnonzero((value < 0) | (value >= count))[:_SHOWN]
        where = instance.pair_node[wrong] if name == "pair_server" else wrong
        for at, index in zip(where.tolist(), value[wrong].tolist(), strict=True):
            yield FieldProblem(f"{shown}[{at}]", index, f"a {what} in 0..{count - 1}")
    seen = np.bincount(instance.pair_node, minlength=instance.num_data_nodes)
    for node in np.flatnonzero(seen == 0)[:_SHOWN].tolist():
        yield FieldProblem(f"node_servers[{node}]", [], "at least one feasible server")
    idle = np.setdiff1d(np.arange(instance.num_jobs), instance.node_job)
    for job in idle[:_SHOWN].tolist():
        yield FieldProblem("node_job", f"no node of job {job}", "at least one node for every job")
    if not 0 < instance.comm_share < 1:
        yield FieldProblem("comm_share", instance.comm_share, "a number in (0, 1)")
    for name, count in (("node_xy", instance.num_data_nodes), ("server_xy", instance.num_servers)):
        place = getattr(instance, name)
        if place is not None and place.shape != (count, 2):
            yield FieldProblem(name, f"shape {place.shape}", f"shape ({count}, 2)")
