"""The search of (2) without regard to types of workers: the incumbent, and what improves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from pydantic import BaseModel, Field

from formulations.batch.check import check, completion_slots
from formulations.batch.domain_reduction import Prospects, prospects
from formulations.batch.exact.columns import PooledColumns
from formulations.batch.exact.conflicts import conflict, harder
from formulations.batch.exact.improve import Annealing
from formulations.batch.exact.server_cuts import Row, Runs
from formulations.batch.exact.split import Split, Timetable, complete, split
from formulations.batch.exact.width_cuts import width_rows
from formulations.batch.insertion import Occupancy, PlacedJob, inserted, placed_jobs, rows_of
from formulations.batch.instance import Floats, Instance, Integers
from formulations.batch.problem_2 import Objective, objective_terms
from formulations.batch.problem_2_intervals import decode, encode, problem_2_model, with_cloud
from formulations.batch.schedule import Schedule
from optsched.decomposition import (
    ColumnSolution,
    CutRow,
    GenerationOptions,
    Incumbent,
    ListedColumns,
)
from optsched.solve import solve
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

MOST_ENTRIES = 5_000_000
"""Slots of all schedules together up to which memory has room for the list of them; beyond it the
model by server, which lists none, is solved instead."""
WHOLE = 1e-6
"""Distance to a whole number, or of a bound to a value, that is rounding."""


class SearchParams(BaseModel, frozen=True, extra="forbid"):
    """Parameters of the search for the offline optimum of (2)."""

    anneal_share: float = Field(
        0.2, gt=0, le=1, description="part of the time left for annealing before the bounds"
    )
    temperature: float = Field(
        3.0, gt=0, description="first temperature: slots that a job of mean weight may end later"
    )
    cooling: float = Field(
        0.1, gt=0, le=1, description="last temperature of a cooling, as part of the first"
    )
    patience: int = Field(
        16, ge=1, description="annealing ends after a cooling of this many steps for each triple "
        "of jobs of a type without a better schedule",
    )  # fmt: skip
    small: int = Field(
        150, ge=0, description="pairs of a job and a server up to which the model by server takes "
        "turns with branch and price",
    )  # fmt: skip
    model_seconds: float = Field(
        3.0, gt=0, description="seconds of the first turn of the model by server; then they double"
    )
    model_share: float = Field(
        0.2, gt=0, le=1, description="part of the time left that its first turn may take at most"
    )
    split_seconds: float = Field(
        2.0, gt=0, description="seconds for the split of one pooled schedule to single servers"
    )


class Search:
    """The incumbent of an instance, and the steps that raise its bound or lower its value.

    Args:
        instance: the jobs and the system.
        options: limits of the search.
        objective: what is minimised.
        params: its parameters.
        start: a schedule to begin with.
    """

    def __init__(
        self,
        instance: Instance,
        options: Options,
        objective: Objective,
        params: SearchParams,
        start: Schedule | None = None,
    ) -> None:
        self.instance, self.objective, self.params = instance, objective, params
        self.weight, self.constant = objective_terms(instance, objective)
        self.whole = bool(np.all(self.weight == np.round(self.weight)))
        self.best: Incumbent[Schedule] = Incumbent(
            options, cost=self.cost, check=partial(check, instance), whole=self.whole, start=start
        )
        self.deadline: Deadline = self.best.deadline
        """Of the step under way."""
        self.nodes = 0
        self.chosen = prospects(instance)
        self.raise_bound(float(self.chosen.soonest @ self.weight) + self.constant)
        self._annealed: tuple[Schedule, Annealing] | None = None
        self._relaxed: ColumnSolution | None = None

    def begin(self, seconds: float | None) -> None:
        """Give the next steps so many seconds together."""
        self.deadline = self.best.part(most=math.inf if seconds is None else seconds)

    @property
    def over(self) -> bool:
        """Whether to begin nothing more: it is closed, late, or to stop."""
        return self.best.closed or self.deadline.over()

    # the incumbent

    def cost(self, schedule: Schedule) -> float:
        """The objective of a schedule."""
        return float(completion_slots(self.instance, schedule) @ self.weight) + self.constant

    def offer_runs(self, runs: Sequence[PlacedJob]) -> None:
        """Offer runs on servers with limits, all other jobs in the cloud."""
        self.best.offer(with_cloud(self.chosen, *rows_of(runs)))

    def raise_bound(self, bound: float | None) -> None:
        """Take a bound; one that misses the best value by rounding meets it."""
        if bound is not None:
            value = self.best.value
            self.best.raise_bound(value if value - WHOLE < bound < value else bound)

    def limited(self, seconds: float = math.inf, share: float = 1.0) -> Options:
        """The options of one solve to proof."""
        limit = self.deadline.within(share, seconds)
        return replace(self.best.within(), time_limit=limit)

    # schedules

    def in_time(self) -> bool:
        """Whether there is time left and nobody asked for an end."""
        return not self.deadline.over()

    def insert(self) -> None:
        """Insert one job after the other, if there is no schedule yet."""
        if self.best.schedule is None:
            order = np.flatnonzero(self.chosen.contested)
            order = order[np.argsort(self.chosen.soonest[order], kind="stable")]
            runs: list[PlacedJob] = []
            with suppress(TimeoutError):
                runs = inserted(Occupancy(self.chosen), [], order.tolist(), self.in_time)
            self.offer_runs(runs)

    def improve(self, share: float) -> None:
        """Anneal for a part of the time left, and go on with the annealing of before if it led."""
        self.insert()
        start = self.best.schedule
        if start is None or not self.chosen.contested.any() or self.over:
            return
        part = Deadline(self.deadline.within(share), self.deadline.stop)
        if self._annealed is not None and self._annealed[0] is start:
            annealing = self._annealed[1]
        else:
            rng, runs = (
                np.random.default_rng(self.best.options.seed),
                placed_jobs(self.chosen, start),
            )
            annealing = Annealing(self.chosen, self.weight, runs, rng)
        p = self.params
        self.offer_runs(annealing.search(part, (p.temperature, p.cooling), p.patience))
        assert self.best.schedule is not None
        self._annealed = self.best.schedule, annealing

    # the model by server

    @cached_property
    def small(self) -> bool:
        """Whether the model by server is small."""
        return int(self.chosen.contested.sum()) * self.instance.servers <= self.params.small

    def model_first(self) -> None:
        """Solve the model by server for some seconds, if it is small."""
        if self.small:
            self.by_server(self.limited(self.params.model_seconds, self.params.model_share))

    def by_server(self, options: Options) -> bool:
        """Solve the model by server from the best schedule on; say whether its time ended it."""
        if self.over:
            return False
        listed = self.__dict__.get("columns")  # not before a schedule has made them few
        chosen = self.chosen if listed is None else listed.prospects
        model = problem_2_model(chosen, self.objective, pooled=False)
        value = model["end"] @ self.weight + (self.constant - float(self.weight.sum()))
        if math.isfinite(self.best.bound):
            model.add("bound", value >= self.best.bound)
        if self.best.schedule is not None:
            options = replace(options, warm_start=encode(chosen, self.best.schedule))
        progress, listener = self.best.deadline, self.best.on_progress
        solution = solve(
            model, "cpsat", options=replace(options, on_progress=progress.live(listener))
        )
        if solution.status is not Status.ERROR:
            progress.catch_up(solution, listener)
        self.nodes += solution.nodes or 0
        if solution.has_point:
            self.best.offer(decode(chosen, dict(solution.values)))
        if solution.status is Status.INFEASIBLE:  # nothing is better than the best
            self.raise_bound(self.best.value)
        elif solution.status is not Status.ERROR:
            self.raise_bound(solution.bound)
        return solution.limit is Limit.TIME

    # whole schedules on pooled servers

    @cached_property
    def columns(self) -> PooledColumns | None:
        """All schedules that a better whole may contain; None if they are too many."""
        chosen = self.chosen
        if self.best.schedule is not None:
            lone = float(chosen.soonest @ self.weight) + self.constant
            chosen = chosen.within(np.floor((self.best.value - lone) / self.weight + WHOLE))
        k = chosen.choices
        starts = np.maximum(chosen.last[k.job] - k.duration - chosen.first + 2, 0)
        few = float(starts @ k.duration) <= MOST_ENTRIES
        return PooledColumns(chosen, self.objective) if few else None

    def relax(self) -> None:
        """Solve the linear relaxation by column generation."""
        if self.columns is None or self.over:
            return
        constant = self.columns.constant
        self._relaxed = self.columns.relaxation(
            GenerationOptions(
                time_limit=self.deadline.within(1.0),
                stop=self.deadline.stop,
                on_progress=lambda bound, _: self.raise_bound(bound + constant),
            )
        )
        if self._relaxed.bound is not None:
            self.raise_bound(self._relaxed.bound + constant)

    def decide(self) -> None:
        """Close the gap that the relaxation has left."""
        self.improve(self.params.anneal_share)
        seconds, again = self.params.model_seconds if self.small else math.inf, True
        while again:
            self.branch(seconds)
            seconds *= 2.0
            again = self.by_server(self.limited(seconds)) and not self.over
        self.improve(1.0)

    def branch(self, seconds: float = math.inf, nodes: int | None = None) -> None:
        """Branch and price, cut until whole points split to single servers.

        Args:
            seconds: at most.
            nodes: at most; None: no limit.
        """
        columns = self.columns
        if columns is None or self.over:
            return
        constant = columns.constant
        cutoff, listed = self.best.value - constant, columns.listed
        relaxed = self._relaxed
        if relaxed is not None and relaxed.duals is not None and relaxed.bound is not None:
            listed = listed.within(relaxed.duals, cutoff - relaxed.bound)
        at = listed.number[listed.number < len(columns.schedules[0])]
        listed = ListedColumns(listed.block, listed.cost, listed.rows, listed.features)
        runs = Runs(columns.prospects, *(part[at] for part in columns.schedules))

        def separate(solution: ColumnSolution, _: object) -> list[CutRow]:
            weight = np.zeros(len(listed))
            for column, share in solution.chosen:
                weight[column.number] += share
            used = np.flatnonzero(weight[: len(at)] > WHOLE)
            part = runs.take(used)
            rows = [runs.row(cut) for cut in part.violated(weight[used])]
            rows += width_rows(runs, part, weight[used])
            if solution.whole and not rows:
                rows = self.settle(runs, part)
            return [cut_row(row, len(listed)) for row in rows]

        found = columns.tree(listed, separate).solve(
            GenerationOptions(
                time_limit=self.deadline.within(1.0, seconds),
                node_limit=nodes,
                stop=self.deadline.stop,
                integral_objective=self.whole,
                cutoff=cutoff,
                dive_every=None,  # annealing finds better schedules
                master_every=None,
                on_progress=lambda bound, _: self.raise_bound(bound + constant),
            )
        )
        self.nodes += found.nodes
        if found.bound is not None:
            self.raise_bound(found.bound + constant)

    def settle(self, runs: Runs, chosen: Runs) -> list[Row]:
        """Split schedules on pooled servers to single ones, or cut them off.

        Args:
            runs: all that may be chosen.
            chosen: those to be split.

        Returns:
            Rows that say which of them do not fit together; none if all fit.

        Raises:
            TimeoutError: it is not known which do not.
        """
        table = Timetable(chosen.job, chosen.choice, chosen.start)
        given = self.split(runs.chosen, table)
        rows: list[Row] = []
        for run in np.flatnonzero(~given.kept).tolist():
            limits = self.limited(self.params.split_seconds)
            members = conflict(runs.chosen, table, run, self.in_time, limits)
            if members is not None:
                alike = harder(runs, chosen.take(members))
                rows.append((alike, np.ones(len(alike)), len(members) - 1.0))
        if not rows and not given.kept.all():
            raise TimeoutError
        return rows

    def split(self, chosen: Prospects, table: Timetable) -> Split:
        """Split a timetable to single servers, and offer the schedules that come of it."""
        k = chosen.choices.take(table.choice)
        end = table.start + k.duration - 1
        away = np.where(chosen.cloud_end >= 0, chosen.cloud_end, chosen.last + 1)[table.job]
        loss: Floats = np.maximum(self.weight[table.job] * (away - end), WHOLE)
        given = split(chosen, table, loss, options=self.limited(self.params.split_seconds))
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


def cut_row(row: Row, columns: int) -> CutRow:
    """Return a row over listed columns."""
    at, counts, side = row
    coefficient = np.zeros(columns)
    coefficient[at] = counts
    return CutRow(side, coefficient)
