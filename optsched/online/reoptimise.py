"""Reoptimisation: solve the exact model of all known jobs again at every arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveInt

from optsched.errors import FieldProblem, InputError
from optsched.online.hidden import moments, shown
from optsched.online.state import arrivals_of
from optsched.problem import Heuristic, Problem
from optsched.problem.arrivals import Arrivals
from optsched.problem.calls import Positive
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

Lookahead = NonNegativeInt | Literal["all"]
"""How many of the next arrivals are known at each arrival."""


def reoptimise(
    problem: Problem,
    instance: Any,
    *,
    lookahead: Lookahead = 0,
    window: PositiveInt | None = None,
    time_limit: Positive = 10.0,
) -> Any:
    """Follow an optimal schedule of the jobs known until the next arrival; then make a new one.

    A new one is also made when a hidden field shows itself. What was done by then stays as it is. A
    plan is made of what is known only: it does not keep room for jobs that may come.

    Args:
        problem: whose jobs arrive, with a model for replanning.
        instance: unfolds job by job.
        lookahead: how many of the next arrivals are known at each arrival, to show what knowing
            them is worth; "all" makes the schedule offline optimal if nothing is hidden.
        window: rolling horizon: most unfinished jobs planned at once, those that arrived first;
            the others wait until one is done. None: all.
        time_limit: wall seconds of each solve, after which its best schedule is followed.

    Raises:
        InputError: an option out of range, a problem without such a model, or a solve that finds
            no schedule within its limit, or none that keeps to what has begun.
    """
    arrivals = arrivals_of(problem)
    options = Options(time_limit=time_limit)
    made = plans(problem, instance, options, lookahead=lookahead, window=window)
    plan = deque(made, maxlen=1).pop()  # those before it are not kept
    return arrivals.relabel(instance, plan, _order(arrivals, instance))


def plans(
    problem: Problem,
    instance: Any,
    options: Options,
    *,
    lookahead: Lookahead = 0,
    window: PositiveInt | None = None,
) -> Iterator[Any]:
    """The schedules that ``reoptimise`` follows one after the other, of jobs in order of arrival.

    With no lookahead, no window and nothing hidden, the k-th is its schedule where no job comes
    after the k-th moment of arrival.

    Args:
        problem: as for ``reoptimise``, like instance, lookahead and window.
        instance: unfolds job by job.
        options: of each solve.
        lookahead: arrivals known ahead.
        window: most jobs planned at once.

    Raises:
        InputError: as for ``reoptimise``.
    """
    arrivals = arrivals_of(problem)
    _refuse(problem, lookahead, window)
    order = _order(arrivals, instance)
    times = np.asarray(arrivals.times(instance), dtype=float)[order]
    unfolding, jobs = arrivals.select(instance, order), len(times)
    ahead = jobs if lookahead == "all" else lookahead
    now, planned, done, shows = float(times[0]), 0, np.zeros(0), np.zeros(0)
    plan: Any = None
    while now < np.inf:
        arrived = int(np.searchsorted(times, now, side="right"))
        wanted = seen = min(arrived + ahead, jobs)
        if window is not None:
            seen = min(seen, planned + max(0, window - int((done > now).sum())))
        if seen > planned or now in shows:
            there = arrivals.select(unfolding, np.arange(seen))
            part = shown(arrivals, there, plan, now)
            kept = arrivals.nothing(part)
            if planned:
                kept = arrivals.relabel(part, plan, np.arange(planned))
            plan, planned = _replanned(problem, part, kept, now, options), seen
            yield plan
            shows = moments(arrivals, there, plan)
            done = np.where(shows > -np.inf, shows, arrivals.done(part, plan))
        coming = np.append(times[arrived : arrived + 1], shows[shows > now])
        if seen < wanted:  # somebody waits for a place in the window
            coming = np.append(coming, done[done > now].min())
        now = float(coming.min(initial=np.inf))


def _order(arrivals: Arrivals, instance: Any) -> NDArray[np.int64]:
    """Jobs by arrival, then index."""
    return np.argsort(np.asarray(arrivals.times(instance), dtype=float), kind="stable")


def _refuse(problem: Problem, lookahead: Lookahead, window: int | None) -> None:
    wrong = []
    if arrivals_of(problem).replan is None:
        wrong.append(FieldProblem("problem", problem.name, "one with a model for replanning"))
    if lookahead != "all" and not (isinstance(lookahead, int) and lookahead >= 0):
        wrong.append(FieldProblem("lookahead", lookahead, 'an integer >= 0, or "all"'))
    if window is not None and window < 1:
        wrong.append(FieldProblem("window", window, "an integer >= 1, or None for all"))
    if wrong:
        raise InputError(wrong)


def _replanned(problem: Problem, part: Any, plan: Any, now: float, options: Options) -> Any:
    """The best schedule found of the jobs known that keeps to a plan before now."""
    replan = arrivals_of(problem).replan
    assert replan is not None
    answer = problem.verify(part, replan(part, plan, now, options))
    if answer.schedule is None:
        if answer.solution.status is Status.INFEASIBLE:
            allowed = "some for all of which there is room beside what has begun; there is none"
            raise InputError.of("jobs", f"those known at {now:g}", allowed)
        found = f"{answer.solution.status} at {now:g} {answer.solution.message}".strip()
        allowed = f"enough for a schedule, which was not found ({found})"
        raise InputError.of("time_limit", options.time_limit, allowed)
    return answer.schedule


def reoptimise_heuristic(problem: Problem) -> Heuristic:
    """``reoptimise`` as a heuristic of a problem; with a lookahead it is not online."""
    return Heuristic(
        "reoptimise", partial(_run, problem), "rolling horizon, with the exact model",
        "follows an optimal schedule of the jobs known, made anew on every arrival", _is_online,
    )  # fmt: skip


def _is_online(lookahead: Lookahead = 0, **_: Any) -> bool:
    return lookahead == 0


def _run(
    problem: Problem,
    instance: Any,
    rng: np.random.Generator,
    *,
    lookahead: Lookahead = 0,
    window: PositiveInt | None = None,
    time_limit: Positive = 10.0,
) -> Any:
    return reoptimise(problem, instance, lookahead=lookahead, window=window, time_limit=time_limit)
