"""How far from optimal a schedule is, as an interval that is true.

When minimising, the ratio is cost / optimum; when maximising, optimum / cost: 1 is perfect, and
more is worse. Where the optimum is not proven, the ratio lies between the one against the best
known schedule and the one against the best proven bound.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from optsched.bracket import Bracket, bracket
from optsched.errors import InputError
from optsched.parallel import run_each, words
from optsched.problem import Answer, Problem, Sense, Violation, pick
from optsched.problem import problem as find_problem
from optsched.solvers import Options, Solution, Status

VIOLATED = "violated"
"""Status of a row whose schedule fails the checker."""

FIELDS = (
    "problem",
    "instance",
    "seed",
    "heuristic",
    "cost",
    "optimum",
    "bound",
    "ratio_low",
    "ratio_high",
    "status",
)
"""The columns every table of ratios starts with."""

_TAIL = ("incumbent", "reference", "solver", "seconds", "solver_seconds", "message")


@dataclass(frozen=True)
class Row:
    """One heuristic on one instance."""

    problem: str
    instance: str
    seed: int
    heuristic: str
    status: str
    """"optimal": the optimum is proven and the ratio a point. "violated": the heuristic's schedule
    fails the checker; "error" with a cost missing: the heuristic crashed; "disagreement": a
    checked schedule contradicts what was said to be proven; none of these has a ratio. Otherwise
    how the reference formulation's solve ended."""
    cost: float | None = None
    """Of the heuristic's schedule; at speed 1 + epsilon, the online cost."""
    optimum: float | None = None
    """Proven optimal cost at speed 1."""
    bound: float | None = None
    """Best proven bound on the optimum."""
    ratio_low: float | None = None
    """Against the best known schedule: the ratio is no smaller."""
    ratio_high: float | None = None
    """Against the bound: the ratio is no larger."""
    incumbent: float | None = None
    """Cost of the best known schedule that is feasible at speed 1."""
    reference: str = ""
    """The formulation that gave optimum and bound."""
    solver: str = ""
    seconds: float = 0.0
    """Wall time of the heuristic."""
    solver_seconds: float = 0.0
    """Wall time of the reference formulation, shared by the rows of one instance."""
    message: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Options of the generator and of the heuristic."""
    extra: Mapping[str, float | None] = field(default_factory=dict)
    """For each bound asked for: ``bound_NAME``, ``ratio_NAME`` (cost against it) and, where the
    source divides another quantity by it, ``source_ratio_NAME``."""

    def record(self) -> dict[str, Any]:
        """The row as one flat mapping, columns in their order."""
        head = {name: getattr(self, name) for name in FIELDS}
        tail = {name: getattr(self, name) for name in _TAIL}
        options = {
            f"option_{name}" if name in head | tail else name: value
            for name, value in self.parameters.items()
        }
        return head | options | tail | dict(self.extra)


@dataclass(frozen=True)
class Study:
    """The rows of a study, whether or not it came to its end."""

    rows: list[Row]
    instances: int
    """Instances planned."""
    finished: int
    """Instances that have their rows."""

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end."""
        return self.finished < self.instances


def instance_rng(seed: int) -> np.random.Generator:
    """The generator that makes the instance of that seed, here and in ``optsched generate``."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))


def heuristic_rng(seed: int) -> np.random.Generator:
    """The generator every heuristic gets, here and in ``optsched run``, whatever runs beside it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))


def ratio(sense: Sense, cost: float, reference: float | None) -> float | None:
    """Cost against a reference value; None where that is no finite ratio of non-negative values."""
    if reference is None:
        return None
    numerator, denominator = (cost, reference) if sense == "minimise" else (reference, cost)
    if min(numerator, denominator) < 0:
        return None
    if numerator == denominator:
        return 1.0
    return numerator / denominator if denominator > 0 else None


