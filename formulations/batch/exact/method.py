"""The offline optimum of (2): each type of worker by itself, then all of them together.

A job asks for one type of worker, so apart from parameter servers there is a problem for every
type. Where there are several, each is solved by itself: what is left of a schedule when other
types' jobs are taken out is one of that type's, so the types' bounds, each rounded up where values
are whole, add up to a bound; their schedules together are one wherever parameter servers suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from formulations.batch.exact.search import WHOLE, Search, SearchParams
from formulations.batch.insertion import Occupancy, inserted, placed_jobs
from formulations.batch.instance import Instance, Integers
from formulations.batch.problem_2 import Objective
from formulations.batch.schedule import Schedule
from optsched.decomposition.parts import in_parts
from optsched.jit import limited
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress

ROOT_SHARE = 0.5
"""Part of the time left for the relaxations of all types."""


def problem_2_offline(
    instance: Instance,
    options: Options,
    *,
    start: Schedule | None = None,
    objective: Objective = "flow",
    params: SearchParams,
) -> Answer:
    """Solve (2) to proof, or to the limits.

    Args:
        instance: the jobs and the system.
        options: limits; the parts have solvers that suit them.
        start: a schedule to begin with.
        objective: what is minimised.
        params: of the search.

    Raises:
        InputError: no such objective.
    """
    search, said = _Offline(instance, options, objective, params, start), ""

    def answer() -> Answer:
        return search.best.answer("cpsat", nodes=search.nodes, message=said)

    with answering(answer), limited(options.time_limit), suppress(TimeoutError):
        said = search.run()
    return answer()


class _Offline(Search):
    """The search for types of workers, and for the whole."""

    def run(self) -> str:
        """Search as far as the limits allow; say what was proven by itself."""
        proven = ""
        self.model_first()
        if self.over:
            return proven
        kind = self.instance.worker_type
        if len(np.unique(kind[self.chosen.contested])) > 1:
            self.insert()
            if not self.over:
                proven, every = self.by_type()
                if not every:
                    return proven
        self.improve(self.params.anneal_share)
        self.relax()
        if not self.over:
            self.decide()
        return proven

    def by_type(self) -> tuple[str, bool]:
        """Solve each type of worker by itself, several at a time; the most time where most is open.

        Returns:
            How many are proven, and whether all are: what is open is the parameter servers' doing.
        """
        kind, share, best = self.instance.worker_type, self.params.anneal_share, self.best
        types, sizes = np.unique(kind, return_counts=True)
        jobs = [np.flatnonzero(kind == u) for u in types[np.argsort(sizes, kind="stable")]]
        parts: list[Search] = []

        def add_up(_: Progress | None = None) -> None:
            if len(parts) == len(jobs):
                self.raise_bound(sum(part.best.bound for part in parts))

        quiet = replace(best.within(), threads=1, gap=best.options.gap)
        quiet = replace(quiet, on_progress=best.deadline.live(add_up))
        for j in jobs:
            start = None if best.schedule is None else best.schedule.of_jobs(j)
            part = self.instance.select_jobs(j)
            parts.append(Search(part, quiet, self.objective, self.params, start))

        def begun(step: Callable[[Search], None], part: Search, limit: float | None) -> None:
            part.begin(limit)
            with limited(limit), suppress(TimeoutError):
                step(part)
            add_up()

        def turn(step: Callable[[Search], None], share: float, still: list[Search]) -> None:
            still = [part for part in still if not part.best.closed]
            still.sort(key=lambda part: part.best.distance, reverse=step is Search.decide)
            known = all(part.best.schedule is not None for part in still)
            gaps = [part.best.distance for part in still] if known else []
            in_parts(still, partial(begun, step), best.deadline, share, best.options.threads, gaps)
            found = [(j, p.best.schedule) for j, p in zip(jobs, parts, strict=True)]
            schedules = [(j, s) for j, s in found if s is not None]
            if len(schedules) == len(parts):
                self.offer_merged(schedules)
                if best.value > sum(part.best.value for part in parts) + WHOLE:
                    self.improve(self.params.anneal_share)  # parameter servers tie the types

        turn(lambda part: part.improve(1.0), share, parts)
        if not self.small:
            turn(Search.model_first, ROOT_SHARE, parts)
        turn(Search.relax, ROOT_SHARE, parts)
        turn(Search.decide, 1.0, parts)
        while not self.over and (
            cut := [p for p in parts if p.deadline.over() and not p.best.closed]
        ):
            turn(Search.decide, 1.0, cut)  # others have left them time
        self.nodes += sum(part.nodes for part in parts)
        proven = sum(part.best.closed for part in parts)
        return f"{proven} of {len(parts)} worker types proven", proven == len(parts)

    def offer_merged(self, found: Sequence[tuple[Integers, Schedule]]) -> None:
        """Take the types' schedules together; runs whose parameter servers clash look elsewhere."""
        chosen, occupancy, kept = self.chosen, Occupancy(self.chosen), []
        runs = placed_jobs(chosen, Schedule.merged(found))
        for run in sorted(runs, key=lambda run: not run.together):
            fitting = occupancy.served(run)
            if fitting is not None:
                occupancy.put(fitting)
                kept.append(fitting)
        order = self.instance.arrival_order[chosen.contested[self.instance.arrival_order]]
        self.offer_runs(inserted(Occupancy(chosen), kept, order.tolist()))


def formulations(objective: Objective) -> tuple[ExactMethod, ...]:
    """The search for the optimum of (2) with that objective."""
    return (
        ExactMethod(
            "problem_2_offline", partial(problem_2_offline, objective=objective), "problem (2)",
            "annealing, then branch and price on pooled servers, cut until schedules split to "
            "single ones: the method for scale",
            LIMITS | GAPS | {"start", "threads", "seed", "log", "on_progress"}, solver="cpsat",
            params=SearchParams,
        ),
    )  # fmt: skip


FLOW, COMPLETION = formulations("flow"), formulations("completion")
