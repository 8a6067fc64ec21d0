"""Choose what to branch on: a number of columns that should be an integer and is fractional."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.decomposition.columns import Column, ColumnBlock, Condition, Rank, alike
from optsched.decomposition.limits import Restriction, SplitRestriction
from optsched.decomposition.pool import ColumnPool
from optsched.decomposition.rows import Split
from optsched.model.expression import Floats

INTEGRAL = 1e-6
"""Distance from a whole number up to which a weight, or a sum of weights, counts as one."""


@dataclass(frozen=True)
class Branching:
    """A fractional number of columns, to be rounded down in one child and up in the other."""

    block: int
    conditions: frozenset[Condition]
    number: float
    rank: float = 0.0
    """Rank of its features: see ``find_branchings``."""

    @property
    def score(self) -> tuple[int, float, float]:
        """Few conditions first, then high rank, then the distance from the nearest whole number."""
        fraction = self.number - math.floor(self.number)
        return -len(self.conditions), self.rank, min(fraction, 1.0 - fraction)

    @property
    def down(self) -> Restriction:
        """At most the number rounded down."""
        return Restriction(self.block, self.conditions, 0.0, float(math.floor(self.number)))

    @property
    def up(self) -> Restriction:
        """At least the number rounded up."""
        return Restriction(self.block, self.conditions, float(math.ceil(self.number)), math.inf)


@dataclass(frozen=True)
class SplitBranching:
    """A fractional sum of columns, to be rounded down in one child and up in the other."""

    split: Split
    number: float

    @property
    def score(self) -> tuple[float, float]:
        """High rank first, then the distance from the nearest whole number."""
        fraction = self.number - math.floor(self.number)
        return self.split.rank, min(fraction, 1.0 - fraction)

    @property
    def down(self) -> SplitRestriction:
        """At most the number rounded down."""
        return SplitRestriction(self.split, -math.inf, float(math.floor(self.number)))

    @property
    def up(self) -> SplitRestriction:
        """At least the number rounded up."""
        return SplitRestriction(self.split, float(math.ceil(self.number)), math.inf)


def find_splits(
    splits: Sequence[Split], chosen: Sequence[tuple[Column, float]]
) -> list[SplitBranching]:
    """The sums that are fractional at a point, the best to branch on first."""
    found = []
    for split in splits:
        number = math.fsum(split.of(column) * weight for column, weight in chosen)
        if abs(number - round(number)) > INTEGRAL:
            found.append(SplitBranching(split, number))
    return sorted(found, key=lambda one: one.score, reverse=True)


def find_branchings(
    pool: ColumnPool,
    weights: Floats,
    blocks: Sequence[ColumnBlock],
    most_conditions: int,
    rank: Rank = alike,
) -> list[Branching]:
    """Numbers to branch on, the best first; none if every number that may be asked for is whole.

    The columns of a block that have at least so many units of some features are counted; if all
    such counts are whole, for every set of conditions, then so are the weights of columns that
    differ in features (Vanderbeck and Wolsey, 1996). In a block of at most one column, single
    conditions suffice.

    Args:
        pool: the columns.
        weights: of the columns, shape (columns,).
        blocks: to tell single columns from many.
        most_conditions: largest set of conditions that the pricing supports.
        rank: among as many conditions, those of the highest sum are preferred.
    """
    used = np.flatnonzero(weights > INTEGRAL)
    owner = pool.block[used]
    found: list[Branching] = []
    for b in np.unique(owner[~_whole(weights[used])]):
        members = used[owner == b]
        limit = min(most_conditions, 1) if blocks[b].upper <= 1 else most_conditions
        found += _in_block(pool, int(b), members, weights[members], limit, rank)
    return sorted(found, key=lambda branching: branching.score, reverse=True)


def _in_block(
    pool: ColumnPool,
    block: int,
    members: NDArray[np.int64],
    weights: Floats,
    limit: int,
    rank: Rank,
) -> list[Branching]:
    """The numbers to branch on in one block, with as few conditions as possible."""
    total = float(weights.sum())
    if not _whole(np.array([total])).all():
        return [Branching(block, frozenset(), total)]
    conditions, holds = _conditions(pool, members)
    nested = [(frozenset[Condition](), np.ones(len(members), dtype=np.bool_), 0)]
    for _ in range(limit):
        found: list[Branching] = []
        deeper = []
        for chosen, meeting, first in nested:
            numbers = (holds[first:] & meeting) @ weights
            for offset in np.flatnonzero(~_whole(numbers)):
                extended = chosen | {conditions[first + offset]}
                preferred = sum(rank(condition.feature) for condition in extended)
                found.append(Branching(block, extended, float(numbers[offset]), preferred))
            deeper += [
                (chosen | {conditions[i]}, meeting & holds[i], i + 1)
                for i in range(first, len(conditions))
                if 1 < (meeting & holds[i]).sum() < meeting.sum()
            ]
        if found:
            return found
        nested = deeper
    return []


def _conditions(
    pool: ColumnPool, members: NDArray[np.int64]
) -> tuple[list[Condition], NDArray[np.bool_]]:
    """Every condition that tells these columns apart, and which columns meet it."""
    units: dict[object, NDArray[np.int64]] = {}
    for position, k in enumerate(members):
        for feature, number in pool.columns[k].features.items():
            units.setdefault(feature, np.zeros(len(members), dtype=np.int64))[position] = number
    conditions, holds = [], []
    for feature, numbers in units.items():
        for threshold in np.unique(numbers)[1:]:
            conditions.append(Condition(feature, int(threshold)))
            holds.append(numbers >= threshold)
    shape = (len(conditions), len(members))
    return conditions, np.array(holds, dtype=np.bool_).reshape(shape)


def _whole(numbers: Floats) -> NDArray[np.bool_]:
    return np.abs(numbers - np.round(numbers)) <= INTEGRAL
