"""Interpretations: what a paper leaves open, by name, and what each makes of its claims.

A claim declares the interpretations that can move it. Each combination of their values is measured
like any other sweep, or only judged anew where what was measured holds every value already.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from heuristics.common.claims.claim import (
    DIRECTION,
    NOTHING,
    UNDECIDED,
    Claim,
    Finding,
    Interpretation,
    Judged,
    Under,
    Value,
)
from optsched.study.sweep import Scale, Sweep

MOST = 3
"""Combinations that a note spells out."""


def combinations(interpretations: Sequence[Interpretation]) -> list[dict[str, Value]]:
    """Every combination of values by the interpretations' names; the defaults come first.

    Example:
        >>> combinations([Interpretation("gang", ("trace", "chunks"), "Section V-A")])
        [{'gang': 'trace'}, {'gang': 'chunks'}]
    """
    names = [interpretation.name for interpretation in interpretations]
    return [
        dict(zip(names, values, strict=True))
        for values in itertools.product(
            *(interpretation.values for interpretation in interpretations)
        )
    ]


def said(combination: Mapping[str, Value]) -> str:
    """A combination in words: ``"gang chunks, span 336"``."""
    return ", ".join(f"{name} {value}" for name, value in combination.items())


def measured_by(claim: Claim, combination: Mapping[str, Value]) -> Any:
    """The experiment that measures a claim under a combination; its own under the defaults."""
    moved = tuple(
        (interpretation.name, combination[interpretation.name])
        for interpretation in claim.interpretations
        if not interpretation.judged and combination[interpretation.name] != interpretation.default
    )
    return _under(claim.experiment, moved) if moved else claim.experiment


@cache
def _under(sweep: Sweep, moved: tuple[tuple[str, Value], ...]) -> Sweep:
    """The sweep with these values among the arguments of every task."""
    return replace(sweep, tasks=partial(_moved_tasks, sweep, moved))


def _moved_tasks(
    sweep: Sweep, moved: tuple[tuple[str, Value], ...], scale: Scale
) -> list[dict[str, Any]]:
    return [{**task, **dict(moved)} for task in sweep.tasks(scale)]


def judge_options(claim: Claim, combination: Mapping[str, Value]) -> dict[str, Value]:
    """What of a combination goes to the claim's judge."""
    return {r.name: combination[r.name] for r in claim.interpretations if r.judged}


def settle(default: Finding, under: Sequence[Under]) -> Finding:
    """The default's finding, with a note of the interpretations that give another verdict.

    Interpretations that could not be measured say nothing.
    """
    known = [one for one in under if one.finding.verdict != NOTHING]
    others = dict.fromkeys(one.finding.verdict for one in known)
    others.pop(default.verdict, None)
    notes = [default.note]
    for verdict in others if default.verdict != NOTHING else ():
        found = [said(one.combination) for one in known if one.finding.verdict == verdict]
        more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
        shown = "; ".join(found[:MOST])
        notes.append(f"{verdict} under {len(found)} of {len(known)} interpretations: {shown}{more}")
    return replace(default, note="; ".join(text for text in notes if text))


_WORTH = ("holds", DIRECTION, "fails", "not comparable", "not in the paper")


def best(item: Judged) -> Under | None:
    """What fits the printed numbers best, by verdict, then by distance; None: none does."""
    known = [one for one in item.measured if one.finding.verdict != UNDECIDED]
    return min(known, key=lambda one: _badness(item.claim, one.finding), default=None)


def _badness(claim: Claim, found: Finding) -> tuple[int, float]:
    return _WORTH.index(found.verdict), distance(claim, found)


def distance(claim: Claim, found: Finding) -> float:
    """How far what is measured is from what is printed, relative to it; 0 where nothing is."""
    if claim.printed is None or not math.isfinite(found.value):
        return 0.0
    ends = claim.printed if isinstance(claim.printed, tuple) else (claim.printed,) * 2
    nearest = min(max(found.value, min(ends)), max(ends))
    return abs(found.value - nearest) / max(abs(nearest), 1e-9)


@dataclass(frozen=True)
class InterpretationFit:
    """How well one combination fits all claims of a problem that interpretations can move."""

    combination: dict[str, Value]
    holds: int
    direction: int
    fails: int
    distance: float
    """Mean of ``distance`` over the claims with a printed number, each counted as at most 1."""


def fits(judged: Sequence[Judged]) -> list[InterpretationFit]:
    """Every combination of all interpretations of a problem, the best first.

    A claim is looked up under those of the values that can move it.
    """
    moved = [item for item in judged if item.under]
    interpretations = list(
        {r.name: r for item in moved for r in item.claim.interpretations}.values()
    )
    found = [_fit(moved, combination) for combination in combinations(interpretations)]
    return sorted(found, key=lambda fit: (-fit.holds, -fit.direction, fit.distance))


def _fit(moved: Sequence[Judged], combination: dict[str, Value]) -> InterpretationFit:
    counts: dict[str, int] = dict.fromkeys(("holds", DIRECTION, "fails"), 0)
    distances = []
    for item in moved:
        mine = {r.name: combination[r.name] for r in item.claim.interpretations}
        (found,) = (one.finding for one in item.under if one.combination == mine)
        if found.verdict in counts:
            counts[found.verdict] += 1
        if item.claim.printed is not None and math.isfinite(found.value):
            distances.append(min(1.0, distance(item.claim, found)))
    mean = math.fsum(distances) / len(distances) if distances else math.nan
    holds, direction, fails = counts.values()
    return InterpretationFit(combination, holds, direction, fails, mean)
