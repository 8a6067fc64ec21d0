"""Reservations of one resource over time."""

from __future__ import annotations

from bisect import bisect_right


class Profile:
    """How much of a capacity is reserved in every slot; nothing at first."""

    def __init__(self, capacity: float) -> None:
        self._capacity = capacity
        self._times = [0]
        self._used = [0]

    def earliest(self, start: int, need: int, length: int) -> int:
        """First slot from ``start`` on from which ``need`` units are free for ``length`` slots.

        ``need`` is at most the capacity.
        """
        times, used, limit = self._times, self._used, self._capacity - need
        at = bisect_right(times, start) - 1
        while at < len(times) and times[at] < start + length:
            if used[at] > limit:  # go on behind what is in the way; after the last piece is room
                start = times[at + 1]
            at += 1
        return start

    def reserve(self, start: int, end: int, amount: int) -> None:
        """Take ``amount`` units in slots start..end - 1."""
        first = self._cut(start)
        for at in range(first, self._cut(end)):
            self._used[at] += amount

    def _cut(self, slot: int) -> int:
        """Position of the piece that begins with a slot, made if need be."""
        at = bisect_right(self._times, slot) - 1
        if self._times[at] != slot:
            at += 1
            self._times.insert(at, slot)
            self._used.insert(at, self._used[at - 1])
        return at
