"""The parts of preemptive's exact methods for problem (2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.preemptive.time_indexed.decode import in_turn
from parts import Part

EXACT = "formulations.preemptive.exact"


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing."""


def every_window(fixing: Any, total: int) -> Any:
    """Leave every completion open."""
    return np.ones(len(fixing.grid.windows[0]), dtype=bool)


def one_after_another(instance: Any, *arguments: Any) -> Any:
    """Return the schedule without prices."""
    return in_turn(instance)


def part(method: str, **replaced: Any) -> Part:
    """Return a part of a method; "module__name" stands for a name in exact/module.py."""
    places = {f"{EXACT}.{place.replace('__', ':', 1)}": new for place, new in replaced.items()}
    return Part("preemptive", method, replaced=places)


PARTS = {
    "completion fixing": part(
        "by_market", **{"completion_fixing__CompletionFixing.within": every_window}
    ),
    "guided schedule": part("by_market", by_component__guided_schedule=nothing),
    "one job after another": part("by_market", by_component__in_turn=nothing),
    "prices": Part("preemptive", "by_market", search={"steps": 1}),
    "small model": Part("preemptive", "offline", search={"small": 0}),
    "components": Part("preemptive", "offline", search={"small": 10**9}),
    "shortest first": part("price_guided", guided__guided_schedule=one_after_another),
}

SIZES = {
    "preemptive": (
        {"jobs": 100, "servers": 100, "jobs_per_slot": 3},
        {"jobs": 100, "servers": 100, "time_scale": 0.1},
        {"jobs": 24, "servers": 8, "types": 2, "span": 8, "time_scale": 0.15},
    )
}
JOBS_TIMES = 4.0
