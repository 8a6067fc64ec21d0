"""Figures as drawings in the page: text stays text, points tell what they are, ink is its ink."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.plots import (
    COLOURS,
    MARKERS,
    aligned,
    logarithmic_where_wide,
    performance_profile,
    ratio_against,
    ratio_boxes,
    ratio_distribution,
)
from optsched.problem import Problem

_SIZE = (6.4, 4.2)  # inches

_INK = "#010203"
"""Stands for the colour of the page's text while a figure is drawn."""

_LOOK: dict[Any, Any] = {
    "svg.hashsalt": "optsched",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": "none",
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DECIMAL = re.compile(r"-?\d+\.\d{2,}")
_COMMAND = re.compile(r"\s*([A-Za-z])\s*")
_URL = re.compile(r"url\(#([^)]+)\)")

Told = dict[str, Sequence[str]]
"""By the gid of a collection of points, what each of them is."""


def drawing(figure: Figure, label: str, key: str, told: Told | None = None) -> str:
    """A figure as an SVG element; the same figure has the same one.

    Args:
        figure: drawn under ``look()``.
        label: what it shows, for those who hear the page.
        key: makes its ids differ from those of other drawings in the page.
        told: what points say under the pointer.
    """
    buffer = io.BytesIO()
    with look():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    ElementTree.register_namespace("", _SVG[1:-1])
    root = ElementTree.fromstring(buffer.getvalue())
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    for gid, sentences in (told or {}).items():
        group = next(part for part in root.iter() if part.get("id") == gid)
        for use, sentence in zip(group.iter(f"{_SVG}use"), sentences, strict=True):
            ElementTree.SubElement(use, f"{_SVG}title").text = sentence
    prefix = "s" + hashlib.sha1(key.encode()).hexdigest()[:5]
    _lighten(root, prefix)
    _share_styles(root, prefix)
    del root.attrib["width"], root.attrib["height"]
    root.attrib.update({"role": "img", "aria-label": label})
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(_INK, "currentColor").replace("#000000", "currentColor")


def look() -> Any:
    """The setting in which figures of the page are drawn."""
    return mpl.rc_context(_LOOK)


def _lighten(root: ElementTree.Element, prefix: str) -> None:
    """Short ids, and none that nothing refers to; coordinates to 0.01 point."""
    names: dict[str, str] = {}  # of what is referred to
    for part in root.iter():
        for name, value in part.attrib.items():
            used = [value[1:]] if name == _LINK else _URL.findall(value)
            for one in used:
                names.setdefault(one, f"{prefix}i{len(names)}")
    for part in root.iter():
        for name, value in list(part.attrib.items()):
            if name == "id":
                del part.attrib[name]
                if value in names:
                    part.set("id", names[value])
            elif name == _LINK:
                del part.attrib[name]
                part.set("href", f"#{names[value[1:]]}")
            elif name in ("d", "x", "y", "points", "transform"):
                short = _DECIMAL.sub(_rounded, value)
                part.set(name, _COMMAND.sub(r"\1", short) if name == "d" else short)
            else:
                part.set(name, _URL.sub(lambda found: f"url(#{names[found[1]]})", value))


def _share_styles(root: ElementTree.Element, prefix: str) -> None:
    """One rule for every look that several parts have; the letters are the page's."""
    looks: dict[str, list[ElementTree.Element]] = {}
    for part in root.iter():
        part.text = (part.text or "").strip() or None
        part.tail = None if part.tag != f"{_SVG}tspan" else part.tail
        style = re.sub(r"font-family:[^;]*(;|$)", "", part.attrib.pop("style", "")).strip("; ")
        if style:
            looks.setdefault(style, []).append(part)
    rules = []
    for number, (style, parts) in enumerate(looks.items()):
        if len(parts) == 1:
            parts[0].set("style", style)
            continue
        rules.append(f".{prefix}{number}{{{style}}}")
        for part in parts:
            part.set("class", f"{prefix}{number}")
    sheet = ElementTree.Element(f"{_SVG}style")
    sheet.text = "".join(rules)
    root.insert(0, sheet)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def ratio_pictures(
    table: pd.DataFrame, cells: Sequence[str], x: str | None, key: str
) -> Iterator[tuple[str, str]]:
    """What a picture shows, and its drawing.

    Args:
        table: rows of ratios.
        cells: columns that make groups of instances.
        x: column on the horizontal axis; None: no such picture.
        key: of this part of the page.
    """
    if table.dropna(subset=["ratio_low", "ratio_high"]).empty:
        return
    if x is not None:
        caption = f"Mean ratio against {x.replace('_', ' ')}"
        with look():
            figure = _figure()
            ax = ratio_against(figure.subplots(), table, x)
            logarithmic_where_wide(ax, ax.yaxis, table)
        yield caption, drawing(figure, caption, f"{key}-against")
    caption = "Distribution of the ratios: quartiles and extremes; a point is an instance"
    with look():
        figure = _figure()
        ax = ratio_boxes(figure.subplots(), table)
        told = _points(ax, table)
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
        first = table["heuristic"].iloc[0]
        caption = f"{first} against the others, on the same instances: above the line it is better"
        with look():
            figure = _figure()
            ax = figure.subplots()
            told = _against_the_first(ax, table)
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


def _points(ax: Axes, table: pd.DataFrame) -> Told:
    """A point for every finite ratio, on its heuristic's box."""
    told: Told = {}
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
            f"{row['instance']}: {name} {row['ratio_high']:.4g} ({row['status']})"
            for row in rows.to_dict("records")
        ]
    return told


def _against_the_first(ax: Axes, table: pd.DataFrame) -> Told:
    """A point per instance and other heuristic: the first's ratio to the right, the other's up."""
    finite = table[np.isfinite(table["ratio_high"].astype(float))]
    wide = finite.pivot_table("ratio_high", "instance", "heuristic", aggfunc="first", sort=False)
    first, *others = (name for name in pd.unique(table["heuristic"]) if name in wide)
    told: Told = {}
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
            f"{instance}: {first} {one:.4g}, {other} {two:.4g}"
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


def example_pictures(
    problem: Problem, instance: Any, schedules: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Every picture the problem knows: of all schedules on one axis of time, or one by one."""
    for kind, draw in problem.pictures.items():
        if kind == "gantt" and schedules:
            caption = "gantt: " + "; ".join(schedules)
            with look():
                figure = aligned(draw, instance, schedules, (10, 3.2 * len(schedules)))
            yield caption, drawing(figure, caption, f"{problem.name}-gantt")
            continue
        for number, (name, schedule) in enumerate(schedules.items()):
            caption = f"{kind.replace('_', ' ')}, {name}"
            with look():
                figure = Figure(figsize=(8, 4.5), layout="constrained")
                draw(figure.subplots(), instance, schedule)
            yield caption, drawing(figure, caption, f"{problem.name}-{kind}-{number}")


def _figure() -> Figure:
    return Figure(figsize=_SIZE, layout="constrained")
