"""One run of a method on an instance: the task, and a record of the result.

The record holds plain values only, so that it can be kept in a file and compared years later
without the code that made it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from optsched.errors import InputError, words
from optsched.evaluation.heuristic_run import (
    HeuristicRun,
    foresight,
    run_heuristic,
    to_be_online,
    traced,
)
from optsched.instances.document import dumps
from optsched.jit import stopwatch
from optsched.problem import Problem
from optsched.problem.calls import pick
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.registry import available, backend
from optsched.solvers.solution import ProgressPoint, Solution, Status


def instance_rng(seed: int) -> np.random.Generator:
    """The generator that makes the instance of that seed, everywhere in optsched."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))


MethodKind = Literal["heuristic", "exact", "bound", "proof", "sweep"]
"""A proof is of what an exact method found; a sweep is a separate measurement, which no
comparison knows."""

NO_OPTIMUM = "no optimum to prove"
"""What a proof says if the solve it is of has ended without an optimum."""


NOT_TRIED, NONE_FOUND = "not tried", "none found"
"""What a run says of an online heuristic's foresight if none was found."""


class UnmeasuredError(Exception):
    """Raised by an experiment that has nothing to measure at this scale, with the reason.

    Unlike any other exception it is no failure: a test-bed that nobody has, a trace that was not
    asked for.
    """


QUANTILES = 101
"""Flow times kept of a run, at most."""

STATED = "stated "
"""Begins the names of quantities that are stated; no bound's name has a space."""

MOMENTS = 200
"""Moments kept of a trajectory, at most; the first and the last are among them."""


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


