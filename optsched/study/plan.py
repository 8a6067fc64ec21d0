"""Plan a study: its problems, their instances, and the runs on each.

All names of a grid are looked up before anything runs. The plan has a key per run. A key is made of
the content of the run, so equal runs have equal keys in every grid and study.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python

from optsched.errors import FieldProblem, InputError
from optsched.evaluation.code_digest import generator_versions, method_versions
from optsched.evaluation.heuristic_run import with_heuristics
from optsched.evaluation.ratios import ComparisonSpec
from optsched.evaluation.runs import MethodSpec, check_exact, instance_rng
from optsched.instances.document import dumps, load, parse
from optsched.problem import Heuristic, Problem
from optsched.problem import problem as find_problem
from optsched.problem.calls import parse_call, pick
from optsched.solvers.options import Options
from optsched.study.layout import Layout, PlannedInstance, Step

T = TypeVar("T")

FORESIGHT_EVERY = 8
"""Of the seeds of a cell, the first and every so many after it are tried for foresight: that takes
three more runs of the heuristic."""

_NOT_CONTENT = ("stop", "log", "warm_start")
"""Options of a solve that a study leaves alone."""


@dataclass(frozen=True)
class Exact:
    """An exact method of a grid."""

    formulation: str
    """Name and build options: ``"problem_2(horizon=20)"``."""
    solver: str | None = None
    """Back end; None: the formulation's own."""
    options: Options = field(default_factory=Options)
    start: Sequence[str] = ()
    """Heuristics of the grid; the solve starts from the best of their schedules."""
    name: str = ""
    """In tables; empty: the formulation, and the solver if one is named."""
    prove: float = 0.0
    """Seconds a proof of the optimum in exact arithmetic may take; 0: none is looked for."""

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name or f"{self.formulation}{f' by {self.solver}' if self.solver else ''}"


@dataclass(frozen=True)
class StudyGrid:
    """Every method on every instance of one problem."""

    problem: str | Problem
    """Its name; the problem itself where only this process and its own workers need it."""
    generator: Mapping[str, Sequence[Any]] | None = None
    """Values by generator option, every combination is a cell; None: files and
    instances only, if there are."""
    files: Sequence[str | Path] = ()
    """Instance files."""
    seeds: Iterable[int] | int = (0,)
    """One instance each in every cell, or their number; heuristics run on a file
    or an instance once per seed."""
    heuristics: Sequence[str | Heuristic | Callable[..., Any]] | None = None
    """Names with options, functions, heuristics; None: all the problem has."""
    exact: Sequence[Exact | str] | None = None
    """Exact methods; None: the problem's reference."""
    bounds: Sequence[str] = ()
    """Further bounds; the best one counts, and each has columns of its own."""
    reference: str | None = None
    """Formulation ratios refer to, as written in ``exact``; None: the first one there."""
    heuristic_limits: Options | None = None
    """Limits of every run of a heuristic; see ``heuristic_run.heuristic_limits``."""
    instances: Mapping[str, Any] = field(default_factory=dict)
    """Instances by name, beside the files."""


@dataclass(frozen=True)
class Recipe:
    """How an instance is made, and with which seed heuristics run on it."""

    problem: str | Problem
    name: str
    """What tables call the instance."""
    seed: int
    cell: Mapping[str, Any] = field(default_factory=dict)
    """Options of the generator."""
    folder: Path = Path()
    """Where files named among the options are found: a worker may stand elsewhere."""
    text: str | None = None
    """The instance as JSON, unless a generator makes it."""
    versions: Mapping[str, str] = field(default_factory=dict)

    def make(self) -> Any:
        """The instance.

        Raises:
            Exception: whatever the generator raises.
        """
        problem = found(self.problem)
        if self.text is not None:
            return parse(problem.instance_type, json.loads(self.text))
        return problem.generate(instance_rng(self.seed), **self._with_files(lambda path: path))

    @cached_property
    def key(self) -> str:
        """Digest of all that determines the instance, what its files hold too, and of the seed."""
        name = found(self.problem).name
        cell = self._with_files(_content)
        return fingerprint([name, self.seed, cell, self.text, self.versions])

    def _with_files(self, read: Callable[[Path], Any]) -> dict[str, Any]:
        """The cell, with ``read`` of each file in its place."""
        return {
            name: read(self.folder / value) if isinstance(value, Path) else value
            for name, value in self.cell.items()
        }


