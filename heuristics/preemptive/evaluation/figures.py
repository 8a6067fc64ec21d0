"""Figures 3 to 13 of the preemptive paper's evaluation.

Whether schedulers of whole jobs can keep up at the edge hangs on what the paper leaves open, the
length of chunks and the workers of a gang. Figures 7 to 10 therefore have a panel as printed, and
one with the interpretation under which the paper's order shows best.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from formulations.preemptive.generator import DEFAULT_SPAN, generate
from formulations.preemptive.metrics import submissions, utilisation_over_time
from heuristics.common.curves import curves
from heuristics.common.data import data_folder
from heuristics.common.figures import PaperFigure, Printed
from heuristics.preemptive.evaluation.measures import (
    METHODS,
    RATIOS,
    TESTBED,
    measure_schedulers,
    philly_instance,
)
from heuristics.preemptive.evaluation.training import MODELS, measure_accuracy
from optsched.evaluation.runs import UnmeasuredError
from optsched.study.sweep import Scale, Sweep

EDGE = {
    "a_online": "A_online",
    "a_online_e": "A_online-E",
    "srtf": "SRTF",
    "tiresias_l": "Tiresias-L",
}
"""The schedulers that preempt, in the paper's order."""
ALL = {**EDGE, "batch_sche": "BatchSche"}
ON_TESTBED = {name: label for name, label in ALL.items() if name != "a_online_e"}

PANELS = {
    "trace": "chunk times as printed, gangs of the trace",
    "chunks": "chunk times × 0.05, a worker per chunk",
}
"""By the workers of a gang."""
SHORT = 0.05
"""Factor of the chunk times in the second panel."""

EPSILONS = {epsilon: f"ε = {epsilon:g}" for epsilon in (0.1, 0.2, 0.3, 0.4, 0.5)}

CHOSEN = (
    "The second panel was chosen among three settings because the order of Figure 7 shows there."
)
"""What a caption says of the panels."""

GENERATED, TRACED = "generated jobs", "jobs of the Philly trace"
"""Panels of submissions in Figure 11."""
SAMPLED = 6
"""Slots between two points of Figure 11."""
SHOWN = 504
"""Slots that Figure 11 shows: three weeks."""


def _seeds(scale: Scale) -> range:
    return range(10 if scale == "full" else 3)


def _simulator_tasks(scale: Scale) -> list[dict[str, Any]]:
    cells = [(jobs, 100) for jobs in range(50, 301, 50)]
    cells += [(300, servers) for servers in (60, 80, 120, 140)]
    return [
        {"jobs": jobs, "servers": servers, "seed": seed, "chunks": chunks, "gang": gang}
        for chunks, gang in ((1.0, "trace"), (SHORT, "chunks"))
        for jobs, servers in cells
        for seed in _seeds(scale)
    ]


def _testbed_tasks(scale: Scale) -> list[dict[str, Any]]:
    return [
        {"jobs": jobs, "servers": 8, "seed": seed, "chunks": 1.0}
        for jobs in (10, 15, 20, 25, 30)
        for seed in range(10)
    ]


def _ratio_tasks(scale: Scale) -> list[dict[str, Any]]:
    """The lines through the middle of the paper's sizes."""
    cells = [(jobs, 25) for jobs in (5, 10, 15, 20, 25)] + [(15, n) for n in (5, 15, 35, 45)]
    return [
        {"jobs": jobs, "servers": servers, "seed": seed}
        for jobs, servers in cells
        for seed in _seeds(scale)
    ]


