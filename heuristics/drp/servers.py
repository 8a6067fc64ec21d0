"""Servers that are filled node by node: loads, services and storage, with a way back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.loads import server_load_factor
from formulations.drp.residual_capacity import ROUNDING, Mode


class Filling(NamedTuple):
    """Everything that placing a node changes."""

    load: Floats
    """Inbound, a, b, c of every server, shape (servers, 4)."""
    data: Floats
    """Data of the nodes placed, shape (servers,), bytes."""
    placed: Booleans
    """Services held, shape (services, servers)."""
    storage: Floats
    """Share of the storage they take, shape (servers,)."""
    assoc: Integers
    """Server of each node, shape (nodes,)."""

    def copy(self) -> Filling:
        """What later placements do not change."""
        return Filling(
            self.load.copy(),
            self.data.copy(),
            self.placed.copy(),
            self.storage.copy(),
            self.assoc.copy(),
        )


class Servers:
    """Nodes are placed one at a time, on servers where they fit."""

    def __init__(
        self, instance: Instance, mode: Mode, comm_share: float, *, services: bool
    ) -> None:
        self.instance = instance
        self.mode = mode
        self.comm_share = comm_share
        self.services = services
        servers = instance.num_servers
        self.now = Filling(
            np.zeros((servers, 4)),
            np.zeros(servers),
            np.zeros((instance.num_services, servers), dtype=bool),
            np.zeros(servers),
            np.full(instance.num_data_nodes, NO_SERVER),
        )
        self._pair_load = np.stack(
            [
                instance.inbound_load,
                instance.compute_load,
                instance.comm_load,
                instance.cross_load,
            ],
            axis=1,
        )

    def candidates(self, node: int) -> Integers:
        """Pairs of a node, by server."""
        first = self.instance.first_pair
        return np.arange(first[node], first[node + 1])

    def fits(self, pairs: Integers) -> Booleans:
        """Whether each pair's node, with its service, fits on its server; shape of ``pairs``."""
        return self.utilisation_with(pairs) <= 1 + ROUNDING

    def utilisation_with(self, pairs: Integers) -> Floats:
        """Utilisation of each pair's server, its node and service added; shape of ``pairs``."""
        server = self.instance.pair_server[pairs]
        storage = self.now.storage[server]
        if self.services:
            storage = storage + self._more_storage(pairs)
        return self._utilisation(self.now.load[server] + self._pair_load[pairs], storage)

    def _more_storage(self, pairs: Integers) -> Floats:
        """Share of storage that a pair's service would take beyond what is there."""
        service = self.instance.job_service[self.instance.pair_job[pairs]]
        server = self.instance.pair_server[pairs]
        missing = ~self.now.placed[service, server]
        return np.asarray(missing * self.instance.service_load[service, server])

    def new_service(self, pairs: Integers) -> Booleans:
        """Whether a pair's service is not on its server yet."""
        service = self.instance.job_service[self.instance.pair_job[pairs]]
        return ~self.now.placed[service, self.instance.pair_server[pairs]]

    def utilisation(self, servers: Integers) -> Floats:
        """Largest share of a capacity in use, storage included where services count."""
        return self._utilisation(self.now.load[servers], self.now.storage[servers])

    def _utilisation(self, load: Floats, storage: Floats) -> Floats:
        inbound, a, b, c = load.T
        if self.mode == "eps":
            full = np.maximum(a / (1 - self.comm_share), b / self.comm_share)
        else:
            full = server_load_factor(a, b, c)
        return np.asarray(np.maximum.reduce([inbound, full, storage]))

    def place(self, pair: int) -> None:
        """Put a node on a server, with its service."""
        instance = self.instance
        node, server = int(instance.pair_node[pair]), int(instance.pair_server[pair])
        if self.services:
            one = np.array([pair])
            self.now.storage[server] += self._more_storage(one)[0]
            self.now.placed[instance.job_service[instance.node_job[node]], server] = True
        self.now.load[server] += self._pair_load[pair]
        self.now.data[server] += instance.node_data_bytes[node]
        self.now.assoc[node] = server
