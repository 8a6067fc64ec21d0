"""Calls of the previous version, by means of their replacements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optsched.evaluation.ratios import Row
from optsched.problem import Problem
from optsched.study.pace import StudyProgress
from optsched.study.ratios import Algorithm, ratios
from optsched.study.reading import Ratios


def measure(
    problem: Problem,
    instance: Any,
    heuristics: Sequence[Algorithm],
    *,
    seed: int = 0,
    name: str = "",
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> list[Row]:
    """Measure heuristics on one instance, as ``optsched.ratios`` does."""
    given = {name or "instance": instance}
    rows = ratios(problem, heuristics, instances=given, seeds=[seed], **settings).rows
    return [
        replace(row, instance=name, parameters={**(parameters or {}), **row.parameters})
        for row in rows
    ]


def ratio_study(
    problem: str | Problem,
    grid: Mapping[str, Sequence[Any]],
    heuristics: Sequence[Algorithm],
    *,
    progress: Callable[[int, int, Sequence[Row]], None] | None = None,
    **settings: Any,
) -> Ratios:
    """Measure heuristics on generated instances, as ``optsched.ratios`` does.

    ``progress`` is told how many runs are there and planned, and of no rows.
    """

    def tell(step: StudyProgress) -> None:
        if progress is not None:
            progress(step.finished, step.planned, [])

    return ratios(problem, heuristics, grid=grid, progress=tell, **settings)
