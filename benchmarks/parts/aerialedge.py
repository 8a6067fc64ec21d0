"""The parts of aerialedge's packing portfolio."""

from __future__ import annotations

from typing import Any

import numpy as np

from parts import Part

SEARCH = "formulations.aerialedge.exact.search"


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing."""


def no_prices(packing: Any) -> Any:
    """Return prices that bound nothing."""
    return np.zeros(packing.task_types)


def part(**search: Any) -> Part:
    """Return a part that search parameters switch off."""
    return Part("aerialedge", "packing", search=search)


def without(*places: str) -> Part:
    """Return a part that functions of the search switch off."""
    return Part("aerialedge", "packing", replaced={f"{SEARCH}:{p}": nothing for p in places})


PARTS = {
    "small arc-flow": part(small_arcs=0),
    "arc-flow": part(small_arcs=0, most_arcs=0),
    "exchange": without("Search.exchange"),
    "filling": without("Search.fill"),
    "relaxation": without("Search.relax"),
    "listing": part(listed=0),
    "branch and price": without("Search.branch"),
    "dives": Part(
        "aerialedge", "packing", replaced={"optsched.decomposition.branch_and_price:dive": nothing}
    ),
    "assignment": without("Search.assign"),
    "lightest fleet": without("Search.lightest_fleet"),
    "prices by size": Part(
        "aerialedge",
        "packing",
        replaced={"formulations.aerialedge.exact.listing:size_prices": no_prices},
    ),
}
SIZES = {"aerialedge": ({"kind": "hard", "tasks": 77}, {"kind": "hard", "tasks": 200})}
JOBS_TIMES = 3.0
