"""Lagrangian bounds: dual values of relaxed rows, improved by subgradient steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import InputError
from optsched.model.expression import Floats

PATIENCE = 10
"""Steps without improvement after which the step length is halved."""

IMPROVES = 1e-9
"""A value counts as an improvement from here on, in objective units."""


@dataclass(frozen=True, eq=False)
class PriceSearch:
    """The best value found and the prices that prove it."""

    value: float
    prices: Floats
    steps: int
    """Evaluations made."""
    optimal: bool
    """Whether no direction was left to go, so that no prices are better."""


def maximise_dual(
    evaluate: Callable[[Floats], tuple[float, Floats]],
    start: ArrayLike,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    steps: int = 100,
    target: float | None = None,
    stop: Callable[[], bool] | None = None,
) -> PriceSearch:
    """Improve prices by Polyak's subgradient steps with patience.

    After ``PATIENCE`` steps without improvement the search returns to the best prices with half
    the step length. Each value is a bound by itself, whatever comes after.

    Args:
        evaluate: the Lagrangian's value at some prices, a lower bound on the optimum, and a
            subgradient there: how much of each row is used in excess of its right-hand side.
        start: prices to begin with, shape (rows,).
        lower: least price of each row: 0 for ``<=`` rows, -inf for equations.
        upper: largest price.
        steps: most evaluations.
        target: a value the optimum is believed to be near, such as a heuristic's cost; it steers
            the step length and does not enter the bound.
        stop: asked after each evaluation whether to make do with what is known.

    Raises:
        InputError: fewer than one step, or prices outside their bounds.

    Example:
        min -x subject to x <= 1 (priced) and x in {0, 2}; the relaxation's bound is -1:

        >>> from optsched.decomposition import maximise_dual
        >>> def evaluate(price):
        ...     x = 2.0 if price[0] < 1 else 0.0
        ...     return -x + price[0] * (x - 1), np.array([x - 1])
        >>> round(maximise_dual(evaluate, [0.0], target=-1.0).value, 6)
        -1.0
    """
    prices = np.array(start, dtype=np.float64)
    low, high = np.broadcast_to(lower, prices.shape), np.broadcast_to(upper, prices.shape)
    if steps < 1:
        raise InputError.of("steps", steps, "an integer >= 1")
    if not ((low <= prices) & (prices <= high)).all():
        raise InputError.of("start", start, "prices between lower and upper")
    best, best_prices, pace, idle = -math.inf, prices, 1.0, 0
    for step in range(1, steps + 1):
        found, slope = evaluate(prices)
        value = float(found)
        if math.isinf(value):
            return PriceSearch(value, prices, step, optimal=value > 0)
        if value > best + IMPROVES:
            best, best_prices, idle = value, prices, 0
        else:
            idle += 1
        if stop is not None and stop():
            return PriceSearch(best, best_prices, step, optimal=False)
        if idle >= PATIENCE:
            prices, pace, idle = best_prices, pace / 2, 0
            continue
        # a price at its bound that the slope pushes outward stays: no direction to go
        stuck = ((prices <= low) & (slope < 0)) | ((prices >= high) & (slope > 0))
        slope = np.where(stuck, 0.0, slope)
        length = float(slope @ slope)
        if length <= 0:
            return PriceSearch(best, best_prices, step, optimal=value >= best)
        aim = target if target is not None and target > best else _aim(best)
        prices = np.clip(prices + pace * (aim - value) / length * slope, low, high)
    return PriceSearch(best, best_prices, steps, optimal=False)


def _aim(best: float) -> float:
    """A little more than the best value, where nothing better is known to aim for."""
    return best + 0.02 * abs(best) + 1.0
