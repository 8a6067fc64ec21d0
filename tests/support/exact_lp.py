"""Tiny linear programs in rational arithmetic, as a judge of solvers that round.

Dense dictionary simplex with Bland's rule (Bland 1977), which never cycles. Meant for a handful
of variables and rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from optsched.solvers.solution import Status

ZERO, ONE = Fraction(0), Fraction(1)
Row = tuple[Sequence[Fraction], Fraction | None, Fraction | None]
"""Coefficients, lower and upper side; None: no side."""


@dataclass(frozen=True)
class ExactOptimum:
    """The answer to a linear program: optimal, infeasible or unbounded."""

    status: Status
    value: Fraction = ZERO
    point: tuple[Fraction, ...] = ()


def maximise(
    cost: Sequence[Fraction],
    rows: Sequence[Row],
    lower: Sequence[Fraction | None],
    upper: Sequence[Fraction | None],
) -> ExactOptimum:
    """Maximise ``cost @ x`` over rows and bounds, exactly.

    Args:
        cost: one per variable.
        rows: each over all variables.
        lower: None: no bound.
        upper: None: no bound.
    """
    # x_i = shift_i + sum of the non-negative variables that stand for it
    shift = [ZERO] * len(cost)
    parts: list[tuple[int, Fraction]] = []
    limits: list[Row] = []
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        shift[i] = low if low is not None else (high if high is not None else ZERO)
        parts += [(i, ONE if low is not None or high is None else -ONE)]
        if low is None and high is None:
            parts += [(i, -ONE)]
        if low is not None and high is not None:
            limits += [([ONE if j == i else ZERO for j in range(len(cost))], None, high)]
    table: list[list[Fraction]] = []
    for coefficients, low, high in (*rows, *limits):
        base = sum((a * s for a, s in zip(coefficients, shift, strict=True)), ZERO)
        spread = [coefficients[i] * sign for i, sign in parts]
        if high is not None:
            table.append([*spread, high - base])
        if low is not None:
            table.append([*(-a for a in spread), base - low])
    y = _Dictionary(table, len(parts)).solve([cost[i] * sign for i, sign in parts])
    if isinstance(y, Status):
        return ExactOptimum(y)
    point = list(shift)
    for (i, sign), value in zip(parts, y, strict=True):
        point[i] += sign * value
    value = sum((c * x for c, x in zip(cost, point, strict=True)), ZERO)
    return ExactOptimum(Status.OPTIMAL, value, tuple(point))


class _Dictionary:
    """``basic_i = b_i - sum_j a_ij nonbasic_j``, all variables non-negative."""

    def __init__(self, table: list[list[Fraction]], width: int) -> None:
        self.width = width
        self.rows = table
        self.nonbasic = list(range(width))
        self.basic = list(range(width, width + len(table)))

    def solve(self, cost: list[Fraction]) -> list[Fraction] | Status:
        """Values of the first ``width`` variables, or why there are none."""
        if any(row[-1] < 0 for row in self.rows) and not self._find_feasible():
            return Status.INFEASIBLE
        objective = [ZERO] * (len(self.nonbasic) + 1)  # the last entry counts down the value
        for variable, c in enumerate(cost):
            if variable in self.nonbasic:
                objective[self.nonbasic.index(variable)] += c
            else:
                row = self.rows[self.basic.index(variable)]
                objective = [o - c * a for o, a in zip(objective, row, strict=True)]
        if not self._improve(objective):
            return Status.UNBOUNDED
        value = dict(zip(self.basic, (row[-1] for row in self.rows), strict=True))
        return [value.get(variable, ZERO) for variable in range(self.width)]

    def _find_feasible(self) -> bool:
        """Phase one: an extra variable that relaxes every row, driven to zero."""
        extra = -1  # Bland's rule takes the least index, so it leaves as soon as it can
        self.nonbasic.append(extra)
        self.rows = [[*row[:-1], -ONE, row[-1]] for row in self.rows]
        objective = [ZERO] * self.width + [-ONE, ZERO]
        worst = min(range(len(self.rows)), key=lambda i: self.rows[i][-1])
        objective = self._pivot(worst, self.width, objective)
        self._improve(objective)
        if extra in self.basic:
            return False  # it would have left at zero
        column = self.nonbasic.index(extra)
        del self.nonbasic[column]
        for row_values in self.rows:
            del row_values[column]
        return True

    def _improve(self, objective: list[Fraction]) -> bool:
        """Pivot to the optimum; False: there is none."""
        while True:
            better = [j for j in range(len(self.nonbasic)) if objective[j] > 0]
            if not better:
                return True
            column = min(better, key=self.nonbasic.__getitem__)
            leaving = [i for i, row in enumerate(self.rows) if row[column] > 0]
            if not leaving:
                return False
            row = min(leaving, key=lambda i: (self._ratio(i, column), self.basic[i]))
            objective = self._pivot(row, column, objective)

    def _ratio(self, row: int, column: int) -> Fraction:
        return self.rows[row][-1] / self.rows[row][column]

    def _pivot(self, row: int, column: int, objective: list[Fraction]) -> list[Fraction]:
        """Exchange a basic and a nonbasic variable; the objective in the new ones."""
        pivot = self.rows[row][column]
        pivoted = [a / pivot for a in self.rows[row]]
        pivoted[column] = ONE / pivot
        for i, other in enumerate(self.rows):
            if i != row and other[column]:
                self.rows[i] = _eliminated(other, pivoted, column)
        self.rows[row] = pivoted
        self.basic[row], self.nonbasic[column] = self.nonbasic[column], self.basic[row]
        return _eliminated(objective, pivoted, column)


def _eliminated(row: list[Fraction], pivoted: list[Fraction], column: int) -> list[Fraction]:
    factor = row[column]
    new = [a - factor * p for a, p in zip(row, pivoted, strict=True)]
    new[column] = -factor * pivoted[column]
    return new
