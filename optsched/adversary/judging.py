"""The score of a candidate: the lower end of the heuristic's ratio on it."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from optsched.adversary.space import Space
from optsched.errors import InputError, words
from optsched.evaluation.heuristic_run import HeuristicRun, heuristic_rng, run_heuristic
from optsched.evaluation.ratios import ratio
from optsched.instances.document import parse, validated
from optsched.problem import Bound, Heuristic, Problem, granted_check_options
from optsched.problem.violation import describe
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Status
from optsched.solvers.threads import ended_by

SEEDS = 5
"""Runs of a heuristic that draws lots, of which the mean counts."""

ANY = "any_online"
"""In place of a heuristic's name: every algorithm that is online."""

UNSOLVED = "not solved"
"""Status of a candidate that a bound, or what is claimed of it, has ruled out."""

KNOWN = "known"
"""Status of a candidate whose optimum was not asked for, as a known schedule was good enough."""


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
    schedule: Any = field(default=None, compare=False, repr=False)
    """One that costs ``incumbent``, if it is at hand."""

    @property
    def rank(self) -> tuple[float, float]:
        """The larger, the worse for the heuristic."""
        return self.low, self.second


@dataclass(frozen=True)
class Wanted:
    """What a candidate is judged for: no more work goes into it than that takes."""

    need: float = -math.inf
    """A ratio; a candidate that is certain to be below is not worth a solve, nor the checking of
    schedules: its score says so, and its low end is 0."""
    known: Any = None
    """A good schedule of a like candidate; if it is one of this, too, and shows the ratio to be
    at least ``need``, the optimum is not asked for."""
    beyond: tuple[float, float] = (-math.inf, 0.0)
    """Rank up to which a score is what the heuristic claims; above, its schedules are checked."""


ALL = Wanted()
"""To know what a candidate is worth, whatever that is."""


