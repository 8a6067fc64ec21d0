"""The pictures of the report: ratios, flow times, and single runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.problem import Problem
from optsched.report.drawing import Point, Told, drawing, look
from optsched.report.gantt import aligned
from optsched.report.plots import (
    COLOURS,
    LINES,
    LOGARITHMIC,
    MARKERS,
    gap_over_time,
    legend_above,
    logarithmic_where_wide,
    means_against,
    means_by,
    performance_profile,
    ratio_boxes,
    ratio_distribution,
)
from optsched.solvers.solution import Solution

_SIZE = (6.4, 4.2)  # inches

_STEPS = 101  # of a curve of flow times

Leads = Mapping[tuple[str, str], str]
"""By heuristic and instance, the id of the part of the page that shows the run."""


def ratio_pictures(
    table: pd.DataFrame, cells: Sequence[str], x: str | None, key: str, leads: Leads
) -> Iterator[tuple[str, str]]:
    """What a picture shows, and its drawing.

    Args:
        table: rows of ratios.
        cells: columns that make groups of instances.
        x: column on the horizontal axis; None: no such picture.
        key: of this part of the page.
        leads: what a click on a point shows.
    """
    if table.dropna(subset=["ratio_low", "ratio_high"]).empty:
        return
    if x is not None:
        caption = f"Mean ratio against {x.replace('_', ' ')}"
        with look():
            figure = _figure()
            ax = means_against(figure.subplots(), table, x)
            logarithmic_where_wide(ax, ax.yaxis, table)
        yield caption, drawing(figure, caption, f"{key}-against")
    caption = "Distribution of the ratios: quartiles and extremes; a point is an instance"
    with look():
        figure = _figure()
        ax = ratio_boxes(figure.subplots(), table)
        told = _points(ax, table, leads)
        logarithmic_where_wide(ax, ax.xaxis, table)
    yield caption, drawing(figure, caption, f"{key}-boxes", told)
    caption = "Share of the instances whose ratio is at most a value"
    with look():
        figure = _figure()
        ax = ratio_distribution(figure.subplots(), table)
        logarithmic_where_wide(ax, ax.xaxis, table)
    yield caption, drawing(figure, caption, f"{key}-share")
    if table["heuristic"].nunique() > 1:
        caption = "Performance profile: share of the instances within a factor of the best"
        with look():
            figure = _figure()
            performance_profile(figure.subplots(), table)
        yield caption, drawing(figure, caption, f"{key}-profile")
    finite = table[np.isfinite(table["ratio_high"].astype(float))]
    if finite["heuristic"].nunique() > 1:
        first = finite["heuristic"].iloc[0]
        caption = f"{first} against the others, on the same instances: above the line it is better"
        with look():
            figure = _figure()
            ax = figure.subplots()
            told = _against_the_first(ax, finite, leads)
            for axis in (ax.xaxis, ax.yaxis):
                logarithmic_where_wide(ax, axis, table)
        yield caption, drawing(figure, caption, f"{key}-pairs", told)
    if len(cells) > 1:
        by = " and ".join(cells[:2]).replace("_", " ")
        caption = f"Mean ratio of {table['heuristic'].iloc[0]} by {by}"
        with look():
            figure = _figure()
            _heat_map(figure.subplots(), table, cells)
        yield caption, drawing(figure, caption, f"{key}-heat")


def dot_picture(table: pd.DataFrame, key: str) -> str:
    """Return the dot plot of a problem's mean ratios; empty without a ratio.

    Args:
        table: rows of ratios.
        key: of this part of the page.
    """
    if table.dropna(subset=["ratio_low", "ratio_high"]).empty:
        return ""
    caption = "Mean ratios with their intervals"
    with look():
        figure = Figure(
            figsize=(4.2, 0.6 + 0.38 * table["heuristic"].nunique()), layout="constrained"
        )
        ax = means_by(figure.subplots(), table)
        logarithmic_where_wide(ax, ax.xaxis, table)
    return drawing(figure, caption, f"{key}-dots")


def _points(ax: Axes, table: pd.DataFrame, leads: Leads) -> Told:
    """A point for every finite ratio, on its heuristic's box."""
    told: dict[str, list[Point]] = {}
    for index, name in enumerate(pd.unique(table["heuristic"])):
        rows = table[(table["heuristic"] == name) & np.isfinite(table["ratio_high"].astype(float))]
        if rows.empty:
            continue
        ratios = rows["ratio_high"].to_numpy(float)
        aside = index + 0.22 * (np.arange(len(rows)) % 5 - 2) / 2  # apart where ratios are equal
        gid = f"points-{index}"
        colour = COLOURS[index % len(COLOURS)]
        ax.scatter(ratios, aside, s=12, color=colour, linewidths=0, alpha=0.8, zorder=3, gid=gid)
        told[gid] = [
            Point(
                f"{row['instance']}: {name} {row['ratio_high']:.4g} ({row['status']})",
                leads.get((str(name), row["instance"]), ""),
            )
            for row in rows.to_dict("records")
        ]
    return told


