"""Heuristics against the optimum on generated instances, held in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optsched.errors import InputError
from optsched.evaluation.heuristic_run import with_heuristics
from optsched.evaluation.ratios import Row
from optsched.evaluation.runs import check_names, starts
from optsched.parallel.local import Processes, Serial
from optsched.problem import Heuristic, Problem
from optsched.solvers.options import Options
from optsched.study.distinct import plan_of_distinct
from optsched.study.engine import Engine
from optsched.study.plan import Exact, StudyGrid, found
from optsched.study.store import Store


@dataclass(frozen=True)
class RatioStudy:
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

    def _repr_html_(self) -> str:
        """A summary and a picture, for notebooks."""
        from optsched.study.view import ratios_html

        return ratios_html(self.rows)


def ratio_study(
    problem: str | Problem,
    grid: Mapping[str, Sequence[Any]],
    heuristics: Sequence[str | Heuristic | Callable[..., Any]],
    *,
    seeds: Iterable[int] | int = range(1),
    reference: str | None = None,
    solver: str | None = None,
    options: Options | None = None,
    bounds: Sequence[str] = (),
    prove: float = 0.0,
    heuristic_limits: Options | None = None,
    workers: int = 1,
    progress: Callable[[int, int, Sequence[Row]], None] | None = None,
) -> RatioStudy:
    """Measure heuristics on generated instances: every combination of the grid, every seed.

    Instances are made from their seed alone, so the rows depend neither on the number of
    processes nor on the rest of the grid. An interrupt (Ctrl-C) ends the study with the rows of
    the instances that are finished. A study that may take hours belongs into a file that survives
    an end at any moment: :mod:`optsched.study`, on whose engine this one runs.

    Args:
        problem: its name, or the problem itself.
        grid: values by generator option.
        heuristics: names with options, ``"a_online(epsilon=0.5)"``; heuristics; functions
            (instance, rng) -> schedule.
        seeds: one instance each, in every cell of the grid; or their number.
        reference: formulation ratios refer to; None: the problem's reference.
        solver: back end; None: the formulation's own.
        options: limits of the reference formulation, per instance.
        bounds: further bounds; the best one counts, and each has columns of its own.
        prove: seconds a proof of each optimum in exact arithmetic may take; 0: none.
        heuristic_limits: of each heuristic's run; see ``optsched.evaluation.heuristic_run``.
        workers: processes; 1 stays in this one.
        progress: called with (instances finished, instances planned, their new rows).

    Raises:
        InputError: a name, an option or a value that is not known, or an instance that is there
            twice; nothing has run yet.
    """
    chosen, names = with_heuristics(found(problem), heuristics)
    given = problem if chosen is found(problem) else chosen
    reference = reference or chosen.reference
    check_names(chosen, names, reference, solver, bounds, options)
    if workers < 1:
        raise InputError.of("workers", workers, "an integer >= 1")
    start = starts(chosen, reference, names)
    exact = Exact(reference, solver, options or Options(), start, prove=prove)
    asked = StudyGrid(
        given, grid, (), seeds, names, [exact], bounds, heuristic_limits=heuristic_limits
    )
    planned = plan_of_distinct([asked])
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
    return RatioStudy(ordered, len(planned.cases), len(rows))
