"""Tests for authors of online algorithms: no decision depends on later jobs."""

from __future__ import annotations

from functools import partial
from typing import Any

from optsched.evaluation.runs import instance_rng
from optsched.online import Anticipation, anticipation
from optsched.problem import problem


def check_online(
    name: str,
    *,
    instances: int = 3,
    generator: dict[str, Any] | None = None,
    cuts: int | None = None,
    changes: int = 2,
) -> Anticipation | None:
    """Look for a decision of a heuristic that depends on jobs that arrive later.

    ``assert check_online("preemptive.a_online") is None`` is a test of it.

    Args:
        name: "problem.heuristic(option=value)", however it is announced.
        instances: random instances tried, of seeds 0, 1, ...
        generator: options of the problem's generator.
        cuts: most moments of arrival tried on each, spread evenly; None: all.
        changes: other futures tried at each moment, beside none at all.

    Returns:
        The first such decision, which in words says what it knew; None if none was found.

    Raises:
        InputError: no such heuristic or option, or a problem without arrivals.
    """
    where, _, call = name.partition(".")
    found = problem(where)
    chosen, options = found.heuristic(call)
    run = partial(chosen.run, **options)
    asked = found.generator_call(generator or {})
    for seed in range(instances):
        instance = found.generate(instance_rng(seed), **asked)
        ahead = anticipation(found, run, instance, seed=seed, cuts=cuts, changes=changes)
        if ahead is not None:
            return ahead
    return None
