"""The offline optimum of (2): each type of worker by itself, then all of them together.

A job asks for one type of worker, so apart from parameter servers there is a problem for every
type. Where there are several, each is solved by itself: what is left of a schedule when other
types' jobs are taken out is one of that type's, so the types' bounds, each rounded up where values
are whole, add up to a bound; their schedules together are one wherever parameter servers suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np

from formulations.batch.check import check
from formulations.batch.exact.search import WHOLE, Search
from formulations.batch.insertion import Occupancy, inserted, placed_jobs
from formulations.batch.instance import Instance, Integers
from formulations.batch.problem_2 import Objective
from formulations.batch.schedule import Schedule
from optsched.decomposition.parts import in_parts
from optsched.jit import limited
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Progress, Solution, Status

SEARCH_SHARE = 0.2
"""Part of the time left for neighbourhoods of all jobs."""
ROOT_SHARE = 0.5
"""Part of the time left for the relaxations of all types."""


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
    search = _Offline(instance, options, objective)
    with answering(search.answer), limited(options.time_limit), suppress(TimeoutError):
        search.run(start)
    return search.answer()


class _Offline(Search):
    """The search for types of workers, and for the whole."""

    def run(self, start: Schedule | None) -> None:
        """Everything, as far as the limits allow."""
        if start is not None and not check(self.instance, start):
            self.offer(start)
        self.model_first()
        if not self.go_on():
            return
        kind = self.instance.worker_type
        if len(np.unique(kind[self.chosen.contested])) > 1:
            self.insert()
            if self.go_on() and not self.by_type():
                return
        self.improve(SEARCH_SHARE)
        if self.go_on():
            self.relax()
            self.decide()

    def by_type(self) -> bool:
        """Each type of worker by itself, several at a time, and more time where more is open.

        Returns:
            Whether every type is proven, so that what is open is the parameter servers' doing.
        """
        kind = self.instance.worker_type
        types, sizes = np.unique(kind, return_counts=True)
        jobs = [np.flatnonzero(kind == u) for u in types[np.argsort(sizes, kind="stable")]]
        quiet = replace(self.options, absolute_gap=0.0, threads=1)
        parts = [Search(self.instance.select_jobs(j), quiet, self.objective) for j in jobs]
        for j, part in zip(jobs, parts, strict=True):
            if self.best is not None:
                part.offer(self.best.of_jobs(j))

        lock = Lock()

        def hear(_: Progress | None = None) -> None:
            with lock:
                self.raise_bound(sum(part.bound for part in parts))

        def begun(step: Callable[[Search], None], part: Search, limit: float | None) -> None:
            part.begin(replace(quiet, time_limit=limit, on_progress=self.clock.live(hear)))
            with limited(limit), suppress(TimeoutError):
                step(part)
            hear()

        def turn(step: Callable[[Search], None], share: float, still: list[Search]) -> None:
            still = [part for part in still if not part.closed()]
            still.sort(key=lambda part: part.value - part.bound, reverse=step is Search.decide)
            gaps = [p.value - p.bound for p in still] if all(p.best for p in still) else []
            in_parts(still, partial(begun, step), self.clock, share, self.options.threads, gaps)
            if all(part.best for part in parts):
                self.offer_merged([(j, p.best) for j, p in zip(jobs, parts, strict=True) if p.best])
                if self.value > sum(part.value for part in parts) + WHOLE:
                    self.improve(SEARCH_SHARE)  # parameter servers tie the types

        turn(lambda part: part.improve(1.0), SEARCH_SHARE, parts)
        if not self.small:
            turn(Search.model_first, ROOT_SHARE, parts)
        turn(Search.relax, ROOT_SHARE, parts)
        turn(Search.decide, 1.0, parts)
        while self.go_on() and (cut := [p for p in parts if p.clock.over() and not p.closed()]):
            turn(Search.decide, 1.0, cut)  # others have left them time
        self.nodes += sum(part.nodes for part in parts)
        proven = sum(part.closed() for part in parts)
        self.said.append(f"{proven} of {len(parts)} worker types proven")
        return proven == len(parts)

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
            "neighbourhoods, then whole schedules on pooled servers, cut until they split to "
            "single ones: the method for scale",
            LIMITS | GAPS | {"start", "threads", "seed", "log", "on_progress"}, solver="cpsat",
        ),
    )  # fmt: skip
