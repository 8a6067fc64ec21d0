"""Packings made quickly: node by node or item by item, by rules or by knapsacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np

from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking, total_weight
from optsched.solvers.deadline import Deadline

EXPONENTS = (1.15, 1.3, 1.0, 1.6)
"""Above one, a large item is worth more than two small ones of the same size together, so that
large items do not stay behind."""

CROWD = 200
"""Options left above which a knapsack may be offered a sample of them only."""

_SHAKE = 0.04  # largest relative change of a value
_NODES = 1_000  # partial patterns bounded; filling is a heuristic all the same


def best_start(packing: VectorPacking, deadline: Deadline | None = None) -> list[Bin] | None:
    """The lightest packing several quick rules find; None where none of them fits all items.

    Args:
        packing: what to pack.
        deadline: after which no further rule is tried.
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
        if deadline is not None and deadline.over():
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


def fill_by_knapsack(
    packing: VectorPacking,
    order: Integers,
    value: Callable[[int], Floats],
    *,
    nodes: int = _NODES,
    offered: int | None = None,
    deadline: Deadline | None = None,
) -> list[Bin] | None:
    """Each node in turn with the most valuable set of items left; None if some do not fit.

    Args:
        packing: what to pack.
        order: of node types; all nodes of one are filled before the next.
        value: (node type) -> value of each option, shape (options,), positive.
        nodes: partial patterns bounded in a knapsack.
        offered: where more than ``CROWD`` options are left, a knapsack chooses from this many of
            them, spread evenly by value. None: from all.
        deadline: after which it gives up.
    """
    from optsched.decomposition.knapsack import Knapsack

    left = packing.number.copy()
    bins: list[Bin] = []
    for s in order.tolist():
        worth = value(s)
        knapsack = Knapsack(packing.size, packing.type_of_option, left, packing.capacity[s])
        for _ in range(int(packing.available[s])):
            options = np.flatnonzero((left[packing.type_of_option] > 0) & packing.fits[:, s])
            if not len(options) or (deadline is not None and deadline.over()):
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
    packing: VectorPacking,
    deadline: Deadline | None = None,
    rng: np.random.Generator | None = None,
    *,
    perturbed: int = 0,
) -> Iterator[list[Bin]]:
    """Yield packings by different values of the items, the most promising first.

    An item is worth a power of its size: the sum of its shares of the capacity, their squares
    added up, or the sum in which scarce resources count more.

    Args:
        packing: what to pack.
        deadline: after which it ends.
        rng: source of all randomness.
        perturbed: how many more to make with values changed at random.
    """
    shares = packing.shares
    load = (packing.number[packing.type_of_option, None] * shares).sum(axis=0)
    scarce = (load / max(float(load.max()), 1e-12)) ** 2
    sizes = (shares.sum(axis=1), np.sqrt((shares**2).sum(axis=1)), shares @ scarce)
    values = [np.maximum(size, 1e-9) ** exponent for exponent in EXPONENTS for size in sizes]
    orders = node_orders(packing)
    rng = np.random.default_rng(0) if rng is None else rng
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
        if deadline is not None and deadline.over():
            return
        bins = fill_by_knapsack(packing, order, lambda s, v=value: v, deadline=deadline)  # type: ignore[misc]
        if bins is not None:
            yield lighten(packing, bins)
