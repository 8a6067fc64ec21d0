"""Simulated annealing: temperature and end of a search whose moves the caller makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Protocol

from optsched.jit import limit_left, limited
from optsched.solvers.deadline import Deadline

LOOK = 0.02
"""Seconds between two looks at the deadline, about, if the steps between them are not given."""


class Moves(Protocol):
    """Steps of a local search, such as: destroy and repair, keep if Metropolis accepts."""

    def steps(self, count: int, temperature: float) -> float:
        """Take so many steps at a temperature; return the least cost met in them."""

    def keep(self) -> None:
        """Remember the best met in the last steps: it is the new incumbent."""


def anneal(
    moves: Moves,
    deadline: Deadline,
    *,
    best: float,
    temperature: tuple[float, float],
    patience: int,
    most: int | None = None,
    batch: int | None = None,
    improved: Callable[[], object] = lambda: None,
) -> float:
    """Cool from the first to the last temperature; return the least cost met.

    The temperature falls geometrically: with the steps taken if ``most`` is given, else with the
    time spent, and in any case with the non-improving steps. With ``most`` and ``batch`` given the
    path does not depend on the clock, unless the deadline ends it.

    Args:
        moves: the steps.
        deadline: looked at between batches.
        best: the cost of the incumbent.
        temperature: the first and the last one, > 0, in the unit of the cost.
        patience: non-improving steps after which the search ends.
        most: steps after which it ends; None: no limit.
        batch: steps between two looks; None: as many as take ``LOOK`` seconds.
        improved: called after each new incumbent.

    Example:
        >>> class Descent:
        ...     at, best = 40, 40
        ...     def steps(self, count, temperature):
        ...         self.at -= count
        ...         return self.at
        ...     def keep(self):
        ...         self.best = self.at
        >>> moves = Descent()
        >>> asked = {"temperature": (1.0, 0.1), "patience": 9, "most": 35, "batch": 10}
        >>> anneal(moves, Deadline(None), best=40, **asked)
        5
        >>> moves.best
        5
    """
    hot, cold = temperature
    began, spent = deadline.left, deadline.spent
    done, idle, count = 0, 0, batch or 1
    while idle < patience and not deadline.over() and (most is None or done < most):
        share = idle / patience
        if most is not None:
            share = max(share, done / most)
        elif math.isfinite(began):
            share = max(share, 1.0 - deadline.left / began)
        count = min(count, patience - idle, count if most is None else most - done)
        least = moves.steps(count, hot * (cold / hot) ** min(1.0, share))
        done, idle = done + count, idle + count
        if least < best:
            best, idle = least, 0
            moves.keep()
            improved()
        if batch is None:
            each = (deadline.spent - spent) / done
            count = max(1, int(LOOK / each)) if each > 0 else 2 * count
        else:
            count = batch
    return best


@contextmanager
def beside(work: Callable[[Deadline], object], deadline: Deadline) -> Iterator[None]:
    """Work on another thread while the block runs; an error there is raised after the block.

    Args:
        work: given a deadline that is over when the block ends.
        deadline: by which it ends in any case.
    """
    done, left = Event(), limit_left()
    own = Deadline(deadline.within(1.0), done)

    def run() -> None:
        with limited(left):
            work(own)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        try:
            yield
        finally:
            done.set()
    running.result()
