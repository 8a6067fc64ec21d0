"""States of a search that starts requests in the order of time, and dominance between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.llm_inference.instance import Integers
from optsched.jit import njit_cached

Floats = NDArray[np.float64]


MOST_REQUESTS = 62
"""Requests of a state, a bit each."""


class Costs(NamedTuple):
    """A Lagrangian bound: sum of starts >= sum of their reduced costs + constant.

    A row gives its price back for what remains unused when no request that waits can use it.
    """

    cost: Floats
    """Reduced cost of each request and start, shape (requests, rounds)."""
    least: Floats
    """Least reduced cost of each request from each round on, shape (requests, rounds)."""
    price: Floats
    """Of a token in each round."""
    pair_price: Floats
    """Of rows that one request uses at most, shape (pairs,)."""
    latest: Integers
    """Latest start with which a request uses such a row, shape (pairs, requests)."""
    before: Integers
    """Latest start before those; ``latest`` for a request that uses none."""
    constant: float

    @property
    def value(self) -> float:
        """The bound on the sum of starts."""
        return float(self.least[:, 0].sum()) + self.constant


class States(NamedTuple):
    """States of one layer: all have started the same number of requests."""

    waiting: Integers
    """Bit i: request i has not started."""
    now: Integers
    """The latest start."""
    total: Integers
    """Sum of the starts."""
    reduced: Floats
    """Sum of their reduced costs, the constant, and what rows have given back."""
    bound: Floats
    """On the sum of all starts."""
    load: NDArray[np.int32]
    """Memory held from now on, shape (states, rounds)."""
    closed: NDArray[np.bool_]
    """Which rows of pairs are used or have given back, shape (states, pairs)."""
    parent: Integers
    """State of the layer before."""
    request: Integers
    """Request that started last."""

    def take(self, chosen: Any) -> States:
        """Some of them."""
        return States(*(column[chosen] for column in self))


def blank(size: int, rounds: int, pairs: int) -> States:
    """Room for states."""
    now, total, waiting, parent, request = np.zeros((5, size), dtype=np.int64)
    load = np.zeros((size, rounds), dtype=np.int32)
    closed = np.zeros((size, pairs), dtype=np.bool_)
    reduced, bound = np.zeros((2, size))
    return States(waiting, now, total, reduced, bound, load, closed, parent, request)


@njit_cached
def fits(load: NDArray[np.int32], prompt: int, output: int, memory: int) -> bool:
    """Whether a request fits beside a load from now on."""
    for u in range(min(output, len(load)) - 1, -1, -1):
        if load[u] + prompt + u + 1 > memory:
            return False
    return True


@njit_cached
def give_back(costs: Costs, closed: NDArray[np.bool_], now: int, waiting: int) -> float:
    """Close the rows of pairs that no request that waits can use; return their prices."""
    gain = 0.0
    for c in range(len(closed)):
        if closed[c]:
            continue
        idle = True
        for j in range(costs.latest.shape[1]):
            latest = costs.latest[c, j]
            if waiting >> j & 1 and now <= latest and costs.before[c, j] < latest:
                idle = False
                break
        if idle:
            closed[c] = True
            gain += costs.pair_price[c]
    return gain


@njit_cached
def expand(
    states: States, begin: int, end: int, out: States, costs: Costs, prompt: Integers,
    output: Integers, memory: int, limit: float,
) -> tuple[int, int]:  # fmt: skip
    """Write the successors of states begin to end - 1 whose bound is at most a limit.

    Returns:
        How many; the state to go on with when ``out`` is full.
    """
    n, rounds = costs.cost.shape
    count, width = 0, states.load.shape[1]
    for a in range(begin, end):
        if count + n * rounds > len(out.now):
            return count, a
        waiting, closed, base = states.waiting[a], states.closed[a].copy(), states.reduced[a]
        for now in range(states.now[a], rounds):
            load = states.load[a, min(width, now - states.now[a]) :]
            if now > states.now[a]:  # nothing that waits can use the round before
                wait = now - states.now[a] - 1
                held = states.load[a, wait] if wait < width else 0
                base += costs.price[now - 1] * (memory - held)
            base += give_back(costs, closed, now, waiting)
            total = base
            for j in range(n):
                if waiting >> j & 1:
                    total += costs.least[j, now]
            if total > limit:
                break  # later starts cost more
            for j in range(n):
                bound = total + costs.cost[j, now] - costs.least[j, now]
                if not waiting >> j & 1 or bound > limit:
                    continue
                if not fits(load, prompt[j], output[j], memory):
                    continue
                used = out.closed[count]
                for c in range(len(closed)):
                    used[c] = closed[c] or costs.before[c, j] < now <= costs.latest[c, j]
                gain = give_back(costs, used, now, waiting & ~(1 << j))
                if bound + gain > limit:
                    continue
                for u in range(width):
                    held = load[u] if u < len(load) else 0
                    out.load[count, u] = held + (prompt[j] + u + 1 if u < output[j] else 0)
                out.waiting[count] = waiting & ~(1 << j)
                out.now[count], out.total[count] = now, states.total[a] + now
                out.reduced[count] = base + costs.cost[j, now] + gain
                out.bound[count] = bound + gain
                out.parent[count], out.request[count] = a, j
                count += 1
    return count, end


@njit_cached
def undominated(states: States, order: Integers, kept: NDArray[np.bool_], most: int) -> None:
    """Mark the states that no other dominates; ``order`` sorts by what waits, then total.

    A state is compared with at most so many others of less total, the closest ones.
    """
    width = states.load.shape[1]
    stay = np.empty(len(order), dtype=np.int64)
    number = 0
    for b in range(len(order)):
        y = order[b]
        if b == 0 or states.waiting[order[b - 1]] != states.waiting[y]:
            number = 0
        good = True
        for a in range(number - 1, max(-1, number - 1 - most), -1):
            x = stay[a]
            shift = states.now[y] - states.now[x]
            if shift < 0:
                continue
            lighter = True
            for u in range(width - shift):
                if states.load[x, u + shift] > states.load[y, u]:
                    lighter = False
                    break
            if lighter:
                good = False
                break
        kept[y] = good
        if good:
            stay[number] = y
            number += 1
