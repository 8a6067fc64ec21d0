"""Problem (2) to proof: column generation over schedules of one job, then joint search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cached_property

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from formulations.okita.bounds import lb_sites, volume_bound
from formulations.okita.check import check
from formulations.okita.exact.branch import Tree
from formulations.okita.exact.improve import DestroyRepair
from formulations.okita.exact.joint_states import JointSearch
from formulations.okita.exact.pricing import Pricing
from formulations.okita.horizon import HorizonMode, Windows, last_slot, windows
from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job.paths import Path, path_of, path_schedule
from formulations.okita.one_job.planner import Planner, in_horizon, known_cost
from formulations.okita.schedule import Schedule
from optsched.decomposition import (
    ColumnBlock,
    ColumnChoice,
    ColumnGeneration,
    ColumnSolution,
    Incumbent,
    anneal,
    beside,
)
from optsched.errors import InputError
from optsched.jit import limited
from optsched.problem import Bound
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

PATIENCE = 0.5
"""Seconds beyond 1.2 times the limit for making a first schedule."""
BATCH = 10
"""Steps of annealing between two looks at the deadline."""
SMOOTHING = 0.1
"""Weight of the best dual values against the last ones in pricing."""


class SearchParams(BaseModel):
    """Shares of the time and sizes of the search."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    insert_share: float = Field(
        0.4, gt=0, le=1, description="part of the time for inserting jobs in several orders"
    )
    anneal_share: float = Field(
        0.05, gt=0, le=1, description="part of the time for annealing before columns are generated"
    )
    columns_share: float = Field(
        0.4, gt=0, le=1, description="part of the time left for column generation"
    )
    joint_share: float = Field(
        0.8, gt=0, le=1, description="part of the time left for joint search and its tree"
    )
    hot: float = Field(
        0.01, gt=0, description="first temperature, part of the cost above each job's alone"
    )
    cold: float = Field(1e-3, gt=0, le=1, description="last temperature, part of the first")
    patience: int = Field(
        20, ge=1, description="non-improving steps, for each job, after which annealing ends"
    )
    states: int = Field(8192, ge=64, description="states of a slot in a node's joint search")
    most_states: int = Field(
        131_072, ge=64, description="states if a node cannot be divided: memory"
    )


