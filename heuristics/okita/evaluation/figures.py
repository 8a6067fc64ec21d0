"""Figures 4 to 14 of Okita's evaluation.

Which sizes of servers the sites have, and how FIFO draws its workers, is open. Under exponential
latency both decide the total cost, so that Figures 9 to 14 have a panel for each interpretation.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from heuristics.common.curves import curves
from heuristics.common.figures import PaperFigure, Printed
from heuristics.okita.evaluation.measures import (
    ALPHAS,
    BETAS,
    COSTS,
    LATENCIES,
    RATIOS,
    TESTBED,
    TIMES,
    WEIGHTS,
)
from heuristics.okita.evaluation.training import ACCURACY, SPREADS
from optsched.study.sweep import Scale, Sweep

SERIES = ("Okita", "OASiS", "DRF", "FIFO")
"""In the order of the legend of Figure 10."""

UNIFORM = {"okita": "Okita", "oasis 1": "OASiS", "drf": "DRF", "fifo uniform": "FIFO"}
MIDDLE = {"okita": "Okita", "oasis 1": "OASiS", "drf": "DRF", "fifo middle": "FIFO"}

PANELS = {
    "mix": "servers of all sizes, FIFO's workers uniform",
    "largest": "largest servers, FIFO's workers in mid range",
}
"""By the kinds of sites."""

MIDDLE_SIZE = {"jobs": 100, "sites": 50, "horizon": 150}
"""The paper's default."""

LAWS = {"exponential": "sigmoid", "linear": "linear", "piecewise": "piecewise"}
"""Latency functions as the paper calls them."""

SPREAD = {
    "even": "dynamic, every class everywhere",
    "by class": "dynamic, one or two classes a site",
}


def _seeded(cells: list[dict[str, Any]], scale: Scale) -> list[dict[str, Any]]:
    seeds = 10 if scale == "full" else 3
    return [{**cell, "seed": seed} for cell in cells for seed in range(seeds)]


