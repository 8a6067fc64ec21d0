"""Pricing of whole schedules of a job, for column generation.

The coupling rows are limits of sites, in every slot: the capacities, and rows by rounding, which
any packing of one resource satisfies. In a crowded system jobs end by the capacity's count long
before they can, and under an exponential latency that is nearly all of the cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from formulations.okita.horizon import Windows
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.lattice import cheapest_paths
from formulations.okita.one_job.paths import JobTerms, Path, free_terms, path_cost, priced_terms
from formulations.okita.one_job.planner import Planner
from optsched.decomposition import Column, Duals, Priced
from optsched.decomposition.dual_feasible import SAFE, rounded_rows

OFFERED = 4
"""Most columns that pricing offers at a time for one job."""


@dataclass(frozen=True, eq=False)
class SiteLimits:
    """Rows of a slot, alike in all slots: what workers and servers at a site take of a limit."""

    site: Integers
    """Shape (limits,)."""
    room: Floats
    worker: Floats
    """Taken by a worker of a job, shape (jobs, limits)."""
    server: Floats
    """Taken by its server."""

    @classmethod
    def of(cls, instance: Instance) -> SiteLimits:
        """Return the capacities by site, resource, and rows by rounding that they do not imply."""
        sites, kinds = instance.capacity.shape
        demand = np.concatenate([instance.worker_demand, instance.ps_demand])
        rows = [rounded_rows(demand, capacity) for capacity in instance.capacity]
        extra = np.repeat(np.arange(sites), [len(own) for own in rows])
        worker, server = np.split(np.concatenate(rows).T, 2)
        return cls(
            np.concatenate([np.repeat(np.arange(sites), kinds), extra]),
            np.concatenate([instance.capacity.reshape(-1), np.full(len(extra), 1.0 + SAFE)]),
            np.hstack([np.tile(instance.worker_demand, sites), worker]),
            np.hstack([np.tile(instance.ps_demand, sites), server]),
        )

    @cached_property
    def _at(self) -> Floats:
        return np.asarray(self.site[:, None] == np.arange(self.site.max() + 1), dtype=float)

    def charged(self, i: int, price: Floats) -> tuple[Floats, Floats]:
        """Return what a worker and the server of a job pay, each by slot, site, money.

        Args:
            i: the job.
            price: of each limit, shape (slots, limits), money.
        """
        return (price * self.worker[i]) @ self._at, (price * self.server[i]) @ self._at

    def worth(self, price: Floats) -> Floats:
        """Return the price of all that is limited, by slot, site, money."""
        return np.asarray((price * self.room) @ self._at)


@dataclass(frozen=True, eq=False)
class Ends:
    """The slots in which jobs may complete, counted from their releases, each of shape (jobs,).

    A job that completes before the first of them pays for it as if it completed then.
    """

    first: Integers
    last: Integers

    def of(self, i: int, path: Path) -> int:
        """The slot that a schedule of a job pays for."""
        return max(path.last, int(self.first[i]))

    def has(self, i: int, path: Path) -> bool:
        """Whether a schedule of a job completes no later than it may."""
        return bool(path.last <= self.last[i])


@dataclass(frozen=True, eq=False)
class Pricing:
    """The cheapest schedules of a job at any prices of limits."""

    planner: Planner
    windows: Windows
    ends: Ends
    limits: SiteLimits
    """The rows of a slot."""
    _made: dict[tuple[int, int, bytes, bytes, bytes], Column] = field(default_factory=dict)

    @classmethod
    def of(cls, planner: Planner, windows: Windows) -> Pricing:
        """Return the pricing of all schedules in these slots."""
        length = windows.last - windows.instance.release_slot
        ends = Ends(np.zeros_like(length), length)
        return cls(planner, windows, ends, SiteLimits.of(windows.instance))

    @property
    def instance(self) -> Instance:
        """The system and its jobs."""
        return self.planner.instance

    @cached_property
    def slots(self) -> int:
        """Slots 1 .. slots have capacity rows."""
        return int(self.windows.last.max())

    @cached_property
    def _free(self) -> tuple[JobTerms, ...]:
        length = (self.windows.last - self.instance.release_slot + 1).tolist()
        return tuple(free_terms(self.instance, i, slots) for i, slots in enumerate(length))

    def room(self) -> Floats:
        """Return the right-hand sides of the coupling rows: limits by slot."""
        return np.tile(self.limits.room, self.slots)

    def columns(self, paths: Sequence[tuple[int, Path]]) -> Iterator[Column]:
        """Yield schedules of jobs that complete where they may, as columns, each once."""
        seen = set()
        for i, path in paths:
            if self.ends.has(i, path):
                column = self.column(i, path)
                if id(column) not in seen:
                    seen.add(id(column))
                    yield column

    def made(self) -> list[tuple[int, Path]]:
        """Return all schedules that were columns so far, with their jobs."""
        return [(column.block, column.payload) for column in self._made.values()]

    def column(self, i: int, path: Path) -> Column:
        """Return a schedule of a job as a column: what it costs and what it holds."""
        path = path.trimmed()
        end, flow_cost = self.ends.of(i, path), self._free[i].flow_cost
        key = i, end, path.workers.tobytes(), path.server.tobytes(), path.flow.tobytes()
        if key not in self._made:
            instance, limits = self.instance, self.limits
            runs = np.flatnonzero(path.server >= 0)
            held = path.workers[:, limits.site] * limits.worker[i]
            held[runs] += (limits.site == path.server[runs, None]) * limits.server[i]
            used = np.flatnonzero(held)
            first = int(instance.release_slot[i]) - 1
            self._made[key] = Column(
                block=i,
                cost=path_cost(instance, i, path) + flow_cost[end] - flow_cost[path.last],
                rows=used + first * len(limits.site),
                values=held.reshape(-1)[used],
                payload=path,
            )
        return self._made[key]

    def __call__(self, block: int, duals: Duals) -> Priced:
        """Return schedules of one job and a bound on their prices.

        Units of work do if what they find improves the master problem; else the lattice decides, or
        labels if it is out of reach.
        """
        terms, search = self.terms(block, duals.rows, duals.weight), self.planner.searches[block]
        paths, bound = search.cheapest(terms)
        paths = [own for own in paths if self.ends.has(block, own)]
        lattice, exact = self.planner.lattices[block], list[Path]()
        improves = bool(paths) and paths[0].price < duals.threshold
        if bound < duals.threshold and (duals.exact or not improves):
            limit = min([duals.threshold, *(one.price for one in paths)])
            if lattice is not None:
                exact = list(cheapest_paths(self.instance, lattice, terms, below=limit))
                bound = max(bound, min([limit, *(one.price for one in exact)]))
            elif search.by_server and duals.exact:
                found, low = cheapest_by_labels(search, terms, limit)
                exact = [own for own in found if self.ends.has(block, own)]
                bound = max(bound, low)
            paths = exact + paths
        return Priced([self.column(block, own) for own in paths[:OFFERED]], bound)

    def terms(self, i: int, rows: Floats, weight: float = 1.0) -> JobTerms:
        """Return the terms of a job at prices of rows; its own costs count by a weight."""
        free, first = self._free[i], int(self.instance.release_slot[i]) - 1
        price = self.paid(rows)[first : first + len(free.flow_cost)]
        terms = priced_terms(free, *self.limits.charged(i, price), weight)
        terms.flow_cost[: self.ends.first[i]] = np.inf
        terms.flow_cost[self.ends.last[i] + 1 :] = np.inf
        return terms

    def least(self, i: int, terms: JobTerms) -> float:
        """Return what a job pays at least on some terms, money; infinite without a schedule."""
        lattice = self.planner.lattices[i]
        paths, bound = self.planner.searches[i].cheapest(terms)
        paths = [own for own in paths if self.ends.has(i, own)]
        if lattice is None:
            return bound
        below, path = (paths[0].price, paths[0]) if paths else (np.inf, None)
        exact = next(cheapest_paths(self.instance, lattice, terms, below=below), path)
        return np.inf if exact is None else max(bound, exact.price)

    def paid(self, rows: Floats) -> Floats:
        """Return dual values of rows as prices of limits, shape (slots, limits), money."""
        return np.maximum(-rows.reshape(self.slots, -1), 0.0)
