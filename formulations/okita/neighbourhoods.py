"""A schedule made better by taking jobs out and planning them anew, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np

from formulations.okita.construct import FreeCapacity, Planner
from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job import Path, path_schedule
from formulations.okita.schedule import Schedule

LARGEST_NEIGHBOURHOOD = 8
"""Most jobs taken out at a time."""

_FLAT = 1e-9  # relative difference of costs that is rounding


class Neighbourhoods:
    """The best schedule known, as one of every job, and all schedules planned on the way."""

    def __init__(self, planner: Planner, paths: Iterable[Path], floors: Floats) -> None:
        self.planner = planner
        self.floors = floors
        self.take(paths)
        self.planned: list[tuple[int, Path]] = list(enumerate(self.paths))
        self._rng = np.random.default_rng(0)

    @property
    def instance(self) -> Instance:
        """The system and its jobs."""
        return self.planner.instance

    @property
    def schedule(self) -> Schedule:
        """The best."""
        parts = (path_schedule(self.instance, i, path) for i, path in enumerate(self.paths))
        return Schedule.merged(parts)

    def take(self, paths: Iterable[Path]) -> None:
        """Go on from another schedule."""
        self.paths = list(paths)
        self.cost = sum(path.price for path in self.paths)
        self._room = FreeCapacity(self.instance)
        for i, path in enumerate(self.paths):
            self._room.hold(i, path)

    def search(self, go_on: Callable[[], bool], rounds: int) -> None:
        """Take out and plan anew until it is enough, or in vain for so many rounds."""
        vain = 0
        with suppress(TimeoutError):
            while go_on() and vain < rounds:
                vain = 0 if self._improved(go_on) else vain + 1

    def _improved(self, go_on: Callable[[], bool]) -> bool:
        """One neighbourhood: some jobs near each other in time, in random order."""
        instance, rng = self.instance, self._rng
        most = min(LARGEST_NEIGHBOURHOOD, instance.jobs)
        count = int(rng.integers(min(2, most), most, endpoint=True))
        middle = instance.release_slot[rng.integers(instance.jobs)]
        apart = np.abs(instance.release_slot - middle) + rng.uniform(0.0, 3.0, instance.jobs)
        out = rng.permutation(np.argsort(apart)[:count])
        room = self._room.copy()
        for i in out.tolist():
            room.hold(i, self.paths[i], -1)
        spare = sum(self.paths[i].price for i in out.tolist())
        found: dict[int, Path] = {}
        left = float(self.floors[out].sum())
        for i, path in self.planner.inserted(out.tolist(), room):
            found[i] = path
            self.planned.append((i, path))
            spare, left = spare - path.price, left - float(self.floors[i])
            if spare - left < -_FLAT * self.cost or (len(found) < count and not go_on()):
                return False
        self._room = room
        for i, path in found.items():
            self.paths[i] = path
        self.cost -= spare
        return bool(spare > _FLAT * self.cost)
