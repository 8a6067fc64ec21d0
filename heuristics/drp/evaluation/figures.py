"""Figures 2 to 34 of the evaluation of DRP and DSRP.

Figures 2 to 14 are R-DR's, 15 to 26 R-DSR's, each for two topologies and three distributions of
data; 28 to 34 are the test-bed's, simulated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from heuristics.common.curves import curves
from heuristics.common.figures import PaperFigure, Printed
from heuristics.drp.evaluation.measures import DISTRIBUTIONS, measure_drp, measure_dsrp
from heuristics.drp.evaluation.test_bed import TEST_BED, courses
from optsched.study.sweep import Scale, Sweep

R_DR = {
    "lp1_first": "Optimal",
    "r_dr": "R-DR",
    "greedy": "Greedy",
    "nearest": "Nearest",
    "random": "Random",
}
R_DSR = {
    "lp2": "Optimal",
    "r_dsr_raw": "R-DSR",
    "r_dsr": "R-DSR, repaired",
    "r_dr_storage": "R-DR with storage",
}
ON_TEST_BED = {"r_dr": "R-DR", "random": "Random", "nearest fading": "Nearest"}

WHERE = {"hexagon": "hexagon cells", "grid": "grid network"}

CROWDED = 60
"""Jobs at which printed percentages are marked."""

SAMPLED, SHOWN = 100, 6000
"""Seconds between two points of Figure 30, and the last."""


def _tasks(scale: Scale, topology: str, data: str, profile: str) -> list[dict[str, Any]]:
    """Numbers of jobs in one setting of the paper."""
    return [
        {"topology": topology, "distribution": data, "profile": profile, "jobs": jobs,
         "seed": seed, "seconds": 0.0}
        for jobs in range(10, 61, 10)
        for seed in range(10 if scale == "full" else 3)
    ]  # fmt: skip


def _sweep(observe: Callable[..., Any], topology: str, data: str, profile: str) -> Sweep:
    tasks = partial(_tasks, topology=topology, data=data, profile=profile)
    return Sweep(f"{observe.__name__}_{topology}_{data}", tasks, observe)


DRP = {
    (topology, data): _sweep(measure_drp, topology, data, "balanced")
    for topology, data in itertools.product(WHERE, DISTRIBUTIONS)
}
DSRP = {
    (topology, data): _sweep(measure_dsrp, topology, data, "bandwidth_bound")
    for topology, data in itertools.product(WHERE, DISTRIBUTIONS)
}


def measure_course(*, seed: int, load: float, jobs: int) -> list[dict[str, Any]]:
    """Jobs done over time under each method, and how busy each server is; per cent.

    Args:
        seed: of the jobs and of the methods.
        load: see ``Requests.draw``.
        jobs: how many.
    """
    found, _ = courses(jobs, seed, load)
    rows = []
    for name, (ends, busy, _) in found.items():
        rows += [
            {"method": name, "what": "done", "at": second,
             "value": 100 * float(np.mean(ends <= second))}
            for second in range(0, SHOWN + 1, SAMPLED)
        ]  # fmt: skip
        rows += [
            {"method": name, "what": "busy", "at": server, "value": 100 * share}
            for server, share in enumerate((busy / ends.max()).tolist())
        ]
    return rows


def _course_tasks(scale: Scale) -> list[dict[str, Any]]:
    seeds = 50 if scale == "full" else 10
    return [{"seed": seed, "load": 0.9, "jobs": jobs} for jobs in (16, 22) for seed in range(seeds)]


COURSES = Sweep("drp_test_bed_courses", _course_tasks, measure_course)

NOTES = {
    "R-DR": "Optimal is LP1 after PRUNE, as in the paper. Bandwidth and compute are both scarce.",
    "R-DSR": "Optimal is LP2. R-DSR exceeds capacities unless it is repaired; with the printed "
    "thresholds it admits next to nothing and is not drawn. Bandwidth is scarce.",
}
SIMULATED = "The test-bed is simulated by (2) to (4) and Table 2, which leaves jobs' work open."

Marks = dict[tuple[str, str], tuple[Printed, ...]]


def _marks(ours: str, factor_of: dict[str, float], text: str) -> tuple[Printed, ...]:
    """Printed multiples of others' means at the largest number of jobs."""
    return tuple(
        Printed(f"{ours} {text.format(abs(round(100 * (factor - 1))))} {name}", factor, of=name,
                at=CROWDED)
        for name, factor in factor_of.items()
    )  # fmt: skip


def _rivals(greedy: float, nearest: float, random: float) -> tuple[Printed, ...]:
    factors = {"Greedy": greedy, "Nearest": nearest, "Random": random}
    return _marks("R-DR", factors, "{} % above" if greedy > 1 else "{} % below")


THROUGHPUT: Marks = {
    ("R-DR", "hexagon uniform"): _rivals(1.33, 1.51, 1.69),
    ("R-DR", "hexagon normal"): _rivals(1.34, 1.56, 1.69),
    ("R-DR", "grid uniform"): _rivals(1.33, 1.50, 1.79),
    ("R-DR", "grid normal"): _rivals(1.35, 1.57, 1.77),
    ("R-DSR", "hexagon uniform"): _marks("R-DSR", {"R-DR with storage": 1.63}, "{} % above"),
    ("R-DSR", "hexagon normal"): _marks("R-DSR", {"R-DR with storage": 1.69}, "{} % above"),
    ("R-DSR", "grid uniform"): _marks("R-DSR", {"R-DR with storage": 1.67}, "{} % above"),
    ("R-DSR", "grid normal"): _marks("R-DSR", {"R-DR with storage": 1.69}, "{} % above"),
}
SHARE = {("R-DR", "hexagon"): 0.92, ("R-DR", "grid"): 0.94,
         ("R-DSR", "hexagon"): 0.89, ("R-DSR", "grid"): 0.88}  # fmt: skip
