"""From measurements to a verdict: the rules, the same for every claim.

Direction and size are judged apart, and both by intervals: what the instances leave open is
undecided. A gain that is several times what is printed has the direction, not the size. One
counterexample refutes what is stated of every instance, whether it is an order or a bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy import stats

from heuristics.common.claims.claim import (
    DIRECTION,
    NOTHING,
    UNDECIDED,
    ClaimVerdict,
    Finding,
    Printed,
)
from optsched.errors import InputError
from optsched.evaluation.tables import CONFIDENCE, mean_interval

Sense = Literal["about", "at least", "at most"]
"""Whether a printed number is a target, a floor or a ceiling."""

SLACK = 0.02
"""Miss of a printed value that is forgiven, relative to it, and absolute below 1."""

SAME_SIZE = 1.5
"""Factor within which a mean and a printed number are the same size, if the interval has both."""

LEAST = 3
"""Fewest values whose mean decides anything."""

EVERY = "every instance"
MEAN = "the mean"
STATED = (EVERY, MEAN)
"""What a ceiling, a floor or an order may be stated of, where the text does not say."""


def verdict(
    value: float,
    low: float,
    high: float,
    printed: Printed,
    sense: Sense,
    neutral: float | None,
    room: float,
) -> ClaimVerdict:
    """The rule behind every comparison with a printed number.

    A floor or a ceiling holds where the whole interval keeps it. A target holds where the interval
    lies on the printed side of ``neutral`` and the size agrees; ``undecided`` is what the interval
    leaves open.

    Args:
        value: measured.
        low: end of its interval.
        high: the other end.
        printed: what is stated; two numbers state a range.
        sense: what the number is.
        neutral: where there is no effect: 0 for a gain, 1 for a ratio; None: the claim has no
            direction.
        room: forgiven, in the unit of the value.
    """
    least, most = printed if isinstance(printed, tuple) else (printed, printed)
    if sense != "about":
        kept, broken = (
            (low >= least - room, high < least - room)
            if sense == "at least"
            else (high <= most + room, low > most + room)
        )
        return "holds" if kept else "fails" if broken else UNDECIDED
    possible = low - room <= most and high + room >= least
    agrees = least - room <= value <= most + room or (
        possible and _same_size(value, least, most, neutral or 0.0)
    )
    if neutral is None:
        return "holds" if agrees else UNDECIDED if possible else "fails"
    up = least + most > 2 * neutral
    right, wrong = (low > neutral, high <= neutral) if up else (high < neutral, low >= neutral)
    if right:
        return "holds" if agrees else DIRECTION
    return "fails" if wrong or not possible else UNDECIDED


def _same_size(value: float, least: float, most: float, neutral: float) -> bool:
    nearest = min(max(value, least), most) - neutral
    apart = value - neutral
    return nearest * apart > 0 and 1 / SAME_SIZE <= apart / nearest <= SAME_SIZE


def compared(
    values: Sequence[float],
    printed: Printed,
    *,
    sense: Sense = "about",
    neutral: float | None = None,
    slack: float = SLACK,
    room: float | None = None,
    note: str = "",
) -> Finding:
    """Judge measured values, one per instance, by their mean against a printed number.

    Args:
        values: measured, one per instance; those that are no finite numbers are left out, and the
            note says how many.
        printed: what the paper states; two numbers state a range.
        sense: whether the printed number is a target, a floor or a ceiling.
        neutral: where there is no effect; None: the claim has no direction.
        slack: forgiven, relative to ``printed``, and absolute where that is below 1.
        room: forgiven, in the unit of the values, in place of ``slack``.
        note: what a reader must know.

    Example:
        >>> [compared(v, 0.33, neutral=0.0).verdict for v in ([0.30, 0.34, 0.33], [2.1, 2.2, 2.0])]
        ['holds', 'direction holds, size does not']
    """
    numbers = [float(v) for v in values if math.isfinite(v)]
    left_out = f"{len(values) - len(numbers)} of {len(values)} instances have no value"
    note = joined(note, left_out if len(numbers) < len(values) else "")
    if not numbers:
        return Finding(NOTHING, note=note)
    mean = math.fsum(numbers) / len(numbers)
    if room is None:
        room = slack * max(1.0, *np.abs(printed).reshape(-1).tolist())
    return _settled(
        mean, *mean_interval(numbers), len(numbers), note, printed, sense, neutral, room
    )


def compared_means(
    values: Sequence[float],
    others: Sequence[float],
    printed: Printed,
    *,
    gain: bool = False,
    percent: bool = False,
    sense: Sense = "about",
    slack: float = SLACK,
    note: str = "",
) -> Finding:
    """Judge the ratio of two means over the same instances against a printed number.

    Papers compare curves, which are means: the ratio of means is what they print, and it does not
    explode where a single instance leaves one method with nothing. The interval is Student's for
    the ratio linearised at the means (the ratio estimator of survey sampling). Equal means are
    what is neutral.

    Args:
        values: of the method, one per instance.
        others: of what it is compared with, on the same instances.
        printed: what the paper states; two numbers state a range.
        gain: whether the claim is about the ratio less 1.
        percent: whether the claim is in per cent.
        sense: whether the printed number is a target, a floor or a ceiling.
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
    note = joined(note, left_out if len(pairs) < len(values) else "")
    above, below = pairs.mean(axis=0) if len(pairs) else (math.nan, 0.0)
    if not below > 0:
        return Finding(NOTHING, note=joined(note, "nothing to compare with"))
    ratio = float(above / below)
    around = ratio + (pairs[:, 0] - ratio * pairs[:, 1]) / below
    unit = 100.0 if percent else 1.0
    found, low, high = (
        unit * (end - gain) for end in (ratio, *mean_interval([float(a) for a in around]))
    )
    neutral = unit * (1 - gain)
    return _settled(found, low, high, len(pairs), note, printed, sense, neutral, unit * slack)


