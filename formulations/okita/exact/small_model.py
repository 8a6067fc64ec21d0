"""The compact model of (2) in a search, if it is small: jobs that are alike are no trouble to it.

A search over columns looks at every order of identical jobs, and at schedules of equal cost one by
one. CP-SAT learns from few of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from formulations.okita.encode import encode_logical
from formulations.okita.exact.incumbent import BestKnown
from formulations.okita.horizon import Windows
from formulations.okita.problem_2_aggregated import decode_aggregated, problem_2_logical
from optsched.solve import solve
from optsched.solvers.solution import Status

SECONDS, SHARE = 3.0, 0.2
"""Time that it has: seconds at most, and part of what is left."""
SMALL = 500
"""Slots of all jobs, times sites, up to which the model is small."""


def take_small(known: BestKnown, span: Windows) -> None:
    """Take what the model proves and finds from the best schedule on, if it is small.

    Args:
        known: the best schedule and bound so far.
        span: the slots that a schedule as cheap as that keeps to.
    """
    instance = known.instance
    if len(span.cells[0]) * instance.sites > SMALL:
        return
    within: dict[str, Any] = {"horizon_mode": known.mode, "cost_limit": known.cost}
    options = replace(
        known.options,
        time_limit=known.clock.within(SHARE, SECONDS),
        stop=known.clock.stop,
        on_progress=None,
        gap=0.0,
        absolute_gap=0.0,
    )
    if known.schedule is not None:
        start = encode_logical(instance, known.schedule, **within)
        options = replace(options, warm_start=start)
    found = solve(problem_2_logical(instance, **within), "cpsat", options=options)
    if found.has_point:
        known.offer(decode_aggregated(instance, found, **within))
    if found.bound is not None:
        known.raise_bound(min(found.bound, known.cost))
    if found.status is Status.OPTIMAL and found.objective is not None:
        known.proven = known.as_good(found.objective)