class Judge:
    """Judges candidates, counting what came of them.

    Args:
        problem: whose instances.
        heuristic: name and options.
        reference: formulation with options; None: the problem's.
        options: limits of its solve.
        seeds: of the heuristic's generator, one run each.
        generator: options by which the problem's generator could have made each candidate, so far
            as the problem can tell; None: candidates may be any.
    """

    def __init__(
        self,
        problem: Problem,
        heuristic: str,
        *,
        reference: str | None = None,
        options: Options | None = None,
        seeds: Sequence[int] = (0,),
        generator: Mapping[str, Any] | None = None,
    ) -> None:
        self.problem, self.heuristic = problem, heuristic
        self.reference, self.options = reference or problem.reference, options
        self.seeds, self.generator = tuple(seeds), generator
        self._method = problem.formulation(self.reference)
        self.evaluated = self.solved = self.refused = self.failed = 0
        self.failure = ""
        """What the first run that failed says."""
        self._bounds = [one for one in problem.bounds.values() if one.proven and one.quick]

    def document(self, document: Any, wanted: Wanted = ALL) -> Score | None:
        """The score of decoded JSON; None if it is no instance, or the heuristic fails on it."""
        kind = self.problem.instance_type
        try:
            instance = kind.from_document(validated(kind.document_type, document))
        except (InputError, ValueError, OverflowError):
            self.refused += 1
            return None
        if self.generator is not None and strange(self.problem, instance, self.generator):
            self.refused += 1
            return None
        return self.instance(instance, wanted)

    def instance(self, instance: Any, wanted: Wanted = ALL) -> Score | None:
        """As ``document``, of an instance."""
        self.evaluated += 1
        made = self._made(instance)
        if made is None:
            return None
        cost = math.fsum(claimed for _, claimed in made) / len(made)
        score = self._by_known(instance, cost, wanted)
        if score is None:
            score = self._by_bounds(instance, cost, wanted.need)
            if score.status == UNSOLVED and score.high >= wanted.need:
                score = self._solved(instance, score, wanted.need)
        if score is None or score.status == UNSOLVED or score.rank <= wanted.beyond:
            return score
        return score if all(self._holds(instance, schedule) for schedule, _ in made) else None

    def settled(self, document: Any, score: Score) -> Score | None:
        """The score by the exact method of a candidate that was judged by a known schedule."""
        return self._solved(parse(self.problem.instance_type, document), score, -math.inf)

    def _by_bounds(self, instance: Any, cost: float, need: float) -> Score:
        """The score without a solve: no certain end from below, quick bounds from above."""
        score = Score(0.0, math.inf, cost, None, None, UNSOLVED)
        for one in self._bounds:
            try:
                value = self._bound(one, instance)
            except Exception:  # the solve decides
                continue
            against = ratio(self.problem.sense, cost, value)
            if against is None:
                continue
            if not score.second and math.isfinite(against):
                score = replace(score, second=against)
            if against < score.high:
                score = replace(score, high=against, bound=value)
            if score.high < need:
                break
        return score

    def _bound(self, one: Bound, instance: Any) -> float | None:
        """A bound's value; one that takes longer than a solve may is not computed again."""
        limit = None if self.options is None else self.options.time_limit
        if limit is None:
            return float(one.compute(instance))
        stop = threading.Event()
        value = ended_by(lambda: float(one.compute(instance)), stop, limit)
        if stop.is_set():
            raise KeyboardInterrupt
        if value is None:
            self._bounds = [other for other in self._bounds if other is not one]
        return value

    def _by_known(self, instance: Any, cost: float, wanted: Wanted) -> Score | None:
        """The score against a schedule of a like candidate; None if that does not do."""
        known = wanted.known
        if known is None:
            return None
        try:
            incumbent = float(self.problem.cost(instance, known))
            low = ratio(self.problem.sense, cost, incumbent)
            if low is None or low < wanted.need:
                return None
            if self.problem.check(instance, known, **self.problem.reference_check):
                return None
        except Exception:  # it is of other jobs
            return None
        score = self._by_bounds(instance, cost, -math.inf)
        high = max(low, score.high)
        return replace(score, low=low, high=high, incumbent=incumbent, status=KNOWN, schedule=known)

    @cached_property
    def _algorithm(self) -> tuple[Heuristic, dict[str, Any]]:
        return self.problem.heuristic(self.heuristic)

    def run(self, instance: Any, seed: int) -> HeuristicRun:
        """One run of the heuristic, checked."""
        return run_heuristic(self.problem, instance, self.heuristic, seed)

    def _made(self, instance: Any) -> list[tuple[Any, float]] | None:
        """The heuristic's schedules, one per seed, not yet checked, and what they cost."""
        made = []
        chosen, options = self._algorithm
        for seed in self.seeds:
            try:
                schedule = chosen.run(instance, heuristic_rng(seed), **options)
                cost = float(self.problem.cost(instance, schedule))
            except Exception as error:  # a heuristic under test may do anything
                self._fail(f"error: {words(error)}")
                return None
            if not math.isfinite(cost):
                self._fail(f"a schedule costs {cost}")
                return None
            made.append((schedule, cost))
        return made

    def _holds(self, instance: Any, schedule: Any) -> bool:
        """Whether a schedule of the heuristic passes the checker, at the speed it ran at."""
        granted = granted_check_options(self.problem, schedule)
        violations = self.problem.check(instance, schedule, **granted)
        if violations:
            self._fail(describe(violations))
        return not violations

    def _fail(self, message: str) -> None:
        self.failed += 1
        self.failure = self.failure or message

    def _solved(self, instance: Any, quick: Score, need: float) -> Score | None:
        """The score by the exact method; if it is below the need, nothing more is checked."""
        self.solved += 1
        method, own = self._method
        try:
            answer = method.solve(instance, options=self.options, **own)
            claimed = ratio(self.problem.sense, quick.cost, answer.solution.objective)
            if claimed is not None and claimed < need:
                return replace(quick, incumbent=answer.solution.objective)
            answer = self.problem.verify(instance, answer, **own)
            schedule = answer.schedule
            known = [] if schedule is None else [self.problem.cost(instance, schedule)]
        except Exception as error:  # a candidate less
            self._fail(f"{self.reference}: {words(error)}")
            return None
        if not known:
            trial = self.run(instance, self.seeds[0])
            known = [trial.cost] if trial.offline and trial.cost is not None else []
        score = scored(self.problem, quick.cost, answer, known)
        if score is None:
            said = answer.solution.message or "no schedule"
            self._fail(f"{self.reference}: {answer.solution.status.value}, {said}")
            return None
        return replace(score, second=quick.second, schedule=schedule)


def strange(problem: Problem, instance: Any, options: Mapping[str, Any]) -> list[str]:
    """Places of an instance that the generator could not have made, by the problem's own word."""
    if problem.strange is None:
        return []
    return list(problem.strange(instance, problem.generator_call(options)))


def scored(problem: Problem, cost: float, answer: Answer, known: Sequence[float]) -> Score | None:
    """The score of a heuristic's cost by what is known of the optimum.

    Args:
        problem: whose.
        cost: of the heuristic.
        answer: of the exact method, verified; its bound counts.
        known: costs of schedules that are solutions of the exact models.

    Returns:
        None if there is no ratio: nothing is known, or the answer contradicts itself.
    """
    solution = answer.solution
    if not known or solution.status == Status.ERROR:
        return None
    incumbent = (min if problem.sense == "minimise" else max)(known)
    bound = incumbent if solution.status == Status.OPTIMAL else solution.bound
    low, high = ratio(problem.sense, cost, incumbent), ratio(problem.sense, cost, bound)
    if low is None:
        return None
    top = math.inf if high is None else max(low, high)
    return Score(low, top, cost, incumbent, bound, solution.status.value)


def draws_lots(problem: Problem, heuristic: str, space: Space) -> bool:
    """Whether a heuristic's schedule depends on its random generator, on a few instances."""
    for document in space.documents[:5]:
        instance = parse(problem.instance_type, document)
        costs = {run_heuristic(problem, instance, heuristic, seed).cost for seed in range(3)}
        if len(costs) > 1:
            return True
    return False