def _cost_tasks(scale: Scale, name: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
    """The default, and what differs from it in one respect, under both interpretations."""
    default = {**MIDDLE_SIZE, "latency": "exponential", "workload": "simulation"}
    cells = [{**default, name: value, "site_kinds": kinds} for kinds in PANELS for value in values]
    return _seeded(cells, scale)


def _against(name: str, *values: Any) -> Sweep:
    """Costs of every algorithm where one number varies."""
    tasks = partial(_cost_tasks, name=name, values=values)
    return Sweep(f"okita_costs_{name}", tasks, COSTS.observe)


def _ratio_tasks(scale: Scale) -> list[dict[str, Any]]:
    """Sizes at which the optimum, or a bound near it, is proven."""
    if scale == "full":
        return [dict(task) for task in RATIOS.tasks(scale)]
    return [
        {"jobs": jobs, "sites": sites, "horizon": 20, "seconds": 2.0, "seed": seed}
        for jobs, sites in itertools.product((2, 4, 6), (2, 3, 4))
        for seed in range(3)
    ]


def _time_tasks(scale: Scale) -> list[dict[str, Any]]:
    seeds = 20 if scale == "full" else 2
    return [
        {"jobs": jobs, "sites": sites, "horizon": 150, "seed": seed}
        for jobs, sites in itertools.product((100, 150, 200, 250), (30, 50, 70))
        for seed in range(seeds)
    ]


BED = replace(TESTBED, tasks=lambda scale: TESTBED.tasks("full")[: 50 if scale == "full" else 20])
RATIO_GRID = replace(RATIOS, tasks=_ratio_tasks)
TIME_GRID = replace(TIMES, tasks=_time_tasks)
WEIGHT_GRID = replace(WEIGHTS, tasks=partial(_seeded, [MIDDLE_SIZE]))


def by_algorithm(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """A place on the axis for each algorithm: Figures 4 and 5."""
    found = curves(frame, "method", value, UNIFORM)
    return found.assign(x=found["series"])


def costs(frame: pd.DataFrame, x: str) -> pd.DataFrame:
    """Total costs under both interpretations, each with its own FIFO."""
    parts = [
        curves(frame, x, "cost", series, panel=("site_kinds", {kinds: PANELS[kinds]}))
        for kinds, series in (("mix", UNIFORM), ("largest", MIDDLE))
    ]
    found = pd.concat(parts)
    return found.assign(x=found["x"].map(LAWS)) if x == "latency" else found


def ratios_of_okita(frame: pd.DataFrame) -> pd.DataFrame:
    """Figure 7: a series per number of jobs, against sites."""
    okita = frame[frame["method"] == "okita"]
    names = {jobs: f"I = {jobs}" for jobs in range(2, 11, 2)}
    return curves(okita, "sites", "ratio_low", names, by="jobs")


RATIO_PANELS = {"sites": "all numbers of jobs", "jobs": "all numbers of sites"}


def ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """Figure 8: all algorithms, against sites, then against jobs."""
    return pd.concat(
        curves(frame, x, "ratio_low", UNIFORM).assign(panel=panel)
        for x, panel in RATIO_PANELS.items()
    )


def weights(frame: pd.DataFrame, which: str) -> pd.DataFrame:
    """Figures 11 and 12: the weights of one metric as they are printed, 1:4."""
    mine = frame[frame["weights"] == which]
    names = {str(values): ":".join(f"{one:g}" for one in values) for values in (*ALPHAS, *BETAS)}
    labelled = mine.assign(x=mine["values"].map(names))
    return curves(labelled, "x", "cost", {which: "Okita"}, by="weights")


def accuracy(frame: pd.DataFrame) -> pd.DataFrame:
    """Figure 6: accuracy after each slot; a model that is trained keeps what it has."""
    rows = []
    for (spread, _, _), mine in frame.groupby(["spread", "seed", "job"]):
        after = mine.set_index("slot")["accuracy"]
        slots = range(1, frame["slots"].max() + 1)
        kept = after.reindex(slots).ffill()
        rows += [{"x": slot, "y": kept[slot], "series": SPREAD[str(spread)]} for slot in slots]
        if spread == SPREADS[0]:
            central = mine["central"].iloc[0]
            rows += [{"x": slot, "y": central, "series": "trained in one place"} for slot in slots]
    return pd.DataFrame(rows)


SIZES = (
    "Costs grow exponentially with lateness: a few late jobs decide them. Logarithmic. The second "
    "panel was chosen because the paper's order shows there."
)
RATIO_NOTE = (
    "Cost over that of the best known schedule, at sizes whose optima are mostly proven: 20 slots; "
    "the paper does not say how it has the optimum for its own."
)

FIGURES = (
    PaperFigure(
        4, "Total cost.", BED, partial(by_algorithm, value="cost"), "algorithm", "total cost",
        SERIES, note="Ten jobs on nine servers, simulated and not measured.",
    ),
    PaperFigure(
        5, "Makespan.", BED, partial(by_algorithm, value="makespan"), "algorithm",
        "makespan (slots of 20 minutes)", SERIES,
        note="Ten jobs on nine servers, simulated and not measured.",
    ),
    PaperFigure(
        6, "Training accuracy.", ACCURACY, accuracy, "time slot of training", "accuracy (%)",
        (*SPREAD.values(), "trained in one place"), over_time=True,
        note="The models and the three data sets are not the paper's: networks with one hidden "
        "layer learn digits where and when Okita ran the job.",
    ),
    PaperFigure(
        7, "Performance ratio of Okita.", RATIO_GRID, ratios_of_okita, "number of sites R",
        "performance ratio", tuple(f"I = {jobs}" for jobs in range(2, 11, 2)),
        printed=(Printed("below 1.8", 1.8),), note=RATIO_NOTE,
    ),
    PaperFigure(
        8, "Performance ratio under different numbers of sites and jobs.", RATIO_GRID, ratios,
        {"all numbers of jobs": "number of sites R", "all numbers of sites": "number of jobs I"},
        dict.fromkeys(RATIO_PANELS.values(), "performance ratio"), SERIES,
        note=RATIO_NOTE,
    ),
    PaperFigure(
        9, "Total cost under different numbers of sites.", _against("sites", 30, 40, 50, 60, 70),
        partial(costs, x="sites"), "number of sites R",
        dict.fromkeys(PANELS.values(), "total cost"), SERIES, logarithmic=True, note=SIZES,
    ),
    PaperFigure(
        10, "Total cost under different numbers of jobs.", _against("jobs", 100, 150, 200, 250),
        partial(costs, x="jobs"), "number of jobs I", dict.fromkeys(PANELS.values(), "total cost"),
        SERIES, logarithmic=True, note=SIZES,
    ),
    PaperFigure(
        11, "Total cost under different α1 : α2.", WEIGHT_GRID, partial(weights, which="alpha"),
        "α1 : α2", "total cost", ("Okita",),
        note="100 jobs, 50 sites of all sizes, 150 slots.",
    ),
    PaperFigure(
        12, "Total cost under different β1, β2 and β3.", WEIGHT_GRID,
        partial(weights, which="beta"), "β1 : β2 : β3", "total cost", ("Okita",),
        note="100 jobs, 50 sites of all sizes, 150 slots.",
    ),
    PaperFigure(
        13, "Running time under different numbers of jobs.", TIME_GRID,
        partial(curves, x="jobs", y="seconds", by="sites",
                series={sites: f"R = {sites}" for sites in (30, 50, 70)}),
        "number of jobs I", "running time (s)", ("R = 30", "R = 50", "R = 70"),
        printed=(Printed("below 50 s (MATLAB, Core i5-7300HQ)", 50.0),),
        note="CPU seconds of this machine in Python.",
    ),
    PaperFigure(
        14, "Total cost under different latency cost functions.",
        _against("latency", *LATENCIES), partial(costs, x="latency"), "latency cost function",
        dict.fromkeys(PANELS.values(), "total cost"), SERIES, logarithmic=True, note=SIZES,
    ),
)  # fmt: skip
"""In the paper's order."""
