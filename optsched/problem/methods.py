"""How a problem is solved: formulations, which are models with a decoding, and exact methods.

Both declare which options of a solve they support; any other is refused by name.
"""

from __future__ import annotations

import inspect
import pickle
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from optsched.errors import FieldProblem, InputError
from optsched.jit import continued, stopwatch
from optsched.problem.calls import call_options, check_values
from optsched.solvers.answer import Answer, Question, asked_by
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Solution, Status
from optsched.solvers.threads import PATIENCE, ended_by, latest
from optsched.solvers.trajectory import Either

if TYPE_CHECKING:
    from optsched.model import Model

T = TypeVar("T")

_TO_ANSWER = 0.5
"""Seconds that are left to what watches over a solver by itself."""


Function = Callable[..., Any]


def every(instance: Any, schedule: Any, **options: Any) -> bool:
    """Admit every schedule of the problem."""
    return True


SUPPORTED_BY_MODELS = frozenset({"solver", "start", *Options.__dataclass_fields__})
"""What may be asked of a solve: a back end, a schedule to start from, limits and tolerances."""


ALWAYS = frozenset({"isolate", "memory_limit", "stop"})
"""Options that every method supports: the work is ended from outside if need be."""
LIMITS = frozenset({"time_limit", "stop"})
GAPS = frozenset({"gap", "absolute_gap"})


def _left_open(function: Function, given: int) -> dict[str, Any] | None:
    """The options of a function, less those that a partial of it has set by name."""
    known = call_options(function, given)
    fixed = getattr(inspect.unwrap(function), "keywords", {})
    return known and {name: value for name, value in known.items() if name not in fixed}


