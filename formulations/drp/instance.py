"""Data nodes, edge servers and jobs, as arrays, with the loads everything else is written in.

A *pair* is a data node with one of its feasible servers: (i, j) with j in V_i. Pairs are sorted
by node, then server; arrays over pairs are the sparse index set of x_ij.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import FieldProblem, InputError
from optsched.instances.declared import Declared, Given
from optsched.instances.document import Index
from optsched.instances.fields import declare, in_file

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

NO_SERVER = -1
"""Server index of a node that is not associated."""

_SHOWN = 3
"""Entries of one field that a refusal names."""


@dataclass(frozen=True, eq=False)
class Instance(Declared):
    """An instance of DRP (5) and DSRP (22) (Chen et al., Sections 2 and 4).

    Every array is read-only; storage is unlimited and every job has a service of its own, which
    takes no storage, unless given.

    Raises:
        InputError: a field has the wrong shape or a value out of range, a node has no feasible
            server, a job has no nodes.
    """

    format: ClassVar[str] = "optsched/drp/instance"
    filled: ClassVar[tuple[str, ...]] = ("nodes", "servers", "jobs")

    node_job: Integers = declare(
        "nodes", index_of="jobs", symbol="k(i)", meaning="job each data node serves"
    )
    node_rate_bps: Floats = declare(
        "nodes", above=0, symbol="u_i", unit="bit/s", meaning="upload rate"
    )
    node_data_bytes: Floats = declare(
        "nodes", above=0, symbol="d_i", unit="bytes", meaning="data amount"
    )
    feasible_servers = in_file(
        "nodes",
        tuple[tuple[Index, ...], ...],
        file="node_servers",
        index_of="servers",
        symbol="V_i",
        meaning="feasible servers of each node",
    )
    pair_node: Integers = declare(
        "pairs", derived=True, index_of="nodes", meaning="node of each pair, ascending"
    )
    pair_server: Integers = declare(
        "pairs", derived=True, index_of="servers",
        meaning="server of each pair, ascending within a node",
    )  # fmt: skip
    server_inbound_bps: Floats = declare(
        "servers", above=0, symbol="r^d_j", unit="bit/s", meaning="bandwidth from data nodes"
    )
    server_compute_flops: Floats = declare(
        "servers", above=0, symbol="r^c_j", unit="FLOP/s", meaning="compute"
    )
    server_outbound_bps: Floats = declare(
        "servers", above=0, symbol="r^b_j", unit="bit/s",
        meaning="bandwidth to the parameter servers",
    )  # fmt: skip
    server_storage_bytes: Floats = declare(
        "servers", default=np.inf, above=0, null=np.inf, symbol="r^o_j", unit="bytes",
        meaning="storage for services", note="null is unlimited",
    )  # fmt: skip
    job_deadline_s: Floats = declare(
        "jobs", above=0, symbol="tau_k", unit="seconds", meaning="time for training"
    )
    job_batch_bytes: Floats = declare(
        "jobs", default=1.0, required=True, above=0, symbol="f_k", unit="bytes",
        meaning="mini-batch",
    )  # fmt: skip
    job_flops_per_batch: Floats = declare(
        "jobs", default=0.0, required=True, at_least=0, symbol="g_k", unit="FLOP",
        meaning="work per mini-batch",
    )  # fmt: skip
    job_model_bytes: Floats = declare(
        "jobs", default=0.0, required=True, at_least=0, symbol="h_k", unit="bytes",
        meaning="parameters",
    )  # fmt: skip
    job_sync_period: Integers = declare(
        "jobs", default=1, required=True, at_least=1, symbol="E_k",
        meaning="iterations between two global updates",
    )  # fmt: skip
    job_epochs: Integers = declare(
        "jobs", default=1, at_least=1, symbol="chi_k", meaning="epochs", note="null is 1 each"
    )
    job_service: Integers = declare(
        "jobs", file_default=None, index_of="services", symbol="s(k)",
        meaning="service of each job", note="null is one of its own",
    )  # fmt: skip
    service_size_bytes: Floats = declare(
        "services", default=0.0, at_least=0, symbol="s^o_l", unit="bytes",
        meaning="storage of each service", note="null is nothing",
    )  # fmt: skip
    comm_share: float = declare(
        default=0.5, above=0, below=1, symbol="epsilon",
        meaning="communication's share of the deadline in LP1 and LP2",
    )  # fmt: skip
    node_xy: Floats | None = declare("nodes", "2", default=None, unit="cells", meaning="positions")
    server_xy: Floats | None = declare(
        "servers", "2", default=None, unit="cells", meaning="positions"
    )

    def contradictions(self) -> Iterator[FieldProblem]:
        """Nodes without a server, jobs without a node."""
        for node in np.flatnonzero(self.degree == 0)[:_SHOWN].tolist():
            yield FieldProblem(f"node_servers[{node}]", [], "at least one feasible server")
        for job in np.setdiff1d(np.arange(self.num_jobs), self.node_job)[:_SHOWN].tolist():
            allowed = "at least one node for every job"
            yield FieldProblem("node_job", f"no node of job {job}", allowed)

    @classmethod
    def build(cls, **given: Any) -> Instance:
        """Build from array-likes; scalars spread over nodes, servers or jobs.

        ``node_servers`` lists the feasible servers V_i of each node. The number of servers is
        that of ``server_inbound_bps``, of jobs that of ``job_deadline_s``.
        """
        given = Given(given)
        listed: Sequence[Sequence[int]] = given.take("node_servers")
        servers = np.size(given["server_inbound_bps"])
        for node, reach in enumerate(listed):
            for at, server in enumerate(reach):
                if not 0 <= server < servers:
                    allowed = f"a server in 0..{servers - 1}"
                    raise InputError.of(f"node_servers[{node}][{at}]", server, allowed)
        if given.get("job_service") is None:
            given["job_service"] = np.arange(np.size(given["job_deadline_s"]))
        given["node_job"] = np.broadcast_to(given["node_job"], len(listed))
        pair_node, pair_server = _pairs(listed)
        return super().build(pair_node=pair_node, pair_server=pair_server, **given)

    @classmethod
    def read(cls, document: Any) -> dict[str, Any]:
        """Arguments of ``build`` from a validated file."""
        return super().read(document) | {"node_servers": document.node_servers}

    def written(self) -> dict[str, Any]:
        """What a file holds, by path."""
        return super().written() | {"node_servers": self.node_servers()}

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

    def select_jobs(self, kept: Integers) -> Instance:
        """The instance with the jobs of these indices only, ascending, and their nodes."""
        nodes = np.flatnonzero(np.isin(self.node_job, kept))
        pairs = np.flatnonzero(np.isin(self.pair_node, nodes))
        return self.select(
            {"jobs": kept, "nodes": nodes, "pairs": pairs},
            node_job=np.searchsorted(kept, self.node_job[nodes]),
            pair_node=np.searchsorted(nodes, self.pair_node[pairs]),
        )

    def node_servers(self) -> tuple[tuple[int, ...], ...]:
        """V_i of each node."""
        parts = np.split(self.pair_server, self.first_pair[1:-1])
        return tuple(tuple(part.tolist()) for part in parts)


def _pairs(node_servers: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
    """Pairs sorted by node, then server; a server named twice counts once."""
    degree = [len(servers) for servers in node_servers]
    node = np.repeat(np.arange(len(degree)), degree)
    server = np.array([j for servers in node_servers for j in servers], dtype=np.int64)
    pairs = np.unique(np.stack([node, server], axis=1), axis=0)
    return pairs[:, 0].copy(), pairs[:, 1].copy()
