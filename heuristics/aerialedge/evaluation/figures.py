"""Figures 4 to 9 of AerialEdge's evaluation: six drones, five methods."""

from __future__ import annotations

from functools import partial

import pandas as pd

from heuristics.aerialedge.evaluation.measures import TABLE3_SWEEP
from heuristics.common.curves import curves
from heuristics.common.figures import PaperFigure, Printed

AT_ONCE = {
    "aerialedge": "AerialEdge",
    "tetris": "Tetris",
    "graphene": "Graphene",
    "spear": "Spear",
    "random_at_once": "Random",
}
QUEUED = {name: label for name, label in AT_ONCE.items() if label != "Random"} | {
    "random_queued": "Random"
}
"""Random is two algorithms: tasks without a node wait if use and times are measured."""

DRONES = {drone: f"Drone {drone}" for drone in range(1, 7)}


def by_drone(
    frame: pd.DataFrame, value: str, series: dict[str, str], factor: float = 1.0
) -> pd.DataFrame:
    """A place on the axis for each drone, in their order."""
    found = curves(frame.sort_values("drone"), "drone", value, series, factor=factor)
    return found.assign(x=found["x"].map(DRONES))


def _figure(
    number: int,
    caption: str,
    y: str,
    value: str,
    *printed: Printed,
    series: dict[str, str] = QUEUED,
    factor: float = 1.0,
    logarithmic: bool = False,
    note: str = "",
) -> PaperFigure:
    table = partial(by_drone, value=value, series=series, factor=factor)
    return PaperFigure(
        number, caption, TABLE3_SWEEP, table, "edge cluster", y, tuple(AT_ONCE.values()),
        logarithmic=logarithmic, printed=printed, note=note,
    )  # fmt: skip


def _times(text: str, of_drone: dict[int, float]) -> list[Printed]:
    """Multiples of AerialEdge's value, drone by drone."""
    return [
        Printed(text, times, of="AerialEdge", at=DRONES[drone]) for drone, times in of_drone.items()
    ]


def _points(text: str, of: str, of_drone: dict[int, float]) -> list[Printed]:
    """Percentage points that AerialEdge differs from another by, drone by drone."""
    return [
        Printed(text, points, of=of, added=True, at=DRONES[drone])
        for drone, points in of_drone.items()
    ]


def _values(text: str, of_drone: dict[int, float]) -> list[Printed]:
    return [Printed(text, value, at=DRONES[drone]) for drone, value in of_drone.items()]


REBUILT = "Workloads rebuilt from the totals of Table III."

FIGURES = (
    _figure(
        4, "Actual resource usage.", "resource usage (%)", "usage",
        *_values("AerialEdge, Tetris, Graphene", {1: 75.0}),
        *_values("Spear", {1: 92.0}),
        *_values("Random", {1: 100.0, 5: 100.0, 6: 100.0}),
        *_points("AerialEdge, points below Graphene", "Graphene", {2: -11.0, 3: -12.0, 4: -7.0}),
        note=REBUILT,
    ),
    _figure(
        5, "CPU utilization.", "CPU utilization (%)", "cpu",
        *_points("AerialEdge, points above Graphene", "Graphene", {2: 10.0, 3: 12.0, 4: 9.0}),
        note=REBUILT,
    ),
    _figure(
        6, "Memory utilization.", "memory utilization (%)", "memory",
        *_points("AerialEdge, points above Graphene", "Graphene", {2: 1.0, 3: 3.0, 4: 1.0}),
        note=REBUILT,
    ),
    _figure(
        7, "Percentage of tasks deployed.", "tasks deployed (%)", "deployed",
        *_values("Random", {2: 38.0, 4: 50.0, 5: 53.0, 6: 49.0}), series=AT_ONCE, note=REBUILT,
    ),
    _figure(
        8, "Scheduling times.", "scheduling time (ms)", "took",
        *_times("Tetris", {2: 1.1, 3: 4.5, 4: 2.0}),
        *_times("Graphene", {2: 2.0, 3: 6.7, 4: 3.2}),
        *_times("Spear", {2: 2.7, 3: 13.0, 4: 5.3}),
        *_times("Random", {2: 31.0, 4: 41.3, 6: 393.0}),
        factor=1000.0, logarithmic=True,
        note="CPU time of our programs on this machine: not comparable. Multiples are of "
        "AerialEdge's time.",
    ),
    _figure(
        9, "Execution times.", "execution time (s)", "aet_pooled",
        *_times("Tetris", {2: 2.0, 3: 2.2, 4: 2.0}),
        *_times("Graphene", {2: 4.0, 3: 3.4, 4: 4.0}),
        *_times("Spear", {2: 5.0, 3: 5.5, 4: 6.0}),
        *_times("Random", {2: 24.0, 4: 26.0, 6: 77.0}),
        logarithmic=True,
        note=f"By (10) over all tasks; multiples are of AerialEdge's time. {REBUILT}",
    ),
)  # fmt: skip
"""In the paper's order."""