class _Solvable(ABC):
    """Answers for an instance; refuses options of a solve that it does not support."""

    name: str
    solver: str

    @property
    @abstractmethod
    def supports(self) -> frozenset[str]:
        """The members of ``SUPPORTED_BY_MODELS`` that it supports."""

    def check_supported(
        self, solver: str | None = None, options: Options | None = None, start: Any | None = None
    ) -> None:
        """Refuse options that it does not support.

        Raises:
            InputError: naming each such option and those it supports.
        """
        usual = vars(Options())
        asked = {"solver": solver, "start": start, **(vars(options) if options else {})}
        there = ", ".join(sorted(self.supports)) or "no option"
        problems = [
            FieldProblem(option, value, f"{self.name} does not support {option}, only {there}")
            for option, value in asked.items()
            if option not in self.supports and value != usual.get(option)
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
            InputError: an option is not supported.
        """
        self.check_supported(solver, options, start)
        options = options or Options()
        with stopwatch() as watch:
            if options.isolate:
                asked = {"solver": solver, "start": start, **own_options}
                answer = self._elsewhere(instance, options, asked)
            elif options.profile == "tiny":  # without another thread
                answer = self._answer(instance, options, solver, start, own_options)
            else:
                options = replace(options, stop=Either(options.stop))
                answer = self._answer(instance, options, solver, start, own_options)
        return replace(answer, solution=replace(answer.solution, seconds=watch.seconds))

    def _elsewhere(self, instance: Any, options: Options, asked: Mapping[str, Any]) -> Answer:
        """The answer of a separate process, which builds, searches and decodes."""
        from optsched.solvers.isolation import here, run_isolated

        call = _Call(self, instance, asked, here(options))
        try:
            answer = run_isolated(call, options, stops="stop" in self.supports)
        except pickle.PicklingError as failure:
            return Answer(Solution(Status.ERROR, message=f"PicklingError: {failure}"))
        if isinstance(answer, Answer):
            return answer
        said = Solution(answer.status, limit=answer.limit, message=answer.message)
        return Answer(replace(said, solver=asked["solver"] or self.solver))

    def check_own(self, own: Mapping[str, Any], text: str) -> None:
        """Refuse own options whose values are not of their type or range.

        Raises:
            InputError: naming the option and its value.
        """
        check_values(self.code[0], own, text)

    @property
    @abstractmethod
    def code(self) -> tuple[Callable[..., Any], ...]:
        """The functions it consists of, first the one that takes its own options."""

    def _nothing(self, options: Options, solver: str | None, said: str) -> Answer:
        """The answer of what was ended from outside before anything was known."""
        found = Solution(Status.NO_SOLUTION, limit=Limit.TIME, solver=solver or self.solver)
        if options.stop is not None and options.stop.is_set():
            found = replace(found, status=Status.INTERRUPTED, limit=None)
        return Answer(replace(found, message=said))

    @abstractmethod
    def _answer(
        self, instance: Any, options: Options, solver: str | None, start: Any, own: dict[str, Any]
    ) -> Answer:
        """What is found, without its time."""


def _ended(
    work: Callable[[], T], options: Options, seconds: float | None, patience: float = PATIENCE
) -> T | None:
    """What work returns, or None if a limit or the wish to stop ended it: see ``ended_by``."""
    if options.stop is None:
        return work()
    with continued() as there:
        return ended_by(lambda: there(work), options.stop, seconds, patience)


def _was_late(answer: Answer, options: Options) -> bool:
    """Whether a search was interrupted though nobody asked it to stop: by ``ended_by``."""
    asked = options.stop is None or options.stop.is_set()  # Ctrl-C sets it
    limited = options.time_limit is not None
    return limited and not asked and answer.solution.status is Status.INTERRUPTED


def _ended_by_limit(answer: Answer) -> Answer:
    """The answer of a search that took the interrupt at its limit for somebody's wish."""
    found = answer.solution
    status = Status.NO_SOLUTION if found.objective is None else Status.FEASIBLE
    return replace(answer, solution=replace(found, status=status, limit=Limit.TIME))


@dataclass(frozen=True)
class _Call:
    """A solve as a task for a separate process."""

    method: _Solvable
    instance: Any
    asked: Mapping[str, Any]
    options: Options

    def __call__(self, stop: threading.Event | None, time_limit: float | None) -> Answer:
        options = replace(self.options, stop=stop, time_limit=time_limit)
        return self.method.solve(self.instance, options=options, **self.asked)


@dataclass(frozen=True)
class Formulation(_Solvable):
    """A model of a problem, or of a relaxation of it, and how its points are read.

    Example:
        >>> import optsched as osd
        >>> def build(sizes: list[float]) -> osd.Model:
        ...     m = osd.Model("pack")
        ...     bins = m.integer("bins", upper=len(sizes))
        ...     m.add("room", bins >= sum(sizes))
        ...     m.minimize(bins)
        ...     return m
        >>> osd.Formulation("volume", build, source="", summary="sizes alone").relaxation
        True
    """

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
    """(instance, schedule, **options) -> values to start from; it gets the options of ``build``
    that it takes."""
    solver: str = "highs"
    """The back end that suits it best."""
    admits: Callable[..., bool] | None = every
    """(instance, schedule, **options) -> whether the model contains this schedule of the problem;
    a restriction excludes some. None: unknown."""
    tying: tuple[str, ...] = ()
    """Blocks of rows that couple the jobs: without them the model has a part per job. A proof
    gives them dual values. "room" also names "room:0", "room:1" and so on."""
    equations: Mapping[str, str] = field(default_factory=dict)
    """Where each numbered statement of the paper is in the model, or why it is not: see
    ``optsched.problem.equations``."""

    @property
    def supports(self) -> frozenset[str]:
        """The settings that ``solve`` takes; a start schedule only if it can be encoded."""
        return SUPPORTED_BY_MODELS - ({"start"} if self.encode is None else set())

    @property
    def relaxation(self) -> bool:
        """Whether it only bounds the optimum."""
        return self.decode is None

    @property
    def code(self) -> tuple[Callable[..., Any], ...]:
        """Return the functions that it consists of."""
        return tuple(f for f in (self.build, self.decode, self.encode) if f is not None)

    def changed(self, change: Callable[[Function], Function]) -> Formulation:
        """Return a copy whose functions are what ``change`` makes of them."""
        parts = {"build": self.build, "decode": self.decode, "encode": self.encode}
        changed: dict[str, Any] = {k: change(f) for k, f in parts.items() if f is not None}
        return replace(self, **changed)

    def takes(self) -> dict[str, Any] | None:
        """Return the options of ``build`` with their defaults; see ``call_options``.

        Options that a partial of ``build`` sets, such as the objective, are left out.
        """
        return _left_open(self.build, given=1)

    def _answer(
        self, instance: Any, options: Options, solver: str | None, start: Any, own: dict[str, Any]
    ) -> Answer:
        from optsched.solve import solve

        began = time.perf_counter()

        def build() -> tuple[Model, Options]:
            model = self.build(instance, **own)
            if start is None or self.encode is None:
                return model, options
            known = call_options(self.encode, given=2)
            told = {k: v for k, v in own.items() if known is None or k in known}
            return model, replace(options, warm_start=self.encode(instance, start, **told))

        built = _ended(build, options, options.time_limit, patience=0.0)
        if built is None:
            return self._nothing(options, solver, "building the model was cut short")
        model, options = built
        if options.time_limit is not None:
            left = options.time_limit - (time.perf_counter() - began)
            options = replace(options, time_limit=max(left, 1e-3))
        solution = _ended(
            lambda: solve(model, solver=solver or self.solver, options=options),
            options,
            None if options.time_limit is None else latest(options.time_limit) + _TO_ANSWER,
        )
        if solution is None:
            return self._nothing(options, solver, "the solver runs on behind; isolate=True ends it")
        if solution.has_point and self.decode is not None:
            return Answer(solution, self.decode(instance, solution, **own))
        return Answer(solution)


@dataclass(frozen=True)
class ExactMethod(_Solvable):
    """A search for the optimum of a problem, or of a relaxation of it.

    Example:
        >>> import optsched as osd
        >>> def search(instance, options):  # returns an optsched.problem.Answer
        ...     ...
        >>> mine = osd.ExactMethod("mine", search, "", "", supports=frozenset({"time_limit"}))
        >>> "time_limit" in mine.supports
        True
    """

    name: str
    search: Callable[..., Answer]
    """(instance, options, **its own options) -> answer. If it supports ``solver`` and ``start``,
    it gets them too; None if they are not given."""
    source: str
    """Paper, problem number."""
    summary: str
    supports: frozenset[str] = frozenset()
    """The fields of ``Options`` that the search supports, and "solver" and "start" if it takes
    them. ``stop`` and what ends a separate process are added to every method."""
    relaxation: bool = False
    """Whether it only bounds the optimum."""
    solver: str = "highs"
    """The back end that it uses most."""
    admits: Callable[..., bool] | None = every
    """As in ``Formulation``."""
    params: type[BaseModel] | None = None
    """The parameters of the search, such as temperatures and sizes, with ranges and descriptions.
    Each is an option of the method; the search gets them together, as ``params``."""

    def __post_init__(self) -> None:
        unknown = sorted(self.supports - SUPPORTED_BY_MODELS)
        if unknown:
            allowed = "some of " + ", ".join(sorted(SUPPORTED_BY_MODELS))
            raise InputError.of(f"{self.name}.supports", unknown, allowed)
        object.__setattr__(self, "supports", self.supports | ALWAYS)

    @property
    def code(self) -> tuple[Callable[..., Any], ...]:
        """Return the functions that it consists of."""
        return (self.search,)

    def changed(self, change: Callable[[Function], Function]) -> ExactMethod:
        """Return a copy whose search is what ``change`` makes of it."""
        return replace(self, search=change(self.search))

    def takes(self) -> dict[str, Any] | None:
        """Return the options of the search with their defaults; see ``call_options``.

        Options that a partial of ``search`` sets, such as the objective, are left out.
        """
        known = _left_open(self.search, given=2)
        if known is None:
            return None
        own = {k: v for k, v in known.items() if k not in ("solver", "start", "params")}
        return own | {k: f.get_default() for k, f in self.tunable.items()}

    @property
    def tunable(self) -> Mapping[str, FieldInfo]:
        """The fields of ``params``."""
        return {} if self.params is None else self.params.model_fields

    def check_own(self, own: Mapping[str, Any], text: str) -> None:
        """Refuse options of the search, parameters included, that are out of range.

        Raises:
            InputError: naming the option and its value.
        """
        super().check_own({k: v for k, v in own.items() if k not in self.tunable}, text)
        self._with_params(own, text)

    def _with_params(self, own: Mapping[str, Any], text: str) -> dict[str, Any]:
        """Return the options as the search takes them: the parameters as one object."""
        if self.params is None:
            return dict(own)
        given = {k: v for k, v in own.items() if k in self.tunable}
        try:
            params = self.params(**given)
        except ValidationError as error:
            said = error.errors()[0]
            option = ".".join(map(str, said["loc"]))
            reason = (
                f"option {option} = {said['input']!r}: {said['msg'][:1].lower()}{said['msg'][1:]}"
            )
            raise InputError.of("name", text, reason) from None
        return {k: v for k, v in own.items() if k not in given} | {"params": params}

    def _answer(
        self, instance: Any, options: Options, solver: str | None, start: Any, own: dict[str, Any]
    ) -> Answer:
        asked = {"solver": solver, "start": start}
        told = {name: value for name, value in asked.items() if name in self.supports}
        own = self._with_params(own, self.name)
        question = Question()

        def search() -> Answer:
            with asked_by(question):
                return self.search(instance, options, **told, **own)

        limit = options.time_limit
        answer = _ended(search, options, None if limit is None else latest(limit))
        if answer is None and question.so_far is not None:
            answer = question.so_far()
        if answer is None:
            return self._nothing(options, solver, "the search was cut short")
        return _ended_by_limit(answer) if _was_late(answer, options) else answer