def _content(path: Path) -> str:
    """Digest of what a file holds now."""
    stat = path.stat()
    return _content_then(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)  # every seed and every setting of a grid asks for the same file
def _content_then(path: Path, changed: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Asked:
    """A method, and what its results depend on beside instance and seed."""

    problem: str
    method: MethodSpec
    versions: Mapping[str, str]
    observe: Callable[..., Sequence[Mapping[str, Any]]] | None = None
    """Of a sweep: arguments -> rows."""
    of: Asked | None = None
    """Of a proof: the solve whose optimum it is of."""

    @property
    def seeded(self) -> bool:
        """Whether it depends on the instance's seed too."""
        if self.of is not None:
            return self.of.seeded
        return bool(self.method.start) or self.method.kind == "heuristic"

    @cached_property
    def key(self) -> str:
        """Digest of it all."""
        method = self.method
        calls: list[Any] = [method.call]
        if method.kind != "sweep":
            calls = [parse_call(text) for text in (method.call, *method.start)]
        limits = settings(method.options)
        content = [self.problem, method.kind, calls, limits, self.versions]
        return fingerprint(content if self.of is None else [*content, self.of.key])


@dataclass(frozen=True)
class Plan:
    """All grids of a study, looked up."""

    layouts: list[Layout] = field(default_factory=list)
    cases: list[PlannedInstance] = field(default_factory=list)
    """Every instance, once per grid it appears in."""
    methods: dict[str, Asked] = field(default_factory=dict)
    """By key."""
    recipes: dict[str, Recipe] = field(default_factory=dict)
    """By key."""


def found(problem: str | Problem) -> Problem:
    """The problem, by its name or as it is.

    Raises:
        InputError: no such problem, or one that cannot be loaded.
    """
    return _by_name(problem) if isinstance(problem, str) else problem


@lru_cache
def _by_name(name: str) -> Problem:
    return find_problem(name)


def fingerprint(content: Any) -> str:
    """Digest of plain content, the same on every machine."""
    text = json.dumps(to_jsonable_python(content, fallback=repr), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def instance_digest(instance: Any) -> str:
    """Digest of an instance's content."""
    return hashlib.sha256(dumps(instance).encode()).hexdigest()


def settings(options: Options | None) -> dict[str, Any]:
    """What of a solve's options its result depends on, as plain values."""
    if options is None:
        return {}
    named = {f.name: getattr(options, f.name) for f in fields(options)}
    return {name: value for name, value in named.items() if name not in _NOT_CONTENT}


def plan(grids: Sequence[StudyGrid]) -> Plan:
    """Look up every name, option, range and file; nothing has run afterwards.

    Raises:
        InputError: naming every field refused, as ``grid[0].heuristics[1]``.
    """
    whole = Plan()
    problems: list[FieldProblem] = []
    for number, grid in enumerate(grids):
        try:
            _add(whole, number, grid)
        except InputError as error:
            place = f"grid[{number}]." if len(grids) > 1 else ""
            problems += [FieldProblem(place + p.field, p.value, p.allowed) for p in error.problems]
    if problems:
        raise InputError(problems)
    return whole


def _add(whole: Plan, number: int, grid: StudyGrid) -> None:
    problem, seeds = found(grid.problem), listed(grid.seeds)
    asked_for = problem.heuristics if grid.heuristics is None else grid.heuristics
    problem, heuristics = with_heuristics(problem, list(asked_for))
    if problem is not found(grid.problem):
        grid = replace(grid, problem=problem)
    given = [problem.reference] if grid.exact is None else grid.exact
    solves = [Exact(one) if isinstance(one, str) else one for one in given]
    reference = grid.reference or (solves[0].formulation if solves else "")
    problems = [
        *_refused("heuristics", heuristics, problem.heuristic),
        *_refused("bounds", grid.bounds, lambda name: pick(problem.bounds, name, "bound")),
        *_refused("exact", solves, lambda one: _check_exact(problem, one, heuristics)),
        *_refused("exact", [solves], _check_labels),
    ]
    if not heuristics and not solves and not grid.bounds:
        allowed = "one or more of " + ", ".join(problem.heuristics)
        problems.append(FieldProblem("heuristics", [], allowed))
    if solves and reference not in [one.formulation for one in solves]:
        allowed = "one of " + ", ".join(one.formulation for one in solves)
        problems.append(FieldProblem("reference", reference, allowed))
    try:
        recipes = list(_recipes(grid, problem, seeds))
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    methods = [
        (text, MethodSpec("heuristic", text, options=grid.heuristic_limits)) for text in heuristics
    ]
    methods += [(text, MethodSpec("bound", text)) for text in dict.fromkeys(grid.bounds)]
    methods += [
        (one.label, MethodSpec("exact", one.formulation, one.solver, one.options, tuple(one.start)))
        for one in solves
    ]
    asked = [
        (label, Asked(problem.name, method, method_versions(problem, method)))
        for label, method in methods
    ]
    for one, (label, solve) in zip(solves, asked[len(asked) - len(solves) :], strict=True):
        if one.prove:
            proof = MethodSpec("proof", one.formulation, options=Options(time_limit=one.prove))
            versions = method_versions(problem, proof)
            asked.append((label, Asked(problem.name, proof, versions, of=solve)))
    chosen = [one.label for one in solves if one.formulation == reference]
    comparison = ComparisonSpec.of(problem, heuristics, grid.bounds, reference, chosen)
    steps = [
        Step(
            one.method.kind,
            label,
            one.key,
            one.seeded,
        )
        for label, one in asked
    ]
    options = list(grid.generator or ())
    whole.layouts.append(Layout(problem.name, problem.unit, options, comparison, steps))
    whole.methods.update({one.key: one for _, one in asked})
    whole.recipes.update({recipe.key: recipe for recipe in recipes})
    for i, recipe in enumerate(recipes):  # all seeds of a cell or an instance, then the next one
        look_ahead = i % len(seeds) % FORESIGHT_EVERY == 0
        case = PlannedInstance(
            number, recipe.key, recipe.name, recipe.seed, recipe.cell, look_ahead
        )
        whole.cases.append(case)


def _refused(field_name: str, given: Sequence[T], check: Callable[[T], Any]) -> list[FieldProblem]:
    """What a check says of each entry of a list, under the entry's place in the list."""
    problems: list[FieldProblem] = []
    for number, entry in enumerate(given):
        try:
            check(entry)
        except InputError as error:
            place = f"{field_name}[{number}]"
            problems += [FieldProblem(place, p.value, p.allowed) for p in error.problems]
    return problems


def _check_exact(problem: Problem, one: Exact, heuristics: Sequence[str]) -> None:
    check_exact(problem, one.formulation, one.solver, one.options, one.start or None)
    for text in one.start:
        if text not in heuristics:
            raise InputError.of("start", text, "one of the grid's " + ", ".join(heuristics))


def _check_labels(solves: Sequence[Exact]) -> None:
    labels = [one.label for one in solves]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError.of("name", label, "given once: set a name to tell two solves apart")


def listed(seeds: Iterable[int] | int) -> list[int]:
    """Seeds one by one; a number of them stands for 0, 1, 2 and so on."""
    return list(range(seeds) if isinstance(seeds, int) else seeds)


def _recipes(grid: StudyGrid, problem: Problem, seeds: Sequence[int]) -> Iterator[Recipe]:
    versions = generator_versions(problem)
    if grid.generator is not None or not (grid.files or grid.instances):
        for cell in _cells(problem, grid.generator or {}):
            for seed in seeds:
                name = ",".join(f"{key}={value}" for key, value in {**cell, "seed": seed}.items())
                yield Recipe(grid.problem, name, seed, cell, Path.cwd(), versions=versions)
    files = {str(path): load(problem.instance_type, path) for path in grid.files}
    for name, instance in [*files.items(), *grid.instances.items()]:
        text = dumps(instance)
        for seed in seeds:
            yield Recipe(grid.problem, name, seed, text=text, versions=versions)


def _cells(problem: Problem, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    combinations = itertools.product(*grid.values())
    return [problem.generator_call(dict(zip(grid, values, strict=True))) for values in combinations]
