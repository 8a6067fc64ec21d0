"""The heuristic's schedule of a case above a better one, on one axis of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.document import parse
from optsched.errors import InputError
from optsched.problem import problem
from optsched.worst.case import Case

if TYPE_CHECKING:
    from collections.abc import Set

CHART = "gantt"
"""The picture of a problem that has time to the right."""

_ALIKE = 6  # decimals to which two bars are the same

Bar = tuple[str, float, float, tuple[float, ...]]
"""Row, start, end, colour."""


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
    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for axis, document, cost, name in (
        (above, case.schedule, case.cost, case.heuristic),
        (below, case.better, case.incumbent, "best schedule known"),
    ):
        chosen.pictures[CHART](axis, instance, parse(chosen.schedule_type, document))
        axis.set_title(f"{name}: {cost:g} {chosen.unit}", loc="left", fontsize="medium")
    above.set_xlabel("")
    differ = _bars(above) ^ _bars(below)
    if differ:
        first = min(start for _, start, _, _ in differ)
        for axis in (above, below):
            axis.axvline(first, color="black", linestyle=":", linewidth=1)
        place = below.get_xaxis_transform()
        below.text(first, 0.02, " first difference", transform=place, fontsize="small")
    return figure


def _bars(axis: Axes) -> Set[Bar]:
    """The bars of a Gantt chart."""
    names = [label.get_text() for label in axis.get_yticklabels()]
    found = set()
    for collection in axis.collections:
        colour = tuple(np.ravel(np.asarray(collection.get_facecolor(), dtype=float)).tolist())
        for path in collection.get_paths():
            box = path.get_extents()
            row = names[min(len(names) - 1, max(0, round((box.y0 + box.y1) / 2)))]
            found.add((row, round(box.x0, _ALIKE), round(box.x1, _ALIKE), colour))
    return found
