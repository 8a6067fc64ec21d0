"""Problem (2) by branch and price: columns are whole schedules of one job (sheet R11).

The coupling rows are the capacities, one per (slot, site, resource). Pricing is the one-job
problem under prices of resources, solved exactly, so every round of prices gives a certified
Lagrangian bound. Branching is on the workers at a site and on the site of the server in a slot.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from threading import Event

import numpy as np

from formulations.okita.bounds import site_bounds
from formulations.okita.check import check, cost
from formulations.okita.construct import Planner, known_cost
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.job_prices import free_terms, priced_terms
from formulations.okita.lattice import Lattice
from formulations.okita.one_job import JobTerms, Path, cheapest_paths, path_cost, path_schedule
from formulations.okita.relaxed_columns import relaxed_bound
from formulations.okita.schedule import Schedule
from formulations.okita.windows import HorizonMode, Windows, last_slot, windows
from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnGeneration,
    ColumnSolution,
    Duals,
    GenerationOptions,
    Priced,
)
from optsched.decomposition.columns import Feature
from optsched.jit import working
from optsched.methods import GAPS, LIMITS, Answer, ExactMethod
from optsched.problem import Bound
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Solution, Status

OFFERED = 4
"""Most columns that pricing offers at a time for one job."""

REMEMBERED = 200
"""Columns per job by whose prices the search for cheaper ones is limited."""

_PATIENCE = 0.5
"""Seconds beyond 1.2 times the limit for making a first schedule; as many again and one are
promised, and left for what is made of it."""

_MET = 1e-9  # relative distance at which a cost and a bound have met
_WORKERS, _SERVER = "y", "s"  # kinds of feature


@dataclass(frozen=True, eq=False)
class Pricing:
    """The cheapest schedules of a job at any prices of resources."""

    instance: Instance
    lattices: Sequence[Lattice]
    windows: Windows

    @cached_property
    def slots(self) -> int:
        """Slots 1 .. slots have capacity rows."""
        return int(self.windows.last.max())

    @cached_property
    def _recent(self) -> list[deque[Column]]:
        """Columns offered last, by job: at new prices they bound what is worth looking for."""
        return [deque(maxlen=REMEMBERED) for _ in range(self.instance.jobs)]

    @cached_property
    def _free(self) -> tuple[JobTerms, ...]:
        length = self.windows.last - self.instance.release_slot + 1
        return tuple(
            free_terms(self.instance, i, int(length[i])) for i in range(self.instance.jobs)
        )

    def capacities(self) -> Floats:
        """Right-hand sides of the coupling rows, by slot, site, resource."""
        return np.tile(self.instance.capacity.reshape(-1), self.slots).astype(float)

    def column(self, i: int, path: Path) -> Column:
        """A schedule as a column: what it costs and what it holds."""
        instance = self.instance
        runs = np.flatnonzero(path.server >= 0)
        held = path.workers[:, :, None] * instance.worker_demand[i]
        held[runs, path.server[runs]] += instance.ps_demand[i]
        flat = held.reshape(-1)
        used = np.flatnonzero(flat)
        first = int(instance.release_slot[i]) - 1
        slot, site = np.nonzero(path.workers)
        features: dict[Feature, int] = {
            (_WORKERS, int(r), int(t) + first): int(path.workers[t, r])
            for t, r in zip(slot, site, strict=True)
        }
        features.update(((_SERVER, int(path.server[t]), int(t) + first), 1) for t in runs)
        return Column(
            block=i,
            cost=path_cost(instance, i, path),
            rows=used + first * instance.capacity.size,
            values=flat[used].astype(float),
            features=features,
            payload=path,
        )

    def __call__(self, block: int, duals: Duals) -> Priced:
        """Exact pricing of one job."""
        base = self._limited(block, duals)
        first = int(self.instance.release_slot[block]) - 1
        shape = (self.slots, *self.instance.capacity.shape)
        price = np.maximum(-duals.rows.reshape(shape)[first : first + len(base.flow_cost)], 0.0)
        terms = priced_terms(self.instance, block, base, price, duals.weight)
        recent = self._recent[block]
        below = min((duals.price_of(c) for c in recent if duals.allows(c)), default=np.inf)
        offered: list[Column] = []
        bound = np.inf
        for path in cheapest_paths(self.instance, self.lattices[block], terms, below=below):
            bound = min(bound, path.price)
            if len(offered) == OFFERED or (offered and path.price >= duals.threshold):
                break
            offered.append(self.column(block, path))
        recent.extend(offered)
        return Priced(offered, bound)

    def _limited(self, i: int, duals: Duals) -> JobTerms:
        """The free terms within branching's limits on workers and servers."""
        base = self._free[i]
        if not (duals.lower or duals.upper):
            return base
        least, most = base.least.copy(), base.most.copy()
        server, must = base.server_price.copy(), base.must_run.copy()
        first = int(self.instance.release_slot[i]) - 1
        for kind, site, t, few in _conditions(duals.lower, first):
            must[t] |= few > 0
            if kind == _WORKERS:
                least[t, site] = max(least[t, site], few)
            elif few > 0:
                server[t, np.arange(len(server[t])) != site] = np.inf
        for kind, site, t, many in _conditions(duals.upper, first):
            if kind == _WORKERS:
                most[t, :, site] = np.minimum(most[t, :, site], many)
            elif many < 1:
                server[t, site] = np.inf
        return replace(base, least=least, most=most, server_price=server, must_run=must)


