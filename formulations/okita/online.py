"""Jobs that arrive one by one: what a policy sees and decides, and how (2) is planned anew.

Chunks are trained once and for good, so a job that has begun is a job with fewer chunks left whose
latency has begun to count: what is left at a slot is again an instance of (2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from formulations.okita.check import completion_slots, cost
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.latency import EXPONENTIAL, LINEAR, Latencies
from formulations.okita.problem_7 import exact_transport
from formulations.okita.schedule import Schedule
from optsched.errors import InputError
from optsched.online import State as Base
from optsched.problem import problem
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

_KINDS = ("worker", "server", "move")


@dataclass(frozen=True)
class Job:
    """One job as an online algorithm sees it on arrival."""

    id: int
    release_slot: int
    """a_i."""
    num_chunks: Integers
    """D_i^r, shape (sites,)."""
    rate: tuple[int, int]
    """y workers of one site finish rate[0] * y // rate[1] chunks in a slot."""
    chunk_size_mb: float
    """delta_i."""
    exchange_size_mb: float
    """pi_i."""
    worker_demand: Integers
    """m_i^k, shape (resources,)."""
    ps_demand: Integers
    """n_i^k, shape (resources,)."""
    instance: Instance
    """The job alone on the system, for all that is asked of it besides."""

    def latency(self, flow: int) -> float:
        """f_i of a flow time (slots), money."""
        return float(self.instance.latency.cost(0, flow))


def job_of(instance: Instance, i: int) -> Job:
    """Job ``i`` with all that is known of it on arrival."""
    rate = int(instance.rate_numerator[i]), int(instance.work_per_chunk[i])
    return instance.entry(i, Job, id=i, rate=rate, instance=instance.select_jobs([i]))


def relabel(instance: Instance, schedule: Schedule, jobs: Integers) -> Schedule:
    """The schedule with job i called jobs[i]."""
    names = {f"{kind}_job": jobs[getattr(schedule, f"{kind}_job")] for kind in _KINDS}
    return replace(schedule, **names)


def before(schedule: Schedule, moment: float) -> Schedule:
    """The part of a schedule that happens in slots before a moment."""
    kept = {kind: getattr(schedule, f"{kind}_slot") < moment for kind in _KINDS}
    columns = [getattr(schedule, f.name)[kept[f.name.split("_")[0]]] for f in fields(Schedule)]
    return Schedule(*columns)


def decisions(instance: Instance, schedule: Schedule, moment: float) -> list[tuple[int, str]]:
    """Workers, servers and chunks trained in the slots before a moment."""
    past = before(schedule, moment)
    workers = (past.worker_job, past.worker_slot, past.worker_site, past.worker_count)
    servers = (past.server_job, past.server_slot, past.server_site)
    moves = (
        past.move_job, past.move_slot, past.move_source, past.move_target, past.move_chunks
    )  # fmt: skip
    found = [(i, f"has {n} workers at {r} in slot {t}") for i, t, r, n in _rows(workers)]
    found += [(i, f"has its parameter server at {r} in slot {t}") for i, t, r in _rows(servers)]
    return found + [
        (i, f"trains {n} chunks of {source} at {target} in slot {t}")
        for i, t, source, target, n in _rows(moves)
    ]


