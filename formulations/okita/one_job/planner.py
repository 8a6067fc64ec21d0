"""Schedules made with all jobs known: each job alone, and jobs inserted one after the other.

They give the costs by which slots are cut off, and the columns a decomposition starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from formulations.okita.check import completion_slots, cost
from formulations.okita.horizon import (
    HorizonMode,
    affordable,
    least_slots,
    site_bounds,
    slots_needed,
)
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.by_servers import cheapest_by_servers
from formulations.okita.one_job.free_capacity import FreeCapacity
from formulations.okita.one_job.greedy import Greedy
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.lattice import Lattice, build_lattice, lattice_points
from formulations.okita.one_job.prices import free_terms
from formulations.okita.one_job.terms import (
    JobTerms,
    Path,
    cheapest_paths,
    path_schedule,
)
from formulations.okita.one_job.units import FEW_SITES, ByUnits
from formulations.okita.schedule import Schedule

SMALL_LATTICE = 2000
"""Most points of a lattice that is searched even where only what is cheaper is of interest."""

LARGEST_LATTICE = 50_000
"""Most points of a lattice that is searched at every turn; beyond, labels are."""

LARGEST_LATTICES = 1_000_000
"""Most points of all jobs' lattices together that lattices are made for."""


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

    def best(self, i: int, terms: JobTerms, below: float = np.inf) -> Path | None:
        """The cheapest schedule known of a job on some terms.

        Schedules that cost more than ``below`` may be left out.
        """
        if self.beyond:
            return cheapest_by_servers(self.instance, i, terms)
        most = SMALL_LATTICE if below < np.inf else LARGEST_LATTICE
        if self.lattices is not None and len(self.lattices[i].level) <= most:
            return next(cheapest_paths(self.instance, self.lattices[i], terms, below=below), None)
        found, _ = cheapest_by_labels(self.searches[i], terms, below, thorough=below == np.inf)
        return next(iter(found), None)

    def optimum(self, i: int, room: FreeCapacity | None, slots: int = 1) -> Path:
        """The cheapest schedule known beside what is taken; as few slots are looked at as do.

        Args:
            i: the job.
            room: what is left of the sites; None: the empty system.
            slots: so many are looked at first.
        """
        first, limit = int(self.instance.release_slot[i]), self._limit(i, room)
        slots = min(max(slots, int(self._least[i])), limit)
        while True:
            self.look()
            left = None if room is None else room.between(first, slots)
            path = self.best(i, free_terms(self.instance, i, slots, left))
            if path is None and slots == limit:
                return self._greedy(i, FreeCapacity(self.instance) if room is None else room)
            reach = min(2 * slots, limit) if path is None else self._reach(i, path.price, limit)
            if path is not None and slots >= reach:
                return path
            slots = reach

    def _limit(self, i: int, room: FreeCapacity | None) -> int:
        """Slots within which a job completes, whatever is taken."""
        busy = 0 if room is None else room.end - int(self.instance.release_slot[i]) + 1
        return int(self._needed[i]) + max(0, busy)

    def cheaper(self, i: int, room: FreeCapacity, below: float) -> Path | None:
        """The cheapest schedule beside what is taken, if one is known that costs less than this.

        Args:
            i: the job.
            room: what is left of the sites.
            below: money.
        """
        self.look()
        first = int(self.instance.release_slot[i])
        slots = self._reach(i, below, self._limit(i, room))
        if slots < 1:
            return None
        left = room.between(first, slots)
        path = self.best(i, free_terms(self.instance, i, slots, left), below)
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


def in_horizon(
    instance: Instance, schedule: Schedule, *, horizon_mode: HorizonMode = "safe", **_: Any
) -> bool:
    """Whether a schedule keeps to the horizon of a model with these options."""
    end = instance.horizon if horizon_mode == "given" else None
    return known_cost(instance, schedule, horizon=end) < float("inf")


def known_cost(instance: Instance, schedule: Schedule, *, horizon: int | None = None) -> float:
    """Its cost, money; infinite where it does not keep to a horizon."""
    if horizon is not None and int(completion_slots(instance, schedule).max()) > horizon:
        return float("inf")
    return cost(instance, schedule)
