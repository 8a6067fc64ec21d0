"""Comparison of heuristics on the same instances.

Two ratios of one instance share its optimum, so their difference has the sign of the difference of
the costs even if the optimum is not proven; between best schedule and best bound lies its size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optsched.evaluation.tables import mean_interval

SAME = 1e-9
"""Relative difference up to which two costs are a tie."""

WITHIN = (1.0, 1.05, 1.25, 2.0)
"""Factors over the best heuristic at which a performance profile is told in a table."""


def compare(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Every two heuristics on the instances on which both have a ratio.

    ``difference_low`` and ``difference_high`` enclose the mean of the first's ratio less the
    second's; ``ci_low`` and ``ci_high`` are the outer ends of Student's intervals (see
    ``mean_interval``) of the two ends. A heuristic wins where it costs less (gains more) by more
    than ``SAME``. Infinite ratios win, tie and lose; they leave no difference.

    Args:
        table: what ``frame`` gives.
        by: columns that make groups of instances.
    """
    groups = table.groupby(list(by), sort=False, dropna=False) if by else [((), table)]
    lines: list[dict[str, Any]] = []
    for values, group in groups:
        low, high = _wide(group, "ratio_low"), _wide(group, "ratio_high")
        for first, second in itertools.combinations(low.columns, 2):
            line = dict(zip(by, values, strict=True))
            ends = [wide[[first, second]].dropna().to_numpy(float) for wide in (low, high)]
            lines.append(line | {"first": first, "second": second} | _pair(*ends))
    return pd.DataFrame(lines)


def _pair(low: NDArray[np.float64], high: NDArray[np.float64]) -> dict[str, Any]:
    one, other = low.T
    same = np.isclose(one, other, rtol=SAME, atol=0.0)
    with np.errstate(invalid="ignore"):
        differences = [first - second for first, second in (low.T, high.T)]
    finite = [d[np.isfinite(d)] for d in differences]
    means = [float(d.mean()) if len(d) else math.nan for d in finite]
    intervals = [mean_interval(d.tolist()) for d in finite]
    return {
        "instances": len(one),
        "wins": int(((one < other) & ~same).sum()),
        "ties": int(same.sum()),
        "losses": int(((one > other) & ~same).sum()),
        "difference_low": min(means),
        "difference_high": max(means),
        "ci_low": min(interval[0] for interval in intervals),
        "ci_high": max(interval[1] for interval in intervals),
    }


def profile(table: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Dolan and More's performance profile (2002): each heuristic's costs over the best one's.

    On each instance on which any heuristic of the table has a ratio, what a heuristic costs is
    divided by what the best of them costs (for gains the other way round); no schedule is infinite.
    The optimum plays no part. The share of values up to t is the profile at t.

    Args:
        table: what ``frame`` gives.

    Returns:
        By heuristic, the values, ascending.
    """
    wide = _wide(table, "ratio_low")
    filled = wide.to_numpy(float, copy=True)
    filled[np.isnan(filled)] = np.inf
    filled = filled[np.isfinite(filled).any(axis=1)]
    best = filled.min(axis=1, keepdims=True, initial=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(filled == best, 1.0, filled / best)
    return {name: np.sort(values[:, i]) for i, name in enumerate(wide.columns)}


def profile_table(table: pd.DataFrame, within: Sequence[float] = WITHIN) -> pd.DataFrame:
    """Share of the instances on which each heuristic is within a factor of the best of them."""
    return pd.DataFrame(
        [
            {
                "heuristic": name,
                "instances": len(values),
                **{f"within_{factor:g}": _share(values <= factor + SAME) for factor in within},
            }
            for name, values in profile(table).items()
        ]
    )


def _share(flags: NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else math.nan


def _wide(table: pd.DataFrame, end: str) -> pd.DataFrame:
    """One line per instance, one column per heuristic, in the order of the table."""
    cases = ["problem", "instance", "seed"]
    named = table.assign(**{end: table[end].astype(float)})
    wide = named.pivot_table(end, cases, "heuristic", aggfunc="first", sort=False, dropna=False)
    return wide.dropna(how="all").reindex(columns=list(pd.unique(table["heuristic"])))
