"""Exact optima by bounding, choosing and packing, with branch and bound for what is left.

The relaxation bounds the number of jobs. A mixed-integer program in which only y is binary then
chooses that many jobs, as far from the capacities as possible; local search packs their nodes on
servers. If it succeeds, bound and decision meet. Otherwise fewer jobs are tried, and the exact
model closes what remains, starting from the best decision. With services, which take storage, the
relaxation is over whole services with cuts on storage; jobs are inserted at its prices, packed on
dear servers first where prices leave next to no choice, then exchanged over the sets of servers
that these prices choose.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from formulations.drp.check import check, check_dsrp
from formulations.drp.core_jobs import search_cores
from formulations.drp.covering_sets import CoveringSets, covering_sets
from formulations.drp.dear_servers import PACKINGS, DearFirst
from formulations.drp.decode import decode, encode, encode_services, schedule_of
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.job_insertion import Insertion
from formulations.drp.packing import Choice, Packing, rounded
from formulations.drp.projected import (
    ANGLES,
    problem_5_projected,
    problem_22_projected,
    tangent_model,
    whole_jobs,
)
from formulations.drp.schedule import Schedule
from formulations.drp.service_columns import ServiceColumns
from formulations.drp.set_exchange import SetExchange
from formulations.drp.storage_cuts import StorageRows
from formulations.drp.storage_relaxation import StorageRelaxation
from optsched.clock import Clock
from optsched.decomposition import ColumnSolution, GenerationOptions
from optsched.jit import limited
from optsched.methods import GAPS, LIMITS, Answer, ExactMethod
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.registry import backend
from optsched.solvers.solution import Progress, Solution, Status
from optsched.solvers.trajectory import Course

HONOURS = LIMITS | GAPS | {"solver", "start", "threads", "seed", "on_progress"}
"""What may be asked of these searches; the back end is that of branch and bound."""
PACKING_SECONDS = 5.0
"""Longest local search for one choice of jobs."""
PACKING_ITERATIONS = 100
"""Steps of it per node."""
CHOICE_SHARE = 0.4
"""Part of the time left that one choice of jobs may take."""
CHOICE_SECONDS = 20.0
"""Longest choice of jobs."""
RELAXATION_SHARE = 0.5
"""Part of the time that the first relaxation may take."""
INSERTION_SHARE = 0.05
"""Part of the time left that inserting jobs may take, where there are services."""
MOST_SPARE = 0.1
"""Jobs by which the bound may lie above a whole number for dear servers to be packed first."""
FILL_SHARE = 0.2
"""Part of the time left that packing them first may take."""
EXCHANGE_SHARE = 0.95
"""Part of the time left then that exchanging them may take."""
CUTS_SHARE = 0.4
"""Part of the time left in which storage may be cut."""
ALONE_SHARE = 0.7
"""Part of that time in which storage alone may be cut."""
ALONE_NEAR = 0.05
"""Jobs by which it may bound worse than all capacities do, to be cut first."""
CUTS_ROUNDS = 40
"""Most rounds of cuts, of either relaxation."""
CUTS_SEEN = 5
"""Of them that tell what the others will do."""
MANY_JOBS = 100
"""Jobs from which on those that cannot be among the most are looked for first."""
DOUBTFUL = (Status.ERROR, Status.DISAGREEMENT)
"""Ends of branch and bound after which nothing it said counts."""
CHOICE_GAP = 1e-3
"""Relative distance to the least load at which a choice of jobs is good enough."""


def _settle(search: _Search, model: Model, solver: str | None, start: Schedule | None) -> Answer:
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
    search: _Search,
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


class _Search:
    """Bounding, choosing and packing on one instance."""

    def __init__(self, instance: Instance, services: bool, options: Options) -> None:
        self.instance = instance
        self.services = services
        self.clock = Course(options, maximise=True)
        self.options = replace(options, stop=self.clock.stop, on_progress=None)
        self.rng = np.random.default_rng(options.seed)
        self.best = Schedule.empty(instance.num_jobs, instance.num_data_nodes)
        self.bound = math.inf
        self.summary = ""

    def hear(self, progress: Progress) -> None:
        """Branch and bound on its way; the whole jobs of its bound are one."""
        bound = None if progress.bound is None else whole_jobs(progress.bound)
        self.clock.tell(bound, progress.objective)

    def tell(self, best: Schedule, bound: float) -> None:
        """What is known from now on."""
        self.best, self.bound = best, bound
        self.clock.tell(bound, float(best.admit.sum()))

    def run(self, start: Schedule | None) -> tuple[Schedule, float]:
        """The best decision found and the best bound, whole jobs; infinite where none is known."""
        judge = check_dsrp if self.services else check
        good = start is not None and not judge(self.instance, start)
        self.tell(start if start is not None and good else self.best, math.inf)
        with limited(self.options.time_limit), suppress(TimeoutError):
            if self.services:
                self._by_services()
            else:
                self._by_targets()
        self.summary += f", {int(self.best.admit.sum())} jobs packed"
        return self.best, self.bound

    def _by_targets(self) -> None:
        """Choose and pack as many jobs as the bound says, then one less, and so on.

        Where time is too short to choose, the jobs of which the relaxation admits most are taken.
        """
        relaxed = self._solve(
            tangent_model(self.instance, covers=True).relax(), RELAXATION_SHARE, math.inf
        )
        if relaxed.bound is None or not relaxed.has_point:
            return
        self.summary = f"relaxation {relaxed.bound:.3f}"
        bound = whole_jobs(relaxed.bound)
        self.tell(self.best, bound)
        order = np.argsort(-relaxed["y"], kind="stable")
        target = int(bound)
        while target > self.best.admit.sum() and not self.clock.over():
            chosen, proven = self._choose(target)
            if proven and target == self.bound:
                self.tell(self.best, target - 1.0)
            if chosen is None and not proven:
                chosen = self._level(np.isin(np.arange(len(order)), order[:target]))
            packed = None if chosen is None else self._pack(chosen)
            if packed is not None:
                self.tell(packed, self.bound)
            target -= 1

    def _by_services(self) -> None:
        """Price services, insert jobs at those prices; cut storage, exchange jobs at the new ones.

        Cuts come before exchanges only while they promise to save a job: then all the time left is
        for as many jobs as the bound says.
        """
        columns = ServiceColumns(self.instance, ANGLES)
        relaxed = self._price(columns, RELAXATION_SHARE)
        part = Clock(self.clock.within(INSERTION_SHARE), self.options.stop)
        jobs = Insertion(self.instance, self.rng, columns.rent)
        self._take(jobs.search(self.bound, lambda: not part.over()))
        relaxed = self._cut(columns, relaxed, CUTS_SEEN)
        sets = covering_sets(self.instance, columns.rent, columns.node_price)
        self._fill(columns, relaxed.bound, sets)
        self._exchange(sets)
        self._cut(columns, relaxed, CUTS_ROUNDS)

    @property
    def _met(self) -> bool:
        """Whether as many jobs are placed as the bound says."""
        return bool(self.best.admit.sum() >= self.bound)

    def _cut(self, columns: ServiceColumns, relaxed: ColumnSolution, seen: int) -> ColumnSolution:
        """Cut storage: alone where it binds alone, then beside all else that services take."""
        part = Clock(self.clock.within(CUTS_SHARE), self.options.stop)
        if relaxed.bound is None or self._met:
            return relaxed
        alone = part.within(ALONE_SHARE)
        if self._cut_alone(columns.storage, -relaxed.bound + ALONE_NEAR, alone, seen):
            relaxed = self._price(columns, 1.0)
        bounds: list[float] = []
        while relaxed.bound is not None and not self._met and not part.over():
            bounds.append(-relaxed.bound)
            if not promising(bounds, seen) or not columns.cut(relaxed.chosen):
                break
            relaxed = self._price(columns, 1.0)
        return relaxed

    def _cut_alone(
        self, storage: StorageRows, most: float, seconds: float | None, seen: int
    ) -> bool:
        """Cut the relaxation to storage, which is quick, unless it bounds by more than so much.

        Returns:
            Whether there are more cuts now.
        """
        part, bounds, rows = Clock(seconds, self.options.stop), [], len(storage.server)
        alone = StorageRelaxation(self.instance, storage)
        while not self._met and not part.over():
            found = alone.solve(replace(self.options, time_limit=part.within(1.0)))
            if found is None or found.bound > most:
                break
            self.tell(self.best, min(self.bound, whole_jobs(found.bound)))
            bounds.append(found.bound)
            if not promising(bounds, seen) or not storage.cut(found.placed):
                break
        return len(storage.server) > rows

    def _take(self, assoc: Integers) -> None:
        """Keep an association of more jobs, if the checker agrees."""
        found = schedule_of(self.instance, assoc, services=True)
        if found.admit.sum() > self.best.admit.sum() and not check_dsrp(self.instance, found):
            self.tell(found, self.bound)

    def _fill(self, columns: ServiceColumns, cost: float | None, sets: CoveringSets) -> None:
        """As many jobs as the bound says, dear servers first, where it is hardly above that."""
        spare = math.inf if cost is None else -cost - self.bound
        if self._met or spare > MOST_SPARE:
            return
        part = Clock(self.clock.within(FILL_SHARE), self.options.stop)
        jobs = DearFirst(self.instance, sets, columns.rent, spare, self.rng, self.options.threads)
        assoc = jobs.search(int(self.bound), lambda: not part.over(), PACKINGS)
        if assoc is not None:
            self._take(assoc)

    def _exchange(self, sets: CoveringSets) -> None:
        """One job more, again and again, on the sets of servers that are cheap at the prices."""
        part = Clock(self.clock.within(EXCHANGE_SHARE), self.options.stop)
        jobs = SetExchange(self.instance, sets, self.rng, self.options.threads)
        while (target := int(self.best.admit.sum()) + 1) <= self.bound and not part.over():
            assoc = jobs.search(target, lambda: not part.over())
            if assoc is None:
                break
            self._take(assoc)
            if self.best.admit.sum() < target:
                break

    def _price(self, columns: ServiceColumns, share: float) -> ColumnSolution:
        """The relaxation over whole services, within a share of the time left, and its bound."""
        seconds = self.clock.within(share)
        found = columns.solve(GenerationOptions(time_limit=seconds, stop=self.options.stop))
        if found.bound is not None:
            self.tell(self.best, min(self.bound, whole_jobs(-found.bound)))
            self.summary = f"whole services {-found.bound:.3f}"
        return found

    def _level(self, admit: Booleans) -> Choice | None:
        """Spread the nodes of chosen jobs, fractionally, so that the fullest server is least so."""
        model = tangent_model(self.instance, full=True).relax()
        model.add("chosen", model["y"] == admit.astype(float))
        model.minimize(model["full"])
        solution = self._solve(model, CHOICE_SHARE, math.inf)
        return Choice(solution["x"], admit) if solution.has_point else None

    def _solve(
        self,
        model: Model,
        share: float,
        most: float,
        gap: float = 0.0,
    ) -> Solution:
        """Solve by HiGHS within a share of the time left, and at most so many seconds."""
        options = Options(
            time_limit=self.clock.within(share, most),
            gap=gap,
            threads=self.options.threads,
            seed=self.options.seed,
            stop=self.options.stop,
        )
        return solve(model, "highs", options=options)

    def _choose(self, target: int) -> tuple[Choice | None, bool]:
        """That many jobs with least load; None if none are found, and whether none exist."""
        model = tangent_model(self.instance, covers=True, split=True, full=True)
        model.add("target", model["y"].sum() == target)
        model.minimize(model["full"])
        solution = self._solve(model, CHOICE_SHARE, CHOICE_SECONDS, CHOICE_GAP)
        if not solution.has_point:
            return None, solution.status is Status.INFEASIBLE
        return Choice(solution["x"], solution["y"] > 0.5), False

    def _pack(self, chosen: Choice) -> Schedule | None:
        """Every node of the chosen jobs on one server, or None."""
        assoc = rounded(self.instance, chosen)
        packing = Packing(self.instance, assoc)
        steps = PACKING_ITERATIONS * self.instance.num_data_nodes
        until = time.perf_counter() + min(self.clock.left, PACKING_SECONDS)
        if not packing.search(self.rng, until, steps):
            return None
        return schedule_of(self.instance, packing.assoc)


def promising(bounds: list[float], seen: int) -> bool:
    """Whether more rounds of cuts save a whole job, if they do what the last ones did.

    Args:
        bounds: after each round until now.
        seen: last rounds that tell; with no more than these there is always another.
    """
    rounds, recent = CUTS_ROUNDS - len(bounds), bounds[-seen - 1 :]
    gain = (recent[0] - recent[-1]) / seen
    near = bounds[-1] - whole_jobs(bounds[-1])
    return rounds > 0 and (len(bounds) <= seen or gain * rounds > near)


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
            started = _Search(instance, services, options)
            model = build(instance, angles=angles, covers=covers)
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
