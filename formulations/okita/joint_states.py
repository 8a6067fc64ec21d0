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
from formulations.okita.one_job import Path, path_schedule
from formulations.okita.pricing import SiteLimits
from formulations.okita.schedule import Schedule
from formulations.okita.transport import cheapest_transport
from formulations.okita.windows import Windows
from optsched.jit import njit_cached

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
        self.worth = price @ limits.room
        """Of all capacities, by slot."""
        self._spent: list[Floats] = []  # price of what each move holds, by job: (slots, moves)
        self._to_go: list[Floats] = []
        at = limits.site[:, None] == np.arange(self.instance.sites)
        for i, own in enumerate(moves):
            slots = slice(int(self.first[i]), int(span.last[i]))
            worker = (price[slots] * limits.worker[i]) @ at
            server = (price[slots] * limits.server[i]) @ at
            spent = worker @ own.workers.T + server[:, own.server]
            late = span.flow_cost[span.first_cell[i] : span.first_cell[i + 1]]
            self._spent.append(spent)
            self._to_go.append(own.to_go(spent + own.talk, late))
        self._late = span
        size = np.array([len(own.server) for own in moves])
        self._workers = np.concatenate([own.workers for own in moves])
        self._servers = np.concatenate([own.server for own in moves])
        self._first_move = np.cumsum(size) - size
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
        instance = self.instance
        offered = self._offered(t, before, limit)
        room, begun = _Room(instance.jobs, FIRST_STATES), 0
        while begun < len(before.bound):
            if not go_on():
                raise TooManyStatesError("time is up")
            begun = _expand(
                before.point, limit - self.worth[t] - before.bound, begun, *offered,
                self._workers, self._servers, self._first_move, instance.worker_demand,
                instance.ps_demand, instance.capacity, room.points, room.remains, room.origin,
                room.moved, room.table, room.said, STEPS,
            )  # fmt: skip
            if room.said[1] == _FULL and len(room.points) < MOST_STATES:
                room = room.larger()
            elif room.said[1] != _FITS:
                raise TooManyStatesError("states, or ways on from one, are too many")
        n = int(room.said[0])
        return _Layer(room.points[:n], limit - room.remains[:n], room.origin[:n], room.moved[:n])

    def _offered(
        self, t: int, before: _Layer, limit: float
    ) -> tuple[Integers, Integers, Floats, Integers, Integers]:
        """Moves worth a look from every point in use, by what they add to the bound.

        Returns:
            first and last + 1 entry by job, point; of each entry what it adds, which move it is
            (-1: none) and where it leads.
        """
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
        added, move, to = (np.concatenate(column) for column in zip(*parts, strict=True))
        return first, last, added, move, to

    def _ways_on(
        self, i: int, t: int, point: int, spare: float
    ) -> tuple[Floats, Integers, Integers]:
        """Of one point of a job, those within what is to spare, the least added first."""
        own, slot = self.moves[i], t - int(self.first[i])
        if slot < 0 or point == own.done or slot >= len(self._spent[i]):
            stays = np.zeros(1 if slot < 0 or point == own.done else 0)
            return stays, np.full(len(stays), -1), np.full(len(stays), point)
        value, to = self._to_go[i], own.after[point]
        late = float(self._late.flow_cost[self._late.first_cell[i] + slot])
        leads = to >= 0
        on = np.where(leads, own.talk + value[slot + 1][to], np.inf)
        ends = np.where(leads, own.talk + own.transport[to] + late, np.inf)
        added = np.concatenate([value[slot + 1, [point]], on, ends]) - value[slot, point]
        moves = np.arange(len(to))
        move = np.concatenate([[-1], moves, moves])
        target = np.concatenate([[point], to, np.full(len(to), own.done)])
        dearer = added + np.where(move < 0, 0.0, self._spent[i][slot][move])
        kept = np.flatnonzero(dearer <= spare)
        kept = kept[np.argsort(added[kept], kind="stable")]
        return added[kept], move[kept], target[kept]

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
        return Schedule.merged(
            path_schedule(instance, i, self._path(i, workers[i, first:], server[i, first:]))
            for i, first in enumerate(self.first.tolist())
        )

    def _path(self, i: int, workers: Integers, server: Integers) -> Path:
        instance = self.instance
        q, supply = instance.unit_bandwidth_cost, instance.num_chunks[i]
        flow: Integers = np.zeros(q.shape, dtype=np.int64)
        trained = instance.chunks_done(i, workers).sum(axis=0)
        price = q * instance.chunk_size_mb[i]
        cheapest_transport(supply, trained, price, flow, int(supply.sum()))
        return Path(0.0, workers, server, flow)


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
        _enter(other.points, other.table, count)
        return other


