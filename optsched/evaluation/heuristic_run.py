"""Run one heuristic on one instance, check its schedule, and end it at its limits."""

from __future__ import annotations

import faulthandler
import math
import os
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from optsched.errors import InputError, words
from optsched.evaluation.heuristic_files import heuristic_from_file, names_file
from optsched.jit import Stopwatch, stopwatch
from optsched.online.anticipation import anticipation
from optsched.online.simulator import is_policy, policy_heuristic
from optsched.online.state import arrivals_of
from optsched.problem import Heuristic, Problem, granted_check_options
from optsched.problem.violation import Violation, describe
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

_TO_START = 60.0  # seconds that a process may take to start, before it counts as hanging

_HERE = os.path.dirname(__file__) + os.sep


def heuristic_rng(seed: int) -> np.random.Generator:
    """The generator a heuristic gets, everywhere in optsched, whatever else runs beside it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))


@dataclass(frozen=True, eq=False)
class HeuristicRun:
    """What came of one heuristic on one instance."""

    heuristic: str
    time: Stopwatch = field(default_factory=Stopwatch)
    """What the heuristic alone took."""
    schedule: Any = None
    cost: float | None = None
    violations: Sequence[Violation] = ()
    offline: bool = False
    """Whether the schedule is a solution of the exact models, and so may serve as incumbent."""
    offline_message: str = ""
    """What of the exact models a schedule that passes the checker breaks, and how they take the
    instance; empty if it breaks nothing."""
    granted: bool = False
    """Whether it was granted more than other schedules are, such as speed."""
    status: Status | None = None
    """Set if there is no schedule to compare."""
    message: str = ""
    error: BaseException | None = None
    """What the heuristic, the checker or the cost raised; None if that was in a process that
    has ended."""
    trace: str = ""
    """Its traceback, from where the heuristic's own frames begin."""


@dataclass(frozen=True)
class _Attempt:
    """A run of a heuristic, as it goes to a separate process."""

    problem: Problem
    instance: Any
    heuristic: str
    seed: int
    seconds: float | None

    def __call__(self, stop: threading.Event | None, time_limit: float | None) -> HeuristicRun:
        if self.seconds is not None:
            faulthandler.dump_traceback_later(self.seconds, exit=True)
        run = run_heuristic(self.problem, self.instance, self.heuristic, self.seed)
        return replace(run, error=None)  # not every exception survives the way


def run_heuristic(
    problem: Problem, instance: Any, heuristic: str, seed: int, limits: Options | None = None
) -> HeuristicRun:
    """Run a heuristic, named with its options, and check its schedule at the speed it ran at.

    Whatever the heuristic raises is part of the answer. Under limits it runs in a process of its
    own, which costs about a second: one that hangs, crashes or takes too much memory is ended, and
    that is the answer.

    Args:
        problem: what is being solved.
        instance: on what.
        heuristic: name with options.
        seed: of its random generator.
        limits: ``time_limit`` and ``memory_limit`` count; see ``heuristic_limits``.

    Raises:
        InputError: no such heuristic or option.
    """
    if limits is not None:
        return _run_apart(_Attempt(problem, instance, heuristic, seed, limits.time_limit), limits)
    chosen, options = problem.heuristic(heuristic)
    trial = HeuristicRun(heuristic)
    try:
        with stopwatch() as watch:
            trial = replace(trial, time=watch)
            schedule = chosen.run(instance, heuristic_rng(seed), **options)
        if not isinstance(schedule, problem.schedule_type):
            said = f"returned {_kind(schedule)}: expected a {problem.schedule_type.__name__}"
            return replace(trial, status=Status.ERROR, message=said)
        trial = replace(trial, schedule=schedule)
        entitled = granted_check_options(problem, schedule)
        violations = problem.check(instance, schedule, **entitled)
        cost = float(problem.cost(instance, schedule))
        strict = problem.reference_check
        strictly = problem.check(instance, schedule, **strict) if entitled or strict else violations
        taken = problem.interpretation(instance) if strictly and not violations else ""
    except (Exception, SystemExit, GeneratorExit) as error:  # it may do anything
        status = Status.OUT_OF_MEMORY if isinstance(error, MemoryError) else Status.ERROR
        said = words(error)
        return replace(trial, status=status, message=said, error=error, trace=traced(error))
    trial = replace(
        trial,
        cost=cost if math.isfinite(cost) else None,
        offline=not (violations or strictly),
        offline_message=_why_not(strictly, strict, taken) if strictly and not violations else "",
        granted=bool(entitled),
    )
    if violations:
        message = describe(violations)
        return replace(trial, violations=violations, status=Status.VIOLATED, message=message)
    if trial.cost is None:
        message = f"the schedule passes the checker and costs {cost}"
        return replace(
            trial, offline=False, offline_message="", status=Status.ERROR, message=message
        )
    return trial


