"""The rows of a schedule before they are judged: which exist at all, which are qualified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.instance import (
    CLOUD,
    ROUNDING,
    Booleans,
    Floats,
    Instance,
    Integers,
    work_slots,
)
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.sweep import Spans
from optsched.problem.violation import Violation

TOLERANCE = 1e-6
"""Excess that a constraint forgives, slots."""


@dataclass(frozen=True)
class Occupancy:
    """Runs, or services: which job, where, when; each column of shape (rows,)."""

    kind: str
    """"run" or "service"."""
    job: Integers
    place: Integers
    """Worker or parameter server; ``CLOUD`` for one of the cloud's."""
    start: Floats
    """Slots."""
    end: Floats
    """Slots."""
    chunk: Integers

    @property
    def length(self) -> Floats:
        return self.end - self.start

    def take(self, kept: Booleans) -> Occupancy:
        """The rows that a mask picks."""
        if kept.all():
            return self  # the usual case, without copies
        return Occupancy(
            self.kind,
            self.job[kept],
            self.place[kept],
            self.start[kept],
            self.end[kept],
            self.chunk[kept],
        )

    def by(self, key: Integers) -> Spans:
        """When each row lasts, under a key such as its job."""
        return Spans(key, self.start, self.end)


@dataclass(frozen=True)
class CheckedSchedule:
    """What can be judged of a schedule."""

    instance: Instance
    runs: Occupancy
    useful: Occupancy
    """Runs with v_jw = 1."""
    astray: Occupancy
    """Runs with v_jw = 0."""
    services: Occupancy
    serving: Occupancy
    """Services with o_jp = 1."""
    together: Booleans
    """zeta_j, shape (jobs,)."""
    chunk_time: Floats
    """p^0_j or p^1_j by zeta_j, at the speed asked for; shape (jobs,), slots."""
    slotted: bool

    def needed(self, work: Floats) -> Floats:
        """Worker time that some work asks for, slots."""
        return work_slots(work).astype(np.float64) if self.slotted else work


def judge(
    instance: Instance,
    schedule: Schedule,
    runs: Occupancy,
    services: Occupancy,
    *,
    speed: float,
    slotted: bool,
) -> CheckedSchedule:
    """Leave out rows that name nothing that exists, or last no time, and sort the others."""
    together = np.zeros(instance.jobs, dtype=bool)
    told = min(len(schedule.together), instance.jobs)
    together[:told] = schedule.together[:told]
    runs = runs.take(_sound(instance, runs, instance.workers))
    services = services.take(_sound(instance, services, instance.parameter_servers))
    qualified = _qualified(instance, runs)
    return CheckedSchedule(
        instance,
        runs,
        runs.take(qualified),
        runs.take(~qualified),
        services,
        services.take(_ps_qualified(instance, services)),
        together,
        np.where(together, instance.chunk_time_fast, instance.chunk_time_slow) / speed,
        slotted,
    )


def rows_of(schedule: Schedule) -> tuple[Occupancy, Occupancy]:
    """The runs and the services of a schedule."""
    s = schedule
    no_chunk = np.zeros_like(s.service_job)
    return (
        Occupancy("run", s.run_job, s.run_worker, s.run_start, s.run_end, s.run_chunk),
        Occupancy("service", s.service_job, s.service_ps, s.service_start, s.service_end, no_chunk),
    )


def domains(
    instance: Instance,
    schedule: Schedule,
    runs: Occupancy,
    services: Occupancy,
    *,
    chunks: bool,
    slotted: bool,
) -> Iterator[Violation]:
    """(2k): indices that exist and, if slotted, whole slots within the horizon."""
    surplus = len(schedule.together) - instance.jobs
    if surplus:
        yield Violation("2k", {"together": len(schedule.together)}, float(abs(surplus)))
    workers, servers = instance.workers, instance.parameter_servers
    for rows, place, places in ((runs, "worker", workers), (services, "parameter_server", servers)):
        yield from _outside(rows, "job", rows.job, 0, instance.jobs - 1)
        yield from _outside(rows, place, rows.place, CLOUD, places - 1)
        lost = np.flatnonzero(~np.isfinite(rows.start))
        yield from listed(
            "2k", {rows.kind: lost, "start": rows.start[lost]}, np.full(len(lost), np.inf)
        )
        if not slotted:
            continue
        for name, time in (("start", rows.start), ("end", rows.end)):
            with np.errstate(invalid="ignore"):  # what is not finite is told of above
                away = np.abs(time - np.round(time))
            yield from _beyond(rows, name, time, away)
        if instance.horizon is not None:  # slot T is [T, T + 1)
            yield from _beyond(rows, "end", rows.end, rows.end - (instance.horizon + 1))
    if chunks:
        known = within(runs.job, 0, instance.jobs)
        last = np.where(known, instance.num_chunks.take(runs.job, mode="clip") - 1, runs.chunk)
        yield from _outside(runs, "chunk", runs.chunk, np.where(known, 0, runs.chunk), last)


def _outside(
    rows: Occupancy, name: str, value: Integers, low: Integers | int, high: Integers | int
) -> list[Violation]:
    exact = value.astype(np.float64)  # differences of integers may overflow
    return _beyond(rows, name, value, np.maximum(low - exact, exact - high))


def _beyond(
    rows: Occupancy, name: str, value: Integers | Floats, distance: Integers | Floats
) -> list[Violation]:
    bad = np.flatnonzero(distance > TOLERANCE)
    return listed("2k", {rows.kind: bad, name: value[bad]}, distance[bad])


def _sound(instance: Instance, rows: Occupancy, places: int) -> Booleans:
    """Rows that can be judged at all and last long enough to count."""
    return (
        within(rows.job, 0, instance.jobs)
        & within(rows.place, CLOUD, places)
        & np.isfinite(rows.start)
        & (rows.length > ROUNDING)
    )


def within(value: Integers, low: int, high: int | Integers) -> Booleans:
    """Whether low <= value < high."""
    return (value >= low) & (value < high)


def _qualified(instance: Instance, runs: Occupancy) -> Booleans:
    """v_jw of every run; the cloud qualifies unless the job is barred from it."""
    qualified = np.isfinite(instance.upload_delay_cloud)[runs.job]
    edge = runs.place != CLOUD
    job, worker = runs.job[edge], runs.place[edge]
    table = instance.explicit_worker_eligible
    qualified[edge] = (
        instance.job_worker_type[job] == instance.worker_type[worker]
        if table is None
        else table[job, worker]
    )
    return qualified


def _ps_qualified(instance: Instance, services: Occupancy) -> Booleans:
    """o_jp of every service; the cloud always qualifies."""
    qualified = np.ones(len(services.job), dtype=bool)
    edge = services.place != CLOUD
    job, ps = services.job[edge], services.place[edge]
    table = instance.explicit_ps_eligible
    qualified[edge] = (
        instance.job_ps_type[job] == instance.ps_type[ps] if table is None else table[job, ps]
    )
    return qualified


def listed(
    label: str, index: Mapping[str, NDArray[Any]], amount: Floats | Integers
) -> list[Violation]:
    """One violation per entry of the columns."""
    columns = [column.tolist() for column in index.values()]
    return [
        Violation(label, dict(zip(index, row, strict=True)), float(by))
        for *row, by in zip(*columns, amount.tolist(), strict=True)
    ]
