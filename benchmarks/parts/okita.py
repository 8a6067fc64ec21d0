"""The parts of okita's search for the offline optimum of (2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from parts import Part

EXACT = "formulations.okita.exact"


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing."""


def no_joint_search(*arguments: Any) -> tuple[float, None]:
    """Come to no end."""
    return -np.inf, None


def no_rows(demand: Any, capacity: Any) -> Any:
    """Return no row by rounding."""
    return np.zeros((0, len(demand)))


def columns(**replaced: Any) -> Part:
    """Return a part of problem_2_columns; "module__name" stands for a name in exact/module.py."""
    places = {f"{EXACT}.{place.replace('__', ':', 1)}": new for place, new in replaced.items()}
    return Part("okita", "problem_2_columns", replaced=places)


PARTS = {
    "annealing": columns(**{"method__Search.improve": nothing}),
    "joint search": columns(**{"joint_states__JointSearch.search": no_joint_search}),
    "rows by rounding": columns(pricing__rounded_rows=no_rows),
    "more states": Part("okita", "problem_2_columns", search={"most_states": 8192}),
}

SIZES = {
    "okita": (
        {"jobs": 8, "sites": 6, "horizon": 20},
        {"jobs": 12, "sites": 6, "horizon": 20},
        {"jobs": 10, "sites": 4, "horizon": 20},
    )
}
JOBS_TIMES = 2.0