def _against_the_first(ax: Axes, finite: pd.DataFrame, leads: Leads) -> Told:
    """A point per instance and other heuristic: the first's ratio to the right, the other's up."""
    wide = finite.pivot_table("ratio_high", "instance", "heuristic", aggfunc="first", sort=False)
    first, *others = wide
    told: dict[str, list[Point]] = {}
    for index, other in enumerate(others, start=1):
        pairs = wide[[first, other]].dropna().astype(float)
        if pairs.empty:
            continue
        gid = f"pairs-{index}"
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
        ax.scatter(
            pairs[first], pairs[other], s=16, color=colour, marker=marker, linewidths=0,
            alpha=0.8, label=str(other), gid=gid,
        )  # fmt: skip
        told[gid] = [
            Point(
                f"{instance}: {first} {one:.4g}, {other} {two:.4g}",
                leads.get((str(other), instance)) or leads.get((str(first), instance), ""),
            )
            for instance, one, two in pairs.itertuples()
        ]
    ax.axline((1, 1), (2, 2), color="grey", linewidth=0.8, linestyle=":")
    ax.set_xlabel(f"ratio of {first}")
    ax.set_ylabel("ratio of the other")
    ax.legend(fontsize="small", frameon=False)
    return told


def _heat_map(ax: Axes, table: pd.DataFrame, cells: Sequence[str]) -> None:
    """Mean upper end of the first heuristic's ratio over two parameters."""
    mine = table[table["heuristic"] == table["heuristic"].iloc[0]]
    mine = mine.assign(ratio_high=mine["ratio_high"].astype(float))
    means = mine.pivot_table("ratio_high", cells[1], cells[0], aggfunc="mean", sort=False)
    ax.pcolormesh(means.to_numpy(), cmap="viridis_r")
    for (row, column), mean in np.ndenumerate(means.to_numpy()):
        ax.text(column + 0.5, row + 0.5, f"{mean:.3f}", ha="center", va="center", color="#808080")
    ax.set_xticks(np.arange(means.shape[1]) + 0.5, [str(one) for one in means.columns])
    ax.set_yticks(np.arange(means.shape[0]) + 0.5, [str(one) for one in means.index])
    ax.set_xlabel(cells[0].replace("_", " "))
    ax.set_ylabel(cells[1].replace("_", " "))


def flow_picture(flow_times: Mapping[str, Sequence[Sequence[float]]], key: str) -> tuple[str, str]:
    """Share of the jobs whose flow time is at most a value, one curve per method.

    Args:
        flow_times: by method, of each instance those of its jobs (slots); every method's on the
            same instances.
        key: of this part of the page.
    """
    count = max(map(len, flow_times.values()))
    caption = (
        "Share of the jobs that take at most so long from release to completion; "
        f"{count} instances, which count the same"
    )
    with look():
        figure = _figure()
        ax = figure.subplots()
        least, most = np.inf, 0.0
        for index, (name, instances) in enumerate(flow_times.items()):
            values = np.concatenate([np.asarray(one, dtype=float) for one in instances])
            weight = np.concatenate([np.full(len(one), 1 / len(one)) for one in instances])
            order = np.argsort(values, kind="stable")
            at, reached = values[order], np.cumsum(weight[order]) / len(instances)
            steps = np.unique(np.linspace(0, len(at) - 1, _STEPS).astype(int))
            colour, line = COLOURS[index % len(COLOURS)], LINES[index % len(LINES)]
            ax.step(at[steps], reached[steps], where="post", color=colour, ls=line, label=name)
            least, most = min(least, at[0]), max(most, at[-1])
        if least > 0 and most > LOGARITHMIC * least:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("flow time (slots)")
        ax.set_ylabel("share of jobs at most")
        legend_above(ax)
    return caption, drawing(figure, caption, f"{key}-flow")


def gap_picture(name: str, solution: Solution, key: str) -> tuple[str, str]:
    """Best point and bound of a solve over time.

    Args:
        name: what was solved, and by what.
        solution: with its trajectory.
        key: of this part of the page.
    """
    caption = f"Best schedule and bound while the longest solve went on: {name}"
    with look():
        figure = _figure()
        gap_over_time(figure.subplots(), solution)
    return caption, drawing(figure, caption, f"{key}-gap")


def run_pictures(
    problem: Problem, instance: Any, schedules: Mapping[str, Any], key: str, *, every: bool
) -> Iterator[tuple[str, str]]:
    """A run drawn as the problem can: Gantt charts on one axis of time, other pictures one by one.

    Args:
        problem: of the instance.
        instance: of all schedules.
        schedules: by title.
        key: of this part of the page.
        every: all pictures the problem knows, instead of the first, a Gantt chart if it has one.
    """
    kinds = sorted(problem.pictures, key=lambda kind: kind != "gantt")
    for kind in kinds if every else kinds[:1]:
        draw = problem.pictures[kind]
        if kind == "gantt" and schedules:
            caption = "gantt: " + "; ".join(schedules)
            with look():
                figure = aligned(draw, instance, schedules, (10, 3.2 * len(schedules)))
            yield caption, drawing(figure, caption, f"{key}-gantt")
            continue
        for number, (name, schedule) in enumerate(schedules.items()):
            caption = f"{kind.replace('_', ' ')}, {name}"
            with look():
                figure = Figure(figsize=(8, 4.5), layout="constrained")
                draw(figure.subplots(), instance, schedule)
            yield caption, drawing(figure, caption, f"{key}-{kind}-{number}")


def _figure() -> Figure:
    return Figure(figsize=_SIZE, layout="constrained")
