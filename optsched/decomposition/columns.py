"""The types of column generation: columns, blocks, dual values, and the answer of pricing."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from optsched.errors import FieldProblem, InputError
from optsched.model.expression import Floats

Feature: TypeAlias = Hashable
"""Name of an original variable, such as ``(machine, slot)``; a column holds a whole number of
each."""

Rank: TypeAlias = Callable[[Feature], float]
"""How much a feature is preferred for branching."""


def alike(_: Feature) -> float:
    """The rank of features that are all as good."""
    return 0.0


Indices: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Column:
    """One way to serve a block: a whole schedule of a job, a cutting pattern."""

    block: int
    cost: float
    rows: Indices
    """Coupling rows in which it has a coefficient, each at most once."""
    values: Floats
    """The coefficients, in the order of ``rows``."""
    features: Mapping[Feature, int] = field(default_factory=dict)
    """What branching may speak of; a feature that is missing is 0."""
    payload: Any = None
    """Whatever the caller needs to turn the column back into a decision."""
    number: int | None = None
    """Its place in a list of all columns. Columns that cut rows or splits tell apart differ in it,
    unless they differ in anything else but the payload."""


@dataclass(frozen=True)
class ColumnBlock:
    """Interchangeable columns, of which between ``lower`` and ``upper`` are chosen in all.

    A job that must be scheduled once is ``ColumnBlock()``, one that may be rejected
    ``ColumnBlock(lower=0)``, n identical vehicles ``ColumnBlock(lower=0, upper=n)``, and rolls
    to cut from stock ``ColumnBlock(lower=0, upper=math.inf, least_cost=1.0)``. No upper limit
    means a billion columns (``optsched.decomposition.bound.ENDLESS``) where proofs need a number;
    a tree of what has no solution may then have no end but that of a limit.
    """

    lower: float = 1.0
    upper: float = 1.0
    least_cost: float | None = None
    """A proven lower bound on the cost of every column. Where a block has no upper limit, good
    bounds need a positive one of it, and one of every other block (0 will often do)."""

    def __post_init__(self) -> None:
        if not (0 <= self.lower <= self.upper and math.isfinite(self.lower)):
            raise InputError.of("block", self, "0 <= lower <= upper, lower finite")
        if self.least_cost is not None and not math.isfinite(self.least_cost):
            raise InputError.of("least_cost", self.least_cost, "a finite number, or None")


@dataclass(frozen=True)
class Condition:
    """A column has at least so many units of a feature."""

    feature: Feature
    at_least: int

    def holds(self, column: Column) -> bool:
        """Whether a column meets the condition."""
        return column.features.get(self.feature, 0) >= self.at_least


@dataclass(frozen=True)
class Term:
    """A price that applies to columns which meet all of some conditions."""

    conditions: frozenset[Condition]
    price: float

    def applies(self, column: Column) -> bool:
        """Whether a column pays (or earns) the price."""
        return all(condition.holds(column) for condition in self.conditions)


class AddedRow(Protocol):
    """A row that the search has added to the master problem: a cut, or what it branched on."""

    def of(self, column: Column) -> float:
        """The coefficient of a column."""
        ...


@dataclass(frozen=True, eq=False)
class Duals:
    """The prices under which a block looks for its cheapest column.

    The price of a column is ``weight * cost - rows[column.rows] @ column.values`` less the price
    of every term that applies to it, and less what it pays in rows added; ``price_of`` computes it.
    """

    rows: Floats
    """One price per coupling row: what one unit of the row is worth."""
    weight: float = 1.0
    """1, or 0 while the only question is whether the rows can be satisfied at all."""
    threshold: float = math.inf
    """Only columns of a lower price improve the master problem; a hint to heuristic pricing."""
    terms: tuple[Term, ...] = ()
    """Branching prices of this block. Empty unless the pricing declares to support them."""
    added: tuple[tuple[AddedRow, float], ...] = ()
    """Cut rows and split rows with their dual values. Empty unless the problem separates or
    splits."""
    lower: Mapping[Feature, int] = field(default_factory=dict)
    """Least units of a feature every column of the block must have."""
    upper: Mapping[Feature, int] = field(default_factory=dict)
    """Most units of a feature every column of the block may have."""
    exact: bool = False
    """Whether a heuristic answer would be of no use now: its bound is needed."""
    seconds: float = math.inf
    """Wall time left."""

    def price_of(self, column: Column) -> float:
        """The price of a column."""
        price = self.weight * column.cost - float(self.rows[column.rows] @ column.values)
        price -= sum(term.price for term in self.terms if term.applies(column))
        return price - sum(dual * row.of(column) for row, dual in self.added)

    def allows(self, column: Column) -> bool:
        """Whether a column respects the bounds on features."""
        units = column.features
        return all(units.get(f, 0) >= least for f, least in self.lower.items()) and all(
            units.get(f, 0) <= most for f, most in self.upper.items()
        )


@dataclass(frozen=True, eq=False)
class Priced:
    """What a block offers at given prices."""

    columns: Sequence[Column] = ()
    """Cheap columns, best first or not; those that do not improve are left aside."""
    bound: float | None = None
    """A proven lower bound on the price of every column allowed. Exact pricing: the least price
    itself; infinity if no column is allowed at all; None from heuristic pricing."""


Price: TypeAlias = Callable[[int, Duals], Priced]
"""``price(block, duals)``: the cheapest columns of a block."""


class PricingError(ValueError):
    """A pricing callback contradicts itself; no bound can be built on it."""


def check_column(column: Column, blocks: int, rows: int) -> None:
    """Refuse a column that does not fit the master problem.

    Raises:
        InputError: naming the field.
    """
    problems = []
    if not 0 <= column.block < blocks:
        problems.append(FieldProblem("column.block", column.block, f"0..{blocks - 1}"))
    if not math.isfinite(column.cost):
        problems.append(FieldProblem("column.cost", column.cost, "a finite number"))
    index, values = np.asarray(column.rows), np.asarray(column.values)
    if index.ndim != 1 or index.shape != values.shape:
        problems.append(FieldProblem("column.values", values.shape, f"shape {index.shape}"))
    elif len(index) and not (
        index.dtype.kind in "iu"
        and index.min() >= 0
        and index.max() < rows
        and len(np.unique(index)) == len(index)
    ):
        allowed = f"distinct integers in 0..{rows - 1}"
        problems.append(FieldProblem("column.rows", index.tolist(), allowed))
    elif not np.isfinite(values).all():
        problems.append(FieldProblem("column.values", values.tolist(), "finite numbers"))
    if problems:
        raise InputError(problems)
