"""Claims of a paper's evaluation as data, measured on demand, with a verdict on each.

A claim names what the paper prints and how it is measured. Several claims may share one
*experiment*: a function from a scale to what it measured, which is run once. Packages announce
their claims through the entry-point group ``optsched.claims`` (a sequence of :class:`Claim`,
under the problem's name).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal

import pandas as pd

from optsched.parallel import Outcome, run_each, words
from optsched.report import mean_interval

Verdict = Literal["holds", "partly", "fails", "not measured"]
Scale = Literal["quick", "full"]

SLACK = 0.02
"""Shortfall from a printed value that is forgiven, relative to it, and absolute below 1."""

PARTLY = 0.5
"""Share of a printed value that must be reached for "partly"."""


@dataclass(frozen=True)
class Finding:
    """What was measured for a claim."""

    verdict: Verdict
    value: float = math.nan
    """Mean over the instances, in the claim's unit."""
    low: float = math.nan
    """Lower end of the interval; what kind of interval is said by ``note`` where it is not the
    95 % interval of the mean."""
    high: float = math.nan
    instances: int = 0
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A number, or an order, that a paper's evaluation states."""

    name: str
    """Unique in its paper: "figure_9_cost"."""
    source: str
    """Section, figure or table."""
    text: str
    """What is claimed, in a sentence."""
    how: str
    """How it is measured here, and at which sizes."""
    experiment: Callable[[Scale], Any]
    """Scale -> measurements; shared between claims by being the same function."""
    judge: Callable[[Any], Finding]
    """Measurements -> finding."""
    printed: float | None = None
    """The printed number; None where the claim is an order or a trend."""
    unit: str = ""
    """Unit of ``printed`` and of what is measured; "" for a plain ratio."""


@dataclass(frozen=True)
class Judged:
    """A claim with what came of it."""

    problem: str
    claim: Claim
    finding: Finding


def compared(
    values: Sequence[float],
    printed: float,
    *,
    better: Literal["larger", "smaller", "equal"] = "larger",
    slack: float = SLACK,
    note: str = "",
) -> Finding:
    """Judge measured values, one per instance, by their mean against a printed number.

    The claim holds where the mean is at least (at most, as large as) printed, up to the slack.
    A gain, such as +30 % or, where smaller is better, -30 %, holds partly where it goes the same
    way at least ``PARTLY`` as far. Otherwise the claim fails.

    Args:
        values: measured, one per instance; those that are no numbers are left out.
        printed: what the paper states; not 0.
        better: whether the printed number is a floor, a ceiling or a target.
        slack: forgiven, relative to ``printed``, and absolute where that is below 1.
        note: what a reader must know.
    """
    numbers = [float(v) for v in values if math.isfinite(v)]
    if not numbers:
        return Finding("not measured", note=note)
    mean = math.fsum(numbers) / len(numbers)
    low, high = mean_interval(numbers)
    room = slack * max(1.0, abs(printed))
    distance = mean - printed
    miss = {"larger": -distance, "smaller": distance, "equal": abs(distance)}[better]
    reached = min(mean / printed, printed / mean) if better == "equal" and mean else mean / printed
    gain = better == "equal" or (better == "larger") == (printed > 0)
    verdict: Verdict = "holds" if miss <= room else "fails"
    if verdict == "fails" and gain and reached >= PARTLY:
        verdict = "partly"
    return Finding(verdict, mean, low, high, len(numbers), note)


def counted(holds: Sequence[bool], *, note: str = "") -> Finding:
    """Judge a claim that is true or false on each instance; the value is the share of truths."""
    if not holds:
        return Finding("not measured", note=note)
    share = sum(map(bool, holds)) / len(holds)
    low, high = mean_interval([float(h) for h in holds])
    verdict: Verdict = "holds" if share == 1 else "fails" if share == 0 else "partly"
    return Finding(verdict, share, max(low, 0.0), min(high, 1.0), len(holds), note)


def claims(problem: str | None = None) -> dict[str, tuple[Claim, ...]]:
    """Every claim that packages announce, by problem.

    Raises:
        InputError: no claims under that name.
    """
    from optsched.problem import pick

    announced = {entry.name: entry for entry in entry_points(group="optsched.claims")}
    if problem is not None:
        announced = {problem: pick(announced, problem, "problem with claims")}
    return {name: tuple(entry.load()) for name, entry in sorted(announced.items())}


def measure_claims(
    chosen: Mapping[str, Sequence[Claim]],
    scale: Scale,
    *,
    workers: int = 1,
    progress: Callable[[str, float], None] | None = None,
) -> list[Judged]:
    """Run every experiment once, in parallel processes, and judge its claims.

    What an experiment or a judge raises is a finding that says so.

    Args:
        chosen: what ``claims`` gives.
        scale: how large the experiments are.
        workers: processes.
        progress: called with an experiment's name and wall seconds when it ends.

    Returns:
        In the order of ``chosen``.
    """
    listed = [(name, claim) for name, of in chosen.items() for claim in of]
    experiments = list(dict.fromkeys(claim.experiment for _, claim in listed))
    outcomes: dict[Callable[[Scale], Any], Outcome[tuple[Any, float]]] = {}
    for outcome in run_each(_timed, [(experiment, scale) for experiment in experiments], workers):
        experiment = experiments[outcome.index]
        outcomes[experiment] = outcome
        if progress is not None:
            progress(experiment.__name__, outcome.value[1] if outcome.value else math.nan)
    return [
        Judged(name, claim, _judge(claim, outcomes[claim.experiment])) for name, claim in listed
    ]


def _timed(task: tuple[Callable[[Scale], Any], Scale]) -> tuple[Any, float]:
    began = time.perf_counter()
    measured = task[0](task[1])
    return measured, time.perf_counter() - began


def _judge(claim: Claim, outcome: Outcome[tuple[Any, float]]) -> Finding:
    if outcome.value is None:
        return Finding("not measured", note=outcome.error)
    try:
        return claim.judge(outcome.value[0])
    except Exception as caught:  # a wrong judge must not hide the other findings
        return Finding("not measured", note=words(caught))


def table(judged: Sequence[Judged]) -> pd.DataFrame:
    """One line per claim."""
    return pd.DataFrame(
        [
            {
                "problem": item.problem,
                "claim": item.claim.name,
                "source": item.claim.source,
                "text": item.claim.text,
                "printed": item.claim.printed,
                "unit": item.claim.unit,
                "verdict": item.finding.verdict,
                "measured": item.finding.value,
                "low": item.finding.low,
                "high": item.finding.high,
                "instances": item.finding.instances,
                "how": item.claim.how,
                "note": item.finding.note,
            }
            for item in judged
        ]
    )
