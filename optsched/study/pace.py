"""How far a study is, and how long the rest may take."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optsched.study.layout import Layout, PlannedInstance


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is."""

    finished: int
    """Runs that have their result, old ones included."""
    planned: int
    computed: int
    """Runs whose result is new."""
    seconds_left: float | None
    """Wall seconds, as the runs so far suggest; None before the first."""
    latest: str = ""
    """The method, or the sweep, whose result is the newest."""


class Pace:
    """Counts runs by method, as methods differ in time by orders of magnitude.

    Args:
        layouts: grids of the study.
        cases: their instances.
        took: runs and their wall seconds in all, by method key.
        workers: how many runs go on at a time.
    """

    def __init__(
        self,
        layouts: Sequence[Layout],
        cases: Sequence[PlannedInstance],
        took: Mapping[str, tuple[int, float]],
        workers: int,
    ) -> None:
        self.workers = workers
        self.computed = 0
        self._latest = ""
        self._left: Counter[str] = Counter()
        self._took = dict(took)
        self._planned = 0
        for grid, count in Counter(case.grid for case in cases).items():
            self.expect(layouts[grid], count)

    def expect(self, layout: Layout, count: int) -> None:
        """So many instances of a grid are planned, beside others."""
        for step in layout.steps:
            self._left[step.key] += count
            self._planned += count

    def finish(self, method: str) -> None:
        """A run of the method has its result."""
        self._left[method] -= 1

    def compute(self, method: str, call: str, took: float) -> None:
        """A result is new, and took so many wall seconds."""
        self.computed += 1
        self._latest = call
        count, total = self._took.get(method, (0, 0.0))
        self._took[method] = (count + 1, total + took)

    def takes(self, method: str) -> float:
        """Mean wall seconds of a run; infinite before the first."""
        count, total = self._took.get(method, (0, math.inf))
        return total / max(1, count)

    def progress(self) -> StudyProgress:
        """How far it is."""
        left = self._left.total()
        return StudyProgress(
            self._planned - left, self._planned, self.computed, self._seconds_left(), self._latest
        )

    def _seconds_left(self) -> float | None:
        known = {method: total / count for method, (count, total) in self._took.items()}
        if not known:
            return None
        usual = sum(known.values()) / len(known)
        work = sum(count * known.get(method, usual) for method, count in self._left.items())
        return work / self.workers
