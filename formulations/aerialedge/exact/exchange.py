"""Tabu search for a packing into given nodes, and which nodes to try.

Nodes may overflow. Each step exchanges two items, of a node that overflows and of another, so that
the overflow falls most, or rises least; items just exchanged are tabu for a while. After a number
of non-improving steps some exchanges at random lead elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np

from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking
from optsched.jit import njit_cached
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.deadline import Deadline

STEPS = 500
"""Steps between looks at the clock."""
REST = (10, 40)
"""Steps an exchanged item rests, at least and below."""
PATIENCE = 1500
"""Steps without progress, before exchanges at random."""
TIES = 1e-4
"""Share of a capacity: random numbers up to it decide between similar exchanges."""
ROUNDING = 1e-12
"""Overflow that counts as none, of sums of shares; of one node it is exact."""
_FLEETS = 10  # that a search is begun on
_TYPES = 10  # node types up to which two nodes are replaced by two
_KICK = 8  # one exchange at random for so many items
_NOISE = 1021  # random numbers that decide between exchanges; prime, so that none is met often


class Places(NamedTuple):
    """What is packed, and into what; a place for no item in each node makes moves exchanges."""

    size: Integers
    """Sizes of the items, then zero for each node, shape (items + nodes, resources)."""
    room: Integers
    """Capacity of each node, shape (nodes, resources)."""
    share: Floats
    """One unit as a share of the largest capacity, shape (resources,)."""


class State(NamedTuple):
    """Who is where."""

    node: Integers
    """Node of each item, then of the places for no item, shape (items + nodes,)."""
    load: Integers
    """Shape (nodes, resources)."""
    over: Floats
    """By how much each node overflows, in shares added up, shape (nodes,)."""
    rests_until: Integers
    """Step from which an item may be exchanged again, shape (items + nodes,)."""


@njit_cached
def overflow(places: Places, load: Integers, k: int, comes: int, goes: int) -> float:
    """Overflow of node k with such a load, after one item comes and another goes."""
    total = 0.0
    for r in range(len(load)):
        more = load[r] + places.size[comes, r] - places.size[goes, r] - places.room[k, r]
        if more > 0:
            total += more * places.share[r]
    return total


@njit_cached
def best_exchange(
    places: Places, state: State, k: int, step: int, most: float, noise: Floats, offset: int
) -> tuple[int, int]:
    """The items of node k and of another that are best exchanged; -1 where none may be.

    Args:
        places: what is packed, and into what.
        state: before the exchange.
        k: a node that overflows.
        step: number of the step.
        most: gain, negative, below which even items that rest may be exchanged.
        noise: uniform in [0, ``TIES``).
        offset: where in it to begin.
    """
    items = len(places.size) - len(places.room)
    mine = [i for i in range(items) if state.node[i] == k]
    best, going, coming = np.inf, -1, -1
    for j in range(len(places.size)):
        other = state.node[j]
        if other == k:
            continue
        before = state.over[k] + state.over[other]
        for i in mine:
            gain = overflow(places, state.load[k], k, j, i) - before
            if gain >= best:
                continue
            gain += overflow(places, state.load[other], other, i, j)
            rests = state.rests_until[i] > step or state.rests_until[j] > step
            if rests and gain >= most:
                continue
            gain += noise[(31 * i + j + offset) % len(noise)]
            if gain < best:
                best, going, coming = gain, i, j
    return going, coming


@njit_cached
def exchange(
    places: Places, state: State, draws: Floats, noise: Floats, began: int, best: float, since: int
) -> tuple[float, int]:
    """Steps until nothing overflows, or for too long there has been no progress.

    Args:
        places: what is packed, and into what.
        state: changed in place.
        draws: uniform in [0, 1), shape (steps, 4).
        noise: see ``best_exchange``.
        began: number of the first step.
        best: least overflow so far.
        since: step at which it was met.

    Returns:
        Both at the end.
    """
    items, width = len(places.size) - len(places.room), REST[1] - REST[0]
    for row in range(len(draws)):
        step, total = began + row, state.over.sum()
        if total < best - ROUNDING:
            best, since = total, step
        bad = np.flatnonzero(state.over > 0)
        if len(bad) == 0 or step - since > PATIENCE:
            break
        k = bad[int(draws[row, 0] * len(bad))]
        offset = int(draws[row, 1] * len(noise))
        i, j = best_exchange(places, state, k, step, best - ROUNDING - total, noise, offset)
        if i < 0:
            continue
        other = state.node[j]
        for r in range(places.size.shape[1]):
            moved = places.size[j, r] - places.size[i, r]
            state.load[k, r] += moved
            state.load[other, r] -= moved
        state.node[i], state.node[j] = other, k
        state.over[k] = overflow(places, state.load[k], k, i, i)
        state.over[other] = overflow(places, state.load[other], other, i, i)
        state.rests_until[i] = step + REST[0] + int(draws[row, 2] * width)
        if j < items:  # the place for no item of any other node would do as well
            state.rests_until[j] = step + REST[0] + int(draws[row, 3] * width)
    return best, since


class _Exchange:
    """The search on given nodes."""

    def __init__(
        self,
        packing: VectorPacking,
        fleet: Integers,
        rng: np.random.Generator,
        start: Sequence[Bin],
    ) -> None:
        self.option = np.repeat(np.arange(len(packing.size)), packing.number)
        self.kind = np.repeat(np.arange(packing.node_types), fleet)
        self.rng = rng
        nothing = np.zeros((len(self.kind), packing.resources), dtype=np.int64)
        self.places = Places(
            np.concatenate([packing.size[self.option], nothing]),
            packing.capacity[self.kind],
            1.0 / np.maximum(packing.capacity.max(axis=0), 1),
        )
        self.step = 0
        self._begin(np.concatenate([self._spread(start), np.arange(len(self.kind))]))

    def _spread(self, start: Sequence[Bin]) -> Integers:
        """The items of a start where they are, as far as its nodes are there.

        The fullest nodes first; other items by decreasing size, where they overflow least, then
        where they fit closest.
        """
        items, (room, share) = len(self.option), self.places[1:]
        size, node = self.places.size[:items], np.full(items, -1)
        first = np.searchsorted(self.option, np.arange(int(self.option.max()) + 2))
        next_item, load = first.copy(), np.zeros(room.shape, dtype=np.int64)
        free_nodes = [list(np.flatnonzero(self.kind == s)) for s in range(int(self.kind.max()) + 1)]
        full = [float((size[first[list(b.options)]] * share).sum()) for b in start]
        for b in np.argsort(np.negative(full), kind="stable").tolist():
            s = start[b].node_type
            if s < len(free_nodes) and free_nodes[s]:
                place = free_nodes[s].pop()
                for k in start[b].options:
                    if next_item[k] < first[k + 1]:  # it may hold an item more often than needed
                        node[next_item[k]] = place
                        next_item[k] += 1
                        load[place] += size[first[k]]
        order = np.argsort(-(size * share).sum(axis=1), kind="stable")
        for i in order[node[order] < 0].tolist():
            free = (room - load - size[i]) * share
            place = np.lexsort((free.min(axis=1), np.maximum(-free, 0.0).sum(axis=1)))[0]
            node[i] = place
            load[place] += size[i]
        return node

    def _begin(self, node: Integers) -> None:
        load = np.zeros(self.places.room.shape, dtype=np.int64)
        np.add.at(load, node, self.places.size)
        over = (np.maximum(load - self.places.room, 0) * self.places.share).sum(axis=1)
        self.state = State(node, load, over, np.zeros(len(node), dtype=np.int64))
        self.best, self.since = math.inf, self.step

    def improve(self) -> bool:
        """Some steps; whether nothing overflows any more."""
        draws = self.rng.random((STEPS, 4))
        noise = TIES * self.rng.random(_NOISE)
        self.best, self.since = exchange(
            self.places, self.state, draws, noise, self.step, self.best, self.since
        )
        if not self.state.over.any():
            return True
        self.step += STEPS
        if self.step - self.since > PATIENCE:
            self._kick()
        return False

    def _kick(self) -> None:
        """Some items change places at random."""
        items, node = len(self.option), self.state.node
        for i, j in self.rng.integers(items, size=(-(-items // _KICK), 2)).tolist():
            node[[i, j]] = node[[j, i]]
        self._begin(node)

    def bins(self) -> list[Bin]:
        """The nodes that hold something."""
        place = self.state.node[: len(self.option)]
        held = (self.option[place == k] for k in range(len(self.kind)))
        pairs = zip(self.kind.tolist(), held, strict=True)
        return [Bin(s, tuple(options.tolist())) for s, options in pairs if len(options)]


def pack_into(
    packing: VectorPacking,
    fleet: Integers,
    rng: np.random.Generator,
    deadline: Deadline,
    *,
    start: Sequence[Bin] = (),
    steps: float = math.inf,
) -> list[Bin] | None:
    """Return a packing on so many nodes of each type; None if none is found in time.

    Args:
        packing: with one option per task type.
        fleet: how many nodes of each type may be used, one at least, shape (node types,).
        rng: source of all randomness.
        deadline: after which it gives up.
        start: a packing to begin with, which may have other nodes.
        steps: exchanges after which it gives up, about.
    """
    search = _Exchange(packing, fleet, rng, start)
    while not search.improve():
        if search.step >= steps or deadline.over():
            return None
    return search.bins()


def lightened(
    packing: VectorPacking,
    bins: list[Bin],
    bound: float,
    rng: np.random.Generator,
    deadline: Deadline,
    *,
    steps: float = math.inf,
) -> list[Bin] | None:
    """Return a packing on lighter nodes than those of a packing; None if none is found in time.

    Args:
        packing: with one option per task type.
        bins: to begin with.
        bound: weight below which there is none.
        rng: source of all randomness.
        deadline: shared equally by the choices of nodes that are tried.
        steps: exchanges of all of these together, about.
    """
    fleets = lighter_fleets(packing, bins, bound)
    for k, fleet in enumerate(fleets):
        part = Deadline(deadline.within(1.0 / (len(fleets) - k)), deadline.stop)
        found = pack_into(packing, fleet, rng, part, start=bins, steps=steps / len(fleets))
        if found is not None or deadline.over():
            return found
    return None


def lightest_fleet(
    packing: VectorPacking, at_least: float, *, time_limit: float | None = None
) -> tuple[float, Integers | None]:
    """The lightest whole nodes, one at least, that together have room for all items.

    The volume bound with whole numbers of nodes and all resources at once: above a bound of the
    relaxation there may be no sum of weights for a while.

    Args:
        packing: what to pack.
        at_least: proven bound, which is stated as a row.
        time_limit: wall seconds, after which what is proven counts; None: until it is.

    Returns:
        Bound in units of weight, and nodes of each type, shape (node types,), or None where none
        are known; they are as light as the bound unless time ended before.
    """
    model = Model("nodes with room for all items")
    nodes = model.integer("nodes", packing.node_types, upper=packing.available.astype(float))
    weight = nodes @ packing.weight.astype(float)
    demand = packing.number @ packing.least_size
    model.add("room", packing.capacity.T.astype(float) @ nodes >= demand.astype(float))
    model.add("weight", weight >= at_least)
    model.add("some", nodes.sum() >= 1)  # items without demand need a node, too
    model.minimize(weight)
    solution = solve(model, "highs", time_limit=time_limit)
    bound = at_least if solution.bound is None else max(at_least, solution.bound)
    return bound, np.rint(solution["nodes"]).astype(np.int64) if solution.has_point else None


def lighter_fleets(packing: VectorPacking, bins: Sequence[Bin], bound: float) -> Integers:
    """Nodes that weigh less than those of a packing: one or two of them are left out or replaced.

    The heaviest come first, then those with most room; none is part of another.

    Args:
        packing: what to pack.
        bins: a packing.
        bound: weight below which there is none.

    Returns:
        Nodes of each type, shape (fleets, node types).
    """
    types, used = packing.node_types, np.bincount([b.node_type for b in bins])
    most = 2 if types <= _TYPES else 1
    there = np.flatnonzero(used)
    out = [kinds for n in (1, 2) for kinds in combinations_with_replacement(there, n)]
    into = [
        kinds for n in range(most + 1) for kinds in combinations_with_replacement(range(types), n)
    ]
    fleets = np.tile(np.pad(used, (0, types - len(used))), (len(out) * len(into), 1))
    for fleet, (gone, new) in zip(fleets, product(out, into), strict=True):
        np.subtract.at(fleet, list(gone), 1)
        np.add.at(fleet, list(new), 1)
    fleets = np.unique(fleets, axis=0)
    weight, demand = fleets @ packing.weight, packing.number @ packing.size
    free = fleets @ packing.capacity - demand
    lighter = (weight < used @ packing.weight[: len(used)]) & (weight >= bound)
    possible = ((fleets >= 0) & (fleets <= packing.available)).all(axis=1)
    kept = np.flatnonzero(lighter & possible & (free >= 0).all(axis=1) & fleets.any(axis=1))
    room = (free / np.maximum(packing.capacity.max(axis=0), 1)).min(axis=1)
    found: list[Integers] = []
    for f in kept[np.lexsort((-room[kept], -weight[kept]))].tolist():
        if not any((fleets[f] <= other).all() for other in found):
            found.append(fleets[f])
        if len(found) == _FLEETS:
            break
    return np.array(found, dtype=np.int64).reshape(-1, types)
