"""Prices of covering sets by how full they make servers, where a relaxation's prices say little.

The optimal prices of a linear program are 0 at every server that is not quite full. Here each
server counts by exp(sharpness * load) as jobs on fractions of sets fill them: the gradient of the
sum of these exponentials, to which the cheapest sets of the cheapest jobs are added again and again
(Frank and Wolfe). Prices are guidance, not bounds.
"""

from __future__ import annotations

import math

import numpy as np

from formulations.drp.covering_sets import CoveringSets
from formulations.drp.instance import Floats
from optsched.jit import njit_cached


@njit_cached
def load_factor(a: float, b: float, c: float) -> float:
    """lambda_max of (P1)."""
    return float((a + b) / 2 + math.sqrt((a - b) * (a - b) / 4 + c * c))


@njit_cached
def gradient(load: Floats, sharpness: float, marginal: Floats) -> None:
    """Marginal weights of what servers hold, written into an array of the shape of loads.

    Args:
        load: storage, inbound bandwidth, a, b and c of (P1), shape (servers, 5).
        sharpness: how much steeper fuller servers are.
        marginal: of each of these, written.
    """
    fullest = 0.0  # the exponentials are relative to it: none overflows
    for j in range(len(load)):
        factor = load_factor(load[j, 2], load[j, 3], load[j, 4])
        fullest = max(fullest, load[j, 0], load[j, 1], factor)
    for j in range(len(load)):
        a, b, c = load[j, 2], load[j, 3], load[j, 4]
        weight = math.exp(sharpness * (load_factor(a, b, c) - fullest))
        root = math.sqrt((a - b) * (a - b) / 4 + c * c)
        lean = (a - b) / (4 * root) if root > 0 else 0.0
        marginal[j, 0] = math.exp(sharpness * (load[j, 0] - fullest))
        marginal[j, 1] = math.exp(sharpness * (load[j, 1] - fullest))
        marginal[j, 2] = weight * (0.5 + lean)
        marginal[j, 3] = weight * (0.5 - lean)
        marginal[j, 4] = weight * c / root if root > 0 else 0.0


@njit_cached
def congestion_prices(
    sets: CoveringSets, servers: int, target: int, sharpness: float, rounds: int
) -> Floats:
    """Prices of sets such that of so many jobs the dearest costs 1, shape (sets,).

    Args:
        sets: on which jobs may stand; at least so many jobs have one.
        servers: how many.
        target: jobs, at least 1.
        sharpness: how much steeper fuller servers are.
        rounds: jobs are spread so often, at least once.
    """
    jobs = len(sets.first) - 1
    load, marginal = np.zeros((servers, 5)), np.zeros((servers, 5))
    price = np.zeros(len(sets.job))
    least, cheapest = np.zeros(jobs), np.zeros(jobs, dtype=np.int64)
    order = np.zeros(jobs, dtype=np.int64)
    for step in range(rounds):
        gradient(load, sharpness, marginal)
        for k in range(jobs):
            least[k] = np.inf
            for n in range(sets.first[k], sets.first[k + 1]):
                value = 0.0
                for q in range(sets.start[n], sets.start[n + 1]):
                    for r in range(5):
                        value += marginal[sets.server[q], r] * sets.use[q, r]
                price[n] = value
                if value < least[k]:
                    least[k], cheapest[k] = value, n
        order[:] = np.argsort(least, kind="mergesort")
        share = 2.0 / (step + 2)
        load *= 1 - share
        for k in order[:target]:
            for q in range(sets.start[cheapest[k]], sets.start[cheapest[k] + 1]):
                for r in range(5):
                    load[sets.server[q], r] += share * sets.use[q, r]
    dearest = least[order[target - 1]]
    return price / dearest if dearest > 0 else price
