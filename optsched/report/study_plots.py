"""Whole figures of a study, from its table of ratios."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from optsched.errors import InputError
from optsched.evaluation.tables import options_of
from optsched.instances.columns import meant
from optsched.problem.calls import parse_call
from optsched.report.plots import (
    Picture,
    group_means,
    logarithmic_where_wide,
    means_against,
    means_by,
    ratio_distribution,
)


def study_figure(frame: pd.DataFrame, x: str | None = None) -> Picture:
    """The picture of a study: ratios against a parameter that varies, and their distribution."""
    figure = Picture(figsize=(11 if x else 6.5, 4.5), layout="constrained")
    axes = figure.subplots(1, 2 if x else 1, squeeze=False)[0]
    ratio_distribution(axes[-1], frame)
    logarithmic_where_wide(axes[-1], axes[-1].xaxis, frame)
    if x is not None:
        means_against(axes[0], frame, x)
        logarithmic_where_wide(axes[0], axes[0].yaxis, frame)
    return figure


def plot(
    table: pd.DataFrame,
    *,
    y: str = "ratio",
    x: str | None = None,
    by: str = "heuristic",
    path: str | Path | None = None,
) -> Picture:
    """Draw means with their intervals, one panel per problem.

    The caption says how many runs each mean is over. ``Ratios.plot`` explains the arguments.

    Raises:
        InputError: ``y``, ``x`` or ``by`` is not in the table, or the table has no value of ``y``.
    """
    measures = [name for name in map(str, table) if name.startswith("measure_")]
    check_axes(y, x, by, options=options_of(table), measures=measures)
    if x is not None and by == "heuristic":
        table = table.assign(heuristic=[_without(str(name), x) for name in table["heuristic"]])
    keys = [by] if x is None else [by, x]
    parts = {str(name): part for name, part in table.groupby("problem", sort=False)}
    means = {name: group_means(part, y, keys) for name, part in parts.items()}
    drawn = [name for name, found in means.items() if len(found)]
    if not drawn:
        raise InputError.of("y", y, "a quantity of which there is a value; there is none yet")
    heights = [3.6 if x else 0.7 + 0.34 * len(means[name]) for name in drawn]
    figure = Picture(figsize=(7, sum(heights) + 0.6), layout="constrained")
    axes = figure.subplots(len(drawn), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, name in zip(axes, drawn, strict=True):
        if x is None:
            means_by(ax, parts[name], by, y)
            ax.set_title(name, loc="left", fontsize="medium")
        else:
            means_against(ax, parts[name], x, by, y)
            ax.get_legend().set(title=name, alignment="left")
        logarithmic_where_wide(ax, ax.yaxis if x else ax.xaxis, parts[name], y)
    counts = "; ".join(f"{name}: {_counted(means[name]['n'])}" for name in drawn)
    caption = f"Each mean is over n runs, a run being a heuristic on an instance. {counts}"
    figure.supxlabel(textwrap.fill(caption, 90), fontsize="small")
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    return figure


def check_axes(
    y: str, x: str | None, by: str, *, options: Sequence[str], measures: Sequence[str]
) -> None:
    """Refuse what a table has no column for.

    Args:
        y: as of ``plot``.
        x: likewise.
        by: likewise.
        options: of the generator and the heuristics.
        measures: columns of what is measured beside cost and time.

    Raises:
        InputError: naming what there is.
    """
    parameters = [*options, "seed", "instance"]
    allowed = {
        "y": (y, ["ratio", "cost", "seconds", *measures]),
        "x": (x, parameters),
        "by": (by, ["heuristic", *parameters]),
    }
    for field, (value, known) in allowed.items():
        if value is not None and value not in known:
            listed = "one of " + ", ".join(known)
            raise InputError.of(field, value, listed + meant(value, known))


def _counted(counts: pd.Series) -> str:
    least, most = counts.min(), counts.max()
    return f"n = {least}" if least == most else f"n = {least} to {most}"


def _without(call: str, option: str) -> str:
    """A heuristic's call without one of its options."""
    if f"{option}=" not in call:
        return call
    name, options = parse_call(call)
    rest = [f"{key}={value}" for key, value in options.items() if key != option]
    return f"{name}({', '.join(rest)})" if rest else name
