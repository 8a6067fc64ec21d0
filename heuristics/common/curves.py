"""Turn what sweeps measured into the rows of a figure: ``x``, ``y``, ``series``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd


def curves(
    frame: pd.DataFrame,
    x: str,
    y: str,
    series: Mapping[Any, str],
    *,
    by: str = "method",
    over: Any = None,
    at: Mapping[str, Any] | None = None,
    panel: tuple[str, Mapping[Any, str]] | None = None,
    factor: float = 1.0,
) -> pd.DataFrame:
    """Return one row per instance and series.

    Args:
        frame: what a sweep measured.
        x: column on the horizontal axis.
        y: column on the vertical axis.
        series: values of ``by`` that are drawn, and their names as printed.
        by: column that makes the series.
        over: value of ``by`` that the others are divided by, instance by instance; None: none.
        at: columns, and the value of each that is drawn.
        panel: column that makes the panels, and their names; what is not named is left out.
        factor: that values are multiplied by, for their unit.
    """
    for column, value in (at or {}).items():
        frame = frame[frame[column] == value]
    values = frame[y]
    if over is not None:
        measured = [name for name in ("seed", "jobs", "servers", x) if name in frame]
        keys = list(dict.fromkeys([*measured, *([panel[0]] if panel else [])]))
        rival = frame[frame[by] == over].set_index(keys)[y]
        values = values / rival.reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy()
    found = pd.DataFrame({"x": frame[x], "y": factor * values, "series": frame[by].map(series)})
    if panel is not None:
        found["panel"] = frame[panel[0]].map(panel[1])
    return found.dropna()
