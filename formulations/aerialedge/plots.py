"""Pictures of a schedule: how full its nodes are, and when its tasks run."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.aerialedge.instance import Floats, Instance
from formulations.aerialedge.metrics import gang_times, served_demand
from formulations.aerialedge.schedule import Schedule
from optsched.report.gantt import gantt
from optsched.report.plots import COLOURS


def node_occupancy(
    ax: Axes, instance: Instance, schedule: Schedule, resource: int = 0, *, phase: int = 0
) -> Axes:
    """Load of every opened node, stacked by task, below its capacity.

    Args:
        ax: where to draw.
        instance: demands and capacities.
        schedule: which task is where.
        resource: index of the resource.
        phase: of the schedule.
    """
    nodes = schedule.opened
    place = {int(b): column for column, b in enumerate(nodes)}
    demand = served_demand(instance, schedule)[:, resource]
    tasks = np.flatnonzero(schedule.placed & (schedule.phase == phase))
    top = np.zeros(len(nodes))
    for t in tasks.tolist():
        column = place[int(schedule.node[t])]
        colour = COLOURS[int(instance.task_job[t]) % len(COLOURS)]
        ax.bar(column, demand[t], 0.8, top[column], color=colour, edgecolor="white", linewidth=0.5)
        top[column] += demand[t]
    ax.hlines(
        instance.capacity[nodes, resource],
        np.arange(len(nodes)) - 0.4,
        np.arange(len(nodes)) + 0.4,
        color="black",
        linewidth=1,
    )
    ax.set_xticks(range(len(nodes)), [str(b) for b in nodes.tolist()])
    ax.set_xlabel("node")
    ax.set_ylabel(instance.resources[resource].replace("_", " "))
    return ax


def occupancy_figure(instance: Instance, schedule: Schedule) -> Figure:
    """``node_occupancy`` for every resource, one below the other."""
    count = len(instance.resources)
    figure = Figure(figsize=(8, 2.5 * count), layout="constrained")
    axes = figure.subplots(count, 1, squeeze=False, sharex=True)[:, 0]
    for resource, ax in enumerate(axes):
        node_occupancy(ax, instance, schedule, resource)
    return figure


def gantt_chart(
    ax: Axes, instance: Instance, schedule: Schedule, times: tuple[Floats, Floats] | None = None
) -> Axes:
    """Tasks on their nodes over time, a colour per job.

    Args:
        ax: where to draw.
        instance: jobs and execution times.
        schedule: which task is where.
        times: start and end of every task, seconds; None: all reserved at time 0, started by
            their dependencies.
    """
    start, end = gang_times(instance) if times is None else times
    tasks = np.flatnonzero(schedule.placed & np.isfinite(start))
    runs = [
        (int(schedule.node[t]), float(start[t]), float(end[t]), int(instance.task_job[t]))
        for t in tasks
    ]
    names = {int(b): f"node {b}" for b in schedule.opened}
    return gantt(ax, runs, rows=names, unit="s")
