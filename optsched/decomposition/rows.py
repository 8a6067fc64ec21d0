"""Rows of the master problem that a search adds: cuts, and expressions it branches on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from optsched.decomposition.columns import Column
from optsched.model.expression import Floats

Coefficient: TypeAlias = Callable[[Column], float] | Floats
"""Coefficient of a column; if columns are listed, of every column, shape (columns,)."""


def _coefficient(given: Coefficient, column: Column) -> float:
    return float(given(column) if callable(given) else given[column.number])


ROUNDS_SEEN = 3
"""Last rounds of cuts that tell whether there are to be more."""


@dataclass(frozen=True, eq=False)
class CutRow:
    """A row that every solution satisfies: coefficients of its columns sum to at most ``upper``.

    Pricing finds the row, with its dual value, in ``Duals.added``.
    """

    upper: float
    coefficient: Coefficient

    def of(self, column: Column) -> float:
        """Return the coefficient of a column."""
        return _coefficient(self.coefficient, column)


@dataclass(frozen=True, eq=False)
class Split:
    """A sum over the columns chosen to branch on: at most k, or at least k + 1.

    It must be whole in every solution. Return the same object at every node: a new one takes a
    row of its own.
    """

    amount: Coefficient
    rank: float = 0.0
    """Rank: of several fractional sums, one of the highest rank is branched on."""

    def of(self, column: Column) -> float:
        """Return the amount of a column."""
        return _coefficient(self.amount, column)


@dataclass
class CutRounds:
    """Rounds of cuts at a node, and whether there are to be more."""

    least: float
    """Part of what is left between value and cutoff that the last rounds have to gain."""
    values: list[float] = field(default_factory=list)

    def promising(self, value: float, cutoff: float) -> bool:
        """Take the relaxation's value after a round; return whether to cut again."""
        self.values.append(value)
        if len(self.values) <= ROUNDS_SEEN:
            return True
        left = cutoff - value if math.isfinite(cutoff) else max(1.0, abs(value))
        return value - self.values[-1 - ROUNDS_SEEN] > self.least * left
