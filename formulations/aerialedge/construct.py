"""Packings made quickly: starting points for exact methods, and witnesses that all items fit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking, total_weight


def best_start(packing: VectorPacking, deadline: float = math.inf) -> list[Bin] | None:
    """The lightest packing several quick rules find; None where none of them fits all items.

    Args:
        packing: what to pack.
        deadline: of ``time.perf_counter``, after which no further rule is tried.
    """
    load = (packing.number[packing.type_of_option, None] * packing.shares).sum(axis=0)
    scarce = packing.shares @ (load / max(float(load.max()), 1e-12))
    keys = (packing.shares.max(axis=1), packing.shares.sum(axis=1), scarce)
    orders = node_orders(packing)
    rules: list[Callable[[], list[Bin] | None]] = [
        *(partial(first_fit_decreasing, packing, key, order) for order in orders for key in keys),
        *(
            partial(fill_nodes, packing, order, rule=rule)
            for order in orders
            for rule in ("dot", "norm")
        ),
    ]
    found: list[list[Bin]] = []
    for rule in rules:
        bins = rule()
        if bins is not None:
            found.append(lighten(packing, bins))
        if time.perf_counter() > deadline:
            break
    return min(found, key=lambda bins: total_weight(packing, bins), default=None)


def shuffled(packing: VectorPacking, times: int) -> list[Bin]:
    """Nodes of packings by perturbed sizes: a first set of sensible patterns, always the same."""
    rng = np.random.default_rng(0)
    load = packing.shares.sum(axis=1)
    orders = node_orders(packing)
    found: set[Bin] = set()
    for number in range(times):
        key = load * rng.uniform(0.6, 1.4, len(load))
        order = orders[number % len(orders)]
        found.update(first_fit_decreasing(packing, key=key, order=order) or ())
    return sorted(found, key=lambda b: (b.node_type, b.options))


def node_orders(packing: VectorPacking) -> list[Integers]:
    """Orders of node types worth trying: cheap per capacity, large first, cheap first."""
    share = (packing.capacity / np.maximum(packing.capacity.max(axis=0), 1)).sum(axis=1)
    keys = (
        (-share, packing.weight / np.maximum(share, 1e-12)),
        (packing.weight, -share),
        (-share, packing.weight),
    )
    orders = {tuple(np.lexsort(key).tolist()) for key in keys}
    return [np.array(order) for order in sorted(orders)]


def first_fit_decreasing(
    packing: VectorPacking, key: Floats | None = None, order: Integers | None = None
) -> list[Bin] | None:
    """Items by decreasing size, each to the first node with room; None if one finds none.

    A node type not yet opened is tried after all open nodes, in the order given.

    Args:
        packing: what to pack.
        key: size of each option, shape (options,); by default the largest share of a capacity.
        order: of node types; by default large ones first.
    """
    key = packing.shares.max(axis=1) if key is None else key
    order = node_orders(packing)[0] if order is None else order
    first = np.searchsorted(packing.type_of_option, np.arange(packing.task_types))
    of_type = np.minimum.reduceat(key, first)
    ways = np.split(np.arange(len(key)), first[1:])
    free = np.zeros((0, packing.resources), dtype=np.int64)
    kind: list[int] = []
    held: list[list[int]] = []
    unused = packing.available.copy()
    for t in np.argsort(-of_type, kind="stable").tolist():
        options = ways[t][np.argsort(key[ways[t]], kind="stable")]
        for _ in range(int(packing.number[t])):
            place = _first_open(free, packing.size, options)
            if place is None:
                opened = _open(packing, options, order, unused)
                if opened is None:
                    return None
                s, k = opened
                unused[s] -= 1
                free = np.vstack([free, packing.capacity[s]])
                kind.append(s)
                held.append([])
                place = len(kind) - 1, k
            b, k = place
            free[b] -= packing.size[k]
            held[b].append(k)
    return [Bin(s, tuple(sorted(ks))) for s, ks in zip(kind, held, strict=True)]


def _first_open(free: Integers, size: Integers, options: Integers) -> tuple[int, int] | None:
    """The first open node with room for an option, trying small options first."""
    for k in options.tolist():
        room = (free >= size[k]).all(axis=1)
        if room.any():
            return int(np.argmax(room)), k
    return None


def _open(
    packing: VectorPacking, options: Integers, order: Integers, unused: Integers
) -> tuple[int, int] | None:
    for s in order.tolist():
        if unused[s] > 0:
            for k in options.tolist():
                if packing.fits[k, s]:
                    return s, k
    return None


def fill_nodes(packing: VectorPacking, order: Integers, *, rule: str) -> list[Bin] | None:
    """One node after the other, each time the item that suits its free space best.

    Args:
        packing: what to pack.
        order: of node types.
        rule: "dot" for the largest scalar product of demand and free space, "norm" for the least
            squared distance between them, both in shares of the capacity.
    """
    left = packing.number.copy()
    bins: list[Bin] = []
    for s in order.tolist():
        scale = np.maximum(packing.capacity[s], 1)
        share = packing.size / scale
        for _ in range(int(packing.available[s])):
            if not left.any():
                return bins
            free = packing.capacity[s].copy()
            held: list[int] = []
            while True:
                fit = (packing.size <= free).all(axis=1) & (left[packing.type_of_option] > 0)
                if not fit.any():
                    break
                room = free / scale
                score = share @ room if rule == "dot" else -((room - share) ** 2).sum(axis=1)
                k = int(np.argmax(np.where(fit, score, -np.inf)))
                free -= packing.size[k]
                left[packing.type_of_option[k]] -= 1
                held.append(k)
            if held:
                bins.append(Bin(s, tuple(sorted(held))))
            else:
                break
    return None if left.any() else bins


def lighten(packing: VectorPacking, bins: list[Bin]) -> list[Bin]:
    """Each node replaced by the lightest type that holds its load, as far as there are any."""
    unused = packing.available.copy()
    for b in bins:
        unused[b.node_type] -= 1
    result = []
    cheap = np.argsort(packing.weight, kind="stable")
    for b in bins:
        load = packing.size[list(b.options)].sum(axis=0)
        for s in cheap.tolist():
            if packing.weight[s] >= packing.weight[b.node_type]:
                break
            if unused[s] > 0 and (load <= packing.capacity[s]).all():
                unused[s] -= 1
                unused[b.node_type] += 1
                b = Bin(s, b.options)
                break
        result.append(b)
    return result
