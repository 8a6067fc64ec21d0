"""Verdicts that rest on intervals: where an interval leaves it open, nothing is decided.

An order that happens to be right on the mean of a few instances is no finding. An order holds where
the whole interval says so and fails where the whole interval says the contrary; a number is judged
at both ends of its interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from optsched.claims import Finding
from optsched.claims.verdicts import Better, verdict
from optsched.evaluation.tables import CONFIDENCE, mean_interval

LEAST = 3
"""Fewest instances that decide anything."""


def ordered(
    differences: Mapping[str, Sequence[float]], *, logarithmic: bool = False, note: str = ""
) -> Finding:
    """Judge an order from paired differences, each of which it says to be positive.

    The value is the mean difference whose interval reaches lowest. With some differences certainly
    positive and others certainly not the order holds partly.

    Args:
        differences: one per instance, by what is compared.
        logarithmic: they are logarithms of ratios: the value is a (geometric mean) ratio.
        note: what a reader must know.
    """
    ends = {name: mean_interval([float(v) for v in of]) for name, of in differences.items()}
    enough = all(len(of) >= LEAST for of in differences.values())
    right = [name for name, (low, _) in ends.items() if enough and low > 0]
    wrong = [name for name, (_, high) in ends.items() if enough and high <= 0]
    doubt = [name for name in ends if name not in right + wrong]
    least = min(differences, key=lambda name: np.nan_to_num(ends[name][0]))
    values = float(np.mean(differences[least])), *ends[least]
    value, low, high = map(math.exp, values) if logarithmic else values
    notes = [note]
    if wrong and right:
        notes.append("not so: " + ", ".join(wrong))
    if doubt:
        notes.append("open: " + ", ".join(doubt))
    found = Finding(
        "holds" if len(right) == len(ends) else "fails", value, low, high,
        min(map(len, differences.values())), "; ".join(text for text in notes if text),
    )  # fmt: skip
    if wrong and right:
        return replace(found, verdict="partly")
    return found if wrong or not doubt else undecided(found)


def settled(found: Finding, printed: float, better: Better) -> Finding:
    """A number against a printed one: the verdict at both ends of its interval.

    If it holds at one end and fails at the other it is open; if it holds at one end only it is
    partly so. Where it holds at neither, the mean says how far it falls short.
    """
    if found.instances < LEAST or not math.isfinite(found.low + found.high):
        return undecided(found)
    verdicts = {verdict(end, printed, better, 0.0) for end in (found.low, found.high)}
    if verdicts == {"holds", "fails"}:
        return undecided(found)
    if "holds" in verdicts:
        return replace(found, verdict="holds" if len(verdicts) == 1 else "partly")
    return replace(found, verdict=verdict(found.value, printed, better, 0.0))


def majority(holds: Sequence[bool], *, note: str = "") -> Finding:
    """Judge by signs whether something is so more often than not; the value is its share.

    The interval is Clopper and Pearson's, whatever the distribution behind the signs.
    """
    count, hits = len(holds), sum(map(bool, holds))
    tail = (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(tail, hits, count - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - tail, hits + 1, count - hits)) if hits < count else 1.0
    found = Finding("holds" if low > 0.5 else "fails", hits / count, low, high, count, note)
    return undecided(found) if low <= 0.5 <= high else found


def within(deviations: Mapping[str, Sequence[float]], limit: float, *, note: str = "") -> Finding:
    """Judge whether mean deviations are no larger than a limit; the value is the largest."""
    ends = {name: mean_interval([float(v) for v in of]) for name, of in deviations.items()}
    worst = max(deviations, key=lambda name: abs(float(np.mean(deviations[name]))))
    low, high = ends[worst]
    count = min(map(len, deviations.values()))
    value = float(np.mean(deviations[worst]))
    beyond = any(low > limit or high < -limit for low, high in ends.values())
    found = Finding("fails" if beyond else "holds", value, low, high, count, note)
    inside = all(-limit <= low and high <= limit for low, high in ends.values())
    return found if count >= LEAST and (inside or beyond) else undecided(found)


def undecided(found: Finding) -> Finding:
    """The same without a verdict: the interval leaves it open."""
    said = f"{found.instances} instances leave it open"
    return replace(
        found, verdict="not measured", note="; ".join(text for text in (found.note, said) if text)
    )
