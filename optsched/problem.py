"""What a problem is, and how problems are found.

A problem bundles what one paper states: an instance type, a schedule type, a checker, a cost,
exact formulations, lower bounds and heuristics. Packages announce problems through the
entry-point group ``optsched.problems`` and further heuristics, for any problem, through
``optsched.heuristics`` (a mapping from name to :class:`Heuristic`, under the problem's name).
"""

from __future__ import annotations

import pickle
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ValidationError

from optsched.arrivals import Arrivals
from optsched.calendar import Calendar
from optsched.calls import accept, call_options, check_values, parse_call, pick, read_list
from optsched.certificate import Certificate
from optsched.document import Documented, refusal
from optsched.errors import FieldProblem, InputError
from optsched.jit import stopwatch
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status
from optsched.violation import Violation, no_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Sense = Literal["minimise", "maximise"]

COST_TOLERANCE = 1e-6
"""Relative difference allowed between a solver's objective and the recomputed cost."""


@dataclass(frozen=True)
class Heuristic:
    """An algorithm that makes a schedule."""

    name: str
    run: Callable[..., Any]
    """(instance, rng, **options) -> schedule; options are keywords with defaults."""
    source: str
    """Paper, algorithm number."""
    summary: str
    online: bool | Callable[..., bool] = True
    """Whether it sees a job only when it arrives; (**options) -> that, where options decide."""

    def is_online(self, options: Mapping[str, Any]) -> bool:
        """Whether it is announced as online with these options."""
        return self.online(**options) if callable(self.online) else self.online


@dataclass(frozen=True)
class Bound:
    """A proven bound on the optimum that needs no schedule."""

    name: str
    compute: Callable[[Any], float]
    """(instance) -> bound: from below when minimising, from above when maximising."""
    source: str
    summary: str
    numerator: Callable[[Any, Any], float] | None = None
    """(instance, schedule) -> what the source divides by this bound, where that is not the cost."""
    quick: bool = False
    """Whether it takes a small part of a solve's time, so that a search may ask it every time."""
    proven: bool = True
    """False for a yardstick that the source divides by and that bounds nothing; it is reported
    beside the ratio and never enters it."""


@dataclass(frozen=True)
class Answer:
    """What an exact method found on one instance."""

    solution: Solution
    schedule: Any | None = None
    """The decoded schedule; None without a point, or where the problem is only a relaxation."""
    check: Mapping[str, Any] | None = None
    """Options of ``check`` under which the schedule counts; None: the problem's own."""


HONOURED_BY_MODELS = frozenset({"solver", "start", *Options.__dataclass_fields__})
"""What may be asked of a solve: a back end, a schedule to start from, limits and tolerances."""


PROCESS = frozenset({"isolate", "memory_limit"})
"""What is heeded by a process of its own, whatever works in it."""
LIMITS = frozenset({"time_limit", "stop"})
GAPS = frozenset({"gap", "absolute_gap"})


class _Solvable(ABC):
    """Answers for an instance; refuses what is asked of a solve and would not be heeded."""

    name: str
    solver: str

    @property
    @abstractmethod
    def honours(self) -> frozenset[str]:
        """What of ``HONOURED_BY_MODELS`` it heeds."""

    def check_honoured(
        self, solver: str | None = None, options: Options | None = None, start: Any | None = None
    ) -> None:
        """Refuse what it does not heed.

        Raises:
            InputError: naming each such option and what it does heed.
        """
        usual = vars(Options())
        asked = {"solver": solver, "start": start, **(vars(options) if options else {})}
        there = ", ".join(sorted(self.honours)) or "nothing of the kind"
        problems = [
            FieldProblem(option, value, f"{self.name} does not honour {option}; it honours {there}")
            for option, value in asked.items()
            if option not in self.honours and value != usual.get(option)
        ]
        if problems:
            raise InputError(problems)

    def solve(
        self,
        instance: Any,
        *,
        solver: str | None = None,
        options: Options | None = None,
        start: Any | None = None,
        **own_options: Any,
    ) -> Answer:
        """Solve, or search.

        Args:
            instance: what to solve.
            solver: back end; None for the one that suits best.
            options: limits and tolerances.
            start: a schedule to start from.
            own_options: of the formulation's ``build`` or of the search.

        Raises:
            InputError: something is asked for that would not be honoured.
        """
        self.check_honoured(solver, options, start)
        options = options or Options()
        with stopwatch() as watch:
            if options.isolate:
                asked = {"solver": solver, "start": start, **own_options}
                answer = self._elsewhere(instance, options, asked)
            else:
                answer = self._answer(instance, options, solver, start, own_options)
        return replace(answer, solution=replace(answer.solution, seconds=watch.seconds))

    def _elsewhere(self, instance: Any, options: Options, asked: Mapping[str, Any]) -> Answer:
        """The answer of a process of its own, which builds, searches and decodes."""
        from optsched.solvers.isolation import here, run_isolated

        call = _Call(self, instance, asked, here(options))
        try:
            answer = run_isolated(call, options, heeds_stop="stop" in self.honours)
        except pickle.PicklingError as failure:
            return Answer(Solution(Status.ERROR, message=f"PicklingError: {failure}"))
        if isinstance(answer, Answer):
            return answer
        said = Solution(answer.status, limit=answer.limit, message=answer.message)
        return Answer(replace(said, solver=asked["solver"] or self.solver))

    @abstractmethod
    def _answer(
        self, instance: Any, options: Options, solver: str | None, start: Any, own: dict[str, Any]
    ) -> Answer:
        """What is found, without its time."""


