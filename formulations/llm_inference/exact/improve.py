"""Schedules by insertion, improved by destroy and repair."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from formulations.llm_inference.instance import Instance, Integers
from formulations.llm_inference.schedule import Schedule
from optsched.jit import njit_cached

Floats = NDArray[np.float64]

MOST_REMOVED = 5
"""Requests that a step removes."""
WAITS = 0.3
"""Probability that a request is inserted later than it could be."""


@njit_cached
def first_fit(load: Integers, start: int, prompt: int, output: int, memory: int) -> int:
    """Return the first round from ``start`` on in which a request fits beside the load."""
    fits = False
    while not fits:
        fits = True
        for u in range(start + output - 1, start - 1, -1):
            over = load[u] + prompt + 1 + u - start - memory
            if over > 0:  # a later start is smaller in this round
                start += min(over, u + 1 - start)
                fits = False
                break
    return start


@njit_cached
def place(load: Integers, start: int, prompt: int, output: int, sign: int) -> None:
    """Add a request to the load, or take it from there."""
    for u in range(output):
        load[start + u] += sign * (prompt + u + 1)


@njit_cached
def destroy_repair(
    starts: Integers, load: Integers, best: Integers, least: int, arrival: Integers,
    prompt: Integers, output: Integers, memory: int, draws: Floats, temperature: float,
) -> int:  # fmt: skip
    """Remove some requests and insert them again, a step per row of ``draws``.

    Returns:
        The least sum of starts met, whose starts are in ``best``.
    """
    n, total = len(starts), starts.sum()
    old = np.zeros(MOST_REMOVED, dtype=np.int64)
    chosen = np.zeros(MOST_REMOVED, dtype=np.int64)
    for step in range(len(draws)):
        draw = draws[step]
        removed, change = 0, 0
        for k in range(1 + int(draw[0] * MOST_REMOVED)):
            i = int(draw[2 + k] * n)
            if i not in chosen[:removed]:
                chosen[removed], old[removed] = i, starts[i]
                place(load, starts[i], prompt[i], output[i], -1)
                removed += 1
        for k in range(removed):
            i, wait = chosen[k], draw[2 + MOST_REMOVED + k]
            at = first_fit(load, arrival[i], prompt[i], output[i], memory)
            if wait < WAITS:
                later = at + 1 + int(wait / WAITS * output[i])
                at = first_fit(load, later, prompt[i], output[i], memory)
            starts[i] = at
            place(load, at, prompt[i], output[i], 1)
            change += at - old[k]
        if change <= -temperature * math.log(1.0 - draw[1]):
            total += change
            if total < least:
                least = total
                best[:] = starts
            continue
        for k in range(removed):
            i = chosen[k]
            place(load, starts[i], prompt[i], output[i], -1)
            starts[i] = old[k]
        for k in range(removed):
            place(load, old[k], prompt[chosen[k]], output[chosen[k]], 1)
    return int(least)


class Moves:
    """Steps of an annealing that begins with requests inserted shortest first."""

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance, self.rng = instance, np.random.default_rng(seed)
        # an insertion may come after all others, with one more wait
        longest = int(instance.output.max())
        self.load = np.zeros(instance.horizon + 4 * longest + 1, dtype=np.int64)
        self.starts = np.zeros(instance.requests, dtype=np.int64)
        for i in np.lexsort((instance.arrival, instance.output)).tolist():
            request = int(instance.prompt[i]), int(instance.output[i])
            first = int(instance.arrival[i])
            self.starts[i] = at = first_fit(self.load, first, *request, instance.memory)
            place(self.load, at, *request, 1)
        self.best = self.starts.copy()

    def steps(self, count: int, temperature: float) -> float:
        """Take so many steps; the best schedule is kept."""
        one = self.instance
        draws = self.rng.random((count, 2 + 2 * MOST_REMOVED))
        return destroy_repair(
            self.starts, self.load, self.best, int(self.best.sum()), one.arrival, one.prompt,
            one.output, one.memory, draws, temperature,
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
