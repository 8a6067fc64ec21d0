"""Online lower bounds: the least ratio of any online algorithm on given scenarios.

Scenarios are instances that may share a past. Until their jobs differ for the first time, an online
algorithm cannot distinguish them and decides the same. The model has one copy of the offline model
per scenario, and decisions are equal as long as the pasts are. It describes *all* online algorithms
on this tree of futures, so its optimum is the best that any of them can do. With more futures the
bound is larger or the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, ModelError
from optsched.instances.document import dumps
from optsched.online.state import arrivals_of
from optsched.problem import Problem
from optsched.problem.arrivals import Arrivals
from optsched.problem.violation import describe
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution

if TYPE_CHECKING:
    from optsched.model import Model
    from optsched.model.expression import Expression, Floats

ROUNDS = 200
"""Strategies generated for randomised algorithms, at most."""

CLOSED = 1e-7
"""Gap at which no further strategy is looked for."""


@dataclass(frozen=True)
class Interval:
    """The least ratio: no algorithm does better than ``low``, and one was found at ``high``."""

    low: float
    high: float


@dataclass(frozen=True)
class OnlineLowerBound:
    """The online lower bound on a tree of scenarios, as ratios to each scenario's optimum."""

    optima: Sequence[Interval]
    """Offline, one per scenario: best proven bound, and cost of the best schedule."""
    deterministic: Interval
    """Least largest ratio of an algorithm that draws no lots."""
    randomised: Interval
    """Least largest ratio of an algorithm that draws lots: of its expected costs."""
    mean: Interval
    """Least mean ratio, all scenarios equally likely; lots do not help there."""
    schedules: Sequence[Any]
    """What the best deterministic algorithm found does, one per scenario."""
    strategies: int
    """Deterministic algorithms of which the randomised one is a mixture."""
    hardest: Sequence[float]
    """Probabilities of the scenarios at which every algorithm's mean ratio is at least
    ``randomised.low``."""


def online_lower_bound(
    problem: Problem, scenarios: Sequence[Any], *, time_limit: float = 60.0
) -> OnlineLowerBound:
    """The least ratio to the optimum that any online algorithm can have on a tree of scenarios.

    Args:
        problem: whose jobs arrive, with a model for trees (``Arrivals.unfold``).
        scenarios: different instances; what differs of two is not known before the first job that
            only one of them has.
        time_limit: wall seconds of each solve.

    Raises:
        InputError: a problem without such a model or one that maximises, no scenario, two that
            are the same, one whose optimum is 0, or limits too short to find a schedule.

    Example:
        >>> from optsched.problem import problem
        >>> from optsched.evaluation.runs import instance_rng
        >>> chosen = problem("preemptive")
        >>> one = chosen.generate(instance_rng(0), jobs=2, servers=2, types=1, time_scale=0.03)
        >>> online_lower_bound(chosen, [one]).deterministic
        Interval(low=1.0, high=1.0)
    """
    tree = Tree(problem, scenarios, Options(time_limit=time_limit))
    deterministic, strategy = tree.least_largest()
    mean, _ = tree.least_mean(np.full(len(scenarios), 1.0 / len(scenarios)))
    randomised, hardest = tree.mixed()
    low = max(randomised.low, mean.low)  # the mean is a weighting of the scenarios, too
    return OnlineLowerBound(
        optima=tree.optima,
        deterministic=Interval(max(deterministic.low, low), deterministic.high),
        randomised=Interval(low, min(randomised.high, deterministic.high)),
        mean=mean,
        schedules=strategy,
        strategies=len(tree.ratios),
        hardest=hardest.tolist(),
    )


def stopping_scenarios(problem: Problem, instance: Any) -> list[Any]:
    """The futures of an adversary that may stop sending jobs after any moment at which some came.

    Args:
        problem: whose jobs arrive.
        instance: all that may come; jobs in order of arrival are numbered alike in all futures.

    Returns:
        An instance per moment, the last with all jobs.
    """
    arrivals = arrivals_of(problem)
    times = np.asarray(arrivals.times(instance), dtype=float)
    order = np.argsort(times, kind="stable")
    counts = np.searchsorted(times[order], np.unique(times), side="right")
    return [arrivals.select(instance, order[:count]) for count in counts]


