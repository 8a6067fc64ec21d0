"""The state that an online algorithm sees, and the methods by which it decides."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.problem import Problem, granted_check_options
from optsched.problem.arrivals import Arrivals
from optsched.problem.violation import Violation, describe


def arrivals_of(problem: Problem) -> Arrivals:
    """How the jobs of a problem arrive.

    Raises:
        InputError: all are there from the beginning.
    """
    if problem.arrivals is None:
        raise InputError.of("problem", problem.name, "one whose jobs arrive one by one")
    return problem.arrivals


class State:
    """The system, the jobs that have arrived, the time, and what has been decided on them.

    Jobs are numbered in order of arrival. A decision is a plan: what it says of the time before
    the next call is done, the rest may be replaced by then.

    Args:
        problem: whose instance unfolds.
    """

    known: Any
    """The instance as far as it has arrived and shown itself."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.now = -np.inf
        self._arrivals = arrivals_of(problem)
        self._plan: Any = None
        self._finished: bool | None = True

    @property
    def plan(self) -> Any:
        """The schedule of the jobs known: what was done before now, and what is planned."""
        return self._plan

    @property
    def finished(self) -> bool:
        """Whether the plan says all there is to say of the jobs known."""
        if self._finished is None:
            self._finished = not self._violations(self._plan)
        return self._finished

    def learn(self, known: Any, now: float) -> None:
        """The simulator's: another job has arrived, or a hidden field shows itself."""
        if self._plan is None:
            self._plan = self._arrivals.nothing(known)
        else:
            before = np.arange(len(self._arrivals.times(self.known)))
            self._plan = self._arrivals.relabel(known, self._plan, before)
        self.known, self.now, self._finished = known, now, None

    def follow(self, plan: Any) -> None:
        """Replace the plan.

        Args:
            plan: a schedule of the jobs known; it may leave some undecided.

        Raises:
            InputError: it breaks a constraint, or says something else of the time before now.
        """
        when = f"the decision at {self.now:g}"
        if not isinstance(plan, self.problem.schedule_type):
            kind = type(plan).__name__
            allowed = f"a {self.problem.schedule_type.__name__} of {self.problem.name}"
            raise InputError.of(when, kind, allowed)
        broken = self._violations(plan)
        forbidden = [v for v in broken if v.constraint not in self._arrivals.unfinished]
        if forbidden:
            raise InputError.of(when, describe(forbidden), "what the system allows")
        was, says = (
            Counter(self._arrivals.decisions(self.known, one, self.now))
            for one in (self._plan, plan)
        )
        if was != says:
            changed = _first(says - was, "is new") or _first(was - says, "is gone")
            raise InputError.of(when, changed, f"nothing in the past: it is {self.now:g}")
        self._plan, self._finished = plan, not broken

    def _extended(self, plan: Any) -> None:
        """Replace the plan by one that is known to add something legal to it."""
        self._plan, self._finished = plan, None

    def _violations(self, plan: Any) -> list[Violation]:
        granted = granted_check_options(self.problem, plan)
        return self.problem.check(self.known, plan, **granted)


def _first(rows: Counter[tuple[int, str]], word: str) -> str:
    """The first decision, in words."""
    return next((f"job {job} {said}: that {word}" for job, said in sorted(rows)), "")
