"""Jobs that arrive one by one: what a policy sees and decides, how (2) is planned anew, and the
model of all online algorithms.

Runs are not interrupted: what has begun takes its part of the servers until it ends, and what is
left is (2) for the jobs that wait, which may start now at the earliest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from formulations.batch.check import check, completion_slots
from formulations.batch.domain_reduction import prospects
from formulations.batch.insertion import Occupancy, PlacedJob, inserted, rows_of
from formulations.batch.instance import Booleans, Floats, Instance, Integers, Job
from formulations.batch.problem_2 import Objective, layout, objective_terms
from formulations.batch.problem_2_intervals import with_cloud
from formulations.batch.schedule import Schedule
from formulations.batch.time_indexed import SlotIndex, build, decode, encode
from optsched.errors import InputError
from optsched.model import Model
from optsched.online import State as Base
from optsched.problem import problem
from optsched.problem.arrivals import Copy, Decisions
from optsched.solve import solve
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

MOVED = 20
"""Jobs that insertion tries at the front."""
ROUNDING = 1e-6
"""Difference of objectives that counts for nothing."""
PROBLEMS: Mapping[Objective, str] = {"flow": "batch", "completion": "batch_completion"}
"""The problem of each objective; its reference method plans what nothing has begun of."""


def nothing(instance: Instance) -> Schedule:
    """The schedule in which nothing runs."""
    return Schedule.build(runs=(), placements=())


def relabel(instance: Instance, schedule: Schedule, jobs: Integers) -> Schedule:
    """The schedule with job i called jobs[i]."""
    return replace(schedule, run_job=jobs[schedule.run_job])


def take(schedule: Schedule, kept: Booleans) -> Schedule:
    """The runs that a mask picks, with their placements."""
    number = np.cumsum(kept) - 1
    placed = kept[schedule.place_run]
    return Schedule(
        schedule.run_job[kept], schedule.run_start[kept], schedule.run_end[kept],
        schedule.run_together[kept], schedule.run_ps[kept], schedule.run_overhead[kept],
        number[schedule.place_run[placed]], schedule.place_server[placed],
        schedule.place_workers[placed], schedule.preemptive, schedule.ignores_upload,
    )  # fmt: skip


def joined(*parts: Schedule) -> Schedule:
    """The runs of several schedules."""
    first = np.cumsum([0, *(part.runs for part in parts)])
    runs = ("run_job", "run_start", "run_end", "run_together", "run_ps", "run_overhead")
    places = ("place_server", "place_workers")
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in (*runs, *places)
    }
    of = [part.place_run + at for part, at in zip(parts, first, strict=False)]
    return Schedule(place_run=np.concatenate(of), **columns)


def decisions(instance: Instance, schedule: Schedule, moment: float) -> list[tuple[int, str]]:
    """The runs that began before a moment (slots), up to then."""
    found = []
    for run in np.flatnonzero(schedule.run_start < moment).tolist():
        mine = schedule.place_run == run
        rows = zip(
            schedule.place_server[mine].tolist(), schedule.place_workers[mine].tolist(), strict=True
        )
        places = ", ".join(f"{n} on server {s}" for s, n in sorted(rows))
        start, end = int(schedule.run_start[run]), int(schedule.run_end[run])
        until = min(end, int(np.ceil(moment)) - 1) if np.isfinite(moment) else end
        ps, late = int(schedule.run_ps[run]), int(schedule.run_overhead[run])
        said = f"runs in slots {start}..{until} with workers {places}, parameter server on {ps}"
        said += f", {min(late, until - start + 1)} slots without progress" if late else ""
        found.append((int(schedule.run_job[run]), said))
    return found


class _Rest:
    """The jobs that wait, on what those that have begun leave of the servers.

    Args:
        instance: all jobs known.
        schedule: what was planned so far.
        now: first slot in which a job may start.
        objective: what is minimised.
    """

    def __init__(
        self, instance: Instance, schedule: Schedule, now: int, objective: Objective
    ) -> None:
        begun = schedule.run_start < now
        self.instance, self.past = instance, take(schedule, begun)
        self.waiting = np.setdiff1d(np.arange(instance.jobs), self.past.run_job)
        part = instance.select_jobs(self.waiting)
        reached = part.release_slot[:, None] + part.upload_delay
        delay = np.maximum(reached, now) - part.release_slot[:, None]
        found = prospects(replace(part, upload_delay=delay, jobs_document=None))
        held = max(0, int(self.past.run_end.max(initial=0)) + 1 - now)
        later = np.where(found.cloud_end < 0, held, 0)  # others end before they would in the cloud
        self.chosen = replace(found, last=found.last + later)
        self._objective = objective
        self.weight, self.constant = objective_terms(part, objective)
        number = np.full(instance.jobs, -1)
        number[self.waiting] = np.arange(len(self.waiting))
        self._planned = relabel(part, take(schedule, ~begun), number)

    def occupancy(self) -> Occupancy:
        """What is free on the servers, slot by slot."""
        free, past = Occupancy(self.chosen), self.past
        for run in _runs(past, self.instance.servers):
            slots = slice(run.start, run.end + 1)
            free.workers[self.instance.worker_type[run.job], slots] -= run.workers
            free.services[self.instance.ps_type[run.job], slots, run.ps] -= 1
        return free

    @cached_property
    def soonest(self) -> Integers:
        """Completion slot of each job if it were alone with those that have begun."""
        free, end = self.occupancy(), self.chosen.soonest.copy()
        for j in np.flatnonzero(self.chosen.contested).tolist():
            run, cloud = free.earliest(j), int(self.chosen.cloud_end[j])
            if run is not None or cloud >= 0:
                end[j] = cloud if run is None else run.end
        return end

    @cached_property
    def bound(self) -> float:
        """Every job as soon as if it were alone with those that have begun."""
        return float(self.soonest @ self.weight) + self.constant

    def value(self, made: Schedule) -> float:
        """The objective of the jobs that wait; infinite where one does not run."""
        ends = completion_slots(self.chosen.instance, made)
        return float(ends @ self.weight) + self.constant

    def quick(self) -> Schedule:
        """What insertion finds: new jobs beside what was planned; all that waits, in some orders.

        After the order of soonest completion, each job in turn goes to the front, for good where
        that helps.
        """
        chosen = self.chosen
        limited = ~chosen.instance.unlimited[self._planned.run_job, self._planned.run_ps]
        kept = _runs(take(self._planned, limited), self.instance.servers)
        contested = np.flatnonzero(chosen.contested)
        order = contested[np.argsort(self.soonest[contested], kind="stable")].tolist()
        best = min(self._insert(order, kept), self._insert(order, []), key=self.value)
        for job in order[:MOVED]:
            if self.value(best) <= self.bound + ROUNDING:
                break
            moved = [job, *(other for other in order if other != job)]
            found = self._insert(moved, [])
            if self.value(found) < self.value(best):
                best, order = found, moved
        return best

    def _insert(self, order: list[int], kept: list[PlacedJob]) -> Schedule:
        runs = inserted(self.occupancy(), kept, order)
        return with_cloud(self.chosen, *rows_of(runs))

    def reduce(self, value: float) -> None:
        """Leave out what no schedule of at most this value contains."""
        chosen = self.chosen
        spare = np.floor((value - self.bound) / self.weight + ROUNDING).astype(np.int64)
        latest = np.minimum(chosen.last, self.soonest + spare)
        end = chosen.first + chosen.choices.duration - 1
        self.chosen = replace(chosen, last=latest).take(end <= latest[chosen.choices.job])

    @property
    def layout(self) -> SlotIndex:
        """The index sets of the program."""
        chosen = self.chosen
        usable = chosen.limited & chosen.contested[:, None]
        return SlotIndex(chosen.instance, chosen.choices, chosen.first, chosen.last, usable)

    def model(self, layout: SlotIndex) -> Model:
        """(2) over what is left; x_j = 0 sends a job to the cloud."""
        chosen, free = self.chosen, self.occupancy()
        model = Model("problem (2), what has begun fixed")
        away = chosen.cloud_end >= 0
        x = model.integer("x", len(away), lower=(~away).astype(float), upper=chosen.contested)
        rooms = (free.workers.transpose(2, 0, 1), free.services.transpose(2, 0, 1))
        build(model, layout, x, worker_room=rooms[0], ps_room=rooms[1], first_slot=0)
        choice, start = layout.starts
        end = start + chosen.choices.duration[choice] - 1
        cloud = np.where(away, chosen.cloud_end, 0) * self.weight
        constant = self.constant + float(cloud.sum())
        model.minimize(model["b"] @ (self.weight[layout.start_job] * end) - x @ cloud + constant)
        return model

    def best(self, options: Options) -> Answer:
        """The best schedule of the jobs that wait."""
        known = self.quick()
        value, bound = self.value(known), self.bound
        if value <= bound + ROUNDING:
            return Answer(Solution(Status.OPTIMAL, value, bound, checked=True), known)
        if not self.past.runs:
            instance, begin = self.chosen.instance, known if np.isfinite(value) else None
            whole = problem(PROBLEMS[self._objective])
            return whole.solve(whole.reference, instance, options=options, start=begin)
        if np.isfinite(value):
            self.reduce(value)
        layout = self.layout
        start = encode(layout, known)
        runs: Floats = np.bincount(layout.start_job, start["b"], len(self.waiting)).astype(float)
        options = replace(options, warm_start={**start, "x": runs})
        solution = solve(self.model(layout), "highs", options=options)
        if solution.has_point:
            made = decode(layout, solution)
            rows = np.column_stack([
                made.run_job, made.run_start, made.run_end, made.run_together, made.run_ps
            ])  # fmt: skip
            placed = np.column_stack([made.place_run, made.place_server, made.place_workers])
            return Answer(solution, with_cloud(self.chosen, rows, placed))
        if np.isfinite(value) and solution.status is Status.NO_SOLUTION:
            return Answer(replace(solution, status=Status.FEASIBLE, objective=value), known)
        return Answer(solution)


def replan(
    instance: Instance,
    schedule: Schedule,
    now: float,
    options: Options,
    *,
    objective: Objective = "flow",
) -> Answer:
    """(2) with the runs that began before slot ``now`` as they are."""
    rest = _Rest(instance, schedule, int(np.ceil(now)), objective)
    weight, constant = objective_terms(instance, objective)
    return rest.best(options).completed(
        lambda made: joined(rest.past, relabel(instance, made, rest.waiting)),
        lambda made: float(completion_slots(instance, made) @ weight) + constant,
    )


def _runs(schedule: Schedule, servers: int) -> list[PlacedJob]:
    """The runs of a schedule, one by one."""
    table = np.zeros((schedule.runs, servers), dtype=np.int64)
    table[schedule.place_run, schedule.place_server] = schedule.place_workers
    columns = (
        schedule.run_job, schedule.run_start, schedule.run_end, schedule.run_together,
        schedule.run_ps,
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), table, strict=True)
    return [PlacedJob(*row) for row in rows]


class State(Base):
    """What a policy sees, and the verbs it decides with; ``known`` is an ``Instance``."""

    known: Instance

    def earliest(self, job: Job, workers: Mapping[int, int], ps: int) -> int:
        """First slot from now on in which a job could start beside all that is planned.

        Args:
            job: which job.
            workers: how many on each server.
            ps: server of its parameter server.
        """
        reached = job.release_slot + int(max(job.upload_delay[s] for s in (*workers, ps)))
        first = max(reached, int(np.ceil(self.now)))
        ends = self.plan.run_end[self.plan.run_end >= first] + 1
        for slot in np.unique(np.append(ends, first)).tolist():
            trial = joined(self.plan, self._run(job, workers, ps, slot))
            if not any(v.constraint in "2g2h" for v in check(self.known, trial, complete=False)):
                return int(slot)
        asked = f"workers {dict(workers)}, parameter server on {ps}"
        raise InputError.of(f"the decision at {self.now:g}", asked, "what the servers have")

    def run(
        self, job: Job, workers: Mapping[int, int], ps: int, *, slot: int | None = None
    ) -> None:
        """Place a job without a break.

        Args:
            job: which job.
            workers: how many on each server; all on ``ps`` makes it fast.
            ps: server of its parameter server.
            slot: its first; None: the earliest there is.
        """
        start = self.earliest(job, workers, ps) if slot is None else slot
        self.follow(joined(self.plan, self._run(job, workers, ps, start)))

    def _run(self, job: Job, workers: Mapping[int, int], ps: int, slot: int) -> Schedule:
        together = set(workers) == {ps}
        end = slot + job.duration(sum(workers.values()), together) - 1
        places = [(0, s, n) for s, n in workers.items()]
        return Schedule.build(runs=[(job.id, slot, end, together, ps)], placements=places)


def unfold(
    model: Model, name: str, instance: Instance, known: float, *, objective: Objective = "flow"
) -> Copy:
    """Add one scenario's part of the model of all online algorithms: (2) with room for waiting.

    A job may wait to see whether others come, and so end later than it would have in the cloud at
    once. Once no other future is left, waiting is of no more use: from then on windows are those of
    (2).

    Args:
        model: what to add to.
        name: of the scenario.
        instance: the jobs and the system.
        known: slot from which on no other jobs may come than the instance's.
        objective: what is minimised.
    """
    index = layout(instance, known=int(max(0.0, np.ceil(known))))
    prefix = f"{name}."
    cells = build(model, index, 1.0, prefix=prefix)
    choice, start = index.starts
    b = model[f"{prefix}b"]
    chosen = index.choices
    end = start + chosen.duration[choice] - 1
    decisions = {
        "b": Decisions(
            b,
            start.astype(float),
            np.column_stack(
                [index.start_job, chosen.workers[choice], chosen.fast[choice], start]
            ).astype(np.int64),
        )
    }
    for label, (of, slot), pair in (
        ("y_t", cells.worker_cell, index.worker_pair),
        ("z_t", cells.ps_cell, index.ps_pair),
    ):
        what = np.column_stack([pair[0][of], pair[1][of], slot])
        decisions[label] = Decisions(model[f"{prefix}{label}"], slot.astype(float), what)

    def decoded(solution: Solution) -> Schedule:
        return decode(index, {part: solution[f"{prefix}{part}"] for part in ("b", "y", "z")})

    weight, constant = objective_terms(instance, objective)
    return Copy(b @ (weight[index.start_job] * end) + constant, decisions, decoded)


def done(instance: Instance, schedule: Schedule) -> Floats:
    """The slot past the last run of each job."""
    return completion_slots(instance, schedule) + 1
