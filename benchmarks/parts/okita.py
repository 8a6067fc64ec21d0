"""The parts of okita's branch and price."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parts import Part

EXACT = "formulations.okita.exact"


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing."""


@contextmanager
def alone(*arguments: Any) -> Iterator[None]:
    """Run the block with nothing beside it."""
    yield


def columns(**replaced: Any) -> Part:
    """Return a part of problem_2_columns; "module__name" stands for a name in exact/module.py."""
    places = {f"{EXACT}.{place.replace('__', ':', 1)}": new for place, new in replaced.items()}
    return Part("okita", "problem_2_columns", replaced=places)


PARTS = {
    "neighbourhoods": columns(
        **{"improve__Neighbourhoods.search": nothing, "method__beside": alone}
    ),
    "joint search": columns(**{"method___Search.together": None}),
    "tree": columns(**{"method___Search.branch": nothing}),
    "small model": columns(method__take_small=nothing),
}

SIZES = {
    "okita": (
        {"jobs": 8, "sites": 6, "horizon": 20},
        {"jobs": 12, "sites": 6, "horizon": 20},
    )
}
JOBS_TIMES = 2.0
