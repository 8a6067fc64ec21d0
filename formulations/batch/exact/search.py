"""The search of (2) without regard to types of workers: what is known, and what makes it more.

1. The model by server, for the first seconds, if it is small: a proof where jobs are alike, of
   which the tree would look at every order.
2. A few jobs at a time are removed and inserted again: a schedule.
3. The linear relaxation over all schedules that a better whole may contain, the servers of each
   type pooled, with cuts that see which servers a job has reached, which widths fit together in a
   slot, and which runs can keep their servers: a bound.
4. A tree over completions of jobs, until schedules in whole numbers are what is best. These are
   split to single servers exactly; where that fails, a cut says which runs do not fit together,
   and so on until they do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np

from formulations.batch.check import check, completion_slots
from formulations.batch.domain_reduction import Prospects, prospects
from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.conflicts import conflict, harder
from formulations.batch.exact.cutting import Cutting
from formulations.batch.exact.improve import Neighbourhoods
from formulations.batch.exact.server_cuts import Row, Runs
from formulations.batch.exact.split import Split, Timetable, complete, split
from formulations.batch.exact.splits import CompletionTree
from formulations.batch.insertion import (
    Occupancy,
    PlacedJob,
    inserted,
    placed_jobs,
    rows_of,
)
from formulations.batch.instance import Instance, Integers
from formulations.batch.problem_2 import Objective, objective_terms
from formulations.batch.problem_2_intervals import decode, encode, problem_2_model, with_cloud
from formulations.batch.schedule import Schedule
from optsched.decomposition import GenerationOptions
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Progress, Solution, Status
from optsched.solvers.trajectory import SearchProgress

FIRST_SECONDS, FIRST_SHARE = 3.0, 0.2
"""Time of a small model by server before the relaxation: seconds at most, and part of what is left.
The tree has as many seconds after it, then the model has twice as many, and so on in turns."""
SMALL = 150
"""Pairs of a job and a server up to which the model by server is small."""
AGAIN_SHARE = 0.8
"""Part of the time left for those of a type that its relaxation has left open."""
CUTS_SHARE = 0.6
"""Part of the time for a relaxation after which no more cuts are looked for."""
ROUNDS_OF_CUTS = 60
LEAST_GAIN = 0.002
"""Part of the distance to the schedule that a round of cuts gains, or it is the last."""
SPLIT_SECONDS = 2.0
"""Longest split of one timetable."""
SPLIT_SHARE = 0.1
"""Part of the time left for it."""
MOST_ENTRIES = 5_000_000
"""Slots of all schedules together up to which they are listed; else the model by server is solved,
which has none."""
WHOLE = 1e-6
"""Distance to a whole number that is rounding."""


class Search:
    """The best schedule and the best bound so far."""

    def __init__(self, instance: Instance, options: Options, objective: Objective) -> None:
        self.instance = instance
        self.objective = objective
        self.weight, self.constant = objective_terms(instance, objective)
        self.whole = bool(np.all(self.weight == np.round(self.weight)))
        self.best: Schedule | None = None
        self.value = math.inf
        self.near: Neighbourhoods | None = None
        """Of the best schedule, if they have found it."""
        self.bound = -math.inf
        self.nodes = 0
        self.said: list[str] = []
        self.rows: list[Row] = []
        """What schedules on pooled servers must satisfy beside capacities."""
        self.begin(options)
        self.tree: CompletionTree | None = None
        """As far as it was searched."""
        self.chosen = prospects(instance)
        self.raise_bound(float(self.chosen.soonest @ self.weight) + self.constant)

    def begin(self, options: Options) -> None:
        """Work under these limits from now on."""
        self.clock = SearchProgress(options)
        self.options = replace(options, stop=self.clock.stop, on_progress=None)

    def go_on(self) -> bool:
        """Whether something is open, there is time left, and nobody asked for an end."""
        return not (self.clock.over() or self.closed())

    def closed(self) -> bool:
        """Whether bound and schedule meet, up to the gaps asked for."""
        gap = max(self.options.absolute_gap, self.options.gap * abs(self.value), WHOLE)
        return self.value - self.bound <= gap

    # what is known

    def offer(self, schedule: Schedule) -> None:
        """Take a schedule that is better than the best."""
        value = float(completion_slots(self.instance, schedule) @ self.weight) + self.constant
        if value < self.value:
            self.best, self.value, self.near = schedule, value, None
            self.clock.tell(objective=value)

    def offer_runs(self, runs: Sequence[PlacedJob]) -> None:
        """Take runs on servers with limits, all other jobs in the cloud, if that is a schedule."""
        schedule = with_cloud(self.chosen, *rows_of(runs))
        if not check(self.instance, schedule):
            self.offer(schedule)

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

    def insert(self) -> None:
        """A first schedule, if there is none: one job after the other."""
        chosen = self.chosen
        if self.best is None:
            order = np.flatnonzero(chosen.contested)
            order = order[np.argsort(chosen.soonest[order], kind="stable")]
            runs: list[PlacedJob] = []
            with suppress(TimeoutError):
                runs = inserted(Occupancy(chosen), [], order.tolist(), self.in_time)
            self.offer_runs(runs)

    def improve(self, share: float) -> None:
        """Neighbourhoods, for a part of the time left."""
        chosen = self.chosen
        self.insert()
        if self.best is None or not chosen.contested.any() or not self.go_on():
            return
        part = Deadline(self.clock.within(share), self.clock.stop)
        near = self.near
        if near is None:
            rng = np.random.default_rng(self.options.seed)
            near = Neighbourhoods(chosen, self.weight, placed_jobs(chosen, self.best), rng)
        self.offer_runs(near.search(lambda: not part.over()))
        self.near = near

    def in_time(self) -> bool:
        """Whether there is time left and nobody asked for an end."""
        return not self.clock.over()

    @cached_property
    def columns(self) -> PooledColumns | None:
        """All schedules that a better whole may contain; None where they are too many."""
        chosen = self.chosen
        if math.isfinite(self.value):
            lone = float(chosen.soonest @ self.weight) + self.constant
            chosen = chosen.within(np.floor((self.value - lone) / self.weight + WHOLE))
        k = chosen.choices
        starts = np.maximum(chosen.last[k.job] - k.duration - chosen.first + 2, 0)
        few = float(starts @ k.duration) <= MOST_ENTRIES
        return PooledColumns(chosen, self.objective) if few else None

    @cached_property
    def runs(self) -> Runs:
        """These schedules."""
        assert self.columns is not None
        return Runs(self.columns.prospects, *self.columns.schedules)

    @cached_property
    def small(self) -> bool:
        """Whether the model by server is small."""
        return int(self.chosen.contested.sum()) * self.instance.servers <= SMALL

    def model_first(self) -> None:
        """The model by server, if it is small."""
        if self.small:
            self.by_server(self.limited(FIRST_SECONDS, FIRST_SHARE))

    def relax(self) -> None:
        """The relaxation, cut while that moves it."""
        if self.columns is None or not self.go_on():
            return
        constant = self.columns.constant
        found = self.columns.relaxation(  # it has a bound to show early
            GenerationOptions(
                time_limit=self.clock.within(1.0),
                stop=self.options.stop,
                on_progress=lambda bound, _: self.raise_bound(bound + constant),
            )
        )
        if found.bound is not None:
            self.raise_bound(found.bound + constant)
        if not self.go_on():
            return
        # a round once begun is not called off: so none may take long, or begin late
        part = Deadline(self.clock.within(CUTS_SHARE), self.clock.stop)
        limit = Options(time_limit=self.clock.within(1.0 - CUTS_SHARE))
        before, placed = -math.inf, False
        with Cutting(self.columns, self.runs, limit) as cutting, suppress(TimeoutError):
            for _ in range(ROUNDS_OF_CUTS):
                solution = cutting.solve()
                if solution.status is not Status.OPTIMAL or solution.bound is None:
                    break
                self.raise_bound(solution.bound)
                little = solution.bound - before <= LEAST_GAIN * (self.value - solution.bound)
                before = solution.bound
                enough = (little and placed) or self.closed() or part.over()
                placed = placed or little
                if enough or not cutting.renew(solution, part if placed else None):
                    break
        self.rows = cutting.rows

    def decide(self) -> None:
        """What the relaxation has left open."""
        self.improve(AGAIN_SHARE)
        seconds, again = FIRST_SECONDS if self.small else math.inf, True
        while again:
            if self.columns is not None:
                self.by_completions(self.columns, seconds)
            seconds *= 2.0
            again = self.by_server(self.limited(seconds)) and self.go_on()
        self.improve(1.0)

    def by_completions(self, columns: PooledColumns, seconds: float = math.inf) -> None:
        """A tree over completions on pooled servers, cut until they fit on single ones."""
        part = Deadline(self.clock.within(1.0, seconds), self.clock.stop)
        if self.tree is None:
            limit = Options(time_limit=self.clock.within(1.0))
            self.tree = CompletionTree(columns, self.runs, self.rows, limit)
        tree, before = self.tree, self.tree.nodes
        try:
            while self.go_on() and not (part.over() or tree.done):
                most = self.value - 1.0 + 2.0 * WHOLE if self.whole else self.value
                found = tree.step(most)
                if found is not None:
                    node, at = found
                    rows = self.settle(columns, at)
                    tree.cut(rows)
                    (tree.again if rows else tree.put_aside)(node)
                self.raise_bound(min(tree.bound, self.value))
        except TimeoutError:  # a node is lost, so another time it is begun anew
            self.tree = None
        self.nodes += tree.nodes - before

    def settle(self, columns: PooledColumns, at: Integers) -> list[Row]:
        """Split schedules on pooled servers to single ones, or say what none of such do."""
        runs = self.runs.take(at)
        table = Timetable(runs.job, runs.choice, runs.start)
        given = self.split(columns.prospects, table)
        rows = [self.runs.row(cut) for cut in runs.violated(np.ones(len(at)))]
        for run in () if rows else np.flatnonzero(~given.kept).tolist():
            limits = self.limited(SPLIT_SECONDS, SPLIT_SHARE)
            members = conflict(columns.prospects, table, run, self.in_time, limits)
            if members is not None:
                alike = harder(self.runs, runs.take(members))
                rows.append((alike, np.ones(len(alike)), len(members) - 1.0))
        return rows

    def split(self, chosen: Prospects, table: Timetable) -> Split:
        """Give a timetable back to single servers, and take the schedule that comes of it."""
        k = chosen.choices.take(table.choice)
        end = table.start + k.duration - 1
        away = np.where(chosen.cloud_end >= 0, chosen.cloud_end, chosen.last + 1)[table.job]
        loss = np.maximum(self.weight[table.job] * (away - end), WHOLE)
        given = split(chosen, table, loss, options=self.limited(SPLIT_SECONDS, SPLIT_SHARE))
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
        self.offer_runs(complete(chosen, table, given, order.tolist(), self.in_time))

    def by_server(self, options: Options) -> bool:
        """The model by server, from the best schedule on; whether its time ended it."""
        if not self.go_on():
            return False
        listed = self.__dict__.get("columns")  # not before a schedule has made them few
        chosen = self.chosen if listed is None else listed.prospects
        model = problem_2_model(chosen, self.objective, pooled=False)
        value = model["end"] @ self.weight + (self.constant - float(self.weight.sum()))
        if math.isfinite(self.bound):
            model.add("bound", value >= self.bound)
        if self.best is not None:
            options = replace(options, warm_start=encode(chosen, self.best))
        solution = self._solve(model, "cpsat", options, whole=True)
        if solution.has_point:
            schedule = decode(chosen, dict(solution.values))
            if not check(self.instance, schedule):
                self.offer(schedule)
        return solution.limit is Limit.TIME

    def _solve(self, model: Model, solver: str, options: Options, *, whole: bool) -> Solution:
        """Solve, and take the bound of, a model whose choices may have been reduced.

        Args:
            model: what to solve.
            solver: by which.
            options: of the solve.
            whole: whether its points are schedules.
        """

        def hear(progress: Progress) -> None:  # a solver's word, until its answer is there
            bound = None if progress.bound is None else min(progress.bound, self.value)
            self.clock.tell(bound, progress.objective if whole else None)

        options = replace(options, on_progress=self.clock.live(hear))
        solution = solve(model, solver, options=options)
        if solution.status is not Status.ERROR:
            self.clock.catch_up(solution, hear)
        self.nodes += solution.nodes or 0
        if solution.status is Status.INFEASIBLE:  # nothing is better than the best
            self.raise_bound(self.value)
        elif solution.bound is not None and solution.status is not Status.ERROR:
            self.raise_bound(min(solution.bound, self.value))
        return solution
