"""Test non-anticipation: decisions must not depend on what is not yet known.

The algorithm runs on the whole instance, on the instance without the jobs from some arrival on, on
instances with other jobs from then on, and on instances with another value of a hidden field of one
job. Decisions before the difference shows must be the same in all of them. If
no difference is found, nothing is proven. A difference counts only if the algorithm, run again with
either future, decides as before; a search with a time limit may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.online.hidden import hiding, redrawn
from optsched.online.state import arrivals_of
from optsched.problem import Problem

Decisions = Counter[tuple[int, str]]
"""How often what was decided on which job; -1: on one that has been changed."""

_AGAIN = 2  # further runs with each of two futures that must decide the same


@dataclass(frozen=True)
class Anticipation:
    """A decision that depends on what was not known by then."""

    before: float
    """Moment at which the change shows; the decision is earlier."""
    future: str
    """What was changed: the jobs that arrive from then on, or a hidden field."""
    job: int
    """Job on which the decision is, numbered as in the instance."""
    was: str
    """What the algorithm decides on the job before then, on the instance as it is."""
    became: str
    """What it decides with the other future."""

    def __str__(self) -> str:
        return (
            f"sees the future: with {self.future}, "
            f"job {self.job} {self.became or 'does nothing'} before {self.before:g}, "
            f"instead of: {self.was or 'nothing'}"
        )


def anticipation(
    problem: Problem,
    run: Callable[[Any, np.random.Generator], Any],
    instance: Any,
    *,
    seed: int = 0,
    cuts: int | None = None,
    changes: int = 2,
    schedule: Any = None,
) -> Anticipation | None:
    """A decision that depends on the future, or None if none is found.

    Args:
        problem: whose instance it is.
        run: (instance, rng) -> schedule.
        instance: on which, and on other futures of which, it is tried.
        seed: of the algorithm's generator, the same in every run, and of the futures.
        cuts: most moments of arrival, and most jobs with hidden fields, tried, spread evenly;
            None: all.
        changes: other futures tried at each moment, beside none at all, and for each such job.
        schedule: of the algorithm on the whole instance, if it is known.

    Raises:
        InputError: the problem has no arrivals, or the algorithm refuses the instance.
    """
    arrivals = arrivals_of(problem)
    times = np.asarray(arrivals.times(instance), dtype=float)
    order = np.lexsort((np.arange(len(times)), times))
    fresh = np.flatnonzero(np.diff(times[order]) > 0) + 1
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    if schedule is None and (len(fresh) or arrivals.hidden):
        schedule = run(instance, _rng(seed))

    def decided(other: Any, made: Any, moment: float, kept: NDArray[np.integer]) -> Decisions:
        names = kept.tolist()
        said = arrivals.decisions(other, made, moment)
        return Counter([(names[job] if job < len(names) else -1, what) for job, what in said])

    whole = np.arange(len(times))

    def compared(
        other: Any, made: Any, moment: float, kept: NDArray[np.integer], future: str
    ) -> Anticipation | None:
        own = decided(instance, schedule, moment, whole)
        found = decided(other, made, moment, kept)
        if found != own and all(
            decided(one, run(one, _rng(seed)), moment, names) == before
            for one, names, before in ((instance, whole, own), (other, kept, found))
            for _ in range(_AGAIN)
        ):
            return _difference(own, found, moment, future)
        return None

    for k in _spread(fresh, cuts):
        moment, kept, later = float(times[order[k]]), np.sort(order[:k]), order[k:]
        for number in range(1 + changes):
            tail = later[draw.integers(0, len(later), draw.integers(1, len(later) + 1))]
            tail = tail if number else later[:0]
            other = arrivals.select(instance, np.concatenate([kept, tail]))
            try:
                made = run(other, _rng(seed))
            except InputError:
                if number:  # it refuses that future, which is no decision on the present
                    continue
                raise
            future = f"replaced by {len(tail)} drawn from them" if number else "left out"
            future = f"the jobs that arrive from {moment:g} on {future}"
            if ahead := compared(other, made, moment, kept, future):
                return ahead
    for job in _spread(np.flatnonzero(hiding(arrivals, instance)), cuts):
        for _ in range(changes):
            other, future = redrawn(arrivals, instance, job, draw)
            made = run(other, _rng(seed))
            pair = ((instance, schedule), (other, made))
            moment = min(float(arrivals.done(*one)[job]) for one in pair)
            if ahead := compared(other, made, moment, whole, future):
                return ahead
    return None


def _spread(tried: NDArray[np.integer], most: int | None) -> list[int]:
    """At most so many of them, spread evenly."""
    if most is not None and len(tried) > most:
        tried = tried[np.linspace(0, len(tried) - 1, most).round().astype(np.int64)]
    return [int(one) for one in tried]


def _rng(seed: int) -> np.random.Generator:
    """The generator that a heuristic gets everywhere in optsched."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))


def _difference(own: Decisions, found: Decisions, moment: float, future: str) -> Anticipation:
    """The first job on which decisions differ."""
    job = min(job for job, _ in ((own - found) + (found - own)))
    was, became = (
        "; ".join(sorted(said for j, said in rows if j == job))
        for rows in (own - found, found - own)
    )
    return Anticipation(moment, future, job, was, became)
