"""States of a search that starts requests in the order of time, and dominance between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.llm_inference.instance import Integers
from optsched.jit import njit_cached

Floats = NDArray[np.float64]


class States(NamedTuple):
    """States of one layer: all have started the same number of requests."""

    waiting: Integers
    """Bit i: request i has not started."""
    now: Integers
    """The latest start."""
    total: Integers
    """Sum of the starts."""
    reduced: Floats
    """Sum of their reduced costs."""
    bound: Floats
    """On the sum of all starts."""
    load: NDArray[np.int32]
    """Memory held from now on, shape (states, rounds)."""
    parent: Integers
    """State of the layer before."""
    request: Integers
    """Request that started last."""

    def take(self, chosen: Any) -> States:
        """Some of them."""
        return States(*(column[chosen] for column in self))


def blank(size: int, rounds: int) -> States:
    """Room for states."""
    ints = [np.zeros(size, dtype=np.int64) for _ in range(5)]
    return States(
        ints[0], ints[1], ints[2], np.zeros(size), np.zeros(size),
        np.zeros((size, rounds), dtype=np.int32), ints[3], ints[4],
    )  # fmt: skip


@njit_cached
def expand(
    states: States, begin: int, begin_wait: int, out: States, cost: Floats, least: Floats,
    constant: float, prompt: Integers, output: Integers, memory: int, limit: float,
) -> tuple[int, int, int]:  # fmt: skip
    """Write the successors whose bound is below a limit: any request, any wait.

    Returns:
        How many; the state and wait to go on with when ``out`` is full.
    """
    count, rounds = 0, cost.shape[1]
    n, width = len(prompt), states.load.shape[1]
    for a in range(begin, len(states.now)):
        wait = begin_wait if a == begin else 0
        while True:
            now = states.now[a] + wait
            if now >= rounds:
                break
            rest = 0.0
            for j in range(n):
                if states.waiting[a] >> j & 1:
                    rest += least[j, now]
            if states.reduced[a] + rest + constant > limit:
                break  # later starts cost more
            if count + n > len(out.now):
                return count, a, wait
            for j in range(n):
                if not states.waiting[a] >> j & 1:
                    continue
                bound = states.reduced[a] + cost[j, now] + constant + rest - least[j, now]
                if bound > limit:
                    continue
                fits = True
                for u in range(output[j]):
                    held = states.load[a, u + wait] if u + wait < width else 0
                    if held + prompt[j] + u + 1 > memory:
                        fits = False
                        break
                if not fits:
                    continue
                for u in range(width):
                    held = states.load[a, u + wait] if u + wait < width else 0
                    out.load[count, u] = held + (prompt[j] + u + 1 if u < output[j] else 0)
                out.waiting[count] = states.waiting[a] & ~(1 << j)
                out.now[count] = now
                out.total[count] = states.total[a] + now
                out.reduced[count] = states.reduced[a] + cost[j, now]
                out.bound[count] = bound
                out.parent[count] = a
                out.request[count] = j
                count += 1
            wait += 1
    return count, len(states.now), 0


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
