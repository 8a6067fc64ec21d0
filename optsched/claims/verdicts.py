"""From measurements to a verdict: the rules, the same for every claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from optsched.claims.claim import ClaimVerdict, Finding
from optsched.errors import InputError
from optsched.evaluation.tables import mean_interval

Better = Literal["larger", "smaller", "equal"]
"""Whether a printed number is a floor, a ceiling or a target."""

SLACK = 0.02
"""Shortfall from a printed value that is forgiven, relative to it, and absolute below 1."""

PARTLY = 0.5
"""Share of a printed value that must be reached for "partly"."""


def verdict(measured: float, printed: float, better: Better, room: float) -> ClaimVerdict:
    """The rule behind every comparison with a printed number.

    A claim holds where what is measured is at least (at most, as large as) printed, up to ``room``.
    A gain, such as +30 % or, where smaller is better, -30 %, holds partly where it goes the same
    way at least ``PARTLY`` as far. Otherwise the claim fails.
    """
    distance = measured - printed
    miss = {"larger": -distance, "smaller": distance, "equal": abs(distance)}[better]
    if miss <= room:
        return "holds"
    gain = better == "equal" or (better == "larger") == (printed > 0)
    if not printed or not gain:
        return "fails"
    reached = measured / printed
    if better == "equal" and reached > 1:
        reached = 1 / reached
    return "partly" if reached >= PARTLY else "fails"


def compared(
    values: Sequence[float],
    printed: float,
    *,
    better: Better = "larger",
    slack: float = SLACK,
    room: float | None = None,
    note: str = "",
) -> Finding:
    """Judge measured values, one per instance, by their mean against a printed number.

    Args:
        values: measured, one per instance; those that are no finite numbers are left out, and the
            note says how many.
        printed: what the paper states.
        better: whether the printed number is a floor, a ceiling or a target.
        slack: forgiven, relative to ``printed``, and absolute where that is below 1.
        room: forgiven, in the unit of the values, in place of ``slack``.
        note: what a reader must know.

    Example:
        >>> compared([0.30, 0.34], 0.33).verdict, compared([0.20], 0.33).verdict
        ('holds', 'partly')
    """
    numbers = [float(v) for v in values if math.isfinite(v)]
    left_out = f"{len(values) - len(numbers)} of {len(values)} instances have no value"
    note = _joined(note, left_out if len(numbers) < len(values) else "")
    if not numbers:
        return Finding("not measured", note=note)
    mean = math.fsum(numbers) / len(numbers)
    room = slack * max(1.0, abs(printed)) if room is None else room
    judged = verdict(mean, printed, better, room)
    return Finding(judged, mean, *mean_interval(numbers), len(numbers), note)


def compared_means(
    values: Sequence[float],
    others: Sequence[float],
    printed: float,
    *,
    gain: bool = False,
    percent: bool = False,
    better: Better = "larger",
    slack: float = SLACK,
    note: str = "",
) -> Finding:
    """Judge the ratio of two means over the same instances against a printed number.

    Papers compare curves, which are means: the ratio of means is what they print, and it does not
    explode where a single instance leaves one method with nothing. The interval is Student's for
    the ratio linearised at the means (the ratio estimator of survey sampling).

    Args:
        values: of the method, one per instance.
        others: of what it is compared with, on the same instances.
        printed: what the paper states.
        gain: whether the claim is about the ratio less 1.
        percent: whether the claim is in per cent.
        better: whether the printed number is a floor, a ceiling or a target.
        slack: of the ratio, absolute: 0.02 is 2 percentage points.
        note: what a reader must know.

    Raises:
        InputError: the two have different lengths.
    """
    if len(values) != len(others):
        raise InputError.of("others", len(others), f"as many as values ({len(values)})")
    pairs = np.array([values, others], dtype=float).T
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    left_out = f"{len(values) - len(pairs)} of {len(values)} instances have no value"
    note = _joined(note, left_out if len(pairs) < len(values) else "")
    above, below = pairs.mean(axis=0) if len(pairs) else (math.nan, 0.0)
    if not below > 0:
        return Finding("not measured", note=_joined(note, "nothing to compare with"))
    ratio = float(above / below)
    around = ratio + (pairs[:, 0] - ratio * pairs[:, 1]) / below
    unit = 100.0 if percent else 1.0
    found, low, high = (
        unit * (end - gain) for end in (ratio, *mean_interval([float(a) for a in around]))
    )
    judged = verdict(found, printed, better, unit * slack)
    return Finding(judged, found, low, high, len(pairs), note)


def counted(holds: Sequence[bool], *, note: str = "") -> Finding:
    """Judge a claim that is true or false on each instance; the value is the share of truths."""
    if not holds:
        return Finding("not measured", note=note)
    share = sum(map(bool, holds)) / len(holds)
    low, high = mean_interval([float(h) for h in holds])
    judged: ClaimVerdict = "holds" if share == 1 else "fails" if share == 0 else "partly"
    return Finding(judged, share, max(low, 0.0), min(high, 1.0), len(holds), note)


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
