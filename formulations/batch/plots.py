"""Pictures of a schedule: who runs where, and how much of the edge is in use."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from formulations.batch.instance import Instance
from formulations.batch.metrics import edge_load
from formulations.batch.schedule import Schedule
from optsched.report.gantt import gantt as draw_bars
from optsched.report.plots import over_time

MOST_LANES = 60
"""Rows of a Gantt chart."""


def gantt(ax: Axes, instance: Instance, schedule: Schedule) -> Axes:
    """Runs on every server, one lane per run at a time; a number is that of its workers.

    Args:
        ax: where to draw.
        instance: the system.
        schedule: what was decided; at most ``MOST_LANES`` lanes are drawn.
    """
    run, server = schedule.place_run, schedule.place_server
    order = np.lexsort((run, schedule.run_start[run], server))
    lanes: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    bars: list[tuple[int, float, float, int]] = []
    notes: list[tuple[float, int, int]] = []
    for i in order.tolist():
        r, s = int(run[i]), int(server[i])
        start, end = int(schedule.run_start[r]) - 1, int(schedule.run_end[r])
        busy = lanes.setdefault(s, [])
        lane = next((k for k, until in enumerate(busy) if until <= start), len(busy))
        if lane == len(busy):
            busy.append(end)
        busy[lane] = end
        row = s * instance.jobs + lane
        cloud = s == instance.cloud_index
        names[row] = ("cloud" if cloud else f"server {s}") if lane == 0 else ""
        bars.append((row, float(start), float(end), int(schedule.run_job[r])))
        notes.append(((start + end) / 2, row, int(schedule.place_workers[i])))
    drawn = sorted(names)[:MOST_LANES]
    place = {row: index for index, row in enumerate(drawn)}
    draw_bars(ax, [bar for bar in bars if bar[0] in place], rows=names)
    for middle, row, workers in notes:
        if row in place:
            ax.text(
                middle, place[row], str(workers), ha="center", va="center", fontsize=6,
                color="white", clip_on=True,
            )  # fmt: skip
    return ax


def utilisation(ax: Axes, instance: Instance, schedule: Schedule) -> Axes:
    """Share of the edge workers held over time."""
    moments, share = edge_load(instance, schedule)
    curve = (moments.astype(float), share)
    return over_time(ax, {"workers": curve}, what="share of edge workers held")
