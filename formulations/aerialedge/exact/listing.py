"""Every pattern that a packing of limited weight can hold, and the lightest packing of them.

At prices pi of the items and mu of the nodes at which no pattern is cheaper than its items, the
weight of a packing is the bound of these prices and what its patterns cost beyond them:

    sum_p omega_s x_p >= pi n - mu N + sum_p (omega_s + mu_s - pi a_p) x_p.

So no pattern of a packing of weight at most W costs more than W less the bound. Where that is
little, few patterns remain: all are listed, and an integer program chooses. An item more in a
pattern costs nothing: those with room for another one are left out. Nor can an item be there more
often than its price allows, mostly just as often as it must.

Prices are whole numbers, so that bound and list are exact whatever the rounding of the relaxation.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from formulations.aerialedge.instance import Floats, Integers
from formulations.aerialedge.problem_ae3 import PatternModel
from formulations.aerialedge.vector_packing import Bin, VectorPacking
from optsched.decomposition.knapsack import Knapsack
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Status

MOST_LISTED = 8_000
"""Patterns of all node types among which an integer program may choose."""
_PARTIAL = 2_000_000  # partial patterns of a node type
_BITS = 48  # of the largest sum of prices; sums of doubles are exact up to 53
_SHARES = 1e-9  # relative; sums of shares of whole numbers are as close as that to theirs
_ROUNDING = 1e-11  # relative; the value of the best pattern is as close as that


@dataclass(frozen=True, eq=False)
class DualPrices:
    """Whole prices at which no pattern costs less than its items: a solution of [AE3]'s dual."""

    item: Integers
    """pi_l, not negative, shape (task types,)."""
    node: Integers
    """mu_s, not negative, shape (node types,)."""
    unit: int
    """Price of one unit of weight."""
    value: int
    """pi n - mu N, where N allows for packings lighter than a known one only."""

    @property
    def bound(self) -> int:
        """No packing weighs less, but for the one known, in units of weight."""
        return -(-self.value // self.unit)


def dual_prices(
    packing: VectorPacking,
    knapsacks: Sequence[Knapsack],
    duals: Floats,
    best: float = math.inf,
) -> DualPrices:
    """Return dual values of a relaxation, rounded, and made feasible by prices of nodes.

    Args:
        packing: what to pack.
        knapsacks: of each node type.
        duals: of the task types, shape (task types,).
        best: weight of a packing known. The prices say what is true of lighter ones, which use
            fewer nodes than there may be.
    """
    duals = np.maximum(duals, 0.0)
    unit = 2 ** max(0, _BITS - math.ceil(float(duals @ packing.number) + 1).bit_length())
    item = np.floor(duals * unit).astype(np.int64)
    node = np.zeros(packing.node_types, dtype=np.int64)
    for s, knapsack in enumerate(knapsacks):
        weight = int(packing.weight[s]) * unit
        value = item[packing.type_of_option].astype(float)
        most = knapsack.solve(value, beat=float(weight), keep=1).most
        node[s] = max(0, math.ceil(most * (1 + _ROUNDING)) - weight)
    number = packing.available
    if math.isfinite(best):
        number = np.minimum(number, int(best) // np.maximum(packing.weight, 1))
    return DualPrices(item, node, unit, int(item @ packing.number - node @ number))


def relaxation_prices(
    packing: VectorPacking, model: PatternModel, duals: Floats, best: float
) -> list[DualPrices]:
    """Return prices from dual values of the relaxation, and others halfway to prices by size.

    Between two optimal ones fewer patterns cost nothing than at either.

    Args:
        packing: what to pack.
        model: for its knapsacks.
        duals: of the task types, shape (task types,).
        best: weight of a packing known; the prices are for lighter ones.
    """
    chosen, by_size = [duals], size_prices(packing)
    if packing.number @ by_size > packing.number @ duals - 1:  # else far from optimal
        chosen.append((duals + by_size) / 2)
    return [dual_prices(packing, model.knapsacks, one, best) for one in chosen]


def size_prices(packing: VectorPacking) -> Floats:
    """Prices of task types by size, in units of weight: of the resources that bound best alone.

    They are optimal for the relaxation where a packing at its bound leaves no room, shape (task
    types,).
    """
    supply = (packing.capacity / np.maximum(packing.weight, 1)[:, None]).max(axis=0)
    share = packing.least_size / np.where(supply > 0, supply, 1.0)
    bound = packing.number @ share
    whole = np.ceil(bound - _SHARES * np.maximum(1.0, bound))
    return np.asarray(share[:, whole == whole.max()].mean(axis=1))


@dataclass(frozen=True, eq=False)
class Listing:
    """All patterns that a packing of limited weight can be made of."""

    weight: int
    """The limit."""
    units: sparse.csr_array
    """Units of each option, shape (patterns, options)."""
    node_type: Integers
    """Shape (patterns,)."""
    most: Integers
    """Items of each type that the patterns of one packing hold in all, shape (task types,)."""
    least: int
    """No packing weighs less, but for the one known to the prices."""


def list_patterns(
    packing: VectorPacking,
    knapsacks: Sequence[Knapsack],
    prices: DualPrices,
    weight: int,
    *,
    most: int = MOST_LISTED,
) -> Listing | None:
    """What packings of at most this weight are made of; None where these are too many.

    Args:
        packing: what to pack.
        knapsacks: of each node type.
        prices: any; the closer to the optimum of the relaxation, the fewer patterns.
        weight: limit, in units of weight.
        most: patterns beyond which the list is given up.
    """
    gap = weight * prices.unit - prices.value
    value = prices.item[packing.type_of_option].astype(float)
    units: list[sparse.csr_array] = []
    for s, knapsack in enumerate(knapsacks):
        least = int(packing.weight[s]) * prices.unit + int(prices.node[s]) - gap
        found = knapsack.listed(value, least=float(least), most=most, nodes=_PARTIAL)
        if found is None:
            return None
        units.append(found)
        most -= found.shape[0]
    number = [found.shape[0] for found in units]
    listed = sparse.csr_array(sparse.vstack(units))
    node_type = np.repeat(np.arange(packing.node_types), number)
    return Listing(weight, listed, node_type, _most_held(packing, prices.item, gap), prices.bound)


def _most_held(packing: VectorPacking, price: Integers, gap: int) -> Integers:
    """Items of each type in the patterns of one packing: those needed, and what a gap pays for.

    A pattern holds no more than are needed, so that all nodes there are limit those without price.
    """
    ample = packing.number * packing.available.sum()
    paid = packing.number + max(gap, 0) // np.maximum(price, 1)
    return np.asarray(np.where(price > 0, np.minimum(paid, ample), ample))


@dataclass(frozen=True)
class Lightest:
    """What a list of patterns says: a packing, and what no packing is lighter than."""

    bins: list[Bin] | None
    bound: float


def lightest(
    packing: VectorPacking,
    listing: Listing,
    *,
    time_limit: float | None = None,
    stop: threading.Event | None = None,
) -> Lightest:
    """The lightest packing within the limit of a list; proven, unless time ends before.

    Where none is lighter than that limit, any will do.

    Args:
        packing: what to pack.
        listing: complete.
        time_limit: wall seconds; None: until decided.
        stop: set it from another thread to end undecided.
    """
    options = np.arange(len(packing.size))
    kind = (np.ones(len(options)), (options, packing.type_of_option))
    units = sparse.csr_array(
        listing.units @ sparse.csr_array(kind, shape=(len(options), packing.task_types))
    )
    if len(np.unique(units.indices)) < packing.task_types:  # an item is in no pattern
        return Lightest(None, listing.weight + 1)
    # so many of one pattern hold all items of its types
    most = (units > 0).multiply(packing.number).max(axis=1).toarray().reshape(-1)
    model = Model("packing of listed patterns")
    times = model.integer("times", units.shape[0], upper=most.astype(float))
    weight = times @ packing.weight[listing.node_type].astype(float)
    held = sparse.csr_array(units.T) @ times
    model.add("items", held.between(packing.number.astype(float), listing.most.astype(float)))
    used = times.sum_by(listing.node_type, packing.node_types)
    model.add("nodes", used <= packing.available.astype(float))
    model.add("weight", weight <= float(listing.weight))
    any_will_do = listing.weight <= listing.least
    if not any_will_do:
        model.minimize(weight)
    # presolve takes longer than it saves where columns are many, and few are redundant
    extra = {} if any_will_do else {"presolve": "off"}
    solution = solve(model, "highs", time_limit=time_limit, stop=stop, extra=extra)
    if solution.status is Status.INFEASIBLE:
        return Lightest(None, listing.weight + 1)
    bound = float(listing.least)
    if solution.bound is not None and not any_will_do:
        bound = max(bound, min(solution.bound, listing.weight + 1))
    if not solution.has_point:
        return Lightest(None, bound)
    chosen = np.repeat(np.arange(len(most)), np.rint(solution["times"]).astype(np.int64))
    return Lightest(_bins(packing, listing, chosen.tolist()), bound)


def _bins(packing: VectorPacking, listing: Listing, chosen: Sequence[int]) -> list[Bin]:
    """The nodes of a choice, without the items that are there more often than needed."""
    left, bins = packing.number.copy(), []
    for p in chosen:
        row = slice(listing.units.indptr[p], listing.units.indptr[p + 1])
        held = []
        for k, times in zip(listing.units.indices[row], listing.units.data[row], strict=True):
            kind = packing.type_of_option[k]
            served = min(int(times), int(left[kind]))
            left[kind] -= served
            held += [int(k)] * served
        if held:
            bins.append(Bin(int(listing.node_type[p]), tuple(sorted(held))))
    return bins
