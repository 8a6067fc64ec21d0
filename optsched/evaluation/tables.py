"""Rows of ratios as tables: one line per row, and summaries with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from optsched.evaluation.ratios import FIELDS, Row

CONFIDENCE = 0.95
"""Level of the confidence intervals of means."""


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """One line per row; a heuristic's own options are missing where another has them."""
    records = [row.record() for row in rows]
    columns = list(dict.fromkeys(name for record in records for name in record)) or list(FIELDS)
    return pd.DataFrame(records, columns=columns)


def summarise(table: pd.DataFrame, by: Sequence[str] = ("heuristic",)) -> pd.DataFrame:
    """Mean and largest ratio by group, with a confidence interval of the mean.

    ``mean_low`` and ``mean_high`` enclose the mean ratio of the rows that have both ends; how
    many these are stands in ``measured``, how many of them are points in ``proven``, how many of
    these are proven in exact arithmetic in ``verified``. ``ci_low`` and ``ci_high`` are the outer
    ends of the two Student-t intervals, of the low ends' mean and of the high ends' mean, cut off
    at 0; they are missing for fewer than two rows.

    Args:
        table: what ``frame`` gives.
        by: columns that make the groups.
    """
    keys = [table[name] for name in by]
    groups = table.groupby(list(by), sort=False, dropna=False) if keys else [((), table)]
    lines = []
    for values, group in groups:
        line: dict[str, Any] = dict(zip(by, values, strict=True))
        lines.append(line | _statistics(group))
    return pd.DataFrame(lines)


def _statistics(group: pd.DataFrame) -> dict[str, Any]:
    both = group.dropna(subset=["ratio_low", "ratio_high"])
    low, high = both["ratio_low"].astype(float), both["ratio_high"].astype(float)
    half = {end.name: _half_width(end.to_numpy()) for end in (low, high)}
    against = [
        name for name in group.columns if name.startswith(("ratio_", "source_ratio_", "measure_"))
    ]
    return {
        "rows": len(group),
        "measured": len(both),
        "proven": int((both["status"] == "optimal").sum()),
        "verified": int((both["known_by"] == "proven").sum()),
        "mean_low": low.mean(),
        "mean_high": high.mean(),
        "ci_low": max(0.0, low.mean() - half["ratio_low"]) if len(both) > 1 else math.nan,
        "ci_high": high.mean() + half["ratio_high"],
        "max_low": low.max(),
        "max_high": high.max(),
    } | {
        f"mean_{name}": group[name].astype(float).mean()
        for name in against
        if name not in ("ratio_low", "ratio_high")
    }


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Student-t confidence interval of the mean; not numbers for fewer than two values."""
    half = _half_width(np.asarray(values, dtype=float))
    mean = float(np.mean(values)) if len(values) else math.nan
    return mean - half, mean + half


def _half_width(values: NDArray[np.floating]) -> float:
    """Half the Student-t interval of the mean."""
    if len(values) < 2:
        return math.nan
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def varying(table: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Those of the columns that take more than one value."""
    return [name for name in names if name in table and table[name].nunique(dropna=False) > 1]


def span(low: float | None, high: float | None, to: str = " .. ", unknown: str = "-") -> str:
    """Two ends to three digits; one number where both look the same."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return unknown
    ends = f"{low:.3f}", f"{high:.3f}"
    return ends[0] if ends[0] == ends[1] else to.join(ends)


def plain(value: Any) -> Any:
    """What JSON can say: no arrays, no enumerations, null for what is no finite number."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    return value
