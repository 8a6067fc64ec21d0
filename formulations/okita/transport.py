"""Problem (7'): which chunks go where, at least cost, by shortest augmenting paths.

A transportation problem with supplies and demands (or room) per site. The sites are few and the
chunks few, so a compiled augmenting-path method beats a general solver by far; it is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.okita.instance import Instance
from optsched.jit import njit_cached

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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
