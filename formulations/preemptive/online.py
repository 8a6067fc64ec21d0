"""Jobs that arrive one by one: what a policy sees and decides, and how (2) is planned anew.

(2) lets work migrate, so a job that has begun is a job with less work left: what is left at a
moment is again an instance of (2). ``unfold`` is one scenario's part of the model of all online
algorithms.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from formulations.preemptive.check import cost
from formulations.preemptive.instance import (
    CLOUD,
    ROUNDING,
    Floats,
    Instance,
    Integers,
    Job,
    whole_slots,
)
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.sweep import Spans, count_open
from formulations.preemptive.time_indexed.decode import (
    cloud_services,
    fits_slots,
    slot_schedule,
    whole_units,
)
from formulations.preemptive.time_indexed.grid import add_capacity, build_grid
from optsched.errors import InputError
from optsched.model import Model
from optsched.online import State as Base
from optsched.problem.arrivals import Copy, Decisions
from optsched.problem.methods import ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status


def unfold(model: Model, name: str, instance: Instance, known: float) -> Copy:
    """Add (2) in whole units per slot, by completion binaries over hubs, with room for any future.

    Whether a job runs whole in the cloud is not a decision variable: it follows from where its work
    was done.

    Windows that are cut for one future are not valid here. A job may begin at the edge, be caught
    up with by others, and so end after the slot by which it would have been done whole in the
    cloud. Or it may wait for the cloud, and end after the slot by which the edge would have been
    done with all who came. Two things hold whatever comes: from the moment its data are in the
    cloud all work left may be done there at once, with communication; and no worker idles beside
    a job that may not use the cloud.

    Args:
        model: what to add to.
        name: of the scenario.
        instance: times are taken up to whole slots.
        known: does not matter, as the windows hold whatever comes.

    Raises:
        InputError: eligibility of single workers: pools must mean the same in all scenarios; or
            slots that are longer than the jobs, whose optima are in continuous time.
    """
    if instance.explicit_worker_eligible is not None:
        raise InputError.of("worker_eligible", "a table", "null: eligibility by type")
    if not fits_slots(instance):
        shortest = float(instance.chunk_time_slow.min())
        raise InputError.of("chunk_time_slow", shortest, "jobs that fill whole slots, about")
    grid = build_grid(instance, slow_cloud=True, edge_suffices=False)
    jobs, chunks = instance.jobs, instance.num_chunks.astype(float)
    job, slot = grid.windows
    windows = len(job)
    earliest = np.minimum(grid.earliest_slow_end, grid.fast_end)
    pending = model.integer(
        f"{name}.pending", windows, lower=(slot < earliest[job]).astype(float), upper=1
    )
    y = model.integer(f"{name}.y", grid.cells, upper=grid.cell_limit)
    x = model.integer(f"{name}.x", len(grid.cloud_job), upper=chunks[grid.cloud_job])
    together = model.integer(f"{name}.together", jobs, upper=np.isfinite(grid.fast_end))
    edge = y.sum_by(grid.cell_window, windows)
    busy = edge + x.sum_by(grid.cloud_window, windows)
    done = y.sum_by(grid.cell_job, jobs) + x.sum_by(grid.cloud_job, jobs)
    slow, saved = instance.work_slow, instance.work_slow - instance.work_fast
    model.add(f"{name}.2b", done + together * saved >= slow)
    model.add(f"{name}.2c", busy <= pending * chunks[job])
    add_capacity(model, f"{name}.2d", grid, y)
    model.add(f"{name}.2h", edge + together[job] * chunks[job] <= chunks[job])
    follows = np.flatnonzero(job[1:] == job[:-1])
    model.add(f"{name}.2j", pending[follows] >= pending[follows + 1])

    server = np.full(grid.cells, -1)
    server[grid.named] = instance.worker_classes.server[grid.cell_class[grid.named]]
    kind = instance.job_worker_type[grid.cell_job]

    def decode(solution: Solution) -> Schedule:
        units = [whole_units(solution[f"{name}.{part}"], part) for part in ("y", "x")]
        return slot_schedule(grid, *units)

    late = float((grid.first_slot - instance.release_time).sum())
    return Copy(
        pending.sum() + late,
        {
            "y": Decisions(
                y, grid.cell_slot.astype(float),
                np.column_stack([grid.cell_job, server, kind, grid.cell_slot]),
            ),
            "x": Decisions(
                x, grid.cloud_slot.astype(float), np.column_stack([grid.cloud_job, grid.cloud_slot])
            ),
        },
        decode,
    )  # fmt: skip


def nothing(instance: Instance) -> Schedule:
    """The schedule in which nothing runs."""
    return Schedule.build(runs=(), together=np.zeros(instance.jobs, dtype=bool))


def relabel(instance: Instance, schedule: Schedule, jobs: Integers) -> Schedule:
    """The schedule as one of ``instance``, where its job i is jobs[i]."""
    together = np.zeros(instance.jobs, dtype=bool)
    together[jobs] = schedule.together
    return replace(
        schedule,
        run_job=jobs[schedule.run_job],
        service_job=jobs[schedule.service_job],
        together=together,
    )


def before(schedule: Schedule, moment: float) -> Schedule:
    """The part of a schedule that happens before a moment (slots)."""
    run = moment - schedule.run_start > ROUNDING
    service = moment - schedule.service_start > ROUNDING
    return Schedule(
        schedule.run_job[run], schedule.run_chunk[run], schedule.run_worker[run],
        schedule.run_start[run], np.minimum(schedule.run_end[run], moment),
        schedule.service_job[service], schedule.service_ps[service],
        schedule.service_start[service], np.minimum(schedule.service_end[service], moment),
        schedule.together, schedule.speed,
    )  # fmt: skip


def decisions(instance: Instance, schedule: Schedule, moment: float) -> list[tuple[int, str]]:
    """Who ran where, and which parameter servers served whom, before a moment."""
    past = before(schedule, moment)
    runs = np.column_stack([past.run_job, past.run_chunk, past.run_worker])
    services = np.column_stack([past.service_job, past.service_ps])
    found = []
    for (job, chunk, worker), start, end, count in _pieces(runs, past.run_start, past.run_end):
        what = "" if chunk == NO_CHUNK else f" with chunk {chunk}"
        where = f"{count} workers of the cloud" if worker == CLOUD else f"worker {worker}"
        found.append((job, f"runs on {where}{what} in {start:.9g} to {end:.9g}"))
    for (job, ps), start, end, _ in _pieces(services, past.service_start, past.service_end):
        server = "the cloud's parameter server" if ps == CLOUD else f"parameter server {ps}"
        found.append((job, f"is served by {server} in {start:.9g} to {end:.9g}"))
    return found


def _pieces(rows: Integers, start: Floats, end: Floats) -> list[tuple[list[int], Any, Any, Any]]:
    """Stretches of time in which equal rows are open so many times, touching ones joined."""
    if not len(rows):
        return []
    named, key = np.unique(rows, axis=0, return_inverse=True)
    steps = count_open(Spans(key.reshape(-1), start, end))
    steps = steps.take(steps.counts[0] > 0).merged()
    pieces = steps.pieces
    columns = (named[pieces.key], pieces.start, pieces.end, steps.counts[0])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def rest(
    instance: Instance, past: Schedule, now: float, slotted: bool
) -> tuple[Instance, Integers]:
    """What is left to do from a moment on, as an instance, and which jobs these are.

    Args:
        instance: all jobs known.
        past: what they did before ``now``.
        now: from when on is decided, slots.
        slotted: jobs take whole slots, and so does what is left of them.
    """
    length = past.run_end - past.run_start
    done = np.bincount(past.run_job, weights=length, minlength=instance.jobs)
    at_edge = np.zeros(instance.jobs, dtype=bool)
    at_edge[past.run_job[past.run_worker != CLOUD]] = True
    at_edge[past.service_job[past.service_ps != CLOUD]] = True
    if slotted:
        slow, fast = instance.work_slow - np.round(done), instance.work_fast - np.round(done)
    else:
        slow = instance.num_chunks * instance.chunk_time_slow - done
        fast = instance.num_chunks * instance.chunk_time_fast - done
    fast = np.where(at_edge, slow, fast)
    left = np.flatnonzero(fast > ROUNDING * np.maximum(1.0, done))
    part = instance.select_jobs(left)
    release = np.maximum(part.release_time, now)
    arrival = part.release_time + part.upload_delay_cloud
    at_servers = part.release_time[:, None] + part.upload_delay_edge
    part = replace(
        part,
        release_time=release,
        upload_delay_cloud=np.maximum(arrival, release) - release,
        upload_delay_edge=np.maximum(at_servers, release[:, None]) - release[:, None],
        chunk_time_slow=slow[left] / part.num_chunks,
        chunk_time_fast=fast[left] / part.num_chunks,
        jobs_document=None,
    )
    return part, left


def replan(
    in_slots: ExactMethod,
    in_time: ExactMethod,
    instance: Instance,
    schedule: Schedule,
    now: float,
    options: Options,
) -> Answer:
    """Solve (2) with what was done before ``now`` (slots) as it is.

    If slots are too long for the jobs, time is continuous from then on. In slots, one that has
    begun is done.

    Args:
        in_slots: solves problem (2) as it stands.
        in_time: solves it in continuous time, if ``slotted=False``.
        instance: the jobs known by now.
        schedule: what was planned.
        now: slots.
        options: limits and tolerances.
    """
    slotted = fits_slots(instance) and _in_slots(before(schedule, now))
    moment = float(whole_slots(now)) if slotted else now
    past = before(schedule, moment)
    part, left = rest(instance, past, moment, slotted)
    if not len(left):
        value = cost(instance, past)
        found = Solution(Status.OPTIMAL, objective=value, bound=value, checked=True)
        return Answer(found, past, {"slotted": slotted})
    if slotted:
        answer = in_slots.solve(part, options=options)
    else:
        answer = in_time.solve(part, options=options, slotted=False)
    return answer.completed(
        lambda made: _joined(past, relabel(instance, made, left), left), partial(cost, instance)
    )


def _in_slots(schedule: Schedule) -> bool:
    """Whether all runs begin in whole slots."""
    return bool(np.all(np.abs(schedule.run_start - np.round(schedule.run_start)) <= ROUNDING))


def _joined(past: Schedule, future: Schedule, jobs: Integers) -> Schedule:
    """What was done, and what will be done of some jobs."""
    together = past.together.copy()
    together[jobs] = future.together[jobs]
    together[past.run_job[past.run_worker != CLOUD]] = False
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(past, name), getattr(future, name)])
        for name in (
            "run_job", "run_chunk", "run_worker", "run_start", "run_end",
            "service_job", "service_ps", "service_start", "service_end",
        )
    }  # fmt: skip
    return Schedule(**columns, together=together)


class State(Base):
    """What a policy sees, and the verbs it decides with; ``known`` is an ``Instance``."""

    known: Instance
    _by_runs = True
    """Whether every run of the plan was added by ``_extend``, from which its services follow."""

    def follow(self, plan: Any) -> None:
        """Replace the plan; see ``optsched.online.State``."""
        super().follow(plan)
        self._by_runs = False

    def free_from(self, worker: int) -> float:
        """From when on nothing is planned on a worker, slots; one of the cloud is always free."""
        mine = self.plan.run_worker == worker
        last = self.plan.run_end[mine].max(initial=self.now)
        return self.now if worker == CLOUD else float(last)

    def start(self, job: Job, worker: int) -> float:
        """When a chunk sent to a worker now would start, slots."""
        delay = job.upload_delay_cloud
        if worker != CLOUD:
            delay = float(job.upload_delay_edge[self.known.worker_server[worker]])
        return max(self.free_from(worker), job.release_time + delay)

    def end(self, job: Job, worker: int) -> float:
        """When a chunk sent to a worker now, beside others at the edge, would be done, slots."""
        return self.start(job, worker) + job.chunk_time_slow

    def send(self, job: Job, worker: int, *, start: float | None = None) -> None:
        """Let a worker, or ``CLOUD``, train the next chunk of a job, after all it has to do.

        Args:
            job: which job.
            worker: an edge worker, or ``CLOUD``.
            start: when, slots; None: as soon as it can.
        """
        start = self.start(job, worker) if start is None else start
        chunk = int((self.plan.run_job == job.id).sum())
        self._extend([(job.id, chunk, worker, start, start + job.chunk_time_slow)], False)

    def send_to_cloud(self, job: Job) -> None:
        """Run a whole job in the cloud, each chunk on its own worker, at the fast speed."""
        start = self.now + max(0.0, job.release_time + job.upload_delay_cloud - self.now)
        end = start + job.chunk_time_fast
        self._extend([(job.id, d, CLOUD, start, end) for d in range(job.num_chunks)], True)

    def _extend(self, rows: list[tuple[int, int, int, float, float]], together: bool) -> None:
        """Add runs of one job; the cloud's parameter servers serve."""
        plan, job = self.plan, int(rows[0][0])
        columns = (plan.run_job, plan.run_chunk, plan.run_worker, plan.run_start, plan.run_end)
        runs = np.concatenate([np.column_stack(columns), np.array(rows, dtype=float)])
        zeta = plan.together.copy()
        zeta[job] = together or bool((runs[runs[:, 0] == job, 2] == CLOUD).all())
        services = cloud_services(runs)
        extended = Schedule.build(runs=runs, services=services, together=zeta)
        if self._by_runs and self._is_legal(*rows[0], count=len(rows)):  # without a whole check
            self._extended(extended)
        else:
            self.follow(extended)
        self._by_runs = True

    def _is_legal(
        self, job: int, chunk: int, worker: int, start: float, end: float, *, count: int
    ) -> bool:
        """Whether runs of new chunks surely break nothing, neither by themselves nor beside others.

        Args:
            job: whose chunks are trained.
            chunk: the first of them.
            worker: an edge worker, or ``CLOUD``.
            start: of each run, slots.
            end: of each run, slots.
            count: of chunks.
        """
        known, plan = self.known, self.plan
        if not (0 <= job < known.jobs and CLOUD <= worker < known.workers):
            return False
        ready, fits = known.release_time[job], True
        if worker == CLOUD:
            ready = ready + known.upload_delay_cloud[job]
        else:
            ready = ready + known.upload_delay_edge[job, known.worker_server[worker]]
            table, kinds = known.explicit_worker_eligible, known.worker_type
            alike = known.job_worker_type[job] == kinds[worker]
            other = (plan.run_worker == worker) & (plan.run_start < end) & (plan.run_end > start)
            fits = bool(alike if table is None else table[job, worker]) and not other.any()
        return (
            fits
            and np.count_nonzero(plan.run_job == job) == chunk <= known.num_chunks[job] - count
            and start >= max(self.now, ready)
            and ROUNDING < end - start < np.inf
        )
