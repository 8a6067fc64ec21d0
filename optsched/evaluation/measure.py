"""How far from optimal a schedule is, as an interval that is true.

When minimising, the ratio is cost / optimum; when maximising, optimum / cost: 1 is perfect, and
more is worse. Where the optimum is not proven, the ratio lies between the one against the best
known schedule and the one against the best proven bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optsched.errors import InputError
from optsched.evaluation.ratios import FIELDS, ComparisonSpec, Row, best_start, ratio, ratio_rows
from optsched.evaluation.runs import (
    InstanceRunner,
    MethodKind,
    MethodRun,
    MethodSpec,
    check_names,
    check_solver,
    starts,
)
from optsched.parallel import Processes, Serial
from optsched.problem import Problem
from optsched.problem import problem as find_problem
from optsched.solvers.options import Options
from optsched.study.engine import Engine
from optsched.study.plan import Exact, StudyGrid, plan
from optsched.study.store import Store

__all__ = ["FIELDS", "Row", "Study", "check_names", "check_solver", "measure", "ratio", "study"]


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
    check_names(problem, heuristics, reference, solver, bounds, options)
    useful = starts(problem, reference, heuristics)
    exact = MethodSpec("exact", reference, solver, options, useful)
    runner = InstanceRunner(problem, instance, seed)
    runs: dict[tuple[MethodKind, str], MethodRun] = {}
    for text in heuristics:
        runs["heuristic", text] = runner.run(MethodSpec("heuristic", text))
    for text in bounds:
        runs["bound", text] = runner.run(MethodSpec("bound", text))
    start = best_start(problem.sense, {text: runs["heuristic", text] for text in useful})
    runs["exact", reference] = runner.run(exact, start)
    comparison = ComparisonSpec.of(problem, heuristics, bounds, reference, [reference])
    return ratio_rows(comparison, runs, seed=seed, name=name, parameters=parameters or {})


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

    Instances are made from their seed alone, so the rows depend neither on the number of
    processes nor on the rest of the grid. An interrupt (Ctrl-C) ends the study with the rows of
    the instances that are finished. A study that may take hours belongs into a file that survives
    an end at any moment: :mod:`optsched.study`, on whose engine this one runs.

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
    check_names(chosen, heuristics, reference, solver, bounds, options)
    if workers < 1:
        raise InputError.of("workers", workers, "an integer >= 1")
    exact = Exact(reference, solver, options or Options(), starts(chosen, reference, heuristics))
    planned = plan([StudyGrid(problem, grid, (), seeds, heuristics, [exact], bounds)])
    rows: dict[int, list[Row]] = {}
    try:
        with Store.in_memory() as store:
            engine = Engine(planned, store, Serial() if workers == 1 else Processes(workers))
            for case in engine.finished_instances():
                rows[case.number] = case.rows
                if progress is not None:
                    progress(len(rows), len(planned.cases), case.rows)
    except KeyboardInterrupt:
        pass  # the rows that are there are the answer, and say that they are not all
    ordered = [row for _, finished in sorted(rows.items()) for row in finished]
    return Study(ordered, len(planned.cases), len(rows))
