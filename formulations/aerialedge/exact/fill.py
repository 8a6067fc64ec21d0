"""Packings made node by node, each filled by an exact knapsack over what is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from formulations.aerialedge.construct import lighten, node_orders
from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking
from optsched.decomposition.knapsack import Knapsack

EXPONENTS = (1.15, 1.3, 1.0, 1.6)
"""Above one, a large item is worth more than two small ones of the same size together, so that
large items do not stay behind."""

CROWD = 200
"""Options left above which a knapsack may be offered a sample of them only."""

_SHAKE = 0.04  # largest relative change of a value
_NODES = 1_000  # partial patterns bounded; filling is a heuristic all the same


def fill_by_knapsack(
    packing: VectorPacking,
    order: Integers,
    value: Callable[[int], Floats],
    *,
    nodes: int = _NODES,
    offered: int | None = None,
    deadline: float = math.inf,
) -> list[Bin] | None:
    """Each node in turn with the most valuable set of items left; None if some do not fit.

    Args:
        packing: what to pack.
        order: of node types; all nodes of one are filled before the next.
        value: (node type) -> value of each option, shape (options,), positive.
        nodes: partial patterns bounded in a knapsack.
        offered: where more than ``CROWD`` options are left, a knapsack chooses from this many of
            them, spread evenly by value. None: from all.
        deadline: of ``time.perf_counter``, after which it gives up.
    """
    left = packing.number.copy()
    bins: list[Bin] = []
    for s in order.tolist():
        worth = value(s)
        knapsack = Knapsack(packing.size, packing.type_of_option, left, packing.capacity[s])
        for _ in range(int(packing.available[s])):
            options = np.flatnonzero((left[packing.type_of_option] > 0) & packing.fits[:, s])
            if not len(options) or time.perf_counter() > deadline:
                break
            if offered is not None and len(options) > CROWD:
                ranked = options[np.argsort(-worth[options], kind="stable")]
                places = np.linspace(0, len(ranked) - 1, offered).astype(np.int64)
                options = np.sort(ranked[places])
            offered_worth = np.zeros(len(worth))
            offered_worth[options] = worth[options]
            best = knapsack.solve(offered_worth, beat=0.0, keep=1, nodes=nodes, left=left)
            if not len(best.units):
                break
            chosen = np.repeat(np.arange(len(worth)), best.units[0])
            np.subtract.at(left, packing.type_of_option[chosen], 1)
            bins.append(Bin(s, tuple(chosen.tolist())))
    return None if left.any() else bins


def fillings(
    packing: VectorPacking, deadline: float = math.inf, *, perturbed: int = 0
) -> Iterator[list[Bin]]:
    """Packings by different values of the items, the most promising first.

    An item is worth a power of its size: the sum of its shares of the capacity, their squares
    added up, or the sum in which scarce resources count more.

    Args:
        packing: what to pack.
        deadline: of ``time.perf_counter``, after which it ends.
        perturbed: how many more to make with values changed at random (always in the same way).
    """
    shares = packing.shares
    load = (packing.number[packing.type_of_option, None] * shares).sum(axis=0)
    scarce = (load / max(float(load.max()), 1e-12)) ** 2
    sizes = (shares.sum(axis=1), np.sqrt((shares**2).sum(axis=1)), shares @ scarce)
    values = [np.maximum(size, 1e-9) ** exponent for exponent in EXPONENTS for size in sizes]
    orders = node_orders(packing)
    rng = np.random.default_rng(0)
    trials = chain(
        ((value, order) for value in values for order in orders),
        (
            (
                values[number % len(values)] * rng.uniform(1 - _SHAKE, 1 + _SHAKE, len(shares)),
                orders[number % len(orders)],
            )
            for number in range(perturbed)
        ),
    )
    for value, order in trials:
        if time.perf_counter() > deadline:
            return
        bins = fill_by_knapsack(packing, order, lambda s, v=value: v, deadline=deadline)  # type: ignore[misc]
        if bins is not None:
            yield lighten(packing, bins)
