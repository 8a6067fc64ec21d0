"""Exact optima by bounding, choosing and packing, with branch and bound for what is left.

The relaxation bounds the number of jobs. A mixed-integer program in which only y (and z) are
binary then chooses that many jobs, as far from the capacities as possible; local search packs
their nodes on servers. If it succeeds, bound and decision meet. Otherwise fewer jobs are tried,
and the exact model closes what remains, starting from the best decision.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from formulations.drp.check import check, check_dsrp
from formulations.drp.decode import decode, encode, encode_services, schedule_of
from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.packing import Packing
from formulations.drp.problem_22 import placements
from formulations.drp.projected import (
    ANGLES,
    problem_5_projected,
    problem_22_projected,
    tangent_model,
    whole_jobs,
)
from formulations.drp.schedule import Schedule
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
SERVICE_SHARE = 0.6
"""Part of the time left that the choice of jobs and placements may take."""
SERVICE_SECONDS = 120.0
"""Longest choice of jobs and placements."""
SERVICE_ANGLES = 5
"""Angles of the grid of cuts in that choice, which packing tests exactly anyway."""
DOUBTFUL = (Status.ERROR, Status.DISAGREEMENT)
"""Ends of branch and bound after which nothing it said counts."""
CHOICE_GAP = 1e-3
"""Relative distance to the least load at which a choice of jobs is good enough."""


class Choice(NamedTuple):
    """Jobs that fit if nodes may be split, and how."""

    x: Floats
    """Shape (pairs,)."""
    admit: Booleans
    """Shape (jobs,)."""
    usable: Booleans
    """Pairs whose service is placed, shape (pairs,)."""


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
        self.summary = ""

    def hear(self, progress: Progress) -> None:
        """Branch and bound on its way; the whole jobs of its bound are one."""
        bound = None if progress.bound is None else whole_jobs(progress.bound)
        self.clock.tell(bound, progress.objective)

    def tell(self, best: Schedule, bound: float) -> None:
        """What is known so far."""
        self.clock.tell(bound, float(best.admit.sum()))

    def run(self, start: Schedule | None) -> tuple[Schedule, float]:
        """The best decision found and the best bound, whole jobs; infinite where none is known."""
        instance = self.instance
        best = Schedule.empty(instance.num_jobs, instance.num_data_nodes)
        judge = check_dsrp if self.services else check
        if start is not None and not judge(instance, start):
            best = start
        self.tell(best, math.inf)
        relaxed = self._solve(
            tangent_model(instance, services=self.services, covers=True).relax(),
            RELAXATION_SHARE,
            math.inf,
        )
        if relaxed.bound is None or not relaxed.has_point:
            return best, math.inf
        bound = whole_jobs(relaxed.bound)
        self.tell(best, bound)
        if self.services:
            best, bound = self._by_services(best, bound)
        else:
            best, bound = self._by_targets(best, bound, relaxed["y"])
        self.tell(best, bound)
        self.summary = f"relaxation {relaxed.bound:.3f}, {int(best.admit.sum())} jobs packed"
        return best, bound

    def _by_targets(self, best: Schedule, bound: float, admit: Floats) -> tuple[Schedule, float]:
        """Choose and pack as many jobs as the bound says, then one less, and so on.

        Where time is too short to choose, the jobs of which the relaxation admits most are taken.
        """
        every = np.ones(self.instance.num_pairs, dtype=bool)
        order = np.argsort(-admit, kind="stable")
        target = int(bound)
        while target > best.admit.sum() and not self.clock.over():
            chosen, proven = self._choose(target)
            if proven and target == bound:
                bound = target - 1.0
                self.tell(best, bound)
            if chosen is None and not proven:
                chosen = self._level(np.isin(np.arange(len(order)), order[:target]), every)
            packed = None if chosen is None else self._pack(chosen)
            if packed is not None:
                return packed, bound
            target -= 1
        return best, bound

    def _by_services(self, best: Schedule, bound: float) -> tuple[Schedule, float]:
        """Choose jobs and placements together, then pack, leaving out the heaviest if need be."""
        model = tangent_model(self.instance, services=True, angles=SERVICE_ANGLES, split=True)
        model.add("bound", model["y"].sum() <= bound)
        start = encode_services(self.instance, best)
        chosen = self._solve(model, SERVICE_SHARE, SERVICE_SECONDS, start=start)
        if chosen.bound is not None:
            bound = min(bound, whole_jobs(chosen.bound))
            self.tell(best, bound)
        if not chosen.has_point:
            return best, bound
        usable = (chosen["z"] > 0.5)[placements(self.instance).of_pair]
        admit = chosen["y"] > 0.5
        weight = np.bincount(self.instance.pair_job, weights=self.instance.compute_load)
        while admit.sum() > best.admit.sum() and not self.clock.over():
            levelled = self._level(admit, usable)
            packed = None if levelled is None else self._pack(levelled)
            if packed is not None:
                return packed, bound
            admit[np.argmax(np.where(admit, weight, -1.0))] = False
        return best, bound

    def _level(self, admit: Booleans, usable: Booleans) -> Choice | None:
        """Spread the nodes of chosen jobs, fractionally, so that the fullest server is least so."""
        model = tangent_model(self.instance, allowed=usable, full=True).relax()
        model.add("chosen", model["y"] == admit.astype(float))
        model.minimize(model["full"])
        solution = self._solve(model, CHOICE_SHARE, math.inf)
        return Choice(solution["x"], admit, usable) if solution.has_point else None

    def _solve(
        self,
        model: Model,
        share: float,
        most: float,
        gap: float = 0.0,
        start: dict[str, Floats] | None = None,
    ) -> Solution:
        """Solve by HiGHS within a share of the time left, and at most so many seconds."""
        options = Options(
            time_limit=self.clock.within(share, most),
            gap=gap,
            threads=self.options.threads,
            seed=self.options.seed,
            stop=self.options.stop,
            warm_start=start,
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
        usable = np.ones(self.instance.num_pairs, dtype=bool)
        return Choice(solution["x"], solution["y"] > 0.5, usable), False

    def _pack(self, chosen: Choice) -> Schedule | None:
        """Every node of the chosen jobs on one server, or None."""
        assoc = rounded(self.instance, chosen)
        packing = Packing(self.instance, assoc, chosen.usable)
        steps = PACKING_ITERATIONS * self.instance.num_data_nodes
        until = time.perf_counter() + min(self.clock.left, PACKING_SECONDS)
        if not packing.search(self.rng, until, steps):
            return None
        return schedule_of(self.instance, packing.assoc, services=self.services)


def rounded(instance: Instance, chosen: Choice) -> Integers:
    """Each node of a chosen job on the server that has most of it."""
    order = np.lexsort((-chosen.x, instance.pair_node))
    most = instance.pair_server[order[instance.first_pair[:-1]]]
    return np.where(chosen.admit[instance.node_job], most, NO_SERVER)


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
        started = _Search(instance, services, options)
        model = build(instance, angles=angles, covers=covers)
        answer = _settle(started, model, solver, start)
        return replace(answer, solution=started.clock.ended(answer.solution))

    summary = (
        "resources eliminated, a 2 by 2 matrix condition per server: the model for scale; "
        "relaxation, choice of jobs and local search first, branch and bound for what is left"
    )
    return ExactMethod(name, search, source, summary, HONOURS)


SOLVE_5 = _card("problem_5_projected", problem_5_projected, False, "problem (5), [P4]")
SOLVE_22 = _card("problem_22_projected", problem_22_projected, True, "problem (22), [P5]")
