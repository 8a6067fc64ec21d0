"""The incumbent of a search: its best schedule and bound, and the answer that they end in."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from optsched.solvers.answer import Answer
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Progress, Solution, Status
from optsched.solvers.trajectory import SearchProgress

S = TypeVar("S")

ROUNDING = 1e-9
"""Relative distance at which a value and a bound are the same but for rounding."""
CONTRADICTION = 1e-6
"""Relative distance by which a value may be better than a proven bound through rounding."""
WHOLE = 1e-6
"""Distance by which a bound may miss a whole number through rounding."""


class Incumbent(Generic[S]):
    """The best schedule and the best bound so far; several threads may offer.

    Args:
        options: limits, gaps and the listener of the search.
        cost: (schedule) -> its objective, in units if there are any.
        check: (schedule) -> violations; a schedule with any is refused.
        maximise: whether more is better.
        whole: whether every cost is a whole number, so that bounds may be rounded.
        unit: the objective of a schedule of cost 1, > 0; the listener and the answer get
            objectives, all else is in units of cost.
        start: a schedule to begin with, unless it is refused.

    Example:
        >>> from optsched import Options
        >>> best = Incumbent(Options(), cost=len, whole=True)
        >>> best.offer("abcd"), best.offer("abc"), best.offer("abcde")
        (True, True, False)
        >>> best.raise_bound(2.4)
        >>> best.value, best.bound, best.closed
        (3.0, 3.0, True)
        >>> best.answer("highs").solution.status
        <Status.OPTIMAL: 'optimal'>
    """

    def __init__(
        self,
        options: Options,
        *,
        cost: Callable[[S], float],
        check: Callable[[S], Sequence[object]] = lambda schedule: (),
        maximise: bool = False,
        whole: bool = False,
        unit: float = 1.0,
        start: S | None = None,
    ) -> None:
        self.deadline = SearchProgress(options, maximise=maximise)
        """The time limit and the wish to stop; it reports values and bounds to the listener."""
        self.options = replace(options, stop=self.deadline.stop, on_progress=None)
        """The search's options, for the solves within it."""
        self.schedule: S | None = None
        self.infeasible = False
        """Whether it is proven that there is no schedule."""
        self._cost, self._check, self._whole, self._unit = cost, check, whole, unit
        self._sign = -1.0 if maximise else 1.0
        self._value, self._bound = math.inf, -math.inf  # times the sign
        self._lock = threading.RLock()
        self.offer(start)

    @property
    def value(self) -> float:
        """The objective of the best schedule; infinite, on the worse side, without one."""
        return self._sign * self._value

    @property
    def bound(self) -> float:
        """The best proven bound, never beyond the value; infinite without one."""
        return self._sign * min(self._bound, self._value)

    @property
    def distance(self) -> float:
        """How far value and bound lie apart."""
        return max(0.0, self._value - self._bound) if self._bound < self._value else 0.0

    @property
    def closed(self) -> bool:
        """Whether value and bound meet, up to the gaps asked for, or nothing exists."""
        if self.schedule is None:
            return self.infeasible
        size = abs(self._value)
        options = self.options
        gap = max(options.absolute_gap / self._unit, options.gap * size, self._rounding)
        return self.distance <= gap

    @property
    def _rounding(self) -> float:
        """The distance at which value and bound are the same; whole ones differ by 1 or not."""
        noise = ROUNDING * max(1.0, abs(self._value))
        return min(noise, 0.5) if self._whole else noise

    @property
    def over(self) -> bool:
        """Whether to begin nothing more: it is closed, late, or to stop."""
        return self.closed or self.deadline.over()

    def offer(self, schedule: S | None) -> bool:
        """Take a schedule that is allowed and better than the best; say whether it was taken."""
        if schedule is None:
            return False
        value = float(self._cost(schedule))
        if self._sign * value >= self._value or self._check(schedule):
            return False
        with self._lock:
            if self._sign * value >= self._value:
                return False
            self.schedule, self._value = schedule, self._sign * value
            self.deadline.report(objective=value * self._unit)
        return True

    def raise_bound(self, bound: float | None) -> None:
        """Take a proven bound, rounded to the next whole number if every objective is whole."""
        if bound is None or math.isnan(bound):
            return
        low = self._sign * bound
        if self._whole and math.isfinite(low):
            low = float(math.ceil(low - WHOLE))
        with self._lock:
            self._bound = max(self._bound, low)
            self.deadline.report(bound=self.bound * self._unit)

    def on_progress(self, progress: Progress) -> None:
        """Take the bound that a solver of the whole problem reports."""
        self.raise_bound(None if progress.bound is None else progress.bound / self._unit)

    def part(self, share: float = 1.0, most: float = math.inf) -> Deadline:
        """Return a deadline after part of the time left, at most so many seconds."""
        return Deadline(self.deadline.within(share, most), self.deadline.stop)

    def within(self, share: float = 1.0, most: float = math.inf) -> Options:
        """Return the options of one solve to proof within part of the time left."""
        limit = self.deadline.within(share, most)
        return replace(self.options, time_limit=limit, warm_start=None, gap=0.0, absolute_gap=0.0)

    def answer(self, solver: str, *, nodes: int = 0, message: str = "") -> Answer:
        """Return what is known as the answer of an exact method.

        A schedule that is better than a proven bound contradicts it: then the status is "error".

        Args:
            solver: the back end that the method uses most.
            nodes: of its trees.
            message: what decided, in words.
        """
        limit: Limit | None = None
        size = max(1.0, abs(self._value))
        if self.schedule is not None and self._bound - self._value > CONTRADICTION * size:
            status = Status.ERROR
            proven = self._sign * self._bound
            message = f"the cost {self.value!r} is better than the proven bound {proven!r}"
        elif self.schedule is not None and self.distance <= self._rounding:
            status, self._bound = Status.OPTIMAL, self._value
        elif self.infeasible:
            status = Status.INFEASIBLE
        elif self.deadline.stopped:
            status = Status.INTERRUPTED
        else:
            status = Status.NO_SOLUTION if self.schedule is None else Status.FEASIBLE
            limit = Limit.TIME if self.deadline.over() else Limit.GAP
        solution = Solution(
            status,
            objective=None if self.schedule is None else self.value * self._unit,
            bound=self.bound * self._unit if math.isfinite(self.bound) else None,
            limit=limit,
            checked=self.schedule is not None,
            seconds=self.deadline.spent,
            nodes=nodes,
            solver=solver,
            version=backend(solver).version(),
            message=message,
        )
        return Answer(self.deadline.ended(solution), self.schedule)
