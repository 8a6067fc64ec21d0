"""Rows on what servers store, and cuts that every set of services within storage satisfies.

For a fractional point x of one server the row it violates most is that of the linear program

    max a x  over a >= 0 with a v <= 1 for all sets v of services that fit,

solved over the services most present; the others are lifted, one after the other. Besides the
points of a relaxation their mean is cut, as a point is one vertex of many that are as good.
"""

from __future__ import annotations

import numpy as np

from formulations.drp.instance import Floats, Instance, Integers
from formulations.drp.loads import visible

MOST_SERVICES = 13
"""Services of which all sets are listed."""

_ACTIVE = 1e-6
_VIOLATED = 1e-3  # of the right-hand side 1, from which on a cut is worth a row
_SAME = 1e-6  # difference of coefficients that is rounding
_SAFE = 1e-9  # by which storage, and coefficients, are on the safe side


class StorageRows:
    """Rows sum over services of counts * placed <= 1, each of one server: (22d) first, then cuts.

    Relaxations that share them cut each other.
    """

    def __init__(self, instance: Instance) -> None:
        """Storage itself."""
        self.server: Integers = np.arange(instance.num_servers)
        """Server of each row, shape (rows,)."""
        self.counts: Floats = visible(instance.service_load).T.copy()
        """What each service counts there, shape (rows, services)."""
        self._mean: Floats | None = None
        """Mean of the points met, the last one as much as all before it."""

    def cut(self, placed: Floats) -> bool:
        """Add a row of every server where one is violated; whether there are any new ones.

        Args:
            placed: how far each service is on each server, shape (services, servers).
        """
        before, mean = len(self.server), self._mean
        self._mean = placed if mean is None else (placed + mean) / 2
        self._separate(placed)
        if mean is not None:
            self._separate(self._mean)
        return len(self.server) > before

    def _separate(self, placed: Floats) -> None:
        """Add rows that a point violates; the mean may violate some that there are."""
        for j in range(placed.shape[1]):
            own = self.counts[self.server == j]
            cut = storage_cut(placed[:, j], own[0])
            if cut is not None and (np.abs(own - cut).max(axis=1) > _SAME).all():
                self.server = np.append(self.server, j)
                self.counts = np.vstack([self.counts, cut])


def storage_cut(point: Floats, size: Floats) -> Floats | None:
    """What every service counts in a row that a point violates; None where none is found.

    Args:
        point: how far each service is on the server, shape (services,).
        size: of each service as a share of the storage, shape (services,).
    """
    from scipy.optimize import linprog

    present = np.flatnonzero((point > _ACTIVE) & (size > 0))
    active = present[np.argsort(-point[present], kind="stable")][:MOST_SERVICES]
    x = point[active]
    if (np.abs(x - np.round(x)) <= _ACTIVE).all():
        return None
    sets = _full_sets(size[active])
    found = linprog(-x, A_ub=sets, b_ub=np.ones(len(sets)))
    if found.status != 0:
        return None
    worth: Floats = np.maximum(np.asarray(found.x), 0.0)
    if worth @ x <= 1 + _VIOLATED:
        return None
    cut = np.zeros(len(point))
    cut[active] = worth
    frontier = np.zeros(1), np.zeros(1)
    for s in active:
        frontier = _extended(frontier, size[s], cut[s])
    most = float(frontier[1][-1])
    if most > 1:  # rounding
        cut /= most
        frontier = frontier[0], frontier[1] / most
    for s in np.argsort(-size, kind="stable"):
        if cut[s] > 0 or not 0 < size[s] <= 1:
            continue
        beside = int(np.searchsorted(frontier[0], 1 + _SAFE - size[s], side="right")) - 1
        cut[s] = max(0.0, 1.0 - frontier[1][beside] - _SAFE) if beside >= 0 else 0.0
        frontier = _extended(frontier, size[s], cut[s])
    return cut


def _full_sets(size: Floats) -> Floats:
    """Sets that fit and to which nothing can be added, a row each."""
    sets = (np.arange(1 << len(size))[:, None] >> np.arange(len(size))) & 1
    left = 1 + _SAFE - sets @ size
    smallest = np.where(sets == 0, size, np.inf).min(axis=1)
    return np.asarray(sets[(left >= 0) & (left < smallest)], dtype=np.float64)


def _extended(frontier: tuple[Floats, Floats], size: float, worth: float) -> tuple[Floats, Floats]:
    """Sizes, ascending, and most worth of sets, after one more service may be added."""
    used, value = frontier
    if worth <= 0:
        return frontier
    fits = used + size <= 1 + _SAFE
    used = np.concatenate([used, used[fits] + size])
    value = np.concatenate([value, value[fits] + worth])
    order = np.lexsort((-value, used))
    used, value = used[order], value[order]
    best = np.maximum.accumulate(value)
    kept = np.concatenate([[True], value[1:] > best[:-1]])
    return used[kept], value[kept]
