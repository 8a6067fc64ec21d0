"""The offline optimum of (2): bound on pooled servers, split back, cut, and prove.

1. Branch and price over whole schedules with the servers of each type pooled: a strong bound, and
   a timetable.
2. The timetable is split to single servers exactly; jobs without a place look for one, and what
   comes of it is a schedule. Where bound and schedule meet, all is proven.
3. Choices that no better schedule can contain are left out. Small instances then go to the model
   by server, which closes them; large ones to the pooled model with a cut for every set of runs
   that does not fit on single servers.

A job asks for one type of worker, so apart from parameter servers there is a problem for every
type. Where there are several, each is solved by itself: what is left of a schedule when other
types' jobs are taken out is one of that type's, so the types' bounds, each rounded up where values
are whole, add up to a bound; their schedules together are one wherever parameter servers suffice.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from formulations.batch.check import check, completion_slots
from formulations.batch.conflicts import add_conflict, conflict
from formulations.batch.insertion import Occupancy, complete, inserted, placed_jobs, rows_of
from formulations.batch.instance import Instance, Integers
from formulations.batch.intervals import decode, encode, problem_2_model, with_cloud
from formulations.batch.pooled_columns import PooledColumns
from formulations.batch.problem_2 import Objective, objective_terms
from formulations.batch.prospects import Prospects, prospects
from formulations.batch.schedule import Schedule
from formulations.batch.split import Split, Timetable, split
from optsched.decomposition import GenerationOptions
from optsched.methods import GAPS, LIMITS, Answer, ExactMethod
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Progress, Solution, Status
from optsched.solvers.trajectory import Course

FIRST_SHARE = 0.15
"""Part of the time for a first schedule of all types together, where there are several."""
COLUMNS_SHARE = 0.35
"""Part of the time that branch and price may take."""
COLUMNS_NODES = 60
"""Nodes of it: beyond, other means do better."""
COLUMNS_SECONDS = 300.0
"""Longest branch and price."""
SPLIT_SECONDS = 20.0
"""Longest split of one timetable."""
BY_SERVER = 4_000
"""Pairs of a job and a server up to which the model by server is solved."""
WHOLE = 1e-6
"""Distance to a whole number that is rounding."""


def problem_2_offline(
    instance: Instance,
    options: Options,
    *,
    start: Schedule | None = None,
    objective: Objective = "flow",
) -> Answer:
    """Solve (2) to proof, or to the limits.

    Args:
        instance: the jobs and the system.
        options: limits; the parts have solvers that suit them.
        start: a schedule to begin with.
        objective: what is minimised.

    Raises:
        InputError: no such objective.
    """
    search = _Search(instance, options, objective)
    search.run(start)
    return search.answer()


class _Search:
    """The best schedule and the best bound so far."""

    def __init__(self, instance: Instance, options: Options, objective: Objective) -> None:
        self.instance = instance
        self.clock = Course(options)
        self.options = replace(options, stop=self.clock.stop, on_progress=None)
        self.objective = objective
        self.weight, self.constant = objective_terms(instance, objective)
        self.whole = bool(np.all(self.weight == np.round(self.weight)))
        self.best: Schedule | None = None
        self.value = math.inf
        self.bound = -math.inf
        self.nodes = 0
        self.said: list[str] = []

    def go_on(self) -> bool:
        """Whether there is time left and nobody asked for an end."""
        return not self.clock.over()

    def closed(self) -> bool:
        """Whether bound and schedule meet, up to the gaps asked for."""
        gap = max(self.options.absolute_gap, self.options.gap * abs(self.value), WHOLE)
        return self.value - self.bound <= gap

    def run(self, start: Schedule | None) -> None:
        """Everything, as far as the limits allow."""
        chosen = prospects(self.instance)
        if start is not None and not check(self.instance, start):
            self.offer(start)
        self.raise_bound(float(chosen.soonest @ self.weight) + self.constant)
        if not chosen.contested.any():
            nothing = np.zeros((0, 5), dtype=np.int64)
            self.offer(with_cloud(chosen, nothing, nothing[:, :3]))
        several = len(np.unique(self.instance.worker_type[chosen.contested])) > 1
        if not self.closed() and self.go_on():
            table = self.pooled(chosen, FIRST_SHARE if several else COLUMNS_SHARE)
            self.split(chosen, table)
        if several and not self.closed() and self.go_on() and not self.by_type(chosen):
            return
        if not self.closed() and self.go_on():
            self.decide(chosen)

    def decide(self, chosen: Prospects) -> None:
        """What branch and price has left open."""
        kept = self.reduced(chosen)
        pairs = int((kept.limited & kept.contested[:, None]).sum())
        self.said.append(f"{int(kept.contested.sum())} jobs on {pairs} places left to decide")
        if pairs <= BY_SERVER:
            self.by_server(kept)
        else:
            self.by_cuts(kept)

    def by_type(self, chosen: Prospects) -> bool:
        """Each type of worker by itself, those of few jobs first; time one leaves is the others'.

        Returns:
            Whether every type is proven, so that what is open is the parameter servers' doing.
        """
        kind = self.instance.worker_type
        types, sizes = np.unique(kind, return_counts=True)
        jobs = [np.flatnonzero(kind == u) for u in types[np.argsort(sizes, kind="stable")]]
        parts: list[_Search] = []

        def hear(_: Progress) -> None:
            if len(parts) == len(jobs):
                self.raise_bound(sum(part.bound for part in parts))

        for n, j in enumerate(jobs):
            limit = self.clock.within(1.0 / (len(jobs) - n))
            options = replace(
                self.options, absolute_gap=0.0, time_limit=limit, on_progress=self.clock.live(hear)
            )
            parts.append(_Search(self.instance.select_jobs(j), options, self.objective))
            parts[n].run(None if self.best is None else self.best.of_jobs(j))
        self.nodes += sum(part.nodes for part in parts)
        self.raise_bound(sum(part.bound for part in parts))
        proven = sum(part.closed() for part in parts)
        self.said.append(f"{proven} of {len(parts)} worker types proven")
        found = [(j, part.best) for j, part in zip(jobs, parts, strict=True) if part.best]
        if len(found) == len(parts):
            self.offer_merged(chosen, Schedule.merged(found))
        return proven == len(parts)

    def offer_merged(self, chosen: Prospects, schedule: Schedule) -> None:
        """Take the types' schedules together; runs whose parameter servers clash look elsewhere."""
        occupancy, kept = Occupancy(chosen), []
        for run in placed_jobs(chosen, schedule):
            if occupancy.fits(run):
                occupancy.put(run)
                kept.append(run)
        order = self.instance.arrival_order[chosen.contested[self.instance.arrival_order]]
        made = inserted(Occupancy(chosen), kept, order.tolist())
        whole = with_cloud(chosen, *rows_of(made))
        if not check(self.instance, whole):
            self.offer(whole)

    # what is known

    def offer(self, schedule: Schedule) -> None:
        """Take a schedule that is better than the best."""
        value = float(completion_slots(self.instance, schedule) @ self.weight) + self.constant
        if value < self.value:
            self.best, self.value = schedule, value
            self.clock.tell(objective=value)

    def raise_bound(self, bound: float | None) -> None:
        """Take a bound, rounded up where every value is whole."""
        if bound is None:
            return
        if self.whole:
            bound = float(math.ceil(bound - WHOLE))
        self.bound = max(self.bound, bound)
        self.clock.tell(bound=min(self.bound, self.value))

    def limited(self, seconds: float = math.inf, share: float = 1.0) -> Options:
        """Options of one solve."""
        limit = self.clock.within(share, seconds)
        return replace(self.options, time_limit=limit, warm_start=None, gap=0.0, absolute_gap=0.0)

    # the parts

    def pooled(self, chosen: Prospects, share: float) -> Timetable:
        """Branch and price with pooled servers, for a part of the time."""
        columns = PooledColumns(chosen, self.objective)
        found = columns.generation().solve(
            GenerationOptions(
                time_limit=self.clock.within(share, COLUMNS_SECONDS),
                node_limit=COLUMNS_NODES,
                integral_objective=self.whole,
                stop=self.options.stop,
                on_progress=lambda bound, _: self.raise_bound(bound + columns.constant),
            )
        )
        self.nodes += found.nodes
        if found.bound is not None:
            self.raise_bound(found.bound + columns.constant)
        root = "" if found.root_bound is None else f"{found.root_bound + columns.constant:.2f}"
        self.said.append(f"pooled relaxation {root}, bound {self.bound:.6g}")
        rows = [(c.block, *c.payload) for c, _ in found.chosen if c.payload is not None]
        return Timetable(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)

    def split(self, chosen: Prospects, table: Timetable) -> Split:
        """Give a timetable back to single servers, and take the schedule that comes of it."""
        k = chosen.choices.take(table.choice)
        end = table.start + k.duration - 1
        away = np.where(chosen.cloud_end >= 0, chosen.cloud_end, chosen.last + 1)[table.job]
        loss = np.maximum(self.weight[table.job] * (away - end), WHOLE)
        given = split(chosen, table, loss, options=self.limited(SPLIT_SECONDS, 0.5))
        contested = np.flatnonzero(chosen.contested)
        planned, done = chosen.soonest.copy(), chosen.soonest.copy()
        planned[table.job], done[table.job] = table.start, end
        nothing = replace(given, kept=np.zeros_like(given.kept))
        self._complete(chosen, table, given, contested[np.argsort(planned[contested])])
        if not given.kept.all():  # then other orders may do better from the beginning
            for moment in (planned, done, done * self.weight.max() / self.weight):
                self._complete(chosen, table, nothing, contested[np.argsort(moment[contested])])
        return given

    def _complete(self, chosen: Prospects, table: Timetable, given: Split, order: Integers) -> None:
        """Offer what comes of inserting jobs in an order beside what has a place."""
        runs = complete(chosen, table, given, order.tolist(), self.go_on)
        schedule = with_cloud(chosen, *rows_of(runs))
        if not check(self.instance, schedule):
            self.offer(schedule)

    def reduced(self, chosen: Prospects) -> Prospects:
        """The choices that a schedule better than the best may contain."""
        if not np.all(self.weight == 1.0) or math.isinf(self.value):
            return chosen
        spare = self.value - (float(chosen.soonest.sum()) + self.constant)
        return chosen.within(math.ceil(spare - WHOLE))

    def by_server(self, chosen: Prospects) -> None:
        """The model by server, from the best schedule on."""
        model = problem_2_model(chosen, self.objective, pooled=False)
        self._add_bound(model)
        options = self.limited()
        if self.best is not None:
            options = replace(options, warm_start=encode(chosen, self.best))
        solution = self._solve(model, options, whole=True)
        if solution.has_point:
            schedule = decode(chosen, dict(solution.values))
            if not check(self.instance, schedule):
                self.offer(schedule)

    def by_cuts(self, chosen: Prospects) -> None:
        """The pooled model, cut by every set of runs that does not fit, until it does."""
        model = problem_2_model(chosen, self.objective, pooled=True)
        self._add_bound(model)
        number = 0
        while self.go_on() and not self.closed():
            solution = self._solve(model, self.limited(share=0.5), whole=False)
            if not solution.has_point:
                return
            table = self._timetable(chosen, solution)
            given = self.split(chosen, table)
            added = 0
            for run in np.flatnonzero(~given.kept).tolist():
                members = conflict(chosen, table, run, self.go_on, self.limited(SPLIT_SECONDS))
                if members is not None:
                    add_conflict(model, chosen, table, members, number)
                    number, added = number + 1, added + 1
            if not added:
                return
        self.said.append(f"{number} conflicts")

    def _timetable(self, chosen: Prospects, solution: Solution) -> Timetable:
        on = np.flatnonzero(solution["b"] > 0.5)
        job = chosen.choices.job[on]
        return Timetable(job, on, np.round(solution["start"][job]).astype(np.int64))

    def _add_bound(self, model: Model) -> None:
        """Tell a model what is proven already."""
        value = model["end"] @ self.weight + (self.constant - float(self.weight.sum()))
        if math.isfinite(self.bound):
            model.add("bound", value >= self.bound)

    def _solve(self, model: Model, options: Options, *, whole: bool) -> Solution:
        """Solve, and take the bound of, a model whose choices may have been reduced.

        Args:
            model: what to solve.
            options: of the solve.
            whole: whether its points are schedules.
        """

        def hear(progress: Progress) -> None:  # a solver's word, until its answer is there
            bound = None if progress.bound is None else min(progress.bound, self.value)
            self.clock.tell(bound, progress.objective if whole else None)

        options = replace(options, on_progress=self.clock.live(hear))
        solution = solve(model, "cpsat", options=options)
        if solution.status is not Status.ERROR:
            self.clock.catch_up(solution, hear)
        self.nodes += solution.nodes or 0
        if solution.status is Status.INFEASIBLE:  # nothing is better than the best
            self.raise_bound(self.value)
        elif solution.bound is not None and solution.status is not Status.ERROR:
            self.raise_bound(min(solution.bound, self.value))
        return solution

    def answer(self) -> Answer:
        """What was found, in the solver's words."""
        ended: Limit | None = None
        if self.best is not None and self.value - self.bound <= WHOLE:
            status, self.bound = Status.OPTIMAL, self.value
        elif self.clock.stopped:
            status = Status.INTERRUPTED
        else:
            status = Status.NO_SOLUTION if self.best is None else Status.FEASIBLE
            ended = Limit.TIME if self.clock.over() else Limit.GAP
        solution = Solution(
            status,
            objective=None if self.best is None else self.value,
            bound=self.bound if math.isfinite(self.bound) else None,
            limit=ended,
            checked=self.best is not None,
            seconds=self.clock.spent,
            nodes=self.nodes,
            solver="cpsat",
            version=backend("cpsat").version(),
            message="; ".join(self.said),
        )
        return Answer(self.clock.ended(solution), self.best)


def formulations(objective: Objective) -> tuple[ExactMethod, ...]:
    """The search for the optimum of (2) with that objective."""
    return (
        ExactMethod(
            "problem_2_offline", partial(problem_2_offline, objective=objective), "problem (2)",
            "pooled servers by branch and price, split back exactly, then the model by server, or "
            "cuts on the pooled one: the method for scale",
            LIMITS | GAPS | {"start", "threads", "seed", "log", "on_progress"}, solver="cpsat",
        ),
    )  # fmt: skip
