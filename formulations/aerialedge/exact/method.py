"""One call that packs: quick rules and bounds first, then whichever exact method suits.

Arc-flow comes next, where its graphs are so small that it ends at once. Exchanges between nodes
follow, first on the lightest with room for all, then nodes filled by knapsacks, and the relaxation
over patterns, whose prices bound the weight; dives into it often meet the bound. Where few patterns
remain that a lighter packing can hold, at these prices, all are listed to decide whether there is
one. Column generation with branch-and-price follows; where this leaves a gap, it is the turn of
exchanges and dives again, of arc-flow if its graphs are not too large, and then of assignment in
CP-SAT. What time is left then goes to exchanges, dives and branch-and-price, over and over.
Whatever any of them finds or proves counts.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from formulations.aerialedge.bounds import lower_bound
from formulations.aerialedge.check import check, order_of_travel, within_reach
from formulations.aerialedge.construct import best_start
from formulations.aerialedge.exact.portfolio import STEPS, Search
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import aggregate, to_bins
from optsched.errors import InputError
from optsched.problem.methods import LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Listener, Solution, Status
from optsched.solvers.trajectory import SearchProgress

Method = Literal["auto", "patterns", "arc_flow", "highs", "cpsat"]
"""What ``pack`` may use: all it has, or one exact method after the quick rules and bounds."""

_SHARES = {
    "start": 0.1,
    "small arc_flow": 0.2,
    "exchange": 0.1,
    "filling": 0.1,
    "prices": 0.5,
    "dive": 0.3,
    "listing": 0.6,
    "patterns": 0.5,
    "exchange again": 0.5,
    "dive again": 0.6,
}  # of the time left, before something else is tried
_SECONDS = {"small arc_flow": 5.0}  # at most, whatever the time left
_ORDER = (
    "small arc_flow", "exchange", "filling", "prices", "dive", "listing", "patterns",
    "exchange again", "dive again", "arc_flow", "cpsat",
)  # fmt: skip
_REST = ("exchange again", "dive again", "patterns")  # of the time that the others left
_IDLE = 0.1  # seconds; a round of them that takes no longer has nothing left to try


def pack(
    instance: Instance,
    *,
    deployment: int | None = None,
    method: Method = "auto",
    time_limit: float | None = None,
    start: Schedule | None = None,
    stop: threading.Event | None = None,
    threads: int = 1,
    on_progress: Listener | None = None,
) -> Answer:
    """Pack all tasks on the nodes of one deployment at the least weight, or bracket that weight.

    Args:
        instance: its objective decides the weights.
        deployment: None: the closest one that can take them, by Algorithm 2 with packing check.
        method: "auto" chooses by structure.
        time_limit: wall seconds; None: until proven.
        start: a schedule to start from.
        stop: set it from another thread to end with what is known.
        threads: of solvers that can use several.
        on_progress: told of each better packing and bound, of one deployment after the other;
            what it returns, if true, ends the search.

    Returns:
        Solution and schedule; the status is "infeasible" where no deployment takes the tasks.

    Raises:
        InputError: an unknown method or deployment, or a time limit that is not positive.
    """
    if method not in get_args(Method):
        raise InputError.of("method", method, "must be one of " + ", ".join(get_args(Method)))
    if time_limit is not None and not time_limit > 0:
        raise InputError.of("time_limit", time_limit, "seconds > 0, or None")
    began = time.perf_counter()
    deadline = began + (math.inf if time_limit is None else time_limit)
    last: Answer | None = None
    for i in _candidates(instance, deployment):
        course = SearchProgress(Options(stop=stop, on_progress=on_progress))
        search = Search(instance, aggregate(instance, i), i, deadline, course, threads)
        answer = partial(_answer, search, began)
        with answering(answer):
            _run(search, method, start)
        last = answer()
        if last.solution.status is not Status.INFEASIBLE:
            return last
    message = "no deployment can take the multi-job"
    return last or Answer(Solution(Status.INFEASIBLE, solver="pack", message=message))


def _candidates(instance: Instance, deployment: int | None) -> Iterator[int]:
    """Deployments in the order Algorithm 2 tries them."""
    if deployment is not None:
        yield deployment
        return
    for i in order_of_travel(instance).tolist():
        if not within_reach(instance, i):
            yield i


def _run(search: Search, method: Method, start: Schedule | None) -> None:
    """A packing to begin with, bounds, and the steps of a method as long as there is time."""
    packing = search.packing
    if (
        start is not None
        and start.deployment == search.deployment
        and not check(search.instance, start, gang=True)
    ):
        search.offer(to_bins(search.instance, packing, start))
    with search.part(_SHARES["start"]):
        search.offer(best_start(packing, search.deadline))
    bound = lower_bound(packing)
    if math.isinf(bound):
        search.infeasible = True
        return
    search.raise_bound(bound)
    _try(search, _ORDER if method == "auto" else [method], method)
    while method == "auto" and not search.over and math.isfinite(search.deadline):
        began = time.perf_counter()
        _try(search, _REST, method)
        if time.perf_counter() - began < _IDLE:
            return


def _try(search: Search, names: Sequence[str], method: Method) -> None:
    """Steps one after the other, each within its part of the time left."""
    for name in names:
        if search.over:
            return
        share = _SHARES.get(name, 1.0) if method == "auto" else 1.0
        with search.part(share, _SECONDS.get(name, math.inf)):
            STEPS[name](search)
        search.by.append(name)


def _answer(search: Search, began: float) -> Answer:
    seconds = time.perf_counter() - began
    packing = search.packing
    said = "settled by" if search.closed else "open after"
    message = f"{said} {', '.join(['quick rules and bounds', *dict.fromkeys(search.by)])}"
    if search.infeasible:
        solution = Solution(Status.INFEASIBLE, seconds=seconds, solver="pack", message=message)
        return Answer(search.course.ended(solution))
    bound = min(search.bound, search.weight) * packing.weight_unit
    if not (search.closed or search.course.stopped or search.seconds <= 0):
        message += ", which have nothing left to try"
    open_limit = Limit.TIME if search.seconds <= 0 else None
    status = Status.OPTIMAL
    if not search.closed:
        status = Status.NO_SOLUTION if search.bins is None else Status.FEASIBLE
        status = Status.INTERRUPTED if search.course.stopped else status
    solution = Solution(
        status=status,
        objective=None if search.bins is None else search.weight * packing.weight_unit,
        bound=bound,
        limit=None if search.closed else open_limit,
        checked=search.bins is not None,
        seconds=seconds,
        solver="pack",
        message=message,
    )
    return Answer(search.course.ended(solution), search.schedule())


def solve_packing(
    instance: Instance,
    options: Options,
    *,
    solver: str | None = None,
    start: Schedule | None = None,
    deployment: int | None = None,
) -> Answer:
    """``pack`` under the limits of ``options``; ``solver`` names one exact method instead of all.

    Raises:
        InputError: a solver that is no method of ``pack``.
    """
    methods: dict[str | None, Method] = {None: "auto", "highs": "highs", "cpsat": "cpsat"}
    if solver not in methods:
        allowed = "highs or cpsat (the assignment model), or none for the portfolio"
        raise InputError.of("solver", solver, allowed)
    answer = pack(
        instance,
        deployment=deployment,
        method=methods[solver],
        time_limit=options.time_limit,
        start=start,
        stop=options.stop,
        threads=options.threads,
        on_progress=options.on_progress,
    )
    return replace(answer, solution=replace(answer.solution, values=_values(answer)))


def _values(answer: Answer) -> dict[str, Any]:
    """The node of each task, as values of the solution."""
    return {} if answer.schedule is None else {"node": answer.schedule.node.astype(np.float64)}


PACKING = ExactMethod(
    "packing", solve_packing, "(23) to (26), corrected",
    "nodes opened for all tasks: quick rules and bounds, small arc-flow, exchange, dives, listed "
    "patterns, then column generation, arc-flow and CP-SAT, as the instance asks",
    LIMITS | {"solver", "start", "threads", "on_progress"},
)  # fmt: skip
