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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from formulations.drp.association import placements
from formulations.drp.decode import encode, encode_services, schedule_of
from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.packing import Packing
from formulations.drp.projected import tangent_model
from formulations.drp.relaxation import whole_jobs
from formulations.drp.schedule import Schedule
from optsched.model import Model
from optsched.problem import Answer, Formulation
from optsched.solvers import Options, Solution, Status, solve

PACKING_SECONDS = 5.0
"""Longest local search for one choice of jobs."""
PACKING_ITERATIONS = 20_000
CHOICE_SHARE = 0.25
"""Part of the time left that one choice of jobs may take."""
CHOICE_SECONDS = 20.0
"""Longest choice of jobs."""
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


@dataclass(frozen=True)
class BoundAndPack(Formulation):
    """A formulation solved by bounding, choosing and packing before branch and bound."""

    services: bool = False
    """(22) in place of (5)."""

    def solve(
        self,
        instance: Instance,
        *,
        solver: str | None = None,
        options: Options | None = None,
        start: Schedule | None = None,
        **build_options: Any,
    ) -> Answer:
        """Solve to proof, or to the limits; see ``Formulation.solve``."""
        began = time.perf_counter()
        options = options or Options()
        model: Model = self.call()(instance, **build_options)
        search = _Search(instance, self.services, options, began)
        best, bound = search.run(start)
        encoder: Callable[..., dict[str, Floats]] = encode_services if self.services else encode
        values = encoder(instance, best)
        value = float(best.admit.sum())
        checked = not model.violations(values)
        if checked and value >= bound:
            found = Solution(
                Status.OPTIMAL, value, value, values, checked=True, message=search.summary
            )
            return Answer(replace(found, seconds=time.perf_counter() - began), best)
        if math.isfinite(bound):
            model.add("bound", model["y"].sum() <= bound)
        left = search.seconds_left()
        limited = replace(
            options,
            time_limit=None if math.isinf(left) else max(left, 1e-3),
            warm_start=values if checked else None,
        )
        solution = solve(model, solver or self.solver, options=limited)
        return self._joined(instance, solution, best if checked else None, bound, values, began)

    def _joined(
        self,
        instance: Instance,
        solution: Solution,
        best: Schedule | None,
        bound: float,
        values: dict[str, Floats],
        began: float,
    ) -> Answer:
        """What branch and bound says, and what was known before it."""
        seconds = time.perf_counter() - began
        tightest = min(bound, math.inf if solution.bound is None else whole_jobs(solution.bound))
        known = None if math.isinf(tightest) else tightest
        value = -1.0 if best is None else float(best.admit.sum())
        if solution.status is Status.ERROR or solution.objective is None or (
            solution.objective < value
        ):
            if best is None:
                return Answer(replace(solution, bound=known, seconds=seconds))
            status = Status.OPTIMAL if value >= tightest else Status.FEASIBLE
            solution = replace(
                solution, status=status, objective=value, values=values, bound=known, checked=True
            )
            return Answer(replace(solution, seconds=seconds), best)
        if solution.objective >= tightest:
            solution = replace(solution, status=Status.OPTIMAL, limit=None)
        schedule = None if self.decode is None else self.decode(instance, solution)
        return Answer(replace(solution, bound=known, seconds=seconds), schedule)


class _Search:
    """Bounding, choosing and packing on one instance."""

    def __init__(
        self, instance: Instance, services: bool, options: Options, began: float
    ) -> None:
        self.instance = instance
        self.services = services
        self.options = options
        limit = options.time_limit
        self.deadline = math.inf if limit is None else began + limit
        self.rng = np.random.default_rng(options.seed)
        self.summary = ""

    def seconds_left(self) -> float:
        """Wall seconds up to the limit; infinite without one."""
        return self.deadline - time.perf_counter()

    def run(self, start: Schedule | None) -> tuple[Schedule, float]:
        """The best decision found and the best bound, whole jobs; infinite where none is known."""
        instance = self.instance
        best = start or Schedule.empty(instance.num_jobs, instance.num_data_nodes)
        relaxed = self._solve(
            tangent_model(instance, services=self.services, covers=True, integer=False), 0.5
        )
        if relaxed.bound is None:
            return best, math.inf
        bound = whole_jobs(relaxed.bound)
        target = int(bound)
        while target > best.admit.sum() and self._go_on():
            chosen, proven = self._choose(target)
            if proven and target == bound:
                bound = target - 1.0
            packed = None if chosen is None else self._pack(chosen)
            if packed is not None:
                best = packed
                break
            target -= 1
        self.summary = f"relaxation {relaxed.bound:.3f}, {int(best.admit.sum())} jobs packed"
        return best, bound

    def _go_on(self) -> bool:
        stop = self.options.stop
        return self.seconds_left() > 0 and not (stop is not None and stop.is_set())

    def _solve(self, model: Model, share: float, gap: float = 0.0) -> Solution:
        """Solve within a share of the time left, by HiGHS."""
        left = min(CHOICE_SECONDS, share * self.seconds_left())
        options = Options(
            time_limit=max(left, 1e-3),
            gap=gap,
            threads=self.options.threads,
            seed=self.options.seed,
            stop=self.options.stop,
        )
        return solve(model, "highs", options=options)

    def _choose(self, target: int) -> tuple[Choice | None, bool]:
        """That many jobs with least load; None if none are found, and whether none exist."""
        instance = self.instance
        model = tangent_model(
            instance, services=self.services, covers=True, integer_assoc=False, full=True
        )
        model.add("target", model["y"].sum() == target)
        model.minimize(model["full"])
        solution = self._solve(model, CHOICE_SHARE, CHOICE_GAP)
        if not solution.has_point:
            return None, solution.status is Status.INFEASIBLE
        usable = np.ones(instance.num_pairs, dtype=bool)
        if self.services:
            usable = (solution["z"] > 0.5)[placements(instance).of_pair]
        return Choice(solution["x"], solution["y"] > 0.5, usable), False

    def _pack(self, chosen: Choice) -> Schedule | None:
        """Every node of the chosen jobs on one server, or None."""
        assoc = rounded(self.instance, chosen)
        packing = Packing(self.instance, assoc, chosen.usable)
        until = min(self.deadline, time.perf_counter() + PACKING_SECONDS)
        if not packing.search(self.rng, until, PACKING_ITERATIONS):
            return None
        return schedule_of(self.instance, packing.assoc, services=self.services)


def rounded(instance: Instance, chosen: Choice) -> Integers:
    """Each node of a chosen job on the server that has most of it."""
    order = np.lexsort((-chosen.x, instance.pair_node))
    most = instance.pair_server[order[instance.first_pair[:-1]]]
    return np.where(chosen.admit[instance.node_job], most, NO_SERVER)
