"""Prices of a job's chunks by site, compiled: what workers earn by them, and a step on them."""

from __future__ import annotations

import numpy as np

from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.arrays import best_first
from optsched.jit import njit_cached


@njit_cached
def earnings(alpha: Floats, supply: Integers, move: Floats, share: float, earned: Floats) -> None:
    """What the y-th worker at each site earns in a slot, shape (sites, most units + 1), written."""
    sites = len(alpha)
    profit, order = np.empty(sites), np.empty(sites, dtype=np.int64)
    for v in range(sites):
        for r in range(sites):
            profit[r] = alpha[r] - move[r, v]
        pay = best_first(profit, order)
        at, left = 0, float(supply[order[0]]) if pay > 0 else 0.0
        for y in range(1, earned.shape[1]):
            room, total = share, 0.0
            while room > 0.0 and at < pay:
                taken = min(room, left)
                total += taken * profit[order[at]]
                room -= taken
                left -= taken
                if left <= 0.0:
                    at += 1
                    left = float(supply[order[at]]) if at < pay else 0.0
            earned[v, y] = total


@njit_cached
def subtract(
    alpha: Floats, supply: Integers, move: Floats, v: int, room: float, missing: Floats
) -> None:
    """Take off what workers at ``v`` train in a slot: the chunks that pay best."""
    profit, order = np.empty(len(alpha)), np.empty(len(alpha), dtype=np.int64)
    for r in range(len(alpha)):
        profit[r] = alpha[r] - move[r, v]
    for n in range(best_first(profit, order)):
        r = order[n]
        if room <= 0.0:
            break
        taken = min(room, float(supply[r]))
        missing[r] -= taken
        room -= taken


@njit_cached
def climb(alpha: Floats, slope: Floats, gain: float) -> bool:
    """Write prices of chunks one step on, Polyak's; whether there is anywhere to go.

    Args:
        alpha: read and written, shape (sites,), non-negative.
        slope: chunks of each site left untrained, read; written where prices are to stay at 0.
        gain: what the bound is to gain, money.
    """
    for r in range(len(alpha)):
        if alpha[r] <= 0.0 and slope[r] < 0.0:
            slope[r] = 0.0
    length = (slope * slope).sum()
    if length <= 1e-12:
        return False
    for r in range(len(alpha)):
        alpha[r] = max(0.0, alpha[r] + gain / length * slope[r])
    return True
