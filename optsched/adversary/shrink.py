"""Shrink a bad instance: fewer entries and rounder numbers, at no lower ratio."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from optsched.adversary.judging import Judge, Score, Wanted
from optsched.adversary.pool import number
from optsched.adversary.space import Path, Space, at, leaves, replaced

SECONDS = 25.0
"""Wall seconds a shrinking may take where nothing else is said."""

SLACK = 1e-9
"""By how much of itself the ratio may fall: rounding."""


def shrink(
    judge: Judge,
    space: Space,
    document: Any,
    score: Score,
    *,
    seconds: float = SECONDS,
    progress: Callable[[Any, Score], None] | None = None,
) -> tuple[Any, Score]:
    """The smallest instance reached by leaving out entries and rounding numbers one by one.

    A step is taken where the ratio's low end does not fall, and no number leaves the ranges of
    generated instances.

    Args:
        judge: of candidates.
        space: that knows the lists of the file.
        document: to begin with, as decoded JSON.
        score: its score.
        seconds: after which no further step is tried.
        progress: called after every step taken.
    """
    until = time.monotonic() + seconds
    again = True
    while again:
        again = False
        for steps in (_shorter, _rounder):
            taken = True
            while taken:
                taken = False
                strange = len(space.outside(document))
                for candidate in steps(space, document):
                    if time.monotonic() > until:
                        return document, score
                    if len(space.outside(candidate)) > strange:
                        continue
                    found = _as_bad(judge, candidate, score)
                    if found is not None:
                        document, score = candidate, found
                        taken = again = True
                        if progress is not None:
                            progress(document, score)
                        break
    return document, score


def _as_bad(judge: Judge, candidate: Any, score: Score) -> Score | None:
    """The score of a candidate that is at least as bad."""
    least = score.low * (1 - SLACK) if math.isfinite(score.low) else score.low
    found = judge.document(candidate, Wanted(least))
    return found if found is not None and found.low >= least else None


def _shorter(space: Space, document: Any) -> Iterator[Any]:
    """With one entry less of some list."""
    for dim in space.entries.dims:
        count = space.entries.size(document, dim)
        for i in reversed(range(count)) if count > 1 else ():
            yield space.entries.without(document, dim, i)


def _rounder(space: Space, document: Any) -> Iterator[Any]:
    """With simpler numbers: like ones together, then one by one."""
    keys: dict[Any, list[Path]] = {}
    for path, value in leaves(document):
        if number(value) is not None and _may_change(space, path):
            keys.setdefault(space.key(path), []).append(path)
    for paths in keys.values():
        values = [at(document, path) for path in paths]
        if len(paths) > 1:
            for value in _simpler(values[0]):
                if any(_digits(value) < _digits(old) for old in values):
                    candidate = document
                    for path, old in zip(paths, values, strict=True):
                        candidate = replaced(candidate, path, _like(old, value))
                    yield candidate
        for path, old in zip(paths, values, strict=True):
            for value in _simpler(old):
                yield replaced(document, path, _like(old, value))


def _may_change(space: Space, path: Path) -> bool:
    """Positions that name other entries are structure."""
    return space.pool(path) is not None


def _simpler(value: Any) -> Iterator[float]:
    """Numbers of fewer digits, the simplest first."""
    exact = number(value)
    if exact is None or exact == 0:
        return
    tried = [0.0, 1.0]
    for digits in (1, 2, 3):
        tried.append(float(f"{exact:.{digits - 1}e}"))
    for simple in dict.fromkeys(tried):
        if _digits(simple) < _digits(value):
            yield simple


def _digits(value: Any) -> int:
    """How much there is to read in a number: its digits; nothing in 0."""
    exact = number(value)
    if exact is None:
        return 0
    if exact in (0.0, 1.0):
        return int(exact)
    if isinstance(value, str) and "/" in value:
        return 1 + len(value)
    mantissa, _, exponent = f"{abs(exact):.15e}".partition("e")
    digits = mantissa.replace(".", "").rstrip("0")
    return 1 + len(digits) + (abs(int(exponent)) > 6)


def _like(old: Any, value: float) -> Any:
    """A number as the file had one there."""
    if isinstance(old, int) and value.is_integer():
        return int(value)
    return value
