"""Online lower bounds, one scenario at a time: information relaxation with penalties.

A penalty charges decisions that use the future. While two scenarios have the same past, a price per
decision is charged in one and paid back in the other. An online algorithm decides the same in both
and so pays nothing in total. The least cost with hindsight and penalties, summed over the
scenarios, is therefore at most that of every online algorithm, for any prices. Better prices give a
tighter bound. Each model has one scenario only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import InputError
from optsched.online.lower_bound import CLOSED, Tree
from optsched.problem import Problem
from optsched.solvers.options import Options

if TYPE_CHECKING:
    from optsched.model.expression import Floats

ROUNDS = 50
"""Prices tried, at most."""


@dataclass(frozen=True)
class InformationRelaxation:
    """A bound on the mean ratio of every online algorithm, with lots or without."""

    low: float
    """No online algorithm's mean ratio is less."""
    hindsight: float
    """The bound without penalties."""
    rounds: int


def information_relaxation(
    problem: Problem,
    scenarios: Sequence[Any],
    probabilities: ArrayLike | None = None,
    *,
    target: float | None = None,
    rounds: int = ROUNDS,
    time_limit: float = 60.0,
) -> InformationRelaxation:
    """A lower bound on the mean ratio of online algorithms by hindsight with penalties.

    As a mean is no more than the largest, it bounds the ratio against any adversary, too: the
    probabilities of ``OnlineLowerBound.hardest`` lead to the lower bound of randomised algorithms,
    as far as penalties that are linear in the decisions go.

    Args:
        problem: whose jobs arrive, with a model for trees.
        scenarios: as for ``online_lower_bound``.
        probabilities: of the scenarios; None: all the same.
        target: a mean ratio that some online algorithm has: if it is reached, the search ends.
        rounds: prices tried, at most.
        time_limit: wall seconds of each solve.

    Raises:
        InputError: as for ``online_lower_bound``; probabilities that are not as many, or do not
            add up to 1.
    """
    from optsched.decomposition.lagrangian import maximise_dual
    from optsched.solve import solve

    count = len(scenarios)
    weight = np.full(count, 1.0 / max(1, count)) if probabilities is None else probabilities
    weight = np.asarray(weight, dtype=float)
    if weight.shape != (count,) or (weight < 0).any() or abs(weight.sum() - 1.0) > 1e-6:
        raise InputError.of("probabilities", weight.tolist(), f"{count} numbers that add up to 1")
    tree = Tree(problem, scenarios, Options(time_limit=time_limit))
    ends = np.cumsum([0, *(len(tie.rows[0]) for tie in tree.ties)])
    alone = [_Scenario(tree, i, ends) for i in range(count)]
    best = -math.inf

    def evaluate(prices: Floats) -> tuple[float, Floats]:
        nonlocal best
        value, excess = 0.0, np.zeros(len(prices))
        for one, share in zip(alone, weight / [o.high for o in tree.optima], strict=True):
            cost = one.cost * float(share)
            for part, sign, decided in one.tied:
                cost = cost + sign * (prices[part] @ decided)
            one.model.minimize(cost)
            solution = solve(one.model, options=tree.options)
            if not solution.has_point or solution.bound is None:
                raise InputError.of("time_limit", time_limit, "enough for a scenario's optimum")
            value += solution.bound
            point = one.model.vector(solution.values)
            for part, sign, decided in one.tied:
                excess[part] += sign * decided.at(point)
        best = max(best, value)
        return value, excess

    hindsight, _ = evaluate(np.zeros(ends[-1]))
    found = maximise_dual(
        evaluate,
        np.zeros(ends[-1]),
        lower=-np.inf,
        target=target,
        steps=rounds,
        stop=lambda: target is not None and best >= target - CLOSED,
    )
    return InformationRelaxation(found.value, hindsight, found.steps)


class _Scenario:
    """The offline model of one scenario of a tree, with room for what its past may have led to.

    Args:
        tree: of scenarios.
        i: which.
        ends: of each tie's prices among all.
    """

    def __init__(self, tree: Tree, i: int, ends: NDArray[np.int64]) -> None:
        from optsched.model import Model

        self.model = Model("hindsight")
        copy = tree.unfold(self.model, "s", tree.scenarios[i], tree.known[i])
        self.cost = copy.cost
        decided = {name: made.variable for name, made in copy.decisions.items()}
        for n, (_, name, rows) in enumerate(one for one in tree.barred if one[0] == i):
            self.model.add(f"barred {n}", decided[name][rows] == 0)
        self.tied = [
            (slice(ends[n], ends[n + 1]), sign, decided[tie.name][tie.rows[side]])
            for n, tie in enumerate(tree.ties)
            for side, sign in ((0, 1.0), (1, -1.0))
            if tie.scenarios[side] == i
        ]
        """Prices, whether paid or got back, and the decisions they are of."""
