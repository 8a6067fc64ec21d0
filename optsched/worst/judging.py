"""What a candidate is worth to the search: the heuristic's ratio on it, by its certain end."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optsched.document import parse
from optsched.errors import InputError
from optsched.evaluation.runs import HeuristicRun, run_heuristic
from optsched.problem import Problem
from optsched.solvers.options import Options
from optsched.solvers.solution import Status
from optsched.worst.space import Space

SEEDS = 5
"""Runs of a heuristic that draws lots, of which the mean counts."""


@dataclass(frozen=True)
class Score:
    """A heuristic on one instance."""

    low: float
    """The ratio is at least this: cost against the best known schedule."""
    high: float
    """The ratio is at most this: cost against the best proven bound."""
    cost: float
    """Mean over the seeds, where the heuristic draws lots."""
    incumbent: float | None
    bound: float | None
    status: str
    """How the exact method ended."""
    second: float = 0.0
    """Tells instances of equal ratio apart: cost against a bound that moves with every number."""

    @property
    def rank(self) -> tuple[float, float]:
        """The larger, the worse for the heuristic."""
        return self.low, self.second


class Judge:
    """Judges candidates, counting what came of them.

    Args:
        problem: whose instances.
        heuristic: name and options.
        reference: formulation with options; None: the problem's.
        options: limits of its solve.
        seeds: of the heuristic's generator, one run each.
    """

    def __init__(
        self,
        problem: Problem,
        heuristic: str,
        *,
        reference: str | None = None,
        options: Options | None = None,
        seeds: Sequence[int] = (0,),
    ) -> None:
        self.problem, self.heuristic = problem, heuristic
        self.reference, self.options = reference or problem.reference, options
        self.seeds = tuple(seeds)
        self.evaluated = self.solved = self.refused = self.failed = 0
        self.failure = ""
        """What the first run that failed says."""
        self._bounds = [one for one in problem.bounds.values() if one.proven and one.quick]

    def document(self, document: Any, need: float = -math.inf) -> Score | None:
        """The score of a candidate; None where it is no instance, or the heuristic fails on it.

        Args:
            document: decoded JSON.
            need: a ratio; where the true one is certain to be below, no solve is made and the
                score's ends are bounds only, the low one 0.
        """
        try:
            repair = self.problem.repair
            instance = parse(self.problem.instance_type, repair(document) if repair else document)
        except (InputError, ValueError, OverflowError):
            self.refused += 1
            return None
        return self.instance(instance, need)

    def instance(self, instance: Any, need: float = -math.inf) -> Score | None:
        """As ``document``, of an instance."""
        self.evaluated += 1
        trials = [self.run(instance, seed) for seed in self.seeds]
        for trial in trials:
            if trial.status or trial.cost is None:
                self.failed += 1
                self.failure = self.failure or f"{trial.status}: {trial.message}"
                return None
        cost = math.fsum(trial.cost or 0.0 for trial in trials) / len(trials)
        high, second, bound = math.inf, 0.0, None
        for one in self._bounds:
            try:
                value = float(one.compute(instance))
            except Exception:  # the solve decides
                continue
            against = quotient(self.problem, cost, value)
            second = second or (against if math.isfinite(against) else 0.0)
            if against < high:
                high, bound = against, value
            if high < need:
                return Score(0.0, high, cost, None, bound, "not solved", second)
        return self._solved(instance, trials, cost, second)

    def run(self, instance: Any, seed: int) -> HeuristicRun:
        """One run of the heuristic, checked."""
        return run_heuristic(self.problem, instance, self.heuristic, seed)

    def _solved(
        self, instance: Any, trials: Sequence[HeuristicRun], cost: float, second: float
    ) -> Score | None:
        self.solved += 1
        try:
            answer = self.problem.solve(self.reference, instance, options=self.options)
        except Exception as error:  # a candidate less
            self.failed += 1
            self.failure = self.failure or f"{self.reference}: {error}"
            return None
        solution = answer.solution
        known = [trial.cost for trial in trials if trial.offline and trial.cost is not None]
        if answer.schedule is not None and solution.status != Status.ERROR:
            known.append(float(self.problem.cost(instance, answer.schedule)))
        if not known:
            return None
        best = min if self.problem.sense == "minimise" else max
        incumbent = best(known)
        bound = solution.bound if solution.status != Status.ERROR else None
        bound = incumbent if solution.status == Status.OPTIMAL else bound
        low = quotient(self.problem, cost, incumbent)
        high = math.inf if bound is None else max(low, quotient(self.problem, cost, bound))
        return Score(low, high, cost, incumbent, bound, solution.status.value, second)


def quotient(problem: Problem, cost: float, reference: float) -> float:
    """Cost against a reference value, 1 where they are equal, infinite against nothing."""
    above, below = (cost, reference) if problem.sense == "minimise" else (reference, cost)
    if above == below:
        return 1.0
    return above / below if below > 0 else math.inf


def draws_lots(problem: Problem, heuristic: str, space: Space) -> bool:
    """Whether a heuristic's schedule depends on its random generator, on a few instances."""
    for document in space.documents[:5]:
        instance = parse(problem.instance_type, json.loads(json.dumps(document)))
        costs = {run_heuristic(problem, instance, heuristic, seed).cost for seed in range(3)}
        if len(costs) > 1:
            return True
    return False
