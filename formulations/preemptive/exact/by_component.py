"""(2) by component: completions that prices leave open, in the compact model.

Parameter servers never bind, so components share nothing and their optima add up. In each, prices
bound the optimum from below and guide a schedule. They also fix completions: those that no better
schedule has. The compact model over the others decides whether there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from pydantic import Field

from formulations.preemptive.bounds import SLACK
from formulations.preemptive.check import check, completion_times, cost
from formulations.preemptive.exact.completion_fixing import CompletionFixing
from formulations.preemptive.exact.components import Component
from formulations.preemptive.exact.guided import PriceParams, guided_schedule
from formulations.preemptive.exact.lagrangian import PricedComponent, price
from formulations.preemptive.instance import Booleans, Instance, Integers, whole_slots
from formulations.preemptive.problem_2 import compact_model, decode_problem_2_compact
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.decode import in_turn, refuse_too_many_chunks
from formulations.preemptive.time_indexed.grid import build_grid
from optsched.decomposition import Incumbent, in_parts
from optsched.jit import limited
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solve import solve
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress, Status

BEYOND = 1.0
"""Seconds that loops without machine code may go on after the limit, so that a schedule found that
quickly is returned."""


class SearchParams(PriceParams):
    """Parameters of the search by component."""

    price_share: float = Field(0.2, gt=0, le=1, description="part of the time for prices")


def by_market(
    instance: Instance,
    options: Options,
    *,
    solver: str | None = None,
    start: Schedule | None = None,
    params: SearchParams,
) -> Answer:
    """Solve (2) to proof, or to the limits.

    Args:
        instance: times are taken up to whole slots.
        options: limits, and what else the back end supports; as many components are searched
            at a time as there are ``threads``, which changes nothing but the time it takes.
        solver: back end.
        start: a schedule to begin with.
        params: of the search.
    """
    refuse_too_many_chunks(instance)
    search = _Search(instance, options, solver or "highs", params)
    late = None if options.time_limit is None else options.time_limit + BEYOND
    with answering(search.answer), limited(late), suppress(TimeoutError):
        search.run(start)
    return search.answer()


BY_MARKET = ExactMethod(
    "by_market", by_market, "problem (2)",
    "total completion time, a component (as a worker type) at a time: completions that prices "
    "leave open, in problem_2_compact",
    LIMITS | GAPS | {"solver", "start", "threads", "seed", "log", "extra", "on_progress"},
    params=SearchParams,
)  # fmt: skip


class _Part:
    """The search of one component, whose cost is the flow time from each job's first slot on.

    Args:
        instance: all jobs.
        component: whose jobs are searched.
        priced: what its prices prove.
        options: limits of the search.
        solver: back end.
        report: called with every better bound.
    """

    def __init__(
        self,
        instance: Instance,
        component: Component,
        priced: PricedComponent,
        options: Options,
        solver: str,
        report: Callable[[], None],
    ) -> None:
        self.jobs, self.solver, self.report = component.jobs, solver, report
        self.instance = instance.select_jobs(component.jobs)
        self.grid = build_grid(self.instance)
        self.fixing = CompletionFixing(self.grid, component, priced)
        self.shift = float((self.grid.first_slot - self.instance.release_time).sum())
        """From a job's release to its first slot, of all jobs."""
        self.most = int((self.grid.end_slot - self.grid.first_slot).sum())
        """Flow time that some optimal schedule does not exceed, if there is any schedule."""
        self.best: Incumbent[Schedule] = Incumbent(
            options,
            cost=lambda schedule: float(self.flow_times(schedule).sum()),
            check=partial(check, self.instance, slotted=True),
            whole=True,
        )
        self.best.raise_bound(math.ceil(priced.bound))
        self.nodes = 0
        self.given_up = False
        """Whether the search ended before the time limit without a proof."""

    def flow_times(self, schedule: Schedule) -> Integers:
        """Slots from each job's first slot to its completion, shape (jobs,)."""
        return whole_slots(completion_times(self.instance, schedule)) - self.grid.first_slot

    def raise_bound(self, bound: float) -> None:
        """Take a proven bound; without a schedule below it there is none at all."""
        self.best.raise_bound(bound)
        if self.best.schedule is None and self.best.bound > self.most:
            self.best.infeasible = True

    def own_completions(self) -> Booleans:
        """Return the windows with which the jobs of the incumbent complete, shape (windows,)."""
        job, slot = self.grid.windows
        if self.best.schedule is None:
            return np.zeros(len(job), dtype=bool)
        last = self.grid.first_slot + self.flow_times(self.best.schedule) - 1
        return np.asarray(slot == last[job])

    def search(self, seconds: float | None) -> None:
        """Look for a schedule that is better than the incumbent, or prove that there is none."""
        time = self.best.part(most=math.inf if seconds is None else seconds)
        better = int(min(self.best.value - 1, self.most))
        may_end = self.fixing.within(better)
        if not np.bincount(self.grid.windows[0][may_end], minlength=len(self.jobs)).all():
            self.raise_bound(better + 1)
            return

        def on_progress(progress: Progress) -> None:
            if progress.bound is not None:
                slack = SLACK * max(1.0, abs(progress.bound))
                # a schedule that is no better may have the completions left out
                self.raise_bound(min(progress.bound - self.shift - slack, better + 1))
                self.report()

        options = replace(
            self.best.options,
            time_limit=time.within(1.0),
            on_progress=self.best.deadline.live(on_progress),
        )
        # the incumbent's completions are left in, so that a solution is never far
        model = compact_model(self.grid, may_end | self.own_completions())
        solution = solve(model, self.solver, options=options)
        self.nodes += solution.nodes or 0
        if solution.status is not Status.ERROR:
            if solution.has_point:
                self.best.offer(decode_problem_2_compact(self.instance, solution))
            if solution.status is Status.INFEASIBLE:
                self.raise_bound(better + 1)
            on_progress(Progress(solution.bound, None))
        self.given_up = not (self.best.closed or time.over())


