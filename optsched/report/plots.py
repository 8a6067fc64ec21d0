"""Plots: each draws on the axis it is given and returns it."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from optsched.evaluation.comparison import profile
from optsched.evaluation.tables import CONFIDENCE, mean_interval, summarise
from optsched.solvers.solution import Solution

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933",
)  # fmt: skip
"""Told apart by the colour-blind, too."""

MARKERS = "osD^vPX*"

LINES = ("-", "--", "-.", ":")
"""So that a curve shows through another that lies on it."""

LOGARITHMIC = 4.0
"""Largest over smallest ratio beyond which a study's axes are logarithmic."""

WIDE = 50.0
"""The same for the axes of other quantities."""

NAME_WIDTH = 26
"""Most letters in a line of a name beside an axis."""

LETTERS_PER_INCH = 12
"""Letters of ticks that fit into an inch."""


def means_against(
    ax: Axes, table: pd.DataFrame, x: str, by: str = "heuristic", y: str = "ratio"
) -> Axes:
    """Draw means over instances against a parameter, one colour per group.

    The thin bar is the confidence interval of the mean. Of ratios, the thick bar spans the mean
    against the best schedules to that against the proven bounds; it shrinks to the marker if
    optima are proven. Lines join the means of one group if the parameter is a number: names have
    no order. Rows without a value, and means that are infinite, are left out.

    Args:
        ax: where to draw.
        table: rows of ratios, from ``optsched.evaluation.tables.frame``.
        x: column on the horizontal axis; numbers, or names spaced evenly.
        by: column that makes the groups.
        y: "ratio", or a column of numbers.
    """
    means = group_means(table, y, [by, x])
    means = means[np.isfinite(means["mean_high"].astype(float))]
    numeric = pd.api.types.is_numeric_dtype(means[x])
    known = list(pd.unique(means[x]))
    place = {one: float(one) if numeric else float(i) for i, one in enumerate(known)}
    names = list(pd.unique(table[by]))  # so that a group keeps its colour in every plot
    shift = dict(zip(names, _shifts(len(names), sorted(place.values())), strict=True))
    for index, name in enumerate(names):
        line = means[means[by] == name]
        if line.empty:
            continue
        at = np.array([place[one] for one in line[x]]) + shift[name]
        order = np.argsort(at)
        low, high, ci_low, ci_high = (
            line[column].to_numpy(float)[order]
            for column in ("mean_low", "mean_high", "ci_low", "ci_high")
        )
        at, middle = at[order], (low + high) / 2
        colour, marker = _colour_and_marker(index)
        ax.vlines(at, ci_low, ci_high, color=colour, linewidth=1)
        ax.vlines(at, low, high, color=colour, linewidth=5, alpha=0.5)
        ax.plot(
            at, middle, color=colour, marker=marker, markersize=5, linewidth=1, label=str(name),
            linestyle="-" if numeric else "none",
        )  # fmt: skip
    if y == "ratio":
        ax.axhline(1, color="grey", linewidth=0.8, linestyle=":")
    labels = [f"{one:g}" for one in known] if numeric else _told_apart(list(map(str, known)))
    _ticks(ax, dict(zip(labels, place.values(), strict=True)), slant=not numeric)
    ax.set_xlabel(x.replace("_", " "))
    ax.set_ylabel(f"mean {_said(y)}, {CONFIDENCE:.0%} interval")
    legend_above(ax)
    return ax


