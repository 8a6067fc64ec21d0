"""The model as solvers take it: one sparse matrix, bounds and types."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import ModelError
from optsched.model.base import Block
from optsched.model.expression import LARGEST_INDEX, Expression, Floats, Relation, Shape
from optsched.model.labels import Labels
from optsched.model.ranges import NOISE
from optsched.model.terms import FEW, Coefficients, added_up
from optsched.model.variables import column_name

if TYPE_CHECKING:
    import scipy.sparse as sp

EVERY_PART = frozenset({"cost", "offset", "rows", "columns", "matrix"})
"""The part of a compiled model that can change while its structure stays."""


@dataclass(eq=False)
class Rows:
    """Linear rows ``lower <= A x <= upper``; no entry of A is stored twice."""

    held: sp.csr_array | sp.csc_array | Coefficients
    """A as it was made, by columns if it is large, for those who take it either way; by rows
    once ``matrix`` has been asked for. Shape (rows, columns)."""
    lower: Floats
    """Shape (rows,)."""
    upper: Floats
    """Shape (rows,)."""

    @property
    def matrix(self) -> sp.csr_array:
        """A by rows."""
        if isinstance(self.held, Coefficients):
            self.held = self.held.matrix()
        elif self.held.format != "csr":
            self.held = self.held.tocsr()
        return self.held

    @property
    def lines(self) -> sp.csr_array | Coefficients:
        """The arrays of A by rows, at no cost if it is small."""
        return self.held if isinstance(self.held, Coefficients) else self.matrix

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.lower)

    @cached_property
    def lengths(self) -> NDArray[np.integer[Any]]:
        """Number of terms in each row, shape (rows,)."""
        pointer = self.lines.indptr
        return pointer[1:] - pointer[:-1]

    @cached_property
    def filled(self) -> NDArray[np.intp]:
        """Rows that have terms, in order."""
        return self.lengths.nonzero()[0]

    @cached_property
    def starts(self) -> NDArray[np.integer[Any]]:
        """First entry of each row that has terms, in order."""
        ends: NDArray[np.integer[Any]] = self.lengths.cumsum()
        return np.asarray(ends - self.lengths)[self.filled]


@dataclass(frozen=True, eq=False)
class CompiledIndicator:
    """Rows that hold if all of their literals are true."""

    rows: Rows
    literals: NDArray[np.int32]
    """Columns of binary variables, shape (rows, literals)."""
    active: NDArray[np.bool_]
    """The value each literal must have, shape (literals,)."""
    name: str
    shape: Shape
    """Shape of the block; rows are its entries in C order."""


@dataclass(frozen=True, eq=False)
class MatrixForm:
    """minimise (or maximise) ``cost @ x + offset`` over rows, bounds and integrality."""

    cost: Floats
    """Shape (columns,)."""
    offset: float
    maximise: bool
    rows: Rows
    lower: Floats
    """Shape (columns,)."""
    upper: Floats
    """Shape (columns,)."""
    integer: NDArray[np.bool_]
    """Shape (columns,)."""
    row_blocks: dict[str, tuple[int, Shape]]
    """First row and shape of each linear block, by name."""
    column_blocks: dict[str, tuple[int, Shape]]
    """First column and shape of each variable block, by name."""
    labels: Mapping[str, Labels] = field(default_factory=dict)
    """Labels of each variable block that has any, by name."""
    row_labels: Mapping[str, Labels] = field(default_factory=dict)
    """Labels of each linear block that has any, by name."""
    indicators: tuple[CompiledIndicator, ...] = ()
    """Indicator blocks handed to the solver as they are."""
    nonlinear: tuple[Block, ...] = ()
    """Blocks of other kinds handed to the solver as they are."""

    @cached_property
    def has_integers(self) -> bool:
        """Whether any column is integer."""
        return bool(self.integer.any())

    @cached_property
    def mixes_types(self) -> bool:
        """Whether there are integer and continuous columns."""
        return self.has_integers and not bool(self.integer.all())

    @cached_property
    def movable(self) -> Floats:
        """By how much each column can move while integers stay: its range; 0 of an integer."""
        with np.errstate(invalid="ignore"):  # infinite less infinite
            return np.where(self.integer, 0.0, self.upper - self.lower)

    @cached_property
    def largest_switch(self) -> float:
        """The largest coefficient of an integer column if there are continuous ones, or 0."""
        if not self.mixes_types:
            return 0.0
        lines = self.rows.lines
        return float(np.abs(lines.data[self.integer[lines.indices]]).max(initial=0.0))

    @property
    def is_linear_program(self) -> bool:
        """Whether there is nothing but continuous variables and linear rows."""
        return not (self.has_integers or self.indicators or self.nonlinear)

    def objective(self, x: Floats) -> float:
        """Objective value at a point."""
        return float(self.cost @ x) + self.offset

    def split(self, x: Floats) -> dict[str, Floats]:
        """A vector over all columns as arrays by variable name."""
        return {
            name: x[first : first + math.prod(shape)].reshape(shape)
            for name, (first, shape) in self.column_blocks.items()
        }

    def split_rows(self, y: Floats) -> dict[str, Floats]:
        """A vector over all rows as arrays by block name."""
        return {
            name: y[first : first + math.prod(shape)].reshape(shape)
            for name, (first, shape) in self.row_blocks.items()
        }

    def column_name(self, column: int) -> str:
        """Name and index of one column, for messages."""
        return column_name(self.column_blocks, column)


def assemble(relations: list[Relation], columns: int) -> Rows:
    """Put blocks of rows under each other.

    Raises:
        ModelError: more rows or terms than 32 bits count.
    """
    terms = [(relation.expression.size, relation.expression.terms) for relation in relations]
    count = sum([len(t.columns) for _, group in terms for t in group])
    if max(count, sum([size for size, _ in terms])) > LARGEST_INDEX:
        raise ModelError(f"a model has at most {LARGEST_INDEX} rows and as many terms")
    row = np.empty(count, dtype=np.int32)
    column = np.empty(count, dtype=np.int32)
    value = np.empty(count, dtype=np.float64)
    rows = at = 0
    for size, group in terms:
        for t in group:
            end = at + len(t.columns)
            if t.entries is None:
                row[at:end] = np.arange(rows, rows + size, dtype=np.int32)
            else:
                np.add(t.entries, rows, out=row[at:end], casting="unsafe")
            column[at:end] = t.columns
            value[at:end] = t.coefficients
            at = end
        rows += size
    lower, upper = np.empty(rows), np.empty(rows)
    at = 0
    for relation in relations:
        end = at + relation.expression.size
        for sides, side in (lower, relation.lower), (upper, relation.upper):
            sides[at:end] = side if isinstance(side, float) else side.reshape(-1)
        at = end
    held: sp.csc_array | Coefficients
    if count > FEW:
        import scipy.sparse as sp

        held = sp.csc_array((value, (row, column)), shape=(rows, columns))
    else:
        held = added_up(value, row, column, rows, columns)
    if len(held.data) < count:  # terms were added up: 0.1 + 0.2 - 0.3 is meant to be nothing
        held, sizes = (added_up(v, row, column, rows, columns) for v in (value, np.abs(value)))
        held = held.where(np.abs(held.data) > NOISE * sizes.data)
    return Rows(held, lower, upper)


def linear(expression: Expression, columns: int) -> Floats:
    """Coefficients of a single expression, shape (columns,)."""
    cost = np.zeros(columns)
    for t in expression.terms:
        np.add.at(cost, t.columns, t.coefficients)
    return cost


def check_finite(compiled: MatrixForm, parts: Collection[str] = EVERY_PART) -> None:
    """Refuse numbers that no solver can take.

    Args:
        compiled: the model.
        parts: which of "cost", "offset", "rows" and "matrix" are to be looked at.

    Raises:
        ModelError: a coefficient or side is infinite or not a number, naming its block.
    """
    if not math.isfinite(compiled.offset):
        raise ModelError("the objective: its constant is not finite")
    if "cost" in parts and not _finite(compiled.cost):
        column = int(np.argmin(np.isfinite(compiled.cost)))
        raise ModelError(
            f"the objective: the coefficient of {compiled.column_name(column)} is not finite"
        )
    if "rows" not in parts and "matrix" not in parts:
        return
    for rows, blocks in (
        (compiled.rows, compiled.row_blocks),
        *((block.rows, {block.name: (0, block.shape)}) for block in compiled.indicators),
    ):
        if not (_finite(rows.held.data) and _sides_fit(rows.lower, rows.upper)):
            _check_rows(rows, blocks)


def _check_rows(rows: Rows, blocks: dict[str, tuple[int, Shape]]) -> None:
    pointer = rows.matrix.indptr
    for name, (first, shape) in blocks.items():
        last = first + math.prod(shape)
        if not _finite(rows.matrix.data[pointer[first] : pointer[last]]):
            raise ModelError(f"block {name!r}: a coefficient is not finite")
        if not _sides_fit(rows.lower[first:last], rows.upper[first:last]):
            raise ModelError(f"block {name!r}: a right-hand side is not finite")


def _finite(values: Floats) -> bool:
    least, most = np.minimum.reduce(values, initial=0.0), np.maximum.reduce(values, initial=0.0)
    return math.isfinite(least) and math.isfinite(most)  # a NaN is both, no array is made


def _sides_fit(lower: Floats, upper: Floats) -> bool:
    """Whether no side is NaN, nor infinite if nothing would satisfy it."""
    greatest = np.maximum.reduce(lower, initial=-np.inf)
    return bool(greatest < np.inf and np.minimum.reduce(upper, initial=np.inf) > -np.inf)
