"""All jobs slot by slot: how far each has come, and what is yet to be paid at least.

At prices of what is limited at the sites every schedule costs what its jobs pay,
priced, less what the capacities in use are worth. So a state, the points of all jobs' lattices at
the beginning of a slot, is bounded by what was paid before it and the least prices from its points
on, less the worth of all capacities to come; a slot adds to that bound by what its moves cost
above the cheapest, and by the worth of what it leaves unused. States whose bound is above a
cutoff are dropped, and of those that agree the cheapest is kept: a dynamic program that either
comes to a cheapest schedule or proves that none costs as little as the cutoff (A* in layers). The
better the prices, the fewer the states; with those of the last relaxation a few thousand are enough
for handfuls of jobs in a crowd, whose fractions leave a tree of restrictions open for long. Where
they become too many the best are followed: nothing is proven then, but a schedule may still be
found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from formulations.okita.exact.joint_expand import FITS, FULL, Slot, System, enter, expand
from formulations.okita.exact.joint_moves import LimitedJob, PricedJob, TooManyError
from formulations.okita.exact.pricing import Pricing
from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.lattice import Lattice
from formulations.okita.one_job.paths import path_along, path_schedule
from formulations.okita.schedule import Schedule

MOST_POINTS = 50_000_000
"""Points of all jobs' lattices, in each of their slots, beyond which nothing is begun."""
FIRST_STATES = 512
"""States of a slot that there is room for at first."""
KEPT = 1024
"""How many of them are kept then."""
STEPS = 20_000_000
"""Moves tried until the clock is looked at again; more than that for one state are too many."""

_ROUNDING = 1e-10  # relative, by which cutoffs are raised and bounds lowered


@dataclass(frozen=True, eq=False)
class _Layer:
    """States at the end of a slot and how they were come to."""

    point: Integers
    """Shape (states, jobs)."""
    bound: Floats
    """Shape (states,), money."""
    origin: Integers
    """State of the slot before, shape (states,)."""
    move: Integers
    """Shape (states, jobs)."""
    slot: Slot | None
    """What moves there are."""

    def best(self, count: int) -> _Layer:
        """The states of the least bounds."""
        kept = np.argsort(self.bound, kind="stable")[:count]
        origin, move = self.origin[kept], self.move[kept]
        return _Layer(self.point[kept], self.bound[kept], origin, move, self.slot)