def _settled(
    value: float,
    low: float,
    high: float,
    count: int,
    note: str,
    printed: Printed,
    sense: Sense,
    neutral: float | None,
    room: float,
) -> Finding:
    found = Finding(UNDECIDED, value, low, high, count, note)
    if count < LEAST:
        return left_open(found)
    judged = verdict(value, low, high, printed, sense, neutral, room)
    return left_open(found) if judged == UNDECIDED else replace(found, verdict=judged)


def counted(holds: Sequence[bool | None], *, every: bool = False, note: str = "") -> Finding:
    """Judge a claim that is true or false on each instance; the value is the share of truths.

    Ties (None) count for nobody; where there is nothing else, there is no effect, and the claim
    fails. The interval is Clopper and Pearson's. With all of it above one half the claim holds
    where nothing contradicts it, and has the direction where something does.

    Args:
        holds: by instance.
        every: the claim is stated of every instance: a single one that contradicts it refutes it.
        note: what a reader must know.

    Example:
        >>> [counted([True] * 9 + [False], every=every).verdict for every in (False, True)]
        ['direction holds, size does not', 'fails']
    """
    if not holds:
        return Finding(NOTHING, note=note)
    signs = [bool(sign) for sign in holds if sign is not None]
    count, hits = len(signs), sum(signs)
    if len(holds) > count:
        note = joined(note, f"{len(holds) - count} of {len(holds)} are ties")
    if not count:
        return Finding("fails", 0.0, instances=len(holds), note=note)
    tail = (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(tail, hits, count - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - tail, hits + 1, count - hits)) if hits < count else 1.0
    found = Finding(UNDECIDED, hits / count, low, high, count, note)
    if every and hits < count:
        against = f"{count - hits} of {count} instances contradict it"
        return replace(found, verdict="fails", note=joined(note, against))
    if low > 0.5:
        return replace(found, verdict="holds" if hits == count else DIRECTION)
    return replace(found, verdict="fails") if high < 0.5 else left_open(found)


