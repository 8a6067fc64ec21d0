"""Pictures of a schedule: who runs where, how busy the edge is, who waits."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

import numpy as np
from matplotlib.axes import Axes

from formulations.preemptive.instance import CLOUD, Instance
from formulations.preemptive.metrics import (
    StepFunction,
    queue_length,
    utilisation_over_time,
)
from formulations.preemptive.schedule import Schedule
from optsched.report.gantt import gantt as draw_bars
from optsched.report.plots import over_time

NAMED_WORKERS = 30
"""Most rows of a Gantt chart that are named one by one; beyond, servers are."""


def gantt(ax: Axes, instance: Instance, schedule: Schedule) -> Axes:
    """Edge workers from top to bottom, by server, then the cloud; a colour per job.

    A row of the cloud holds one job after the other, however many workers each has there.
    """
    edge = schedule.run_worker != CLOUD
    by_server = np.argsort(instance.worker_server, kind="stable")
    row_of = np.empty(instance.workers, dtype=np.int64)
    row_of[by_server] = np.arange(instance.workers)
    runs = list(
        zip(
            row_of[schedule.run_worker[edge]].tolist(),
            schedule.run_start[edge].tolist(),
            schedule.run_end[edge].tolist(),
            schedule.run_job[edge].tolist(),
            strict=True,
        )
    )
    rows = {
        row: f"server {instance.worker_server[w]}, worker {w}"
        for row, w in enumerate(by_server.tolist())
    }
    cloud = _cloud_rows(schedule, instance.workers)
    rows |= {row: "cloud" for row, *_ in cloud}
    draw_bars(ax, [*runs, *cloud], rows=rows)
    used = sorted({row for row, *_ in [*runs, *cloud]})
    if len(used) > NAMED_WORKERS:
        _name_servers(ax, [rows[row].split(",")[0] for row in used])
    return ax


def _name_servers(ax: Axes, names: list[str]) -> None:
    """Name the middle row of each server, as far as there is room."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    ticks: dict[float, str] = {}
    for name, of in places.items():
        middle = (of[0] + of[-1]) / 2
        if not ticks or middle - max(ticks) >= len(names) / NAMED_WORKERS:
            ticks[middle] = name
    ax.set_yticks(list(ticks), list(ticks.values()))


def _cloud_rows(schedule: Schedule, first: int) -> list[tuple[int, float, float, int]]:
    """Bars of the jobs in the cloud, in as few rows as keep them apart."""
    cloud = schedule.run_worker == CLOUD
    jobs = np.unique(schedule.run_job[cloud])
    spans = []
    for job in jobs.tolist():
        here = cloud & (schedule.run_job == job)
        spans.append((float(schedule.run_start[here].min()), schedule.run_end[here].max(), job))
    bars: list[tuple[int, float, float, int]] = []
    busy: list[tuple[float, int]] = []  # end and row
    for start, end, job in sorted(spans):
        row = heappop(busy)[1] if busy and busy[0][0] <= start else first + len(busy)
        heappush(busy, (float(end), row))
        bars.append((row, start, float(end), job))
    return bars


def utilisation(ax: Axes, instance: Instance, schedule: Schedule) -> Axes:
    """Share of the edge workers that train, over time."""
    return compare_over_time(ax, {"": utilisation_over_time(instance, schedule)}, "utilisation")


def queue(ax: Axes, instance: Instance, schedule: Schedule) -> Axes:
    """Jobs released and not complete of which nothing runs, over time."""
    return compare_over_time(ax, {"": queue_length(instance, schedule)}, "jobs that wait")


def compare_over_time(ax: Axes, curves: Mapping[str, StepFunction], what: str) -> Axes:
    """One curve per name."""
    pairs = {name: (curve.time, curve.value) for name, curve in curves.items()}
    return over_time(ax, pairs, what=what)
