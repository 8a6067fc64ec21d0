"""Sweeps: a measurement on many instances, planned, run and stored like any other study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from optsched.evaluation.code_digest import code_versions
from optsched.evaluation.runs import MethodSpec
from optsched.study.layout import Layout, PlannedInstance, Step
from optsched.study.plan import Asked, Plan, fingerprint

if TYPE_CHECKING:
    import pandas as pd

Scale = Literal["quick", "full"]

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Sweep:
    """An experiment on many instances, each measured by itself: in parallel, and kept one by one.

    An instance that cannot be measured costs the others nothing. Called with a scale, a sweep
    measures all instances here and now.
    """

    name: str
    """Unique among the sweeps of a package."""
    tasks: Callable[[Scale], Sequence[Mapping[str, Any]]]
    """Scale -> the arguments of ``observe``, numbers and texts, one mapping per instance."""
    observe: Callable[..., Rows]
    """Arguments -> rows of numbers and texts; a function of a module, for other processes."""
    overview: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """Measurements -> a table of them by setting, for people."""

    def __call__(self, scale: Scale) -> pd.DataFrame:
        """One line per row: the arguments and what was measured."""
        return self.frame([(task, self.observe(**task)) for task in self.tasks(scale)])

    @staticmethod
    def frame(measured: Sequence[tuple[Mapping[str, Any], Rows]]) -> pd.DataFrame:
        """Tasks and their rows as one table."""
        import pandas as pd

        return pd.DataFrame([{**task, **row} for task, rows in measured for row in rows])


def add_sweep(plan: Plan, problem: str, sweep: Sweep, scale: Scale) -> Step:
    """Put every instance of a sweep into a plan, as a grid of its own, whose step is returned.

    Raises:
        Exception: whatever saying the tasks raises; the plan is then as it was.
    """
    tasks = list(sweep.tasks(scale))
    versions = code_versions([sweep.observe])
    asked = Asked(problem, MethodSpec("sweep", sweep.name), versions, sweep.observe)
    step = Step("sweep", sweep.name, asked.key, seeded=False)
    names = list(dict.fromkeys(name for task in tasks for name in task))
    number = len(plan.layouts)
    plan.layouts.append(Layout(problem, "", names, None, [step]))
    plan.methods[asked.key] = asked
    plan.cases.extend(case_of(problem, task, number) for task in tasks)
    return step


def case_of(problem: str, task: Mapping[str, Any], grid: int) -> PlannedInstance:
    """A task of a sweep as an instance of the grid of that number."""
    recipe = fingerprint([problem, dict(task)])
    name = ",".join(f"{key}={value}" for key, value in task.items())
    return PlannedInstance(grid, recipe, name, 0, task, given=True)