_FITS, _FULL, _ENDLESS = range(3)
"""How a search ends: well, or there is no room for another state, or one has too many ways on."""


@njit_cached
def _place(points: Integers, table: Integers, wanted: Integers) -> int:
    """Where in the table the state ``wanted`` stands, or belongs."""
    at = 0
    for j in range(points.shape[1]):
        at = (at * 1_000_003 + wanted[j] + 1) % 2_147_483_647
    at %= len(table)
    while table[at] >= 0 and (points[table[at]] != wanted).any():
        at = (at + 1) % len(table)
    return at


@njit_cached
def _enter(points: Integers, table: Integers, count: int) -> None:
    """Write the first states into the table."""
    for n in range(count):
        table[_place(points, table, points[n])] = n


@njit_cached
def _fits(
    before: Integers,
    workers: Integers,
    server: int,
    worker_demand: Integers,
    server_demand: Integers,
    left: Integers,
) -> bool:
    """Whether a move fits into what is left, and what it leaves, written."""
    for r in range(before.shape[0]):
        for k in range(before.shape[1]):
            left[r, k] = before[r, k] - workers[r] * worker_demand[k]
            if r == server:
                left[r, k] -= server_demand[k]
            if left[r, k] < 0:
                return False
    return True


@njit_cached
def _expand(
    point: Integers,
    left: Floats,
    begun: int,
    first: Integers,
    last: Integers,
    added: Floats,
    move: Integers,
    to: Integers,
    workers: Integers,
    servers: Integers,
    first_move: Integers,
    worker_demand: Integers,
    server_demand: Integers,
    capacity: Integers,
    points: Integers,
    remains: Floats,
    origin: Integers,
    moved: Integers,
    table: Integers,
    said: Integers,
    steps: int,
) -> int:
    """Try all combinations of moves from states ``begun`` on; the state to go on with.

    Args:
        point: of the states of the slot before, shape (states, jobs).
        left: what moves may add to the bound of each, with all capacities paid for.
        begun: the state to begin with.
        first: see ``_offered``, as are last, added, move and to.
        last: see there.
        added: see there.
        move: see there.
        to: see there.
        workers: of all jobs' moves, shape (moves, sites).
        servers: site of each.
        first_move: of each job.
        worker_demand: m, shape (jobs, resources).
        server_demand: n.
        capacity: C.
        points: written: the states come to, as are remains (the most is kept), origin and moved.
        remains: see there.
        origin: see there.
        moved: see there.
        table: where states are found by their points.
        said: written: how many states there are, and how this ended.
        steps: combinations after which to return.
    """
    jobs = point.shape[1]
    room = np.empty((jobs + 1, capacity.shape[0], capacity.shape[1]), dtype=np.int64)
    room[0] = capacity
    at, paid, least = np.empty(jobs, dtype=np.int64), np.zeros(jobs + 1), np.zeros(jobs + 1)
    wanted = np.empty(jobs, dtype=np.int64)
    total = 0
    said[1] = _FITS
    for x in range(begun, len(point)):
        if total > steps:
            return x
        stuck, tried = False, 0
        for j in range(jobs - 1, -1, -1):
            at[j] = first[j, point[x, j]]
            stuck = stuck or at[j] == last[j, point[x, j]]
            if not stuck:
                least[j] = least[j + 1] + added[at[j]]
        j = -1 if stuck else 0
        while j >= 0:
            n = at[j]
            if n == last[j, point[x, j]] or paid[j] + added[n] + least[j + 1] > left[x]:
                at[j] = first[j, point[x, j]]
                j -= 1
                if j >= 0:
                    at[j] += 1
                continue
            tried += 1
            if tried > steps:
                said[1] = _ENDLESS
                return x
            if move[n] < 0:
                room[j + 1] = room[j]
            else:
                c = first_move[j] + move[n]
                if not _fits(
                    room[j], workers[c], servers[c], worker_demand[j], server_demand[j], room[j + 1]
                ):
                    at[j] += 1
                    continue
            paid[j + 1] = paid[j] + added[n]
            if j < jobs - 1:
                j += 1
                continue
            at[j] += 1
            for i in range(jobs):
                wanted[i] = to[at[i] if i < j else n]
            h = _place(points, table, wanted)
            y = table[h]
            if y < 0:
                y = said[0]
                if y == len(points):
                    said[1] = _FULL
                    return x
                table[h] = y
                points[y] = wanted
                said[0] = y + 1
            elif remains[y] >= left[x] - paid[jobs]:
                continue
            remains[y] = left[x] - paid[jobs]
            origin[y] = x
            for i in range(jobs):
                moved[y, i] = move[at[i] if i < j else n]
        total += tried
    return len(point)
