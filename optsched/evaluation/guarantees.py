"""What is stated of heuristics' ratios, beside what was measured.

A ratio is an interval. What is stated is violated if the low end is above it, and kept if the high
end is not: a bound on the optimum can show that it is kept, and only a schedule that it is
violated. Where an optimum is that of another instance, such as one in whole slots, it stays open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from optsched.evaluation.ratios import UNBOUNDED_RATIO
from optsched.problem import COST_TOLERANCE
from optsched.problem.guarantee import OPTIMUM

PREFIX = "stated_"


def stated_against(columns: Iterable[str]) -> list[str]:
    """Return what the guarantees of a table of rows are against."""
    return [name.removeprefix(PREFIX) for name in columns if name.startswith(PREFIX)]


def judged(table: pd.DataFrame, against: str) -> pd.DataFrame:
    """Whether each row keeps what is stated: the rows of which something is stated and measured.

    Returns:
        The rows with ``stated``, the ends of the ratio ``low`` and ``high``, and ``verdict``:
        "kept", "violated" or "open".

    Args:
        table: what ``optsched.evaluation.tables.frame`` gives.
        against: "optimum", or the bound.
    """
    low, high = _ends(table, against)
    found = table.assign(stated=table[PREFIX + against].astype(float), low=low, high=high)
    found = found[found["stated"].notna() & (found["low"].notna() | found["high"].notna())]
    most = found["stated"] * (1 + COST_TOLERANCE)
    comparable = found["interpretation"].fillna("") == ""
    verdict = np.where(found["low"] > most, "violated", "open")
    verdict = np.where(found["high"] <= most, "kept", verdict)
    return found.assign(verdict=np.where(comparable, verdict, "open"))


def _ends(table: pd.DataFrame, against: str) -> tuple[pd.Series[float], pd.Series[float]]:
    """The ends of the ratio that a guarantee is about."""
    if against == OPTIMUM:
        return table["ratio_low"].astype(float), table["ratio_high"].astype(float)
    source = f"source_ratio_{against}"
    measured = table[source if source in table else f"ratio_{against}"].astype(float)
    nothing = (table["status"] == UNBOUNDED_RATIO) & (table[f"bound_{against}"].astype(float) > 0)
    measured = measured.mask(measured.isna() & nothing, math.inf)
    return measured, measured


def guarantee_statistics(group: pd.DataFrame) -> dict[str, Any]:
    """What a summary says of guarantees, by column; nothing if there are none.

    Of each: the least and the largest factor stated, the worst ratio and the worst share of what is
    stated (both ends), and how many rows keep it, violate it and leave it open.
    """
    found: dict[str, Any] = {}
    for against in stated_against(map(str, group)):
        rows = judged(group, against)
        counts = rows["verdict"].value_counts()
        stated = rows["stated"]
        found |= {
            f"{PREFIX}{against}_low": stated.min(),
            f"{PREFIX}{against}_high": stated.max(),
            f"worst_{against}_low": rows["low"].max(),
            f"worst_{against}_high": rows["high"].max(),
            f"over_{PREFIX}{against}_low": (rows["low"] / stated).max(),
            f"over_{PREFIX}{against}_high": (rows["high"] / stated).max(),
        } | {f"{word}_{against}": int(counts.get(word, 0)) for word in ("kept", "violated", "open")}
    return found


def violations(table: pd.DataFrame, guarantees: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Every guarantee that is violated, in a line; empty if none is.

    Args:
        table: what ``optsched.evaluation.tables.frame`` gives.
        guarantees: see ``ComparisonSpec.guarantees``.
    """
    lines = []
    for against in stated_against(map(str, table)):
        rows = judged(table, against)
        for heuristic, group in rows.groupby("heuristic", sort=False):
            broken = group[group["verdict"] == "violated"]
            if broken.empty:
                continue
            worst = broken.iloc[int((broken["low"] / broken["stated"]).argmax())]
            words = guarantees.get(str(heuristic), {}).get(against, "")
            lines.append(
                f"VIOLATED by {heuristic} on {len(broken)} of {len(group)}: "
                f"ratio to {'the ' * (against == OPTIMUM)}{against} {_number(worst['low'])}, "
                f"{_number(worst['stated'])} stated, on {worst['instance']}"
                + (f" ({words})" if words else "")
            )
    return lines


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "infinite"
