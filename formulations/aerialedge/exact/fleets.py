"""Choices of nodes: the lightest with room for all items, and those next to a packing's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, product

import numpy as np

from formulations.aerialedge.instance import Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking
from optsched.model import Model
from optsched.solve import solve

_FLEETS = 10  # that a search is begun on
_TYPES = 10  # node types up to which two nodes are replaced by two


def lightest_fleet(
    packing: VectorPacking, at_least: float, *, time_limit: float | None = None
) -> tuple[float, Integers | None]:
    """The lightest whole nodes that together have room for all items.

    The volume bound with whole numbers of nodes and all resources at once: above a bound of the
    relaxation there may be no sum of weights for a while.

    Args:
        packing: what to pack.
        at_least: proven bound, which is stated as a row.
        time_limit: wall seconds, after which what is proven counts; None: until it is.

    Returns:
        Bound in units of weight, and nodes of each type, shape (node types,), or None where none
        are known; they are as light as the bound unless time ended before.
    """
    model = Model("nodes with room for all items")
    nodes = model.integer("nodes", packing.node_types, upper=packing.available.astype(float))
    weight = nodes @ packing.weight.astype(float)
    demand = packing.number @ packing.least_size
    model.add("room", packing.capacity.T.astype(float) @ nodes >= demand.astype(float))
    model.add("weight", weight >= at_least)
    model.minimize(weight)
    solution = solve(model, "highs", time_limit=time_limit)
    bound = at_least if solution.bound is None else max(at_least, solution.bound)
    return bound, np.rint(solution["nodes"]).astype(np.int64) if solution.has_point else None


def lighter_fleets(packing: VectorPacking, bins: Sequence[Bin], bound: float) -> Integers:
    """Nodes that weigh less than those of a packing: one or two of them are left out or replaced.

    The heaviest come first, then those with most room; none is part of another.

    Args:
        packing: what to pack.
        bins: a packing.
        bound: weight below which there is none.

    Returns:
        Nodes of each type, shape (fleets, node types).
    """
    types, used = packing.node_types, np.bincount([b.node_type for b in bins])
    most = 2 if types <= _TYPES else 1
    there = np.flatnonzero(used)
    out = [kinds for n in (1, 2) for kinds in combinations_with_replacement(there, n)]
    into = [
        kinds for n in range(most + 1) for kinds in combinations_with_replacement(range(types), n)
    ]
    fleets = np.tile(np.pad(used, (0, types - len(used))), (len(out) * len(into), 1))
    for fleet, (gone, new) in zip(fleets, product(out, into), strict=True):
        np.subtract.at(fleet, list(gone), 1)
        np.add.at(fleet, list(new), 1)
    fleets = np.unique(fleets, axis=0)
    weight, demand = fleets @ packing.weight, packing.number @ packing.size
    free = fleets @ packing.capacity - demand
    lighter = (weight < used @ packing.weight[: len(used)]) & (weight >= bound)
    possible = ((fleets >= 0) & (fleets <= packing.available)).all(axis=1)
    kept = np.flatnonzero(lighter & possible & (free >= 0).all(axis=1) & fleets.any(axis=1))
    room = (free / np.maximum(packing.capacity.max(axis=0), 1)).min(axis=1)
    found: list[Integers] = []
    for f in kept[np.lexsort((-room[kept], -weight[kept]))].tolist():
        if not any((fleets[f] <= other).all() for other in found):
            found.append(fleets[f])
        if len(found) == _FLEETS:
            break
    return np.array(found, dtype=np.int64).reshape(-1, types)
