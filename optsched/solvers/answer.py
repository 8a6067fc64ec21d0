"""The answer of an exact method on an instance, and its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from optsched.solvers.solution import Solution


@dataclass(frozen=True)
class Answer:
    """What an exact method found on one instance."""

    solution: Solution
    schedule: Any | None = None
    """The decoded schedule; None without a point, or if the problem is only a relaxation."""
    check: Mapping[str, Any] | None = None
    """Options of ``check`` under which the schedule counts; None: the problem's own."""
    interpretation: str = ""
    """How the instance was taken to have this answer, in words: see ``Problem.interpretation``."""

    def completed(
        self, whole: Callable[[Any], Any], cost: Callable[[Any], float], *, unit: float = 1.0
    ) -> Answer:
        """The answer to a problem of which this one answers what is left, the rest being decided.

        Without a schedule nothing is known of the whole, its bound included.

        Args:
            whole: (schedule of what is left) -> the schedule of all.
            cost: (schedule of all) -> its objective, a constant more than that of what is left.
            unit: what 1 of the objective of what is left counts in that of all.
        """
        found = self.solution
        if self.schedule is None or found.objective is None:
            return Answer(replace(found, objective=None, bound=None, trajectory=()))
        schedule = whole(self.schedule)
        value = cost(schedule)
        bound = None if found.bound is None else value + (found.bound - found.objective) * unit
        whole_solution = replace(found, objective=value, bound=bound, trajectory=())
        return Answer(whole_solution, schedule, self.check)


@dataclass
class Question:
    """A way to ask a search for its answer while it is at work on another thread."""

    so_far: Callable[[], Answer] | None = None
    under_way: bool = False


class _Own(threading.local):
    question: Question | None = None


_own = _Own()


@contextmanager
def asked_by(question: Question) -> Iterator[None]:
    """Let the search in the block, on this thread, be asked through a question."""
    _own.question = question
    try:
        yield
    finally:
        _own.question = None


@contextmanager
def answering(so_far: Callable[[], Answer]) -> Iterator[None]:
    """Say how a search may be asked for its answer, if it does not end when it should.

    Args:
        so_far: what is known at any moment, as it would be answered if the search ended then; it
            is called on another thread. A search within another one is not asked.
    """
    question = _own.question
    if question is None or question.under_way:
        yield
        return
    question.so_far, question.under_way = so_far, True
    yield
    question.under_way = False
