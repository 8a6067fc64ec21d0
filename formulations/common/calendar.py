"""Time without a calendar: what is computed depends on durations, never on dates.

Releases may be Unix time stamps, or years apart. Slots are indices in many a model, so a problem
that has releases says how its instances and schedules are moved in time, job by job; models,
searches, bounds and heuristics then see the first release near slot 0, and models also gaps no
longer than all work could take. Schedules are moved back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.problem import later
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress
from optsched.solvers.trajectory import rescaled

NEAR = 10_000
"""Slots: releases before it, and gaps shorter than it, are left as they are."""

Slots = NDArray[np.int64]


class Reschedulable(Protocol):
    """A schedule that can be moved in time."""

    def later(self, slots: Slots) -> Any:
        """The same with jobs served so much later."""


def _nothing(_instance: Any, _off: Slots) -> float:
    return 0.0


@dataclass(frozen=True)
class Calendar:
    """How a problem's time is moved; ``slots`` are whole and given by job."""

    release: Callable[[Any], NDArray[Any]]
    """(instance) -> release of each job, slots."""
    span: Callable[[Any], float]
    """(instance) -> slots after the last release in which some optimum has done everything."""
    moved: Callable[[Any, Slots], Any]
    """(instance, slots) -> the same with jobs released so much later."""
    schedule_type: type[Reschedulable]
    absolute: frozenset[str] = frozenset()
    """Options that are dates: a function that takes one is left as it is."""
    added: Callable[[Any, Slots], float] = _nothing
    """(instance, slots) -> what moving it adds to the cost of every schedule."""

    def off(self, instance: Any, *, gaps: bool) -> Slots:
        """Slots that each job may be earlier without any difference.

        Args:
            instance: any.
            gaps: whether gaps in which nothing is left to do are shortened as well.
        """
        release = np.floor(np.asarray(self.release(instance), dtype=float)).astype(np.int64)
        order = np.argsort(release, kind="stable")
        first = int(release[order[0]]) if len(order) else 0
        cut = np.zeros(len(order), dtype=np.int64)
        if first > NEAR:
            cut[:1] = first - 1
        gap = np.diff(release[order])
        if gaps and gap.max(initial=0) > NEAR:
            kept = int(max(NEAR, np.ceil(2.0 * self.span(instance))))
            cut[1:] = np.maximum(gap - kept, 0)
        off = np.empty_like(cut)
        off[order] = np.cumsum(cut)
        return off

    def free(self, function: Callable[..., Any], *, gaps: bool = True) -> Callable[..., Any]:
        """A function of an instance, and of schedules perhaps, that sees no calendar."""
        if isinstance(function, later):
            function = function.__wrapped__
        takes = signature(function).parameters
        if hasattr(function, "without_calendar") or not self.absolute.isdisjoint(takes):
            return function

        @wraps(function)
        def call(instance: Any, *rest: Any, **options: Any) -> Any:
            off = self.off(instance, gaps=gaps)
            if not off.any():
                return function(instance, *rest, **options)

            near = self.moved(instance, -off)
            added = self.added(near, off)

            def earlier(value: Any) -> Any:
                if isinstance(value, Options):
                    return _later(value, added)
                return value.later(-off) if isinstance(value, self.schedule_type) else value

            named = {name: earlier(value) for name, value in options.items()}
            return self._back(function(near, *map(earlier, rest), **named), off, added)

        call.without_calendar = True  # type: ignore[attr-defined]
        return call

    def _back(self, found: Any, off: Slots, added: float) -> Any:
        """What was found, at the instance's own dates."""
        if isinstance(found, self.schedule_type):
            return found.later(off)
        if isinstance(found, float):
            return found + added
        if isinstance(found, Answer):
            return self._answer(found, off, added)
        from optsched.model import Model  # which a run of a heuristic does not need

        if isinstance(found, Model) and added and found.objective is not None:
            set_objective = found.maximize if found.maximise else found.minimize
            set_objective(found.objective + added, formula=found.objective_formula)
        return found

    def _answer(self, found: Answer, off: Slots, added: float) -> Answer:
        """A solution and its schedule, at the instance's own dates."""
        one = found.solution
        value = None if one.objective is None else one.objective + added
        bound = None if one.bound is None else one.bound + added
        made = None if found.schedule is None else found.schedule.later(off)
        points = tuple(
            point._replace(
                bound=None if point.bound is None else point.bound + added,
                objective=None if point.objective is None else point.objective + added,
            )
            for point in one.trajectory
        )
        solution = replace(one, objective=value, bound=bound, trajectory=points)
        return replace(found, solution=solution, schedule=made)


def _later(options: Options, added: float) -> Options:
    """Options whose ``on_progress`` gets costs that are higher by so much."""
    listener = options.on_progress
    if listener is None:
        return options

    def report(progress: Progress) -> object:
        return listener(rescaled(progress, lambda value: value + added))

    return replace(options, on_progress=report)
