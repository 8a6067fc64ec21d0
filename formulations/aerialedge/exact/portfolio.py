"""The steps of the packing portfolio, and what they know of a problem and learn about it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formulations.aerialedge.exact.arc_flow import (
    MOST_ARCS,
    build_graphs,
    decode_flow,
    packing_flow,
)
from formulations.aerialedge.exact.dive import Dives
from formulations.aerialedge.exact.exchange import lightened, pack_into
from formulations.aerialedge.exact.fill import fillings
from formulations.aerialedge.exact.fleets import lightest_fleet
from formulations.aerialedge.exact.listing import DualPrices, lightest, list_patterns
from formulations.aerialedge.exact.patterns import solve_patterns
from formulations.aerialedge.instance import Instance, Integers
from formulations.aerialedge.problem_ae2 import (
    assignment,
    decode_assignment,
    encode_assignment,
)
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import (
    Bin,
    VectorPacking,
    to_bins,
    to_schedule,
    total_weight,
)
from optsched.errors import ModelError
from optsched.jit import limited
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Progress, Solution, Status
from optsched.solvers.trajectory import SearchProgress

_FILLING = 0.003  # seconds per item, at most
_DIVING, _DIVING_AGAIN = 0.05, 0.5  # seconds per item, at most
_EXCHANGING, _EXCHANGING_AGAIN = 0.003, 0.1  # seconds per item, at most
_CHOOSING = 1.0  # seconds for the lightest nodes with room for all
_LISTING = 0.05  # seconds per item, at most
_WEIGHTS = 5  # between bound and packing, up to which the patterns of the bound are listed
_PERTURBED = 100  # fillings with values changed at random
_FILLED = 2000  # items up to which nodes are filled by knapsacks
_MODELLED = 200_000  # pairs of item and node up to which an assignment model is built
_SMALL = 2000  # arcs of graphs that are solved before all else
_ARCS_A_SECOND = 50_000  # of a graph; with less time than that a solver would end late
_ROUNDING = 1e-6  # absolute; bounds are in whole units of weight
_SUMMED = 1e-10  # of a sum of floats, relative
_DIVIDED = 1e-14  # of a whole number times a unit, relative


@dataclass
class Search:
    """What is known of one packing problem so far, in units of weight."""

    instance: Instance
    packing: VectorPacking
    deployment: int
    deadline: float
    course: SearchProgress
    threads: int
    bins: list[Bin] | None = None
    patterns: dict[Bin, None] = field(default_factory=dict)
    """Of all packings met, in order."""
    bound: float = 0.0
    infeasible: bool = False
    by: list[str] = field(default_factory=list)
    dives: Dives | None = None
    """With all patterns they have met."""
    prices: list[DualPrices] = field(default_factory=list)
    """Of the relaxation that the dives begin with, and near them."""

    @property
    def weight(self) -> float:
        return math.inf if self.bins is None else total_weight(self.packing, self.bins)

    @property
    def closed(self) -> bool:
        return self.infeasible or self.bound >= self.weight - 0.5

    @property
    def seconds(self) -> float:
        return max(0.0, self.deadline - time.perf_counter())

    @property
    def over(self) -> bool:
        """Whether to begin nothing more."""
        return self.closed or self.seconds <= 0 or self.course.stopped

    @contextmanager
    def part(self, share: float, most: float = math.inf) -> Iterator[None]:
        """Within a share of the time left; loops that are late end what is done in it, no more."""
        whole, seconds = self.deadline, min(share * self.seconds, most)
        self.deadline = time.perf_counter() + seconds
        try:
            with limited(None if math.isinf(seconds) else seconds), suppress(TimeoutError):
                yield
        finally:
            self.deadline = whole

    def offer(self, bins: list[Bin] | None) -> None:
        """A packing, which counts if it is lighter than the best one; its patterns are kept."""
        if bins is None:
            return
        self.patterns |= dict.fromkeys(bins)
        if total_weight(self.packing, bins) < self.weight:
            self.bins = bins
            self.course.tell(objective=self.weight * self.packing.weight_unit)

    def raise_bound(self, bound: float | None, rounding: float = _ROUNDING) -> None:
        """A proven bound up to a relative error; weights are whole."""
        if bound is not None and math.isfinite(bound):
            self.bound = max(self.bound, float(math.ceil(bound - rounding * max(1.0, bound))))
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
            # CP-SAT counts in whole numbers
            rounding = _DIVIDED if solver == "cpsat" else _ROUNDING
            self.raise_bound(solution.bound / self.packing.weight_unit, rounding)
        return solution

    def schedule(self) -> Schedule | None:
        if self.bins is None:
            return None
        return to_schedule(self.instance, self.packing, self.bins, self.deployment)


def _limit(search: Search) -> float | None:
    return None if math.isinf(search.deadline) else max(search.seconds, 1e-3)


def _by_filling(search: Search, seconds: float) -> None:
    if search.packing.items > _FILLED:
        return
    enough = min(search.deadline, time.perf_counter() + seconds)
    for bins in fillings(search.packing, enough, perturbed=_PERTURBED):
        search.offer(bins)
        if search.closed or search.course.stopped:
            return


def _by_prices(search: Search) -> None:
    """The relaxation over patterns, which the dives begin with, and what whole nodes it allows."""
    if search.packing.items > _FILLED:
        return
    search.dives = Dives(
        search.packing, search.bins or (), tuple(search.patterns), stop=search.course.stop
    )
    search.dives.deadline = search.deadline
    search.dives.relax()
    search.prices = search.dives.prices(search.weight)
    for prices in search.prices:
        search.raise_bound(prices.bound, rounding=0.0)
    _lightest_fleet(search)


def _lightest_fleet(search: Search) -> Integers | None:
    """The lightest nodes with room for all, and their bound; None where types do not differ."""
    if search.packing.node_types == 1 or search.closed or search.seconds <= 0:
        return None
    limit = min(search.seconds, _CHOOSING)
    bound, fleet = lightest_fleet(search.packing, search.bound, time_limit=limit)
    search.raise_bound(bound)
    return fleet


def _by_diving(search: Search, seconds: float) -> None:
    """Dives, with the patterns of those before."""
    if search.dives is None:
        return
    search.dives.deadline = min(search.deadline, time.perf_counter() + seconds)
    for bins in search.dives.packings(search.weight):
        search.offer(bins)
        if search.closed:
            return


def _by_exchange(search: Search, seconds: float) -> None:
    """On the lightest nodes for half of the time, then on lighter ones, a little at a time."""
    packing, stop = search.packing, search.course.stop
    if packing.items > _FILLED or not packing.one_way:
        return
    rng, began = np.random.default_rng(len(search.by)), time.perf_counter()
    enough = min(search.deadline, began + seconds)
    fleet = _lightest_fleet(search)
    if fleet is not None and not search.closed:
        half, start = began + (enough - began) / 2, search.bins or ()
        search.offer(pack_into(packing, fleet, rng, start=start, deadline=half, stop=stop))
    if search.bins is None:
        search.offer(pack_into(packing, packing.available, rng, deadline=enough, stop=stop))
    while search.bins is not None and not search.closed:
        bins = lightened(packing, search.bins, search.bound, rng, deadline=enough, stop=stop)
        if bins is None:
            return
        search.offer(bins)


def _by_listing(search: Search) -> None:
    """The lightest packing of all patterns that one lighter than the best may hold.

    Where these are too many, and few weights are left in between, the bound itself is tried; once
    there is proven to be nothing, the next.
    """
    packing = search.packing
    if search.dives is None or search.bins is None:
        return
    knapsacks = search.dives.model.knapsacks
    enough = min(search.deadline, time.perf_counter() + _LISTING * packing.items)
    while not search.closed and not search.course.stopped:
        bound, lighter = int(search.bound), int(search.weight) - 1
        limits = [lighter, bound] if bound < lighter <= bound + _WEIGHTS else [lighter]
        lists = (
            list_patterns(packing, knapsacks, prices, weight)
            for weight in limits
            for prices in search.prices
        )
        listing = next((found for found in lists if found is not None), None)
        if listing is None:
            return
        seconds = max(enough - time.perf_counter(), 1e-3)
        found = lightest(packing, listing, time_limit=seconds, stop=search.course.stop)
        search.offer(found.bins)
        search.raise_bound(found.bound)
        if search.bound <= listing.weight and not search.closed:
            return


def _by_patterns(search: Search) -> None:
    limit = _limit(search)

    def hear(bound: float, bins: list[Bin] | None) -> None:
        search.raise_bound(bound, _SUMMED)
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
    search.raise_bound(outcome.solution.bound, _SUMMED)
    search.offer(outcome.bins)


def _by_arc_flow(search: Search, most_arcs: int = MOST_ARCS) -> None:
    try:
        graphs = build_graphs(search.packing, search.deadline, most_arcs)
    except ModelError:  # too large: somebody else's turn
        return
    if search.seconds < sum(len(graph.tail) for graph in graphs) / _ARCS_A_SECOND:
        return
    model = packing_flow(search.packing, graphs)
    solution = search.solve(model, "highs")
    if solution.has_point:
        search.offer(decode_flow(search.packing, graphs, solution))


def _by_assignment(search: Search, solver: str) -> None:
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


STEPS: dict[str, Callable[[Search], None]] = {
    "exchange": lambda s: _by_exchange(s, _EXCHANGING * s.packing.items),
    "exchange again": lambda s: _by_exchange(s, _EXCHANGING_AGAIN * s.packing.items),
    "listing": _by_listing,
    "filling": lambda s: _by_filling(s, _FILLING * s.packing.items),
    "prices": _by_prices,
    "dive": lambda s: _by_diving(s, _DIVING * s.packing.items),
    "dive again": lambda s: _by_diving(s, _DIVING_AGAIN * s.packing.items),
    "patterns": _by_patterns,
    "small arc_flow": lambda s: _by_arc_flow(s, _SMALL),
    "arc_flow": _by_arc_flow,
    "cpsat": lambda s: _by_assignment(s, "cpsat"),
    "highs": lambda s: _by_assignment(s, "highs"),
}
"""What each step of the portfolio does with what is known."""
