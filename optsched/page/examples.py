"""Runs worth looking at: the instance, the heuristic's schedule and the best one known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from optsched.problem import Problem
from optsched.solvers import Options
from optsched.trial import attempt, instance_rng


@dataclass(frozen=True)
class Example:
    """Schedules of one instance, to be drawn side by side."""

    title: str
    instance: Any
    schedules: Mapping[str, Any]
    """By what made them."""


def worst_run(
    problem: Problem, table: pd.DataFrame, *, time_limit: float | None = 20.0
) -> Example | None:
    """The instance on which the first heuristic of a table does worst, solved again.

    An instance is made from its seed and the generator's options, which are columns of the table.

    Args:
        problem: that of the rows.
        table: rows of ratios of generated instances, from ``optsched.report.frame``.
        time_limit: wall seconds for the reference formulation.

    Returns:
        None where no row has a ratio, or no schedule can be made again.
    """
    rows = table.dropna(subset=["ratio_high"])
    if rows.empty:
        return None
    first = rows["heuristic"].iloc[0]
    row = rows.loc[rows.loc[rows["heuristic"] == first, "ratio_high"].astype(float).idxmax()]
    options = {
        name: row[column]
        for name in problem.generator_options.model_fields
        for column in (f"option_{name}", name)
        if column in row.index and not _missing(row[column])
    }
    instance = problem.generate(instance_rng(int(row["seed"])), **problem.generator_call(options))
    trial = attempt(problem, instance, str(first), int(row["seed"]))
    answer = problem.solve(
        str(row["reference"] or problem.reference), instance, options=Options(time_limit=time_limit)
    )
    schedules = {}
    if trial.schedule is not None and trial.cost is not None:
        schedules[f"{first}: {trial.cost:g} {problem.unit}"] = trial.schedule
    if answer.schedule is not None:
        word = "optimum" if answer.solution.status == "optimal" else "best known"
        cost = problem.cost(instance, answer.schedule)
        schedules[f"{word}: {cost:g} {problem.unit}"] = answer.schedule
    title = f"{row['instance']}, the worst ratio of {first}: {float(row['ratio_high']):.3f}"
    return Example(title, instance, schedules) if schedules else None


def _missing(value: Any) -> bool:
    return not isinstance(value, list | tuple) and bool(pd.isna(value))
