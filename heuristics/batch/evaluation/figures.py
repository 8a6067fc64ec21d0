"""Figures 3 to 14 of the batch paper's evaluation.

At the printed sizes most jobs are so long that the unlimited cloud serves them best. Each figure
therefore has a panel with jobs as printed, and one with jobs a tenth as long.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from heuristics.batch.evaluation.measures import BASE, CONTENDED, RATIO_SWEEP, SIZE_SWEEP
from heuristics.common.curves import curves
from heuristics.common.figures import PaperFigure, Printed
from optsched.study.sweep import Scale, Sweep

PANELS = {1.0: "jobs as printed", CONTENDED: "jobs a tenth as long"}
"""By the factor of times."""

BASELINES = {
    "a_online": "A_online",
    "drf": "DRF",
    "fifo": "FIFO",
    "batch_sche": "BatchSche",
}
WEIGHTED = {"weighted": "A_online"}
WITHOUT = {"a_online": "A_online", "preemptive": "Preemptive, one server",
           "preemptive_spread": "Preemptive, several servers"}  # fmt: skip
WITH = {"a_online": "A_online", "preemptive_overhead": "Preemptive, one server",
        "preemptive_overhead_spread": "Preemptive, several servers"}  # fmt: skip
"""A job may preempt the workers of one server, or those of several: it is open."""

DEFAULT = {**BASE, "jobs": 200, "servers": 200}
CAPS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""F of Figure 5; the paper's values are not in the text."""

WINDOWS = {
    "utilisation": "until A_online is done",
    "utilisation_own": "until the algorithm itself is done",
}
RATIO_PANELS = {"jobs": "20 servers", "servers": "15 jobs"}


def _tasks(
    scale: Scale,
    name: str,
    few: tuple[float, ...],
    all_: tuple[float, ...],
    times: tuple[float, ...],
) -> list[dict[str, Any]]:
    """The default and what differs from it in one number."""
    full = scale == "full"
    return [
        {**DEFAULT, "time_scale": time_scale, name: value, "seed": seed}
        for time_scale in times
        for value in (all_ if full else few)
        for seed in range(10 if full else 3)
    ]


def _against(
    name: str,
    few: tuple[float, ...],
    all_: tuple[float, ...],
    times: tuple[float, ...] = tuple(PANELS),
) -> Sweep:
    tasks = partial(_tasks, name=name, few=few, all_=all_, times=times)
    return Sweep(f"batch_{name}", tasks, SIZE_SWEEP.observe)


JOBS = _against("jobs", (100, 200, 300), tuple(range(50, 301, 50)))
SERVERS = _against("servers", (100, 200, 300), tuple(range(100, 301, 50)))
CAP = _against("price_cap", CAPS, CAPS, (1.0,))
GRADIENT = _against("gradient", (50, 300, 575), (50, 150, 300, 450, 575))


def _ratio_tasks(scale: Scale) -> list[dict[str, Any]]:
    less = {} if scale == "full" else {"seconds": 2.0}
    return [{**task, **less} for task in RATIO_SWEEP.tasks(scale)]


RATIOS = replace(RATIO_SWEEP, tasks=_ratio_tasks)


def ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """Figure 14: against jobs, then against servers, for both lengths of jobs."""
    printed = frame[frame["method"] == "printed"]
    return pd.concat(
        curves(printed, x, "completion", PANELS, by="time_scale", at=at).assign(
            panel=RATIO_PANELS[x]
        )
        for x, at in (("jobs", {"servers": 20}), ("servers", {"jobs": 15}))
    )


def utilisation(frame: pd.DataFrame, x: str) -> pd.DataFrame:
    """Figures 12 and 13: workers counted over either window, jobs as printed."""
    return pd.concat(
        curves(frame, x, column, WITHOUT, at={"time_scale": 1.0}, factor=100.0).assign(panel=panel)
        for column, panel in WINDOWS.items()
    )


def by_cap(frame: pd.DataFrame) -> pd.DataFrame:
    """Figure 5: price caps are powers of ten, evenly spaced."""
    found = curves(frame, "price_cap", "weighted", WEIGHTED)
    return found.assign(x=found["x"].map("{:g}".format))


def _total(
    number: int,
    x: str,
    series: dict[str, str],
    *,
    caption: str = "Total completion time",
    y: str = "total completion time (slots)",
    column: str = "completion",
    note: str = "",
) -> PaperFigure:
    """A figure with a panel for each length of jobs."""
    sweep, short, label = {
        "jobs": (JOBS, "J", "number of jobs J"),
        "servers": (SERVERS, "S", "number of edge servers S"),
        "gradient": (GRADIENT, "k_j", "parameter size k_j (MB)"),
    }[x]
    table = partial(curves, x=x, y=column, series=series, panel=("time_scale", PANELS))
    return PaperFigure(
        number, f"{caption} with different {short}.", sweep, table, label,
        dict.fromkeys(PANELS.values(), y), tuple(series.values()), note=note,
    )  # fmt: skip


FREE = "Without upload delay and preemption overhead."
PAID = "With upload delay and preemption overhead."


def _utilisation(number: int, sweep: Sweep, x: str, short: str, label: str) -> PaperFigure:
    """A figure with a panel for each window over which workers are counted."""
    return PaperFigure(
        number, f"Average resource utilization of A_online with {short}.", sweep,
        partial(utilisation, x=x), label,
        dict.fromkeys(WINDOWS.values(), "resource utilization (%)"), tuple(WITHOUT.values()),
        note="Share of the edge's workers; jobs as printed. The paper leaves the window open.",
    )  # fmt: skip


FIGURES = (
    _total(3, "jobs", BASELINES),
    _total(4, "servers", BASELINES),
    PaperFigure(
        5, "Total weighted completion time under different F.", CAP,
        by_cap, "resource price cap F", "total weighted completion time (slots)", ("A_online",),
        note="200 jobs, 200 servers. The text says both that the objective grows with F and that "
        "it falls.",
    ),
    _total(
        6, "servers", WEIGHTED, caption="Total weighted completion time",
        y="total weighted completion time (slots)", column="weighted",
    ),
    _total(7, "jobs", WITHOUT, note=FREE),
    _total(8, "servers", WITHOUT, note=FREE),
    _total(9, "jobs", WITH, note=PAID),
    _total(10, "servers", WITH, note=PAID),
    _total(11, "gradient", WITHOUT, note=FREE),
    _utilisation(12, JOBS, "jobs", "different J", "number of jobs J"),
    _utilisation(13, SERVERS, "servers", "S", "number of edge servers S"),
    PaperFigure(
        14, "Performance ratio.", RATIOS, ratios,
        {"20 servers": "number of jobs J", "15 jobs": "number of edge servers S"},
        dict.fromkeys(RATIO_PANELS.values(), "performance ratio"), tuple(PANELS.values()),
        printed=(Printed("close to 1", 1.0),),
        note="Total completion time over the optimum's, or over its best bound.",
    ),
)  # fmt: skip
"""In the paper's order."""
