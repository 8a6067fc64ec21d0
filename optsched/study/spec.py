"""Studies written as TOML.

A study is a title, limits of its solves, and one or more grids::

    title = "Small edge-clouds"

    [limits]                          # of every solve; any of them may be left out
    time_limit = 20                   # wall seconds; without it solves run to proof
    memory_limit = 4                  # GiB; each solver then gets a process of its own
    gap = 0.0                         # relative gap to stop at; also absolute_gap, threads, seed,
                                      # prove = 20: seconds to prove an optimum in exact arithmetic
                                      # isolate, extra = { options in the solver's own names }

    [heuristic_limits]                # of every run of a heuristic, in a process of its own; left
    time_limit = 60                   # out: none. One that hangs, crashes or takes too much memory
    memory_limit = 4                  # is ended, and its row says so

    [[grid]]                          # every method on every instance of one problem
    problem = "preemptive"
    generator = { jobs = [5, 10], servers = 5 }    # lists span the grid; see optsched problems
    seeds = 5                         # per cell: 5 instances, seeds 0 to 4; or a list of seeds
    heuristics = ["a_online", "a_online(epsilon=0.5)"]    # left out: all there are
    bounds = ["lb_paper"]             # further bounds
    exact = [                         # left out: the problem's reference
        "problem_2_compact",
        { formulation = "problem_2_compact", solver = "cpsat", start = ["a_online"] },
        { formulation = "problem_2", time_limit = 5, name = "as printed" },
    ]
    reference = "problem_2_compact"   # what ratios refer to; left out: the first exact method

    [[grid]]
    problem = "preemptive"
    files = ["instances/*.json"]      # instance files instead of a generator, or beside it

    [[grid]]
    problem = "preemptive"
    preset = "quick"                  # a study listed by optsched problems; other fields change it
    limits.time_limit = 5             # of the solves of this grid

Further fields: ``keep = "exact"`` (default), ``"all"`` or ``"none"`` says whose schedules are kept.
An option of the generator whose value is a list is written as a list of lists. Paths are relative
to the file.

A problem's own studies are such a file, each a grid with a ``name``, perhaps a ``summary``, and
``x``, the option that pictures have on their horizontal axis if it is not the first that varies.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from optsched.errors import FieldProblem, InputError
from optsched.evaluation.heuristic_run import heuristic_limits
from optsched.instances.document import Document, refusal
from optsched.problem import Problem
from optsched.problem.calls import pick
from optsched.solvers.options import Options
from optsched.study.distinct import repeated
from optsched.study.engine import Keep
from optsched.study.plan import Exact, StudyGrid, found


class LimitsDocument(Document):
    """Limits and tolerances of a solve."""

    time_limit: float | None = Field(None, gt=0, description="wall seconds")
    gap: float = Field(0.0, ge=0, description="relative gap to stop at")
    absolute_gap: float = Field(0.0, ge=0, description="absolute gap to stop at, in cost units")
    threads: int = Field(1, ge=1, description="threads of the solver")
    seed: int = Field(0, ge=0, lt=2**31, description="seed of the solver")
    prove: float = Field(0.0, ge=0, description="seconds to prove the optimum; 0: no proof")
    isolate: bool = Field(False, description="a process of its own for every solve")
    memory_limit: float | None = Field(None, gt=0, description="memory of that process, GiB")
    extra: dict[str, Any] = Field({}, description="options under the solver's own names")


class HeuristicLimitsDocument(Document):
    """Limits of a heuristic's run, which then gets a process of its own."""

    time_limit: float | None = Field(None, gt=0, description="wall seconds")
    memory_limit: float | None = Field(None, gt=0, description="GiB")


class ExactDocument(LimitsDocument):
    """An exact method; limits given here win over the study's."""

    formulation: str = Field(description="name and build options")
    solver: str | None = Field(None, description="back end; left out: the formulation's own")
    start: list[str] = Field([], description="heuristics of the grid to start from")
    name: str = Field("", description="in tables")


def _as_exact(value: Any) -> Any:
    return {"formulation": value} if isinstance(value, str) else value


_MOST_SEEDS = 1_000_000

_SEEDS = f"a number of instances from 1 to {_MOST_SEEDS}, or a list of seeds >= 0"


