"""Schedules by insertion, improved by destroy and repair."""

from __future__ import annotations

import math

import numpy as np

from formulations.llm_inference.exact.states import Floats
from formulations.llm_inference.instance import Instance, Integers
from formulations.llm_inference.schedule import Schedule
from optsched.jit import njit_cached

MOST_REMOVED = 5
"""Requests that a step removes."""
WAITS = 0.3
"""Probability that a request is inserted later than it could be."""


@njit_cached
def insert(load: Integers, start: int, prompt: int, output: int, memory: int) -> int:
    """Add a request to the load in the first round from ``start`` on that fits; return it."""
    u = start + output - 1
    while u >= start:
        over = load[u] + prompt + 1 + u - start - memory
        if over > 0:  # a later start is smaller in this round
            start += min(over, u + 1 - start)
            u = start + output
        u -= 1
    for u in range(output):
        load[start + u] += prompt + u + 1
    return start


@njit_cached
def destroy_repair(
    starts: Integers, load: Integers, best: Integers, arrival: Integers, prompt: Integers,
    output: Integers, memory: int, draws: Floats, temperature: float,
) -> int:  # fmt: skip
    """Remove some requests and insert them again, a step per row of ``draws``.

    Returns:
        The least sum of starts met, whose starts are in ``best``.
    """
    total, least = starts.sum(), best.sum()
    for step in range(len(draws)):
        draw, old, old_load = draws[step], starts.copy(), load.copy()
        chosen = np.zeros(MOST_REMOVED, dtype=np.int64)
        removed = 1 + int(draw[0] * MOST_REMOVED)
        for k in range(removed):
            i = chosen[k] = int(draw[2 + k] * len(starts))
            for u in range(output[i] if starts[i] >= 0 else 0):
                load[starts[i] + u] -= prompt[i] + u + 1
            starts[i] = -1
        for k in range(removed):
            i, wait = chosen[k], draw[2 + MOST_REMOVED + k] / WAITS
            if starts[i] < 0:
                first = arrival[i] + (1 + int(wait * output[i]) if wait < 1 else 0)
                starts[i] = insert(load, first, prompt[i], output[i], memory)
        change = starts.sum() - total
        if change > -temperature * math.log(1.0 - draw[1]):
            starts[:], load[:] = old, old_load
            continue
        total += change
        if total < least:
            least = total
            best[:] = starts
    return int(least)


class Moves:
    """Steps of an annealing that begins with requests inserted shortest first."""

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance, self.rng = instance, np.random.default_rng(seed)
        longest = int(instance.output.max())  # each of those removed may wait longer than needed
        size = instance.horizon + (2 + MOST_REMOVED) * longest
        self.load = np.zeros(size, dtype=np.int64)
        self.starts = np.zeros(instance.requests, dtype=np.int64)
        for i in np.lexsort((instance.arrival, instance.output)).tolist():
            self.starts[i] = insert(
                self.load, int(instance.arrival[i]), int(instance.prompt[i]),
                int(instance.output[i]), instance.memory,
            )  # fmt: skip
        self.best = self.starts.copy()

    def steps(self, count: int, temperature: float) -> float:
        """Take so many steps; the best schedule is kept."""
        one, draws = self.instance, self.rng.random((count, 2 + 2 * MOST_REMOVED))
        return destroy_repair(
            self.starts, self.load, self.best, one.arrival, one.prompt, one.output, one.memory,
            draws, temperature,
        )  # fmt: skip

    def keep(self) -> None:
        """Keep nothing more: ``steps`` has."""

    @property
    def schedule(self) -> Schedule:
        """The best one."""
        rows = [np.arange(len(self.best)), self.best, self.instance.output]
        return Schedule.build(np.column_stack(rows))


def shortest_inserted(instance: Instance) -> Schedule:
    """Requests inserted shortest first."""
    return Moves(instance, 0).schedule