def measure_use(
    *, jobs: int, servers: int, seed: int, chunks: float, trace: bool = False
) -> list[dict[str, Any]]:
    """Jobs submitted, and the share of busy edge workers under each scheduler, over time.

    Args:
        jobs: J.
        servers: S.
        seed: of the instance and of the schedulers.
        chunks: factor of the printed computing and communication times.
        trace: whether jobs are of the Philly trace.
    """
    if trace:
        instance = philly_instance(jobs=jobs, servers=servers, seed=seed, chunks=chunks)
    else:
        rng = np.random.default_rng(seed)
        instance = generate(rng, jobs=jobs, servers=servers, time_scale=chunks)
    if chunks != 1.0:
        instance = replace(instance, gang_size=instance.num_chunks)
    slots = np.arange(0, SHOWN, SAMPLED)
    middle = np.asarray(slots + 0.5, dtype=np.float64)
    arrived = submissions(instance, SAMPLED).at(middle)
    rows = [
        {"method": "submitted", "slot": slot, "value": value}
        for slot, value in zip(slots.tolist(), arrived.tolist(), strict=True)
    ]
    for name in EDGE:
        made = METHODS[name](instance, np.random.default_rng(seed))
        shares = 100 * utilisation_over_time(instance, made).at(middle)
        rows += [
            {"method": name, "slot": slot, "value": value}
            for slot, value in zip(slots.tolist(), shares.tolist(), strict=True)
        ]
    return rows


