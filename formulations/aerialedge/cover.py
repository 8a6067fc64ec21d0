"""Is there a packing with so many nodes? Decided over all patterns that waste little enough.

A packing on k identical nodes leaves k C^r - sum T^r of every resource unused in all. No node of
it leaves more, so that where a bound is nearly met few patterns remain: all can be listed, and the
question is whether some of them make up the items exactly.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from formulations.aerialedge.instance import Booleans, Integers
from formulations.aerialedge.vector_packing import Bin, VectorPacking
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Status

MOST_PATTERNS = 30_000
"""Patterns up to which the question is asked."""
_MOST_PARTIAL = 1_000_000  # partial patterns of one length
_CHUNK = 2_000_000  # entries of an array made at once


@dataclass(frozen=True)
class Cover:
    """The answer: a packing, a proof that there is none, or neither in the time given."""

    bins: list[Bin] | None = None
    impossible: bool = False


def waste_allowed(packing: VectorPacking, nodes: int) -> Integers:
    """What a packing on so many nodes of the first type leaves unused, shape (resources,)."""
    return np.asarray(nodes * packing.capacity[0] - packing.number @ packing.size)


@dataclass(frozen=True, eq=False)
class _Growth:
    """Partial patterns and what may be added to them.

    Types come by decreasing size in the lead resource, the one with the least waste allowed, so
    that types too large for the room left are skipped without being looked at.
    """

    size: Integers
    number: Integers
    capacity: Integers
    waste: Integers
    lead: int
    deadline: float

    def longer(self, held: Integers, load: Integers) -> tuple[Integers, Integers] | None:
        """One more item in every way that may lead to a pattern; None: too many, or too late.

        Args:
            held: types of the items held, ascending, shape (partial patterns, items).
            load: their sizes together, shape (partial patterns, resources).
        """
        types = len(self.size)
        free = self.capacity - load
        fitting = np.searchsorted(-self.size[:, self.lead], -free[:, self.lead])
        begin = np.maximum(fitting, held[:, -1]) if held.shape[1] else fitting
        helds = [np.zeros((0, held.shape[1] + 1), dtype=np.int64)]
        loads, count = [load[:0]], 0
        step = max(1, _CHUNK // types)
        for start in range(0, len(held), step):
            width = types - begin[start : start + step]
            row = np.repeat(np.arange(len(width)), width)
            new = np.arange(len(row)) - np.repeat(np.cumsum(width) - width - types + width, width)
            row += start
            keep = np.flatnonzero(self._useful(free[row] - self.size[new]))
            row, new = row[keep], new[keep]
            grown = np.column_stack([held[row], new])
            keep = np.flatnonzero((grown == new[:, None]).sum(axis=1) <= self.number[new])
            helds.append(grown[keep])
            loads.append(load[row[keep]] + self.size[new[keep]])
            count += len(keep)
            if count > _MOST_PARTIAL or time.perf_counter() > self.deadline:
                return None
        return np.concatenate(helds), np.concatenate(loads)

    def _useful(self, left: Integers) -> Booleans:
        """Whether a partial pattern is full enough already, or another item may fit."""
        full = (left <= self.waste).all(axis=1)
        roomy = (left >= self.size.min(axis=0)).all(axis=1)
        return np.asarray((left >= 0).all(axis=1) & (full | roomy))


def tight_patterns(
    packing: VectorPacking,
    waste: Integers,
    *,
    most: int = MOST_PATTERNS,
    deadline: float = math.inf,
) -> Integers | None:
    """Every pattern of the first node type that wastes no more than this of any resource.

    Args:
        packing: whose task types have one option each.
        waste: largest unused amount of each resource, shape (resources,).
        most: number of patterns beyond which the list is given up.
        deadline: of ``time.perf_counter``, after which it is given up too.

    Returns:
        Units of each type, shape (patterns, types); None where it was given up.
    """
    types, capacity = packing.task_types, packing.capacity[0]
    found = [np.zeros((0, types), dtype=np.int64)]
    if (waste < 0).any():
        return found[0]
    lead = int(np.argmin(waste / np.maximum(capacity, 1)))
    order = np.argsort(-packing.size[:, lead], kind="stable")
    growth = _Growth(packing.size[order], packing.number[order], capacity, waste, lead, deadline)
    held = np.zeros((1, 0), dtype=np.int64)
    load = np.zeros((1, packing.resources), dtype=np.int64)
    while len(held):
        full = np.flatnonzero((load >= capacity - waste).all(axis=1))
        most -= len(full)
        if most < 0:
            return None
        units = np.zeros((len(full), types), dtype=np.int64)
        np.add.at(units, (np.arange(len(full))[:, None], order[held[full]]), 1)
        found.append(units)
        grown = growth.longer(held, load)
        if grown is None:
            return None
        held, load = grown
    return np.concatenate(found)


def coverable(packing: VectorPacking) -> bool:
    """Whether the question can be asked: nodes are identical, tasks served in one way only."""
    return packing.node_types == 1 and len(packing.size) == packing.task_types


def solve_cover(
    packing: VectorPacking,
    nodes: int,
    *,
    time_limit: float | None = None,
    stop: threading.Event | None = None,
) -> Cover:
    """Decide whether so many nodes suffice; neither answer where patterns are too many.

    Args:
        packing: for which ``coverable`` holds.
        nodes: how many to use, each possibly empty.
        time_limit: wall seconds; None: until decided.
        stop: set it from another thread to end undecided.
    """
    deadline = time.perf_counter() + (math.inf if time_limit is None else time_limit)
    units = tight_patterns(packing, waste_allowed(packing, nodes), deadline=deadline)
    if units is None:
        return Cover()
    if not units.any(axis=0).all():  # an item is in no pattern
        return Cover(impossible=True)
    most = np.where(units > 0, packing.number // np.maximum(units, 1), nodes).min(axis=1)
    model = Model("items made up of patterns with little waste")
    times = model.integer("times", len(units), upper=np.minimum(most, nodes).astype(np.float64))
    matrix = sparse.csr_array(units.T.astype(np.float64))
    model.add("items", (matrix @ times) == packing.number.astype(np.float64))
    model.add("nodes", times.sum() == nodes)
    model.minimize(times.sum())
    left = None if time_limit is None else max(deadline - time.perf_counter(), 1e-3)
    solution = solve(model, "highs", time_limit=left, stop=stop)
    if not solution.has_point:
        return Cover(impossible=solution.status is Status.INFEASIBLE)
    used = np.repeat(units, np.rint(solution["times"]).astype(np.int64), axis=0)
    held = (np.repeat(np.arange(packing.task_types), row).tolist() for row in used if row.any())
    return Cover([Bin(0, tuple(options)) for options in held])
