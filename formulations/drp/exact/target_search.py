"""Most jobs of DRP: choose as many as the relaxation says and pack them, then one less."""

from __future__ import annotations

import math
import time

import numpy as np

from formulations.drp.decode import schedule_of
from formulations.drp.exact.incumbent import RELAXATION_SHARE, Search
from formulations.drp.exact.packing import Choice, Packing, rounded
from formulations.drp.instance import Booleans
from formulations.drp.problem_p3_p5 import tangent_model, whole_jobs
from formulations.drp.schedule import Schedule
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

PACKING_SECONDS = 5.0
"""Longest local search for one choice of jobs."""
PACKING_ITERATIONS = 100
"""Steps of it per node."""
CHOICE_SHARE = 0.4
"""Part of the time left that one choice of jobs may take."""
CHOICE_SECONDS = 20.0
"""Longest choice of jobs."""
CHOICE_GAP = 1e-3
"""Relative distance to the least load at which a choice of jobs is good enough."""


class TargetSearch(Search):
    """The search without services."""

    services = False

    def _run(self) -> None:
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
