"""Small models that the tests of several back ends share."""

import numpy as np

from optsched import Model


def knapsack(*, integer: bool = True) -> Model:
    m = Model("knapsack")
    take = m.binary("take", 3) if integer else m.continuous("take", 3, upper=1)
    m.maximize(take @ np.array([6.0, 5.0, 4.0]) + 0.5)
    m.add("weight", take @ np.array([3.0, 2.0, 2.0]) <= 4)
    return m


def market_split(rows: int = 5, items: int = 40) -> Model:
    """Halve every row's sum: easy to begin with, out of reach to prove."""
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 100, (rows, items)).astype(float)
    half = np.floor(weights.sum(axis=1) / 2)
    m = Model("market split")
    x = m.binary("x", items)
    over = m.integer("over", rows, upper=half)
    under = m.integer("under", rows, upper=half)
    m.add("split", weights @ x + under - over == half)
    m.minimize((over + under).sum())
    return m


def unbounded(*, integer: bool) -> Model:
    m = Model()
    x = m.integer("x", 2) if integer else m.continuous("x", 2)
    m.minimize(-x[0])
    m.add("apart", x[0] - x[1] <= 1)
    return m


def infeasible(*, integer: bool) -> Model:
    m = Model()
    x = m.integer("x", 2, upper=9) if integer else m.continuous("x", 2, upper=9)
    m.minimize(x.sum())
    m.add("low", x.sum() <= 1)
    m.add("high", x.sum() >= 2)
    return m