def _conditions(limits: Mapping[Feature, int], first: int) -> Iterator[tuple[str, int, int, int]]:
    """Kind, site, position of the slot and limit of everything branching speaks of."""
    for feature, limit in limits.items():
        assert isinstance(feature, tuple)
        kind, site, slot = feature
        yield kind, site, slot - first, limit


@dataclass(frozen=True, eq=False)
class _Start:
    """What is known before columns are generated."""

    planner: Planner
    schedule: Schedule | None
    """The best schedule known that is allowed."""
    cost: float
    """Infinite where there is no such schedule."""
    job_bounds: Floats
    """What each job costs at least, shape (jobs,), money."""
    mode: HorizonMode
    exact: bool
    """Whether that is each job's optimum alone: schedules are few enough, and there was time."""

    @property
    def bound(self) -> float:
        """Every job alone."""
        return float(self.job_bounds.sum())

    @cached_property
    def windows(self) -> Windows:
        """The slots that a schedule as cheap as the one known keeps to."""
        instance = self.planner.instance
        return windows(instance, mode=self.mode, known_cost=self.cost, job_bounds=self.job_bounds)

    @property
    def met(self) -> bool:
        """Whether that is all there is to know."""
        return self.cost - self.bound <= _MET * max(1.0, abs(self.cost))


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
        options: time limit, gaps and ``stop``. They are looked at job by job; a schedule is made
            until 1.2 times the limit and half a second are over, then there is none but ``start``.
        start: a schedule that bounds the optimum from above.
        horizon_mode: see ``windows``.

    Raises:
        InputError: an unknown mode.
    """
    clock = _Clock(options.time_limit, options.stop)
    known = _known(instance, start, horizon_mode, clock)
    if known.met and known.schedule is not None:
        return _answer(instance, known, None)
    if not known.exact:
        bound = _relaxed(known, clock)
        return _ended(_answer(instance, known, None, bound), clock)
    generation = _generation(known, clock)
    found = generation.solve(
        GenerationOptions(
            time_limit=clock.at_least,
            gap=options.gap,
            absolute_gap=options.absolute_gap,
            stop=options.stop,
            dive_every=10,
            master_every=10,
        )
    )
    return _answer(instance, known, found)


def column_bound(instance: Instance, *, seconds: float | None = None) -> float:
    """The certified Lagrangian bound of the root, money.

    Where schedules of a job are too many to be searched exactly it is ``relaxed_column_bound``.

    Args:
        instance: the system and its jobs.
        seconds: wall time after which the best bound so far is returned; None: to the end.
    """
    clock = _Clock(seconds)
    known = _known(instance, None, "safe", clock)
    if known.met:
        return known.bound
    if not known.exact:
        return _relaxed(known, clock)
    generation = _generation(known, clock)
    found = generation.solve_relaxation(time_limit=clock.at_least)
    return known.bound if found.bound is None else max(known.bound, found.bound)


class _Clock:
    """What is left of a time limit, waiting for machine code apart."""

    def __init__(self, seconds: float | None, stop: Event | None = None) -> None:
        self.seconds, self.stop, self._began = seconds, stop, working()

    @property
    def left(self) -> float | None:
        """Seconds, below nought once the limit is passed; None: there is no limit."""
        return None if self.seconds is None else self.seconds - self._spent

    @property
    def at_least(self) -> float | None:
        """The same for who needs some time, even if it is none."""
        return None if self.left is None else max(1e-3, self.left)

    @property
    def _spent(self) -> float:
        return working() - self._began

    @property
    def stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def over(self) -> bool:
        """Whether to begin nothing more."""
        return self.stopped or (self.left is not None and self.left <= 0)

    def late(self) -> bool:
        """Whether to give up what there would be no answer without."""
        late = self.seconds is not None and self._spent >= 1.2 * self.seconds + _PATIENCE
        return self.stopped or late


def _relaxed(known: _Start, clock: _Clock) -> float:
    """What can be proven where schedules of a job are too many to be searched."""
    if clock.over() or not np.isfinite(known.cost):
        return known.bound
    found = relaxed_bound(known.windows, known.cost, seconds=clock.left, stop=clock.stop)
    return max(known.bound, found)


def _known(instance: Instance, start: Schedule | None, mode: HorizonMode, clock: _Clock) -> _Start:
    planner = Planner(instance, clock.late)
    end = last_slot(instance, mode)
    horizon = end if mode == "given" else None
    schedules = [] if start is None or check(instance, start) else [start]
    alone = None
    with suppress(TimeoutError):
        schedules.insert(0, planner.best_insertion(clock.over))
        alone = planner.alone if planner.exact else None
    costs = [known_cost(instance, schedule, horizon=horizon) for schedule in schedules]
    value = min(costs, default=np.inf)
    schedule = schedules[costs.index(value)] if np.isfinite(value) else None
    bounds = site_bounds(instance) if alone is None else np.array([path.price for path in alone])
    return _Start(planner, schedule, value, bounds, mode, alone is not None)


def _generation(known: _Start, clock: _Clock) -> ColumnGeneration:
    instance = known.planner.instance
    lattices = [lattice for lattice in known.planner.lattices if lattice is not None]
    pricing = Pricing(instance, lattices, known.windows)
    capacities = pricing.capacities()
    blocks = [ColumnBlock(least_cost=path.price) for path in known.planner.alone]
    return ColumnGeneration(
        np.full(len(capacities), -np.inf),
        capacities,
        blocks,
        pricing,
        initial=list(_first_columns(pricing, known, clock)),
        branching=1,
    )


def _first_columns(pricing: Pricing, known: _Start, clock: _Clock) -> Iterator[Column]:
    """Each job alone, and its part of the best schedule known without idle workers, in time."""
    instance = pricing.instance
    length = known.windows.last - instance.release_slot + 1
    for i, path in enumerate(known.planner.alone):
        if path.last < length[i]:
            yield pricing.column(i, _padded(path, int(length[i])))
    if known.schedule is None:
        return
    for i, lattice in enumerate(pricing.lattices):
        if clock.over():
            return
        terms = free_terms(instance, i, int(length[i]))
        limited = _within(instance, i, terms, known.schedule)
        for path in islice(cheapest_paths(instance, lattice, limited), 1):
            yield pricing.column(i, path)


def _within(instance: Instance, i: int, terms: JobTerms, schedule: Schedule) -> JobTerms:
    """The terms, limited to what a schedule holds for a job."""
    first, slots = int(instance.release_slot[i]), len(terms.flow_cost)
    most = np.zeros_like(terms.least)
    mine = (schedule.worker_job == i) & (schedule.worker_slot < first + slots)
    at = (schedule.worker_slot[mine] - first, schedule.worker_site[mine])
    np.add.at(most, at, schedule.worker_count[mine])
    server = np.full_like(terms.server_price, np.inf)
    mine = (schedule.server_job == i) & (schedule.server_slot < first + slots)
    server[schedule.server_slot[mine] - first, schedule.server_site[mine]] = 0.0
    return replace(terms, most=np.minimum(terms.most, most[:, None, :]), server_price=server)


def _padded(path: Path, slots: int) -> Path:
    """The same schedule over another number of slots, at least as many as it uses."""
    workers: Integers = np.zeros((slots, path.workers.shape[1]), dtype=np.int64)
    server = np.full(slots, -1)
    kept = min(slots, len(path.server))
    workers[:kept], server[:kept] = path.workers[:kept], path.server[:kept]
    return replace(path, workers=workers, server=server)


def _ended(answer: Answer, clock: _Clock) -> Answer:
    """The answer, with what has cut it short."""
    if answer.solution.status is Status.OPTIMAL or not clock.over():
        return answer
    ended = {"status": Status.INTERRUPTED} if clock.stopped else {"limit": Limit.TIME}
    return replace(answer, solution=replace(answer.solution, **ended))


def _answer(
    instance: Instance, known: _Start, found: ColumnSolution | None, bound: float = -np.inf
) -> Answer:
    """The better of what was known and what was found, with the better bound."""
    schedule, value, bound = known.schedule, known.cost, max(known.bound, bound)
    status = Status.NO_SOLUTION if schedule is None else Status.FEASIBLE
    limit, message, nodes = None, "", None
    if found is None and not known.exact:
        message = "schedules of a job are too many to be searched: a relaxation bounds them"
    if found is not None:
        limit, message, nodes = found.limit, found.message, found.nodes
        bound = bound if found.bound is None else max(bound, found.bound)
        if found.objective is not None:
            parts = [path_schedule(instance, c.block, c.payload) for c, _ in found.chosen]
            made = Schedule.merged(parts)
            if cost(instance, made) <= value:
                schedule, value = made, cost(instance, made)
        if found.status in (Status.INFEASIBLE, Status.INTERRUPTED, Status.ERROR):
            status = found.status
        else:
            status = Status.NO_SOLUTION if schedule is None else Status.FEASIBLE
    if schedule is not None and status is not Status.ERROR:
        bound = min(bound, value)
        if value - bound <= _MET * max(1.0, abs(value)) or (
            found is not None and found.status is Status.OPTIMAL
        ):
            status, limit = Status.OPTIMAL, None
    solution = Solution(
        status=status,
        objective=None if schedule is None else value,
        bound=bound if np.isfinite(bound) else None,
        limit=limit,
        checked=schedule is not None and not check(instance, schedule),
        nodes=nodes,
        solver="highs",
        version=backend("highs").version(),
        message=message,
    )
    return Answer(solution, schedule)


METHOD = ExactMethod(
    "problem_2_columns", problem_2_columns, "problem (2)",
    "branch and price over whole schedules of one job, priced by dynamic programming: the "
    "model for scale",
    LIMITS | GAPS | {"start"},
)  # fmt: skip
LB_COLUMNS = Bound(
    "lb_columns", lambda instance: column_bound(instance, seconds=60.0), "problem (2)",
    "Lagrangian bound of the capacities: columns are whole schedules of one job",
)  # fmt: skip