def _as_seeds(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= _MOST_SEEDS:
            raise ValueError(_SEEDS)
        return list(range(value))
    if not isinstance(value, list | tuple | type(None)):
        raise ValueError(_SEEDS)
    return value


class GridDocument(Document):
    """Every method on every instance of one problem."""

    problem: str = Field(description="as listed by optsched problems")
    name: str = Field("", description="by which a problem's own study is called as a preset")
    summary: str = Field("", description="what a preset is")
    x: str | None = Field(None, description="option on the horizontal axis of a preset's pictures")
    preset: str | None = Field(None, description="a study of the problem's own to begin with")
    generator: dict[str, Any] | None = Field(None, description="values by option; lists span")
    files: list[str] = Field([], min_length=1, description="instance files; * and ** match many")
    seeds: Annotated[
        list[Annotated[int, Field(ge=0, lt=2**63)]] | None,
        BeforeValidator(_as_seeds),
        Field(min_length=1),
    ] = Field(None, description="instances per cell, or a list of seeds")
    heuristics: list[str] | None = Field(None, description="left out: all there are")
    exact: list[Annotated[ExactDocument, BeforeValidator(_as_exact)]] | None = Field(
        None, description="left out: the problem's reference"
    )
    bounds: list[str] | None = Field(None, description="further bounds")
    reference: str | None = Field(None, description="left out: the first exact method")
    limits: LimitsDocument = Field(LimitsDocument(), description="these win over the study's")

    @property
    def cells(self) -> dict[str, list[Any]]:
        """Values by option of the generator."""
        options = self.generator or {}
        return {name: v if isinstance(v, list) else [v] for name, v in options.items()}

    def changed(self, by: GridDocument) -> GridDocument:
        """This grid with every field that another one sets, and single options of its generator."""
        given = {name: getattr(by, name) for name in by.model_fields_set}
        if by.generator is not None:
            given["generator"] = {**(self.generator or {}), **by.generator}
        return self.model_copy(update=given)


class StudyDocument(Document):
    """A study file."""

    title: str = ""
    heuristic_limits: HeuristicLimitsDocument = HeuristicLimitsDocument()
    keep: Keep = Field("exact", description="whose schedules are kept")
    limits: LimitsDocument = LimitsDocument()
    grid: list[GridDocument] = Field(min_length=1)


@dataclass(frozen=True)
class Spec:
    """What a study file says."""

    title: str
    grids: Sequence[StudyGrid]
    keep: Keep


def read(path: str | Path) -> Spec:
    """Read a study file; ``optsched.study.plan.plan`` looks up what it names.

    Raises:
        InputError: the file is missing, is not TOML, or holds a field that is refused.
    """
    path = Path(path)
    return parse(_decoded(path), path.parent)


def read_title(path: str | Path) -> str:
    """The title of a study file, whose instance files need not be there any more.

    Raises:
        InputError: see ``read``.
    """
    return _validated(_decoded(Path(path))).title


def presets(problem: Problem) -> dict[str, GridDocument]:
    """A problem's own studies, by name.

    Raises:
        InputError: their file is missing, is not TOML, or holds a field that is refused.
    """
    if problem.presets is None:
        return {}
    listed = _validated(_decoded(problem.presets)).grid
    return {grid.name: grid for grid in listed if grid.name and grid.problem == problem.name}


def _decoded(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.of("file", str(path), f"cannot be read ({error})") from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, for one
        raise InputError.of("file", str(path), f"is not TOML ({error})") from None


def _validated(data: Any) -> StudyDocument:
    try:
        return StudyDocument.model_validate(data)
    except ValidationError as error:
        raise InputError([_with_names(p) for p in refusal(error).problems]) from None


def parse(data: Any, folder: Path) -> Spec:
    """Read a decoded study file whose paths are relative to ``folder``.

    Raises:
        InputError: naming every field refused.
    """
    document = _validated(data)
    problems: list[FieldProblem] = []
    grids: list[StudyGrid] = []
    for number, grid in enumerate(document.grid):
        try:
            made = _grid(grid, document.limits, folder)
            limits = heuristic_limits(**document.heuristic_limits.model_dump())
            grids.append(replace(made, heuristic_limits=limits))
        except InputError as error:
            place = f"grid[{number}]."
            problems += [FieldProblem(place + p.field, p.value, p.allowed) for p in error.problems]
    if problems:
        raise InputError(problems)
    return Spec(document.title, grids, document.keep)


def _with_names(problem: FieldProblem) -> FieldProblem:
    """Say which fields there are if one is not known."""
    if not problem.allowed.startswith("Extra inputs"):
        return problem
    table, _, name = problem.field.rpartition(".")
    kinds: dict[str, type[Document]] = {
        "": StudyDocument,
        "limits": LimitsDocument,
        "heuristic_limits": HeuristicLimitsDocument,
        "grid": GridDocument,
        "exact": ExactDocument,
    }
    kind = kinds[re.sub(r"\[\d+\]", "", table).rpartition(".")[2]]
    allowed = f"{name} is not a field here; there are " + ", ".join(kind.model_fields)
    return FieldProblem(problem.field, problem.value, allowed)


def _grid(document: GridDocument, limits: LimitsDocument, folder: Path) -> StudyGrid:
    problem = found(document.problem)
    usual: dict[str, Any] = {}
    own = document.limits.model_dump(exclude_unset=True)
    if document.preset is not None:
        preset = pick(presets(problem), document.preset, "preset")
        usual = preset.limits.model_dump(exclude_unset=True)
        document = preset.changed(document)
    usual |= limits.model_dump(exclude_unset=True) | own
    exact = document.exact
    if exact is None:
        exact = [ExactDocument(formulation=problem.reference)]
    made = StudyGrid(
        problem=document.problem,
        generator=None if document.generator is None else document.cells,
        files=_files(document.files, folder),
        seeds=document.seeds or range(1),
        heuristics=document.heuristics,
        exact=[_exact(one, usual) for one in exact],
        bounds=document.bounds or (),
        reference=document.reference,
    )
    if twice := list(repeated(made)):
        raise InputError(twice)
    return made


def _exact(document: ExactDocument, usual: dict[str, Any]) -> Exact:
    own = document.model_dump(exclude_unset=True, include=set(LimitsDocument.model_fields))
    limits = LimitsDocument.model_validate({**usual, **own})
    options = Options(**limits.model_dump(exclude={"prove"}))
    start = tuple(document.start)
    return Exact(document.formulation, document.solver, options, start, document.name, limits.prove)


def _files(patterns: Sequence[str], folder: Path) -> list[Path]:
    paths: list[Path] = []
    for number, pattern in enumerate(patterns):
        matching = sorted(folder.glob(pattern)) if not Path(pattern).is_absolute() else []
        if Path(pattern).is_absolute() and Path(pattern).is_file():
            matching = [Path(pattern)]
        if not matching:
            raise InputError.of(f"files[{number}]", pattern, f"a file in {folder}, or a pattern")
        paths += matching
    return paths
