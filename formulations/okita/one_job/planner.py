"""Schedules made with all jobs known: each job alone, and jobs inserted one after the other.

They give the costs by which slots are cut off, and the columns that a decomposition starts from.
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
from formulations.okita.one_job.greedy import Greedy
from formulations.okita.one_job.labels import cheapest_by_labels
from formulations.okita.one_job.lattice import (
    Lattice,
    Levels,
    build_lattice,
    cheapest_paths,
    lattice_points,
)
from formulations.okita.one_job.paths import (
    FreeCapacity,
    JobTerms,
    Path,
    free_terms,
    path_schedule,
)
from formulations.okita.one_job.units import ByUnits
from formulations.okita.schedule import Schedule

LARGEST_LATTICE = 100_000
"""Most points of a job's lattice, unless all jobs have few: beyond, its cheapest schedule is out of
reach."""
TOGETHER = 7
"""All jobs' lattices are built if they have so many times as many points together at most."""

SMALL_LATTICE = 2000
"""Most points of a lattice that is as quick to search as units of work."""

FEW_SITES = 12
"""Most sites at which jobs out of a lattice's reach have prices of chunks for each first server."""


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans jobs of one instance one at a time, exactly if their lattices are small enough.

    Each call raises TimeoutError once it is too late.
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

    def apart(self) -> Planner:
        """Return one for another thread, which knows as much and writes elsewhere."""
        other = replace(self)
        for name in ("alone", "floors", "lattices"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    @cached_property
    def searches(self) -> tuple[ByUnits, ...]:
        """The search by units of work of each job."""
        few = self.instance.sites <= FEW_SITES
        return tuple(
            ByUnits(self.instance, i, by_server=few and not small)
            for i, small in enumerate(self._small)
        )

    @cached_property
    def _small(self) -> list[bool]:
        """Whether the lattice of each job is within reach."""
        jobs = self._in_time(range(self.instance.jobs))
        points = [lattice_points(Levels.of(self.instance, i)) for i in jobs]
        few = sum(points) <= TOGETHER * LARGEST_LATTICE
        return [few or own <= LARGEST_LATTICE for own in points]

    @cached_property
    def lattices(self) -> tuple[Lattice | None, ...]:
        """The lattice of each job; None if it has too many points."""
        pairs = zip(self.searches, self._small, strict=True)
        instance = self.instance
        return tuple(build_lattice(instance, own.levels) if few else None for own, few in pairs)

    @cached_property
    def alone(self) -> tuple[tuple[Path, float], ...]:
        """The best schedule known of each job on the empty system, and a bound on all of them."""
        return tuple(self._alone(i) for i in self._in_time(range(self.instance.jobs)))

    @property
    def floors(self) -> Floats:
        """F_i, or a bound on it if that is out of reach: what each job costs at least, money."""
        return np.array([bound for _, bound in self.alone])

    def _alone(self, i: int) -> tuple[Path, float]:
        path = self.optimum(i, None)
        if self.lattices[i] is not None:
            return path, path.price
        terms = free_terms(self.instance, i, self._reach(i, path.price, int(self._needed[i])))
        search = self.searches[i]
        _, bound = search.cheapest(terms)
        if search.by_server and bound < path.price:
            found, bound = cheapest_by_labels(search, terms, path.price)
            path = min([path, *found], key=lambda one: one.price)
        return path, min(max(bound, float(self._site_bounds[i])), path.price)

    def best(self, i: int, terms: JobTerms, *, quick: bool = False) -> Path | None:
        """Return the cheapest schedule known of a job on some terms.

        Args:
            i: the job.
            terms: its prices and limits.
            quick: search the lattice only if it is small, and no labels.
        """
        lattice, search = self.lattices[i], self.searches[i]
        if lattice is None or (quick and len(lattice.level) > SMALL_LATTICE):
            paths, bound = search.cheapest(terms)
            limit = paths[0].price if paths else np.inf
            if search.by_server and bound < limit and not quick:
                paths = cheapest_by_labels(search, terms, limit, thorough=False)[0] + paths
            return next(iter(paths), None)
        return next(cheapest_paths(self.instance, lattice, terms), None)

    def optimum(
        self, i: int, room: FreeCapacity | None, slots: int = 1, *, quick: bool = False
    ) -> Path:
        """Return the cheapest schedule known beside what is taken; as few slots as do are searched.

        Args:
            i: the job.
            room: what is left of the sites; None: the empty system.
            slots: so many are searched at first.
            quick: see ``best``.
        """
        first, limit = int(self.instance.release_slot[i]), self._limit(i, room)
        slots = min(max(slots, int(self._least[i])), limit)
        while True:
            self.look()
            left = None if room is None else room.between(first, slots)
            path = self.best(i, free_terms(self.instance, i, slots, left), quick=quick)
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
        """Insert jobs in this order, each as cheaply as what the earlier ones leave allows.

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
        """Plan jobs in order of arrival, slot by slot: quick at any size."""
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
        """Return the best of a few orders: of arrival, of latency weight, of size; and greedy.

        Args:
            enough: asked before each job; once it is, no further order is begun.
        """
        instance = self.instance
        keys = (
            instance.release_slot,
            -instance.latency.weight,
            instance.most_workers,
            -instance.most_workers,
        )
        index = np.arange(instance.jobs)
        found = [self.greedy()]
        with suppress(TimeoutError):
            for key in keys:
                if enough():
                    break
                order = np.lexsort((index, instance.release_slot, key))
                found.append(self.insert(order.tolist(), enough))
        return min(found, key=lambda schedule: cost(instance, schedule))


def in_horizon(
    instance: Instance, schedule: Schedule, *, horizon_mode: HorizonMode = "safe", **_: Any
) -> bool:
    """Return whether a schedule keeps to the horizon of a model with these options."""
    end = instance.horizon if horizon_mode == "given" else None
    return known_cost(instance, schedule, horizon=end) < float("inf")


def known_cost(instance: Instance, schedule: Schedule, *, horizon: int | None = None) -> float:
    """Return its cost, money; infinite if it does not keep to a horizon."""
    if horizon is not None and int(completion_slots(instance, schedule).max()) > horizon:
        return float("inf")
    return cost(instance, schedule)
