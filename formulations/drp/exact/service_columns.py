"""Relaxation of DSRP over whole services: where one stands, and which jobs it trains how.

Columns are generated over what servers hold: storage, inbound bandwidth, (CUT) at some angles. At
given prices a service and its jobs are an uncapacitated facility location problem, which branch
and bound over the servers solves. Storage cuts of the fractional choice are added in rounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from formulations.drp.exact.storage_cuts import StorageRows
from formulations.drp.instance import Floats, Instance, Integers
from formulations.drp.loads import cut_weights, visible
from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnGeneration,
    ColumnSolution,
    Duals,
    GenerationOptions,
    Priced,
)
from optsched.jit import njit_cached

ROUNDING = 1e-9
"""Margin by which bounds of pricing, relative to 1 and to them, are on the safe side."""


class Use(NamedTuple):
    """What a column stands for."""

    placed: Integers
    """Servers that hold the service."""
    pairs: Integers
    """Pairs of the nodes of the jobs that it trains, one for each node."""


class Charges(NamedTuple):
    """What prices of the rows make everything cost."""

    rent: Floats
    """Rent of each service on each server, shape (services, servers)."""
    pair: Floats
    """Price of what each pair takes, shape (pairs,)."""
    storage: float
    """Price of all that the rows on storage have, together."""
    loads: float
    """Price of all that the other rows have, together."""

    @property
    def total(self) -> float:
        """Price of all that servers have."""
        return self.storage + self.loads


class ServiceColumns:
    """Rows, columns and pricing; the objective is the number of jobs, negated."""

    def __init__(self, instance: Instance, angles: int) -> None:
        """Begin with rows at so many angles, and none that cuts storage."""
        self.instance = instance
        grid = np.linspace(0, np.pi / 2, angles)
        weights = [visible(instance.inbound_load), *(cut_weights(instance, a) for a in grid)]
        self.weights = np.array(weights)
        """What each pair takes of its server's rows, shape (rows a server, pairs)."""
        self.storage = StorageRows(instance)
        """The rows on services, which come first."""
        self.rent: Floats = np.zeros((instance.num_services, instance.num_servers))
        """Price of each service on each server, when last asked; shape (services, servers)."""
        self.node_price: Floats = np.zeros(instance.num_pairs)
        """Price of what each pair takes, when last asked; shape (pairs,)."""
        self._known: dict[tuple[int, bytes, bytes], Use] = {}

    @cached_property
    def _pairs(self) -> list[Integers]:
        """Pairs of each service."""
        service = self.instance.job_service[self.instance.pair_job]
        return [np.flatnonzero(service == s) for s in range(self.instance.num_services)]

    def column(self, service: int, use: Use) -> Column:
        """A service on some servers, training some jobs."""
        servers, pairs = self.instance.num_servers, use.pairs
        kinds = len(self.weights)
        row = np.arange(kinds)[:, None] * servers + self.instance.pair_server[pairs]
        taken = np.bincount(row.ravel(), self.weights[:, pairs].ravel(), kinds * servers)
        placed = np.zeros(servers, dtype=np.bool_)
        placed[use.placed] = True
        rows = self.storage
        counted = np.where(placed[rows.server], rows.counts[:, service], 0.0)
        values = np.concatenate([counted, taken])
        used = np.flatnonzero(values)
        jobs = len(np.unique(self.instance.pair_job[pairs]))
        return Column(service, -float(jobs), used, values[used], payload=use)

    def price(self, service: int, duals: Duals) -> Priced:
        """The cheapest use of a service."""
        instance, own = self.instance, len(self.storage.server)
        paid = -duals.rows[own:].reshape(-1, instance.num_servers)
        pairs = self._pairs[service]
        if not len(pairs):
            return Priced([], bound=0.0)
        self.node_price[pairs] = (
            self.weights[:, pairs] * paid[:, instance.pair_server[pairs]]
        ).sum(axis=0)
        at, node = instance.pair_server[pairs], instance.pair_node[pairs]
        nodes, row = np.unique(node, return_inverse=True)
        table = np.full((len(nodes), instance.num_servers), np.inf)
        table[row, at] = self.node_price[pairs]
        counted = -duals.rows[:own] * self.storage.counts[:, service]
        rent = self.rent[service]
        rent[:] = 0.0
        np.add.at(rent, self.storage.server, counted)
        job = np.unique(instance.node_job[nodes], return_inverse=True)[1]
        value, server = cheapest_use(rent, table, job, duals.weight)
        bound = value - ROUNDING * (1.0 + abs(value))
        if not (server >= 0).any():
            return Priced([], bound=bound)
        trained = server >= 0
        chosen = instance.pair_of(nodes[trained], server[trained])
        use = Use(np.unique(server[trained]), chosen)
        self._known[service, use.placed.tobytes(), chosen.tobytes()] = use
        return Priced([self.column(service, use)], bound=bound)

    def charges(self, prices: Floats) -> Charges:
        """Costs at prices of the rows, those on storage first, as a relaxation returns them."""
        servers = self.instance.num_servers
        own = len(prices) - self.weights.shape[0] * servers
        paid = np.maximum(-prices, 0.0)
        rent = np.zeros((servers, self.instance.num_services))
        np.add.at(rent, self.storage.server[:own], paid[:own, None] * self.storage.counts[:own])
        of_pair = paid[own:].reshape(-1, servers)[:, self.instance.pair_server]
        pair = (self.weights * of_pair).sum(axis=0)
        return Charges(rent.T, pair, float(paid[:own].sum()), float(paid[own:].sum()))

    def solve(self, options: GenerationOptions) -> ColumnSolution:
        """The relaxation with the rows there are, beginning with every column met before."""
        instance = self.instance
        rows = len(self.storage.server) + self.weights.shape[0] * instance.num_servers
        return ColumnGeneration(
            np.full(rows, -np.inf), np.ones(rows),
            [ColumnBlock(lower=0)] * instance.num_services, self.price,
            initial=[self.column(service, use) for (service, *_), use in self._known.items()],
        ).solve_relaxation(options)  # fmt: skip

    def cut(self, chosen: Iterable[tuple[Column, float]]) -> bool:
        """Add the storage cuts that a fractional choice violates; whether there are any."""
        placed = np.zeros((self.instance.num_services, self.instance.num_servers))
        for column, weight in chosen:
            placed[column.block, column.payload.placed] += weight
        return self.storage.cut(placed)


