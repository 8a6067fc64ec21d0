"""The picture of a case: the algorithm's schedule above a better one, on one time axis."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from optsched.adversary.case import Case
from optsched.adversary.online_bound import OnlineBoundCase
from optsched.errors import InputError
from optsched.instances.document import parse
from optsched.online import stopping_scenarios
from optsched.online.state import arrivals_of
from optsched.problem import problem
from optsched.report.gantt import aligned

CHART = "gantt"
"""The picture of a problem that has time to the right."""


def both_schedules(case: Case | OnlineBoundCase) -> Figure:
    """Draw both, with a line at the first moment at which they differ.

    Of a case against all online algorithms, both are drawn for each future: the best online
    algorithm found, and the best schedule known.

    Raises:
        InputError: the problem has no such chart.
    """
    chosen = problem(case.problem)
    if CHART not in chosen.pictures:
        there = ", ".join(chosen.pictures) or "no pictures"
        raise InputError.of("problem", case.problem, f"one with a {CHART} chart; it has {there}")
    instance = parse(chosen.instance_type, case.instance)
    if isinstance(case, OnlineBoundCase):
        arrivals, futures = arrivals_of(chosen), stopping_scenarios(chosen, instance)
        instance, rows = futures[-1], []
        for i, future in enumerate(futures):
            count = len(arrivals.times(future))
            for name, costs, documents in (
                ("best online", case.costs, case.strategy),
                ("best schedule known", case.incumbents, case.better),
            ):
                made = parse(chosen.schedule_type, documents[i])
                title = f"{count} of {len(arrivals.times(instance))} jobs come, {name}"
                rows.append((title, costs[i], arrivals.relabel(instance, made, np.arange(count))))
    else:
        rows = [
            (name, cost, parse(chosen.schedule_type, document))
            for name, cost, document in (
                (case.heuristic, case.cost, case.schedule),
                ("best schedule known", case.incumbent, case.better),
            )
        ]
    schedules = {f"{name}: {cost:g} {chosen.unit}": made for name, cost, made in rows}
    return aligned(chosen.pictures[CHART], instance, schedules)
