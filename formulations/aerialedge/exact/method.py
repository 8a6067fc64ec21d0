"""The exact method of packing: which steps of the search are taken, for how long, in which order.

Whatever any of them finds or proves counts for the others.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from formulations.aerialedge.bounds import lower_bound
from formulations.aerialedge.check import order_of_travel, within_reach
from formulations.aerialedge.exact.search import Search, SearchParams
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.schedule import Schedule
from optsched.errors import InputError
from optsched.problem.methods import LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Listener, Solution, Status

Method = Literal["auto", "patterns", "arc_flow", "highs", "cpsat"]
"""What ``pack`` may use: all it has, or one exact method after the quick rules and bounds."""

Step = tuple[Callable[[Search], object], float, float]
"""What is done, in which part of the time left, and for how many seconds at most."""

_IDLE = 0.1  # seconds; a round of steps that takes no longer has nothing left to try


def steps(p: SearchParams) -> Mapping[str, Step]:
    """Return the steps of the portfolio in their order, by name."""
    return {
        "small arc-flow": (lambda s: s.arc_flow(p.small_arcs), 0.2, p.small_arc_seconds),
        "exchange": (Search.exchange, p.exchange_share, math.inf),
        "filling": (Search.fill, p.filling_share, math.inf),
        "relaxation": (Search.relax, p.relaxation_share, math.inf),
        "listing": (Search.list_all, p.listing_share, math.inf),
        "branch and price": (Search.branch, p.branch_share, math.inf),
        "exchange again": (lambda s: s.exchange(p.thorough), 0.5, math.inf),
        "arc-flow": (lambda s: s.arc_flow(p.most_arcs), 1.0, math.inf),
        "assignment": (lambda s: s.assign("cpsat"), 1.0, math.inf),
    }


ROUNDS = ("exchange again", "branch and price")
"""Steps that are taken over and over in the time that the others have left."""

ALONE: Mapping[Method, Step] = {
    "patterns": (Search.branch, 1.0, math.inf),
    "arc_flow": (lambda s: s.arc_flow(s.params.most_arcs), 1.0, math.inf),
    "highs": (lambda s: s.assign("highs"), 1.0, math.inf),
    "cpsat": (lambda s: s.assign("cpsat"), 1.0, math.inf),
}
"""Exact methods by themselves."""


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
    seed: int = 0,
    params: SearchParams | None = None,
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
        seed: of exchanges and of perturbed values.
        params: of the search.

    Returns:
        Solution and schedule; the status is "infeasible" if no deployment takes the tasks.

    Raises:
        InputError: an unknown method or deployment, or a time limit that is not positive.
    """
    if method not in get_args(Method):
        raise InputError.of("method", method, "must be one of " + ", ".join(get_args(Method)))
    options = Options(
        time_limit=time_limit, stop=stop, threads=threads, on_progress=on_progress, seed=seed
    )
    whole, last = Deadline(time_limit, stop), None
    for i in _candidates(instance, deployment):
        part = replace(options, time_limit=whole.within(1.0))
        last = _Portfolio(instance, i, part, params or SearchParams(), start).run(method)
        if last.solution.status is not Status.INFEASIBLE:
            return last
    message = "no deployment can take the multi-job"
    return last or Answer(Solution(Status.INFEASIBLE, solver="pack", message=message))


def _candidates(instance: Instance, deployment: int | None) -> Iterator[int]:
    """Yield deployments in the order in which Algorithm 2 tries them."""
    if deployment is not None:
        yield deployment
        return
    for i in order_of_travel(instance).tolist():
        if not within_reach(instance, i):
            yield i


class _Portfolio(Search):
    """The search on one deployment, step by step."""

    done: tuple[str, ...] = ()
    """Steps taken."""

    def run(self, method: Method) -> Answer:
        """Take the steps of a method as long as there is time; return what is known then."""
        with answering(self.answer):
            self.begin()
            bound = lower_bound(self.packing)
            if math.isinf(bound):
                self.best.infeasible = True
            else:
                self.best.raise_bound(bound)
                self._take(steps(self.params) if method == "auto" else {method: ALONE[method]})
            while method == "auto" and not self.over and math.isfinite(self.deadline.left):
                began = time.perf_counter()
                self._take({name: steps(self.params)[name] for name in ROUNDS})
                if time.perf_counter() - began < _IDLE:
                    break
        return self.answer()

    def _take(self, chosen: Mapping[str, Step]) -> None:
        for name, (step, share, most) in chosen.items():
            if self.over:
                return
            with self.part(share, most):
                step(self)
            self.done += (name,)

    def answer(self) -> Answer:
        """Return what is known so far."""
        closed, late = self.best.closed, self.best.deadline.over()
        said = "settled by" if closed else "open after"
        message = f"{said} {', '.join(['quick rules and bounds', *dict.fromkeys(self.done)])}"
        if not (closed or late):
            message += ", which have nothing left to try"
        found = self.best.answer("highs", nodes=self.nodes, message=message)
        solution = replace(found.solution, solver="pack", version="")
        if solution.limit is Limit.GAP:  # nobody asked for one: nothing is left to try
            solution = replace(solution, limit=None)
        return Answer(
            solution, None if found.schedule is None else self.schedule_of(found.schedule)
        )


def solve_packing(
    instance: Instance,
    options: Options,
    *,
    solver: str | None = None,
    start: Schedule | None = None,
    deployment: int | None = None,
    params: SearchParams,
) -> Answer:
    """Call ``pack`` under the limits of ``options``; ``solver`` names one exact method.

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
        seed=options.seed,
        params=params,
    )
    return replace(answer, solution=replace(answer.solution, values=_values(answer)))


def _values(answer: Answer) -> dict[str, Any]:
    """Return the node of each task, as values of the solution."""
    return {} if answer.schedule is None else {"node": answer.schedule.node.astype(np.float64)}


PACKING = ExactMethod(
    "packing", solve_packing, "(23) to (26), corrected",
    "nodes opened for all tasks: quick rules and bounds, small arc-flow, exchange, listed "
    "patterns, then branch and price, arc-flow and CP-SAT, as the instance asks",
    LIMITS | {"solver", "start", "threads", "on_progress", "seed"}, params=SearchParams,
)  # fmt: skip
