"""What a job may do in a slot, from every point of its lattice, and what is left to pay at least.

A move is a deployment: workers at sites, none idle, and the site of the server. It leads from one
point of the lattice to another, the same in every slot. At prices of what is limited a dynamic
program backwards over the slots gives the least price of going on from each point.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.okita.instance import Floats, Instance, Integers, workers_beside_server
from formulations.okita.lattice import Lattice
from formulations.okita.transport import cheapest_transport
from optsched.jit import njit_cached


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves of one job."""

    instance: Instance
    lattice: Lattice
    workers: Integers
    """Shape (moves, sites)."""
    server: Integers
    """Shape (moves,)."""

    @classmethod
    def of(cls, instance: Instance, lattice: Lattice) -> Moves:
        """All that fit on the empty system."""
        choices = _choices(instance, lattice)
        rows = [
            (*workers, server)
            for server, per_site in choices
            for workers in itertools.product(*per_site)
            if any(workers)
        ]
        table: Integers = np.array(rows, dtype=np.int64).reshape(-1, instance.sites + 1)
        return cls(instance, lattice, table[:, :-1].copy(), table[:, -1].copy())

    @property
    def done(self) -> int:
        """What stands for a job that has completed, beside its points."""
        return len(self.lattice.level)

    @cached_property
    def talk(self) -> Floats:
        """What the exchange costs, shape (moves,), money."""
        q = self.instance.unit_bandwidth_cost[:, self.server].T
        return np.asarray(
            self.instance.exchange_size_mb[self.lattice.job] * (self.workers * q).sum(1)
        )

    @cached_property
    def after(self) -> NDArray[np.int32]:
        """The point that a move leads to; -1 where there is none, shape (points, moves)."""
        levels = np.zeros(int(self.workers.max(initial=0)) + 1, dtype=np.int64)
        known = self.lattice.option_workers < len(levels)
        levels[self.lattice.option_workers[known]] = self.lattice.option_levels[known]
        gained = levels[self.workers]
        found: NDArray[np.int32] = np.empty((self.done, len(gained)), dtype=np.int32)
        _climb(self.lattice.above, gained, found)
        return found

    @cached_property
    def transport(self) -> Floats:
        """Cost of transport at points where all chunks are trained, else infinite, money."""
        instance, i, lattice = self.instance, self.lattice.job, self.lattice
        price = instance.unit_bandwidth_cost * instance.chunk_size_mb[i]
        flow = np.zeros(price.shape, dtype=np.int64)
        supply, total = instance.num_chunks[i], int(instance.total_chunks[i])
        cost = np.full(self.done, np.inf)
        for e in lattice.ends:
            cost[e] = cheapest_transport(
                supply, lattice.level[e] * lattice.unit, price, flow, total
            )
        return cost

    def to_go(self, price: Floats, flow_cost: Floats) -> Floats:
        """Least price from every point on, at the beginning of each slot; (slots + 1, points + 1).

        Args:
            price: of each move in each slot of the job, exchange and all, (slots, moves), money.
            flow_cost: of completing in each slot, money.
        """
        value = np.full((len(price) + 1, self.done + 1), np.inf)
        value[:, self.done] = 0.0
        _backwards(self.after, price, self.transport, flow_cost, value)
        return value


def count_moves(instance: Instance, lattice: Lattice) -> float:
    """Entries of the table of where moves lead."""
    choices = _choices(instance, lattice)
    each = sum(float(np.prod([float(len(site)) for site in sites])) for _, sites in choices)
    return each * len(lattice.level)


def _choices(instance: Instance, lattice: Lattice) -> list[tuple[int, list[list[int]]]]:
    """Numbers of workers by site, for every site of the server."""
    i = lattice.job
    fit = workers_beside_server(instance.capacity, instance.worker_demand[i], instance.ps_demand[i])
    numbers = [0, *lattice.option_workers.tolist()]
    return [
        (s, [[y for y in numbers if y <= max(0, most)] for most in fit[s].tolist()])
        for s in np.flatnonzero(fit[:, 0] >= 0).tolist()
    ]


@njit_cached
def _climb(above: Integers, gained: Integers, found: NDArray[np.int32]) -> None:
    """Write where so many levels more at each site lead, shape (points, moves)."""
    points, moves = found.shape
    for p in range(points):
        for c in range(moves):
            n = p
            for r in range(gained.shape[1]):
                for _ in range(gained[c, r]):
                    if n >= 0:
                        n = above[r, n]
            found[p, c] = n


@njit_cached
def _backwards(
    after: NDArray[np.int32], price: Floats, transport: Floats, flow_cost: Floats, value: Floats
) -> None:
    """Fill the table of ``to_go``, whose last row and last column are given."""
    points, moves = after.shape
    for t in range(len(price) - 1, -1, -1):
        for p in range(points):
            best = value[t + 1, p]
            for c in range(moves):
                n = after[p, c]
                if n >= 0:
                    ahead = min(value[t + 1, n], transport[n] + flow_cost[t])
                    best = min(best, price[t, c] + ahead)
            value[t, p] = best
