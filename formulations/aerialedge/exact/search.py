"""The search for a lightest packing on one deployment: its incumbent, and the steps it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from formulations.aerialedge.check import check
from formulations.aerialedge.construct import best_start, fillings
from formulations.aerialedge.exact.arc_flow import (
    MOST_ARCS,
    build_graphs,
    decode_flow,
    packing_flow,
)
from formulations.aerialedge.exact.exchange import lightened, lightest_fleet, pack_into
from formulations.aerialedge.exact.listing import (
    MOST_LISTED,
    DualPrices,
    lightest,
    list_patterns,
    relaxation_prices,
)
from formulations.aerialedge.instance import Instance, Integers
from formulations.aerialedge.problem_ae2 import assignment, decode_assignment, encode_assignment
from formulations.aerialedge.problem_ae3 import PatternModel, bins_of
from formulations.aerialedge.schedule import Schedule
from formulations.aerialedge.vector_packing import (
    Bin,
    aggregate,
    to_bins,
    to_schedule,
    total_weight,
)
from optsched.decomposition import ColumnSolution, Incumbent
from optsched.errors import ModelError
from optsched.jit import limited
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Progress, Solution, Status

_CHOOSING = 1.0  # seconds for the lightest nodes with room for all
_NEAR = 5  # weights between bound and packing, up to which patterns of the bound are listed
_LARGE = 2000  # items beyond which only rules and models are tried
_MODELLED = 200_000  # pairs of item and node up to which an assignment model is built
_ARCS_A_SECOND = 50_000  # of a graph; with less time than that a solver would end late
_ROUNDING = 1e-6  # of a bound from HiGHS, relative
_SUMMED = 1e-10  # of a sum of floats, relative
_DIVIDED = 1e-14  # of a whole number times a unit, relative


class SearchParams(BaseModel, frozen=True, extra="forbid"):
    """Parameters of the search for a lightest packing."""

    start_share: float = Field(0.1, gt=0, le=1, description="part of the time left for quick rules")
    small_arcs: int = Field(
        2000, ge=0, description="arcs of arc-flow graphs that are solved before all else"
    )
    small_arc_seconds: float = Field(5.0, gt=0, description="seconds for these at most")
    most_arcs: int = Field(
        MOST_ARCS, ge=0, description="arcs of arc-flow graphs that are solved at all"
    )
    exchange_share: float = Field(
        0.1, gt=0, le=1, description="part of the time left for the first exchanges"
    )
    exchange_steps: int = Field(
        150, ge=0, description="exchanges for each item, on one choice of nodes after the other"
    )
    thorough: int = Field(
        30, ge=1, description="times as many exchanges, once branch and price has left a gap"
    )
    filling_share: float = Field(
        0.1, gt=0, le=1, description="part of the time left for nodes filled by knapsacks"
    )
    fillings: int = Field(
        3000, ge=0, description="items packed in fillings with values perturbed at random"
    )
    relaxation_share: float = Field(
        0.5, gt=0, le=1, description="part of the time left for the relaxation over patterns"
    )
    listing_share: float = Field(
        0.3, gt=0, le=1, description="part of the time left for listed patterns"
    )
    listed: int = Field(
        MOST_LISTED, ge=0, description="patterns up to which all are listed; 0: never"
    )
    branch_share: float = Field(
        0.5, gt=0, le=1, description="part of the time left for branch and price"
    )
    dive_every: int = Field(
        25, ge=1, description="nodes of the tree from one dive to the next; one is at the root"
    )


class Search:
    """The incumbent on one deployment, in whole units of weight, and the steps that improve it.

    Args:
        instance: what to pack.
        deployment: whose nodes.
        options: limits of the search.
        params: its parameters.
        start: a schedule to begin with, if it is on this deployment.
    """

    def __init__(
        self,
        instance: Instance,
        deployment: int,
        options: Options,
        params: SearchParams,
        start: Schedule | None = None,
    ) -> None:
        self.instance, self.deployment, self.params = instance, deployment, params
        self.packing = aggregate(instance, deployment)
        self.best: Incumbent[list[Bin]] = Incumbent(
            options,
            cost=partial(total_weight, self.packing),
            check=lambda bins: check(instance, self.schedule_of(bins), gang=True),
            whole=True,
            unit=self.packing.weight_unit,
        )
        self.deadline: Deadline = self.best.deadline
        """Deadline of the step under way."""
        self.nodes = 0
        self.rng = np.random.default_rng(options.seed)
        self.model = PatternModel(self.packing)
        self.met: dict[Bin, None] = {}
        """Patterns of all packings met, in order."""
        self.relaxed: ColumnSolution | None = None
        self.prices: list[DualPrices] = []
        """Dual values of the relaxation, and others near them."""
        if (
            start is not None
            and start.deployment == deployment
            and not check(instance, start, gang=True)
        ):
            self.offer(to_bins(instance, self.packing, start))

    # the incumbent

    def schedule_of(self, bins: list[Bin]) -> Schedule:
        """The schedule of a packing."""
        return to_schedule(self.instance, self.packing, bins, self.deployment)

    @property
    def over(self) -> bool:
        """Whether to begin nothing more: it is closed, late, or to stop."""
        return self.best.closed or self.deadline.over()

    @contextmanager
    def part(self, share: float, most: float = math.inf) -> Iterator[None]:
        """Give the steps in the block a part of the time left; loops that are late end them."""
        self.deadline = self.best.part(share, most)
        try:
            with limited(self.deadline.seconds), suppress(TimeoutError):
                yield
        finally:
            self.deadline = self.best.deadline

    def offer(self, bins: list[Bin] | None) -> bool:
        """Take a packing if it is lighter than the best one; keep its patterns in any case."""
        self.met |= dict.fromkeys(bins or ())
        return self.best.offer(bins)

    def raise_bound(self, bound: float | None, rounding: float) -> None:
        """Take a bound that is right up to a relative error; weights are whole."""
        if bound is not None and math.isfinite(bound):
            self.best.raise_bound(math.ceil(bound - rounding * max(1.0, bound)))

    def solve(self, model: Model, solver: str, **settings: Any) -> Solution:
        """Solve a model of the whole problem in the step's time, and take its bound."""
        progress, unit = self.best.deadline, self.packing.weight_unit
        rounding = _DIVIDED if solver == "cpsat" else _ROUNDING  # CP-SAT counts in whole numbers

        def on_progress(reported: Progress) -> None:
            progress.report(reported.bound, reported.objective)

        options = replace(
            self.best.within(), time_limit=self.deadline.within(1.0),
            on_progress=progress.live(on_progress), **settings,
        )  # fmt: skip
        solution = solve(model, solver, options=options)
        if solution.status is not Status.ERROR:
            progress.catch_up(solution, on_progress)
        self.nodes += solution.nodes or 0
        if solution.status is Status.INFEASIBLE:
            self.best.infeasible = self.best.schedule is None
        elif solution.status is not Status.ERROR and solution.bound is not None:
            self.raise_bound(solution.bound / unit, rounding)
        return solution

    # packings

    def begin(self) -> None:
        """Take the lightest packing that quick rules find."""
        with self.part(self.params.start_share):
            self.offer(best_start(self.packing, self.deadline))

    def fill(self) -> None:
        """Fill nodes by knapsacks, the values of the items by several rules, then perturbed."""
        if self.packing.items > _LARGE:
            return
        perturbed = self.params.fillings // self.packing.items
        for bins in fillings(self.packing, self.deadline, self.rng, perturbed=perturbed):
            self.offer(bins)
            if self.over:
                return

    def exchange(self, times: int = 1) -> None:
        """Exchange items on the lightest nodes with room for all, then on slightly lighter ones."""
        packing, best, rng = self.packing, self.best, self.rng
        if packing.items > _LARGE or not packing.one_way:
            return
        steps = times * self.params.exchange_steps * packing.items
        fleet = self.lightest_fleet()
        if fleet is not None and not self.over:
            half = Deadline(self.deadline.within(0.5), self.deadline.stop)
            start = best.schedule or ()
            self.offer(pack_into(packing, fleet, rng, half, start=start, steps=steps / 2))
        if best.schedule is None:
            self.offer(pack_into(packing, packing.available, rng, self.deadline, steps=steps))
        while best.schedule is not None and not self.over:
            bins = lightened(packing, best.schedule, best.bound, rng, self.deadline, steps=steps)
            if not self.offer(bins):
                return

    def lightest_fleet(self) -> Integers | None:
        """Return the lightest nodes with room for all, whose weight is a bound; None if alike."""
        if self.packing.node_types == 1 or self.over:
            return None
        least = max(0.0, self.best.bound)
        limit = self.deadline.within(1.0, _CHOOSING)
        bound, fleet = lightest_fleet(self.packing, least, time_limit=limit)
        self.raise_bound(bound, _ROUNDING)
        return fleet

    # patterns

    def relax(self) -> None:
        """Solve the relaxation over patterns by column generation."""
        if self.packing.items > _LARGE:
            return
        known = [self.model.column(b.node_type, b.options) for b in self.met]
        self.relaxed = self.model.problem(self.best.schedule or (), known).solve_relaxation(
            time_limit=self.deadline.within(1.0),
            stop=self.deadline.stop,
            on_progress=lambda bound, _: self.raise_bound(bound, _SUMMED),
        )
        self.raise_bound(self.relaxed.bound, _SUMMED)
        duals = self.relaxed.prices
        if duals is not None:
            self.prices = relaxation_prices(self.packing, self.model, duals, self.best.value)
        for prices in self.prices:
            self.best.raise_bound(prices.bound)
        self.lightest_fleet()

    def list_all(self) -> None:
        """Find the lightest packing of all patterns that one lighter than the best may hold.

        If these are too many, and few weights are left in between, the bound itself is tried; once
        there is proven to be nothing, the next.
        """
        packing, best = self.packing, self.best
        while best.schedule is not None and not self.over:
            bound, lighter = int(best.bound), int(best.value) - 1
            limits = [lighter, bound] if bound < lighter <= bound + _NEAR else [lighter]
            lists = (
                list_patterns(packing, self.model.knapsacks, p, weight, most=self.params.listed)
                for weight in limits
                for p in self.prices
            )
            listing = next((found for found in lists if found is not None), None)
            if listing is None:
                return
            found = lightest(
                packing, listing, time_limit=self.deadline.within(1.0), stop=self.deadline.stop
            )
            self.offer(found.bins)
            self.raise_bound(found.bound, _ROUNDING)
            if best.bound <= listing.weight and not best.closed:
                return

    def branch(self) -> None:
        """Branch and price, with dives, from the patterns of the relaxation on."""
        known = [] if self.relaxed is None else [column for column, _ in self.relaxed.chosen]
        known += [self.model.column(b.node_type, b.options) for b in self.met]

        def on_progress(bound: float, choice: Any) -> None:
            self.raise_bound(bound, _SUMMED)
            self.offer(bins_of(self.packing, choice))

        limit = self.deadline.within(1.0)
        found = self.model.problem(self.best.schedule or (), known).solve(
            time_limit=limit,
            integral_objective=True,
            dive_every=self.params.dive_every,
            stop=self.deadline.stop,
            on_progress=on_progress,
            heuristic_seconds=10.0 if limit is None else max(1.0, 0.6 * limit),
        )
        self.nodes += found.nodes
        if found.status is Status.INFEASIBLE:
            self.best.infeasible = self.best.schedule is None
            return
        self.raise_bound(found.bound, _SUMMED)
        self.offer(bins_of(self.packing, found.incumbent))

    # models

    def arc_flow(self, most_arcs: int) -> None:
        """Solve the arc-flow model if its graphs have no more arcs than that."""
        try:
            graphs = build_graphs(self.packing, self.deadline, most_arcs)
        except ModelError:  # too large
            return
        if self.deadline.left < sum(len(graph.tail) for graph in graphs) / _ARCS_A_SECOND:
            return
        solution = self.solve(packing_flow(self.packing, graphs), "highs")
        if solution.has_point:
            self.offer(decode_flow(self.packing, graphs, solution))

    def assign(self, solver: str) -> None:
        """Solve the assignment model."""
        best, instance = self.best, self.instance
        pairs = self.packing.items * int(self.packing.available.sum())
        if pairs > _MODELLED and math.isfinite(self.deadline.left):
            return
        least = max(0.0, best.bound) * self.packing.weight_unit
        model = assignment(instance, deployment=self.deployment, at_least=least)
        warm = None
        if best.schedule is not None:
            warm = encode_assignment(instance, self.schedule_of(best.schedule))
        solution = self.solve(model, solver, warm_start=warm)
        if solution.has_point:
            found = decode_assignment(instance, solution, deployment=self.deployment)
            self.offer(to_bins(instance, self.packing, found))
