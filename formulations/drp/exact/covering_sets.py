"""Sets of servers that reach every node of a job, none of them superfluous.

Where storage is scarce a job's service stands on such a set.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible

MOST_STEPS = 20_000
"""Most steps of listing the sets of one job; beyond it, sets of dear servers are left out."""
MOST_SETS = 1000
"""Most sets of a job; the cheapest are kept."""


class CoveringSets(NamedTuple):
    """Sets of all jobs, those of one job together; their servers one after the other."""

    job: Integers
    """Shape (sets,)."""
    first: Integers
    """Sets of job k are first[k] .. first[k + 1] - 1; shape (jobs + 1,)."""
    start: Integers
    """Entries of set n are start[n] .. start[n + 1] - 1; shape (sets + 1,)."""
    server: Integers
    """Shape (entries,)."""
    price: Floats
    """At which the sets were chosen, shape (sets,)."""

    @property
    def cheapest(self) -> Floats:
        """Price of the cheapest set of each job, infinite where it has none; shape (jobs,)."""
        least = np.full(len(self.first) - 1, np.inf)
        np.minimum.at(least, self.job, self.price)
        return least

    @property
    def reduced_cost(self) -> Floats:
        """Return by how much a set costs more than the cheapest of its job, shape (sets,)."""
        return self.price - self.cheapest[self.job]

    def only(self, kept: Booleans) -> CoveringSets:
        """These sets; ``kept`` has shape (sets,)."""
        size = np.diff(self.start)
        entries = np.repeat(kept, size)
        of_job = np.bincount(self.job[kept], minlength=len(self.first) - 1)
        return CoveringSets(
            self.job[kept],
            _starts(of_job),
            _starts(size[kept]),
            self.server[entries],
            self.price[kept],
        )

    def part_on(self, servers: Booleans) -> tuple[CoveringSets, Integers]:
        """What sets have in common with some servers, none of a job twice.

        Args:
            servers: shape (servers,).

        Returns:
            These parts, at the price of the cheapest set that has them, and the part of each set.
        """
        at = np.flatnonzero(servers)
        held = np.zeros((len(self.job), len(servers)), dtype=np.int64)
        held[np.repeat(np.arange(len(self.job)), np.diff(self.start)), self.server] = 1
        rows = np.column_stack([self.job, held[:, at]])
        parts, of_set = np.unique(rows, axis=0, return_inverse=True)
        of_set = of_set.reshape(-1)
        price = np.full(len(parts), np.inf)
        np.minimum.at(price, of_set, self.price)
        held = np.zeros((len(parts), len(servers)), dtype=np.int64)
        held[:, at] = parts[:, 1:]
        return joined_sets(parts[:, 0], price, held, len(self.first) - 1), of_set


def covering_sets(instance: Instance, rent: Floats, price: Floats) -> CoveringSets:
    """List the sets of every job; none for a job with a node that no server can hold.

    Args:
        instance: the system.
        rent: price of each service on each server, at least 0, shape (services, servers).
        price: of each pair, at least 0, shape (pairs,).
    """
    size = visible(instance.service_load)
    servers, prices, counts = [], [], []
    for k in range(instance.num_jobs):
        table = _Table(instance, k, price)
        taken, fee = size[instance.job_service[k]], rent[instance.job_service[k]]
        found = [np.array(held) for held in _minimal(table.reach & (taken <= 1), fee)]
        cost = np.array([fee[s].sum() + table.price[:, s].min(axis=1).sum() for s in found])
        cheap = np.sort(np.argsort(cost, kind="stable")[:MOST_SETS])
        counts.append(len(cheap))
        prices.append(cost[cheap])
        servers += [found[n] for n in cheap]
    job = np.repeat(np.arange(instance.num_jobs), counts)
    return CoveringSets(
        job,
        _starts(counts),
        _starts([len(s) for s in servers]),
        np.concatenate([np.zeros(0, dtype=np.int64), *servers]),
        np.concatenate(prices),
    )


def joined_sets(job: Integers, price: Floats, held: Integers, jobs: int) -> CoveringSets:
    """Sets by the servers that they hold.

    Args:
        job: of each set, ascending, shape (sets,).
        price: of each set, shape (sets,).
        held: 1 for the servers of each set, shape (sets, servers).
        jobs: their number.
    """
    return CoveringSets(
        job,
        _starts(np.bincount(job, minlength=jobs)),
        _starts(held.sum(axis=1)),
        np.nonzero(held)[1],
        price,
    )


def _starts(sizes: ArrayLike) -> Integers:
    """Where parts of these sizes begin, one after the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


class _Table:
    """Reach and prices of one job, a row per node and a column per server."""

    def __init__(self, instance: Instance, job: int, price: Floats) -> None:
        pairs, nodes = instance.job_pairs[job], instance.job_nodes[job]
        at = np.searchsorted(nodes, instance.pair_node[pairs]), instance.pair_server[pairs]
        shape = len(nodes), instance.num_servers
        self.reach = np.zeros(shape, dtype=np.bool_)
        self.reach[at] = True
        self.price = np.full(shape, np.inf)
        self.price[at] = price[pairs]


def _minimal(reach: Booleans, fee: Floats) -> list[list[int]]:
    """Covering sets without a superfluous server, cheap servers tried first.

    Args:
        reach: whether a node reaches a server, shape (nodes, servers).
        fee: by which servers are tried in order, shape (servers,).
    """
    masks = sorted({sum(1 << int(j) for j in np.flatnonzero(row)) for row in reach})
    needed = [m for m in masks if not any(o & m == o != m for o in masks)]
    needed.sort(key=int.bit_count)
    order = np.argsort(fee, kind="stable").tolist()
    found: list[int] = []
    steps = itertools.count()

    def extend(held: int, without: int) -> None:
        if next(steps) >= MOST_STEPS:
            return
        row = next((m for m in needed if not m & held), None)
        if row is None:
            if all(any(m & held == 1 << j for m in needed) for j in _members(held)):
                found.append(held)
            return
        for j in order:
            if row & ~without & 1 << j:
                extend(held | 1 << j, without)
                without |= 1 << j

    extend(0, 0)
    return [_members(held) for held in found]


def _members(mask: int) -> list[int]:
    return [j for j in range(mask.bit_length()) if mask >> j & 1]
