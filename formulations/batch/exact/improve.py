"""Simulated annealing of a schedule by destroy and repair, a few jobs at a time."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from formulations.batch.domain_reduction import Prospects
from formulations.batch.exact.moves import PRIME, Current, JobData, destroy_and_repair
from formulations.batch.insertion import PlacedJob
from formulations.batch.instance import Floats, Integers
from optsched.decomposition import anneal
from optsched.solvers.deadline import Deadline

BATCH = 300
"""Steps between two looks at the deadline, in machine code."""
FEW = 10
"""Jobs up to which fewer are enough: as many as jobs, as they may be interpreted."""
FIRST = 2
"""Steps of the first cooling, for each triple of jobs of a type."""
NEVER = int(np.iinfo(np.int64).max) // 4


class Annealing:
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) by destroy and repair.

    A step destroys jobs of one type of worker near each other in time, and repairs the schedule in
    another order, each job where it completes earliest; some of them narrower or later than they
    might be. Each cooling is twice as long as the one before.
    """

    def __init__(
        self, chosen: Prospects, weight: Floats, runs: Iterable[PlacedJob], rng: np.random.Generator
    ) -> None:
        """Begin with a schedule.

        Args:
            chosen: the choices.
            weight: of completion slots, shape (jobs,).
            runs: on servers with limits; the other jobs are in the cloud.
            rng: of what is destroyed, and of how it is repaired.
        """
        instance = chosen.instance
        self._state = rng.integers(1, PRIME, 1)
        self._servers = instance.servers
        self._triples = int((np.bincount(instance.worker_type[chosen.contested]) ** 3).sum())
        self._length = FIRST
        self._workers, self._services = (_places(room) for room in chosen.rooms)
        self._data = self._given(chosen, weight)
        self._best = self._current(chosen, runs)
        self._now, self._value = copy.deepcopy(self._best), np.zeros(3)

    def _given(self, chosen: Prospects, weight: Floats) -> JobData:
        instance = chosen.instance
        since = np.minimum(chosen.reached, NEVER)
        first = np.full(instance.jobs, NEVER)
        np.minimum.at(first, chosen.choices.job, chosen.first)
        never = 2 * int(chosen.last.max()) + 2  # so that no job is left out for others' sake
        kind, service = instance.worker_type, instance.ps_type
        order = np.argsort(kind, kind="stable")
        group = order[chosen.contested[order]]
        reached = _of_places(since, self._workers[kind], NEVER)
        return JobData(
            kind, service, instance.work_slow, instance.work_fast, instance.num_chunks,
            first, np.where(chosen.contested, chosen.last, -1),
            np.where(chosen.cloud_end >= 0, chosen.cloud_end, never), weight, reached,
            _of_places(since, self._services[service], NEVER), self._beside(),
            self._early(chosen, reached), group,
            np.searchsorted(kind[group], np.arange(instance.worker_types + 1)),
        )  # fmt: skip

    def _beside(self) -> Integers:
        """Parameter-server place of each worker place, or -1."""
        place = np.full((len(self._services), self._servers + 1), -1)
        for v, there in enumerate(self._services):
            place[v, there[there >= 0]] = np.flatnonzero(there >= 0)
        return np.moveaxis(place[:, self._workers], 0, 1).copy()  # server -1 has none

    def _early(self, chosen: Prospects, reached: Integers) -> Floats:
        """How many have reached a place and not yet all, as in ``JobData``."""
        slots = int(chosen.last[chosen.contested].max(initial=0)) + 2
        early = np.zeros((len(self._workers), slots + 1, reached.shape[1]))
        for j in np.flatnonzero(chosen.contested):
            there = reached[j] < NEVER
            for t in range(reached[j].min(), min(int(reached[j, there].max()), slots)):
                early[chosen.instance.worker_type[j], t + 1] += 0.1 * (reached[j] <= t)
        return np.cumsum(early, axis=1)

    def _current(self, chosen: Prospects, runs: Iterable[PlacedJob]) -> Current:
        instance, jobs = chosen.instance, chosen.instance.jobs
        slots = int(chosen.last[chosen.contested].max(initial=0)) + 2
        start, ps, together = np.full(jobs, -1), np.full(jobs, -1), np.zeros(jobs, dtype=np.int64)
        end, y = self._data.away.copy(), np.zeros((jobs, instance.servers), dtype=np.int64)
        free = _in_every_slot(instance.worker_capacity, int(instance.num_chunks.sum()), slots)
        services = _in_every_slot(instance.ps_capacity, jobs, slots)
        for run in runs:
            j, span = run.job, slice(run.start, run.end + 1)
            start[j], end[j], together[j], y[j] = run.start, run.end, run.together, run.workers
            place = self._services[instance.ps_type[j]]
            ps[j] = np.flatnonzero(place == run.ps)[0]
            free[instance.worker_type[j], span] -= run.workers
            services[instance.ps_type[j], span, run.ps] -= 1
        workers = _of_places(free, self._workers[:, None], 0)
        y = _of_places(y, self._workers[instance.worker_type], 0)
        return Current(
            start, end, together, ps, y.astype(np.int32), workers.astype(np.int32),
            _of_places(services, self._services[:, None], 0), workers.sum(axis=2),
        )  # fmt: skip

    def steps(self, count: int, temperature: float) -> float:
        """Take so many steps at a temperature, the best schedule kept; return its loss, <= 0."""
        self._value[2] = temperature
        return destroy_and_repair(
            self._data, self._now, self._best, self._value, self._state, count
        )

    def keep(self) -> None:
        """Keep nothing more: ``steps`` has."""

    def search(
        self, deadline: Deadline, temperature: tuple[float, float], patience: int
    ) -> list[PlacedJob]:
        """Cool again and again; go on from there if called again.

        Args:
            deadline: by which it ends.
            temperature: the first, in slots of a job of mean weight, and what part of it is last.
            patience: steps for each triple of jobs of a type, in a cooling of which it gives up if
                they find nothing better.

        Returns:
            The best runs met.
        """
        jobs = len(self._data.group)
        hot = temperature[0] * float(self._data.weight.mean())
        least = math.inf
        with suppress(TimeoutError):  # no time for machine code
            while not deadline.over() and (self._length <= patience or self._value[1] < least):
                least, length = float(self._value[1]), self._length * self._triples
                anneal(
                    self, deadline, best=least, temperature=(hot, hot * temperature[1]),
                    patience=length, most=length, batch=jobs if jobs <= FEW else BATCH,
                )  # fmt: skip
                self._length *= 2
        self._length = max(FIRST, self._length // 2)
        return [self._run(int(j)) for j in np.flatnonzero(self._best.start >= 0)]

    def _run(self, j: int) -> PlacedJob:
        data, best = self._data, self._best
        place = self._workers[data.kind[j]]
        workers = np.zeros(self._servers, dtype=np.int64)
        workers[place[place >= 0]] = best.y[j, place >= 0]
        ps = int(self._services[data.service[j], best.ps[j]])
        return PlacedJob(j, int(best.start[j]), int(best.end[j]), best.together[j] > 0, ps, workers)


def _places(capacity: Floats) -> Integers:
    """Servers that have something of each type, filled up with -1, shape (types, places).

    Args:
        capacity: shape (servers, types).
    """
    there = capacity.T >= 1
    order = np.argsort(~there, axis=1, kind="stable")[:, : max(1, int(there.sum(axis=1).max()))]
    return np.where(np.take_along_axis(there, order, axis=1), order, -1)


def _in_every_slot(capacity: Floats, enough: int, slots: int) -> Integers:
    """Capacities in whole numbers, at most as many as all jobs together use."""
    whole = np.minimum(capacity.T, enough).astype(np.int64)
    return np.repeat(whole[:, None], slots, axis=1)


def _of_places(table: Integers, places: Integers, nothing: int) -> Integers:
    """What a table, its last axis servers, says of places; ``nothing`` where there is none."""
    found = np.take_along_axis(table, np.maximum(places, 0), axis=-1)
    return np.where(places >= 0, found, nothing)
