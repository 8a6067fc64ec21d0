"""Small models that the tests of several back ends share."""

from collections.abc import Callable
from signal import SIGINT, raise_signal
from threading import Event, Timer
from typing import Any

import numpy as np

from optsched import Model
from optsched.solvers.backend import SolverResult
from optsched.solvers.solution import Status


def knapsack(*, integer: bool = True) -> Model:
    m = Model("knapsack")
    take = m.binary("take", 3) if integer else m.continuous("take", 3, upper=1)
    m.maximize(take @ np.array([6.0, 5.0, 4.0]) + 0.5)
    m.add("weight", take @ np.array([3.0, 2.0, 2.0]) <= 4)
    return m


def market_split(rows: int = 5, items: int = 40, *, elastic: bool = True) -> Model:
    """Halve every row's sum: easy to begin with where `elastic`, out of reach to prove."""
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 100, (rows, items)).astype(float)
    half = np.floor(weights.sum(axis=1) / 2)
    m = Model("market split")
    x = m.binary("x", items)
    if not elastic:
        m.add("split", weights @ x == half)
        return m
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


def with_time_for_a_point(answer_after: Callable[[float], Any], seconds: float) -> Any:
    """The answer after `seconds`, or after twice, four times ... as many where the machine is slow.

    An answer before it has no point, and claims none.
    """
    while True:
        answer = answer_after(seconds)
        point = answer.x if isinstance(answer, SolverResult) else answer.objective
        if point is not None or seconds > 60:
            return answer
        assert answer.status in (Status.NO_SOLUTION, Status.INTERRUPTED)
        seconds *= 2


def interrupted(solved: Callable[[Event], Any], seconds: float, *, by_signal: bool = False) -> Any:
    """The answer of `solved(stop)` when `stop` is set, or Ctrl-C comes, after `seconds` or more."""

    def answer_after(seconds: float) -> Any:
        stop = Event()
        timer = Timer(seconds, raise_signal, [SIGINT]) if by_signal else Timer(seconds, stop.set)
        timer.start()
        try:
            return solved(stop)
        finally:
            timer.cancel()
            timer.join()

    return with_time_for_a_point(answer_after, seconds)