class Search:
    """The incumbent, and the steps of the search."""

    def __init__(
        self,
        instance: Instance,
        options: Options,
        start: Schedule | None,
        mode: HorizonMode,
        params: SearchParams,
    ) -> None:
        end = last_slot(instance, mode)  # whatever the mode: it refuses an unknown one
        self.instance, self.mode, self.params = instance, mode, params
        horizon = end if mode == "given" else None
        self.best = Incumbent[Schedule](
            options,
            cost=lambda schedule: known_cost(instance, schedule, horizon=horizon),
            check=lambda schedule: check(instance, schedule),
            start=start,
        )
        self.best.raise_bound(lb_sites(instance))
        self.latest = None if options.time_limit is None else 1.2 * options.time_limit + PATIENCE
        self.planner = Planner(instance, self._late)
        self.floors: Floats | None = None
        self.message = ""
        self._heard: ColumnChoice | None = None
        self._relaxed: ColumnSolution | None = None

    def _late(self) -> bool:
        deadline = self.best.deadline
        return deadline.stopped or (self.latest is not None and deadline.spent >= self.latest)

    def run(self) -> None:
        """Search as far as the limits allow."""
        best, params = self.best, self.params
        with suppress(TimeoutError):
            self.plan()
            if best.over or not self.moderate():
                return
            self.improve(params.anneal_share)
            helps = best.options.threads > 1 and not best.over and self.moves is not None
            with beside(self.anneal, best.deadline) if helps else nullcontext():
                self.relax(params.columns_share)
            self.decide()

    def plan(self) -> None:
        """Insert jobs, and bound each alone."""
        part = self.best.part(self.params.insert_share)
        with suppress(TimeoutError):
            self.best.offer(self.planner.best_insertion(part.over))
            self.floors = self.planner.floors
            self.best.raise_bound(volume_bound(self.instance, self.floors))

    def moderate(self) -> bool:
        """Return whether all latencies are such as solvers may see; the message says if not."""
        try:
            return self.span is not None
        except InputError as error:
            self.message = str(error)
        return False

    @cached_property
    def span(self) -> Windows:
        """The slots that a schedule as cheap as the incumbent keeps to."""
        cost, floors = self.best.value, self.floors
        return windows(self.instance, mode=self.mode, known_cost=cost, job_bounds=floors)

    # annealing

    @cached_property
    def moves(self) -> DestroyRepair | None:
        """Steps of the annealing, with its own planner; None without a schedule to begin."""
        if self.best.schedule is None or self.floors is None or self.mode == "given":
            return None
        rng = np.random.default_rng(self.best.options.seed)
        return DestroyRepair(self.planner.apart(), self._parts(), self.floors, rng)

    def _parts(self) -> list[Path]:
        schedule = self.best.schedule
        assert schedule is not None
        return [path_of(self.instance, i, schedule) for i in range(self.instance.jobs)]

    def improve(self, share: float) -> None:
        """Anneal the incumbent for a part of the time."""
        if not self.best.over and self.moves is not None:
            self.anneal(self.best.part(share))

    def anneal(self, deadline: Deadline) -> None:
        """Anneal the incumbent until a deadline, or until nothing better is found."""
        moves, params = self.moves, self.params
        assert moves is not None
        assert self.floors is not None
        moves.begin(self._parts())
        hot = params.hot * max(moves.best_cost - float(self.floors.sum()), 1e-9)
        anneal(
            moves, deadline, best=moves.best_cost, temperature=(hot, params.cold * hot),
            patience=params.patience * self.instance.jobs, batch=BATCH,
            improved=lambda: self.best.offer(moves.schedule),
        )  # fmt: skip

    # columns

    @cached_property
    def pricing(self) -> Pricing:
        """Pricing at the capacities."""
        return Pricing.of(self.planner, self.span)

    def _known(self) -> Iterator[tuple[int, Path]]:
        if self.floors is not None:
            yield from ((i, path) for i, (path, _) in enumerate(self.planner.alone))
        if self.best.schedule is not None:
            yield from enumerate(self._parts())

    def relax(self, share: float) -> None:
        """Generate columns for a part of the time: a bound, dual values, fractional columns."""
        best = self.best
        if best.over or self.floors is None:
            return
        found = self.relaxed(
            self.pricing, self._known(), best.deadline.within(share), self._on_progress
        )
        best.raise_bound(found.bound)
        best.infeasible = found.status is Status.INFEASIBLE and best.schedule is None
        self._relaxed = found
        if self.moves is not None and found.chosen:
            chosen: dict[int, list[tuple[Path, float]]] = {}
            for column, part in found.chosen:
                path = replace(column.payload, price=column.cost)
                chosen.setdefault(column.block, []).append((path, part))
            self.moves.chosen = chosen

    def relaxed(
        self,
        pricing: Pricing,
        known: Iterable[tuple[int, Path]],
        seconds: float | None,
        tell: Callable[..., object] | None = None,
    ) -> ColumnSolution:
        """Generate columns among some schedules of each job, from known ones."""
        assert self.floors is not None
        room = pricing.room()
        columns = ColumnGeneration(
            np.full(len(room), -np.inf), room,
            [ColumnBlock(least_cost=float(floor)) for floor in self.floors], pricing,
            initial=list(pricing.columns(list(known))), branching=0,
        )  # fmt: skip
        return columns.solve_relaxation(
            time_limit=seconds, smoothing=SMOOTHING, stop=self.best.deadline.stop, on_progress=tell
        )

    def _on_progress(self, bound: float | None, choice: ColumnChoice | None) -> None:
        """Take what columns prove and the best choice of them, on the way."""
        self.best.raise_bound(bound)
        if choice is not None and choice is not self._heard:
            self._heard = choice
            parts = [path_schedule(self.instance, c.block, c.payload) for c, _ in choice.chosen]
            self.best.offer(Schedule.merged(parts))

    # joint search

    def decide(self) -> None:
        """Search jointly, in a tree over completions; then anneal until the time is over."""
        best, params = self.best, self.params
        lattices = [one for one in self.planner.lattices if one is not None]
        small = len(lattices) == self.instance.jobs
        if self._relaxed is not None and small and not best.over:
            part = best.part(params.joint_share)

            def relax(pricing: Pricing) -> ColumnSolution:
                return self.relaxed(pricing, self.pricing.made(), part.within(1.0))

            joint = JointSearch(lattices, lambda: not (best.closed or part.over()))
            states = params.states, params.most_states
            tree = Tree(best, joint, relax, states, self._ceiling())
            tree.search(self.pricing, self._relaxed)
        while not best.over and self.moves is not None:
            self.improve(1.0)
            if best.options.time_limit is None:
                break

    def _ceiling(self) -> float:
        """Return a cost that every schedule without idle workers in these slots is below, money."""
        instance, span, q = self.instance, self.span, self.instance.unit_bandwidth_cost.max()
        units = np.array([search.top for search in self.planner.searches])
        late = instance.latency.cost(np.arange(instance.jobs), span.last - instance.release_slot)
        moved = q * (
            instance.exchange_size_mb * units + instance.chunk_size_mb * instance.total_chunks
        )
        return float(1.0 + 1.01 * (late + moved).sum())


def problem_2_columns(
    instance: Instance,
    options: Options,
    *,
    start: Schedule | None = None,
    horizon_mode: HorizonMode = "safe",
    params: SearchParams,
) -> Answer:
    """Solve (2) to proof, or as far as the limits allow.

    Args:
        instance: the system and its jobs.
        options: time limit, gaps, ``threads``, of which two are used, ``seed``, ``stop`` and
            ``on_progress``. They are looked at job by job; a schedule is made until 1.2 times the
            limit and half a second are over, then there is none but ``start``.
        start: a schedule that bounds the optimum from above.
        horizon_mode: see ``windows``.
        params: of the search.

    Raises:
        InputError: an unknown mode.
    """
    search = Search(instance, options, start, horizon_mode, params)

    def answer() -> Answer:
        return search.best.answer("highs", message=search.message)

    with answering(answer), limited(search.latest), suppress(TimeoutError):
        search.run()
    return answer()


def column_bound(instance: Instance, *, seconds: float | None = None) -> float:
    """Return the certified Lagrangian bound of column generation, money.

    Args:
        instance: the system and its jobs.
        seconds: wall time after which the best bound so far is returned; None: to the end.
    """
    search = Search(instance, Options(time_limit=seconds), None, "safe", SearchParams())
    search.plan()
    if not search.best.over and search.moderate():
        with suppress(TimeoutError):
            search.relax(1.0)
    return search.best.bound


METHOD = ExactMethod(
    "problem_2_columns", problem_2_columns, "problem (2)",
    "column generation over whole schedules of one job, priced by dynamic programming, and joint "
    "search at its dual values: the model for scale",
    LIMITS | GAPS | {"start", "threads", "seed", "on_progress"},
    admits=in_horizon, params=SearchParams,
)  # fmt: skip
LB_COLUMNS = Bound(
    "lb_columns", lambda instance: column_bound(instance, seconds=60.0), "problem (2)",
    "Lagrangian bound of the capacities: columns are whole schedules of one job",
)  # fmt: skip
