"""What a store says of its study, whether or not the study is still running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.evaluation.ratios import Row, ratio_rows
from optsched.evaluation.runs import MethodKind, MethodRun
from optsched.solvers.solution import FAILED, Status
from optsched.study.layout import Layout, Made, Place, PlannedInstance, RunKey
from optsched.study.pace import Pace, StudyProgress
from optsched.study.store import Store

if TYPE_CHECKING:
    import pandas as pd

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
class Results:
    """A study as its store holds it at one moment."""

    layouts: list[Layout]
    cases: list[PlannedInstance]
    instances: Mapping[str, Made]
    """By recipe."""
    runs: Mapping[RunKey, MethodRun]
    progress: StudyProgress
    damage: str = ""
    """What is wrong with the first line of the store that could not be read, if any could not."""

    @classmethod
    def of(cls, store: Store) -> Results:
        """Read everything the study's plan asks for; schedules stay where they are.

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
        return cls(layouts, cases, instances, runs, pace.progress(), store.damage)

    @cached_property
    def rows(self) -> list[Row]:
        """The ratios known so far: those of instances whose bounds and optimum are there."""
        return [row for grid in range(len(self.layouts)) for row in self.rows_of_grid(grid)]

    def rows_of_grid(self, grid: int) -> list[Row]:
        """The ratios of one grid."""
        return [
            row
            for case in self.cases
            if case.grid == grid
            for row in rows_of(self.layouts[grid], case, self.runs_of(case))
        ]

    def runs_of(self, case: PlannedInstance) -> dict[Place, MethodRun]:
        """The runs of a case that are there."""
        return runs_of(self.layouts[case.grid], case, self.instances, self.runs)

    def ratios(self) -> pd.DataFrame:
        """One line per heuristic and instance, as ``optsched ratio`` writes them."""
        from optsched.evaluation.tables import frame  # pandas takes long to import

        return frame(self.rows)

    def write(self, path: str | Path) -> None:
        """Write the ratios as CSV or Parquet, by the path's ending.

        Raises:
            InputError: another ending, or the extra that Parquet needs is not installed.
        """
        from optsched.study.export import write

        write(self.ratios(), Path(path))

    def _repr_html_(self) -> str:
        """Of each grid a summary and a picture, for notebooks."""
        from optsched.study.view import ratios_html

        told = self.progress
        parts = [f"<p>{told.finished} of {told.planned} runs have their result.</p>"]
        for number, layout in enumerate(self.layouts):
            rows = self.rows_of_grid(number)
            if rows:
                parts.append(ratios_html(rows, layout.options))
        return "".join(parts)

    def runs_table(self) -> pd.DataFrame:
        """One line per run, of whatever kind."""
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
        """Every run that failed, with the traceback of what it raised, where it raised anything."""
        found = []
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
                found.append({**where, **named, **how})
        return found

    def steps(self) -> list[StepSummary]:
        """How every method has fared, in the order of the study."""
        summaries = []
        for number, layout in enumerate(self.layouts):
            cases = [case for case in self.cases if case.grid == number]
            found: dict[Place, list[MethodRun]] = {step.place: [] for step in layout.steps}
            for case in cases:
                for place, run in self.runs_of(case).items():
                    found[place].append(run)
            for (kind, label), runs in found.items():
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