def optimum(problem: Problem, instance: Any, options: Options) -> tuple[Interval, Any]:
    """What is known of an instance's optimum, and the best schedule.

    Raises:
        InputError: no schedule is found, or one that costs nothing.
    """
    answer = problem.solve(problem.reference, instance, options=options)
    solution = answer.solution
    if answer.schedule is None or solution.bound is None:
        raise InputError.of("time_limit", options.time_limit, "enough for an optimum")
    cost = float(problem.cost(instance, answer.schedule))
    if min(cost, solution.bound) <= 0:
        raise InputError.of("scenarios", f"an optimum of {solution.bound:g}", "optima above 0")
    return Interval(min(cost, solution.bound), cost), answer.schedule


class Tie(NamedTuple):
    """Decisions that are the same in two scenarios, as neither can be told from the other yet."""

    name: str
    """Name of the decisions, as their copies call them."""
    scenarios: tuple[int, int]
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Positions among the decisions of each, shape (n,)."""


class Tree:
    """The tied copies, and the strategies found so far.

    Args:
        problem: whose scenarios.
        scenarios: at least one.
        options: of each solve.
        optima: if they are known, with what costs are compared by; None: they are solved for.
    """

    def __init__(
        self,
        problem: Problem,
        scenarios: Sequence[Any],
        options: Options,
        optima: Sequence[Interval] | None = None,
    ) -> None:
        arrivals = arrivals_of(problem)
        if arrivals.unfold is None or problem.sense != "minimise":
            raise InputError.of(
                "problem", problem.name, "one with a model of its online algorithms"
            )
        if not scenarios:
            raise InputError.of("scenarios", [], "at least one instance")
        self.problem, self.scenarios, self.options = problem, list(scenarios), options
        pasts = [_past(arrivals, one) for one in self.scenarios]
        apart = np.array([[_parting(a, b) for b in pasts] for a in pasts])
        np.fill_diagonal(apart, -np.inf)
        if np.isposinf(apart).any():
            raise InputError.of("scenarios", "two of them", "instances that differ in some job")
        self.best: list[Any] = []
        """Offline schedules, one per scenario, if they were solved for."""
        if optima is None:
            known = [optimum(problem, one, options) for one in self.scenarios]
            optima, self.best = [one for one, _ in known], [schedule for _, schedule in known]
        self.optima = optima
        from optsched.model import Model

        self.model = Model("online algorithms on a tree")
        self.unfold = arrivals.unfold
        self.known = [float(apart[i].max()) for i in range(len(pasts))]
        """From when on each scenario is told apart from all others."""
        self.copies = [
            arrivals.unfold(self.model, f"s{i}", one, self.known[i])
            for i, one in enumerate(self.scenarios)
        ]
        self.ties: list[Tie] = []
        self.barred: list[tuple[int, str, NDArray[np.int64]]] = []
        """Scenario, name and positions of decisions that are none where they are tied to."""
        for i in range(1, len(pasts)):  # pasts branch as a tree: one neighbour each is enough
            other = int(apart[i, :i].argmax())
            ranks = [{job: rank for rank, (_, _, job) in enumerate(pasts[k])} for k in (i, other)]
            self._tie(i, other, float(apart[i, other]), ranks)
        self.ratios: list[Floats] = []
        """Ratios of each strategy found: cost by optimum, from above, by scenario."""

    def _tie(self, i: int, k: int, until: float, ranks: Sequence[Mapping[int, int]]) -> None:
        """What is decided before two scenarios part is the same in both."""
        for name, mine in self.copies[i].decisions.items():
            theirs = self.copies[k].decisions[name]
            places = [
                {
                    (order[job], *rest): at
                    for at, (job, *rest) in enumerate(one.what.tolist())
                    if one.when[at] < until
                }
                for one, order in zip((mine, theirs), ranks, strict=True)
            ]
            label = f"s{i} as s{k}:{name}"
            both = [(at, places[1][key]) for key, at in places[0].items() if key in places[1]]
            if both:
                a, b = np.array(both, dtype=np.int64).T
                self.model.add(label, mine.variable[a] - theirs.variable[b] == 0)
                self.ties.append(Tie(name, (i, k), (a, b)))
            for side, (at_side, one, there, other) in enumerate(
                ((i, mine, places[0], places[1]), (k, theirs, places[1], places[0]))
            ):  # what is no decision there is none here
                alone = [at for key, at in there.items() if key not in other]
                if alone:
                    rows = np.array(alone, dtype=np.int64)
                    self.model.add(f"{label}:{side}", one.variable[rows] == 0)
                    self.barred.append((at_side, name, rows))

    # strategies

    def _share(self, i: int) -> Expression:
        """A scenario's cost by its optimum, from below."""
        return self.copies[i].cost * (1.0 / self.optima[i].high)

    def _solved(self, model: Model) -> tuple[float, list[Any]]:
        """A bound from below, and a strategy; its ratios are kept."""
        from optsched.solve import solve

        solution = solve(model, options=self.options)
        if not solution.has_point or solution.bound is None:
            said = f"{solution.status} {solution.message}".strip()
            allowed = f"enough for a strategy, which was not found ({said})"
            raise InputError.of("time_limit", self.options.time_limit, allowed)
        schedules = [self._checked(i, solution) for i in range(len(self.scenarios))]
        costs = [self.problem.cost(*pair) for pair in zip(self.scenarios, schedules, strict=True)]
        self.ratios.append(np.array([c / o.low for c, o in zip(costs, self.optima, strict=True)]))
        return float(solution.bound), schedules

    def _checked(self, i: int, solution: Solution) -> Any:
        schedule = self.copies[i].decode(solution)
        problem, instance = self.problem, self.scenarios[i]
        violations = problem.check(instance, schedule, **problem.reference_check)
        if violations:
            raise ModelError(f"the strategy in scenario {i}: {describe(violations)}")
        return schedule

    def largest(self) -> Model:
        """The model whose optimum is the least largest ratio of a deterministic algorithm."""
        model = self.model.copy()
        largest = model.continuous("largest ratio", 1, lower=1.0)
        for i in range(len(self.scenarios)):
            model.add(f"s{i} ratio", self._share(i) <= largest[0])
        model.minimize(largest.sum())
        return model

    def least_largest(self) -> tuple[Interval, list[Any]]:
        """The strategy whose largest ratio is least."""
        low, schedules = self._solved(self.largest())
        return Interval(max(1.0, low), float(self.ratios[-1].max())), schedules

    def mean(self, weight: Floats) -> Model:
        """The model whose optimum is the least mean ratio, lots or none, at these probabilities."""
        model = self.model.copy()
        mean: Any = sum(
            (self._share(i) * float(w) for i, w in enumerate(weight) if w > 0), start=0.0
        )
        model.minimize(mean)
        return model

    def least_mean(self, weight: Floats) -> tuple[Interval, list[Any]]:
        """The strategy whose mean ratio is least."""
        low, schedules = self._solved(self.mean(weight))
        return Interval(max(1.0, low), float(self.ratios[-1] @ weight)), schedules

    def mixed(self) -> tuple[Interval, Floats]:
        """The mixture of strategies whose largest expected ratio is least, by strategy generation.

        At the worst probabilities of the scenarios for what is there, the best answer to them is
        found, until none is better: von Neumann's theorem, and Yao's principle for the low end.
        """
        low, hardest = 1.0, np.full(len(self.scenarios), 1.0 / len(self.scenarios))
        for _ in range(ROUNDS):
            high, weight = _game(np.array(self.ratios))
            if high - low <= CLOSED:
                break
            found = self.least_mean(weight)[0].low
            if found >= low:
                low, hardest = found, weight
            new = self.ratios[-1]
            if any(np.allclose(new, old, rtol=0, atol=1e-12) for old in self.ratios[:-1]):
                break  # the best answer is there already: what is left is the solver's gap
        return Interval(min(low, high), high), hardest