def _rows(columns: tuple[Integers, ...]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def chunks_left(instance: Instance, schedule: Schedule) -> Integers:
    """M_i^r: chunks a schedule does not train, shape (jobs, sites)."""
    left = instance.num_chunks.copy()
    np.subtract.at(left, (schedule.move_job, schedule.move_source), schedule.move_chunks)
    return left


def later(latency: Latencies, slots: Integers) -> Latencies:
    """The functions of the flow time that counts from so many slots later on, shape (jobs,)."""
    grown = np.exp(np.where(latency.kind == EXPONENTIAL, latency.rate, 0.0) * slots)
    added = np.where(latency.kind == LINEAR, latency.weight * slots, 0.0)
    return replace(
        latency,
        weight=latency.weight * grown,
        offset=latency.offset + added,
        breakpoint=np.maximum(latency.breakpoint - slots, 0),
    )


def replan(instance: Instance, schedule: Schedule, now: float, options: Options) -> Answer:
    """(2) with the slots before ``now`` as they are."""
    slot = int(np.ceil(now))
    past = before(schedule, slot)
    left = chunks_left(instance, past)
    jobs = np.flatnonzero(left.sum(axis=1))
    if not len(jobs):
        value = cost(instance, past)
        return Answer(Solution(Status.OPTIMAL, value, value, checked=True), past)
    part = instance.select_jobs(jobs)
    release = np.maximum(part.release_slot, slot)
    part = replace(
        part,
        horizon=max(part.horizon, int(release.max())),
        num_chunks=left[jobs],
        release_slot=release,
        latency=later(part.latency, release - part.release_slot),
    )
    whole = problem("okita")
    return whole.solve(whole.reference, part, options=options).completed(
        lambda made: Schedule.merged([past, relabel(instance, made, jobs)]),
        partial(cost, instance),
    )


class State(Base):
    """What a policy sees, and the verbs it decides with; ``known`` is an ``Instance``."""

    known: Instance

    @property
    def jobs(self) -> list[Job]:
        """The jobs that have arrived and have chunks left, in order of arrival."""
        left = chunks_left(self.known, self.plan).sum(axis=1)
        return [job_of(self.known, int(i)) for i in np.flatnonzero(left)]

    def left(self, job: Job) -> Integers:
        """Chunks of a job that no slot is planned for, shape (sites,)."""
        return np.asarray(chunks_left(self.known, self.plan)[job.id], dtype=np.int64)

    def free(self, slot: int | None = None) -> Integers:
        """Free units of every resource at every site in a slot, by default the present one."""
        at, plan, room = self._slot(slot), self.plan, self.known.capacity.copy()
        mine = plan.worker_slot == at
        held = self.known.worker_demand[plan.worker_job[mine]] * plan.worker_count[mine][:, None]
        np.subtract.at(room, plan.worker_site[mine], held)
        mine = plan.server_slot == at
        np.subtract.at(room, plan.server_site[mine], self.known.ps_demand[plan.server_job[mine]])
        return room

    def deploy(
        self, job: Job, workers: Mapping[int, int], server: int, *, slot: int | None = None
    ) -> None:
        """Train a job for one slot: as many chunks as its workers can, moved as cheaply as may be.

        Args:
            job: which job.
            workers: how many at each site.
            server: site of the parameter server.
            slot: when; None: in the present slot.
        """
        at, left, sites = self._slot(slot), self.left(job), self.known.sites
        able = np.zeros(sites, dtype=np.int64)
        for site, number in workers.items():
            able[site] = job.rate[0] * number // job.rate[1]
        target = np.minimum(left, able)
        spare = np.cumsum(able - target)
        more = min(int(left.sum()), int(able.sum())) - int(target.sum())
        target += np.diff(np.minimum(spare, more), prepend=0)
        if not target.any():
            allowed = "workers that can train a chunk of what is left"
            raise InputError.of(f"the decision at {self.now:g}", dict(workers), allowed)
        price: Floats = self.known.unit_bandwidth_cost * job.chunk_size_mb
        flow = exact_transport(left, target, price)[1]
        source, goal = (place.tolist() for place in np.nonzero(flow))
        added = Schedule.build(
            workers=[(job.id, at, site, number) for site, number in workers.items()],
            servers=[(job.id, at, server)],
            moves=[(job.id, at, s, g, int(flow[s, g])) for s, g in zip(source, goal, strict=True)],
        )
        self.follow(Schedule.merged([self.plan, added]))

    def _slot(self, slot: int | None) -> int:
        return int(np.ceil(self.now)) if slot is None else slot


def done(instance: Instance, schedule: Schedule) -> Floats:
    """The slot past the last of each job."""
    last = completion_slots(instance, schedule)
    return np.where(last > 0, last + 1.0, np.inf)
