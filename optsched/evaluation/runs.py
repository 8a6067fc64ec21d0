"""One method on one instance: what is asked for, and a record of what came of it.

The record holds plain values only, so that it can be kept in a file and compared years later
without the code that made it.
"""

from __future__ import annotations

import faulthandler
import math
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from optsched.calls import pick
from optsched.document import dumps
from optsched.errors import InputError, words
from optsched.jit import Stopwatch, stopwatch
from optsched.online.anticipation import anticipation
from optsched.online.simulator import is_policy, policy_heuristic
from optsched.problem import Answer, Heuristic, Problem, granted_check_options
from optsched.solvers.options import Options
from optsched.solvers.registry import available, backend
from optsched.solvers.solution import Limit, Solution, Status
from optsched.violation import Violation, describe

VIOLATED = "violated"
"""Status of a run whose schedule fails the checker."""

TIMEOUT, OUT_OF_MEMORY = "timeout", "out of memory"
"""Statuses of a heuristic's run that was ended at its limits."""


def instance_rng(seed: int) -> np.random.Generator:
    """The generator that makes the instance of that seed, everywhere in optsched."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))


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
    may_beat: bool = False
    """Whether it was granted more than they grant, and may cost less than the optimum."""
    status: str = ""
    """Set where there is no schedule to compare: "violated" or "error"."""
    message: str = ""
    error: Exception | None = None
    """What the heuristic, the checker or the cost raised; None where that was in a process that
    has ended."""
    trace: str = ""
    """Its traceback, from where the heuristic's own frames begin."""


@dataclass(frozen=True)
class _Attempt:
    """A run of a heuristic, as it goes to a process of its own."""

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
        trial = replace(trial, schedule=schedule)
        entitled = granted_check_options(problem, schedule)
        violations = problem.check(instance, schedule, **entitled)
        cost = float(problem.cost(instance, schedule))
        strict = problem.reference_check
        offline = not violations and (
            not (entitled or strict) or not problem.check(instance, schedule, **strict)
        )
    except Exception as error:  # a heuristic under test may do anything
        status = OUT_OF_MEMORY if isinstance(error, MemoryError) else Status.ERROR.value
        said = words(error)
        return replace(trial, status=status, message=said, error=error, trace=traced(error))
    beats = bool(entitled) or not (violations or offline)
    trial = replace(
        trial, cost=cost if math.isfinite(cost) else None, offline=offline, may_beat=beats
    )
    if violations:
        message = describe(violations)
        return replace(trial, violations=violations, status=VIOLATED, message=message)
    if trial.cost is None:
        message = f"the schedule passes the checker and costs {cost}"
        return replace(trial, offline=False, status=Status.ERROR.value, message=message)
    return trial


def heuristic_limits(
    time_limit: float | None = None, memory_limit: float | None = None
) -> Options | None:
    """Limits of single runs of heuristics: wall seconds, and GiB; None where there is neither.

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
        outcome = run_isolated(attempt, replace(limits, time_limit=patience), heeds_stop=False)
    if isinstance(outcome, HeuristicRun):
        return outcome
    ended = HeuristicRun(attempt.heuristic, time=watch)
    said, _, trace = outcome.message.replace("the solver's process", "its process").partition(": ")
    if outcome.limit == Limit.TIME or trace.startswith("Timeout ("):
        said = f"ended at its time limit of {attempt.seconds:g} s"
        return replace(ended, status=TIMEOUT, message=said, trace=trace)
    status = OUT_OF_MEMORY if outcome.limit == Limit.MEMORY else outcome.status.value
    return replace(ended, status=status, message=said, trace=trace)


def traced(error: BaseException) -> str:
    """A traceback without the frames that called the method."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))


FORESEES = "sees the future"
"""Status of a heuristic announced as online whose decisions change with jobs that come later."""

SPOT_CHECK = 0.5
"""Longest run, wall seconds, that is repeated to see whether it looks ahead."""