def measure(
    problem: Problem,
    instance: Any,
    heuristics: Sequence[str],
    *,
    seed: int = 0,
    name: str = "",
    reference: str | None = None,
    solver: str | None = None,
    options: Options | None = None,
    bounds: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Run heuristics on one instance and compare each with the offline optimum.

    Whatever a heuristic, a bound or the solver does, there is one row per heuristic.

    Args:
        problem: what is being solved.
        instance: on what.
        heuristics: names with options: ``"a_online(epsilon=0.5)"``.
        seed: of every heuristic's random generator.
        name: what to call the instance.
        reference: formulation ratios refer to; None: the problem's reference.
        solver: back end; None: the formulation's own.
        options: limits of the reference formulation.
        bounds: further bounds; the best one counts, and each has columns of its own.
        parameters: columns to carry along, such as the generator's options.

    Raises:
        InputError: a name or option that is not known.
    """
    reference = reference or problem.reference
    check_names(problem, heuristics, reference, bounds)
    trials = [_try(problem, instance, text, seed) for text in heuristics]
    values = {name: _bound(problem, instance, name) for name in bounds}
    usable = [trial for trial in trials if trial.offline]
    answer = _solve(problem, instance, reference, solver, options, usable)
    known = _bracket(problem, instance, reference, answer, usable, values)
    solution = answer.solution
    common = Row(
        problem=problem.name,
        instance=name,
        seed=seed,
        heuristic="",
        status=known.status,
        optimum=known.optimum,
        bound=known.bound,
        incumbent=known.incumbent,
        reference=reference,
        solver=f"{solution.solver} {solution.version}".strip(),
        solver_seconds=solution.seconds,
        message="; ".join(filter(None, (known.message, solution.message))),
        parameters=parameters or {},
    )
    return [_row(problem, instance, common, known, trial, values) for trial in trials]


def check_names(
    problem: Problem, heuristics: Sequence[str], reference: str, bounds: Sequence[str]
) -> None:
    """Refuse names and options that are not known.

    Raises:
        InputError: naming what there is.
    """
    if not heuristics:
        raise InputError.of("heuristics", [], "one or more of " + ", ".join(problem.heuristics))
    for text in heuristics:
        problem.heuristic(text)
    problem.formulation(reference)
    for name in bounds:
        pick(problem.bounds, name, "bound")


@dataclass(frozen=True)
class _Trial:
    """What came of one heuristic."""

    heuristic: str
    seconds: float
    schedule: Any = None
    cost: float | None = None
    status: str = ""
    """Set where there is no schedule to compare."""
    message: str = ""
    offline: bool = False
    """Whether the schedule is feasible at speed 1, and so may serve as incumbent."""


def _try(problem: Problem, instance: Any, text: str, seed: int) -> _Trial:
    began = time.perf_counter()
    try:
        schedule = problem.run(text, instance, heuristic_rng(seed))
        trial = _Trial(text, time.perf_counter() - began, schedule)
        entitled = problem.check_options(schedule)
        violations = problem.check(instance, schedule, **entitled)
        cost = float(problem.cost(instance, schedule))
        offline = not violations and not (entitled and problem.check(instance, schedule))
    except Exception as error:  # a heuristic under test may do anything
        return _Trial(text, time.perf_counter() - began, status=Status.ERROR, message=words(error))
    if not math.isfinite(cost):
        return replace(trial, status=Status.ERROR, message=f"the schedule costs {cost}")
    if violations:
        return replace(trial, cost=cost, status=VIOLATED, message=describe(violations))
    return replace(trial, cost=cost, offline=offline)


def describe(violations: Sequence[Violation]) -> str:
    """The worst violation in words, and how many there are."""
    worst = max(violations, key=lambda violation: violation.amount)
    where = ", ".join(f"{key} {value:g}" for key, value in worst.index.items())
    return (
        f"breaks ({worst.constraint}){f' at {where}' if where else ''} by {worst.amount:g}"
        f"; violations in all: {len(violations)}"
    )


def _bound(problem: Problem, instance: Any, name: str) -> float | str:
    try:
        value = float(problem.bounds[name].compute(instance))
    except Exception as error:  # the other bounds and the solver still count
        return f"bound {name}: {words(error)}"
    return value if math.isfinite(value) else f"bound {name}: {value}"


def _solve(
    problem: Problem,
    instance: Any,
    reference: str,
    solver: str | None,
    options: Options | None,
    usable: Sequence[_Trial],
) -> Answer:
    best = min if problem.sense == "minimise" else max
    start = best(usable, key=lambda trial: trial.cost or 0.0).schedule if usable else None
    try:
        return problem.solve(reference, instance, solver=solver, options=options, start=start)
    except Exception as error:  # the bounds still say something
        return Answer(Solution(Status.ERROR, message=f"{reference}: {words(error)}"))


def _bracket(
    problem: Problem,
    instance: Any,
    reference: str,
    answer: Answer,
    usable: Sequence[_Trial],
    values: Mapping[str, float | str],
) -> Bracket:
    schedules = {trial.heuristic: trial.cost for trial in usable if trial.cost is not None}
    claims = {name: value for name, value in values.items() if isinstance(value, float)}
    complaints = [value for value in values.values() if isinstance(value, str)]
    solution = answer.solution
    if answer.schedule is not None:  # it has passed the checker
        schedules[reference] = problem.cost(instance, answer.schedule)
    if answer.schedule is not None and solution.status == Status.OPTIMAL:
        claims[reference] = schedules[reference]
    elif solution.bound is not None and math.isfinite(solution.bound):
        claims[reference] = solution.bound
    known = bracket(problem.sense, solution.status, schedules, claims)
    return replace(known, message="; ".join(filter(None, (known.message, *complaints))))


def _row(
    problem: Problem,
    instance: Any,
    common: Row,
    known: Bracket,
    trial: _Trial,
    values: Mapping[str, float | str],
) -> Row:
    _, options = problem.heuristic(trial.heuristic)
    row = replace(
        common,
        heuristic=trial.heuristic,
        cost=trial.cost,
        seconds=trial.seconds,
        parameters={**common.parameters, **options},
    )
    if trial.status:
        message = "; ".join(filter(None, (trial.message, common.message)))
        return replace(row, status=trial.status, message=message)
    assert trial.cost is not None
    extra: dict[str, float | None] = {}
    for name, value in values.items():
        number = value if isinstance(value, float) else None
        extra[f"bound_{name}"] = number
        extra[f"ratio_{name}"] = ratio(problem.sense, trial.cost, number)
        measured = problem.bounds[name].measure
        if measured is not None:
            quantity = measured(instance, trial.schedule)
            extra[f"source_ratio_{name}"] = ratio(problem.sense, quantity, number)
    if known.status == Status.DISAGREEMENT:
        return replace(row, extra=extra)
    return replace(
        row,
        ratio_low=ratio(problem.sense, trial.cost, known.incumbent),
        ratio_high=ratio(problem.sense, trial.cost, known.bound),
        extra=extra,
    )
