"""One run of a heuristic: its schedule, checked and costed, whatever happens on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optsched.parallel import words
from optsched.problem import Problem, Violation, call_options
from optsched.solvers import Status

VIOLATED = "violated"
"""Status of a run whose schedule fails the checker."""


def instance_rng(seed: int) -> np.random.Generator:
    """The generator that makes the instance of that seed, everywhere in optsched."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))


def heuristic_rng(seed: int) -> np.random.Generator:
    """The generator a heuristic gets, everywhere in optsched, whatever else runs beside it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of one heuristic on one instance."""

    heuristic: str
    seconds: float
    """Wall time of the heuristic alone."""
    schedule: Any = None
    cost: float | None = None
    violations: Sequence[Violation] = ()
    offline: bool = False
    """Whether the schedule is a solution of the exact models, and so may serve as incumbent."""
    status: str = ""
    """Set where there is no schedule to compare: "violated" or "error"."""
    message: str = ""
    error: Exception | None = None
    """What the heuristic, the checker or the cost raised."""


def attempt(problem: Problem, instance: Any, heuristic: str, seed: int) -> Trial:
    """Run a heuristic, named with its options, and check its schedule at the speed it ran at.

    Whatever the heuristic raises is part of the answer.

    Raises:
        InputError: no such heuristic or option.
    """
    chosen, options = problem.heuristic(heuristic)
    began = time.perf_counter()
    trial = Trial(heuristic, 0.0)
    try:
        schedule = chosen.run(instance, heuristic_rng(seed), **options)
        trial = Trial(heuristic, time.perf_counter() - began, schedule)
        entitled = entitlement(problem, schedule)
        violations = problem.check(instance, schedule, **entitled)
        cost = float(problem.cost(instance, schedule))
        strict = problem.reference_check
        offline = not violations and (
            not (entitled or strict) or not problem.check(instance, schedule, **strict)
        )
    except Exception as error:  # a heuristic under test may do anything
        return replace(trial, status=Status.ERROR.value, message=words(error), error=error)
    trial = replace(trial, cost=cost if math.isfinite(cost) else None, offline=offline)
    if violations:
        message = describe(violations)
        return replace(trial, violations=violations, status=VIOLATED, message=message)
    if trial.cost is None:
        message = f"the schedule passes the checker and costs {cost}"
        return replace(trial, offline=False, status=Status.ERROR.value, message=message)
    return trial


def entitlement(problem: Problem, schedule: Any) -> dict[str, Any]:
    """What the check grants a schedule beyond its defaults, such as the speed it was run at."""
    defaults = call_options(problem.check, given=2) or {}
    granted = problem.check_options(schedule)
    return {
        name: value
        for name, value in granted.items()
        if name not in defaults or defaults[name] != value
    }


def describe(violations: Sequence[Violation]) -> str:
    """The worst violation in words, and how many there are."""
    worst = max(violations, key=lambda violation: violation.amount)
    where = ", ".join(f"{key} {value:g}" for key, value in worst.index.items())
    return (
        f"breaks ({worst.constraint}){f' at {where}' if where else ''} by {worst.amount:g}"
        f"; violations in all: {len(violations)}"
    )
