"""One call that packs: quick rules and bounds first, then whichever exact method suits.

Exchanges between identical nodes come next, nodes filled by knapsacks and dives into the
relaxation over patterns, which often meet the bound; where the bound leaves little waste, all
patterns that waste so little are listed to decide whether it can be met. Column generation with
branch-and-price follows; where this leaves a gap, it is the turn of exchanges and dives again, of
arc-flow if its graphs are small, and then of assignment in CP-SAT. Whatever any of them finds or
proves counts.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from formulations.aerialedge.arc_flow import build_graphs, decode_flow, packing_flow
from formulations.aerialedge.assignment import (
    assignment,
    decode_assignment,
    encode_assignment,
)
from formulations.aerialedge.bounds import lower_bound
from formulations.aerialedge.check import order_of_travel, within_reach
from formulations.aerialedge.construct import best_start
from formulations.aerialedge.cover import coverable, solve_cover
from formulations.aerialedge.dive import Dives
from formulations.aerialedge.exchange import pack_into
from formulations.aerialedge.fill import fillings
from formulations.aerialedge.instance import Instance
from formulations.aerialedge.patterns import solve_patterns
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import (
    Bin,
    VectorPacking,
    aggregate,
    to_bins,
    to_schedule,
    total_weight,
)
from optsched.errors import InputError, ModelError
from optsched.jit import limited
from optsched.methods import LIMITS, Answer, ExactMethod
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Listener, Progress, Solution, Status
from optsched.solvers.trajectory import Course

Method = Literal["auto", "patterns", "arc_flow", "highs", "cpsat"]
"""What ``pack`` may use: all it has, or one exact method after the quick rules and bounds."""

_SHARES = {
    "exchange": 0.1,
    "filling": 0.1,
    "dive": 0.3,
    "cover": 0.4,
    "patterns": 0.5,
    "exchange again": 0.5,
    "dive again": 0.6,
}  # of the time left, before something else is tried
_ORDER = (
    "exchange", "filling", "dive", "cover", "patterns", "exchange again", "dive again",
    "arc_flow", "cpsat",
)  # fmt: skip
_FILLING = 0.005  # seconds per item, at most
_DIVING, _DIVING_AGAIN = 0.05, 0.5  # seconds per item, at most
_EXCHANGING, _EXCHANGING_AGAIN = 0.01, 0.1  # seconds per item, at most
_COVERING = 0.2  # seconds per item, at most
_PERTURBED = 100  # fillings with values changed at random
_FILLED = 2000  # items up to which nodes are filled by knapsacks
_MODELLED = 200_000  # pairs of item and node up to which an assignment model is built
_ROUNDING = 1e-6  # absolute; bounds are in whole units of weight


@dataclass
class _Search:
    """What is known of one packing problem so far, in units of weight."""

    instance: Instance
    packing: VectorPacking
    deployment: int
    deadline: float
    course: Course
    threads: int
    bins: list[Bin] | None = None
    bound: float = 0.0
    infeasible: bool = False
    by: list[str] = field(default_factory=list)
    dives: Dives | None = None
    """With all patterns they have met."""

    @property
    def weight(self) -> float:
        return math.inf if self.bins is None else total_weight(self.packing, self.bins)

    @property
    def closed(self) -> bool:
        return self.infeasible or self.bound >= self.weight - 0.5

    @property
    def seconds(self) -> float:
        return max(0.0, self.deadline - time.perf_counter())

    def offer(self, bins: list[Bin] | None) -> None:
        """A packing, which counts if it is lighter than the best one."""
        if bins is not None and total_weight(self.packing, bins) < self.weight:
            self.bins = bins
            self.course.tell(objective=self.weight * self.packing.weight_unit)

    def raise_bound(self, bound: float | None) -> None:
        """A proven bound; weights are whole."""
        if bound is not None and math.isfinite(bound):
            self.bound = max(self.bound, float(math.ceil(bound - _ROUNDING * max(1.0, bound))))
            self.course.tell(bound=min(self.bound, self.weight) * self.packing.weight_unit)

    def solve(self, model: Model, solver: str, **settings: Any) -> Solution:
        """Solve a model of the whole problem under the limits, and take its bound."""

        def hear(progress: Progress) -> None:  # a solver's word, until its answer is there
            self.course.tell(progress.bound, progress.objective)

        solution = solve(
            model,
            solver,
            time_limit=_limit(self),
            stop=self.course.stop,
            threads=self.threads,
            on_progress=self.course.live(hear),
            **settings,
        )
        if solution.status is not Status.ERROR:
            self.course.catch_up(solution, hear)
        if solution.status is Status.INFEASIBLE:
            self.infeasible = self.bins is None
        elif solution.bound is not None:
            self.raise_bound(solution.bound / self.packing.weight_unit)
        return solution

    def schedule(self) -> Schedule | None:
        if self.bins is None:
            return None
        return to_schedule(self.instance, self.packing, self.bins, self.deployment)


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
        course = Course(Options(stop=stop, on_progress=on_progress))
        search = _Search(instance, aggregate(instance, i), i, deadline, course, threads)
        with limited(search.seconds if time_limit else None), suppress(TimeoutError):
            _run(search, method, start)
        last = _answer(search, time.perf_counter() - began)
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


def _run(search: _Search, method: Method, start: Schedule | None) -> None:
    packing = search.packing
    bound = lower_bound(packing)
    if math.isinf(bound):
        search.infeasible = True
        return
    search.raise_bound(bound)
    if start is not None and start.deployment == search.deployment:
        search.offer(to_bins(search.instance, packing, start))
    search.offer(best_start(packing, search.deadline))
    steps: dict[str, Callable[[_Search], None]] = {
        "exchange": lambda s: _by_exchange(s, _EXCHANGING * s.packing.items),
        "exchange again": lambda s: _by_exchange(s, _EXCHANGING_AGAIN * s.packing.items),
        "cover": _by_cover,
        "filling": lambda s: _by_filling(s, _FILLING * s.packing.items),
        "dive": lambda s: _by_diving(s, _DIVING * s.packing.items),
        "dive again": lambda s: _by_diving(s, _DIVING_AGAIN * s.packing.items),
        "patterns": _by_patterns,
        "arc_flow": _by_arc_flow,
        "cpsat": lambda s: _by_assignment(s, "cpsat"),
        "highs": lambda s: _by_assignment(s, "highs"),
    }
    names = [*_ORDER] if method == "auto" else [method]
    for name in names:
        if search.closed or search.seconds <= 0 or search.course.stopped:
            return
        whole = search.deadline
        share = _SHARES.get(name, 1.0) if method == "auto" else 1.0
        if math.isfinite(whole):
            search.deadline = time.perf_counter() + share * search.seconds
        steps[name](search)
        search.deadline = whole
        search.by.append(name)


def _limit(search: _Search) -> float | None:
    return None if math.isinf(search.deadline) else max(search.seconds, 1e-3)


def _by_filling(search: _Search, seconds: float) -> None:
    if search.packing.items > _FILLED:
        return
    enough = min(search.deadline, time.perf_counter() + seconds)
    for bins in fillings(search.packing, enough, perturbed=_PERTURBED):
        search.offer(bins)
        if search.closed or search.course.stopped:
            return


def _by_diving(search: _Search, seconds: float) -> None:
    """Dives, with the patterns of those before."""
    if search.packing.items > _FILLED:
        return
    if search.dives is None:
        search.dives = Dives(search.packing, search.bins or (), stop=search.course.stop)
    search.dives.deadline = min(search.deadline, time.perf_counter() + seconds)
    for bins in search.dives.packings(search.weight):
        search.offer(bins)
        if search.closed:
            return


def _by_exchange(search: _Search, seconds: float) -> None:
    """One node less at a time, as long as that works out."""
    packing = search.packing
    if packing.items > _FILLED or not coverable(packing):
        return
    weight, rng = int(packing.weight[0]), np.random.default_rng(len(search.by))
    enough = min(search.deadline, time.perf_counter() + seconds)
    while not search.closed:
        nodes = int(packing.available[0] if search.bins is None else len(search.bins) - 1)
        if nodes < 1 or nodes * weight < search.bound:
            return
        bins = pack_into(packing, nodes, rng, deadline=enough, stop=search.course.stop)
        if bins is None:
            return
        search.offer(bins)


def _by_cover(search: _Search) -> None:
    """Whether the bound can be met, and where it cannot, whether the next one can."""
    packing = search.packing
    if not coverable(packing):
        return
    weight = int(packing.weight[0])
    enough = min(search.deadline, time.perf_counter() + _COVERING * packing.items)
    while not search.closed and not search.course.stopped:
        nodes = math.ceil(search.bound / weight)
        seconds = max(enough - time.perf_counter(), 1e-3)
        cover = solve_cover(packing, nodes, time_limit=seconds, stop=search.course.stop)
        search.offer(cover.bins)
        if not cover.impossible:
            return
        search.raise_bound((nodes + 1) * weight)
        search.infeasible = nodes >= packing.available[0]


def _by_patterns(search: _Search) -> None:
    limit = _limit(search)

    def hear(bound: float, bins: list[Bin] | None) -> None:
        search.raise_bound(bound)
        search.offer(bins)

    outcome = solve_patterns(
        search.packing,
        start=search.bins or (),
        known=() if search.dives is None else search.dives.patterns(),
        time_limit=limit,
        stop=search.course.stop,
        on_progress=hear,
        heuristic_seconds=10.0 if limit is None else max(1.0, 0.3 * limit),
    )
    if outcome.solution.status is Status.INFEASIBLE:
        search.infeasible = search.bins is None
        return
    search.raise_bound(outcome.solution.bound)
    search.offer(outcome.bins)


def _by_arc_flow(search: _Search) -> None:
    try:
        graphs = build_graphs(search.packing, search.deadline)
    except ModelError:  # too large: somebody else's turn
        return
    model = packing_flow(search.packing, graphs)
    solution = search.solve(model, "highs")
    if solution.has_point:
        search.offer(decode_flow(search.packing, graphs, solution))


def _by_assignment(search: _Search, solver: str) -> None:
    unit = search.packing.weight_unit
    pairs = search.packing.items * int(search.packing.available.sum())
    if pairs > _MODELLED and math.isfinite(search.deadline):
        return
    model = assignment(search.instance, deployment=search.deployment, at_least=search.bound * unit)
    schedule = search.schedule()
    warm = None if schedule is None else encode_assignment(search.instance, schedule)
    solution = search.solve(model, solver, warm_start=warm)
    if solution.has_point:
        found = decode_assignment(search.instance, solution, deployment=search.deployment)
        search.offer(to_bins(search.instance, search.packing, found))


def _answer(search: _Search, seconds: float) -> Answer:
    packing = search.packing
    message = "settled by " + (", ".join(["quick rules and bounds", *search.by]))
    if search.infeasible:
        solution = Solution(Status.INFEASIBLE, seconds=seconds, solver="pack", message=message)
        return Answer(search.course.ended(solution))
    bound = min(search.bound, search.weight) * packing.weight_unit
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
    "nodes opened for all tasks: quick rules and bounds, exchange, dives and exact cover, then "
    "column generation, arc-flow and CP-SAT, as the instance asks",
    LIMITS | {"solver", "start", "threads", "on_progress"},
)  # fmt: skip