class _Search:
    """All components."""

    def __init__(
        self, instance: Instance, options: Options, solver: str, params: SearchParams
    ) -> None:
        self.instance, self.solver, self.params = instance, solver, params
        self.best: Incumbent[Schedule] = Incumbent(
            options,
            cost=partial(cost, instance),
            check=partial(check, instance, slotted=True),
        )
        release = sum(map(Fraction, instance.release_time.tolist()), Fraction(0))
        self.shift = int(whole_slots(instance.release_time).sum()) - release
        """From a job's release to its first slot, of all jobs."""
        self.parts: list[_Part] = []

    def run(self, start: Schedule | None) -> None:
        """Search as far as the limits allow; time that one component leaves is the others'."""
        best, params = self.best, self.params
        known = (start, in_turn(self.instance))
        for schedule in known:
            best.offer(schedule)
        proof = price(
            self.instance, steps=params.steps, time_limit=best.deadline.within(params.price_share)
        )
        threads = max(1, min(best.options.threads, len(proof.components)))
        quiet = replace(
            best.within(),
            threads=max(1, best.options.threads // threads),
            gap=best.options.gap,
            on_progress=best.deadline.live(lambda _: None),
        )
        self.parts = [
            _Part(self.instance, component, priced, quiet, self.solver, self.add_up)
            for component, priced in zip(proof.components, proof.priced, strict=True)
        ]
        for schedule in known:
            self.offer(schedule)
        self.offer(guided_schedule(self.instance, proof))
        while still := [p for p in self.parts if not (p.best.closed or p.given_up or best.over)]:
            still.sort(key=lambda part: len(part.jobs))
            in_parts(still, self.step, best.deadline, threads=threads)

    def step(self, part: _Part, seconds: float | None) -> None:
        """Search one component for so many seconds."""
        try:
            part.search(seconds)
        except TimeoutError:  # there was no time for machine code
            part.given_up = True
        self.merge()

    def offer(self, schedule: Schedule | None) -> None:
        """Offer every component its part of a schedule, and then the parts together."""
        if schedule is not None:
            for part in self.parts:
                part.best.offer(schedule.of_jobs(part.jobs))
        self.merge()

    def merge(self) -> None:
        """Offer the components' schedules together."""
        found = [(p.jobs, p.best.schedule) for p in self.parts if p.best.schedule is not None]
        if len(found) == len(self.parts):
            self.best.offer(Schedule.merged(found))
        self.add_up()

    def add_up(self) -> None:
        """Add up the components' bounds."""
        self.best.infeasible = any(part.best.infeasible for part in self.parts)
        self.best.raise_bound(float(sum(int(p.best.bound) for p in self.parts) + self.shift))

    def answer(self) -> Answer:
        """Return what is known."""
        proven = sum(part.best.closed for part in self.parts)
        message = f"{proven} of {len(self.parts)} components proven"
        return self.best.answer(
            self.solver, nodes=sum(part.nodes for part in self.parts), message=message
        )
