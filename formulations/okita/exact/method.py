"""Problem (2) by branch and price: columns are whole schedules of one job.

1. Jobs are inserted one after the other, and planned anew in neighbourhoods: a schedule, and the
   slots that one as cheap keeps to.
2. If it is small, the compact model in CP-SAT has the first seconds: it proves the least cost of
   jobs that are alike soonest.
3. Columns are generated over the capacities and their roundings. Every round of prices gives a
   certified Lagrangian bound.
4. Jobs are planned together, slot by slot, at the last prices: as far above the bound as is
   quick. If that is not enough, neighbourhoods go on, jobs paying part of the prices or taking
   what the last relaxation chooses in part.
5. Branching is on when a job completes, then on the workers at a site and on the site of the server
   in a slot, where children gain most by the columns known; at nodes too jobs are planned together.
   Where they have too many points for that, what time is left goes to neighbourhoods.

With two threads, neighbourhoods of jobs that cannot be planned together go on beside the columns,
as long as they find anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from formulations.okita.exact.improve import Neighbourhoods, beside
from formulations.okita.exact.incumbent import BestKnown
from formulations.okita.exact.joint_search import Together
from formulations.okita.exact.pricing import ENDS, Pricing, SiteLimits
from formulations.okita.exact.relaxed_columns import relaxed_bound
from formulations.okita.exact.site_rounding import rounded_limits
from formulations.okita.exact.small_model import take_small
from formulations.okita.horizon import HorizonMode, Windows, site_bounds, windows
from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job.planner import Planner, in_horizon
from formulations.okita.one_job.terms import Path, path_cost, path_of, path_schedule
from formulations.okita.schedule import Schedule
from formulations.okita.volume import volume_bound
from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnChoice,
    ColumnGeneration,
    ColumnSolution,
    GenerationOptions,
    Limits,
)
from optsched.errors import InputError
from optsched.jit import limited
from optsched.problem import Bound
from optsched.problem.methods import GAPS, LIMITS, ExactMethod
from optsched.solvers.answer import Answer, answering
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

SEARCH_SHARE = 0.05
"""Part of the time for neighbourhoods before columns are generated."""
PRICED_SHARE = 0.6
"""Part of the time left after columns for neighbourhoods at their prices."""
ROUNDS = 20
"""Neighbourhoods in vain, for each job, after which that search ends."""
ROUNDS_BESIDE = 4000
"""The same on a thread of their own: they are to cool by the clock, and only then to begin anew."""
INSERT_SHARE = 0.4
"""Part of the time for inserting jobs as cheaply as can be where sites are many."""
RELAX_SHARE = 0.5
"""Part of the time for a relaxation of the columns, where that is all that can be had."""
COLUMNS_SHARE, COLUMNS_SHARE_BESIDE = 0.4, 0.8
"""Part of the time for the relaxation; with neighbourhoods on a thread of their own."""
SMOOTHING = 0.1
"""Weight of the best prices against the last ones in pricing."""
BRANCHINGS_TRIED = 8
"""Branchings whose children are looked at, of which one is chosen: nodes take seconds."""
HEURISTIC_SECONDS = 2.0
"""Longest time of a dive, or of a choice among columns."""
BRANCH_SHARE = 0.8
"""Part of the time left for the tree, where jobs cannot be planned together."""


class _Search(BestKnown):
    """What is known, and the parts of the search."""

    def __init__(
        self, instance: Instance, options: Options, start: Schedule | None, mode: HorizonMode
    ) -> None:
        super().__init__(instance, options, start, mode)
        self.planner = Planner(instance, self.late)
        self.floors = site_bounds(instance)
        self.near: Neighbourhoods | None = None
        self.heard: ColumnChoice | None = None
        """The choice of columns that was offered last."""
        self.priced: tuple[Pricing, Floats] | None = None
        """The last relaxation's pricing, and its prices of rows."""

    # the parts

    def plan(self) -> None:
        """Jobs inserted, and bounds of each alone."""
        with suppress(TimeoutError):
            part = Deadline(self.clock.within(INSERT_SHARE), self.clock.stop)
            enough = part.over if self.planner.beyond else self.clock.over
            self.offer(self.planner.best_insertion(enough))
            self.floors = self.planner.floors
            self.raise_bound(volume_bound(self.instance, self.floors))

    def neighbourhoods(self) -> Neighbourhoods | None:
        """Of the best schedule; None where there can be none."""
        if self.schedule is None or self.mode == "given":
            return None
        if self.near is None:
            planner = self.planner.apart()
            self.near = Neighbourhoods(planner, self.parts(self.schedule), self.floors, self.offer)
        else:
            self.near.take(self.parts(self.schedule))
        return self.near

    def improve(self, share: float, rounds: int) -> None:
        """Neighbourhoods of the best schedule, for a part of the time."""
        near = self.neighbourhoods() if self.go_on() else None
        if near is not None:
            part = Deadline(self.clock.within(share), self.clock.stop)
            near.search(part, rounds * self.instance.jobs)

    @contextmanager
    def improving(self) -> Iterator[bool]:
        """Whether neighbourhoods go on meanwhile, on a thread of their own."""
        helps = self.options.threads > 1 and self.together is None  # else proofs take longer
        near = self.neighbourhoods() if helps else None
        rounds = ROUNDS_BESIDE * self.instance.jobs
        with nullcontext() if near is None else beside(near, self.clock.within(1.0), rounds):
            yield near is not None

    def relax(self) -> None:
        """A bound where even columns are too dear."""
        if self.schedule is not None:
            seconds = self.clock.within(RELAX_SHARE)
            stop = self.clock.stop
            self.raise_bound(relaxed_bound(self.span, self.cost, seconds=seconds, stop=stop))

    @cached_property
    def together(self) -> Together | None:
        """All jobs slot by slot; None where they have too many points for that."""
        lattices = self.planner.lattices
        return None if lattices is None else Together(lattices, lambda: not self.clock.over())

    def plan_together(self) -> None:
        """All jobs slot by slot at the last prices, from one schedule to the next."""
        before = np.inf
        while self.together and self.priced and self.cost < before and self.go_on():
            before = self.cost
            bound, schedule = self.together.search(*self.priced, before)
            self.offer(schedule)
            self.raise_bound(bound)

    def finish(
        self, together: Together, pricing: Pricing, limits: Limits, rows: Floats, below: float
    ) -> tuple[float, list[Column]]:
        """All jobs slot by slot at a node of the tree, whose columns may be short of the best."""
        bound, schedule = together.search(pricing, rows, min(below, self.cost), limits)
        self.offer(schedule)
        return bound, self.standing(pricing) if self.cost < below else []

    def relaxation(self, share: float = 1.0) -> Pricing:
        """Generate columns at the root, for a part of the time; what prices the rest."""
        pricing = self.pricing()
        if self.go_on():
            found = self.generation(pricing).solve_relaxation(
                time_limit=self.clock.within(share),
                smoothing=SMOOTHING,
                stop=self.clock.stop,
                on_progress=self.hear,
            )
            if found.prices is not None:
                self.priced = pricing, found.prices
                if self.near is not None:
                    self.near.chosen = self._chosen(found) or self.near.chosen
                    self.near.prices = pricing.prices(found.prices)
            self.raise_bound(found.bound)
        return pricing

    def _chosen(self, found: ColumnSolution) -> dict[int, list[tuple[Path, float]]]:
        """Schedules by job that a relaxation chooses in part."""
        chosen: dict[int, list[tuple[Path, float]]] = {}
        for column, share in found.chosen:
            i, path = column.block, column.payload
            own = replace(path, price=path_cost(self.instance, i, path))
            chosen.setdefault(i, []).append((own, share))
        return chosen

    @cached_property
    def span(self) -> Windows:
        """The slots that a schedule as cheap as the one known keeps to."""
        return windows(self.instance, mode=self.mode, known_cost=self.cost, job_bounds=self.floors)

    def moderate(self) -> bool:
        """Whether all latencies are such as solvers may see; the message says where not."""
        try:
            return self.span is not None
        except InputError as error:
            self.message = str(error)
        return False

    def pricing(self) -> Pricing:
        """Of capacities and their roundings, with what is planned so far as its columns."""
        planner = self.planner
        limits = SiteLimits.of(self.instance).and_also(rounded_limits(self.instance))
        pricing = Pricing(self.instance, planner.searches, self.span, limits)
        pricing.offered.extend(self._planned())
        return pricing

    def _planned(self) -> Iterator[tuple[int, Path]]:
        yield from ((i, path) for i, (path, _) in enumerate(self.planner.alone))
        if self.schedule is not None:
            yield from enumerate(self.parts(self.schedule))
        if self.near is not None:
            yield from list(self.near.planned)  # there may be more meanwhile

    def standing(self, pricing: Pricing) -> list[Column]:
        """Columns of the best schedule, if each is one of those that bounds speak of."""
        parts = [] if self.schedule is None else list(enumerate(self.parts(self.schedule)))
        counted = all(pricing.counts(*part) for part in parts)
        return [pricing.column(*part) for part in parts] if counted else []

    def parts(self, schedule: Schedule) -> Iterator[Path]:
        """What a schedule holds of each job."""
        return (path_of(self.instance, i, schedule) for i in range(self.instance.jobs))

    def generation(
        self, pricing: Pricing, together: Together | None = None, known: Sequence[Column] = ()
    ) -> ColumnGeneration:
        """Columns under the limits known, and for the tree those of a schedule it is to beat."""
        room = pricing.room()
        return ColumnGeneration(
            np.full(len(room), -np.inf),
            room,
            [ColumnBlock(least_cost=float(floor)) for floor in self.floors],
            pricing,
            initial=list(pricing.known()),
            known=known,
            branching=1,
            rank=lambda feature: float(feature == ENDS),
            finish=None if together is None else partial(self.finish, together, pricing),
        )

    def branch(self, pricing: Pricing, share: float) -> None:
        """The tree, for a part of the time."""
        if not self.go_on():
            return
        pricing.offered.extend(self._planned())
        found = self.generation(pricing, self.together, self.standing(pricing)).solve(
            GenerationOptions(
                time_limit=self.clock.within(share),
                gap=self.options.gap,
                absolute_gap=self.options.absolute_gap,
                stop=self.clock.stop,
                on_progress=self.hear,
                dive_every=10,
                master_every=10,
                heuristic_seconds=HEURISTIC_SECONDS,
                smoothing=SMOOTHING,
                branchings_tried=BRANCHINGS_TRIED,
            )
        )
        self.learn(found)

    def hear(self, bound: float | None, incumbent: ColumnChoice | None) -> None:
        """Take what columns prove and the best choice of them, on the way and in the end."""
        self.raise_bound(bound)
        if incumbent is not None and incumbent is not self.heard:
            self.heard = incumbent
            parts = [path_schedule(self.instance, c.block, c.payload) for c, _ in incumbent.chosen]
            self.offer(Schedule.merged(parts))

    def learn(self, found: ColumnSolution) -> None:
        """Take what branch and price has found."""
        self.nodes += found.nodes
        self.hear(found.bound, found.incumbent)
        self.infeasible = found.status is Status.INFEASIBLE and self.schedule is None
        self.proven = (
            found.objective is not None
            and self.as_good(found.objective)
            and found.status is Status.OPTIMAL
        )
        self.message = found.message

    def run(self) -> Answer:
        """Everything, as far as the limits allow."""
        with answering(self.answer), limited(self.latest), suppress(TimeoutError):
            self.plan()
            if self.go_on() and self.moderate():
                if self.planner.beyond:
                    self.relax()
                else:
                    take_small(self, self.span)
                    self.search()
            if self.options.time_limit is not None and not (self.proven or self.infeasible):
                self.improve(1.0, 10 * ROUNDS)
        return self.answer()

    def search(self) -> None:
        """Neighbourhoods, columns and their tree."""
        self.improve(SEARCH_SHARE, ROUNDS)
        with suppress(TimeoutError), self.improving() as meanwhile:
            pricing = self.relaxation(COLUMNS_SHARE_BESIDE if meanwhile else COLUMNS_SHARE)
            self.plan_together()
            if not meanwhile:
                self.improve(PRICED_SHARE, ROUNDS if self.together else 10 * ROUNDS)
            self.branch(pricing, 1.0 if meanwhile or self.together else BRANCH_SHARE)