def means_by(ax: Axes, table: pd.DataFrame, by: str = "heuristic", y: str = "ratio") -> Axes:
    """Draw the mean of each group as a dot on its own row.

    The dark bar is the confidence interval of the mean, the pale line spans the least to the
    largest value. Of ratios, a broad bar spans the mean against the best schedules to that against
    the proven bounds. Rows without a value are left out; a group with infinite ones says so.

    Args:
        ax: where to draw.
        table: rows of ratios, from ``optsched.evaluation.tables.frame``.
        by: column that makes the groups.
        y: "ratio", or a column of numbers.
    """
    means = group_means(table, y, [by])
    for place, line in enumerate(means.to_dict("records")):
        colour, marker = _colour_and_marker(place)
        if not np.isfinite(line["mean_high"]):
            ax.annotate("infinite", (0.02, place), xycoords=("axes fraction", "data"), va="center")
            continue
        ax.hlines(place, line["min_low"], line["max_high"], color=colour, linewidth=1, alpha=0.5)
        ax.hlines(place, line["ci_low"], line["ci_high"], color=colour, linewidth=3)
        ax.hlines(place, line["mean_low"], line["mean_high"], color=colour, linewidth=8, alpha=0.4)
        middle = (line["mean_low"] + line["mean_high"]) / 2
        ax.plot(middle, place, marker=marker, color=colour, markersize=7)
    if y == "ratio":
        ax.axvline(1, color="grey", linewidth=0.8, linestyle=":")
    names = [_in_lines(str(name)) for name in means[by]]
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(f"mean {_said(y)}, {CONFIDENCE:.0%} interval")
    return ax


def _in_lines(name: str) -> str:
    """A long name with its options on separate lines."""
    if len(name) <= NAME_WIDTH:
        return name
    head, _, options = name.partition("(")
    lines = textwrap.wrap(options, NAME_WIDTH, max_lines=2, placeholder=" …")
    return "\n".join([f"{head}(", *lines] if options else textwrap.wrap(name, NAME_WIDTH))


def group_means(table: pd.DataFrame, y: str, keys: Sequence[str]) -> pd.DataFrame:
    """Means by group, their intervals, the least and largest value, and how many there are."""
    ends = ["ratio_low", "ratio_high"] if y == "ratio" else [y, y]
    columns = [*keys, "n", "mean_low", "mean_high", "ci_low", "ci_high", "min_low", "max_high"]
    lines = []
    for values, group in table.dropna(subset=[*ends, *keys]).groupby(list(keys), sort=False):
        low, high = (group[end].to_numpy(float) for end in ends)
        if y == "ratio":
            interval = tuple(summarise(group, []).loc[0, ["ci_low", "ci_high"]])
        else:
            interval = mean_interval(low.tolist())
            if low.min() >= 0:
                interval = max(interval[0], 0.0), interval[1]
        lines.append((*values, len(low), low.mean(), high.mean(), *interval, low.min(), high.max()))
    return pd.DataFrame(lines, columns=columns)


def _colour_and_marker(index: int) -> tuple[str, str]:
    """The look of a group: the ninth has the colour of the first, and another marker."""
    turn = index // len(COLOURS)
    return COLOURS[index % len(COLOURS)], MARKERS[(index + turn) % len(MARKERS)]


def _said(y: str) -> str:
    return y.removeprefix("measure_").replace("_", " ")


def _told_apart(names: Sequence[str]) -> list[str]:
    """Names without the parts that all share, such as options of instances that do not vary."""
    parts = [name.split(",") for name in names]
    shared = set(parts[0]).intersection(*parts[1:]) if len(parts) > 1 else set()
    short = [",".join(one for one in part if one not in shared) for part in parts]
    return [one if len(one) <= NAME_WIDTH else f"…{one[1 - NAME_WIDTH :]}" for one in short]


def _ticks(ax: Axes, places: Mapping[str, float], *, slant: bool) -> None:
    """Name places on the horizontal axis, as many of them as its width takes.

    Args:
        ax: what holds the axis.
        places: by name.
        slant: whether names that are too long to stand side by side are turned.
    """
    if not places:
        return
    figure = ax.get_figure(root=True)
    width = ax.get_position().width * (figure.get_figwidth() if figure is not None else 6.0)
    at = sorted(places.values())
    letter = (at[-1] - at[0] or 1.0) / (width * LETTERS_PER_INCH)
    longest = letter * (max(map(len, places)) + 1)
    slant = slant and longest > min(np.diff(at), default=longest)
    kept: dict[str, float] = {}
    end = -np.inf
    for name, middle in sorted(places.items(), key=lambda one: one[1]):
        half = letter * (2 if slant else len(name) + 1) / 2
        if middle - half >= end:
            kept[name], end = middle, middle + half
    ax.set_xticks(list(kept.values()), list(kept))
    if slant:
        ax.tick_params(axis="x", labelrotation=30)
        for label in ax.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")


