"""The parts of batch's search for the offline optimum of (2)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from parts import Part

EXACT = "formulations.batch.exact"


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing."""


def false(*arguments: Any) -> bool:
    """Answer no."""
    return False


def by_itself(*arguments: Any) -> tuple[str, bool]:
    """Leave all to the search of the whole."""
    return "", True


def no_cuts(*arguments: Any) -> list[Any]:
    """Return no violated cut."""
    return []


def no_bound(*arguments: Any) -> Any:
    """Return a relaxation without a bound."""
    return SimpleNamespace(bound=None, duals=None)


def as_it_is(annealing: Any, *arguments: Any) -> list[Any]:
    """Return the schedule that the annealing began with."""
    return [annealing._run(int(j)) for j in np.flatnonzero(annealing._best.start >= 0)]


def offline(**replaced: Any) -> Part:
    """Return a part of problem_2_offline; "module__name" stands for a name in exact/module.py."""
    places = {f"{EXACT}.{place.replace('__', ':', 1)}": new for place, new in replaced.items()}
    return Part("batch", "problem_2_offline", replaced=places)


PARTS = {
    "server cuts": offline(**{"server_cuts__Runs.violated": no_cuts}),
    "width cuts": offline(search__width_rows=no_cuts),
    "column generation": offline(**{"columns__PooledColumns.relaxation": no_bound}),
    "branch and price": offline(**{"search__Search.branch": nothing}),
    "conflicts": offline(search__conflict=nothing),
    "model by server": offline(**{"search__Search.by_server": false}),
    "annealing": offline(**{"improve__Annealing.search": as_it_is}),
    "worker types": offline(**{"method___Offline.by_type": by_itself}),
}

SIZES = {
    "batch": (
        {"jobs": 20, "servers": 20, "time_scale": 0.03},
        {"jobs": 18, "servers": 6, "types": 2, "time_scale": 0.05},
        {"jobs": 50, "servers": 50, "time_scale": 0.1},
        {"jobs": 100, "servers": 100, "time_scale": 0.1},  # large enough to need width cuts
    )
}
JOBS_TIMES = 2.0
