"""Problem (7'): data transport of one job in one slot, and the printed (7).

(7') adds what (7) lacks, a limit on what each site can send; its linear relaxation has an integer
optimum. A compiled method of shortest augmenting paths solves it exactly, and beats a general
solver by far at few sites and chunks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from formulations.okita.instance import Floats, Instance, Integers
from optsched.errors import InputError
from optsched.jit import njit_cached
from optsched.model import Model


def problem_7(
    supply: ArrayLike, demand: ArrayLike, price: ArrayLike, *, printed: bool = False
) -> Model:
    """(7') as a linear program, or (7) in whole chunks; variable "g" of shape (sites, sites).

    Args:
        supply: M^r, chunks left at each site.
        demand: d^r, chunks to be trained at each site.
        price: delta q^{rr'}, money per chunk from row to column.
        printed: (7) as printed: nothing limits what a site sends.

    Raises:
        InputError: more is to be trained than there is.
    """
    left, wanted, cost = _checked(supply, demand, price)
    model = Model("problem (7), printed" if printed else "problem (7')")
    sites = len(left)
    kind = model.integer if printed else model.continuous
    g = kind("g", (sites, sites), upper=float(wanted.sum()), formula="g_i^{rr'}(t)")
    if printed:
        away = 1.0 - np.eye(sites)
        model.add(
            "7a", (g * away).sum(axis=0) >= wanted - left,
            formula="\\sum_{r \\ne r'} g_i^{rr'}(t) + M_i^{r'}(t) \\ge d_i^{r'}(t)",
        )  # fmt: skip
    else:
        model.add("supply", g.sum(axis=1) <= left, formula="\\sum_{r'} g_i^{rr'}(t) \\le M_i^r(t)")
        model.add("demand", g.sum(axis=0) == wanted, formula="\\sum_r g_i^{rr'}(t) = d_i^{r'}(t)")
    model.minimize((g * cost).sum(), formula="\\sum_{r,r'} q^{rr'} g_i^{rr'}(t)")
    return model


def exact_transport(
    supply: ArrayLike, demand: ArrayLike, price: ArrayLike
) -> tuple[float, Integers]:
    """(7') without a solver: cost (money) and chunks from row to column.

    Raises:
        InputError: more is to be trained than there is.
    """
    left, wanted, cost = _checked(supply, demand, price)
    flow = np.zeros(cost.shape, dtype=np.int64)
    return cheapest_transport(left, wanted, cost, flow, int(wanted.sum())), flow


def _checked(
    supply: ArrayLike, demand: ArrayLike, price: ArrayLike
) -> tuple[Integers, Integers, Floats]:
    left: Integers = np.asarray(supply, dtype=np.int64)
    wanted: Integers = np.asarray(demand, dtype=np.int64)
    if wanted.sum() > left.sum():
        raise InputError.of("demand", wanted.tolist(), f"at most the supply, {left.sum()} in all")
    return left, wanted, np.asarray(price, dtype=np.float64)


def cheapest_flow(instance: Instance, i: int, trained: Integers) -> Integers:
    """Chunks of a job from row to column, at least cost, for what sites can train, (sites,)."""
    supply = instance.num_chunks[i]
    price = instance.unit_bandwidth_cost * instance.chunk_size_mb[i]
    flow: Integers = np.zeros(price.shape, dtype=np.int64)
    cheapest_transport(supply, trained, price, flow, int(min(supply.sum(), trained.sum())))
    return flow


@njit_cached
def cheapest_transport(
    supply: Integers, room: Integers, price: Floats, flow: Integers, amount: int
) -> float:
    """Move ``amount`` chunks from supplies into room at least cost.

    Successive shortest paths (Bellman-Ford on the residual graph of the two sides), so that after
    each augmentation the flow is cheapest for what it carries.

    Args:
        supply: chunks that lie at each site, shape (sites,).
        room: chunks each site can train, shape (sites,).
        price: of a chunk from row to column, shape (sites, sites), non-negative.
        flow: written: chunks from row to column, shape (sites, sites).
        amount: at most what supplies and room allow.

    Returns:
        The cost; infinite if ``amount`` cannot be moved.
    """
    sites = len(supply)
    flow[:, :] = 0
    left, free = supply.copy(), room.copy()
    far = np.empty(2 * sites)
    before = np.empty(2 * sites, dtype=np.int64)
    total = 0.0
    while amount > 0:
        for r in range(sites):
            far[r] = 0.0 if left[r] > 0 else np.inf
            far[sites + r] = np.inf
            before[r] = -1
        changed = True
        while changed:
            changed = False
            for r in range(sites):
                if far[r] == np.inf:
                    continue
                for v in range(sites):
                    if far[r] + price[r, v] < far[sites + v] - 1e-12:
                        far[sites + v] = far[r] + price[r, v]
                        before[sites + v] = r
                        changed = True
            for v in range(sites):
                if far[sites + v] == np.inf:
                    continue
                for r in range(sites):
                    if flow[r, v] > 0 and far[sites + v] - price[r, v] < far[r] - 1e-12:
                        far[r] = far[sites + v] - price[r, v]
                        before[r] = sites + v
                        changed = True
        goal = -1
        for v in range(sites):
            if free[v] > 0 and (goal < 0 or far[sites + v] < far[sites + goal]):
                goal = v
        if goal < 0 or far[sites + goal] == np.inf:
            return np.inf
        push, node = min(free[goal], amount), sites + goal
        while before[node] >= 0:
            if node < sites:
                push = min(push, flow[node, before[node] - sites])
            node = before[node]
        push = min(push, left[node])
        left[node] -= push
        free[goal] -= push
        amount -= push
        total += push * far[sites + goal]
        node = sites + goal
        while before[node] >= 0:
            if node < sites:
                flow[node, before[node] - sites] -= push
            else:
                flow[before[node], node - sites] += push
            node = before[node]
    return total