def legend_above(ax: Axes) -> None:
    """Outside the axis, where it hides nothing; as many columns as its width takes."""
    labels = ax.get_legend_handles_labels()[1]
    if not labels:
        return
    figure = ax.get_figure(root=True)
    inches = ax.get_position().width * (figure.get_figwidth() if figure is not None else 6.0)
    entry = 0.55 + 0.06 * max(map(len, labels))  # a handle, and letters of the small font
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=max(1, min(int(inches / entry), len(labels))),
        fontsize="small",
        frameon=False,
    )


def _shifts(groups: int, places: Sequence[float]) -> NDArray[np.floating]:
    """Sideways shifts that keep the bars of several groups apart, in units of the axis."""
    step = min(np.diff(places), default=1.0)
    span = max(places, default=0.0) - min(places, default=0.0) or 1.0
    width = min(0.08 * step, 0.02 * span, 0.5 * step / max(groups, 1))
    return (np.arange(groups) - (groups - 1) / 2) * width


def ratio_distribution(ax: Axes, frame: pd.DataFrame) -> Axes:
    """Share of the instances whose ratio is at most a value, one line per heuristic.

    The share lies within the band between the curve of the low ends and that of the high ends,
    which are one if all optima are proven. Rows that lack an end are left out; infinite ratios
    count, and are never reached.
    """
    table = frame.dropna(subset=["ratio_low", "ratio_high"])
    for index, name in enumerate(pd.unique(frame["heuristic"])):
        rows = table[table["heuristic"] == name]
        if rows.empty:
            continue
        low = np.sort(rows["ratio_low"].to_numpy(float))
        high = np.sort(rows["ratio_high"].to_numpy(float))
        at = np.unique(np.concatenate([low, high]))
        at = at[np.isfinite(at)]  # a curve that stays below 1 tells of infinite ones
        if not len(at):
            continue
        best = np.searchsorted(low, at, side="right") / len(low)
        worst = np.searchsorted(high, at, side="right") / len(high)
        colour = COLOURS[index % len(COLOURS)]
        ax.fill_between(at, worst, best, step="post", color=colour, alpha=0.25, linewidth=0)
        ax.step(
            np.concatenate([at[:1], at]),
            np.concatenate([[0.0], worst]),
            where="post",
            color=colour,
            linestyle=LINES[index % len(LINES)],
            label=str(name),
        )
    ax.set_xlabel("ratio")
    ax.set_ylabel("share of instances at most")
    ax.set_ylim(0, 1.02)
    legend_above(ax)
    return ax


def performance_profile(ax: Axes, frame: pd.DataFrame) -> Axes:
    """Dolan and More's profile: share of the instances within a factor of the best heuristic.

    A curve that stays below 1 tells of instances without a schedule; see ``comparison.profile``.
    """
    values = profile(frame)
    finite = [v[np.isfinite(v)] for v in values.values()]
    end = max((v.max() for v in finite if len(v)), default=1.0) * 1.05
    for index, (name, found) in enumerate(values.items()):
        reached = found[np.isfinite(found)]
        at = np.concatenate([[1.0], reached, [end]])
        shares = np.searchsorted(found, at, side="right") / max(len(found), 1)
        colour, line = COLOURS[index % len(COLOURS)], LINES[index % len(LINES)]
        ax.step(at, shares, where="post", color=colour, linestyle=line, label=str(name))
    if end > LOGARITHMIC:
        ax.set_xscale("log")
    ax.set_xlabel("cost over that of the best heuristic")
    ax.set_ylabel("share of instances")
    ax.set_ylim(0, 1.02)
    legend_above(ax)
    return ax


