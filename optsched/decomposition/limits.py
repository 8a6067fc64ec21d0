"""The decisions of branching, as the master problem and pricing see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.decomposition.columns import ColumnBlock, Condition, Feature
from optsched.decomposition.pool import ColumnPool, RowKey
from optsched.decomposition.rows import Split
from optsched.model.expression import Floats


@dataclass(frozen=True)
class Restriction:
    """Between ``lower`` and ``upper`` of the columns chosen meet all conditions."""

    block: int
    conditions: frozenset[Condition]
    """None at all: every column of the block counts."""
    lower: float
    upper: float


@dataclass(frozen=True)
class SplitRestriction:
    """The sum of a split is between ``lower`` and ``upper``."""

    split: Split
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Limits:
    """The restrictions of one node, sorted by where they act.

    In a block of at most one column, a condition that must hold is a bound on the feature of
    every column, which pricing respects. In a block of interchangeable columns it is a row of
    the master problem that counts the columns meeting the conditions, whose dual price pricing
    receives as a term. A split is a row in any case.
    """

    lower: Floats
    """Least number of columns, shape (blocks,)."""
    upper: Floats
    """Largest number of columns, shape (blocks,)."""
    least: dict[int, dict[Feature, int]]
    """By block and feature, the least units any column may have."""
    most: dict[int, dict[Feature, int]]
    rows: dict[RowKey, tuple[float, float]]
    """Sides of each counting row and each split."""
    kept: NDArray[np.bool_] | None = None
    """Columns of a list that may be used, by their numbers; None: all."""

    @classmethod
    def of(
        cls,
        blocks: Sequence[ColumnBlock],
        restrictions: Iterable[Restriction | SplitRestriction] = (),
        kept: NDArray[np.bool_] | None = None,
    ) -> Limits:
        """Sort the restrictions."""
        limits = cls(
            np.array([b.lower for b in blocks], dtype=np.float64),
            np.array([b.upper for b in blocks], dtype=np.float64),
            {},
            {},
            {},
            kept,
        )
        for restriction in restrictions:
            if isinstance(restriction, SplitRestriction):
                limits._narrow(restriction.split, -np.inf, restriction)
            else:
                limits._take(restriction, single=blocks[restriction.block].upper <= 1)
        return limits

    def _take(self, restriction: Restriction, *, single: bool) -> None:
        b = restriction.block
        if not restriction.conditions:
            self.lower[b] = max(self.lower[b], restriction.lower)
            self.upper[b] = min(self.upper[b], restriction.upper)
        elif single:
            (condition,) = restriction.conditions  # branching never asks more of a single column
            feature, units = condition.feature, condition.at_least
            if restriction.lower >= 1:
                self.lower[b] = max(self.lower[b], 1.0)
                bounds = self.least.setdefault(b, {})
                bounds[feature] = max(bounds.get(feature, units), units)
            else:
                bounds = self.most.setdefault(b, {})
                bounds[feature] = min(bounds.get(feature, units - 1), units - 1)
        else:
            self._narrow((b, restriction.conditions), 0.0, restriction)

    def _narrow(
        self, key: RowKey, least: float, restriction: Restriction | SplitRestriction
    ) -> None:
        lower, upper = self.rows.get(key, (least, np.inf))
        self.rows[key] = max(lower, restriction.lower), min(upper, restriction.upper)

    @property
    def empty(self) -> bool:
        """Whether the restrictions contradict each other outright."""
        return (
            bool((self.lower > self.upper).any())
            or any(lower > upper for lower, upper in self.rows.values())
            or any(
                units > self.most.get(b, {}).get(feature, units)
                for b, bounds in self.least.items()
                for feature, units in bounds.items()
            )
        )

    def allowed(self, pool: ColumnPool) -> NDArray[np.bool_]:
        """Which columns respect the bounds on features and are kept, shape (columns,)."""
        allowed = np.ones(len(pool), dtype=np.bool_)
        if self.kept is not None:
            allowed = self.kept[np.array([c.number for c in pool.columns], dtype=np.int64)]
        for bounds, sign in ((self.least, 1), (self.most, -1)):
            for b, features in bounds.items():
                mine = pool.block == b
                for feature, units in features.items():
                    allowed &= ~(mine & (sign * pool.units(b, feature) < sign * units))
        return allowed
