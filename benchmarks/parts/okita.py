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


def no_children(*arguments: Any) -> list[Any]:
    """Divide nothing."""
    return []


def no_rows(demand: Any, capacity: Any) -> Any:
    """Return no row by rounding."""
    return np.zeros((0, len(demand)))


def no_labels(search: Any, terms: Any, *arguments: Any, **options: Any) -> Any:
    """Return what units of work give."""
    return search.cheapest(terms)


def columns(**replaced: Any) -> Part:
    """Return a part of problem_2_columns; "module__name" stands for a name in exact/module.py."""
    places = {f"{EXACT}.{place.replace('__', ':', 1)}": new for place, new in replaced.items()}
    return Part("okita", "problem_2_columns", replaced=places)


PARTS = {
    "annealing": columns(**{"method__Search.improve": nothing}),
    "joint search": columns(**{"joint_states__JointSearch.search": no_joint_search}),
    "branch and bound": columns(**{"branch__Tree._divided": no_children}),
    "lattices together": Part(
        "okita",
        "problem_2_columns",
        replaced={"formulations.okita.one_job.planner:TOGETHER": 0},
    ),
    "rows by rounding": columns(pricing__rounded_rows=no_rows),
    "labels": Part(
        "okita",
        "problem_2_columns",
        replaced={
            "formulations.okita.one_job.planner:cheapest_by_labels": no_labels,
            "formulations.okita.exact.pricing:cheapest_by_labels": no_labels,
        },
    ),
    "labels and prices by site": Part(
        "okita",
        "problem_2_columns",
        replaced={"formulations.okita.one_job.planner:FEW_SITES": 0},
    ),
    "more states": Part("okita", "problem_2_columns", search={"most_states": 8192}),
}

SIZES = {
    "okita": (
        {"jobs": 8, "sites": 6, "horizon": 20},
        {"jobs": 12, "sites": 6, "horizon": 20},
        {"jobs": 10, "sites": 4, "horizon": 20},
        {"jobs": 20, "sites": 8, "horizon": 40},
    )
}
JOBS_TIMES = 2.0
