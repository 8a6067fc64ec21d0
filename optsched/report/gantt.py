"""Gantt charts: one schedule on an axis, or several below each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.path import Path

from optsched.report.plots import COLOURS, Picture

LEGEND_ENTRIES = 40
"""Longest legend of a Gantt chart: as many looks as there are."""

LEGEND_ROWS = 16
"""Jobs in a column of that legend."""

Bar = tuple[str, float, float, tuple[float, ...]]
"""Row, start, end, colour."""

_ALIKE = 6  # decimals to which two bars are the same


def gantt(
    ax: Axes,
    runs: Iterable[tuple[int, float, float, int]],
    *,
    rows: Mapping[int, str] | Sequence[str] | None = None,
    unit: str = "slots",
) -> Axes:
    """Gantt chart: resources from top to bottom, time to the right, a colour per job.

    The legend names the first jobs only.

    Args:
        ax: where to draw.
        runs: (row, start, end, job) of every bar.
        rows: what to call the rows.
        unit: of time.
    """
    bars = pd.DataFrame(list(runs), columns=["row", "start", "end", "job"])
    used, row = np.unique(bars["row"], return_inverse=True)
    known = sorted(bars["job"].unique())
    look = {job: _look(int(job)) for job in known}  # one look in every chart
    start, end = bars["start"].to_numpy(float), bars["end"].to_numpy(float)
    x, y = np.stack([start, start, end, end], axis=1), row[:, None] + [-0.4, 0.4, 0.4, -0.4]
    corners = np.stack([x, y], axis=2)
    for job, part in bars.assign(row=row).sort_values(["row", "start"]).groupby("job"):
        colour, hatch = look[job]
        path = Path.make_compound_path_from_polys(corners[part.index])
        ax.add_collection(
            PathCollection([path], facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.5)
        )
    ax.autoscale_view()
    ax.set_yticks(
        range(len(used)), [str(rows[row]) if rows is not None else str(row) for row in used]
    )
    ax.set_ylim(len(used) - 0.4, -0.6)
    ax.set_xlabel(f"time ({unit})")
    shown = known[:LEGEND_ENTRIES]
    handles = [
        Patch(
            facecolor=look[job][0],
            hatch=look[job][1],
            edgecolor="white",
            label=f"job {job}",
        )
        for job in shown
    ]
    if len(known) > len(shown):
        handles.append(Patch(facecolor="none", label=f"and {len(known) - len(shown)} more"))
    ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        fontsize="small",
        frameon=False,
        ncols=-(-len(handles) // LEGEND_ROWS),
    )
    return ax


def aligned(
    draw: Callable[[Axes, Any, Any], Axes],
    instance: Any,
    schedules: Mapping[str, Any],
    size: tuple[float, float] = (9, 6),
) -> Figure:
    """Schedules below each other on one axis of time, a line where they first differ.

    Args:
        draw: a problem's Gantt chart: (axis, instance, schedule) -> axis.
        instance: of all schedules.
        schedules: by title.
        size: of the figure, in inches.
    """
    figure = Picture(figsize=size, layout="constrained")
    axes = figure.subplots(len(schedules), 1, sharex=True, squeeze=False)[:, 0]
    named: dict[str, Any] = {}
    for axis, (title, schedule) in zip(axes, schedules.items(), strict=True):
        draw(axis, instance, schedule)
        axis.set_title(title, loc="left", fontsize="medium")
        axis.label_outer()
        legend = axis.get_legend()
        if legend is not None:
            texts = [text.get_text() for text in legend.get_texts()]
            named |= dict(zip(texts, legend.legend_handles, strict=True))
            legend.remove()
    if named:
        axes[0].legend(
            list(named.values()), list(named), loc="upper left", bbox_to_anchor=(1.01, 1),
            fontsize="small", frameon=False, ncols=-(-len(named) // LEGEND_ROWS),
        )  # fmt: skip
    bars = [_bars(axis) for axis in axes]
    differ = {bar for one in bars for bar in one if not all(bar in other for other in bars)}
    if differ:
        first = min(start for _, start, _, _ in differ)
        for axis in axes:
            axis.axvline(first, color="black", linestyle=":", linewidth=1)
        place = axes[-1].get_xaxis_transform()
        axes[-1].text(first, 0.02, " first difference", transform=place, fontsize="small")
    return figure


def _bars(axis: Axes) -> set[Bar]:
    """The bars of a Gantt chart."""
    names = [label.get_text() for label in axis.get_yticklabels()]
    found = set()
    for collection in axis.collections:
        colour = tuple(np.ravel(np.asarray(collection.get_facecolor(), dtype=float)).tolist())
        for corners in (box for path in collection.get_paths() for box in path.to_polygons()):
            box = np.asarray(corners, dtype=np.float64)
            (x0, y0), (x1, y1) = box.min(axis=0), box.max(axis=0)
            row = names[min(len(names) - 1, max(0, round((y0 + y1) / 2)))]
            found.add((row, round(x0, _ALIKE), round(x1, _ALIKE), colour))
    return found


def _look(index: int) -> tuple[str, str]:
    """Colour and hatching of a job: neighbours in number differ in colour."""
    hatches = ("", "//", "..", "xx", "\\\\")
    return COLOURS[index % len(COLOURS)], hatches[index // len(COLOURS) % len(hatches)]
