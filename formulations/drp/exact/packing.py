"""Place the nodes of chosen jobs on servers: local search over moves and swaps.

Given the jobs, only feasibility is left: every node on one server of V_i, no server beyond its
inbound bandwidth or beyond load factor 1. Minimised is the sum over servers of the squared excess,
by tabu search: the best move or swap out of the fullest server, nodes just moved staying put.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.loads import server_load_factor

TENURE = (5, 25)
"""Iterations for which a node that was moved stays put."""
ROUNDING = 1e-12
"""Excess that counts as none."""


class Choice(NamedTuple):
    """Jobs that fit if nodes may be split, and how."""

    x: Floats
    """Shape (pairs,)."""
    admit: Booleans
    """Shape (jobs,)."""


class Packing:
    """An association of the nodes of some jobs, and how full it makes every server."""

    def __init__(
        self, instance: Instance, assoc: Integers, allowed: Booleans | None = None
    ) -> None:
        """Start from an association that may overload servers.

        Args:
            instance: the system.
            assoc: server of each node, in V_i; nodes without a server stay out.
            allowed: pairs that may be used, shape (pairs,); None: all.
        """
        self.instance = instance
        self.assoc = assoc.copy()
        self.reach: Booleans = np.zeros(
            (instance.num_data_nodes, instance.num_servers), dtype=np.bool_
        )
        self.reach[instance.pair_node, instance.pair_server] = True if allowed is None else allowed
        self.reach[assoc == NO_SERVER] = False
        compute, outbound = instance.node_compute, instance.node_outbound
        self._weight = np.stack(
            [instance.node_rate_bps, compute, outbound, np.sqrt(compute * outbound)], axis=1
        )
        capacity = instance.server_compute_flops, instance.server_outbound_bps
        self._per_unit = 1 / np.stack(
            [instance.server_inbound_bps, *capacity, np.sqrt(capacity[0] * capacity[1])], axis=1
        )
        node = np.flatnonzero(assoc != NO_SERVER)
        self._load = np.zeros((instance.num_servers, 4))
        np.add.at(self._load, assoc[node], self._loads(node, assoc[node]))

    @property
    def excess(self) -> Floats:
        """How far each server is beyond its capacity, relative to it, shape (servers,)."""
        return _excess(self._load)

    def search(self, rng: np.random.Generator, deadline: float, iterations: int) -> bool:
        """Search for an association without excess.

        Args:
            rng: of the tenures.
            deadline: ``time.perf_counter()`` at which to give up.
            iterations: after which to give up.

        Returns:
            Whether one was found; it is ``assoc`` then.
        """
        tabu = np.zeros(self.instance.num_data_nodes, dtype=np.int64)
        for iteration in range(1, iterations + 1):
            excess = self.excess
            if (excess <= ROUNDING).all():
                return True
            if time.perf_counter() > deadline:
                return False
            server = int(np.argmax(excess * rng.uniform(0.5, 1.0, len(excess))))
            moved = self._step(server, tabu <= iteration)
            tabu[moved] = iteration + rng.integers(*TENURE, len(moved))
        return bool((self.excess <= ROUNDING).all())

    def _loads(self, node: Integers, server: Integers) -> Floats:
        """What nodes add to servers: inbound, a, b, c; shape (..., 4)."""
        return np.asarray(self._weight[node] * self._per_unit[server])

    def _step(self, server: int, free: Booleans) -> Integers:
        """Make the best move or swap out of a server; the nodes moved."""
        here = np.flatnonzero((self.assoc == server) & free)
        if not len(here):
            return here
        best = [self._best_move(here, server), self._best_swap(here, server, free)]
        gain, nodes, targets = min(best, key=lambda choice: choice[0])
        if not np.isfinite(gain):
            return here[:0]
        for node, target in zip(nodes.tolist(), targets.tolist(), strict=True):
            self._load[self.assoc[node]] -= self._loads(node, self.assoc[node])
            self._load[target] += self._loads(node, target)
            self.assoc[node] = target
        return nodes

    def _best_move(self, here: Integers, server: int) -> tuple[float, Integers, Integers]:
        """Least change of the penalty by one node moving elsewhere."""
        row, target = np.nonzero(self.reach[here])
        away = target != server
        node, target = here[row[away]], target[away]
        if not len(node):
            return np.inf, node, target
        left = _penalty(self._load[server] - self._loads(node, np.full(len(node), server)))
        there = _penalty(self._load[target] + self._loads(node, target))
        change = left + there - _penalty(self._load[target])
        at = int(np.argmin(change))
        return (
            float(change[at] - _penalty(self._load[server])),
            node[at : at + 1],
            target[at : at + 1],
        )

    def _best_swap(
        self, here: Integers, server: int, free: Booleans
    ) -> tuple[float, Integers, Integers]:
        """Least change of the penalty by two nodes changing places."""
        other = np.flatnonzero(self.reach[:, server] & (self.assoc != server) & free)
        row, column = np.nonzero(self.reach[np.ix_(here, self.assoc[other])])
        node, partner = here[row], other[column]
        target = self.assoc[partner]
        if not len(node):
            return np.inf, node, target
        home = np.full(len(node), server)
        mine = self._load[server] - self._loads(node, home) + self._loads(partner, home)
        theirs = self._load[target] - self._loads(partner, target) + self._loads(node, target)
        change = _penalty(mine) + _penalty(theirs) - _penalty(self._load[target])
        at = int(np.argmin(change))
        return (
            float(change[at] - _penalty(self._load[server])),
            np.array([node[at], partner[at]]),
            np.array([target[at], server]),
        )


def _excess(load: Floats) -> Floats:
    factor = server_load_factor(load[..., 1], load[..., 2], load[..., 3])
    return np.asarray(np.maximum(0.0, np.maximum(load[..., 0], factor) - 1.0))


def _penalty(load: Floats) -> Floats:
    return np.asarray(_excess(load) ** 2)


def rounded(instance: Instance, chosen: Choice) -> Integers:
    """Each node of a chosen job on the server that has most of it."""
    order = np.lexsort((-chosen.x, instance.pair_node))
    most = instance.pair_server[order[instance.first_pair[:-1]]]
    return np.where(chosen.admit[instance.node_job], most, NO_SERVER)