def ordered(
    differences: Mapping[str, Sequence[float]], *, logarithmic: bool = False, note: str = ""
) -> Finding:
    """Judge an order from paired differences, each of which it says to be positive.

    The value is the mean difference whose interval reaches lowest. It fails with a single one that
    is certainly not positive, and the note names those.

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
    if wrong:
        notes.append("not so: " + ", ".join(wrong))
    if doubt:
        notes.append("open: " + ", ".join(doubt))
    found = Finding(
        "fails" if wrong else "holds", value, low, high, min(map(len, differences.values())),
        joined(*notes),
    )  # fmt: skip
    return left_open(found) if doubt and not wrong else found


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
    return found if count >= LEAST and (inside or beyond) else left_open(found)


def bounded(
    low: Sequence[float], high: Sequence[float], limit: float, *, sense: Sense = "at most"
) -> Finding:
    """Judge a ceiling or a floor stated of every instance: one that is certainly beyond refutes it.

    The interval reaches from the farthest that is certain to the farthest possible. The value is
    the latter where the claim holds, else the former; the note has how many are beyond.

    Args:
        low: certified low ends of what is bounded, one per instance.
        high: the high ends; infinite where nothing is known.
        limit: what no instance is to exceed, or to fall below.
        sense: whether the limit is a ceiling or a floor.

    Example:
        >>> bounded([1.2, 2.5], [1.2, 4.0], 1.8).verdict
        'fails'
    """
    ends = np.array([low, high], dtype=np.float64)
    if not ends.size:
        return Finding(NOTHING)
    sign = 1.0 if sense == "at most" else -1.0
    certain, possible = sign * (ends if sense == "at most" else ends[::-1])
    count = certain.size
    beyond, kept = int((certain > sign * limit).sum()), int((possible <= sign * limit).sum())
    farthest, side = ("largest", "above") if sense == "at most" else ("least", "below")
    note = (
        f"the {farthest} of all, and what it lies in; {beyond} of {count} {side} {limit:g} for "
        f"certain, {kept} certainly not; the median is {sense} {sign * np.median(possible):.3g}"
    )
    sure, most = sign * float(certain.max()), sign * float(possible.max())
    found = Finding("fails", sure, min(sure, most), max(sure, most), count, note)
    if beyond:
        return found
    return replace(found, verdict="holds", value=most) if kept == count else left_open(found)


def limited(
    low: Sequence[float],
    high: Sequence[float],
    limit: float,
    *,
    stated: str,
    sense: Sense = "at most",
    note: str = "",
) -> Finding:
    """Judge a ceiling or a floor by what it is stated of, one of ``STATED``.

    Args:
        low: certified low ends of what is bounded, one per instance.
        high: the high ends; infinite where nothing is known.
        limit: what is not to be exceeded, or fallen below.
        stated: of every instance, or of the mean alone.
        sense: whether the limit is a ceiling or a floor.
        note: what a reader must know.

    Example:
        >>> [limited([1.6, 1.8, 1.5], [1.6, 1.8, 1.5], 1.7, stated=of).verdict for of in STATED]
        ['fails', 'undecided']
    """
    if stated == EVERY:
        found = bounded(low, high, limit, sense=sense)
        return replace(found, note=joined(note, found.note))
    worse, better = (high, low) if sense == "at most" else (low, high)
    found = compared(better, limit, sense=sense, note=note)
    if found.verdict != "holds":
        return found
    kept = compared(worse, limit, sense=sense, note=note)
    known = bool(np.isfinite(worse).all())
    return kept if known and kept.verdict == "holds" else left_open(found)


def left_open(found: Finding) -> Finding:
    """The same, undecided: its instances leave it open."""
    said = f"{found.instances} instance{'s' * (found.instances != 1)} leave it open"
    return replace(found, verdict=UNDECIDED, note=joined(found.note, said))


def joined(*notes: str) -> str:
    """Notes in one line."""
    return "; ".join(note for note in notes if note)