class JointStates:
    """The search at some prices, for schedules of some cost at most.

    Args:
        lattices: of all jobs.
        pricing: of all jobs; every one has a schedule in its slots.
        rows: prices of its rows, money.
        most: states of a slot beyond which not all of them are kept, and nothing is proven.

    Raises:
        TooManyError: the jobs have too many points.
    """

    def __init__(
        self,
        lattices: Sequence[Lattice],
        pricing: Pricing,
        rows: Floats,
        most: int,
    ) -> None:
        self.instance, self._most = pricing.instance, most
        instance = pricing.instance
        self.first = instance.release_slot - 1
        self.slots = pricing.slots
        points = np.array([len(lattice.level) for lattice in lattices])
        if points @ (pricing.windows.last - self.first) > MOST_POINTS:
            raise TooManyError("points of the lattices are too many")
        limits, price = pricing.limits, pricing.paid(rows)
        self.worth = limits.worth(price)
        """Dual values of all capacities, by slot, site."""
        charged = [limits.charged(i, price) for i in range(instance.jobs)]
        self._worker, self._server = (np.array(part) for part in zip(*charged, strict=True))
        self.jobs = []
        for i, lattice in enumerate(lattices):
            terms = pricing.terms(i, rows)
            self.jobs.append(PricedJob(instance, lattice, terms, pricing.least(i, terms)))
        self._all_worth = float(self.worth.sum())
        self.bound = sum(job.least for job in self.jobs) - self._all_worth
        """What every schedule costs at least, money, up to rounding."""

    def search(self, cutoff: float, go_on: Callable[[], bool]) -> tuple[float, Schedule | None]:
        """A cheapest schedule that costs no more than a cutoff, and what any costs at least.

        Args:
            cutoff: money.
            go_on: asked now and then.

        Returns:
            The cost of the schedule, less rounding; the cutoff, where there is none; -inf where
            not all states could be kept.

        Raises:
            TooManyError: one state has too many moves, or ``go_on`` says so.
        """
        limit = cutoff + _ROUNDING * abs(cutoff)
        if self.bound > limit:
            return cutoff, None
        jobs = []
        for job in self.jobs:
            _look(go_on)
            jobs.append(job.within(job.least + limit - self.bound))
        start: Integers = np.zeros((1, self.instance.jobs), dtype=np.int64)
        bound = sum(own.least for own in jobs) - self._all_worth
        layers = [_Layer(start, np.array([bound]), start[:, 0], start, None)]
        whole = True
        for t in range(self.slots):
            slot, complete = self._offered(jobs, t, layers, limit)
            whole &= complete
            layer, complete = self._after(slot, layers[-1], limit, go_on)
            whole &= complete
            layers.append(layer if complete else layer.best(KEPT))
            if not len(layer.bound):
                break
        floor = cutoff if whole else -np.inf
        done = np.array([own.done for own in jobs])
        ended = np.flatnonzero((layers[-1].point == done).all(axis=1))
        if not len(ended):
            return floor, None
        best = int(ended[0])
        cost = float(layers[-1].bound[best])
        return min(floor, cost - _ROUNDING * abs(cost)), self._schedule(layers, best)

    def _after(
        self, slot: Slot, before: _Layer, limit: float, go_on: Callable[[], bool]
    ) -> tuple[_Layer, bool]:
        """States that a slot leads to, and whether they are all: those of the best if not."""
        instance = self.instance
        system = System(instance.worker_demand, instance.ps_demand, instance.capacity)
        room, begun = _Room(instance.jobs, FIRST_STATES), 0
        order = np.argsort(before.bound, kind="stable")
        point, spare = before.point[order], limit - before.bound[order]
        while begun < len(order):
            _look(go_on)
            begun = expand(
                system, slot, point, spare, begun,
                room.points, room.remains, room.origin, room.moved, room.table, room.said, STEPS,
            )  # fmt: skip
            if room.said[1] == FULL and len(room.points) < self._most:
                room = room.larger()
            elif room.said[1] != FITS:
                break
        n = int(room.said[0])
        remains, moved = limit - room.remains[:n], room.moved[:n]
        layer = _Layer(room.points[:n], remains, order[room.origin[:n]], moved, slot)
        return layer, begun == len(order)

    def _offered(
        self, jobs: Sequence[LimitedJob], t: int, layers: list[_Layer], limit: float
    ) -> tuple[Slot, bool]:
        """What a slot offers, and whether to all states; to the best where moves are too many."""
        whole = True
        while True:
            try:
                return self._moves(jobs, t, layers[-1], limit), whole
            except TooManyError:
                if len(layers[-1].bound) == 1:
                    raise
                layers[-1] = layers[-1].best(-(-len(layers[-1].bound) // 8))
                whole = False

    def _moves(self, jobs: Sequence[LimitedJob], t: int, before: _Layer, limit: float) -> Slot:
        """Moves worth a look in a slot, and what jobs do that have not come or have completed."""
        size, most = 0, 1 + max(own.done for own in jobs)
        first: Integers = np.zeros((len(jobs), most), dtype=np.int64)
        last = np.zeros_like(first)
        parts = []
        for i, own in enumerate(jobs):
            slot = t - int(self.first[i])
            come, of = np.unique(before.point[:, i], return_inverse=True)
            spare = np.zeros(len(come))
            np.maximum.at(spare, of, limit - before.bound)
            goes = come < own.done
            found = own.moves(slot, come[goes], spare[goes])
            stays = 0 if slot < 0 else own.done
            point, to = np.append(found.point, stays), np.append(found.to, stays)
            workers = np.pad(found.workers, ((0, 1), (0, 0)))
            server, reduced_cost = np.append(found.server, -1), np.append(found.reduced_cost, 0.0)
            held = np.where(server < 0, 0.0, self._server[i, t, server])
            added = reduced_cost - workers @ self._worker[i, t] - held
            parts.append((added, reduced_cost, to, workers, server))
            come, begin, count = np.unique(point, return_index=True, return_counts=True)
            first[i, come] = size + begin
            last[i, come] = size + begin + count
            size += len(point)
        added, reduced_cost, to, workers, server = map(np.concatenate, zip(*parts, strict=True))
        price = self._worker[:, t], self._server[:, t], self.worth[t]
        return Slot(first, last, added, reduced_cost, to, workers, server, *price)

    def _schedule(self, layers: Sequence[_Layer], state: int) -> Schedule:
        """The way to a state of the last layer."""
        instance = self.instance
        workers: Integers = np.zeros((instance.jobs, self.slots, instance.sites), dtype=np.int64)
        server = np.full((instance.jobs, self.slots), -1)
        for t in range(self.slots - 1, -1, -1):
            layer = layers[t + 1]
            assert layer.slot is not None
            workers[:, t] = layer.slot.workers[layer.move[state]]
            server[:, t] = layer.slot.site[layer.move[state]]
            state = int(layer.origin[state])
        parts = []
        for i, first in enumerate(self.first.tolist()):
            path = path_along(instance, i, workers[i, first:], server[i, first:])
            parts.append(path_schedule(instance, i, path))
        return Schedule.merged(parts)


def _look(go_on: Callable[[], bool]) -> None:
    if not go_on():
        raise TooManyError("there is no time for more")


class _Room:
    """Where the states of a slot are put, and found again by their points."""

    def __init__(self, jobs: int, states: int) -> None:
        self.points: Integers = np.zeros((states, jobs), dtype=np.int64)
        self.remains: Floats = np.zeros(states)
        """What is left of the limit."""
        self.origin: Integers = np.zeros(states, dtype=np.int64)
        self.moved: Integers = np.zeros_like(self.points)
        self.table: Integers = np.full(4 * states, -1, dtype=np.int64)
        self.said: Integers = np.zeros(2, dtype=np.int64)
        """How many there are, and how the last search ended."""

    def larger(self) -> _Room:
        """The same with more room."""
        count, (states, jobs) = int(self.said[0]), self.points.shape
        other = _Room(jobs, 4 * states)
        other.points[:count], other.remains[:count] = self.points, self.remains
        other.origin[:count], other.moved[:count] = self.origin, self.moved
        other.said[0] = count
        enter(other.points, other.table, count)
        return other


FIRST_SHARE = 0.1
"""Part of the way from the root's bound to the incumbent that is searched first."""
GROWTH = 1.5
"""Factor by which that part grows from search to search."""


@dataclass(eq=False)
class JointSearch:
    """Searches that learn from each other how far above their bound to go.

    A search that ended lets the next one go further, one that did not keeps it nearer.
    """

    lattices: Sequence[Lattice]
    """Lattices of all jobs."""
    go_on: Callable[[], bool]
    """Asked now and then whether there is time."""
    reach: float = field(default=np.inf, init=False)
    """How far above the bound is searched next, money."""

    def search(
        self, pricing: Pricing, rows: Floats, below: float, most: int
    ) -> tuple[float, Schedule | None]:
        """Search as far above the bound as comes to an end.

        Args:
            pricing: of all jobs.
            rows: prices of its rows.
            below: only schedules that cost less are of interest, money.
            most: states of a slot that are kept, at most.

        Returns:
            What schedules cost at least if they cost less than ``below``, and one if it is found;
            -inf if no search came to an end.
        """
        bound, found = -np.inf, None
        with suppress(TooManyError):
            states = JointStates(self.lattices, pricing, rows, most)
            if np.isinf(self.reach):
                self.reach = FIRST_SHARE * (below - states.bound)
            while self.go_on():
                cutoff = min(below, states.bound + self.reach)
                proven, found = states.search(cutoff, self.go_on)
                if not proven > -np.inf:
                    self.reach /= GROWTH
                    break
                bound = proven
                if cutoff == below or found is not None:
                    break
                self.reach *= GROWTH
        return bound, found