def cheapest_use(
    rent: Floats, table: Floats, job: Integers, worth: float
) -> tuple[float, Integers]:
    """Where a service stands and which jobs it trains, at least cost.

    Args:
        rent: price of the service at each server, shape (servers,).
        table: price of a node at a server, infinite out of reach, shape (nodes, servers).
        job: of each node, numbered from 0; shape (nodes,).
        worth: of training a job.

    Returns:
        The least total, at most 0, and the server of each node, -1 where its job is not trained.
    """
    inside = np.isfinite(table)
    used = np.flatnonzero(inside.any(axis=0))
    # servers that reach many nodes first
    order = used[np.argsort(-inside[:, used].sum(axis=0), kind="stable")]
    ordered = np.ascontiguousarray(table[:, order])
    value, held = cheapest_servers(rent[order], ordered, job, int(job.max()) + 1, worth)
    server = np.full(len(table), -1)
    if held.any():
        open_servers = order[held > 0]
        column = table[:, open_servers].argmin(axis=1)
        least = table[np.arange(len(table)), open_servers[column]]
        trained = np.bincount(job, weights=least) < worth
        server = np.where(trained[job], open_servers[column], -1)
    return value, server


@njit_cached
def cheapest_servers(
    rent: Floats, table: Floats, job: Integers, jobs: int, worth: float
) -> tuple[float, Integers]:
    """Depth first, with or without each server in turn; 1 for the servers of the best."""
    nodes, servers = table.shape
    ahead = np.full((servers + 1, nodes), np.inf)  # least price of a node from a server on
    gain = np.zeros(servers + 1)  # negative rents from a server on
    for s in range(servers - 1, -1, -1):
        gain[s] = gain[s + 1] + min(rent[s], 0.0)
        for i in range(nodes):
            ahead[s, i] = min(ahead[s + 1, i], table[i, s])
    behind = np.full((servers + 1, nodes), np.inf)  # of those chosen before it
    spent = np.zeros(servers + 1)
    total = np.zeros(jobs)
    best = 0.0
    held = np.zeros(servers, dtype=np.int64)
    chosen = np.zeros(servers, dtype=np.int64)
    tried = np.zeros(servers + 1, dtype=np.int64)
    s = 0
    while s >= 0:
        if tried[s] == 0:
            total[:] = 0.0
            for i in range(nodes):
                total[job[i]] += min(behind[s, i], ahead[s, i])
            bound = spent[s] + gain[s]
            for k in range(jobs):
                bound += min(0.0, total[k] - worth)
            if bound >= best:
                s -= 1
                continue
            if s == servers:
                best = bound
                held = chosen.copy()
                s -= 1
                continue
        if tried[s] == 2:
            tried[s] = 0
            chosen[s] = 0
            s -= 1
            continue
        chosen[s] = 1 - tried[s]
        for i in range(nodes):
            behind[s + 1, i] = behind[s, i]
            if chosen[s] == 1:
                behind[s + 1, i] = min(behind[s, i], table[i, s])
        spent[s + 1] = spent[s] + rent[s] * chosen[s]
        tried[s] += 1
        s += 1
        tried[s] = 0
    return best, held