def foresight(problem: Problem, instance: Any, trial: HeuristicRun, seed: int) -> str:
    """What an online heuristic was found to know too early, in words; empty where nothing was.

    A spot check on two moments: ``optsched check-online`` looks at all.
    """
    chosen, options = problem.heuristic(trial.heuristic)
    quick = trial.time.seconds <= SPOT_CHECK
    if problem.arrivals is None or not chosen.is_online(options) or trial.error or not quick:
        return ""
    run = partial(chosen.run, **options)
    try:
        found = anticipation(
            problem, run, instance, seed=seed, cuts=2, changes=1, schedule=trial.schedule
        )
    except Exception:  # it does not run on a part of the instance: nothing is found
        return ""
    return str(found or "")


MethodKind = Literal["heuristic", "exact", "bound", "proof", "sweep"]
"""A proof is of what an exact method found; a sweep is a measurement of its own, which no
comparison knows."""

PROVEN = "proven"
"""Status of a proof that was found and verified in exact arithmetic."""

UNPROVEN = "not proven"
"""Status of one that was not; it says nothing against the optimum."""

DONE = "done"
"""Status of a heuristic whose schedule passes the checker, of a bound that was computed, and of
what was measured."""

UNMEASURED = "not measured"
"""Status of a measurement for which there is nothing to measure."""

_TO_START = 60.0  # seconds that a process may take to start, before it counts as hanging

ENDS = (
    *(DONE, VIOLATED, TIMEOUT, OUT_OF_MEMORY, UNMEASURED, PROVEN, UNPROVEN),
    *(status.value for status in Status),
)
"""Every status of a run."""


class UnmeasuredError(Exception):
    """Raised by an experiment that has nothing to measure at this scale, with the reason.

    Unlike any other exception it is no failure: a test-bed that nobody has, a trace that was not
    asked for.
    """


@dataclass(frozen=True)
class MethodSpec:
    """A heuristic, a formulation with its solver and limits, a bound, or a proof."""

    kind: MethodKind
    call: str
    """Name and options: ``"a_online(epsilon=0.5)"``."""
    solver: str | None = None
    """Back end of a formulation; None: its own."""
    options: Options | None = None
    """Limits of a formulation's solve; of a proof, the time it may take; of a heuristic's run, see
    ``heuristic_limits``."""
    start: tuple[str, ...] = ()
    """Heuristics; the formulation's solve starts from the best of their schedules."""


