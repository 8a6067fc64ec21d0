"""Small steps on arrays, compiled: numpy's take longer to run, or to compile."""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Floats, Integers
from optsched.jit import njit_cached


@njit_cached
def copy_into(target: Floats | Integers, source: Floats | Integers) -> None:
    """Write one array to another of its shape, which an assignment would check wherever it is."""
    for n in np.ndindex(source.shape):
        target[n] = source[n]


@njit_cached
def best_first(profit: Floats, order: Integers) -> int:
    """Write positions of what pays by falling profit, and say how many; numpy's sort is slow."""
    count = 0
    for n in range(len(profit)):
        if profit[n] <= 0.0:
            continue
        at = count
        while at > 0 and profit[order[at - 1]] < profit[n]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = n
        count += 1
    return count
