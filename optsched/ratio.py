"""How far from optimal a schedule is, as an interval that is true.

When minimising, the ratio is cost / optimum; when maximising, optimum / cost: 1 is perfect, and
more is worse. Where the optimum is not proven, the ratio lies between the one against the best
known schedule and the one against the best proven bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optsched.bracket import Bracket, bracket
from optsched.errors import InputError
from optsched.parallel import run_each, words
from optsched.problem import Answer, Problem, Sense, call_options, pick
from optsched.problem import problem as find_problem
from optsched.solvers import Options, Solution, Status, available, backend
from optsched.trial import Trial, attempt, instance_rng

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

_DOUBTFUL = (Status.ERROR, Status.DISAGREEMENT)
"""Ends of a solve after which its dual bound is not built upon."""

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


def ratio(sense: Sense, cost: float, reference: float | None) -> float | None:
    """Cost against a reference value; None where that is no finite ratio of non-negative values.

    Example:
        >>> ratio("minimise", 15, 12), ratio("maximise", 15, 12), ratio("minimise", 1, 0)
        (1.25, 0.8, None)
    """
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
    check_names(problem, heuristics, reference, solver, bounds)
    trials = [attempt(problem, instance, text, seed) for text in heuristics]
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
        status=known.status.value,
        optimum=known.optimum,
        bound=known.bound,
        incumbent=known.incumbent,
        reference=reference,
        solver=f"{solution.solver} {solution.version}".strip(),
        solver_seconds=solution.seconds,
        message="; ".join(filter(None, (known.message, solution.message))),
        parameters=parameters or {},
    )
    given = _options(problem, heuristics)
    return [
        _row(problem, instance, common, known, trial, values, given[trial.heuristic])
        for trial in trials
    ]


def check_names(
    problem: Problem,
    heuristics: Sequence[str],
    reference: str,
    solver: str | None,
    bounds: Sequence[str],
) -> None:
    """Refuse names and options that are not known, and solvers that are not there.

    Raises:
        InputError: naming what there is.
    """
    if not heuristics:
        raise InputError.of("heuristics", [], "one or more of " + ", ".join(problem.heuristics))
    for text in heuristics:
        problem.heuristic(text)
    formulation, _ = problem.formulation(reference)
    check_solver(solver or formulation.solver)
    for name in bounds:
        pick(problem.bounds, name, "bound")


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


def _options(problem: Problem, heuristics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Options of each heuristic that any of them names: as given, or the default."""
    calls = {text: problem.heuristic(text) for text in heuristics}
    named = {option for _, options in calls.values() for option in options}
    return {
        text: {
            option: options.get(option, default)
            for option, default in (call_options(chosen.run, given=2) or options).items()
            if option in named
        }
        for text, (chosen, options) in calls.items()
    }


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
    usable: Sequence[Trial],
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
    usable: Sequence[Trial],
    values: Mapping[str, float | str],
) -> Bracket:
    schedules = {trial.heuristic: trial.cost for trial in usable if trial.cost is not None}
    claims = {
        name: value
        for name, value in values.items()
        if isinstance(value, float) and problem.bounds[name].proven
    }
    complaints = [value for value in values.values() if isinstance(value, str)]
    solution = answer.solution
    if answer.schedule is not None:  # it has passed the checker
        schedules[reference] = problem.cost(instance, answer.schedule)
    if answer.schedule is not None and solution.status == Status.OPTIMAL:
        claims[reference] = schedules[reference]
    elif solution.bound is not None and solution.status not in _DOUBTFUL:
        claims[reference] = solution.bound
    claims = {name: value for name, value in claims.items() if math.isfinite(value)}
    known = bracket(problem.sense, solution.status, schedules, claims)
    return replace(known, message="; ".join(filter(None, (known.message, *complaints))))


def _row(
    problem: Problem,
    instance: Any,
    common: Row,
    known: Bracket,
    trial: Trial,
    values: Mapping[str, float | str],
    options: Mapping[str, Any],
) -> Row:
    row = replace(
        common,
        heuristic=trial.heuristic,
        cost=trial.cost,
        seconds=trial.seconds,
        parameters={**common.parameters, **options},
        extra=_against_bounds(problem, instance, trial, values)
        | _measures(problem, instance, trial),
    )
    if trial.status:
        message = "; ".join(filter(None, (trial.message, common.message)))
        return replace(row, status=trial.status, message=message)
    if trial.cost is None or known.status == Status.DISAGREEMENT:
        return row
    return replace(
        row,
        ratio_low=ratio(problem.sense, trial.cost, known.incumbent),
        ratio_high=ratio(problem.sense, trial.cost, known.bound),
    )


