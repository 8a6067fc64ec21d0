"""Index arithmetic for sparse index sets, and read-only arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import UnsupportedError
from optsched.instances.read_only import changeable, read_only

Integers = NDArray[np.int64]


_SPARSE = 100
"""Keys are counted one by one if there are fewer than one in so many."""


MOST_ENTRIES = 20_000_000
"""Entries of an index set, at most: columns of a model need 200 to 260 bytes each before a solver
has them, and as much again and more within it."""


def refuse_too_many(entries: float, what: str) -> None:
    """Refuse to build what memory does not hold.

    Args:
        entries: how many there would be.
        what: they are.

    Raises:
        UnsupportedError: more than ``MOST_ENTRIES``.
    """
    if entries > MOST_ENTRIES:
        gib = MOST_ENTRIES * 260 / 2**30
        raise UnsupportedError(
            f"there would be {entries:,.0f} {what}: at most {MOST_ENTRIES:,}, which take about "
            f"{gib:.0f} GiB before a solver has them"
        )


def ranges(start: NDArray[Any], end: NDArray[Any]) -> tuple[Integers, Integers]:
    """All integers of every interval [start, end), one interval after the other.

    Returns:
        The interval each belongs to, and the integers; empty intervals give none.

    Raises:
        UnsupportedError: more than ``MOST_ENTRIES``.
    """
    length = np.maximum(0, np.asarray(end) - np.asarray(start)).astype(np.int64)
    refuse_too_many(float(length.sum(dtype=np.float64)), "columns, rows or runs")
    owner = np.repeat(np.arange(len(length)), length)
    first = np.cumsum(length) - length
    return owner, np.arange(len(owner)) - first[owner] + np.asarray(start, dtype=np.int64)[owner]


def compress(keys: NDArray[np.integer[Any]]) -> tuple[Integers, Integers]:
    """Renumber non-negative keys densely, in order.

    Returns:
        The new key of each entry, and the old key of each new one.
    """
    if len(keys) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    size = int(keys.max()) + 1
    if size > _SPARSE * len(keys):  # memory follows the keys, not their size
        found, place = np.unique(keys, return_inverse=True)
        return place.astype(np.int64), found.astype(np.int64)
    used = np.zeros(size, dtype=bool)
    used[keys] = True
    return (np.cumsum(used) - 1)[keys], np.flatnonzero(used)


def rank_within(groups: NDArray[np.integer[Any]]) -> Integers:
    """Position of each entry among those of its group, in order of appearance."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    fresh = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    position = (
        np.arange(len(groups)) - np.repeat(fresh, np.diff(np.append(fresh, len(groups))))
        if len(groups)
        else np.zeros(0, dtype=np.int64)
    )
    rank = np.empty(len(groups), dtype=np.int64)
    rank[order] = position
    return rank


def freeze(thing: Any) -> None:
    """Make every array of a frozen dataclass read-only, a copy of what the caller may still change.

    Lists become tuples. Call it from ``__post_init__``.
    """
    for item in fields(thing):
        value = getattr(thing, item.name)
        if isinstance(value, np.ndarray) and changeable(value):
            value = value.copy()
        if isinstance(value, np.ndarray | list | tuple):
            object.__setattr__(thing, item.name, read_only(value))