def _kind(value: Any) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _why_not(violations: Sequence[Violation], strict: Mapping[str, Any], taken: str) -> str:
    """Why a schedule that passes the checker is no solution of the exact models."""
    terms = ", ".join(filter(None, [*(f"{k}={v}" for k, v in strict.items()), taken]))
    how = f" ({terms})" if terms else ""
    return f"checked as schedules of the exact models are{how}, it {describe(violations)}"


def heuristic_limits(
    time_limit: float | None = None, memory_limit: float | None = None
) -> Options | None:
    """Limits of single runs of heuristics: wall seconds, and GiB; None if there is neither.

    Raises:
        InputError: a value out of range.
    """
    if time_limit is None and memory_limit is None:
        return None
    return Options(time_limit=time_limit, memory_limit=memory_limit, isolate=True)


def _run_apart(attempt: _Attempt, limits: Options) -> HeuristicRun:
    """A run in a process that is ended at its limits."""
    from optsched.solvers.isolation import run_isolated

    attempt.problem.heuristic(attempt.heuristic)
    # the process ends itself where it can; starting it is not the heuristic's time
    patience = None if attempt.seconds is None else attempt.seconds + _TO_START
    with stopwatch() as watch:
        outcome = run_isolated(attempt, replace(limits, time_limit=patience), stops=False)
    if isinstance(outcome, HeuristicRun):
        return outcome
    ended = HeuristicRun(attempt.heuristic, time=watch)
    said, _, trace = outcome.message.replace("the solver's process", "its process").partition(": ")
    if outcome.limit == Limit.TIME or trace.startswith("Timeout ("):
        said = f"ended at its time limit of {attempt.seconds:g} s"
        return replace(ended, status=Status.TIMEOUT, message=said, trace=trace)
    status = Status.OUT_OF_MEMORY if outcome.limit == Limit.MEMORY else outcome.status
    return replace(ended, status=status, message=said, trace=trace)


def traced(error: BaseException) -> str:
    """A traceback without the frames that called the method."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_HERE):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))


FORESIGHT_JOBS = 500
"""Most jobs of an instance on which a run is repeated to see whether it looks ahead."""


def to_be_online(problem: Problem, heuristic: str) -> bool:
    """Whether a heuristic, named with its options, must not know what arrives later."""
    chosen, options = problem.heuristic(heuristic)
    return problem.arrivals is not None and chosen.is_online(options)


def foresight(problem: Problem, instance: Any, trial: HeuristicRun, seed: int) -> str | None:
    """Tell in words what an online heuristic was found to know too early.

    A spot check on two moments: ``optsched check --online`` looks at all.

    Returns:
        Empty if nothing was found; None if nothing was tried, as there are too many jobs, or the
        heuristic fails on a part of the instance.
    """
    chosen, options = problem.heuristic(trial.heuristic)
    if len(arrivals_of(problem).times(instance)) > FORESIGHT_JOBS:
        return None
    run = partial(chosen.run, **options)
    try:
        found = anticipation(
            problem, run, instance, seed=seed, cuts=2, changes=1, schedule=trial.schedule
        )
    except Exception:  # it does not run on a part of the instance
        return None
    return str(found or "")


def with_heuristics(
    problem: Problem, heuristics: Sequence[str | Heuristic | Callable[..., Any]]
) -> tuple[Problem, list[str]]:
    """The problem with heuristics of the caller's among its own, and all of them by name.

    Args:
        problem: what is being solved.
        heuristics: names with options; heuristics; functions (instance, rng, **options) ->
            schedule, which go by their own names and are taken to see the whole instance;
            classes of policies, which see what has arrived; any of these in a file, as
            ``mine.py:worst_fit(k=3)``.

    Raises:
        InputError: two of one name, or what is none of these.
    """
    names: list[str] = []
    own: dict[str, Heuristic] = {}
    for given in heuristics:
        if isinstance(given, str) and not names_file(given):
            names.append(given)
            continue
        if isinstance(given, str):
            one, call = heuristic_from_file(problem, given)
        else:
            one = _heuristic(problem, given)
            call = one.name
        known = {**problem.heuristics, **own}.get(one.name)
        if known is not None and known.run != one.run:
            raise InputError.of("heuristics", one.name, "a name that no other heuristic has")
        own[one.name] = one
        names.append(call)
    if own:
        problem = replace(problem, heuristics={**problem.heuristics, **own})
    return problem, list(dict.fromkeys(names))


def _heuristic(problem: Problem, given: Heuristic | Callable[..., Any]) -> Heuristic:
    """Return a heuristic, a function or a class of policies as a heuristic."""
    if is_policy(given):
        return policy_heuristic(problem, given)
    if isinstance(given, Heuristic):
        return given
    if not callable(given) or not hasattr(given, "__name__"):
        raise InputError.of("heuristics", given, "a name, a Heuristic or a named function")
    said = (given.__doc__ or "").strip().partition("\n")[0]
    name = given.__name__.strip("<>")  # of a lambda: a name that can be typed
    return Heuristic(name, given, source="", summary=said, online=False)