@dataclass(frozen=True)
class MethodRun:
    """What came of one method on one instance."""

    status: str
    """``DONE``; "violated" or "error"; for a formulation how its solve ended."""
    cost: float | None = None
    """Of the schedule, which has passed the checker unless the status says otherwise."""
    bound: float | None = None
    """Proven bound on the optimum, or the value of a bound."""
    offline: bool = False
    """Whether the schedule is a solution of the exact models, and so may serve as incumbent."""
    may_beat: bool = False
    """Whether it was granted more than they grant, and may cost less than the optimum."""
    seconds: float = 0.0
    """Wall time of the method alone, that of getting machine code left out."""
    compile_seconds: float = 0.0
    """See ``optsched.jit.Stopwatch``."""
    interpreted_seconds: float = 0.0
    """Part of ``seconds``; see ``optsched.jit.Stopwatch``."""
    solver: str = ""
    """Name and version."""
    limit: str = ""
    """What stopped a solve early: "time", "gap", "nodes" or "memory"."""
    nodes: int | None = None
    message: str = ""
    trace: str = ""
    """Traceback of what a method raised."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """What the problem measures of the schedule, by name."""
    quantities: Mapping[str, float] = field(default_factory=dict)
    """What the source of a bound divides by it, where that is not the cost; by bound."""
    schedule: str | None = None
    """The schedule as JSON, where it was asked to be kept."""
    rows: str | None = None
    """What a sweep measured, as JSON."""


class InstanceRunner:
    """An instance with what has been tried on it; a heuristic runs at most once.

    Args:
        problem: what is being solved.
        instance: on what.
        seed: of every heuristic's random generator.
    """

    def __init__(self, problem: Problem, instance: Any, seed: int) -> None:
        self.problem = problem
        self.instance = instance
        self.seed = seed
        self._trials: dict[str, HeuristicRun] = {}

    def trial(self, heuristic: str, limits: Options | None = None) -> HeuristicRun:
        """What came of a heuristic."""
        if heuristic not in self._trials:
            self._trials[heuristic] = run_heuristic(
                self.problem, self.instance, heuristic, self.seed, limits
            )
        return self._trials[heuristic]

    def run(
        self,
        method: MethodSpec,
        start: str | None = None,
        *,
        keep: bool = False,
        claim: float | None = None,
    ) -> MethodRun:
        """Do what the method says; whatever it raises is part of the answer.

        Args:
            method: what to do.
            start: heuristic whose schedule a solve starts from.
            keep: put the schedule into the record.
            claim: the optimum that a proof is to be of.

        Raises:
            InputError: a name or option that is not known.
        """
        if method.kind == "bound":
            return self._bound(method.call)
        if method.kind == "heuristic":
            return self._heuristic(method, keep)
        if method.kind == "proof":
            return self._proof(method, claim)
        return self._exact(method, start, keep)

    def _bound(self, name: str) -> MethodRun:
        try:
            with stopwatch() as watch:
                value = float(self.problem.bounds[name].compute(self.instance))
        except Exception as error:  # the other methods still count
            message = f"bound {name}: {words(error)}"
            return MethodRun(
                Status.ERROR.value, **vars(watch), message=message, trace=traced(error)
            )
        if not math.isfinite(value):
            message = f"bound {name}: {value}"
            return MethodRun(Status.ERROR.value, **vars(watch), message=message)
        return MethodRun(DONE, bound=value, **vars(watch))

    def _proof(self, method: MethodSpec, claim: float | None) -> MethodRun:
        from optsched.evaluation.proofs import proven_bound

        if claim is None:
            return MethodRun(UNPROVEN, message="no optimum to prove")
        seconds = None if method.options is None else method.options.time_limit
        began = time.perf_counter()
        try:
            proven = proven_bound(self.problem, method.call, self.instance, claim, seconds)
        except Exception as error:  # the optimum still counts
            spent = time.perf_counter() - began
            return MethodRun(UNPROVEN, seconds=spent, message=f"not proven: {words(error)}")
        spent = time.perf_counter() - began
        return MethodRun(PROVEN, bound=proven.bound, seconds=spent, nodes=proven.nodes)

    def _heuristic(self, method: MethodSpec, keep: bool) -> MethodRun:
        trial = self.trial(method.call, method.options)
        schedule = None if trial.trace else trial.schedule
        sources = {
            name: bound.numerator
            for name, bound in self.problem.bounds.items()
            if bound.numerator is not None and not trial.status
        }
        measures, complaints = self._evaluate(self.problem.measures, schedule)
        quantities, more = self._evaluate(sources, schedule)
        ahead = "" if trial.status else foresight(self.problem, self.instance, trial, self.seed)
        return MethodRun(
            FORESEES if ahead else trial.status or DONE,
            cost=trial.cost,
            offline=trial.offline,
            may_beat=trial.may_beat,
            **vars(trial.time),
            message="; ".join(filter(None, (trial.message, ahead, *complaints, *more))),
            trace=trial.trace,
            measures=measures,
            quantities=quantities,
            schedule=dumps(schedule) if keep and schedule is not None else None,
        )

    def _exact(self, method: MethodSpec, start: str | None, keep: bool) -> MethodRun:
        trace = ""
        first = None if start is None else self.trial(start).schedule
        try:
            with stopwatch() as watch:
                answer = self.problem.solve(
                    method.call,
                    self.instance,
                    solver=method.solver,
                    options=method.options,
                    start=first,
                )
        except Exception as error:  # the other methods still count
            trace = traced(error)
            answer = Answer(Solution(Status.ERROR, message=f"{method.call}: {words(error)}"))
        solution, schedule = answer.solution, answer.schedule
        measures, complaints = self._evaluate(self.problem.measures, schedule)
        return MethodRun(
            solution.status.value,
            # a schedule has passed the checker, or it would not be here
            cost=None if schedule is None else float(self.problem.cost(self.instance, schedule)),
            bound=solution.bound,
            offline=schedule is not None,
            seconds=solution.seconds,
            compile_seconds=watch.compile_seconds,
            interpreted_seconds=watch.interpreted_seconds,
            solver=f"{solution.solver} {solution.version}".strip(),
            limit="" if solution.limit is None else solution.limit.value,
            nodes=solution.nodes,
            message="; ".join(filter(None, (solution.message, *complaints))),
            trace=trace,
            measures=measures,
            schedule=dumps(schedule) if keep and schedule is not None else None,
        )

    def _evaluate(
        self, functions: Mapping[str, Callable[[Any, Any], float]], schedule: Any
    ) -> tuple[dict[str, float], list[str]]:
        """Finite values of functions of a schedule, a violated one included, and complaints."""
        values: dict[str, float] = {}
        complaints: list[str] = []
        for name, function in functions.items() if schedule is not None else ():
            try:
                value = float(function(self.instance, schedule))
            except Exception as error:  # what is said beside the cost must not hide the cost
                complaints.append(f"{name}: {words(error)}")
                continue
            if math.isfinite(value):
                values[name] = value
        return values, complaints


def with_heuristics(
    problem: Problem, heuristics: Sequence[str | Heuristic | Callable[..., Any]]
) -> tuple[Problem, list[str]]:
    """The problem with heuristics of the caller's among its own, and all of them by name.

    Args:
        problem: what is being solved.
        heuristics: names with options; heuristics; functions (instance, rng, **options) ->
            schedule, which go by their own names and are taken to see the whole instance;
            classes of policies, which see what has arrived.

    Raises:
        InputError: two of one name, or what is none of these.
    """
    names: list[str] = []
    own: dict[str, Heuristic] = {}
    for one in heuristics:
        if isinstance(one, str):
            names.append(one)
            continue
        if is_policy(one):
            one = policy_heuristic(problem, one)
        if not isinstance(one, Heuristic):
            if not callable(one) or not hasattr(one, "__name__"):
                raise InputError.of("heuristics", one, "a name, a Heuristic or a named function")
            said = (one.__doc__ or "").strip().partition("\n")[0]
            one = Heuristic(one.__name__, one, source="", summary=said, online=False)
        known = {**problem.heuristics, **own}.get(one.name)
        if known is not None and known.run is not one.run:
            raise InputError.of("heuristics", one.name, "a name that no other heuristic has")
        own[one.name] = one
        names.append(one.name)
    if own:
        problem = replace(problem, heuristics={**problem.heuristics, **own})
    return problem, list(dict.fromkeys(names))


def check_names(
    problem: Problem,
    heuristics: Sequence[str],
    reference: str,
    solver: str | None,
    bounds: Sequence[str],
    options: Options | None = None,
) -> None:
    """Refuse names and options that are not known, and solvers that are not there.

    Raises:
        InputError: naming what there is.
    """
    if not heuristics:
        raise InputError.of("heuristics", [], "one or more of " + ", ".join(problem.heuristics))
    for text in heuristics:
        problem.heuristic(text)
    check_exact(problem, reference, solver, options)
    for name in bounds:
        pick(problem.bounds, name, "bound")


def check_exact(
    problem: Problem,
    call: str,
    solver: str | None,
    options: Options | None,
    start: Any | None = None,
) -> None:
    """Refuse a formulation or exact method that is not known, and what it would not heed.

    Raises:
        InputError: naming what there is, or what it honours.
    """
    chosen, _ = problem.formulation(call)
    chosen.check_honoured(solver, options, start)
    check_solver(solver or chosen.solver)


def starts(problem: Problem, reference: str, heuristics: Sequence[str]) -> tuple[str, ...]:
    """The heuristics whose schedules a reference may start from; none where it heeds no start."""
    chosen, _ = problem.formulation(reference)
    return tuple(heuristics) if "start" in chosen.honours else ()


def check_solver(name: str) -> None:
    """Refuse a solver that is not known or not installed.

    Raises:
        InputError: naming what there is.
    """
    try:
        backend(name).version()
    except ImportError as error:
        there = ", ".join(available()) or "none"
        raise InputError.of(
            "solver", name, f"not installed ({error}); there are: {there}"
        ) from None
