"""Simulated annealing of a schedule by destroy and repair, a few jobs at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.random import Generator

from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job.paths import FreeCapacity, Path, path_schedule
from formulations.okita.one_job.planner import Planner
from formulations.okita.schedule import Schedule

MOST = 5
"""Most jobs destroyed in a step."""
SPREAD = 3.0
"""Slots by which the distance of jobs in time is blurred when they are chosen."""
GUIDED = 0.5
"""Part of the jobs that are offered what a relaxation chooses of them."""
ROUNDING = 1e-9
"""Relative difference of costs that is rounding."""


class DestroyRepair:
    """Steps of the annealing: destroy the schedules of jobs near each other in time, repair them.

    Jobs are repaired in random order, each as cheaply as the units of its work or its small lattice
    say. If a relaxation is known, half of them take one of its fractional columns that fits, as
    likely as its share: these make room for each other.
    """

    def __init__(
        self, planner: Planner, paths: Iterable[Path], floors: Floats, rng: Generator
    ) -> None:
        """Begin with a schedule.

        Args:
            planner: nobody else may use it meanwhile.
            paths: the schedule of each job.
            floors: what each job costs at least, shape (jobs,), money.
            rng: of what is destroyed, in which order it is repaired, and what is accepted.
        """
        self.planner, self.floors, self._rng = planner, floors, rng
        self.chosen: Mapping[int, Sequence[tuple[Path, float]]] = {}
        """Fractional columns of a relaxation by job, at their costs, and their shares."""
        self.begin(paths)

    @property
    def instance(self) -> Instance:
        """The system and its jobs."""
        return self.planner.instance

    def begin(self, paths: Iterable[Path]) -> None:
        """Go on from another schedule."""
        self.best = list(paths)
        self.best_cost = sum(path.price for path in self.best)
        self._met, self._met_cost = self.best, self.best_cost
        self._paths, self.cost = list(self.best), self.best_cost
        self._room = FreeCapacity(self.instance)
        for i, path in enumerate(self.best):
            self._room.hold(i, path)

    @property
    def schedule(self) -> Schedule:
        """The best."""
        parts = (path_schedule(self.instance, i, path) for i, path in enumerate(self.best))
        return Schedule.merged(parts)

    def steps(self, count: int, temperature: float) -> float:
        """Take so many steps; return the least cost met if it is less than the best, else inf."""
        with suppress(TimeoutError):
            for _ in range(count):
                self._step(self.cost + temperature * self._rng.exponential())
                if self.cost < self._met_cost - ROUNDING * abs(self._met_cost):
                    self._met, self._met_cost = list(self._paths), self.cost
        return self._met_cost if self._met_cost < self.best_cost else np.inf

    def keep(self) -> None:
        """Remember the best met in the last steps."""
        self.best, self.best_cost = self._met, self._met_cost

    def _step(self, limit: float) -> None:
        """Destroy and repair; keep what costs no more than a limit (Metropolis), money."""
        out, room = self._near(), self._room.copy()
        for i in out:
            room.hold(i, self._paths[i], -1)
        budget = limit - self.cost + sum(self._paths[i].price for i in out)
        made: dict[int, Path] = {}
        for n, i in enumerate(out):
            if budget < self.floors[out[n:]].sum():
                return
            path = self._offered(i, room)
            if path is None:
                slots = self._paths[i].last + 2
                path = self.planner.optimum(i, room, slots, quick=True)
                room.hold(i, path)
            made[i] = path
            budget -= path.price
        if budget >= 0:
            for i, path in made.items():
                self._paths[i] = path
            self._room, self.cost = room, sum(path.price for path in self._paths)

    def _near(self) -> list[int]:
        """Draw a few jobs near each other in time, in random order."""
        first, rng = self.instance.release_slot, self._rng
        jobs = len(first)
        count = min(jobs, int(rng.integers(2, MOST + 1)))
        apart = np.abs(first - first[rng.integers(jobs)]) + SPREAD * rng.random(jobs)
        return [int(i) for i in rng.permutation(np.argsort(apart)[:count])]

    def _offered(self, i: int, room: FreeCapacity) -> Path | None:
        """Take a fractional column of a job that fits, if it is to have one; else return None."""
        offers = self.chosen.get(i, ())
        if offers and self._rng.random() < GUIDED:
            share = np.array([part for _, part in offers])
            share /= share.sum()
            for n in self._rng.choice(len(offers), len(offers), replace=False, p=share):
                path: Path = offers[n][0]
                if room.hold_if_fits(i, path):
                    return path
        return None
