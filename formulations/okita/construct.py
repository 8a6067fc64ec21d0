"""Schedules made with all jobs known: each job alone, and jobs inserted one after the other.

They give the costs by which slots are cut off, and the columns a decomposition starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from formulations.okita.by_servers import cheapest_by_servers
from formulations.okita.by_units import FEW_SITES, ByUnits
from formulations.okita.check import completion_slots, cost
from formulations.okita.greedy import Greedy
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.job_prices import free_terms
from formulations.okita.labels import cheapest_by_labels
from formulations.okita.lattice import Lattice, build_lattice, lattice_points
from formulations.okita.one_job import (
    JobTerms,
    Path,
    cheapest_paths,
    path_cost,
    path_schedule,
)
from formulations.okita.pricing import SitePrices
from formulations.okita.schedule import Schedule
from formulations.okita.windows import affordable, least_slots, site_bounds, slots_needed
from optsched.jit import njit_cached

QUICK_LATTICE = 2000
"""Most points of a lattice that is searched even where planning is to be quick."""

QUICK_STEPS = 4
"""Steps on the prices of chunks where planning is to be quick."""

LARGEST_LATTICE = 50_000
"""Most points of a lattice that is searched at every turn; beyond, labels are."""

LARGEST_LATTICES = 1_000_000
"""Most points of all jobs' lattices together that lattices are made for."""


class FreeCapacity:
    """What is left of the sites' resources, slot by slot from slot 1 on."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._left = np.zeros((0, *instance.capacity.shape), dtype=np.int64)

    def between(self, first: int, slots: int) -> Integers:
        """Free resources of slots first .. first + slots - 1, shape (slots, sites, resources)."""
        missing = first - 1 + slots - len(self._left)
        if missing > 0:
            empty = np.repeat(self.instance.capacity[None], missing, axis=0)
            self._left = np.concatenate([self._left, empty])
        return self._left[first - 1 : first - 1 + slots]

    def copy(self) -> FreeCapacity:
        """One of its own that has as much left."""
        other = FreeCapacity(self.instance)
        other._left = self._left.copy()
        return other

    @property
    def end(self) -> int:
        """The last slot in which something is taken, 0 if there is none."""
        busy = (self._left != self.instance.capacity).any(axis=(1, 2))
        return int(np.flatnonzero(busy)[-1]) + 1 if busy.any() else 0

    def take(self, schedule: Schedule) -> None:
        """Take what a schedule uses."""
        self.between(1, int(schedule.worker_slot.max(initial=0)))
        use = self.instance.worker_demand[schedule.worker_job] * schedule.worker_count[:, None]
        np.subtract.at(self._left, (schedule.worker_slot - 1, schedule.worker_site), use)
        use = self.instance.ps_demand[schedule.server_job]
        np.subtract.at(self._left, (schedule.server_slot - 1, schedule.server_site), use)

    def hold(self, i: int, path: Path, share: int = 1, *, if_free: bool = False) -> bool:
        """Take what a job's schedule uses; with share -1 give it back.

        Args:
            i: the job.
            path: its schedule.
            share: how often.
            if_free: whether to take it only where there is as much.

        Returns:
            Whether it was taken.
        """
        if if_free and self.lacking(i, path) is not None:
            return False
        worker, server = self.instance.worker_demand[i], self.instance.ps_demand[i]
        left = self.between(int(self.instance.release_slot[i]), len(path.server))
        _take(left, path.workers, path.server, share * worker, share * server)
        return True

    def lacking(self, i: int, path: Path) -> tuple[int, int] | None:
        """The first slot, from 1 on, and site where there is less than a job's schedule uses."""
        instance, first = self.instance, int(self.instance.release_slot[i])
        left = self.between(first, len(path.server))
        worker, server = instance.worker_demand[i], instance.ps_demand[i]
        position, site = _lacking(left, path.workers, path.server, worker, server)
        return None if site < 0 else (first + position, site)


@njit_cached
def _take(
    left: Integers, workers: Integers, server: Integers, each: Integers, own: Integers
) -> None:
    """Take what workers and servers use.

    Args:
        left: written, shape (slots, sites, resources).
        workers: shape (slots, sites).
        server: its site in each slot, -1 in a pause.
        each: taken by a worker, shape (resources,).
        own: taken by the server.
    """
    slots, sites, resources = left.shape
    for t in range(slots):
        for r in range(sites):
            for k in range(resources):
                left[t, r, k] -= workers[t, r] * each[k]
                if server[t] == r:
                    left[t, r, k] -= own[k]


