"""Exact optima by bounding, choosing and packing, with branch and bound for what is left.

The relaxation bounds the number of jobs. A mixed-integer program in which only y is binary then
chooses that many jobs, as far from the capacities as possible; local search packs their nodes on
servers. If it succeeds, bound and decision meet. Otherwise fewer jobs are tried, and the exact
model closes what remains, starting from the best decision. With services, which take storage, the
relaxation is over whole services with cuts on storage; jobs are inserted at its prices, packed on
dear servers first where prices leave next to no choice, then exchanged over the sets of servers
that these prices choose; where each job has a service of its own, a tree over the sets that a
schedule of as many jobs as the bound says may use decides whether there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from formulations.drp.core_jobs import search_cores
from formulations.drp.decode import decode, encode, encode_services
from formulations.drp.instance import Floats, Instance
from formulations.drp.projected import ANGLES, problem_5_projected, problem_22_projected, whole_jobs
from formulations.drp.schedule import Schedule
from formulations.drp.search import Search
from formulations.drp.service_search import ServiceSearch
from formulations.drp.target_search import TargetSearch
from optsched.methods import GAPS, LIMITS, Answer, ExactMethod, answering
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Solution, Status

HONOURS = LIMITS | GAPS | {"solver", "start", "threads", "seed", "on_progress"}
"""What may be asked of these searches; the back end is that of branch and bound."""
MANY_JOBS = 100
"""Jobs from which on those that cannot be among the most are looked for first."""
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


def _settle(search: Search, model: Model, solver: str | None, start: Schedule | None) -> Answer:
    """Bounding, choosing and packing; then branch and bound of the model for what is left."""
    best, bound = search.run(start)
    encoder: Callable[..., dict[str, Floats]] = encode_services if search.services else encode
    values = encoder(search.instance, best)
    value = float(best.admit.sum())
    checked = not model.violations(values)
    if checked and value >= bound:
        found = Solution(
            Status.OPTIMAL if value == bound else Status.ERROR,
            value,
            bound,
            values,
            checked=True,
            solver="highs",
            version=backend("highs").version(),
            message=search.summary,
        )
        return Answer(found, best)
    if math.isfinite(bound):
        model.add("bound", model["y"].sum() <= bound)
    options = replace(
        search.options,
        time_limit=search.clock.within(1.0),
        warm_start=values if checked else None,
        on_progress=search.clock.live(search.hear),
    )
    solution = solve(model, solver or "highs", options=options)
    if solution.status not in DOUBTFUL:
        search.clock.catch_up(solution, search.hear)
    return _joined(search, solution, best if checked else None, bound, values)


def _joined(
    search: Search,
    solution: Solution,
    best: Schedule | None,
    bound: float,
    values: dict[str, Floats],
) -> Answer:
    """What branch and bound says, and what was known before it."""
    doubtful = solution.status in DOUBTFUL
    proven = math.inf if doubtful or solution.bound is None else whole_jobs(solution.bound)
    tightest = min(bound, proven)
    solution = replace(solution, bound=None if math.isinf(tightest) else tightest)
    if best is None and (doubtful or solution.objective is None):
        return Answer(solution)
    value = -1.0 if doubtful or solution.objective is None else solution.objective
    if best is not None and best.admit.sum() >= value:
        value = float(best.admit.sum())
        solution = replace(solution, objective=value, values=values, checked=True)
        schedule = best
    else:
        schedule = decode(search.instance, solution, services=search.services)
    if value >= tightest:
        return Answer(replace(solution, status=Status.OPTIMAL, limit=None), schedule)
    stopped = solution.status is Status.INTERRUPTED
    return Answer(
        replace(solution, status=Status.INTERRUPTED if stopped else Status.FEASIBLE), schedule
    )


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
        def whole(instance: Instance, options: Options, start: Schedule | None) -> Answer:
            started = (ServiceSearch if services else TargetSearch)(instance, options)
            model = build(instance, angles=angles, covers=covers)
            with answering(partial(_so_far, started)):
                answer = _settle(started, model, solver, start)
            return replace(answer, solution=started.clock.ended(answer.solution))

        if services or instance.num_jobs < MANY_JOBS:
            return whole(instance, options, start)
        return search_cores(instance, options, whole, start)

    summary = (
        "resources eliminated, a 2 by 2 matrix condition per server: the model for scale; "
        "relaxation, choice of jobs and local search first, branch and bound for what is left"
    )
    return ExactMethod(name, search, source, summary, HONOURS)


SOLVE_5 = _card("problem_5_projected", problem_5_projected, False, "problem (5), [P4]")
SOLVE_22 = _card("problem_22_projected", problem_22_projected, True, "problem (22), [P5]")
