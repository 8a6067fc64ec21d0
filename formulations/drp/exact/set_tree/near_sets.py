"""Every set of servers on which a job loses little against the prices of a relaxation.

Unlike minimal covering sets these are all that a schedule may use: one server more than needed
takes storage, and loads off the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.exact.covering_sets import CoveringSets, joined_sets
from formulations.drp.exact.service_columns import cheapest_servers
from formulations.drp.exact.set_tree.configurations import SAFE
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible
from optsched.jit import njit_cached

MOST_SETS = 200_000
"""Most sets of all jobs together; with more none are listed."""
MOST_SERVERS = 62
"""A set of more is no whole number of 64 bits."""
_DEAR = 3.0  # what training a job is worth where its cheapest set is sought: 1 counts
_ROUNDING = 1e-9


class NearSets(NamedTuple):
    """Sets of all jobs, and what is known of every schedule of as many jobs as wanted."""

    sets: CoveringSets
    must: Booleans
    """Jobs that every such schedule trains, shape (jobs,)."""
    spare: float
    """What all jobs together may lose."""


def near_sets(
    instance: Instance, rent: Floats, price: Floats, paid: float, target: int
) -> NearSets | None:
    """The sets that a schedule of so many jobs may use.

    What a job is worth, 1, less what its set costs, is at most the gain of its cheapest set; what
    all gains and the price of all capacities exceed the target by, jobs may lose in all.

    Args:
        instance: the system, with a separate service for every job.
        rent: price of each service on each server, at least 0, shape (services, servers).
        price: of each pair, at least 0, shape (pairs,).
        paid: price of all capacities together.
        target: jobs.

    Returns:
        None where the sets, or the servers, are too many.
    """
    if instance.num_servers > MOST_SERVERS:
        return None
    tables = [_Table.of(instance, k, rent, price) for k in range(instance.num_jobs)]
    gain = np.array([max(0.0, 1.0 - table.least()) for table in tables])
    spare = paid + float(gain.sum()) - target
    spare += _ROUNDING * (1.0 + paid + len(gain))
    jobs, prices, servers, left = [], [], [], MOST_SETS
    for k, table in enumerate(tables):
        masks, cost = table.within(1.0 - gain[k] + spare, left)
        left -= len(masks)
        if left <= 0:
            return None
        held = (masks[:, None] >> np.arange(instance.num_servers)) & 1
        jobs.append(np.full(len(masks), k))
        prices.append(cost)
        servers.append(held)
    return NearSets(
        joined_sets(np.concatenate(jobs), np.concatenate(prices), np.concatenate(servers),
                    instance.num_jobs),
        gain > spare,
        spare,
    )  # fmt: skip


class _Table(NamedTuple):
    """What a job's sets cost."""

    fee: Floats
    """Fee of each server, infinite if the service is too large; shape (servers,)."""
    node: Floats
    """Cost of each node at each server, infinite out of reach; shape (nodes, servers)."""

    @classmethod
    def of(cls, instance: Instance, job: int, rent: Floats, price: Floats) -> _Table:
        pairs, nodes = instance.job_pairs[job], instance.job_nodes[job]
        table = np.full((len(nodes), instance.num_servers), np.inf)
        at = np.searchsorted(nodes, instance.pair_node[pairs]), instance.pair_server[pairs]
        table[at] = price[pairs]
        service = instance.job_service[job]
        fits = visible(instance.service_load)[service] <= 1.0 + SAFE
        return cls(np.where(fits, rent[service], np.inf), np.where(fits, table, np.inf))

    def _used(self) -> Integers:
        return np.flatnonzero(np.isfinite(self.node).any(axis=0))

    def least(self) -> float:
        """What the cheapest set costs, as far as it is below ``_DEAR``."""
        used = self._used()
        if not np.isfinite(self.node).any(axis=1).all():
            return _DEAR
        table = np.ascontiguousarray(self.node[:, used])
        value, _ = cheapest_servers(
            self.fee[used], table, np.zeros(len(table), dtype=np.int64), 1, _DEAR
        )
        return _DEAR + value

    def within(self, most: float, room: int) -> tuple[Integers, Floats]:
        """Sets that cost no more, as masks of servers, and what they cost; so many at most."""
        used = self._used()
        if not np.isfinite(self.node).any(axis=1).all():
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        table = np.ascontiguousarray(self.node[:, used])
        masks, cost = sets_within(self.fee[used], table, used.astype(np.int64), most, max(room, 1))
        return masks, cost


@njit_cached
def sets_within(
    fee: Floats, table: Floats, server: Integers, most: float, room: int
) -> tuple[Integers, Floats]:
    """Sets of servers that cost no more than so much, depth first; the first so many.

    Args:
        fee: of each server, shape (servers,).
        table: of each node at each server, infinite out of reach, shape (nodes, servers).
        server: number of each server, below ``MOST_SERVERS``, shape (servers,).
        most: price.
        room: number of sets.
    """
    nodes, servers = table.shape
    ahead = np.full((servers + 1, nodes), np.inf)  # least price of a node from a server on
    for s in range(servers - 1, -1, -1):
        ahead[s] = np.minimum(ahead[s + 1], table[:, s])
    behind = np.full((servers + 1, nodes), np.inf)  # of those chosen before it
    spent, mask = np.zeros(servers + 1), np.zeros(servers + 1, dtype=np.int64)
    tried = np.zeros(servers + 1, dtype=np.int64)
    masks, prices = np.zeros(room, dtype=np.int64), np.zeros(room)
    found = s = 0
    while s >= 0 and found < room:
        if tried[s] == 0:
            price = spent[s] + np.minimum(behind[s], ahead[s]).sum()
            if not price <= most:
                s -= 1
                continue
            if s == servers:
                masks[found], prices[found] = mask[s], price
                found += 1
                s -= 1
                continue
        if tried[s] == 2:
            s -= 1
            continue
        taken = 1 - tried[s]
        tried[s] += 1
        behind[s + 1] = np.minimum(behind[s], table[:, s]) if taken == 1 else behind[s]
        spent[s + 1] = spent[s] + taken * fee[s]
        mask[s + 1] = mask[s] + (taken << server[s])
        s += 1
        tried[s] = 0
    return masks[:found], prices[:found]