@dataclass(frozen=True)
class _Call:
    """A solve as a task for a process of its own."""

    method: _Solvable
    instance: Any
    asked: Mapping[str, Any]
    options: Options

    def __call__(self, stop: threading.Event | None, time_limit: float | None) -> Answer:
        options = replace(self.options, stop=stop, time_limit=time_limit)
        return self.method.solve(self.instance, options=options, **self.asked)


@dataclass(frozen=True)
class Formulation(_Solvable):
    """A model of a problem, or of a relaxation of it, and how its points are read."""

    name: str
    build: Callable[..., Model]
    """(instance, **options) -> model."""
    source: str
    """Paper, problem number."""
    summary: str
    decode: Callable[[Any, Solution], Any] | None = None
    """(instance, solution, **options) -> schedule whose cost is the objective.

    None for a relaxation.
    """
    encode: Callable[[Any, Any], Mapping[str, Any]] | None = None
    """(instance, schedule, **options) -> values to start from; it is told those of the build
    options that it takes."""
    solver: str = "highs"
    """The back end that suits it best."""

    @property
    def honours(self) -> frozenset[str]:
        """All that ``solve`` takes; a schedule to start from where it can be encoded."""
        return HONOURED_BY_MODELS - ({"start"} if self.encode is None else set())

    @property
    def relaxation(self) -> bool:
        """Whether it bounds the optimum only."""
        return self.decode is None

    @property
    def code(self) -> tuple[Callable[..., Any], ...]:
        """The functions it consists of."""
        return tuple(f for f in (self.build, self.decode, self.encode) if f is not None)

    def takes(self) -> dict[str, Any] | None:
        """The build options, with their defaults; see ``call_options``."""
        return call_options(self.build, given=1)

    def _answer(
        self, instance: Any, options: Options, solver: str | None, start: Any, own: dict[str, Any]
    ) -> Answer:
        began = time.perf_counter()
        model = self.build(instance, **own)
        if start is not None and self.encode is not None:
            known = call_options(self.encode, given=2)
            told = {k: v for k, v in own.items() if known is None or k in known}
            options = replace(options, warm_start=self.encode(instance, start, **told))
        if options.time_limit is not None:
            left = options.time_limit - (time.perf_counter() - began)
            options = replace(options, time_limit=max(left, 1e-3))
        solution = solve(model, solver=solver or self.solver, options=options)
        if solution.has_point and self.decode is not None:
            return Answer(solution, self.decode(instance, solution, **own))
        return Answer(solution)


