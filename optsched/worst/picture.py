"""The heuristic's schedule of a case above a better one, on one axis of time."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.document import parse
from optsched.errors import InputError
from optsched.plots import aligned
from optsched.problem import problem
from optsched.worst.case import Case

CHART = "gantt"
"""The picture of a problem that has time to the right."""


def both_schedules(case: Case) -> Figure:
    """Draw both, with a line at the first moment at which they differ.

    Raises:
        InputError: the problem has no such chart.
    """
    chosen = problem(case.problem)
    if CHART not in chosen.pictures:
        there = ", ".join(chosen.pictures) or "no pictures"
        raise InputError.of("problem", case.problem, f"one with a {CHART} chart; it has {there}")
    instance = parse(chosen.instance_type, case.instance)
    schedules = {
        f"{name}: {cost:g} {chosen.unit}": parse(chosen.schedule_type, document)
        for name, cost, document in (
            (case.heuristic, case.cost, case.schedule),
            ("best schedule known", case.incumbent, case.better),
        )
    }
    return aligned(chosen.pictures[CHART], instance, schedules)
