"""Lower bounds that need no solver: volume, pairs that cannot share a node, dual feasible steps.

All are in whole units of weight (``VectorPacking.weight``), which is why they may be rounded up.
A bound of ``INFEASIBLE`` proves that the items do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from formulations.aerialedge.instance import Floats, Instance, Integers
from formulations.aerialedge.problem_ae1 import closest
from formulations.aerialedge.problem_ae3 import relaxation_bound
from formulations.aerialedge.vector_packing import VectorPacking, aggregate
from optsched.decomposition.dual_feasible import stepped
from optsched.problem import Bound

INFEASIBLE = math.inf
_ROUNDING = 1e-9  # relative; quotients of whole numbers are as close as that to theirs
_PAIRS = 1500  # largest number of item types for which pairs are compared


def lower_bound(packing: VectorPacking) -> float:
    """The best of the bounds below, in units of weight."""
    if len(packing.stranded):
        return INFEASIBLE
    return max(volume_bound(packing), conflict_bound(packing), step_bound(packing))


def covering(demand: float, supply: Floats | Integers, packing: VectorPacking) -> float:
    """Least weight of nodes whose supplies add up to a demand, each in part if need be, rounded up.

    Args:
        demand: to be covered.
        supply: of one node of each type, shape (node types,).
        packing: for the weights and numbers of nodes.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # what supplies nothing comes last
        order = np.argsort(packing.weight / np.asarray(supply, dtype=np.float64))
    total = np.asarray(supply, dtype=np.float64)[order] * packing.available[order]
    before = np.cumsum(total) - total
    taken = np.clip(demand - before, 0.0, total)
    if taken.sum() < demand * (1 - _ROUNDING):
        return INFEASIBLE
    used = supply[order] > 0
    value = float((taken[used] / supply[order][used] * packing.weight[order][used]).sum())
    return float(math.ceil(value - _ROUNDING * max(1.0, value)))


def volume_bound(packing: VectorPacking) -> float:
    """L_0: per resource, the nodes that can hold all demand together.

    For identical nodes this is the ceiling of the linear relaxation of [AE2]; for different ones
    under "count", the smallest k such that the k largest nodes suffice.
    """
    return max(
        covering(float(packing.number @ packing.least_size[:, r]), packing.capacity[:, r], packing)
        for r in range(packing.resources)
    )


def conflict_bound(packing: VectorPacking) -> float:
    """Items of which no two fit any node together need a node each (a greedy clique)."""
    if packing.task_types > _PAIRS:
        return 0.0
    least, number = packing.least_size, packing.number
    together = least[:, None, :] + least[None, :, :]
    fit = np.zeros(together.shape[:2], dtype=bool)
    for capacity in packing.capacity:
        fit |= (together <= capacity).all(axis=2)
    alone = ~fit
    degree = alone @ number
    best = 0
    for start in np.argsort(-degree, kind="stable")[:20].tolist():
        members, candidates = 0, np.ones(packing.task_types, dtype=bool)
        current: int | None = start
        while current is not None:
            members += int(number[current]) if alone[current, current] else 1
            candidates &= alone[current]
            candidates[current] = False
            left = np.flatnonzero(candidates)
            current = int(left[np.argmax(degree[left])]) if len(left) else None
        best = max(best, members)
    order = np.argsort(packing.weight, kind="stable")
    cheapest = np.repeat(packing.weight[order], np.minimum(packing.available[order], best))
    if len(cheapest) < best:
        return INFEASIBLE
    return float(cheapest[:best].sum())


def step_bound(packing: VectorPacking) -> float:
    """Return Martello and Toth's L_2 of the resource that bounds best (identical nodes only)."""
    if packing.node_types > 1:
        return 0.0
    best = 0.0
    for r in range(packing.resources):
        size, capacity = packing.least_size[:, r], int(packing.capacity[:, r].item())
        for q in np.unique(size[size <= capacity // 2]):
            demand = float(packing.number @ stepped(size, capacity, int(q)))
            best = max(best, covering(demand, packing.capacity[:, r], packing))
    return best


def _of_closest(
    name: str,
    compute: Callable[[VectorPacking], float],
    source: str,
    summary: str,
    quick: bool = True,
) -> Bound:
    """A bound on a packing problem as one on the deployment Algorithm 2 tries first."""

    def value(instance: Instance) -> float:
        packing = aggregate(instance, closest(instance))
        return compute(packing) * packing.weight_unit

    return Bound(name, value, source, summary, quick=quick)


BOUNDS = (
    _of_closest("volume", volume_bound, "L_0", "per resource, the nodes that hold all demand"),
    _of_closest("conflict", conflict_bound, "pairs", "tasks of which no two fit any node together"),
    _of_closest("steps", step_bound, "Martello and Toth, L_2", "dual feasible steps, per resource"),
    _of_closest("patterns", relaxation_bound, "[AE3]", "linear relaxation over patterns", False),
)