@dataclass(frozen=True)
class ExactMethod(_Solvable):
    """A search of its own for the optimum of a problem, or of a relaxation of it."""

    name: str
    search: Callable[..., Answer]
    """(instance, options, **options of its own) -> answer; it is told ``solver`` and ``start``,
    None where they are not given, if it honours them."""
    source: str
    """Paper, problem number."""
    summary: str
    honours: frozenset[str] = frozenset()
    """Fields of ``Options`` that the search heeds, and "solver" and "start" where it does; what a
    process of its own heeds comes by itself."""
    relaxation: bool = False
    """Whether it bounds the optimum only."""
    solver: str = "highs"
    """The back end that it uses most."""

    def __post_init__(self) -> None:
        unknown = sorted(self.honours - HONOURED_BY_MODELS)
        if unknown:
            allowed = "some of " + ", ".join(sorted(HONOURED_BY_MODELS))
            raise InputError.of(f"{self.name}.honours", unknown, allowed)
        object.__setattr__(self, "honours", self.honours | PROCESS)

    @property
    def code(self) -> tuple[Callable[..., Any], ...]:
        """The functions it consists of."""
        return (self.search,)

    def takes(self) -> dict[str, Any] | None:
        """The options of its own, with their defaults; see ``call_options``."""
        known = call_options(self.search, given=2)
        return known and {k: v for k, v in known.items() if k not in ("solver", "start")}

    def _answer(
        self, instance: Any, options: Options, solver: str | None, start: Any, own: dict[str, Any]
    ) -> Answer:
        asked = {"solver": solver, "start": start}
        told = {name: value for name, value in asked.items() if name in self.honours}
        return self.search(instance, options, **told, **own)