def ratio_boxes(ax: Axes, frame: pd.DataFrame) -> Axes:
    """Median, quartiles and extremes of the ratios, one box per heuristic.

    The filled box is of the upper ends. Where some optimum is not proven, a hollow box of the
    lower ends stands above it: the true one lies between. Rows that lack an end, or are infinite,
    are left out.

    Args:
        ax: where to draw.
        frame: rows of ratios, from ``optsched.evaluation.tables.frame``.
    """
    table = frame.dropna(subset=["ratio_low", "ratio_high"])
    table = table[np.isfinite(table["ratio_high"].astype(float))]
    names = list(pd.unique(frame["heuristic"]))
    for index, name in enumerate(names):
        rows = table[table["heuristic"] == name]
        low, high = (rows[end].to_numpy(float) for end in ("ratio_low", "ratio_high"))
        if not len(rows):
            continue
        colour, proven = COLOURS[index % len(COLOURS)], bool((low == high).all())
        ends = [(high, 0.6 if proven else 0.35, index + (0.0 if proven else 0.2), True)]
        ends += [] if proven else [(low, 0.35, index - 0.2, False)]
        for values, width, place, filled in ends:
            box = ax.boxplot(
                values,
                orientation="horizontal",
                positions=[place],
                widths=width,
                whis=(0, 100),
                patch_artist=True,
                medianprops={"color": "black"},
            )
            box["boxes"][0].set(
                facecolor=colour if filled else "none", edgecolor=colour, alpha=0.6 if filled else 1
            )
    ax.axvline(1, color="grey", linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(names)), [str(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel("ratio")
    return ax


def over_time(
    ax: Axes,
    curves: Mapping[str, tuple[NDArray[np.floating], NDArray[np.floating]]],
    *,
    what: str,
    unit: str = "slots",
) -> Axes:
    """Quantities that are constant between moments, such as utilisation or queue length.

    Args:
        ax: where to draw.
        curves: by name, the moments at which the quantity changes, ascending, one more than
            there are values, and its value between each and the next.
        what: the quantity.
        unit: of time.
    """
    for index, (name, (time, value)) in enumerate(curves.items()):
        if len(value):
            ax.stairs(
                value,
                time,
                baseline=None,
                color=COLOURS[index % len(COLOURS)],
                linestyle=LINES[index % len(LINES)],
                label=name,
            )
    ax.set_xlabel(f"time ({unit})")
    ax.set_ylabel(what)
    ax.set_ylim(bottom=0)
    if len(curves) > 1:
        legend_above(ax)
    return ax


def gap_over_time(ax: Axes, solution: Solution) -> Axes:
    """Best point and proven bound while a solve went on; the gap lies between them.

    Args:
        ax: where to draw.
        solution: what ``optsched.solve`` returned; ``solution.progress`` is the same as a table.
    """
    table = solution.progress
    for colour, column in zip(COLOURS, ("objective", "bound"), strict=False):
        at, values = table["seconds"], table[column]
        ax.step(at, values, color=colour, label=column, where="post", marker=".")
    low, high = table["bound"], table["objective"]
    ax.fill_between(table["seconds"], low, high, step="post", color="grey", alpha=0.2, linewidth=0)
    ax.set_xlabel("time (s)")
    ax.set_ylabel("objective")
    ax.legend(frameon=False)
    return ax


class Picture(Figure):
    """A figure that a notebook shows by itself, whatever it is set to."""

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        with mpl.rc_context({"svg.hashsalt": "optsched", "svg.fonttype": "none"}):
            self.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()


def logarithmic_where_wide(ax: Axes, axis: Axis, frame: pd.DataFrame, y: str = "ratio") -> None:
    """Make an axis logarithmic, its ticks plain numbers, where the values differ much.

    Args:
        ax: what holds the axis.
        axis: ``ax.xaxis`` or ``ax.yaxis``.
        frame: rows of ratios, from ``optsched.evaluation.tables.frame``.
        y: "ratio", or a column of numbers.
    """
    values = frame[["ratio_low", "ratio_high"] if y == "ratio" else [y]].to_numpy(float)
    values = values[(values > 0) & np.isfinite(values)]
    beyond = LOGARITHMIC if y == "ratio" else WIDE
    if not len(values) or values.max() <= beyond * values.min():
        return
    if axis is ax.xaxis:
        ax.set_xscale("log", nonpositive="clip")
    else:
        ax.set_yscale("log", nonpositive="clip")
    few = values.max() < 10 * values.min()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if few else (1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())
