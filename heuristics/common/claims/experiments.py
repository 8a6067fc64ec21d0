"""Measuring what claims rest on, as a study's plan, and judging them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from heuristics.common.claims.claim import NOTHING, Claim, Finding, Judged, Under, Value
from heuristics.common.claims.interpretations import (
    combinations,
    judge_options,
    measured_by,
    settle,
)
from heuristics.common.measure import Measured, measure_sweeps
from optsched.errors import InputError, words
from optsched.evaluation.runs import UnmeasuredError
from optsched.problem.calls import pick
from optsched.study.pace import StudyProgress
from optsched.study.sweep import Scale, Sweep

Experiment = Callable[[Scale], Any]
"""A function from a scale to measurements, or a ``Sweep``."""


@dataclass(frozen=True)
class Result:
    """What came of an experiment."""

    value: Any = None
    """Its measurements; None where there are none."""
    seconds: float = 0.0
    """Wall seconds of its parts together."""
    reason: str = ""
    """Why there was nothing to measure."""
    error: str = ""
    """What went wrong, in all of it or in parts."""


def claims(problem: str | None = None) -> dict[str, tuple[Claim, ...]]:
    """Every claim that packages announce, by problem.

    Claims that cannot be loaded are left out with a warning, unless asked for by name.

    Raises:
        InputError: no claims under that name, or they cannot be loaded.
    """
    announced = {entry.name: entry for entry in entry_points(group="optsched.claims")}
    if problem is not None:
        return {problem: _load(pick(announced, problem, "problem with claims"))}
    found = {}
    for name, entry in sorted(announced.items()):
        try:
            found[name] = _load(entry)
        except InputError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _load(entry: EntryPoint) -> tuple[Claim, ...]:
    try:
        return tuple(entry.load())
    except Exception as error:
        group = f"entry point {entry.group}"
        raise InputError.of(group, entry.value, f"cannot be loaded ({error!r})") from error


def measure_claims(
    chosen: Mapping[str, Sequence[Claim]],
    scale: Scale,
    *,
    interpretations: bool = False,
    workers: int = 1,
    progress: Callable[[StudyProgress], None] | None = None,
    keep: Path | None = None,
) -> list[Judged]:
    """Run every experiment once, in parallel processes, and judge its claims.

    What an experiment or a judge raises is a finding that says so. For the arguments see
    ``run_experiments``; ``chosen`` is what ``claims`` gives, and what comes back is in its order.
    """
    results = run_experiments(
        chosen,
        scale,
        interpretations=interpretations,
        workers=workers,
        progress=progress,
        keep=keep,
    )
    return judge(chosen, results, scale, interpretations=interpretations)


def run_experiments(
    chosen: Mapping[str, Sequence[Claim]],
    scale: Scale,
    *,
    interpretations: bool = False,
    workers: int = 1,
    progress: Callable[[StudyProgress], None] | None = None,
    keep: Path | None = None,
) -> dict[Experiment, Result]:
    """Run the experiments that claims rest on, once each; the instances of sweeps one by one.

    Args:
        chosen: claims by problem.
        scale: how large the experiments are.
        interpretations: whether under every combination of the claims' interpretations, too.
        workers: processes.
        progress: called at the start and after results.
        keep: store of a study, in which measurements are kept and looked for; what failed is
            measured again. None: nothing is kept.

    Raises:
        InputError: ``keep`` is another kind of file.
    """
    problems = {
        measured_by(claim, combination): name
        for name, of in chosen.items()
        for claim in of
        for combination in combinations(claim.interpretations)[: None if interpretations else 1]
    }
    # those that cannot be split go first
    ordered = sorted(problems, key=lambda experiment: isinstance(experiment, Sweep))
    sweeps = {experiment: _as_sweep(experiment) for experiment in ordered}
    measured = measure_sweeps(
        {sweep: problems[experiment] for experiment, sweep in sweeps.items()},
        scale,
        workers=workers,
        progress=progress,
        keep=keep,
    )
    return {
        experiment: _result(experiment, measured[sweeps[experiment]]) for experiment in problems
    }


def _as_sweep(experiment: Experiment) -> Sweep:
    """An experiment that is none, as one over a single instance."""
    if isinstance(experiment, Sweep):
        return experiment
    name = str(getattr(experiment, "__name__", experiment))
    return Sweep(name, lambda scale: [{"scale": scale}], partial(_single_row, experiment))


def _single_row(experiment: Experiment, scale: Scale) -> list[dict[str, Any]]:
    return [{"value": experiment(scale)}]


def _result(experiment: Experiment, measured: Measured) -> Result:
    """What was measured of an experiment: its table, or a function's single value."""
    value = None
    if measured.tasks:
        alone = not isinstance(experiment, Sweep)
        value = measured.tasks[0][1][0]["value"] if alone else measured.table
    return Result(value, measured.seconds, measured.reason, measured.error)


def judge(
    chosen: Mapping[str, Sequence[Claim]],
    results: Mapping[Experiment, Result],
    scale: Scale = "full",
    *,
    interpretations: bool = False,
) -> list[Judged]:
    """Judge claims by what their experiments measured, in the order of ``chosen``.

    Args:
        chosen: claims by problem.
        results: what ``run_experiments`` gives.
        scale: at which it was measured.
        interpretations: whether it was measured under every combination of interpretations.
    """
    return [
        _judged(name, claim, results, scale, interpretations)
        for name, of in chosen.items()
        for claim in of
    ]


def _judged(
    problem: str,
    claim: Claim,
    results: Mapping[Experiment, Result],
    scale: Scale,
    interpretations: bool,
) -> Judged:
    found = [
        Under(combination, _finding(claim, results[measured_by(claim, combination)], combination))
        for combination in combinations(claim.interpretations)[: None if interpretations else 1]
    ]
    finding = settle(found[0].finding, found)
    if claim.standing is not None and finding.verdict != NOTHING:
        finding = replace(finding, verdict=claim.standing)
    return Judged(problem, claim, finding, scale, tuple(found) if len(found) > 1 else ())


def _finding(claim: Claim, result: Result, combination: Mapping[str, Value]) -> Finding:
    if result.value is None:
        why = result.error or result.reason or "nothing was measured"
        return Finding(NOTHING, note=why, failed=bool(result.error))
    try:
        found = claim.judge(result.value, **judge_options(claim, combination))
    except UnmeasuredError as out_of_reach:
        found = Finding(NOTHING, note=str(out_of_reach))
    except Exception as caught:  # a wrong judge must not hide the other findings
        found = Finding(NOTHING, note=words(caught), failed=True)
    if result.error:
        note = "; ".join(text for text in (found.note, result.error) if text)
        found = replace(found, note=note, failed=True)
    return found