@njit_cached
def _lacking(
    left: Integers, workers: Integers, server: Integers, each: Integers, own: Integers
) -> tuple[int, int]:
    """The first slot and site where there is less than is used; -1 for both if there is none."""
    slots, sites, resources = left.shape
    for t in range(slots):
        for r in range(sites):
            if workers[t, r] == 0 and server[t] != r:
                continue
            for k in range(resources):
                use = workers[t, r] * each[k] + (own[k] if server[t] == r else 0)
                if use > left[t, r, k]:
                    return t, r
    return -1, -1


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans jobs of one instance one at a time, exactly where sites are few.

    Whatever is asked of it raises TimeoutError once it is too late.
    """

    instance: Instance
    late: Callable[[], bool] = lambda: False
    """Asked before each job, each search for a schedule of one, and as slots become more."""

    def _in_time(self, jobs: Iterable[int]) -> Iterator[int]:
        for i in jobs:
            self.look()
            yield i

    def look(self) -> None:
        """Look at the clock.

        Raises:
            TimeoutError: it is too late.
        """
        if self.late():
            raise TimeoutError("planning was cut short")

    @cached_property
    def lattices(self) -> tuple[Lattice, ...] | None:
        """Of each job; None where they have too many points together."""
        points = (lattice_points(search.levels) for search in self.searches)
        if sum(points) > LARGEST_LATTICES:
            return None
        jobs = self._in_time(range(self.instance.jobs))
        return tuple(build_lattice(self.instance, self.searches[i].levels) for i in jobs)

    def apart(self) -> Planner:
        """One for another thread, with what this one knows but prices of chunks of its own."""
        other = replace(self)
        for name in ("alone", "floors", "lattices"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    @cached_property
    def searches(self) -> tuple[ByUnits, ...]:
        """By units of work, of each job."""
        return tuple(ByUnits(self.instance, i) for i in self._in_time(range(self.instance.jobs)))

    @property
    def beyond(self) -> bool:
        """Whether jobs have neither lattices nor so few sites that labels are quick."""
        return self.instance.sites > FEW_SITES and self.lattices is None

    @cached_property
    def alone(self) -> tuple[tuple[Path, float], ...]:
        """The best schedule known of each job on the empty system, and what any costs at least."""
        jobs = self._in_time(range(self.instance.jobs))
        return tuple(self._alone(i) for i in jobs)

    @cached_property
    def floors(self) -> Floats:
        """F_i, or less where that is out of reach: what each job costs at least, money."""
        if self.beyond:
            return self._site_bounds
        return np.array([bound for _, bound in self.alone])

    def _alone(self, i: int) -> tuple[Path, float]:
        path = self.optimum(i, None)
        if self.beyond:
            return path, float(self._site_bounds[i])
        terms = free_terms(self.instance, i, self._reach(i, path.price, int(self._needed[i])))
        if self.lattices is not None:
            if len(self.lattices[i].level) <= LARGEST_LATTICE:
                return path, path.price
            paths = cheapest_paths(self.instance, self.lattices[i], terms, below=path.price)
            exact = next(paths, path)
            return exact, exact.price
        found, bound = cheapest_by_labels(self.searches[i], terms, path.price)
        best = min([path, *found], key=lambda one: one.price)
        return best, min(max(bound, float(self._site_bounds[i])), best.price)

    def best(
        self, i: int, terms: JobTerms, below: float = np.inf, quick: bool = False
    ) -> Path | None:
        """The cheapest schedule known of a job on some terms, or a cheap one found quickly.

        Schedules that cost more than ``below`` may be left out.
        """
        if self.beyond:
            return cheapest_by_servers(self.instance, i, terms)
        most = QUICK_LATTICE if quick or below < np.inf else LARGEST_LATTICE
        if self.lattices is not None and len(self.lattices[i].level) <= most:
            return next(cheapest_paths(self.instance, self.lattices[i], terms, below=below), None)
        search = self.searches[i]
        if quick:
            return next(iter(search.cheapest(terms, steps=QUICK_STEPS)[0]), None)
        found, _ = cheapest_by_labels(search, terms, below, thorough=below == np.inf)
        return next(iter(found), None)

    def optimum(
        self,
        i: int,
        room: FreeCapacity | None,
        prices: SitePrices | None = None,
        quick: bool = False,
        slots: int = 1,
    ) -> Path:
        """The cheapest schedule known beside what is taken; as few slots are looked at as do.

        Args:
            i: the job.
            room: what is left of the sites; None: the empty system.
            prices: that the job has to pay as well; they are not part of the price it comes with.
            quick: see ``best``.
            slots: so many are looked at first.
        """
        first = int(self.instance.release_slot[i])
        limit = int(self._needed[i]) + (0 if room is None else max(0, room.end - first + 1))
        slots = min(max(slots, int(self._least[i])), limit)
        while True:
            self.look()
            left = None if room is None else room.between(first, slots)
            terms = free_terms(self.instance, i, slots, left)
            charged = terms if prices is None else prices.charged(i, terms)
            path = self.best(i, charged, quick=quick)
            if path is None and slots == limit:
                taken = FreeCapacity(self.instance) if room is None else room
                return self._greedy(i, taken)
            reach = min(2 * slots, limit) if path is None else self._reach(i, path.price, limit)
            if path is not None and slots >= reach:
                return replace(path, price=path_cost(self.instance, i, path)) if prices else path
            slots = reach

    def cheaper(self, i: int, room: FreeCapacity, below: float) -> Path | None:
        """The cheapest schedule beside what is taken, if one is known that costs less than this.

        Args:
            i: the job.
            room: what is left of the sites.
            below: money.
        """
        self.look()
        first = int(self.instance.release_slot[i])
        slots = self._reach(i, below, int(self._needed[i]) + max(0, room.end - first + 1))
        if slots < 1:
            return None
        terms = free_terms(self.instance, i, slots, room.between(first, slots))
        path = self.best(i, terms, below)
        return path if path is not None and path.price < below else None

    def _reach(self, i: int, price: float, limit: int) -> int:
        """Slots beyond which completing alone costs more."""
        costs = self.instance.latency.of_slots(i, limit)
        return int(np.searchsorted(costs, affordable(price), side="right"))

    @cached_property
    def _least(self) -> Integers:
        return least_slots(self.instance)

    @cached_property
    def _needed(self) -> Integers:
        return slots_needed(self.instance)

    @cached_property
    def _site_bounds(self) -> Floats:
        return site_bounds(self.instance)

    def insert(self, order: Sequence[int], enough: Callable[[], bool] = lambda: False) -> Schedule:
        """Jobs in this order, each as cheaply as what the earlier ones leave allows.

        Args:
            order: of all jobs.
            enough: asked before each job; once it is, the others are planned slot by slot.
        """
        room, parts, hurried = FreeCapacity(self.instance), [], False
        for i in self._in_time(order):
            hurried = hurried or enough()
            path = self._greedy(i, room) if hurried else self.optimum(i, room)
            parts.append(path_schedule(self.instance, i, path))
            room.hold(i, path)
        return Schedule.merged(parts)

    def greedy(self) -> Schedule:
        """Jobs in order of arrival, slot by slot as many workers as help: quick at any size."""
        order = np.argsort(self.instance.release_slot, kind="stable")
        return self.insert(order.tolist(), lambda: True)

    def _greedy(self, i: int, room: FreeCapacity) -> Path:
        def free(first: int, slots: int) -> Integers:
            self.look()
            return room.between(first, slots)

        return self._by_slots.plan(i, free)

    @cached_property
    def _by_slots(self) -> Greedy:
        return Greedy(self.instance)

    def best_insertion(self, enough: Callable[[], bool] = lambda: False) -> Schedule:
        """The best of a few orders: of arrival, of latency weight, of size.

        Where insertion takes long, there is the greedy schedule first, and one order.

        Args:
            enough: asked before each order but the first, and there on the way.
        """
        instance = self.instance
        keys = (
            instance.release_slot,
            -instance.latency.weight,
            instance.most_workers,
            -instance.most_workers,
        )
        index = np.arange(instance.jobs)
        orders = [np.lexsort((index, instance.release_slot, key)) for key in keys]
        if self.beyond:
            found = [self.greedy()]
            with suppress(TimeoutError):
                if not enough():
                    found.append(self.insert(orders[0].tolist(), enough))
        else:
            found = [self.insert(orders[0].tolist())]
            with suppress(TimeoutError):
                for order in orders[1:]:
                    if enough():
                        break
                    found.append(self.insert(order.tolist()))
        return min(found, key=lambda schedule: cost(instance, schedule))


def known_cost(instance: Instance, schedule: Schedule, *, horizon: int | None = None) -> float:
    """Its cost, money; infinite where it does not keep to a horizon."""
    if horizon is not None and int(completion_slots(instance, schedule).max()) > horizon:
        return float("inf")
    return cost(instance, schedule)