def problem_2_columns(
    instance: Instance,
    options: Options,
    *,
    start: Schedule | None = None,
    horizon_mode: HorizonMode = "safe",
) -> Answer:
    """Solve (2) to proof, or as far as the limits allow.

    Args:
        instance: the system and its jobs.
        options: time limit, gaps, ``threads``, of which two are used, ``stop`` and
            ``on_progress``. They are looked at job by job; a schedule is made until 1.2 times the
            limit and half a second are over, then there is none but ``start``.
        start: a schedule that bounds the optimum from above.
        horizon_mode: see ``windows``.

    Raises:
        InputError: an unknown mode.
    """
    return _Search(instance, options, start, horizon_mode).run()


def column_bound(instance: Instance, *, seconds: float | None = None) -> float:
    """The certified Lagrangian bound of the root, money.

    Args:
        instance: the system and its jobs.
        seconds: wall time after which the best bound so far is returned; None: to the end.
    """
    search = _Search(instance, Options(time_limit=seconds), None, "safe")
    search.plan()
    if search.go_on() and search.planner.beyond:
        search.relax()
    elif search.go_on():
        with suppress(TimeoutError):
            search.relaxation()
    return min(search.bound, search.cost)


METHOD = ExactMethod(
    "problem_2_columns", problem_2_columns, "problem (2)",
    "branch and price over whole schedules of one job, priced by dynamic programming, and "
    "neighbourhoods: the model for scale",
    LIMITS | GAPS | {"start", "threads", "on_progress"},
    admits=in_horizon,
)  # fmt: skip
LB_COLUMNS = Bound(
    "lb_columns", lambda instance: column_bound(instance, seconds=60.0), "problem (2)",
    "Lagrangian bound of the capacities: columns are whole schedules of one job",
)  # fmt: skip
