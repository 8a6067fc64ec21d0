"""Read the results of a study from its store, also while it is running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.errors import InputError
from optsched.evaluation.ratios import Row, ratio_rows
from optsched.evaluation.runs import MethodKind, MethodRun
from optsched.instances.document import write_text
from optsched.model.words import aligned
from optsched.problem import Problem
from optsched.solvers.solution import FAILED, Status
from optsched.study.layout import Layout, Made, Place, PlannedInstance, RunKey
from optsched.study.pace import Pace, StudyProgress
from optsched.study.plan import Plan, found
from optsched.study.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from optsched.report.plots import Picture

_SHOWN = (
    *("status", "cost", "bound", "offline", "seconds", "compile_seconds"),
    *("interpreted_seconds", "solver", "limit", "nodes", "message"),
)
"""What a table says of a run."""


@dataclass(frozen=True)
class StepSummary:
    """How a method of a grid has fared."""

    grid: int
    problem: str
    kind: MethodKind
    method: str
    planned: int
    finished: int
    statuses: Mapping[Status, int]
    """Runs by how they ended."""
    seconds: float | None
    """Mean wall time of the method; None before its first run."""
    complaint: str
    """What the first run that failed says."""


@dataclass(frozen=True)
class Ratios:
    """The results of a study: ratios of heuristics to the optimum, and every run.

    A notebook shows the summary and a picture; ``print`` shows the summary.

    Example:
        >>> import optsched as osd
        >>> grid = {"jobs": [3, 4], "servers": 2}
        >>> found = osd.ratios("batch", ["a_online", "fifo"], grid=grid, seeds=2)
        >>> len(found.rows), found.planned, found.interrupted
        (8, 4, False)
        >>> found.summary(by=["heuristic", "jobs"])["measured"].tolist()
        [2, 2, 2, 2]
        >>> found.pairs()[["first", "second", "instances"]].to_numpy().tolist()
        [['a_online', 'fifo', 4]]
    """

    layouts: list[Layout]
    cases: list[PlannedInstance]
    instances: Mapping[str, Made]
    """By recipe."""
    runs: Mapping[RunKey, MethodRun]
    progress: StudyProgress
    damage: str = ""
    """Why the first unreadable line of the store could not be read; empty if all could."""
    source: Path | bytes = field(default=b"", compare=False)
    """The store: its file, or its content if it was in memory."""
    plan: Plan | None = field(default=None, compare=False)
    """How the instances are made, if this process planned the study."""

    @classmethod
    def of(cls, store: Store, plan: Plan | None = None) -> Ratios:
        """Read the results of a study from its store; schedules are read on demand.

        Args:
            store: of the study.
            plan: of the study, if this process made it.

        Raises:
            StoreLostError: the plan cannot be read.
        """
        with store.one_moment():
            layouts, cases = store.layouts(), store.cases()
            instances, runs = store.instances(), store.runs()
            pace = Pace(layouts, cases, store.took(), store.workers())
        for case in cases:
            there = runs_of(layouts[case.grid], case, instances, runs)
            for step in layouts[case.grid].steps:
                if step.place in there:
                    pace.finish(step.key)
        told = pace.progress()
        return cls(layouts, cases, instances, runs, told, store.damage, store.source(), plan)

    @cached_property
    def rows(self) -> list[Row]:
        """The ratios known so far: those of instances whose bounds and optimum are there."""
        return [row for grid in range(len(self.layouts)) for row in self.rows_of_grid(grid)]

    def rows_of_grid(self, grid: int) -> list[Row]:
        """Return the ratios of one grid."""
        return [row for case in self.cases if case.grid == grid for row in self.rows_of_case(case)]

    def problem(self, grid: int) -> Problem:
        """Return the problem of a grid, with the heuristics that the study was given.

        Raises:
            InputError: it is not installed here.
        """
        if self.plan is not None:
            for case in self.cases:
                if case.grid == grid and case.recipe in self.plan.recipes:
                    return found(self.plan.recipes[case.recipe].problem)
        return found(self.layouts[grid].problem)

    def rows_of_case(self, case: PlannedInstance) -> list[Row]:
        """Return the ratios of one instance."""
        return rows_of(self.layouts[case.grid], case, self.runs_of(case))

    def runs_of(self, case: PlannedInstance) -> dict[Place, MethodRun]:
        """Return the finished runs of one instance."""
        return runs_of(self.layouts[case.grid], case, self.instances, self.runs)

    @property
    def planned(self) -> int:
        """The number of instances, including those not measured yet."""
        return len(self.cases)

    @cached_property
    def finished(self) -> int:
        """How many instances have all their runs."""
        steps = [len(layout.steps) for layout in self.layouts]
        return sum(len(self.runs_of(case)) == steps[case.grid] for case in self.cases)

    @property
    def interrupted(self) -> bool:
        """Whether runs are missing."""
        return self.finished < self.planned

    def table(self) -> pd.DataFrame:
        """Return a table with one line per heuristic and instance."""
        from optsched.evaluation.tables import frame  # pandas takes long to import

        return frame(self.rows)

    def summary(self, by: Sequence[str] | None = None) -> pd.DataFrame:
        """Return mean and largest ratio per group: see ``optsched.evaluation.tables.summarise``.

        Args:
            by: columns that make the groups; None: the heuristic, and the problem if there are
                several.

        Raises:
            InputError: a column that is not there.
        """
        from optsched.evaluation.tables import summarise

        return summarise(*self._grouped(self._several("heuristic") if by is None else by))

    def violations(self) -> list[str]:
        """Every guarantee that is violated, in a line: see ``optsched.evaluation.guarantees``."""
        from optsched.evaluation.guarantees import violations
        from optsched.evaluation.tables import frame

        return [
            line
            for number, layout in enumerate(self.layouts)
            if layout.comparison is not None
            for line in violations(frame(self.rows_of_grid(number)), layout.comparison.guarantees)
        ]

    def pairs(self, by: Sequence[str] | None = None) -> pd.DataFrame:
        """Compare pairs of heuristics per instance: see ``optsched.evaluation.comparison``.

        Args:
            by: columns that make groups of instances; None: the problem if there are several.

        Raises:
            InputError: a column that is not there.
        """
        from optsched.evaluation.comparison import compare

        return compare(*self._grouped(self._several() if by is None else by))

    def _several(self, *columns: str) -> list[str]:
        """The columns, after the problem if there are several."""
        return [*(["problem"] if len({one.problem for one in self.layouts}) > 1 else []), *columns]

    def _grouped(self, by: Sequence[str]) -> tuple[pd.DataFrame, Sequence[str]]:
        table = self.table()
        for name in by:
            _check_column(table, "by", name)
        return table, by

    def plot(
        self,
        y: str = "ratio",
        x: str | None = None,
        by: str = "heuristic",
        path: str | Path | None = None,
    ) -> Picture:
        """Draw the mean of ratios, or of another quantity, with its interval.

        Args:
            y: "ratio", "cost", "seconds" (of the heuristic) or "measure_NAME".
            x: option of the generator or of a heuristic, "seed" or "instance". If it is a number,
                lines join the means. None: a row per group.
            by: what makes the groups: "heuristic" (without its option ``x``), or as ``x``.
            path: file to write (png, pdf, svg); None: none.

        Raises:
            InputError: the table has no such column, or no value of ``y``.
        """
        from optsched.report.study_plots import plot

        return plot(self.table(), y=y, x=x, by=by, path=path)

    def to_csv(self, path: str | Path) -> None:
        """Write the table.

        Raises:
            InputError: the path does not end in ".csv".
        """
        if Path(path).suffix != ".csv":
            raise InputError.of("path", str(path), "a file ending in .csv")
        from optsched.study.export import write

        write(self.table(), Path(path))

    def to_html(self, path: str | Path, title: str = "") -> None:
        """Write one HTML page: tables, pictures, and the schedules with the largest ratios.

        Args:
            path: of the page.
            title: of the page; empty: the problems' names.
        """
        from optsched.study.page import study_page

        problems = ", ".join(dict.fromkeys(layout.problem for layout in self.layouts))
        with Store.reopened(self.source) as store:
            text = study_page(self, store, title or f"Ratios: {problems}")
        write_text(path, text)

    def __repr__(self) -> str:
        done = f"{self.finished} of {self.planned} instances"
        if not self.rows:
            return done
        from optsched.evaluation.tables import GUARANTEES, guarantee_lines
        from optsched.study.view import summary_cells

        by = self._several("heuristic")
        summary = self.summary()
        head, lines = summary_cells(summary, by)
        shown = aligned([head, *lines], range(len(by), len(head)))
        if stated := guarantee_lines(summary, by):
            head = [*by, *GUARANTEES]
            shown += ["", *aligned([head, *stated], range(len(by) + 1, len(head)))]
        return "\n".join([done, *shown, *self.violations()])

    def _repr_html_(self) -> str:
        """Of each grid a summary and a picture, for notebooks."""
        from optsched.study.view import ratios_html

        told = self.progress
        parts = [f"<p>{told.finished} of {told.planned} runs have their result.</p>"]
        for number, layout in enumerate(self.layouts):
            rows = self.rows_of_grid(number)
            if rows:
                stated = layout.comparison.guarantees if layout.comparison else {}
                parts.append(ratios_html(rows, layout.options, stated))
        return "".join(parts)

    def runs_table(self) -> pd.DataFrame:
        """Return a table with one line per run, of every kind."""
        import pandas as pd

        lines = [
            {
                "problem": self.layouts[case.grid].problem,
                "instance": case.name,
                "seed": case.seed,
                "kind": kind,
                "method": label,
                **{name: getattr(run, name) for name in _SHOWN},
                **case.cell,
                **{f"measure_{name}": value for name, value in run.measures.items()},
            }
            for case in self.cases
            for (kind, label), run in self.runs_of(case).items()
        ]
        return pd.DataFrame(lines)

    def failures(self, store: Store) -> list[dict[str, Any]]:
        """Return every run that failed, with the traceback if it raised an error."""
        failed: list[dict[str, Any]] = []
        for case in self.cases:
            there = self.runs_of(case)
            digest = self.instances[case.recipe].digest if there else ""
            for step in self.layouts[case.grid].steps:
                run = there.get(step.place)
                if run is None or run.status not in FAILED:
                    continue
                trace = store.trace(step.run(digest, case.seed))
                where = {"problem": self.layouts[case.grid].problem, "instance": case.name}
                how = {"status": run.status, "message": run.message, "trace": trace}
                named: dict[str, Any] = {"seed": case.seed, "kind": step.kind, "method": step.label}
                failed.append({**where, **named, **how})
        return failed

    def steps(self) -> list[StepSummary]:
        """Return the progress of every method, in the order of the study."""
        summaries = []
        for number, layout in enumerate(self.layouts):
            cases = [case for case in self.cases if case.grid == number]
            there: dict[Place, list[MethodRun]] = {step.place: [] for step in layout.steps}
            for case in cases:
                for place, run in self.runs_of(case).items():
                    there[place].append(run)
            for (kind, label), runs in there.items():
                mean = sum(run.seconds for run in runs) / len(runs) if runs else None
                ends = dict(Counter(run.status for run in runs))
                told = [run.message for run in runs if run.status in FAILED and run.message]
                summaries.append(
                    StepSummary(
                        *(number, layout.problem, kind, label, len(cases), len(runs)),
                        *(ends, mean, told[0] if told else ""),
                    )
                )
        return summaries


def _check_column(table: pd.DataFrame, field_name: str, column: str) -> None:
    if column not in table:
        raise InputError.of(field_name, column, "one of " + ", ".join(table.columns))


def runs_of(
    layout: Layout,
    case: PlannedInstance,
    instances: Mapping[str, Made],
    runs: Mapping[RunKey, MethodRun],
) -> dict[Place, MethodRun]:
    """The runs of a case that are there; on an instance that cannot be made, all have failed."""
    made = instances.get(case.recipe)
    if made is None:
        return {}
    if not made.digest:
        failed = MethodRun(Status.ERROR, message=made.message)
        return dict.fromkeys((step.place for step in layout.steps), failed)
    keys = {step.place: step.run(made.digest, case.seed) for step in layout.steps}
    return {place: runs[key] for place, key in keys.items() if key in runs}


def rows_of(layout: Layout, case: PlannedInstance, runs: Mapping[Place, MethodRun]) -> list[Row]:
    """The ratios of a case by the runs that are there; none before its bounds and optimum are."""
    comparison = layout.comparison
    if comparison is None or any(place not in runs for place in comparison.needed()):
        return []
    return ratio_rows(comparison, runs, seed=case.seed, name=case.name, parameters=case.cell)
