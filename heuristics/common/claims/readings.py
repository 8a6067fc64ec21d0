"""Readings: what a paper leaves open, by name, and what each reading makes of its claims.

A claim declares the readings that can move it. Each combination of their values is measured like
any other sweep, or only judged anew where what was measured holds every value already.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from heuristics.common.claims.claim import (
    DEPENDS,
    DIRECTION,
    Claim,
    Finding,
    Judged,
    Reading,
    Under,
    Value,
)
from optsched.study.sweep import Scale, Sweep

MOST = 3
"""Combinations that a note spells out."""


def combinations(readings: Sequence[Reading]) -> list[dict[str, Value]]:
    """Every combination of values by the readings' names; the defaults come first.

    Example:
        >>> combinations([Reading("gang", ("trace", "chunks"), "Section V-A")])
        [{'gang': 'trace'}, {'gang': 'chunks'}]
    """
    names = [reading.name for reading in readings]
    return [
        dict(zip(names, values, strict=True))
        for values in itertools.product(*(reading.values for reading in readings))
    ]


def said(combination: Mapping[str, Value]) -> str:
    """A combination in words: ``"gang chunks, span 336"``."""
    return ", ".join(f"{name} {value}" for name, value in combination.items())


def measured_by(claim: Claim, combination: Mapping[str, Value]) -> Any:
    """The experiment that measures a claim under a combination; its own under the defaults."""
    moved = tuple(
        (reading.name, combination[reading.name])
        for reading in claim.readings
        if not reading.judged and combination[reading.name] != reading.default
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
    return {r.name: combination[r.name] for r in claim.readings if r.judged}


def settle(default: Finding, under: Sequence[Under]) -> Finding:
    """What is found of a claim once its readings are measured: the default's, or that it depends.

    Readings that could not be measured, or whose instances leave it open, move no verdict; where
    the default's do and others' do not, the note says what is found under these.
    """
    known = [one for one in under if one.finding.verdict != "not measured"]
    settled = {one.finding.verdict for one in known}
    if not known or settled == {default.verdict}:
        return default
    verdict = min((one.finding.verdict for one in known), key=_WORTH.index)
    for_it = [one for one in known if one.finding.verdict == verdict]
    shown = "; ".join(said(one.combination) for one in for_it[:MOST])
    more = f" and {len(for_it) - MOST} more" if len(for_it) > MOST else ""
    note = f"{verdict} under {len(for_it)} of {len(known)} readings: {shown}{more}"
    depends = default.verdict if len(settled) == 1 else DEPENDS
    return replace(
        default, verdict=depends, note="; ".join(text for text in (default.note, note) if text)
    )


_WORTH = ("holds", DIRECTION, "fails", DEPENDS, "not comparable", "not in the paper")


def best(item: Judged) -> Under | None:
    """The reading that fits what is printed best: by verdict, then by distance; None: none."""
    known = [one for one in item.under if one.finding.verdict != "not measured"]
    return min(known, key=lambda one: _badness(item.claim, one.finding), default=None)


def _badness(claim: Claim, found: Finding) -> tuple[int, float]:
    return _WORTH.index(found.verdict), distance(claim, found)


def distance(claim: Claim, found: Finding) -> float:
    """How far what is measured is from what is printed, relative to it; 0 where nothing is."""
    if claim.printed is None or not math.isfinite(found.value):
        return 0.0
    return abs(found.value - claim.printed) / max(abs(claim.printed), 1e-9)


@dataclass(frozen=True)
class ReadingFit:
    """How well one combination fits all claims of a problem that readings can move."""

    combination: dict[str, Value]
    holds: int
    direction: int
    fails: int
    distance: float
    """Mean of ``distance`` over the claims with a printed number, each counted as at most 1."""


def fits(judged: Sequence[Judged]) -> list[ReadingFit]:
    """Every combination of all readings of a problem, the best first.

    A claim is looked up under those of the values that can move it.
    """
    moved = [item for item in judged if item.under]
    readings = list({r.name: r for item in moved for r in item.claim.readings}.values())
    found = [_fit(moved, combination) for combination in combinations(readings)]
    return sorted(found, key=lambda fit: (-fit.holds, -fit.direction, fit.distance))


def _fit(moved: Sequence[Judged], combination: dict[str, Value]) -> ReadingFit:
    counts: dict[str, int] = dict.fromkeys(("holds", DIRECTION, "fails"), 0)
    distances = []
    for item in moved:
        mine = {r.name: combination[r.name] for r in item.claim.readings}
        (found,) = (one.finding for one in item.under if one.combination == mine)
        if found.verdict in counts:
            counts[found.verdict] += 1
        if item.claim.printed is not None and math.isfinite(found.value):
            distances.append(min(1.0, distance(item.claim, found)))
    mean = math.fsum(distances) / len(distances) if distances else math.nan
    holds, direction, fails = counts.values()
    return ReadingFit(combination, holds, direction, fails, mean)
