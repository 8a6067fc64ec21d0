"""How many intervals of a kind are open at each instant: sorting and cumulative sums only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.instance import ROUNDING, Floats, Integers


@dataclass(frozen=True)
class Spans:
    """Half-open intervals [start, end), each of one key (a job, a worker, a chunk)."""

    key: Integers
    """Shape (intervals,)."""
    start: Floats
    """Shape (intervals,), slots."""
    end: Floats
    """Shape (intervals,), slots."""

    def take(self, kept: NDArray[np.bool_] | Integers) -> Spans:
        """The intervals that a mask or an index array picks."""
        return Spans(self.key[kept], self.start[kept], self.end[kept])

    def apart(self) -> Spans:
        """Without those that equal the one before them, as of workers side by side."""
        columns = (self.key, self.start, self.end)
        new = np.ones(len(self.key), dtype=np.bool_)
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        return self.take(new)


@dataclass(frozen=True)
class Steps:
    """Step functions of time, one per key: pieces on which every count is constant."""

    pieces: Spans
    counts: tuple[Integers, ...]
    """Open intervals of each layer, each of shape (pieces,)."""

    def take(self, kept: NDArray[np.bool_]) -> Steps:
        """The pieces that a mask picks."""
        return Steps(self.pieces.take(kept), tuple(c[kept] for c in self.counts))

    def merged(self) -> Steps:
        """Join neighbours that touch and have the same key and counts."""
        key, start, end = self.pieces.key, self.pieces.start, self.pieces.end
        same = (key[1:] == key[:-1]) & (start[1:] - end[:-1] <= ROUNDING)
        for count in self.counts:
            same &= count[1:] == count[:-1]
        first = np.flatnonzero(np.concatenate([np.ones(min(len(key), 1), bool), ~same]))
        last = np.append(first[1:], len(key))[: len(first)] - 1
        joined = Spans(key[first], start[first], end[last])
        return Steps(joined, tuple(c[first] for c in self.counts))


def by_key_and_time(key: Integers, time: Floats) -> NDArray[np.int64]:
    """Order by key, then by time; keys by 16 bits at a time, which numpy sorts by counting."""
    order = np.argsort(time, kind="stable")
    rank = key - key.min(initial=0)
    for bits in range(0, int(rank.max(initial=0)).bit_length(), 16):
        digit = (rank[order] >> bits).astype(np.uint16)
        order = order[np.argsort(digit, kind="stable")]
    return order


def count_open(*layers: Spans) -> Steps:
    """Count, at every instant and for every key, the open intervals of each layer.

    Pieces no longer than ``ROUNDING`` are left out.
    """
    key = np.concatenate([part for x in layers for part in (x.key, x.key)])
    time = np.concatenate([part for x in layers for part in (x.start, x.end)])
    order = by_key_and_time(key, time)
    key, time = key[order], time[order]
    kept = np.zeros(len(key), dtype=bool)
    kept[:-1] = (key[1:] == key[:-1]) & (np.diff(time) > ROUNDING)
    at = np.flatnonzero(kept)
    counts = []
    before = 0
    for layer in layers:
        n = len(layer.key)
        step = np.zeros(len(key), dtype=np.int8)
        step[before : before + n] = 1
        step[before + n : before + 2 * n] = -1
        before += 2 * n
        counts.append(np.cumsum(step[order], dtype=np.int64)[at])
    return Steps(Spans(key[at], time[at], time[at + 1]), tuple(counts))


def excess(intervals: Spans, limit: Integers) -> Steps:
    """Where more than ``limit[key]`` intervals of one key are open at once.

    Args:
        intervals: any number per key.
        limit: shape (keys,).

    Returns:
        The pieces beyond the limit, with the number of open intervals.
    """
    crowded = np.bincount(intervals.key, minlength=len(limit)) > limit
    suspects = intervals.take(crowded[intervals.key])
    if np.all(limit[crowded] == 1):  # then neighbours in time tell whether anything overlaps
        order = by_key_and_time(suspects.key, suspects.start)
        suspects = suspects.take(order)
        overlap = (suspects.key[1:] == suspects.key[:-1]) & (
            suspects.start[1:] < suspects.end[:-1] - ROUNDING
        )
        guilty = np.zeros(len(limit), dtype=bool)
        guilty[suspects.key[1:][overlap]] = True
        suspects = suspects.take(guilty[suspects.key])
    steps = count_open(suspects)
    (count,) = steps.counts
    return steps.take(count > limit[steps.pieces.key])
