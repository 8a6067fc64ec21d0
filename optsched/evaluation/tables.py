"""Rows of ratios as tables: one line per row, and summaries with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optsched.evaluation.guarantees import PREFIX, guarantee_statistics
from optsched.evaluation.ratios import Row
from optsched.evaluation.runs import NOT_TRIED

CONFIDENCE = 0.95
"""Level of the confidence intervals of means."""

SPREAD = 1e-9
"""Relative range up to which values count as equal."""


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """One line per row; a heuristic's own options are missing if another has them."""
    records = [row.record() for row in rows]
    every = list(Row("", "", 0, "", "").record())  # where there is no row yet
    columns = list(dict.fromkeys(name for record in records for name in record)) or every
    return pd.DataFrame(records, columns=columns)


def options_of(table: pd.DataFrame) -> list[str]:
    """The columns that hold options of generators and heuristics.

    Args:
        table: what ``frame`` gives.
    """
    every = Row("", "", 0, "", "").record()
    found = ("bound_", "ratio_", "source_ratio_", "measure_", PREFIX)
    return [name for name in map(str, table) if name not in every and not name.startswith(found)]


def summarise(table: pd.DataFrame, by: Sequence[str] = ("heuristic",)) -> pd.DataFrame:
    """Mean and largest ratio by group, with a confidence interval of the mean.

    ``mean_low`` and ``mean_high`` enclose the mean ratio of the rows that have both ends; how
    many these are stands in ``measured``, how many of them are points in ``proven``, how many of
    these are proven in exact arithmetic in ``verified``, the share of infinite ones in
    ``infinite``: with any, mean and worst are infinite. ``ci_low`` and ``ci_high`` are the outer
    ends of ``ratio_interval`` of the low ends and of the high ends; if there is none,
    ``ci_note`` says why. Guarantees have columns if any row has one: see
    ``optsched.evaluation.guarantees``. Heuristics are compared by ``comparison.compare``.

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
    low, high = both["ratio_low"].to_numpy(float), both["ratio_high"].to_numpy(float)
    floor = 0.0 if "may_beat" in both and both["may_beat"].astype(bool).any() else 1.0
    ci_low, ci_high = ratio_interval(low, floor)[0], ratio_interval(high, floor)[1]
    note = "" if ci_high == ci_high else "all equal"
    if ci_low != ci_low and not note:
        ci_low = floor  # low ends that are all equal say nothing more
    against = [
        name for name in group.columns if name.startswith(("ratio_", "source_ratio_", "measure_"))
    ]
    return (
        {
            "rows": len(group),
            "measured": len(both),
            "proven": int(both["optimum"].notna().sum()),
            "verified": int((both["known_by"] == "proven").sum()),
            "infinite": float(np.isinf(low).mean()) if len(low) else math.nan,
            "mean_low": _mean(low),
            "mean_high": _mean(high),
            "ci_low": ci_low if not note else math.nan,
            "ci_high": ci_high if not note else math.nan,
            "ci_note": note if len(both) > 1 else ("no value", "one value")[len(both)],
            "max_low": low.max(initial=-math.inf) if len(low) else math.nan,
            "max_high": high.max(initial=-math.inf) if len(high) else math.nan,
        }
        | {
            f"mean_{name}": group[name].astype(float).mean()
            for name in against
            if name not in ("ratio_low", "ratio_high")
        }
        | guarantee_statistics(group)
    )


def remarks(table: pd.DataFrame) -> list[str]:
    """What has to be said of all rows together, a sentence each.

    Args:
        table: what ``frame`` gives.
    """
    return [*filter(None, (interpretations(table), granted_more(table), untried(table)))]


def untried(table: pd.DataFrame) -> str:
    """On how many runs of online heuristics foresight was looked for; empty if on all.

    Args:
        table: what ``frame`` gives.
    """
    online = table["foresight"][table["foresight"] != ""]
    tried = int((online != NOT_TRIED).sum())
    if tried == len(online):
        return ""
    return f"{tried} of {len(online)} runs were tested for decisions that depend on later arrivals"


def granted_more(table: pd.DataFrame) -> str:
    """Whose schedules are none of those the optimum is over, in words; empty if all are.

    Args:
        table: what ``frame`` gives.
    """
    free = table["may_beat"].astype(bool)
    if not free.any():
        return ""
    counts = free.groupby(table["heuristic"], sort=False).agg(["sum", "size"])
    named = [f"{name} ({some} of {n})" for name, (some, n) in counts.iterrows() if some]
    told = "ratios may be below 1, as schedules do what the optimum may not"
    return f"{told} (start between slots, run faster, preempt): {', '.join(named)}"


def interpretations(table: pd.DataFrame) -> str:
    """How instances were taken to have their optima and bounds; empty if they are as given.

    Args:
        table: what ``frame`` gives.
    """
    taken = table["interpretation"].fillna("")
    counts = taken[taken != ""].value_counts(sort=False)
    named = [f"{text} ({some} of {len(table)} rows)" for text, some in counts.items()]
    return f"optima and bounds hold for {'; '.join(named)}" if named else ""


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan


def ratio_interval(values: NDArray[np.float64], floor: float = 1.0) -> tuple[float, float]:
    """Confidence interval of a mean ratio, made for few and skewed values.

    From below Student's interval, cut off at ``floor``; from above Student's interval of the
    logarithm of what the mean exceeds ``floor`` by, which reaches further. On the ratios we have
    and on lognormal ones it holds the mean in 94 to 96 % of the samples of 5, 10 and 30 (in 89 to
    98 % of any one population's), where Student's alone holds it in 92 to 94 % and scipy's BCa
    bootstrap in 81, 86 and 93 %
    (``benchmarks/interval_coverage.py``). Not numbers for fewer than two values and if all are
    equal, which say nothing of their spread; infinite if any value is.

    Args:
        values: ratios of independent instances.
        floor: below which no mean ratio can lie: 1, or 0 if algorithms are granted more than
            the optimum.
    """
    if not np.isfinite(values).all():
        return math.inf, math.inf
    if len(values) < 2 or np.ptp(values) <= SPREAD * abs(float(values.mean())):
        return math.nan, math.nan
    mean, half = float(values.mean()), _half_width(values)
    excess = mean - floor
    if excess <= 0.0:  # within rounding of the floor
        return floor, mean + half
    return max(floor, mean - half), floor + excess * math.exp(min(half / excess, 700.0))


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Student-t confidence interval of the mean; not numbers for fewer than two values."""
    half = _half_width(np.asarray(values, dtype=float))
    mean = float(np.mean(values)) if len(values) else math.nan
    return mean - half, mean + half


def _half_width(values: NDArray[np.floating]) -> float:
    """Half the Student-t interval of the mean."""
    if len(values) < 2:
        return math.nan
    from scipy.special import stdtrit  # what scipy.stats calls, which loads three times as long

    quantile = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def varying(table: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Return the columns that take more than one value."""
    return [name for name in names if name in table and table[name].nunique(dropna=False) > 1]


def span(low: float | None, high: float | None, to: str = " .. ", unknown: str = "-") -> str:
    """Two ends to three digits; one number where both look the same."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return unknown
    ends = [f"{end:.3f}" if math.isfinite(end) else "infinite" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else to.join(ends)


def share(part: float) -> str:
    """A share in per cent, nothing if it is none."""
    return f"{part:.0%}" if part > 0 else ""


def interval_cell(line: Mapping[Any, Any], to: str = " .. ", unknown: str = "-") -> str:
    """The confidence interval of a line of ``summarise``, or why there is none."""
    note = line["ci_note"]
    return f"{unknown} ({note})" if note else span(line["ci_low"], line["ci_high"], to, unknown)


GUARANTEES = ("against", "stated", "worst", "worst / stated", "kept")
"""Headings of the table of guarantees, after the columns that make its groups."""


def guarantee_lines(
    summary: pd.DataFrame, keys: Sequence[str], to: str = " .. ", unknown: str = "-"
) -> list[list[str]]:
    """Set what is stated of each group beside what was measured, as people read it.

    A group has a line for each value that its guarantees are against, and none without one.

    Args:
        summary: what ``summarise`` gives.
        keys: the columns that make its groups.
        to: what stands between two ends.
        unknown: what stands for a value that is not known.
    """
    lines = []
    for line in summary.to_dict("records"):
        for against in _summarised(summary):
            counts = {word: int(line[f"{word}_{against}"]) for word in ("kept", "violated", "open")}
            spans = [
                span(line[f"{name}_low"], line[f"{name}_high"], to, unknown)
                for name in (f"{PREFIX}{against}", f"worst_{against}", f"over_{PREFIX}{against}")
            ]
            if any(counts.values()):
                cells = [str(line[key]) for key in keys]
                lines.append([*cells, against, *spans, _counted(counts)])
    return lines


def _summarised(summary: pd.DataFrame) -> list[str]:
    """What guarantees are against, by the columns of a summary."""
    low = [name for name in map(str, summary) if name.startswith(PREFIX) and name.endswith("_low")]
    return [name.removeprefix(PREFIX).removesuffix("_low") for name in low]


def _counted(counts: Mapping[str, int]) -> str:
    rest = [f"VIOLATED {counts['violated']}"] if counts["violated"] else []
    rest += [f"open {counts['open']}"] if counts["open"] else []
    return ", ".join([f"{counts['kept']} of {sum(counts.values())}", *rest])


def in_words(records: Iterable[Mapping[Any, Any]]) -> list[dict[Any, Any]]:
    """Records for JSON, which has no infinite numbers: "infinite" in their place."""
    return [
        {name: "infinite" if value in (math.inf, -math.inf) else value for name, value in r.items()}
        for r in records
    ]