def _game(ratios: Floats) -> tuple[float, Floats]:
    """Value of a matrix game for who chooses the row, and the best mixture of columns against."""
    from optsched.model import Model
    from optsched.solve import solve

    model = Model("game")
    weight = model.continuous("weight", ratios.shape[1], lower=0, upper=1)
    value = model.continuous("value", 1, lower=0.0)
    model.add("one", weight.sum() == 1)
    model.add("rows", ratios @ weight >= value[np.zeros(len(ratios), dtype=int)])
    model.maximize(value.sum())
    solution = solve(model)
    probability = np.maximum(solution["weight"], 0.0)
    return float(solution["value"][0]), probability / probability.sum()


# pasts

Past = list[tuple[float, str, int]]
"""When jobs arrive, all that is known of each, and its position: in an order of content."""


def _past(arrivals: Arrivals, instance: Any) -> Past:
    times = np.asarray(arrivals.times(instance), dtype=float).tolist()
    alone = [dumps(arrivals.select(instance, np.array([j]))) for j in range(len(times))]
    return sorted(zip(times, alone, range(len(times)), strict=True))


def _parting(one: Past, other: Past) -> float:
    """When two scenarios can first be told apart; infinite: never."""
    for (time, job, _), (its_time, its_job, _) in zip(one, other, strict=False):
        if (time, job) != (its_time, its_job):
            return min(time, its_time)
    longer = max(one, other, key=len)
    shorter = min(len(one), len(other))
    return longer[shorter][0] if len(one) != len(other) else np.inf