"""Of the optimal throughput, at the least."""
BANDWIDTH: Marks = {
    ("R-DR", "hexagon uniform"): _rivals(0.85, 0.84, 0.73),
    ("R-DR", "grid uniform"): _rivals(0.86, 0.83, 0.73),
    ("R-DSR", "hexagon uniform"): _marks("R-DSR", {"R-DR with storage": 0.91}, "{} % below"),
    ("R-DSR", "grid uniform"): _marks("R-DSR", {"R-DR with storage": 0.90}, "{} % below"),
}
ABOVE = {("R-DR", "hexagon"): 1.12, ("R-DR", "grid"): 1.11,
         ("R-DSR", "hexagon"): 1.04, ("R-DSR", "grid"): 1.06}  # fmt: skip
"""Of the optimal's bandwidth per job, at most."""


def _simulations(
    first: int, ours: str, topology: str, sweeps: dict[tuple[str, str], Sweep],
    series: dict[str, str],
) -> Iterator[PaperFigure]:  # fmt: skip
    """Three figures of throughput, then three of bandwidth, one for each distribution."""
    for place, (what, data) in enumerate(
        itertools.product(("throughput", "bandwidth"), DISTRIBUTIONS)
    ):
        setting = ours, f"{topology} {data}"
        if what == "throughput":
            caption, y = "System throughput", "system throughput (jobs)"
            column, factor = "value", 1.0
            share = SHARE[ours, topology]
            marks = THROUGHPUT.get(setting, ())
            bound = Printed(f"at least {share:.0%} of Optimal", share, of="Optimal", at=CROWDED)
        else:
            caption, y = "Average bandwidth cost per job", "bandwidth cost per job (Gbit/s)"
            column, factor = "bandwidth", 1e-9
            marks = BANDWIDTH.get(setting, ())
            above = ABOVE[ours, topology]
            bound = Printed(f"at most {above - 1:.0%} above Optimal", above, of="Optimal",
                            at=CROWDED)  # fmt: skip
        law = "Pareto" if data == "pareto" else data
        yield PaperFigure(
            first + place, f"{caption} under {law} distribution in {WHERE[topology]}.",
            sweeps[topology, data],
            partial(curves, x="jobs", y=column, series=series, factor=factor),
            "number of job requests", y, tuple(series.values()), printed=(*marks, bound),
            note=NOTES[ours],
        )  # fmt: skip


def _on_test_bed(
    number: int, caption: str, y: str, column: str, *printed: Printed,
    series: dict[str, str] = ON_TEST_BED, note: str = SIMULATED,
) -> PaperFigure:  # fmt: skip
    return PaperFigure(
        number, caption, TEST_BED, partial(curves, x="jobs", y=column, series=series),
        "number of job requests", y, tuple(series.values()), printed=printed, note=note,
    )  # fmt: skip


def _busy(number: int, jobs: int) -> PaperFigure:
    """A figure of how busy each edge server is."""
    return PaperFigure(
        number, f"Average GPU Utilization among Each Edges ({jobs} jobs)", COURSES,
        partial(curves, x="at", y="value", series=ON_TEST_BED, at={"what": "busy", "jobs": jobs}),
        "edge server", "GPU utilization (%)", tuple(ON_TEST_BED.values()),
        printed=(Printed("R-DR above 95 %", 95.0),),
        note=f"Share of the time until the last job is done in which it has work. {SIMULATED}",
    )  # fmt: skip


FIGURES = (
    *_simulations(2, "R-DR", "hexagon", DRP, R_DR),
    PaperFigure(
        8, "Illustration of two typical network topologies.",
        missing="It sketches where servers stand and measures nothing.",
    ),
    *_simulations(9, "R-DR", "grid", DRP, R_DR),
    *_simulations(15, "R-DSR", "hexagon", DSRP, R_DSR),
    *_simulations(21, "R-DSR", "grid", DSRP, R_DSR),
    PaperFigure(
        27, "The network topology of the test-bed.",
        missing="It sketches the machines of the test-bed and measures nothing.",
    ),
    _on_test_bed(
        28, "Computation Time of Algorithms", "computation time (s)", "took",
        Printed("less than 5 s", 5.0), series={"r_dr": "R-DR"},
        note="CPU time of R-DR here; the benchmarks draw or look up and take none.",
    ),
    _on_test_bed(
        29, "Completion Time of Job Requests", "completion time (s)", "last",
        Printed("R-DR 26 % below Random", 0.74, of="Random", at=22),
        Printed("R-DR 20 % below Nearest", 0.80, of="Nearest", at=22),
    ),
    PaperFigure(
        30, "Jobs Completion Ratio during a Simulation (22 jobs)", COURSES,
        partial(curves, x="at", y="value", series=ON_TEST_BED, at={"what": "done", "jobs": 22}),
        "time (s)", "jobs completed (%)", tuple(ON_TEST_BED.values()), over_time=True,
        note=f"The paper's curves cross at about 1800 s. {SIMULATED}",
    ),
    _busy(31, 16),
    _busy(32, 22),
    _on_test_bed(
        33, "Standard Deviation of GPU Utilization among Each Edges",
        "standard deviation of GPU utilization (points)", "gpu_spread",
    ),
    _on_test_bed(
        34, "Standard Deviation of Memory Utilization among Each Edges",
        "standard deviation of data held (MB)", "memory_spread",
        note=f"Memory is the data that a server holds. {SIMULATED}",
    ),
)  # fmt: skip
"""In the paper's order."""
