"""The few of many jobs that can be among the most: priced by what servers' capacities cost.

Whatever prices pi >= 0 of the capacities are, no decision admits more jobs than all prices and
what jobs are worth at them add up to; a job is worth 1 less what its nodes cost, each where it is
cheapest, or nothing. A decision with a job that is worth less than 0 admits fewer by as much.
Prices come from the relaxation over few jobs, to which those are added that it would gain by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from formulations.drp.check import check
from formulations.drp.decode import encode, schedule_of
from formulations.drp.instance import NO_SERVER, Floats, Instance, Integers
from formulations.drp.loads import cut_weights
from formulations.drp.problem_5 import PROBLEM_5
from formulations.drp.problem_p3_p5 import (
    ANGLES,
    FLOOR_SLACK,
    angle_rows,
    tangent_model,
    whole_jobs,
)
from formulations.drp.schedule import Schedule
from optsched.solve import solve
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Progress, Solution, Status
from optsched.solvers.trajectory import SearchProgress

FIRST = 60
"""Jobs that the relaxation begins with."""
WIDE = 2.0
"""Size of the first core, in jobs of the bound."""
SHARE = 0.5
"""Part of the time left that a search may take whose core leaves out jobs that are possible."""
GAINS = 1e-9
"""Worth from which on a job is added to it."""

Search = Callable[[Instance, Options, Schedule], Answer]
"""An exact search: instance, limits, decision to start from."""


class Prices(NamedTuple):
    """What capacities cost, and what is proven by that."""

    bound: float
    """On the number of jobs: the relaxation's value, if it is solved."""
    total: float
    """All prices and all worth above 0."""
    worth: Floats
    """1 less the least cost of each job's nodes, shape (jobs,)."""

    def core(self, target: float, size: int) -> tuple[Integers, float]:
        """Jobs that a decision admitting ``target`` jobs can have.

        Returns:
            At most ``size`` of them, ascending, those that are worth most; most jobs that a
            decision with any other job admits, up to the target.
        """
        able = np.flatnonzero(self.total + self.worth + FLOOR_SLACK >= target)
        if len(able) > size:
            return np.sort(able[np.argsort(-self.worth[able], kind="stable")[:size]]), target
        return able, target - 1 if len(able) < len(self.worth) else -np.inf


def capacity_rows(instance: Instance) -> dict[str, Floats]:
    """Weights of pairs in the relaxation's rows of each server, shape (pairs,), by their names."""
    return {PROBLEM_5.inbound: instance.inbound_load} | {
        name: cut_weights(instance, angle) for name, angle in angle_rows(PROBLEM_5, ANGLES)
    }


def priced(instance: Instance, course: SearchProgress) -> Prices:
    """Solve the relaxation over as few jobs as show that no other adds to it."""
    rows = capacity_rows(instance)
    even = np.full((len(rows), instance.num_servers), 1.0 / len(rows))
    best = value_of(instance, rows, even)
    among = np.sort(np.argsort(-best.worth, kind="stable")[:FIRST])
    while not course.over():
        model = tangent_model(instance.select_jobs(among), covers=True).relax()
        options = Options(time_limit=course.within(1.0), stop=course.stop)
        relaxed = solve(model, "highs", options=options)
        if relaxed.status is not Status.OPTIMAL or relaxed.bound is None:
            break
        found = value_of(instance, rows, np.array([np.abs(relaxed.dual(name)) for name in rows]))
        missed = np.setdiff1d(np.flatnonzero(found.worth > GAINS), among)
        bound = relaxed.bound + float(found.worth[missed].sum())
        best = found._replace(bound=min(best.bound, found.total, bound))
        if not len(missed):
            break
        worst_first = missed[np.argsort(-found.worth[missed], kind="stable")]
        among = np.union1d(among, worst_first[: len(among)])
    return best


