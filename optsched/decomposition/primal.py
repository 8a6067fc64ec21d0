"""Integer solutions from columns: their check, the master problem as an integer program, dives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optsched.decomposition.branching import INTEGRAL
from optsched.decomposition.columns import Column, ColumnBlock
from optsched.decomposition.generation import SATISFIED, Generator
from optsched.decomposition.limits import Limits
from optsched.decomposition.pool import ColumnPool
from optsched.model import Model
from optsched.model.evaluate import row_excess
from optsched.model.expression import Floats
from optsched.model.matrix_form import Rows
from optsched.solvers.direct import solve_directly
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

_NEARLY = 0.95  # a dive rounds such fractions up along with the largest
_ROUNDS = 20  # most rounds of pricing after each step of a dive


@dataclass(frozen=True, eq=False)
class ColumnChoice:
    """Columns, how often each is used, and what they cost in all."""

    chosen: tuple[tuple[Column, float], ...]
    cost: float


@dataclass(frozen=True, eq=False)
class IntegerMaster:
    """The sides of the integer problem that candidates are checked against."""

    lower: Floats
    upper: Floats
    blocks: Sequence[ColumnBlock]

    def accept(self, pool: ColumnPool, numbers: Floats) -> ColumnChoice | None:
        """A whole number of each column as a solution, if it satisfies the problem."""
        counts = np.round(numbers)
        if (np.abs(numbers - counts) > INTEGRAL).any() or (counts < 0).any():
            return None
        used = np.bincount(pool.block, weights=counts, minlength=len(self.blocks))
        few = np.array([b.lower for b in self.blocks])
        many = np.array([b.upper for b in self.blocks])
        if (used < few).any() or (used > many).any():
            return None
        cuts, most = pool.cuts()
        free = np.full(len(most), -np.inf)
        for rows in (Rows(pool.matrix(), self.lower, self.upper), Rows(cuts, free, most)):
            if row_excess(rows, counts, SATISFIED).any():
                return None
        chosen = tuple((pool.columns[k], float(counts[k])) for k in np.flatnonzero(counts))
        return ColumnChoice(chosen, math.fsum(column.cost * n for column, n in chosen))

    def best_of(
        self,
        pool: ColumnPool,
        candidates: NDArray[np.int64],
        start: ColumnChoice | None,
        options: Options,
    ) -> ColumnChoice | None:
        """The best choice among some of the columns known, as far as the time allows."""
        model = Model("master over known columns")
        owner = pool.block[candidates]
        few = np.array([b.lower for b in self.blocks])
        many = np.array([b.upper for b in self.blocks])
        number = model.integer("number", len(candidates), upper=many[owner])
        model.minimize(number @ pool.cost[candidates])
        if len(self.lower):
            coefficients = pool.matrix()[:, candidates]
            model.add("rows", (coefficients @ number).between(self.lower, self.upper))
        cuts, most = pool.cuts()
        if len(most):
            model.add("cuts", cuts[:, candidates] @ number <= most)
        model.add("blocks", number.sum_by(owner, len(self.blocks)).between(few, many))
        if start is not None:
            position = {id(pool.columns[k]): i for i, k in enumerate(candidates)}
            counts = np.zeros(len(candidates))
            for column, times in start.chosen:
                if id(column) in position:
                    counts[position[id(column)]] = times
            options = replace(options, warm_start={"number": counts})
        solution = solve_directly(model, "highs", options)
        asked = options.stop is not None and options.stop.is_set()
        if solution.status is Status.INTERRUPTED and not asked:
            raise KeyboardInterrupt  # the back end has caught it; the search is to end too
        if not solution.has_point:
            return None
        numbers = np.zeros(len(pool))
        numbers[candidates] = solution["number"]
        return self.accept(pool, numbers)


def dive(
    generator: Generator, problem: IntegerMaster, limits: Limits, seconds: float
) -> ColumnChoice | None:
    """Round up the fractional column nearest to one, re-optimise, and so on.

    Few columns are generated on the way, so that what is left to serve can be served.
    """
    overall = generator.budget
    generator.budget = overall.within(seconds)
    try:
        generator.master.enter(limits)
        return _dive(generator, problem)
    finally:
        generator.budget = overall


def _dive(generator: Generator, problem: IntegerMaster) -> ColumnChoice | None:
    master = generator.master
    least = np.zeros(0)
    while not generator.budget.spent:
        point = generator.improve(_ROUNDS)
        if point.status is not Status.OPTIMAL:
            return None
        least = np.pad(least, (0, len(point.weights) - len(least)))
        whole = np.floor(point.weights + INTEGRAL)
        fraction = point.weights - whole
        if (fraction <= INTEGRAL).all():
            return problem.accept(master.pool, point.weights)
        raised = np.maximum(least, whole)
        raised[fraction >= min(_NEARLY, float(fraction.max()))] += 1.0
        if (raised == least).all():
            return None
        least = raised
        master.fix(least)
    return None
