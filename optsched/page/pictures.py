"""Figures as images inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from optsched.plots import (
    logarithmic_where_wide,
    performance_profile,
    ratio_against,
    ratio_boxes,
    ratio_distribution,
)
from optsched.problem import Problem

_SIZE = (6.4, 4.2)  # inches


def data_uri(figure: Figure) -> str:
    """A figure as the address of an image; the same figure has the same one."""
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "optsched"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def ratio_pictures(table: pd.DataFrame, x: str | None) -> Iterator[tuple[str, str]]:
    """What a picture shows, and its address."""
    if table.dropna(subset=["ratio_low", "ratio_high"]).empty:
        return
    if x is not None:
        figure = _figure()
        ax = ratio_against(figure.subplots(), table, x)
        logarithmic_where_wide(ax, ax.yaxis, table)
        yield f"Mean ratio against {x.replace('_', ' ')}", data_uri(figure)
    figure = _figure()
    ax = ratio_boxes(figure.subplots(), table)
    logarithmic_where_wide(ax, ax.xaxis, table)
    yield "Distribution of the ratios: quartiles and extremes", data_uri(figure)
    figure = _figure()
    ax = ratio_distribution(figure.subplots(), table)
    logarithmic_where_wide(ax, ax.xaxis, table)
    yield "Share of the instances whose ratio is at most a value", data_uri(figure)

    if table["heuristic"].nunique() > 1:
        figure = _figure()
        performance_profile(figure.subplots(), table)
        yield (
            "Performance profile: share of the instances within a factor of the best",
            data_uri(figure),
        )


def example_pictures(
    problem: Problem, instance: Any, schedules: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Every picture the problem knows, of every schedule."""
    for kind, draw in problem.pictures.items():
        for name, schedule in schedules.items():
            figure = Figure(figsize=(8, 4.5), layout="constrained")
            draw(figure.subplots(), instance, schedule)
            yield f"{kind.replace('_', ' ')}, {name}", data_uri(figure)


def _figure() -> Figure:
    return Figure(figsize=_SIZE, layout="constrained")
