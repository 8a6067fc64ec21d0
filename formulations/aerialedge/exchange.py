"""Packings into a given number of identical nodes, by exchanging items between nodes.

A tabu search: nodes may overflow, and the exchange that lessens the overflow most is made, or
increases it least, between a node that overflows and any other; items just exchanged rest for a
while. Where it makes no progress, some exchanges at random lead elsewhere.
"""

from __future__ import annotations

import math
import threading
import time

import numpy as np

from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking

_REST = (10, 40)  # steps an exchanged item rests, at least and below
_PATIENCE = 1500  # steps without progress, before exchanges at random
_KICK = 8  # one exchange at random for so many items
_TIES = 1e-4  # of a capacity; random numbers up to this decide between similar exchanges
_ROUNDING = 1e-12  # of a capacity; an overflow below this is none, until counted in units
_CHECK = 64  # steps between looks at the clock


class _Exchange:
    """Items in nodes; a place for no item in each node makes moves exchanges too."""

    def __init__(self, packing: VectorPacking, nodes: int, rng: np.random.Generator) -> None:
        scale = np.maximum(packing.capacity[0], 1)
        option = np.repeat(np.arange(len(packing.size)), packing.number)
        nothing = np.zeros((nodes, packing.resources))
        self.option = option
        self.room = packing.capacity[0] / scale
        self.exact_room = packing.capacity[0]
        self.exact = np.concatenate([packing.size[option], nothing.astype(np.int64)])
        self.size = self.exact / scale
        self.nodes = nodes
        self.rng = rng
        self.node = np.concatenate([self._spread(), np.arange(nodes)])
        self.rests_until = np.zeros(len(self.node), dtype=np.int64)
        self.step = 0
        self._start_afresh()

    def _spread(self) -> Integers:
        """Items by decreasing size, each where it overflows least, then where it fits closest."""
        items = len(self.option)
        node = np.zeros(items, dtype=np.int64)
        load = np.zeros((self.nodes, self.size.shape[1]))
        for i in np.argsort(-self.size[:items].sum(axis=1), kind="stable").tolist():
            after = load + self.size[i]
            place = np.lexsort((-after.max(axis=1), self._over(after)))[0]
            node[i] = place
            load[place] = after[place]
        return node

    def _over(self, load: Floats) -> Floats:
        """By how much loads exceed the capacity, in shares of it over all resources."""
        return np.asarray(np.maximum(load - self.room, 0.0).sum(axis=-1))

    def _start_afresh(self) -> bool:
        """Loads from the places, without the rounding that has crept in; whether all fit."""
        exact = np.zeros((self.nodes, self.size.shape[1]), dtype=np.int64)
        np.add.at(exact, self.node, self.exact)
        self.load = exact / np.maximum(self.exact_room, 1)
        self.over = self._over(self.load)
        self.best, self.progress = float(self.over.sum()), self.step
        return bool((exact <= self.exact_room).all())

    def improve(self) -> bool:
        """One step; whether nothing overflows any more."""
        self.step += 1
        bad = np.flatnonzero(self.over > _ROUNDING)
        if not len(bad):
            if self._start_afresh():
                return True
            self._kick()  # what overflows is too little to be seen in shares
            return False
        self._exchange_best(int(bad[self.rng.integers(len(bad))]))
        total = float(self.over.sum())
        if total < self.best - _ROUNDING:
            self.best, self.progress = total, self.step
        elif self.step - self.progress > _PATIENCE:
            self._kick()
        return False

    def _exchange_best(self, k: int) -> None:
        """The best exchange of an item of node k that is allowed, or leads to a new best."""
        mine = np.flatnonzero(self.node[: len(self.option)] == k)
        change = self.size[None, :, :] - self.size[mine][:, None, :]
        here = self._over(self.load[k] + change)
        there = self._over(self.load[self.node] - change)
        gain = here + there - self.over[k] - self.over[self.node]
        gain[:, self.node == k] = np.inf
        rests = self.rests_until > self.step
        waits = rests[mine][:, None] | rests[None, :]
        gain[waits & (self.over.sum() + gain >= self.best - _ROUNDING)] = np.inf
        best = int(np.argmin(gain + _TIES * self.rng.random(gain.shape)))
        i, j = int(mine[best // len(self.node)]), best % len(self.node)
        if math.isinf(gain.flat[best]):
            return
        other = self.node[j]
        moved = self.size[j] - self.size[i]
        self.load[k] += moved
        self.load[other] -= moved
        self.node[i], self.node[j] = other, k
        self.over[[k, other]] = self._over(self.load[[k, other]])
        # a place for no item never rests: the one of any other node would do as well
        exchanged = [i, j] if j < len(self.option) else [i]
        self.rests_until[exchanged] = self.step + self.rng.integers(*_REST, len(exchanged))

    def _kick(self) -> None:
        items = len(self.option)
        for i, j in self.rng.integers(items, size=(-(-items // _KICK), 2)).tolist():
            self.node[[i, j]] = self.node[[j, i]]
        self._start_afresh()

    def bins(self) -> list[Bin]:
        """The nodes that hold something."""
        place = self.node[: len(self.option)]
        held = (self.option[place == k] for k in range(self.nodes))
        return [Bin(0, tuple(options.tolist())) for options in held if len(options)]


def pack_into(
    packing: VectorPacking,
    nodes: int,
    rng: np.random.Generator,
    *,
    deadline: float = math.inf,
    stop: threading.Event | None = None,
) -> list[Bin] | None:
    """A packing on so many nodes; None where none is found in time.

    Args:
        packing: with one node type, and one option per task type.
        nodes: how many may be used, at least one.
        rng: source of all randomness.
        deadline: of ``time.perf_counter``, after which it gives up.
        stop: set it from another thread to give up.
    """
    search = _Exchange(packing, nodes, rng)
    while not search.improve():
        if search.step % _CHECK == 0 and (
            time.perf_counter() > deadline or (stop is not None and stop.is_set())
        ):
            return None
    return search.bins()