def value_of(instance: Instance, rows: dict[str, Floats], prices: Floats) -> Prices:
    """What any prices >= 0 of these rows prove.

    Args:
        instance: the system.
        rows: ``capacity_rows``.
        prices: shape (rows, servers).
    """
    cost: Floats = np.zeros(instance.num_pairs)
    for weights, price in zip(rows.values(), prices, strict=True):
        cost += weights * price[instance.pair_server]
    least = np.minimum.reduceat(cost, instance.first_pair[:-1])
    asked = np.bincount(instance.node_job, weights=least, minlength=instance.num_jobs)
    worth = np.asarray(1.0 - asked, dtype=np.float64)
    total = float(prices.sum() + np.maximum(worth, 0.0).sum())
    return Prices(total, total, worth)


def search_cores(
    instance: Instance, options: Options, search: Search, start: Schedule | None
) -> Answer:
    """Search among the jobs that are worth most, and among more until the bound is met.

    Args:
        instance: one with many jobs.
        options: limits of it all.
        search: of an instance with some of its jobs.
        start: a decision.
    """
    return _Cores(instance, options, search, start).run()


class _Cores:
    """The best decision and the best bound, core after core."""

    def __init__(
        self, instance: Instance, options: Options, search: Search, start: Schedule | None
    ) -> None:
        self.instance, self.options, self.search = instance, options, search
        self.course = SearchProgress(options, maximise=True)
        self.best = Schedule.empty(instance.num_jobs, instance.num_data_nodes)
        self.bound = float(instance.num_jobs)
        if start is not None and not check(instance, start):
            self.best = start

    @property
    def value(self) -> float:
        """Jobs that the best decision admits."""
        return float(self.best.admit.sum())

    def run(self) -> Answer:
        """Search until the bound is met or limits are reached."""
        with answering(self._answer):
            self._search_cores()
        return self._answer()

    def _search_cores(self) -> None:
        prices = priced(self.instance, self.course)
        self.bound = min(self.bound, whole_jobs(prices.bound))
        self.course.report(self.bound, self.value)
        size = max(1, int(WIDE * self.bound))
        while self.bound - self.value > self._accepted and not self.course.over():
            core, others = prices.core(self.bound, size)
            before, size = self.bound, 2 * size
            if len(core):
                self._search_among(core, others)
            else:  # no job can be among so many
                self.bound = others
            if others < before == self.bound:
                break  # limits ended a search among all jobs that matter

    @property
    def _accepted(self) -> float:
        """Distance between decision and bound that is asked for."""
        return max(self.options.absolute_gap, self.options.gap * self.value)

    def _search_among(self, core: Integers, others: float) -> None:
        """Search an instance with the jobs of a core alone; ``others`` bounds all other ones."""

        def hear(progress: Progress) -> None:
            bound = None if progress.bound is None else max(progress.bound, others)
            self.course.report(bound, progress.objective)

        part = self.instance.select_jobs(core)
        nodes = np.flatnonzero(np.isin(self.instance.node_job, core))
        limits = replace(
            self.options,
            time_limit=self.course.within(1.0 if others < self.bound else SHARE),
            stop=self.course.stop,
            on_progress=self.course.live(hear),
        )
        answer = self.search(part, limits, schedule_of(part, self.best.assoc[nodes]))
        solution = answer.solution
        self.course.catch_up(solution, hear)
        if isinstance(answer.schedule, Schedule) and answer.schedule.admit.sum() > self.value:
            assoc = np.full(self.instance.num_data_nodes, NO_SERVER)
            assoc[nodes] = answer.schedule.assoc
            self.best = schedule_of(self.instance, assoc)
        if solution.bound is not None:
            self.bound = min(self.bound, max(solution.bound, others, self.value))
        self.course.report(self.bound, self.value)

    def _answer(self) -> Answer:
        return Answer(self.course.ended(self._solution()), self.best)

    def _solution(self) -> Solution:
        met, stopped = self.value >= self.bound, self.course.stopped
        unproven = Status.INTERRUPTED if stopped else Status.FEASIBLE
        return Solution(
            Status.OPTIMAL if met else unproven,
            self.value,
            self.bound,
            encode(self.instance, self.best),
            checked=True,
            limit=Limit.TIME if self.course.over() and not met and not stopped else None,
            solver="highs",
            version=backend("highs").version(),
            message=f"bound by prices of capacities, {self.value:g} jobs packed",
        )
