"""The optimum of a tiny model without a solver: every integer point, and exact rationals.

The integers a user chooses are enumerated. What a product, table, maximum or active slot is worth
follows from them; what is left, continuous variables, is a linear program that is solved in
rational arithmetic. The code shares nothing with the lowering and the solvers it judges.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from support.exact_lp import Row, maximise
from support.integer_box import IntegerBox, Mask, interval
from support.pieces import pieces

from optsched.errors import ModelError
from optsched.model import FEASIBILITY, MatrixForm, Model, Rows
from optsched.model.expression import Floats
from optsched.model.matrix_form import assemble
from optsched.solvers.solution import Status
from optsched.testing import ConformanceCase

MOST_CHOICES = 10_000
"""Ways in which blocks over continuous variables may hold that are tried at one integer point."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """What is true of a model."""

    status: Status
    """Optimal, infeasible or unbounded."""
    value: float | None = None
    """Objective at an optimal point."""
    values: Mapping[str, Floats] | None = None
    """An optimal point by variable name."""


def enumerate_optimum(model: Model) -> Optimum:
    """The optimum by enumeration.

    Args:
        model: its integer variables have finite bounds and few points between them; of the
            nonlinear blocks, those that ``pieces`` knows, and indicators, may touch continuous
            variables, and with those, numbers should be sums of powers of two: they are taken for
            exactly what their floating-point form says.

    Raises:
        ModelError: the model is too large or holds something else.
        AssertionError: the model's own check rejects the optimum found.
    """
    compiled = model.compile(model.kinds)
    grid = IntegerBox(model, compiled)
    for block in compiled.nonlinear:
        grid.take(block)
    alive = grid.alive & grid.rows_may_hold(compiled.rows)
    bounds = np.ones(len(alive), dtype=bool)
    for side, sign in ((compiled.lower, 1.0), (compiled.upper, -1.0)):
        bounds &= (sign * ((grid.high if sign > 0 else grid.low) - side) >= -1e-9).all(axis=1)
    if (alive & ~bounds).any():
        raise AssertionError("the bounds of a result exclude a value that it can take")
    on: list[Mask] = []
    for indicator in compiled.indicators:
        on.append((grid.low[:, indicator.literals] == indicator.active).all(axis=2))
        alive &= grid.rows_may_hold(indicator.rows, on[-1])
    best = _best(grid, compiled, np.flatnonzero(alive), on)
    if isinstance(best, Status):
        return Optimum(best)
    values = compiled.split(best)
    broken = model.violations(values, FEASIBILITY)
    if broken:
        raise AssertionError(f"enumeration and the model's own check differ: {broken}")
    return Optimum(Status.OPTIMAL, model.value(values), values)


def _best(
    grid: IntegerBox, compiled: MatrixForm, points: np.ndarray, on: list[Mask]
) -> Floats | Status:  # fmt: skip
    """The best of these points, all columns chosen, or why there is none."""
    if not len(points):
        return Status.INFEASIBLE
    sign = 1.0 if compiled.maximise else -1.0
    # the best the bounds leave: the search stops at the first point that is worse
    cost = sp.csr_array(sign * compiled.cost[None, :])
    promise = interval(cost, np.zeros(1), grid.low[points], grid.high[points])[1][:, 0]
    order = np.argsort(-promise, kind="stable")
    if grid.known.all():
        return np.array(grid.low[points[order[0]]])
    best: Floats | None = None
    reached = Fraction(0)
    for place in order:
        if best is not None and promise[place] <= reached:
            break
        point = int(points[place])
        remaining = _Remaining(grid, compiled, point, [mask[point] for mask in on], sign)
        for rows in remaining.alternatives():
            found = maximise(remaining.cost, rows, remaining.lower, remaining.upper)
            if found.status is Status.UNBOUNDED:
                return Status.UNBOUNDED
            value = found.value + remaining.earned
            if found.status is Status.OPTIMAL and (best is None or value > reached):
                reached = value
                best = remaining.base.copy()
                best[remaining.unknown] = [float(v) for v in found.point]
    return Status.INFEASIBLE if best is None else best


class _Remaining:
    """The linear programs that an integer point leaves: one per choice of pieces of its blocks."""

    def __init__(
        self, grid: IntegerBox, compiled: MatrixForm, point: int, on: list[Mask], sign: float
    ) -> None:
        self.grid = grid
        self.base: Floats = grid.low[point]
        self.unknown = np.flatnonzero(~grid.known)
        low, high = grid.low[point, self.unknown], grid.high[point, self.unknown]
        self.lower = [_side(v) for v in low]
        self.upper = [_side(v) for v in high]
        self.cost, self.earned = self._split(sign * compiled.cost)
        self.rows = self._restricted(compiled.rows)
        for indicator, active in zip(compiled.indicators, on, strict=True):
            rows = indicator.rows
            self.rows += self._restricted(
                Rows(rows.matrix[active], rows.lower[active], rows.upper[active])
            )
        known = np.where(grid.known, self.base, np.nan)
        self.options = [
            [self._restricted(assemble(piece, grid.columns), settled=True) for piece in some]
            for block in grid.open
            for some in pieces(block, known)
        ]

    def alternatives(self) -> Iterator[list[Row]]:
        """The rows, for every way in which the open blocks may hold."""
        if np.prod([float(len(some)) for some in self.options]) > MOST_CHOICES:
            raise ModelError("too many ways in which blocks over continuous variables may hold")
        for chosen in itertools.product(*self.options):
            yield [*self.rows, *itertools.chain.from_iterable(chosen)]

    def _split(self, coefficients: Floats) -> tuple[list[Fraction], Fraction]:
        """Coefficients of the unknown columns, and what the known ones sum up to."""
        known = coefficients * self.grid.known
        total = sum(
            (Fraction(known[j]) * Fraction(self.base[j]) for j in np.flatnonzero(known)),
            Fraction(0),
        )
        return [Fraction(c) for c in coefficients[self.unknown]], total

    def _restricted(self, given: Rows, *, settled: bool = False) -> list[Row]:
        """Rows over the unknown columns, the known ones inserted; ``settled``: also rows that
        mention no unknown one, which elsewhere have been seen to hold.
        """
        rows: list[Row] = []
        for coefficients, low, high in zip(
            given.matrix.toarray(), given.lower, given.upper, strict=True
        ):
            free, known = self._split(coefficients)
            if any(free) or settled:
                sides = [None if (s := _side(v)) is None else s - known for v in (low, high)]
                rows.append((free, sides[0], sides[1]))
        return rows


def _side(value: float) -> Fraction | None:
    return Fraction(value) if np.isfinite(value) else None


def counted_case(name: str, model: Model, scale: float | None = None) -> ConformanceCase:
    """A model and its answer by enumeration; with a scale, it need not be proven."""
    truth = enumerate_optimum(model)
    if scale is None:
        return ConformanceCase(name, lambda: model, truth.status, truth.value)
    return ConformanceCase(
        name, lambda: model, truth.status, truth.value, scale=scale, must_prove=False
    )
