"""Decisions of DSRP by taking some jobs out and inserting as many as fit, one after the other.

A job goes where that is cheapest: storage has prices, and bandwidth and compute of a server cost
the more the fuller it is. Storage is never exceeded; where something else would be, the server
becomes dearer and the job is tried again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from formulations.drp.exact.service_columns import cheapest_servers
from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.loads import load_factor, visible
from optsched.jit import njit_cached

REMOVED = (2, 6)
"""Jobs destroyed at a time."""
PATIENCE = 1
"""Non-improving neighbourhoods, for each pair of jobs, after which the search ends."""
ATTEMPTS = 5
"""Prices at which one job is tried."""
PENALTY = 4.0
"""Factor on the prices of an overfull server."""
LOAD_PRICE = 0.02
"""Price of all of an empty server's bandwidth or compute."""
SPREAD = 0.15
"""Relative, of prices from one neighbourhood to the next."""
DISORDER = 0.3
"""Relative, of the prices by which jobs are ordered."""
TEMPERATURE = 0.02
"""Mean loss, relative to the dearest job, at which a decision of as many jobs is still taken."""
_ANY = 1e9  # what a job is worth: it is inserted wherever it fits


class Insertion:
    """An association of whole jobs, what it takes of every server, and moves on it."""

    def __init__(self, instance: Instance, rng: np.random.Generator, rent: Floats) -> None:
        """Begin with no jobs.

        Args:
            instance: the system.
            rng: which jobs are destroyed, and in which order they are repaired.
            rent: price of each service on each server, shape (services, servers).
        """
        self.instance, self.rng = instance, rng
        self.assoc: Integers = np.full(instance.num_data_nodes, NO_SERVER)
        self._size = visible(instance.service_load)
        self._first = np.array([nodes[0] for nodes in instance.job_nodes])
        loads = np.stack(
            [instance.inbound_load, instance.compute_load, instance.comm_load, instance.cross_load]
        )
        # jobs that need a service on a server, loads and storage taken, loads of each job inside
        self._needed: Integers = np.zeros(self._size.shape, dtype=np.int64)
        self._load: Floats = np.zeros((4, instance.num_servers))
        self._stored: Floats = np.zeros(instance.num_servers)
        self._own: Floats = np.zeros((instance.num_jobs, 4, instance.num_servers))
        # node within the job, server and loads of the pairs of every job
        self._pairs: list[tuple[Integers, Integers, Floats]] = []
        for nodes, pairs in zip(instance.job_nodes, instance.job_pairs, strict=True):
            row = np.searchsorted(nodes, instance.pair_node[pairs])
            at = instance.pair_server[pairs]
            self._pairs.append((row, at, np.ascontiguousarray(loads[:, pairs])))
        self._rent = rent + self._size * LOAD_PRICE
        self._alone = np.full(instance.num_jobs, np.inf)
        for k in range(instance.num_jobs):  # what each job costs on empty servers
            if self._insert(k, self._rent):
                self._alone[k] = self._price
                self._remove(k)

    @property
    def _count(self) -> int:
        """Jobs inside."""
        return len(self._jobs(True))

    @property
    def _price(self) -> float:
        """Price of the storage taken."""
        return float(((self._needed > 0) * self._rent).sum())

    def _copy(self) -> tuple[Integers, Integers, Floats, Floats, Floats]:
        """What moves change."""
        rest = self._load.copy(), self._stored.copy(), self._own.copy()
        return self.assoc.copy(), self._needed.copy(), *rest

    def _jobs(self, inside: bool) -> Integers:
        return np.flatnonzero((self.assoc[self._first] != NO_SERVER) == inside)

    def search(self, most: float, go_on: Callable[[], bool]) -> Integers:
        """Neighbourhoods until so many jobs are in, or nothing more comes of it.

        Returns:
            The best association met, shape (nodes,).
        """
        self._fill(self._rent)
        best, count, price = self.assoc.copy(), self._count, self._price
        most_jobs, stale, patience = count, 0, PATIENCE * self.instance.num_jobs**2
        temperature = TEMPERATURE * float(
            self._alone.max(initial=0.0, where=np.isfinite(self._alone))
        )
        with suppress(TimeoutError):  # loops not compiled yet; what was met counts all the same
            while most_jobs < most and stale < patience and go_on():
                before = self._copy()
                self._empty()
                noise = self.rng.uniform(1 - SPREAD, 1 + SPREAD, self._rent.shape[1])
                self._fill(self._rent * noise)
                now, cost, stale = self._count, self._price, stale + 1
                if now > most_jobs:
                    best, most_jobs, stale = self.assoc.copy(), now, 0
                if now > count or (
                    now == count and cost - price < temperature * self.rng.exponential()
                ):
                    count, price = now, cost
                else:
                    self.assoc, self._needed, self._load, self._stored, self._own = before
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
        service, server = self.instance.job_service[k], np.unique(self.assoc[nodes])
        self._load -= self._own[k]
        self._needed[service, server] -= 1
        self._stored = self._filled()
        self.assoc[nodes] = NO_SERVER

    def _filled(self) -> Floats:
        """Share of each server's storage that is taken, shape (servers,)."""
        return np.asarray(np.where(self._needed > 0, self._size, 0.0).sum(axis=0))

    def _insert(self, k: int, rent: Floats) -> bool:
        """Put a job where it is cheapest; whether it fits."""
        service, (row, at, taken) = self.instance.job_service[k], self._pairs[k]
        nodes, size = self.instance.job_nodes[k], self._size[service]
        held = self._needed[service] > 0
        usable = held | (self._stored + size <= 1.0)
        fixed = np.where(held, 0.0, rent[service])
        server, load = placed(row, at, taken, usable, fixed, self._load, len(nodes))
        if server[0] < 0:
            return False
        self._own[k] = load - self._load
        self._load = load
        self.assoc[nodes] = server
        self._needed[service, np.unique(server)] += 1
        self._stored = self._filled()
        return True


