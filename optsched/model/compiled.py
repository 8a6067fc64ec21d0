"""The model as the solvers take it: one sparse matrix, bounds and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.errors import ModelError
from optsched.model.expression import Expression, Floats, Relation

if TYPE_CHECKING:
    from optsched.model.model import Model


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear rows ``lower <= A x <= upper``."""

    matrix: sp.csr_array
    """Shape (rows, columns); no entry stored twice."""
    lower: Floats
    """Shape (rows,)."""
    upper: Floats
    """Shape (rows,)."""

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.lower)


@dataclass(frozen=True, eq=False)
class CompiledIndicator:
    """Rows that hold where all of their literals are true."""

    rows: Rows
    literals: NDArray[np.int32]
    """Columns of binary variables, shape (rows, literals)."""
    active: NDArray[np.bool_]
    """The value each literal must have, shape (literals,)."""
    name: str


@dataclass(frozen=True, eq=False)
class Compiled:
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
    row_blocks: dict[str, tuple[int, tuple[int, ...]]]
    """First row and shape of each linear block, by name."""
    column_blocks: dict[str, tuple[int, tuple[int, ...]]]
    """First column and shape of each variable block, by name."""
    indicators: tuple[CompiledIndicator, ...] = ()
    """Blocks handed to the solver as they are."""

    @property
    def is_linear_program(self) -> bool:
        """Whether there is nothing but continuous variables and linear rows."""
        return not self.integer.any() and not self.indicators

    def objective(self, x: Floats) -> float:
        """Objective value at a point."""
        return float(self.cost @ x) + self.offset

    def split(self, x: Floats) -> dict[str, Floats]:
        """A vector over all columns as arrays by variable name."""
        return _split(x, self.column_blocks)

    def split_rows(self, y: Floats) -> dict[str, Floats]:
        """A vector over all rows as arrays by block name."""
        return _split(y, self.row_blocks)

    def column_name(self, column: int) -> str:
        """Name and index of one column, for messages."""
        for name, (first, shape) in self.column_blocks.items():
            size = int(np.prod(shape))
            if first <= column < first + size:
                index = np.unravel_index(column - first, shape) if shape else ()
                return name + (f"[{', '.join(map(str, index))}]" if shape else "")
        raise ModelError(f"column {column} does not exist")


def _split(vector: Floats, blocks: dict[str, tuple[int, tuple[int, ...]]]) -> dict[str, Floats]:
    return {
        name: vector[first : first + int(np.prod(shape))].reshape(shape)
        for name, (first, shape) in blocks.items()
    }


def assemble(relations: list[Relation], columns: int) -> Rows:
    """Put blocks of rows under each other."""
    terms = [(relation.expression.size, relation.expression.terms) for relation in relations]
    count = sum(len(t.columns) for _, group in terms for t in group)
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
        lower[at:end] = np.ravel(relation.lower)
        upper[at:end] = np.ravel(relation.upper)
        at = end
    matrix = sp.csr_array((value, (row, column)), shape=(rows, columns))
    return Rows(matrix, lower, upper)


def linear(expression: Expression, columns: int) -> Floats:
    """Coefficients of a single expression, shape (columns,)."""
    cost = np.zeros(columns)
    for t in expression.terms:
        weights = np.broadcast_to(t.coefficients, t.columns.shape)
        cost += np.bincount(t.columns, weights=weights, minlength=columns)
    return cost


def check_finite(model: Model, compiled: Compiled) -> None:
    """Refuse numbers that no solver can take.

    Raises:
        ModelError: a coefficient is infinite or not a number, naming its block.
    """
    if (
        np.isfinite(compiled.cost.sum())
        and np.isfinite(compiled.rows.matrix.data.sum())
        and (not np.isnan(compiled.rows.lower).any() and not np.isnan(compiled.rows.upper).any())
    ):
        return
    if not np.isfinite(compiled.cost).all():
        column = int(np.argmin(np.isfinite(compiled.cost)))
        raise ModelError(f"objective: coefficient of {compiled.column_name(column)} is not finite")
    blocks: dict[str, Any] = compiled.row_blocks
    for name, (first, shape) in blocks.items():
        part = slice(first, first + int(np.prod(shape)))
        pointer = compiled.rows.matrix.indptr
        data = compiled.rows.matrix.data[pointer[part.start] : pointer[part.stop]]
        sides = (compiled.rows.lower[part], compiled.rows.upper[part])
        if not np.isfinite(data).all() or any(np.isnan(side).any() for side in sides):
            raise ModelError(f"block {name!r}: a coefficient or right-hand side is not finite")
