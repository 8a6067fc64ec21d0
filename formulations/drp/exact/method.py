"""Most jobs of DRP and of DSRP to proof: the order of the steps, and which share of time each gets.

``__init__`` says the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from formulations.drp.check import check, check_dsrp
from formulations.drp.decode import decode, encode, encode_services, schedule_of
from formulations.drp.exact.construct import first_association
from formulations.drp.exact.core_jobs import search_cores
from formulations.drp.exact.dsrp import ServiceSearch
from formulations.drp.exact.incumbent import Search
from formulations.drp.exact.target_search import TargetSearch
from formulations.drp.instance import Floats, Instance
from formulations.drp.problem_p3_p5 import (
    ANGLES,
    problem_5_projected,
    problem_22_projected,
    whole_jobs,
)
from formulations.drp.schedule import Schedule
from optsched.model import Model
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solve import solve
from optsched.solvers.answer import Answer, answering
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Solution, Status

SUPPORTED = LIMITS | GAPS | {"solver", "start", "threads", "seed", "on_progress"}
"""What may be asked of these searches; the back end is that of branch and bound."""
MANY_JOBS = 100
"""Jobs from which on those that cannot be among the most are looked for first."""
SMALL = 1000
"""Pairs of node and server up to which the model comes before all else: it is rarely solved in
seconds beyond."""
FIRST_SHARE, FIRST_SECONDS = 0.4, 20.0
"""Part of the time that it gets then, and most of it."""
SEARCH_SHARE, SEARCH_SECONDS = 0.5, 60.0
"""Part of the time left, and most of it, after which the model of a small instance goes on."""
START_SHARE = 0.1
"""Part of the time that building a first schedule may take."""
DOUBTFUL = (Status.ERROR, Status.DISAGREEMENT)
"""Ends of branch and bound after which nothing it said counts."""


def _so_far(search: Search) -> Answer:
    """What is known while the search is at work."""
    stopped = search.clock.stopped
    found = Solution(
        Status.INTERRUPTED if stopped else Status.FEASIBLE,
        float(search.best.admit.sum()),
        None if math.isinf(search.bound) else search.bound,
        checked=True,
        limit=None if stopped else Limit.TIME,
        solver="highs",
        version=backend("highs").version(),
        message=search.summary,
    )
    return Answer(search.clock.ended(found), search.best)


def _settle(search: Search, model: Model, solver: str | None) -> Answer:
    """A small model for some seconds; bounding, choosing and packing; the model for the rest."""
    solution = Solution(Status.FEASIBLE, solver="highs", version=backend("highs").version())
    small = search.instance.num_pairs <= SMALL
    if small:
        solution = _branch(search, model, solver, FIRST_SHARE, FIRST_SECONDS)
    if not (search.met or search.clock.over()):
        search.run(*((SEARCH_SHARE, SEARCH_SECONDS) if small else ()))
    if not (search.met or search.clock.over()):
        solution = _branch(search, model, solver)
    if search.summary:
        message = "; ".join(filter(None, [solution.message, search.summary]))
        solution = replace(solution, message=message)
    return Answer(_joined(search, model, solution), search.best)


def _branch(
    search: Search, model: Model, solver: str | None, share: float = 1.0, most: float = math.inf
) -> Solution:
    """Solve the model from what is known, within part of the time left, and learn from it."""
    if math.isfinite(search.bound):
        model = model.copy()
        model.add("bound", model["y"].sum() <= search.bound)
    options = replace(
        search.options,
        time_limit=search.clock.within(share, most),
        warm_start=_values(search),
        on_progress=search.clock.live(search.hear),
    )
    solution = solve(model, solver or "highs", options=options)
    if solution.status in DOUBTFUL:
        return solution
    search.clock.catch_up(solution, search.hear)
    if solution.has_point:
        search.offer(decode(search.instance, solution, services=search.services))
    if solution.bound is not None:
        search.tell(search.best, min(search.bound, whole_jobs(solution.bound)))
    return solution


def _values(search: Search) -> dict[str, Floats]:
    """The best decision as a point of the model."""
    encoder: Callable[..., dict[str, Floats]] = encode_services if search.services else encode
    return encoder(search.instance, search.best)


def _joined(search: Search, model: Model, solution: Solution) -> Solution:
    """How the model ended last, with the best decision and the best bound."""
    value, values = float(search.best.admit.sum()), _values(search)
    status, limit = Status.FEASIBLE, solution.limit
    if value >= search.bound:
        status, limit = Status.OPTIMAL if value == search.bound else Status.ERROR, None
    elif search.met:
        limit = Limit.GAP
    elif search.clock.stopped or solution.status is Status.INTERRUPTED:
        status, limit = Status.INTERRUPTED, None
    elif search.clock.over():
        limit = Limit.TIME
    return replace(
        solution,
        status=status,
        objective=value,
        bound=None if math.isinf(search.bound) else search.bound,
        values=values,
        limit=limit,
        checked=not model.violations(values),
    )


def _started(
    instance: Instance, options: Options, services: bool, start: Schedule | None
) -> tuple[Schedule, Options]:
    """The better of a start and of what one pass over the jobs admits, and the limits then."""
    clock = Deadline(options.time_limit, options.stop)
    judge = check_dsrp if services else check
    part = Deadline(clock.within(START_SHARE), options.stop)
    assoc = first_association(instance, part.over, services=services)
    built = schedule_of(instance, assoc, services=services)
    known = [one for one in (start, built) if one is not None and not judge(instance, one)]
    empty = Schedule.empty(instance.num_jobs, instance.num_data_nodes)
    best = max([*known, empty], key=lambda one: int(one.admit.sum()))
    return best, replace(options, time_limit=clock.within(1.0))


def _card(name: str, build: Callable[..., Model], services: bool, source: str) -> ExactMethod:
    """The search as a method, to proof or to the limits."""

    def search(
        instance: Instance,
        options: Options,
        *,
        solver: str | None = None,
        start: Schedule | None = None,
        angles: int = ANGLES,
        covers: bool = True,
    ) -> Answer:
        def whole(instance: Instance, options: Options, start: Schedule) -> Answer:
            started = (ServiceSearch if services else TargetSearch)(instance, options, start)
            model = build(instance, angles=angles, covers=covers)
            with answering(partial(_so_far, started)):
                answer = _settle(started, model, solver)
            return replace(answer, solution=started.clock.ended(answer.solution))

        best, options = _started(instance, options, services, start)
        if services or instance.num_jobs < MANY_JOBS:
            return whole(instance, options, best)
        return search_cores(instance, options, whole, best)

    summary = (
        "resources eliminated, a 2 by 2 matrix condition per server: the model for scale; "
        "if small it comes first; then relaxation, choice of jobs and local search, and it again"
    )
    return ExactMethod(name, search, source, summary, SUPPORTED)


SOLVE_5 = _card("problem_5_projected", problem_5_projected, False, "problem (5), [P4]")
SOLVE_22 = _card("problem_22_projected", problem_22_projected, True, "problem (22), [P5]")
