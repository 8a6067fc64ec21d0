"""All jobs slot by slot: how far each has come, and what is yet to be paid at least.

At prices of what is limited at the sites, every schedule costs what its jobs pay, priced, less
what the capacities in use are worth. So a state, the points of all jobs' lattices at the beginning
of a slot, is bounded by what was paid before it and the least prices from its points on, less the
worth of all capacities to come; a slot adds to that bound by how much dearer its moves are than
the cheapest, and by the worth of what it leaves unused. States whose bound is above a cutoff are
dropped, and of those that agree the cheapest is kept: a dynamic program that either comes to a
cheapest schedule or proves that none costs as little as the cutoff (A* in layers). The better the
prices, the fewer the states; with those of the last relaxation a few thousand are enough for
handfuls of jobs in a crowd, whose fractions leave a tree of restrictions open for long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from formulations.okita.instance import Floats, Integers
from formulations.okita.job_moves import Moves
from formulations.okita.move_combinations import FITS, FULL, Slot, System, enter, expand
from formulations.okita.one_job import path_along, path_schedule
from formulations.okita.pricing import SiteLimits
from formulations.okita.schedule import Schedule
from formulations.okita.windows import Windows

FIRST_STATES = 1024
"""States of a slot that there is room for at first."""
MOST_STATES = 1_000_000
"""States of a slot beyond which the search is given up."""
STEPS = 20_000_000
"""Moves tried until the clock is looked at again; more than that for one state are too many."""

_ROUNDING = 1e-10  # relative, by which cutoffs are raised and bounds lowered


class TooManyStatesError(Exception):
    """The search does not end in the room or the time it has."""


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
    """-1: none, shape (states, jobs)."""


class JointStates:
    """The search at some prices.

    Args:
        moves: of each job.
        span: slots that some optimum keeps to.
        limits: what prices are of.
        price: of each limit in each slot, shape (slots, limits), not negative, money.
    """

    def __init__(
        self, moves: Sequence[Moves], span: Windows, limits: SiteLimits, price: Floats
    ) -> None:
        self.instance, self.moves = span.instance, moves
        self.first = span.instance.release_slot - 1
        self.slots = len(price)
        at = (limits.site[:, None] == np.arange(self.instance.sites)).astype(float)
        self.worth = (price * limits.room) @ at
        """Of all capacities, by slot, site."""
        self._worker = np.zeros((len(moves), *self.worth.shape))
        self._server = np.zeros_like(self._worker)
        self._spent: list[Floats] = []  # price of what each move holds, by job: (slots, moves)
        self._to_go: list[Floats] = []
        for i, own in enumerate(moves):
            slots = slice(int(self.first[i]), int(span.last[i]))
            self._worker[i] = (price * limits.worker[i]) @ at
            self._server[i] = (price * limits.server[i]) @ at
            held = self._worker[i, slots] @ own.workers.T.astype(float)
            spent = held + self._server[i, slots][:, own.server]
            late = span.flow_cost[span.first_cell[i] : span.first_cell[i + 1]]
            self._spent.append(spent)
            self._to_go.append(own.to_go(spent + own.talk, late))
        self._span = span
        size = np.array([len(own.server) for own in moves])
        self._system = System(
            np.concatenate([own.workers for own in moves]),
            np.concatenate([own.server for own in moves]),
            np.cumsum(size) - size,
            span.instance.worker_demand,
            span.instance.ps_demand,
            span.instance.capacity,
        )
        alone = sum(float(value[0, 0]) for value in self._to_go)
        self.bound = alone - float(self.worth.sum())
        """What every schedule costs at least, money, up to rounding."""

    def search(self, cutoff: float, go_on: Callable[[], bool]) -> tuple[float, Schedule | None]:
        """A cheapest schedule that costs no more than a cutoff, and what any costs at least.

        Args:
            cutoff: money.
            go_on: asked now and then.

        Returns:
            The cost of the schedule, less rounding; the cutoff, where there is none.

        Raises:
            TooManyStatesError: it is too much, or ``go_on`` says so.
        """
        limit = cutoff + _ROUNDING * abs(cutoff)
        start: Integers = np.zeros((1, self.instance.jobs), dtype=np.int64)
        layers = [_Layer(start, np.array([self.bound]), start[:, 0], start - 1)]
        for t in range(self.slots):
            layers.append(self._after(t, layers[-1], limit, go_on))
            if not len(layers[-1].bound):
                return cutoff, None
        done = np.array([own.done for own in self.moves])
        ended = np.flatnonzero((layers[-1].point == done).all(axis=1))
        if not len(ended):
            return cutoff, None
        best = int(ended[0])
        cost = float(layers[-1].bound[best])
        return cost - _ROUNDING * abs(cost), self._schedule(layers, best)

    def _after(self, t: int, before: _Layer, limit: float, go_on: Callable[[], bool]) -> _Layer:
        """The states that a slot leads to."""
        slot = self._offered(t, before, limit)
        room, begun = _Room(self.instance.jobs, FIRST_STATES), 0
        while begun < len(before.bound):
            if not go_on():
                raise TooManyStatesError("time is up")
            begun = expand(
                self._system, slot, before.point, limit - before.bound, begun,
                room.points, room.remains, room.origin, room.moved, room.table, room.said, STEPS,
            )  # fmt: skip
            if room.said[1] == FULL and len(room.points) < MOST_STATES:
                room = room.larger()
            elif room.said[1] != FITS:
                raise TooManyStatesError("states, or ways on from one, are too many")
        n = int(room.said[0])
        return _Layer(room.points[:n], limit - room.remains[:n], room.origin[:n], room.moved[:n])

    def _offered(self, t: int, before: _Layer, limit: float) -> Slot:
        """Moves worth a look from every point in use."""
        spare = limit - float(before.bound.min())
        most = 1 + max(own.done for own in self.moves)
        first: Integers = np.zeros((len(self.moves), most), dtype=np.int64)
        last = np.zeros_like(first)
        parts, size = [], 0
        for i in range(len(self.moves)):
            for point in np.unique(before.point[:, i]).tolist():
                part = self._ways_on(i, t, point, spare)
                parts.append(part)
                first[i, point] = size
                size += len(part[0])
                last[i, point] = size
        added, dearer, move, to = (np.concatenate(column) for column in zip(*parts, strict=True))
        worker, server = self._worker[:, t], self._server[:, t]
        return Slot(first, last, added, dearer, move, to, worker, server, self.worth[t])

    def _ways_on(
        self, i: int, t: int, point: int, spare: float
    ) -> tuple[Floats, Floats, Integers, Integers]:
        """Of one point of a job, those within what is to spare, the cheapest first."""
        own, slot = self.moves[i], t - int(self.first[i])
        if slot < 0 or point == own.done or slot >= len(self._spent[i]):
            stays = np.zeros(1 if slot < 0 or point == own.done else 0)
            return stays, stays, np.full(len(stays), -1), np.full(len(stays), point)
        value, to = self._to_go[i], own.after[point]
        late = float(self._span.flow_cost[self._span.first_cell[i] + slot])
        leads = to >= 0
        on = np.where(leads, own.talk + value[slot + 1][to], np.inf)
        ends = np.where(leads, own.talk + own.transport[to] + late, np.inf)
        added = np.concatenate([value[slot + 1, [point]], on, ends]) - value[slot, point]
        moves = np.arange(len(to))
        move = np.concatenate([[-1], moves, moves])
        target = np.concatenate([[point], to, np.full(len(to), own.done)])
        dearer = added + np.where(move < 0, 0.0, self._spent[i][slot][move])
        kept = np.flatnonzero(dearer <= spare)
        kept = kept[np.argsort(dearer[kept], kind="stable")]
        return added[kept], dearer[kept], move[kept], target[kept]

    def _schedule(self, layers: Sequence[_Layer], state: int) -> Schedule:
        """The way to a state of the last layer."""
        instance = self.instance
        workers: Integers = np.zeros((instance.jobs, self.slots, instance.sites), dtype=np.int64)
        server = np.full((instance.jobs, self.slots), -1)
        for t in range(self.slots - 1, -1, -1):
            layer = layers[t + 1]
            for i, move in enumerate(layer.move[state].tolist()):
                if move >= 0:
                    workers[i, t] = self.moves[i].workers[move]
                    server[i, t] = self.moves[i].server[move]
            state = int(layer.origin[state])
        parts = []
        for i, first in enumerate(self.first.tolist()):
            path = path_along(instance, i, workers[i, first:], server[i, first:])
            parts.append(path_schedule(instance, i, path))
        return Schedule.merged(parts)


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
        other = _Room(jobs, 8 * states)
        other.points[:count], other.remains[:count] = self.points, self.remains
        other.origin[:count], other.moved[:count] = self.origin, self.moved
        other.said[0] = count
        enter(other.points, other.table, count)
        return other