@dataclass(frozen=True)
class Problem:
    """Everything optsched knows of one problem."""

    name: str
    summary: str
    source: str
    """The paper."""
    instance_type: type[Documented]
    schedule_type: type[Documented]
    check: Callable[..., list[Violation]]
    """(instance, schedule, **options) -> violations."""
    cost: Callable[[Any, Any], float]
    """(instance, schedule) -> objective value."""
    generate: Callable[..., Any]
    """(rng, **options) -> instance."""
    generator_options: type[BaseModel]
    """The options of ``generate``: names, types, ranges, defaults, descriptions."""
    formulations: Mapping[str, Formulation | ExactMethod]
    """Models and exact methods, under one name space."""
    reference: str
    """The formulation whose optimum is the offline optimum that ratios refer to."""
    unit: str
    """Unit of the cost."""
    proof_model: str = ""
    """The formulation, with options, whose model proofs of the optimum are of; by default the
    reference, if that has one. Every schedule must be a point of it."""
    sense: Sense = "minimise"
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    heuristics: Mapping[str, Heuristic] = field(default_factory=dict)
    check_options: Callable[[Any], Mapping[str, Any]] = no_options
    """Options of ``check`` that a heuristic's own schedule is entitled to."""
    reference_check: Mapping[str, Any] = field(default_factory=dict)
    """Options of ``check`` under which a schedule counts as a solution of the exact models."""
    measures: Mapping[str, Callable[[Any, Any], float]] = field(default_factory=dict)
    """(instance, schedule) -> what a table of ratios shows beside the cost, by column name."""
    pictures: Mapping[str, Callable[[Axes, Any, Any], Axes]] = field(default_factory=dict)
    """(axis, instance, schedule) -> axis, by what they show: "gantt", "utilisation"."""
    presets: Path | None = None
    """A study file (see ``optsched.study.spec``) whose grids have names, such as the paper's own
    figures."""
    repair: Callable[[Any], Any] | None = None
    """Decoded JSON -> the same with what must hold between its numbers restored, such as a matrix
    that is symmetric; for searches that change one number at a time."""
    calendar: Calendar | None = None
    """How instances and schedules are moved in time, where jobs have releases: models, searches,
    bounds and heuristics then work near slot 0."""
    certify: Callable[[Any, Any], Sequence[Certificate]] | None = None
    """(instance, schedule) -> what the paper's lemmas and theorems come to there; None where
    there is nothing of that kind."""
    arrivals: Arrivals | None = None
    """How jobs arrive one by one; None where all are there from the beginning."""

    def __post_init__(self) -> None:
        if self.calendar is None:
            return
        parts = {
            "formulations": self.calendar.formulation,
            "bounds": self.calendar.bound,
            "heuristics": self.calendar.heuristic,
        }
        for name, near in parts.items():
            cards = {key: near(card) for key, card in getattr(self, name).items()}
            object.__setattr__(self, name, cards)

    def solve(self, formulation: str, instance: Any, **options: Any) -> Answer:
        """Solve by a formulation or exact method, named with its options: "problem_2(horizon=20)".

        An optimum counts only if its schedule passes the checker.

        Raises:
            InputError: no such formulation or option, or one that would not be heeded.
        """
        chosen, build_options = self.formulation(formulation)
        answer = chosen.solve(instance, **build_options, **options)
        return self.verify(instance, answer)

    def verify(self, instance: Any, answer: Answer) -> Answer:
        """Turn an answer whose schedule breaks the problem, or costs something else, into an error.

        The bound stays: it does not depend on the point.
        """
        solution = answer.solution
        if answer.schedule is None or solution.objective is None:
            return answer
        complaint = ""
        strict = self.reference_check if answer.check is None else answer.check
        violations = self.check(instance, answer.schedule, **strict)
        cost = self.cost(instance, answer.schedule)
        if violations:
            worst = max(violations, key=lambda v: v.amount)
            complaint = f"the decoded schedule breaks ({worst.constraint}) at {dict(worst.index)}"
        elif abs(cost - solution.objective) > COST_TOLERANCE * max(1.0, abs(cost)):
            complaint = f"the decoded schedule costs {cost:g}, not {solution.objective:g}"
        if not complaint:
            return answer
        return replace(
            answer,
            solution=replace(
                solution, status=Status.ERROR, objective=None, checked=False, message=complaint
            ),
            schedule=None,
        )

    def run(self, heuristic: str, instance: Any, rng: np.random.Generator) -> Any:
        """Run a heuristic, named with its options: ``"a_online(epsilon=0.5)"``.

        Raises:
            InputError: no such heuristic or option.
        """
        chosen, options = self.heuristic(heuristic)
        return chosen.run(instance, rng, **options)

    def formulation(self, text: str) -> tuple[Formulation | ExactMethod, dict[str, Any]]:
        """The formulation or exact method that ``name(option=value, ...)`` names, and the options.

        Raises:
            InputError: no such formulation or option.
        """
        name, options = parse_call(text)
        chosen: Formulation | ExactMethod = pick(self.formulations, name, "formulation")
        accept(chosen.takes(), options, text)
        check_values(chosen.code[0], options, text)
        return chosen, options

    def heuristic(self, text: str) -> tuple[Heuristic, dict[str, Any]]:
        """The heuristic and the options that ``name(option=value, ...)`` names.

        Raises:
            InputError: no such heuristic or option.
        """
        name, options = parse_call(text)
        chosen: Heuristic = pick(self.heuristics, name, "heuristic")
        accept(call_options(chosen.run, given=2), options, text)
        check_values(chosen.run, options, text)
        return chosen, options

    def generator_call(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options of ``generate``, validated; texts such as "3" or "[8, 2]" are read.

        Raises:
            InputError: an option that is not known, or a value out of range.
        """
        known = self.generator_options.model_fields
        unknown = [name for name in options if name not in known]
        if unknown:
            allowed = "not an option; there are " + ", ".join(known)
            raise InputError([FieldProblem(name, options[name], allowed) for name in unknown])
        try:
            validated = self.generator_options.model_validate(
                {name: read_list(value) for name, value in options.items()}
            )
        except ValidationError as error:
            raise refusal(error) from None
        return {name: getattr(validated, name) for name in options}


def granted_check_options(problem: Problem, schedule: Any) -> dict[str, Any]:
    """What the check grants a schedule beyond its defaults, such as the speed it was run at."""
    defaults = call_options(problem.check, given=2) or {}
    granted = problem.check_options(schedule)
    return {
        name: value
        for name, value in granted.items()
        if name not in defaults or defaults[name] != value
    }


def later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is first called: drawing takes long to load.

    Args:
        module: its full name.
        name: of the function.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return call


def problems() -> dict[str, Problem]:
    """Every problem installed packages announce, with all heuristics announced for it.

    A package that cannot be loaded is left out with a warning.
    """
    found: dict[str, Problem] = {}
    for name in sorted({entry.name for entry in entry_points(group="optsched.problems")}):
        try:
            found[name] = problem(name)
        except InputError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _load(entry: Any) -> Any:
    try:
        return entry.load()
    except Exception as error:
        raise InputError.of(
            f"entry point {entry.group}", entry.value, f"cannot be loaded ({error!r})"
        ) from error


def problem(name: str) -> Problem:
    """The problem of that name, with all heuristics announced for it; no other package is loaded.

    Raises:
        InputError: no such problem, or one that cannot be loaded.
    """
    announced = {entry.name: entry for entry in entry_points(group="optsched.problems")}
    found: Problem = _load(pick(announced, name, "problem"))
    for entry in entry_points(group="optsched.heuristics", name=name):
        found = replace(found, heuristics={**found.heuristics, **_load(entry)})
    return found
