"""The parts of the searches for most jobs of DRP (5) and DSRP (22)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from formulations.drp.instance import NO_SERVER, Instance
from parts import Part

EXACT = "formulations.drp.exact"


def nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing."""


def false(*arguments: Any) -> bool:
    """Answer no."""
    return False


def as_it_is(search: Any, columns: Any, relaxed: Any, seen: int) -> Any:
    """Return the relaxation without a cut."""
    return relaxed


class NoJob:
    """Insertion that places no job."""

    def __init__(self, instance: Instance, *arguments: Any) -> None:
        """Take the system."""
        self.nodes = instance.num_data_nodes

    def search(self, *arguments: Any) -> Any:
        """Return an association without a server."""
        return np.full(self.nodes, NO_SERVER)


def drp(**replaced: Any) -> Part:
    """Return a part of problem_5_projected; "module__name" stands for a name in exact/module.py."""
    return Part("drp", "problem_5_projected", replaced=_places(replaced))


def dsrp(**replaced: Any) -> Part:
    """Return a part of problem_22_projected; names as in ``drp``."""
    return Part("dsrp", "problem_22_projected", replaced=_places(replaced))


def _places(replaced: dict[str, Any]) -> dict[str, Any]:
    return {f"{EXACT}.{place.replace('__', ':', 1)}": new for place, new in replaced.items()}


_TREE = {"dsrp__ServiceSearch._tree": nothing}
_TIGHT = {"dsrp__ServiceSearch._fill": nothing}
_ALONE = {"dsrp__ServiceSearch._cut_alone": false}

PARTS = {
    "set tree": dsrp(**_TREE),
    "dear servers first": dsrp(**_TIGHT),
    "relaxation to storage alone": dsrp(**_ALONE),
    "these three": dsrp(**_TREE, **_TIGHT, **_ALONE),
    "early tree": dsrp(dsrp__CLOSE=-math.inf),
    "configuration bound": dsrp(**{"set_tree.tree__PRICED": (math.inf, 0.0)}),
    "annealing": dsrp(**{"dsrp__ServiceSearch._exchange": nothing}),
    "storage cuts": dsrp(**{"dsrp__ServiceSearch._cut": as_it_is}),
    "insertion": dsrp(dsrp__Insertion=NoJob),
    "compact model first, DSRP": dsrp(method__SMALL=0),
    "core jobs": drp(method__MANY_JOBS=math.inf),
    "bound and pack": drp(**{"target_search__TargetSearch._run": nothing}),
    "compact model first, DRP": drp(method__SMALL=0),
}
# Not yet chosen on seeds below 100. The compact model alone proves the four shapes of dsrp tried so
# far; at 30 jobs 40 s end before the set tree divides anything: neither says what a tree buys.
SIZES = {
    "drp": ({"jobs": 40}, {"jobs": 200}),
    "dsrp": ({"jobs": 30}, {"jobs": 40}),
}
JOBS_TIMES = 2.5
