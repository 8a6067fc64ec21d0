"""Rows of packings by dual feasible functions, known before any point.

A function u is dual feasible if sum of u(x_j) <= 1 whenever sum of x_j <= 1. Items of size s_j that
are together in a capacity C then satisfy sum of u(s_j / C) v_j <= 1. With q = 1 two items that each
take more than half never meet; 4 units hold one item of size 3, although the capacity alone would
let 4/3 of them in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.decomposition.listed import Integers
from optsched.model.expression import Floats

LARGEST_ORDER = 8
"""Largest q of the rows."""
SAFE = 1e-9
"""Amount to raise right-hand sides 1 by, far above what rounding of sums can do."""


def rounded(size: Integers, capacity: int, q: int) -> Floats:
    """Return u_q(size / capacity) of Fekete and Schepers (2001).

    u_q(x) = x if (q + 1) x is whole, else floor((q + 1) x) / q.

    Args:
        size: whole numbers >= 0.
        capacity: at least 1.
        q: at least 1.

    Example:
        >>> rounded(np.array([2, 3, 5]), 5, 1).tolist()
        [0.0, 1.0, 1.0]
    """
    times = (q + 1) * size
    return np.where(times % capacity == 0, size / capacity, times // capacity / q)


def stepped(size: Integers, capacity: int, least: int) -> Integers:
    """Return the sizes, in units of the capacity, by the function behind Martello and Toth's L_2.

    An item larger than C - least counts as C, one smaller than ``least`` as nothing.

    Args:
        size: whole numbers >= 0.
        capacity: C.
        least: at most C / 2.

    Example:
        >>> stepped(np.array([1, 4, 7]), 10, 4).tolist()
        [0, 4, 10]
    """
    return np.where(size > capacity - least, capacity, np.where(size < least, 0, size))


def rounded_rows(size: Integers, capacity: Integers, *, orders: int = LARGEST_ORDER) -> Floats:
    """Return rows a that say more than the capacities: sum of a_j v_j <= 1 for every packing v.

    An item that does not fit has coefficient 0. No row is implied by another one.

    Args:
        size: of each item, whole numbers >= 0, shape (items, resources).
        capacity: shape (resources,).
        orders: the largest q of u_q.

    Returns:
        Shape (rows, items).

    Example:
        >>> rounded_rows(np.array([[3], [1]]), np.array([4]), orders=1).tolist()
        [[1.0, 0.0]]
    """
    rows = np.array(list(_rows(size, capacity, orders))).reshape(-1, len(size))
    rows = np.unique(rows, axis=0)
    larger = np.asarray((rows[:, None] <= rows[None]).all(axis=2))
    np.fill_diagonal(larger, False)
    return np.asarray(rows[~np.any(larger, axis=1)])


def _rows(size: Integers, capacity: Integers, orders: int) -> Iterator[Floats]:
    """Yield rows with a coefficient above the item's share of the capacity."""
    fits = (size <= capacity).all(axis=1)
    for k in np.flatnonzero(capacity > 0).tolist():
        most = int(capacity[k])
        for q in range(1, orders + 1):
            row = np.where(fits, rounded(size[:, k], most, q), 0.0)
            if (row > np.where(fits, size[:, k] / most, 0.0) + SAFE).any():
                yield row