@njit_cached
def placed(
    row: Integers,
    at: Integers,
    taken: Floats,
    usable: Booleans,
    fixed: Floats,
    load: Floats,
    nodes: int,
) -> tuple[Integers, Floats]:
    """Servers of a job's nodes at least price, none overfull.

    Args:
        row: node of each of the job's pairs, shape (pairs,).
        at: server of each pair.
        taken: of bandwidth, compute, communication and both together, shape (4, pairs).
        usable: whether a server can hold the service.
        fixed: price of holding it, at least 0, shape (servers,).
        load: what is taken of every server, shape (4, servers).
        nodes: how many.

    Returns:
        Server of each node, -1 where the job does not fit, and the load then.
    """
    servers = load.shape[1]
    reach = np.zeros(servers)
    for p in range(len(at)):
        if usable[at[p]]:
            reach[at[p]] -= 1.0
    order = np.argsort(reach, kind="mergesort")  # servers that reach many nodes first
    number = int((reach < 0).sum())
    position = np.full(servers, -1)
    for n in range(number):
        position[order[n]] = n
    price = LOAD_PRICE / np.maximum(1.0 - load, LOAD_PRICE)
    job = np.zeros(nodes, dtype=np.int64)
    table = np.full((nodes, number), np.inf)
    pair = np.full((nodes, number), -1)
    server = np.full(nodes, -1)
    for _ in range(ATTEMPTS):
        for p in range(len(at)):
            j = at[p]
            if position[j] >= 0:
                cost = 0.0
                for r in range(4):
                    cost += taken[r, p] * price[r, j]
                table[row[p], position[j]] = cost
                pair[row[p], position[j]] = p
        held = cheapest_servers(fixed[order[:number]], table, job, 1, _ANY)[1]
        if held.sum() == 0:
            break
        after = load.copy()
        for i in range(nodes):
            best = -1
            for n in range(number):
                if held[n] == 1 and (best < 0 or table[i, n] < table[i, best]):
                    best = n
            server[i] = order[best]
            for r in range(4):
                after[r, order[best]] += taken[r, pair[i, best]]
        fits = True
        for j in range(servers):
            factor = load_factor(after[1, j], after[2, j], after[3, j])
            if max(after[0, j], factor) > 1 and reach[j] < 0:
                fits = False
                for r in range(4):
                    price[r, j] *= PENALTY
        if fits:
            return server, after
    server[:] = -1
    return server, load
