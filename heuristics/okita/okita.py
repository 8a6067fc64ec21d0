"""Algorithm 1: Okita, slot by slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.schedule import Schedule
from heuristics.okita.online import (
    Job,
    PlacementRule,
    Recorder,
    Rules,
    SiteCosts,
    Spread,
    TransportRule,
    WindowOptions,
)
from heuristics.okita.priority import PiecewisePriority, priorities
from optsched.errors import FieldProblem, InputError
from optsched.problem.calls import NonNegative

MigrateSearch = Literal["same_n", "any_n"]
"""Numbers of workers tried on what is free: the planned one, or that and fewer."""


@dataclass(frozen=True)
class Decision:
    """What was decided on one job in one slot."""

    slot: int
    job: int
    workers: int
    """N*_i."""
    window: int
    """l*_i, slots."""
    planned: float
    """Bandwidth and latency of the plan, money."""
    priority: float
    """O_i(t)."""
    migrate: float | None = None
    """cost1, money, where the plan conflicts with jobs before it."""
    delay: float | None = None
    """cost2, money, where the plan conflicts."""
    deployed: bool = True


@dataclass(frozen=True, eq=False)
class OkitaRun:
    """The schedule, and every decision in order."""

    schedule: Schedule
    decisions: tuple[Decision, ...]


@dataclass
class _Plan:
    """The tentative plan of a job, alone on the empty system."""

    job: Job
    options: WindowOptions | None = None
    """Kept until the job has trained."""
    chosen: int = 0
    """Which of them."""
    placed: tuple[int, Integers] | None = None
    """Which of them, and where its workers are on the empty system; kept as long."""
    workers: int = 0
    window: int = 0
    total: float = 0.0
    late: float = 0.0
    """The latency part of ``total``."""


def okita(
    instance: Instance,
    rng: np.random.Generator,
    *,
    alpha: tuple[NonNegative, NonNegative] = (1.0, 1.0),
    beta: tuple[NonNegative, NonNegative, NonNegative] = (1.0, 1.0, 1.0),
    latency_offset: Literal[-1, 0] = -1,
    placement: PlacementRule = "pa",
    transport: TransportRule = "dta",
    migrate_search: MigrateSearch = "same_n",
    piecewise_priority: PiecewisePriority = "corrected",
    normalise_q: bool = False,
    printed: bool = False,
) -> Schedule:
    """Okita; nothing is drawn.

    Args:
        instance: every job trains at least a chunk per worker and slot (A2).
        rng: not used.
        alpha: weights of lateness and of what is left in (4).
        beta: weights of free resources, bandwidth cost and data in (6).
        latency_offset: added to t + l - a_i in estimates; 0 reproduces the print.
        placement: see ``PlacementRule``.
        transport: see ``TransportRule``.
        migrate_search: see ``MigrateSearch``.
        piecewise_priority: see ``PiecewisePriority``.
        normalise_q: make the bandwidth term of (6) scale free.
        printed: Algorithms 2 and 3 line by line (see ``Rules``): data that lie where they are
            trained are never done with, and the run ends in the first slot that changes nothing,
            with jobs unfinished, which the checker says.

    Raises:
        InputError: an option out of range, or a job that breaks (A2).
    """
    rules = Rules(beta, normalise_q, placement, transport, printed)
    return run_okita(
        instance,
        rules,
        alpha=alpha,
        latency_offset=latency_offset,
        migrate_search=migrate_search,
        piecewise_priority=piecewise_priority,
    ).schedule


def run_okita(
    instance: Instance,
    rules: Rules | None = None,
    *,
    alpha: tuple[float, float] = (1.0, 1.0),
    latency_offset: int = -1,
    migrate_search: MigrateSearch = "same_n",
    piecewise_priority: PiecewisePriority = "corrected",
) -> OkitaRun:
    """Okita with a record of its decisions; see ``okita``.

    Raises:
        InputError: an option out of range, or a job that breaks (A2).
    """
    _refuse(alpha, latency_offset, migrate_search, piecewise_priority)
    system = SiteCosts(instance, rules or Rules())
    order = np.argsort(instance.release_slot, kind="stable").tolist()
    recorder, decisions = Recorder(), []
    present: list[_Plan] = []
    arrived, slot = 0, 0
    while arrived < len(order) or present:
        slot += 1
        if not present:
            slot = max(slot, int(instance.release_slot[order[arrived]]))
        while arrived < len(order) and instance.release_slot[order[arrived]] <= slot:
            present.append(_Plan(Job(system, order[arrived])))
            arrived += 1
        before = recorder.moved
        for plan in present:
            _plan(plan, slot, latency_offset)
        jobs = [plan.job for plan in present]
        score = priorities(instance, jobs, slot, alpha, piecewise_priority)
        ids = np.array([job.id for job in jobs])
        ranked = np.lexsort((ids, instance.release_slot[ids], -score))
        day = _Slot(instance, slot, latency_offset, migrate_search, recorder)
        for at in ranked.tolist():
            decisions.append(day.deploy(present[at], float(score[at])))
        done = recorder.moved
        present = [plan for plan in present if plan.job.left.any()]
        if system.rules.printed and done == before and arrived == len(order):
            break
    return OkitaRun(recorder.schedule(), tuple(decisions))


def _refuse(alpha: tuple[float, float], offset: int, search: str, piecewise: str) -> None:
    problems = []
    weights = np.asarray(alpha, dtype=float)
    if weights.shape != (2,) or not (np.isfinite(weights) & (weights >= 0)).all():
        problems.append(FieldProblem("alpha", alpha, "two finite numbers >= 0"))
    if offset not in (-1, 0):
        problems.append(FieldProblem("latency_offset", offset, "-1 or 0"))
    for name, value, kind in (
        ("migrate_search", search, MigrateSearch),
        ("piecewise_priority", piecewise, PiecewisePriority),
    ):  # fmt: skip
        if value not in get_args(kind):
            problems.append(FieldProblem(name, value, "one of " + ", ".join(get_args(kind))))
    if problems:
        raise InputError(problems)


def _plan(plan: _Plan, slot: int, offset: int) -> None:
    """Lines 4 to 10: the best number of workers on the empty system."""
    job = plan.job
    if plan.options is None:
        capacity = job.system.instance.capacity
        plan.options = job.options(capacity, 1, job.most_workers)
    late = job.latency(np.maximum(slot + plan.options.slots + offset - job.release, 0))
    total = plan.options.bandwidth + late
    best = int(np.argmin(total))
    plan.chosen, plan.workers = best, int(plan.options.number[best])
    plan.window = int(plan.options.slots[best])
    plan.total, plan.late = float(total[best]), float(late[best])


class _Slot:
    """Lines 13 to 29: deployment of the ranked jobs in one slot."""

    def __init__(
        self, instance: Instance, slot: int, offset: int, search: MigrateSearch, recorder: Recorder
    ) -> None:
        self.instance, self.slot, self.offset = instance, slot, offset
        self.search, self.recorder = search, recorder
        self.free = instance.capacity.copy()
        self.busy = np.full(instance.sites, np.iinfo(np.int64).max)
        """Shortest window of the jobs placed at each site."""

    def deploy(self, plan: _Plan, priority: float) -> Decision:
        """Deploy a job as planned, elsewhere, or not in this slot."""
        job = plan.job
        assert plan.options is not None
        server, spread = int(plan.options.server[plan.chosen]), plan.options.spread[plan.chosen]
        if plan.placed is None or plan.placed[0] != plan.chosen:
            empty = self.instance.capacity
            plan.placed = plan.chosen, job.workers(empty, server, plan.workers, spread)
        workers = plan.placed[1]
        conflicts: Booleans = np.any(job.demand(workers, server) > self.free, axis=1)
        migrate = delay = None
        if conflicts.any():
            migrate, elsewhere = self._migrated(plan)
            delay = self._delayed(plan, conflicts)
            if elsewhere is None or migrate > delay:
                return self._decision(plan, priority, migrate, delay, deployed=False)
            workers, server, spread = elsewhere
        held = job.demand(workers, server)
        room = self.free if conflicts.any() else self.instance.capacity
        flow = job.train(room, workers, server, spread)
        self.recorder.add(job.id, self.slot, workers, server, flow)
        self.free -= held
        used = held.any(axis=1)
        self.busy[used] = np.minimum(self.busy[used], plan.window)
        plan.options = plan.placed = None
        return self._decision(plan, priority, migrate, delay, deployed=True)

    def _migrated(self, plan: _Plan) -> tuple[float, tuple[Integers, int, Spread] | None]:
        """cost1 and the deployment on what is free; infinite and None where nothing fits."""
        job = plan.job
        if self.search == "same_n":
            options = job.options(self.free, plan.workers, plan.workers, plan.window)
        else:
            options = job.options(self.free, 1, plan.workers)
        late = job.latency(np.maximum(self.slot + options.slots + self.offset - job.release, 0))
        total: Floats = job.paid + options.bandwidth + late
        best = int(np.argmin(total))
        if not np.isfinite(options.bandwidth[best]):
            return np.inf, None
        server, spread = int(options.server[best]), options.spread[best]
        workers = job.workers(self.free, server, int(options.number[best]), spread)
        return float(total[best]), (workers, server, spread)

    def _delayed(self, plan: _Plan, conflicts: Booleans) -> float:
        """cost2: the plan after the first blocker at each site, of the last of these, has ended."""
        job, wait = plan.job, int(self.busy[conflicts].max())
        flow = self.slot + wait + plan.window + self.offset - job.release
        late = float(job.latency(np.array([max(flow, 0)]))[0])
        return job.paid + plan.total - plan.late + late

    def _decision(
        self,
        plan: _Plan,
        priority: float,
        migrate: float | None,
        delay: float | None,
        *,
        deployed: bool,
    ) -> Decision:
        return Decision(
            self.slot, plan.job.id, plan.workers, plan.window, plan.total, priority,
            migrate, delay, deployed,
        )  # fmt: skip
