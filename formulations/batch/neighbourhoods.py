"""A schedule made better by taking jobs out and putting them anew, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from formulations.batch.insertion import Occupancy, PlacedJob
from formulations.batch.instance import Floats, Integers
from formulations.batch.prospects import Prospects

MOST_OUT = 7
"""Most jobs taken out at a time."""
PATIENCE = 30
"""Neighbourhoods in vain, for each pair of jobs of a type, after which the search ends."""
WARMTH = 0.5
"""Mean loss, in slots of a job of mean weight, at which a schedule is still gone on from."""
RENT = 0.5
"""Most slots of delay that are as bad as having all workers for a slot."""
NOISE = 10.0
"""Slots by which servers are preferred at random, in half of the neighbourhoods."""


class Neighbourhoods:
    """The best schedule met, and the one that is gone on from.

    Jobs of one type of worker are taken out, near each other in time, and put where each completes
    earliest, in another order; a job that takes many workers pays a rent for those who wait.
    """

    def __init__(
        self, chosen: Prospects, weight: Floats, runs: Iterable[PlacedJob], rng: np.random.Generator
    ) -> None:
        """Begin with a schedule.

        Args:
            chosen: the choices.
            weight: of completion slots, shape (jobs,).
            runs: on servers with limits; the other jobs are in the cloud.
            rng: of what is taken out, and of how jobs are put.
        """
        instance = chosen.instance
        self._rng, self._weight = rng, weight
        self._occupancy = Occupancy(chosen)
        self._kind = instance.worker_type
        self._contested = np.flatnonzero(chosen.contested)
        usable = chosen.limited[chosen.contested].any(axis=0)
        self._workers = np.maximum(instance.worker_capacity[usable].sum(axis=0), 1.0)
        never = 2 * int(chosen.last.max()) + 2  # so that no job is left out for others' sake
        self._end: Integers = np.where(chosen.cloud_end >= 0, chosen.cloud_end, never)
        self._away = self._end.copy()
        self._runs: dict[int, PlacedJob] = {}
        for run in runs:
            self._put(run)

    def _put(self, run: PlacedJob) -> None:
        self._occupancy.put(run)
        self._runs[run.job], self._end[run.job] = run, run.end

    def _take_out(self, jobs: list[int]) -> list[PlacedJob]:
        out = [self._runs.pop(j) for j in jobs if j in self._runs]
        for run in out:
            self._occupancy.put(run, -1)
        self._end[jobs] = self._away[jobs]
        return out

    def search(self, go_on: Callable[[], bool]) -> list[PlacedJob]:
        """Neighbourhoods until it is enough, or nothing more comes of it.

        Returns:
            The best runs met.
        """
        best, value, least = dict(self._runs), 0.0, 0.0
        warmth = WARMTH * float(self._weight.mean())
        sizes = np.bincount(self._kind[self._contested])
        vain, patience = 0, PATIENCE * int((sizes**2).sum())
        while vain < patience and go_on():
            jobs = self._near()
            cost = float(self._end[jobs] @ self._weight[jobs])
            before = self._take_out(jobs)
            self._insert(jobs)
            loss = float(self._end[jobs] @ self._weight[jobs]) - cost
            vain += 1
            if loss >= warmth * self._rng.exponential():
                self._take_out(jobs)
                for run in before:
                    self._put(run)
                continue
            value += loss
            if value < least:
                best, least, vain = dict(self._runs), value, 0
        return list(best.values())

    def _near(self) -> list[int]:
        """Some jobs of one type that end near each other, in random order."""
        rng = self._rng
        one = rng.choice(self._contested)
        group = self._contested[self._kind[self._contested] == self._kind[one]]
        count = int(rng.integers(1, MOST_OUT, endpoint=True))
        apart = np.abs(self._end[group] - self._end[one]) * rng.random(len(group))
        out = group[np.argsort(apart)[:count]]
        moment = self._end[out] if rng.random() < 0.3 else rng.random(len(out))
        return [int(j) for j in out[np.argsort(moment)]]

    def _insert(self, jobs: list[int]) -> None:
        rng = self._rng
        rent = max(0.0, rng.uniform(-RENT / 4, RENT)) / self._workers[self._kind[jobs[0]]]
        servers = self._occupancy.workers.shape[2]
        noise: Floats = np.zeros(servers)
        if rng.random() < 0.5:
            noise += rng.uniform(0.0, NOISE, servers)
        for j in jobs:
            run = self._occupancy.earliest(j, rent, noise)
            if run is not None:
                self._put(run)