@dataclass(frozen=True, slots=True)
class MethodRun:
    """What came of one method on one instance."""

    status: Status
    cost: float | None = None
    """Cost of the schedule, which has passed the checker unless the status says otherwise."""
    bound: float | None = None
    """Proven bound on the optimum, or the value of a bound."""
    offline: bool = False
    """Whether the schedule is a solution of the exact models, and so may serve as incumbent."""
    foresight: str = ""
    """Foresight of a heuristic that is to be online: "none found", "found" or "not tried"."""
    may_beat: bool = False
    """Whether a heuristic's schedule was granted more than others are, such as speed. Of an
    exact method: whether its schedules were granted more than the exact models' are."""
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
    interpretation: str = ""
    """How the instance was taken to have this optimum or bound: see ``Problem.interpretation``."""
    trace: str = ""
    """Traceback of what a method raised."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """What the problem measures of the schedule, by name."""
    quantities: Mapping[str, float] = field(default_factory=dict)
    """What the source of a bound divides by it, where that is not the cost; by bound. What is
    stated of the ratio, as "stated" and what it is against."""
    schedule: str | None = None
    """The schedule as JSON, if it was asked to be kept."""
    rows: str | None = None
    """What a sweep measured, as JSON."""
    flow_times: str | None = None
    """Slots from release to completion, as JSON: of each job, ascending, or of ``QUANTILES``
    evenly spaced ones if there are more; nothing if a job never completes."""
    trajectory: str | None = None
    """Of an exact method that tells of steps on its way (``Solution.trajectory``): seconds, bound
    and objective as JSON, ``MOMENTS`` of them if there are more."""


class InstanceRunner:
    """An instance with what has been tried on it: solves start from schedules that are there.

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

    def _run(self, heuristic: str, limits: Options | None = None) -> HeuristicRun:
        """Run a heuristic and keep what came of it."""
        run = run_heuristic(self.problem, self.instance, heuristic, self.seed, limits)
        self._trials[heuristic] = run
        return run

    def run(
        self,
        method: MethodSpec,
        start: str | None = None,
        *,
        keep: bool = False,
        claim: float | None = None,
        look_ahead: bool = True,
    ) -> MethodRun:
        """Do what the method says; whatever it raises is part of the answer.

        Args:
            method: what to do.
            start: heuristic whose schedule a solve starts from.
            keep: put the schedule into the record.
            claim: the optimum that a proof is to be of.
            look_ahead: whether to try if an online heuristic knows what arrives later.

        Raises:
            InputError: a name or option that is not known.
        """
        if method.kind == "bound":
            return self._bound(method.call)
        if method.kind == "heuristic":
            return self._heuristic(method, keep, look_ahead)
        if method.kind == "proof":
            return self._proof(method, claim)
        return self._exact(method, start, keep)

    def _bound(self, name: str) -> MethodRun:
        try:
            with stopwatch() as watch:
                bound = self.problem.bounds[name]
                value = float(bound.compute(self.instance))
        except Exception as error:  # the other methods still count
            message = f"bound {name}: {words(error)}"
            return MethodRun(Status.ERROR, **vars(watch), message=message, trace=traced(error))
        if not math.isfinite(value):
            message = f"bound {name}: {value}"
            return MethodRun(Status.ERROR, **vars(watch), message=message)
        taken = "" if bound.as_given else self.problem.interpretation(self.instance)
        return MethodRun(Status.DONE, bound=value, interpretation=taken, **vars(watch))

    def _proof(self, method: MethodSpec, claim: float | None) -> MethodRun:
        from optsched.evaluation.proofs import proven_bound

        if claim is None:
            return MethodRun(Status.NO_SOLUTION, message=NO_OPTIMUM)
        seconds = None if method.options is None else method.options.time_limit
        began = time.perf_counter()
        try:
            proven = proven_bound(self.problem, method.call, self.instance, claim, seconds)
        except Exception as error:  # the optimum still counts
            spent = time.perf_counter() - began
            message = f"not proven: {words(error)}"
            return MethodRun(Status.FEASIBLE, seconds=spent, message=message)
        spent = time.perf_counter() - began
        return MethodRun(Status.OPTIMAL, bound=proven.bound, seconds=spent, nodes=proven.nodes)

    def _heuristic(self, method: MethodSpec, keep: bool, look_ahead: bool) -> MethodRun:
        trial = self._run(method.call, method.options)
        schedule = None if trial.trace else trial.schedule
        sources = {
            name: bound.numerator
            for name, bound in self.problem.bounds.items()
            if bound.numerator is not None and not trial.status
        }
        measures, complaints = self._evaluate(self.problem.measures, schedule)
        quantities, more = self._evaluate(sources, schedule)
        stated, unsaid = self._stated(method.call) if not trial.status else ({}, [])
        # a run under limits is in a separate process, and others of it would have no limit
        tried, ahead = self._foresight(trial, look_ahead and method.options is None)
        return MethodRun(
            Status.FORESEES if ahead else trial.status or Status.DONE,
            cost=trial.cost,
            offline=trial.offline,
            foresight=tried,
            may_beat=trial.granted,
            **vars(trial.time),
            message="; ".join(filter(None, (trial.message, ahead, *complaints, *more, *unsaid))),
            trace=trial.trace,
            measures=measures,
            quantities=quantities | stated,
            schedule=dumps(schedule) if keep and schedule is not None else None,
            flow_times=None if trial.status else self._flow_times(schedule),
        )

    def _stated(self, call: str) -> tuple[dict[str, float], list[str]]:
        """What is stated of a heuristic's ratio on this instance, and complaints."""
        chosen, options = self.problem.heuristic(call)
        try:
            stated = chosen.stated(self.instance, options)
        except Exception as error:  # what is said beside the cost must not hide the cost
            return {}, [f"guarantees of {chosen.name}: {words(error)}"]
        return {STATED + name: v for name, v in stated.items() if math.isfinite(v)}, []

    def _foresight(self, trial: HeuristicRun, look_ahead: bool) -> tuple[str, str]:
        """What ``MethodRun.foresight`` says of a run, and what was found, in words."""
        if trial.status or not to_be_online(self.problem, trial.heuristic):
            return "", ""
        ahead = foresight(self.problem, self.instance, trial, self.seed) if look_ahead else None
        if ahead is None:
            return NOT_TRIED, ""
        return ("found", ahead) if ahead else (NONE_FOUND, "")

    def _exact(self, method: MethodSpec, start: str | None, keep: bool) -> MethodRun:
        trace = ""
        first = None
        if start is not None:
            first = (self._trials.get(start) or self._run(start)).schedule
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
            solution.status,
            # a schedule has passed the checker, or it would not be here
            cost=None if schedule is None else float(self.problem.cost(self.instance, schedule)),
            bound=solution.bound,
            offline=schedule is not None,
            may_beat=answer.check not in (None, self.problem.reference_check),
            seconds=solution.seconds,
            compile_seconds=watch.compile_seconds,
            interpreted_seconds=watch.interpreted_seconds,
            solver=f"{solution.solver} {solution.version}".strip(),
            limit="" if solution.limit is None else solution.limit.value,
            nodes=solution.nodes,
            message="; ".join(filter(None, (solution.message, *complaints))),
            interpretation=answer.interpretation,
            trace=trace,
            measures=measures,
            schedule=dumps(schedule) if keep and schedule is not None else None,
            flow_times=self._flow_times(schedule),
            trajectory=_thinned(solution.trajectory),
        )

    def _flow_times(self, schedule: Any) -> str | None:
        if schedule is None or self.problem.flow_times is None:
            return None
        times = np.sort(np.asarray(self.problem.flow_times(self.instance, schedule), dtype=float))
        if not len(times) or not np.isfinite(times).all():
            return None
        if len(times) > QUANTILES:
            times = np.quantile(times, np.linspace(0, 1, QUANTILES))
        return json.dumps(np.round(times, 6).tolist())

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


def _thinned(trajectory: Sequence[ProgressPoint]) -> str | None:
    """A trajectory as JSON; None if it has no more than its end."""
    if len(trajectory) < 2:
        return None
    kept = np.unique(np.linspace(0, len(trajectory) - 1, MOMENTS).astype(int))
    return json.dumps([trajectory[i] for i in kept.tolist()])


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
    """Refuse a formulation or exact method that is not known, and options it does not support.

    Raises:
        InputError: naming what there is, or what it supports.
    """
    chosen, _ = problem.formulation(call)
    chosen.check_supported(solver, options, start)
    check_solver(solver or chosen.solver)


def starts(problem: Problem, reference: str, heuristics: Sequence[str]) -> tuple[str, ...]:
    """The heuristics whose schedules a reference may start from; none if it takes no start."""
    chosen, _ = problem.formulation(reference)
    return tuple(heuristics) if "start" in chosen.supports else ()


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