def _against_bounds(
    problem: Problem, instance: Any, trial: Trial, values: Mapping[str, float | str]
) -> dict[str, float | None]:
    extra: dict[str, float | None] = {}
    for name, value in values.items():
        bound = value if isinstance(value, float) else None
        usable = trial.cost is not None and not trial.status
        extra[f"bound_{name}"] = bound
        extra[f"ratio_{name}"] = ratio(problem.sense, trial.cost or 0.0, bound) if usable else None
        measured = problem.bounds[name].measure
        if measured is not None:
            quantity = measured(instance, trial.schedule) if usable else 0.0
            extra[f"source_ratio_{name}"] = (
                ratio(problem.sense, quantity, bound) if usable else None
            )
    return extra


def _measures(problem: Problem, instance: Any, trial: Trial) -> dict[str, float | None]:
    """What the problem measures of a schedule, a violated one included."""
    usable = trial.schedule is not None and trial.error is None
    return {
        f"measure_{name}": float(measure(instance, trial.schedule)) if usable else None
        for name, measure in problem.measures.items()
    }


@dataclass(frozen=True)
class _Task:
    """One instance of a study."""

    problem: Problem
    cell: Mapping[str, Any]
    seed: int
    heuristics: Sequence[str]
    settings: Mapping[str, Any]
    """Keywords of ``measure``."""

    @property
    def name(self) -> str:
        return ",".join(f"{key}={value}" for key, value in {**self.cell, "seed": self.seed}.items())

    def run(self) -> list[Row]:
        instance = self.problem.generate(instance_rng(self.seed), **self.cell)
        return measure(
            self.problem,
            instance,
            self.heuristics,
            seed=self.seed,
            name=self.name,
            parameters=self.cell,
            **self.settings,
        )

    def failed(self, message: str) -> list[Row]:
        return [
            Row(
                problem=self.problem.name,
                instance=self.name,
                seed=self.seed,
                heuristic=text,
                status=Status.ERROR.value,
                message=message,
                parameters={**self.cell, **options},
            )
            for text, options in _options(self.problem, self.heuristics).items()
        ]


def study(
    problem: str | Problem,
    grid: Mapping[str, Sequence[Any]],
    heuristics: Sequence[str],
    *,
    seeds: Iterable[int] = range(1),
    reference: str | None = None,
    solver: str | None = None,
    options: Options | None = None,
    bounds: Sequence[str] = (),
    workers: int = 1,
    progress: Callable[[int, int, Sequence[Row]], None] | None = None,
) -> Study:
    """Measure heuristics on generated instances: every combination of the grid, every seed.

    Instances run in parallel processes and are made from their seed alone, so the rows depend
    neither on the number of processes nor on the rest of the grid. An interrupt (Ctrl-C) ends the
    study with the rows that are there.

    Args:
        problem: its name, or the problem itself.
        grid: values by generator option.
        heuristics: names with options: ``"a_online(epsilon=0.5)"``.
        seeds: one instance each, in every cell of the grid.
        reference: formulation ratios refer to; None: the problem's reference.
        solver: back end; None: the formulation's own.
        options: limits of the reference formulation, per instance.
        bounds: further bounds; the best one counts, and each has columns of its own.
        workers: processes; 1 stays in this one.
        progress: called with (instances finished, instances planned, their new rows).

    Raises:
        InputError: a name, an option or a value that is not known; nothing has run yet.
    """
    chosen = find_problem(problem) if isinstance(problem, str) else problem
    reference = reference or chosen.reference
    check_names(chosen, heuristics, reference, solver, bounds)
    settings = {"reference": reference, "solver": solver, "options": options, "bounds": bounds}
    tasks = [
        _Task(chosen, cell, seed, heuristics, settings)
        for cell in _cells(chosen, grid)
        for seed in seeds
    ]
    if workers < 1:
        raise InputError.of("workers", workers, "an integer >= 1")
    rows: dict[int, list[Row]] = {}
    try:
        for outcome in run_each(_Task.run, tasks, workers):
            new = outcome.value or tasks[outcome.index].failed(outcome.error)
            rows[outcome.index] = new
            if progress is not None:
                progress(len(rows), len(tasks), new)
    except KeyboardInterrupt:
        pass  # the rows that are there are the answer, and say that they are not all
    ordered = [row for _, finished in sorted(rows.items()) for row in finished]
    return Study(ordered, len(tasks), len(rows))


def _cells(problem: Problem, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    combinations = itertools.product(*grid.values())
    return [problem.generator_call(dict(zip(grid, values, strict=True))) for values in combinations]
