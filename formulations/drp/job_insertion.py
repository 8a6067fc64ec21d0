"""Decisions of DSRP by taking some jobs out and inserting as many as fit, one after the other.

A job goes where that is cheapest: storage has prices, and bandwidth and compute of a server cost
the more the fuller it is. Storage is never exceeded; where something else would be, the server
becomes dearer and the job is tried again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.drp.instance import NO_SERVER, Floats, Instance, Integers
from formulations.drp.loads import server_load_factor, visible
from formulations.drp.service_columns import cheapest_use

REMOVED = (2, 6)
"""Jobs taken out at a time."""
PATIENCE = 2
"""Neighbourhoods in vain, for each pair of jobs, after which the search ends."""
ATTEMPTS = 5
"""Prices at which one job is tried."""
DEARER = 4.0
"""Factor on the prices of an overfull server."""
LOAD_PRICE = 0.02
"""Of all of an empty server's bandwidth or compute."""
SPREAD = 0.15
"""Relative, of prices from one neighbourhood to the next."""
DISORDER = 0.3
"""Relative, of the prices by which jobs are ordered."""
WARMTH = 0.02
"""Mean loss, relative to the dearest job, at which a decision of as many jobs is still taken."""
_ANY = 1e9  # what a job is worth: it is inserted wherever it fits


class Insertion:
    """An association of whole jobs, what it takes of every server, and moves on it."""

    def __init__(self, instance: Instance, rng: np.random.Generator, rent: Floats) -> None:
        """Begin with no jobs.

        Args:
            instance: the system.
            rng: of what is taken out, and in which order jobs come in.
            rent: price of all of each server's storage, shape (servers,).
        """
        self.instance, self.rng = instance, rng
        self.assoc: Integers = np.full(instance.num_data_nodes, NO_SERVER)
        self._size = visible(instance.service_load)
        self._taken = np.stack(
            [instance.inbound_load, instance.compute_load, instance.comm_load, instance.cross_load]
        )
        self._needed = np.zeros(self._size.shape, dtype=np.int64)  # jobs per service and server
        self._load = np.zeros((4, instance.num_servers))
        self._rent = rent + LOAD_PRICE
        self._alone = np.full(instance.num_jobs, np.inf)
        for k in range(instance.num_jobs):  # what each job costs on empty servers
            if self._insert(k, self._rent):
                self._alone[k] = self._price
                self._remove(k)

    @property
    def count(self) -> int:
        """Jobs admitted."""
        return len(self._jobs(True))

    @property
    def _price(self) -> float:
        """Of the storage taken."""
        return float(((self._needed > 0) * self._size * self._rent).sum())

    def _jobs(self, inside: bool) -> Integers:
        first = np.array([nodes[0] for nodes in self.instance.job_nodes])
        return np.flatnonzero((self.assoc[first] != NO_SERVER) == inside)

    def search(self, most: float, go_on: Callable[[], bool]) -> Integers:
        """Neighbourhoods until so many jobs are in, or nothing more comes of it.

        Returns:
            The best association met, shape (nodes,).
        """
        self._fill(self._rent)
        best, count, price = self.assoc.copy(), self.count, self._price
        most_jobs, vain, patience = count, 0, PATIENCE * self.instance.num_jobs**2
        warmth = WARMTH * float(self._alone.max(initial=0.0, where=np.isfinite(self._alone)))
        while most_jobs < most and vain < patience and go_on():
            before = self.assoc.copy(), self._needed.copy(), self._load.copy()
            self._empty()
            noise = self.rng.uniform(1 - SPREAD, 1 + SPREAD, len(self._rent))
            self._fill(self._rent * noise)
            now, cost, vain = self.count, self._price, vain + 1
            if now > most_jobs:
                best, most_jobs, vain = self.assoc.copy(), now, 0
            if now > count or (now == count and cost - price < warmth * self.rng.exponential()):
                count, price = now, cost
            else:
                self.assoc, self._needed, self._load = before
        return best

    def _empty(self) -> None:
        """Take some jobs out, those on one server first."""
        inside = self._jobs(True)
        server = self.rng.integers(self.instance.num_servers)
        there = self._needed[self.instance.job_service[inside], server] > 0
        order = np.argsort(-(there + self.rng.random(len(inside))))
        for k in inside[order[: self.rng.integers(*REMOVED, endpoint=True)]].tolist():
            self._remove(k)

    def _fill(self, rent: Floats) -> None:
        """Insert every job that fits, about in the order of their prices."""
        out = self._jobs(False)
        out = out[np.isfinite(self._alone[out])]
        noise = self.rng.uniform(1 - DISORDER, 1 + DISORDER, len(out))
        for k in out[np.argsort(self._alone[out] * noise)].tolist():
            self._insert(k, rent)

    def _remove(self, k: int) -> None:
        nodes = self.instance.job_nodes[k]
        self._load = self._load - self._loads(nodes, self.assoc[nodes])
        self._needed[self.instance.job_service[k], np.unique(self.assoc[nodes])] -= 1
        self.assoc[nodes] = NO_SERVER

    def _loads(self, nodes: Integers, server: Integers) -> Floats:
        """What nodes take of every server, shape (4, servers)."""
        taken = self._taken[:, self.instance.pair_of(nodes, server)]
        return np.array([np.bincount(server, row, self._load.shape[1]) for row in taken])

    def _insert(self, k: int, rent: Floats) -> bool:
        """Put a job where it is cheapest; whether it fits."""
        instance, nodes = self.instance, self.instance.job_nodes[k]
        service = int(instance.job_service[k])
        held = self._needed[service] > 0
        room = 1.0 - np.where(self._needed > 0, self._size, 0.0).sum(axis=0)
        usable = held | (self._size[service] <= room)
        fixed = np.where(held, 0.0, self._size[service] * rent)
        pairs = instance.job_pairs[k][usable[instance.pair_server[instance.job_pairs[k]]]]
        at, row = instance.pair_server[pairs], np.searchsorted(nodes, instance.pair_node[pairs])
        if len(np.unique(row)) < len(nodes):
            return False
        price = LOAD_PRICE / np.maximum(1.0 - self._load, LOAD_PRICE)
        table = np.full((len(nodes), instance.num_servers), np.inf)
        for _ in range(ATTEMPTS):
            table[row, at] = (self._taken[:, pairs] * price[:, at]).sum(axis=0)
            server = cheapest_use(fixed, table, np.zeros(len(nodes), np.int64), _ANY)[1]
            load = self._load + self._loads(nodes, server)
            over = np.maximum(load[0], server_load_factor(*load[1:])) > 1
            if not over.any():
                self._load = load
                self.assoc[nodes] = server
                self._needed[service, np.unique(server)] += 1
                return True
            price[:, over] *= DEARER
        return False