def _use_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Jobs of the Philly trace if it is at hand, else generated ones."""
    trace = {"trace": True}
    try:
        data_folder("philly")
    except UnmeasuredError:
        trace = {}
    return [
        {"jobs": 300, "servers": 100, "seed": seed, "chunks": chunks, **trace}
        for chunks in (1.0, SHORT)
        for seed in _seeds(scale)
    ]


def _accuracy_tasks(scale: Scale) -> list[dict[str, Any]]:
    return [{"jobs": 30, "servers": 8, "seed": seed} for seed in _seeds(scale)]


SIMULATOR = Sweep("preemptive_figures", _simulator_tasks, measure_schedulers)
USE = Sweep("preemptive_use", _use_tasks, measure_use)
ACCURACY = Sweep("preemptive_accuracy", _accuracy_tasks, measure_accuracy)
BED = replace(TESTBED, tasks=_testbed_tasks)
LINES = replace(RATIOS, tasks=_ratio_tasks)


def use_over_time(frame: pd.DataFrame) -> pd.DataFrame:
    """Figure 11: submissions in a panel of their own, then utilisation under both chunk times."""
    names = {"submitted": "jobs submitted", **EDGE}
    found = curves(frame, "slot", "value", names)
    submitted = frame["method"] == "submitted"
    panel = frame["chunks"].map({1.0: PANELS["trace"], SHORT: PANELS["chunks"]})
    found["panel"] = panel.mask(submitted, TRACED if "trace" in frame else GENERATED)
    return found[~(submitted & (frame["chunks"] != 1.0))]


def _simulated(
    number: int, caption: str, x: str, y: str, value: str, series: dict[str, str],
    note: str = "", **more: Any,
) -> PaperFigure:  # fmt: skip
    """A figure of the simulator: against jobs on 100 servers, or against servers with 300 jobs."""
    at = {"servers": 100} if x == "jobs" else {"jobs": 300}
    over = "srtf" if value == "jct" else None
    table = partial(curves, x=x, y=value, series=series, over=over, at=at, panel=("gang", PANELS))
    label = f"number of {'jobs J' if x == 'jobs' else 'edge servers S'}"
    return PaperFigure(
        number, caption, SIMULATOR, table, label, dict.fromkeys(PANELS.values(), y),
        tuple(series.values()), note=f"{note} {CHOSEN}".strip(), **more,
    )  # fmt: skip


FIGURES = (
    PaperFigure(
        3, "Accuracy of three ML models.", ACCURACY,
        partial(curves, x="part", y="accuracy", series={name: name for name in MODELS}, by="model"),
        "share of the job's time (%)", "accuracy (%)", tuple(MODELS), over_time=True,
        note="The models are not the paper's: networks with one hidden layer learn digits, chunk "
        "by chunk as A_online runs them. Only that they converge can be compared.",
    ),
    PaperFigure(
        4, "JCT rate with different J in testbed.", BED,
        partial(curves, x="jobs", y="jct", series=ON_TESTBED, over="srtf"),
        "number of jobs J", "JCT rate (of SRTF)", tuple(ON_TESTBED.values()),
        note="Simulated on eight machines of one worker, not measured.",
    ),
    PaperFigure(
        5, "Preemption frequency with different J in testbed.", BED,
        partial(
            curves, x="jobs", y="preemptions",
            series={name: EDGE[name] for name in ("a_online", "srtf", "tiresias_l")},
        ),
        "number of jobs J", "preemptions", ("A_online", "SRTF", "Tiresias-L"),
        note="Simulated on eight machines of one worker, not measured.",
    ),
    PaperFigure(
        6, "Communication overhead in testbed.", BED,
        partial(curves, x="jobs", y="communication", series=ON_TESTBED, over="srtf"),
        "number of jobs J", "communication time rate (of SRTF)", tuple(ON_TESTBED.values()),
        note="Simulated on eight machines of one worker, not measured; by wall clock.",
    ),
    _simulated(
        7, "JCT rate with different J in simulator.", "jobs", "JCT rate (of SRTF)", "jct", ALL,
        printed=(
            Printed("up to 40 % below SRTF", 0.6, of="SRTF", at=300),
            Printed("up to 35 % below Tiresias-L", 0.65, of="Tiresias-L", at=300),
            Printed("up to 50 % below BatchSche", 0.5, of="BatchSche", at=300),
        ),
    ),
    _simulated(
        8, "JCT rate with different S in simulator.", "servers", "JCT rate (of SRTF)", "jct", ALL
    ),
    _simulated(
        9, "Preemption frequency with different J in simulator.", "jobs", "preemptions",
        "preemptions", EDGE, note="Single workers; a suspended gang counts by its size.",
    ),
    _simulated(
        10, "Preemption frequency with different S in simulator.", "servers", "preemptions",
        "preemptions", EDGE, note="Single workers; a suspended gang counts by its size.",
    ),
    PaperFigure(
        11, "Job submission and resource utilization.", USE, use_over_time, "time (h)",
        {
            **dict.fromkeys((GENERATED, TRACED), f"jobs submitted in {SAMPLED} h"),
            **dict.fromkeys(PANELS.values(), "resource utilization (%)"),
        },
        ("jobs submitted", *EDGE.values()), over_time=True,
        printed=tuple(
            Printed("A_online, A_online-E reach 100 %", 100, panel=panel)
            for panel in PANELS.values()
        ),
        note=f"300 jobs, 100 servers. Generated jobs arrive evenly over {DEFAULT_SPAN} h, "
        "without the two peaks of the trace. With --data, jobs arrive as successive jobs of the "
        f"trace did, stretched over the same time. {CHOSEN.replace('second', 'third')}",
    ),
    PaperFigure(
        12, "Competitive ratio of A_online with different J, ε.", LINES,
        partial(
            curves, x="jobs", y="chunk_ratio", series=EPSILONS, by="epsilon", at={"servers": 25}
        ),
        "number of jobs J", "competitive ratio", tuple(EPSILONS.values()),
        printed=(Printed("below 1.7", 1.7), Printed("close to optimal at ε = 0.5", 1.0)),
        note="25 servers; mean completion of chunks over the bound of problem (4) with ζ = 1.",
    ),
    PaperFigure(
        13, "Competitive ratio of A_online with different S, ε.", LINES,
        partial(
            curves, x="servers", y="chunk_ratio", series=EPSILONS, by="epsilon", at={"jobs": 15}
        ),
        "number of edge servers S", "competitive ratio", tuple(EPSILONS.values()),
        printed=(Printed("below 1.7", 1.7), Printed("close to optimal at ε = 0.5", 1.0)),
        note="15 jobs; the caption is missing in the text that we have.",
    ),
)  # fmt: skip
"""In the paper's order."""
