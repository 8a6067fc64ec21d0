"""Jobs put, one after the other, where each completes earliest on servers as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from formulations.batch.choices import Choices
from formulations.batch.instance import Floats, Integers
from formulations.batch.problem_9 import Pick, ServerView, best_offer
from formulations.batch.prospects import Prospects
from formulations.batch.schedule import Schedule
from formulations.batch.split import Split, Timetable


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """One job on servers with limits."""

    job: int
    start: int
    end: int
    together: bool
    ps: int
    workers: Integers
    """y, shape (servers,)."""


class Occupancy:
    """Free workers and parameter servers of every type, server and slot."""

    def __init__(self, chosen: Prospects) -> None:
        self.chosen = chosen
        instance = chosen.instance
        slots = int(chosen.last[chosen.contested].max(initial=0)) + 1
        whole = np.ones(slots)
        self.workers = instance.worker_capacity.T[:, :, None] * whole
        self.services = instance.ps_capacity.T[:, :, None] * whole
        job = chosen.choices.job
        self._first = np.searchsorted(job, np.arange(instance.jobs))
        self._last = np.searchsorted(job, np.arange(instance.jobs), side="right")

    def fits(self, run: PlacedJob) -> bool:
        """Whether what a run needs is free."""
        instance, slots = self.chosen.instance, slice(run.start, run.end + 1)
        workers = self.workers[instance.worker_type[run.job], :, slots]
        service = self.services[instance.ps_type[run.job], run.ps, slots]
        return bool((workers >= run.workers[:, None]).all() and (service >= 1).all())

    def put(self, run: PlacedJob) -> None:
        """Take what a run needs."""
        instance = self.chosen.instance
        slots = slice(run.start, run.end + 1)
        self.workers[instance.worker_type[run.job], :, slots] -= run.workers[:, None]
        self.services[instance.ps_type[run.job], run.ps, slots] -= 1

    def earliest(self, j: int) -> PlacedJob | None:
        """Where a job completes earliest; None where it does better in the cloud."""
        chosen = self.chosen
        mine = slice(self._first[j], self._last[j])
        first, k = chosen.first[mine], chosen.choices.take(np.arange(mine.start, mine.stop))
        if not len(first):
            return None
        market = self._market(j)
        best: tuple[Pick, Integers, int, Choices] | None = None
        for start in range(int(first.min()), int(chosen.last[j]) + 1):
            worth = first <= start
            if best is not None:
                worth &= start + k.duration - 1 < best[0].end
            options = k.take(worth)
            if not len(options):
                if best is not None and start + int(k.duration.min()) - 1 >= best[0].end:
                    break
                continue
            found = best_offer(market, options, [start], earliest=True)
            if found is not None and found[0].end <= chosen.last[j]:
                y, ps = found[1].placement(found[0].choice)
                best = found[0], y, ps, options
        if best is None:
            return None
        pick, y, ps, options = best
        return PlacedJob(j, pick.start, pick.end, bool(options.fast[pick.choice]), ps, y)

    def _market(self, j: int) -> ServerView:
        chosen, instance = self.chosen, self.chosen.instance
        workers = self.workers[instance.worker_type[j]]
        services = self.services[instance.ps_type[j]]
        never = np.iinfo(np.int64).max
        reached = instance.release_slot[j] + instance.upload_delay[j]
        release = np.where(chosen.limited[j], reached, never)
        nothing: Floats = np.zeros_like(workers)
        return ServerView(0, nothing, nothing, workers, services, release)


def placed_jobs(chosen: Prospects, schedule: Schedule) -> list[PlacedJob]:
    """The runs of a schedule on servers with limits, one of every job."""
    y = np.zeros((schedule.runs, chosen.instance.servers), dtype=np.int64)
    y[schedule.place_run, schedule.place_server] = schedule.place_workers
    return [
        PlacedJob(
            int(schedule.run_job[r]), int(schedule.run_start[r]), int(schedule.run_end[r]),
            bool(schedule.run_together[r]), int(schedule.run_ps[r]), y[r],
        )
        for r in np.flatnonzero(chosen.limited[schedule.run_job, schedule.run_ps]).tolist()
    ]  # fmt: skip


def complete(
    chosen: Prospects,
    table: Timetable,
    given: Split,
    order: Sequence[int],
    go_on: Callable[[], bool],
) -> list[PlacedJob]:
    """The runs of a split, and of the other contested jobs where they complete earliest.

    Args:
        chosen: the choices.
        table: what was split.
        given: where its runs go.
        order: contested jobs in the order in which those without a place look for one.
        go_on: asked before each of them; once it says no, the rest find none.
    """
    k = chosen.choices.take(table.choice)
    servers = chosen.instance.servers
    y = np.zeros((len(table.job), servers), dtype=np.int64)
    y[given.placed[:, 0], given.placed[:, 1]] = given.placed[:, 2]
    runs = []
    for r in np.flatnonzero(given.kept).tolist():
        start = int(table.start[r])
        end = start + int(k.duration[r]) - 1
        runs.append(
            PlacedJob(int(table.job[r]), start, end, bool(k.fast[r]), int(given.ps[r]), y[r])
        )
    return inserted(Occupancy(chosen), runs, order, go_on)


def inserted(
    occupancy: Occupancy,
    given: Sequence[PlacedJob],
    order: Sequence[int],
    go_on: Callable[[], bool] = lambda: True,
) -> list[PlacedJob]:
    """Runs that have a place, and those of other jobs where they complete earliest beside them."""
    runs = list(given)
    for run in runs:
        occupancy.put(run)
    there = {run.job for run in runs}
    for j in order:
        found = None if j in there or not go_on() else occupancy.earliest(j)
        if found is not None:
            runs.append(found)
            occupancy.put(found)
    return runs


def rows_of(runs: Sequence[PlacedJob]) -> tuple[Integers, Integers]:
    """Runs and placements as ``Schedule.build`` takes them."""
    rows = [(run.job, run.start, run.end, run.together, run.ps) for run in runs]
    placed = [
        (i, s, int(run.workers[s]))
        for i, run in enumerate(runs)
        for s in np.flatnonzero(run.workers).tolist()
    ]
    return (
        np.array(rows, dtype=np.int64).reshape(-1, 5),
        np.array(placed, dtype=np.int64).reshape(-1, 3),
    )
