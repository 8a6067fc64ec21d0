"""The storage of an array of linear expressions: runs of terms (entry, column, coefficient)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import scipy.sparse as sp

Floats = NDArray[np.float64]
Columns = NDArray[np.int32]
Shape = tuple[int, ...]

FEW = 2000
"""So many terms are sorted by numpy in less time than scipy takes for a matrix."""


class Terms(NamedTuple):
    """Terms ``coefficient * x[column]``, each added to one entry of the flattened expression."""

    entries: NDArray[np.integer[Any]] | None
    """Entry each term belongs to; None: term ``i`` belongs to entry ``i``, all entries once."""
    columns: Columns
    coefficients: Floats | float
    """One per term, or one for all."""

    def scaled(self, factor: Floats | float) -> Terms:
        """Each entry multiplied by its own factor (flat), or all by one."""
        if not isinstance(factor, float) and self.entries is not None:
            factor = factor[self.entries]
        return Terms(self.entries, self.columns, self.coefficients * factor)

    def moved(self, target: NDArray[np.integer[Any]]) -> Terms:
        """Entry ``i`` added to entry ``target[i]``."""
        entries = target if self.entries is None else target[self.entries]
        return Terms(entries, self.columns, self.coefficients)

    def spelled_out(self) -> tuple[NDArray[np.integer[Any]], Columns, Floats]:
        """Entries, columns and coefficients as arrays of one length."""
        entries = (
            np.arange(len(self.columns), dtype=np.int32) if self.entries is None else self.entries
        )
        coefficients = (
            np.full(len(entries), self.coefficients)
            if isinstance(self.coefficients, float)
            else self.coefficients
        )
        return entries, self.columns, coefficients


def side_by_side(parts: list[tuple[int, tuple[Terms, ...]]]) -> tuple[Terms, ...]:
    """Terms of flattened expressions one after the other, each given by its size and terms."""
    if all(len(terms) == 1 and terms[0].entries is None for _, terms in parts):
        spelled = [terms[0].spelled_out() for _, terms in parts]
        columns, weights = (np.concatenate([one[i] for one in spelled]) for i in (1, 2))
        return (Terms(None, columns, weights),)
    found, first = [], 0
    for size, terms in parts:
        place = np.arange(first, first + size, dtype=np.int32)
        found += [t.moved(place) for t in terms]
        first += size
    return tuple(found)


def gathered(terms: Terms, flat: NDArray[np.int32], size: int) -> Terms:
    """Terms of the entries ``flat``, renumbered by position."""
    coefficients = terms.coefficients
    if terms.entries is None:
        return Terms(
            None,
            terms.columns[flat],
            coefficients if isinstance(coefficients, float) else coefficients[flat],
        )
    # terms sorted by entry; an entry may have none or many, and may be taken more than once
    order = np.argsort(terms.entries, kind="stable")
    first = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(terms.entries, minlength=size), out=first[1:])
    length = (first[1:] - first[:-1])[flat]
    entries = np.repeat(np.arange(len(flat), dtype=np.int32), length)
    step = np.arange(len(entries)) - np.repeat(np.cumsum(length) - length, length)
    chosen = order[first[flat[entries]] + step]
    return Terms(
        entries,
        terms.columns[chosen],
        coefficients if isinstance(coefficients, float) else coefficients[chosen],
    )


def multiplied(matrix: sp.csr_array | Floats, terms: Terms) -> Terms:
    """Terms of ``matrix @ expression``, the matrix dense or sparse."""
    if terms.entries is not None:
        import scipy.sparse as sp

        entries, columns, weights = terms.spelled_out()
        width = int(columns.max(initial=-1)) + 1
        inner = sp.csr_array((weights, (entries, columns)), shape=(matrix.shape[1], width))
        product = (sp.csr_array(matrix) @ inner).tocoo()
        return Terms(product.row, product.col.astype(np.int32), product.data)
    if isinstance(matrix, np.ndarray):
        row, column = (ends.astype(np.int32) for ends in np.nonzero(matrix))
        values = matrix[row, column]
    else:
        row = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
        column, values = matrix.indices, matrix.data
    coefficients = terms.coefficients
    factor = coefficients if isinstance(coefficients, float) else coefficients[column]
    return Terms(row, terms.columns[column], values * factor)


class Coefficients(NamedTuple):
    """Rows of a sparse matrix as scipy keeps them, at a fraction of its price if they are few.

    Columns of a row are in order, none stored twice.
    """

    data: Floats
    indices: NDArray[np.integer[Any]]
    indptr: Columns
    columns: int
    """Number of columns of the matrix."""

    @property
    def format(self) -> str:
        """In scipy's words: by rows."""
        return "csr"

    def where(self, chosen: NDArray[np.bool_]) -> Coefficients:
        """Some of the entries."""
        start = np.append(0, np.cumsum(chosen))[self.indptr].astype(np.int32)
        return Coefficients(self.data[chosen], self.indices[chosen], start, self.columns)

    def matrix(self) -> sp.csr_array:
        """Scipy's, over the same arrays."""
        import scipy.sparse as sp

        shape = (len(self.indptr) - 1, self.columns)
        return sp.csr_array((self.data, self.indices, self.indptr), shape=shape)


def added_up(
    value: Floats,
    row: NDArray[np.integer[Any]],
    column: NDArray[np.integer[Any]],
    rows: int,
    columns: int,
) -> Coefficients:
    """The matrix of some terms, those of one place added up."""
    if len(row) > FEW:
        import scipy.sparse as sp

        matrix = sp.csr_array((value, (row, column)), shape=(rows, columns))
        return Coefficients(matrix.data, matrix.indices, matrix.indptr, columns)
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    again = (row[1:] == row[:-1]) & (column[1:] == column[:-1])
    if again.any():
        first = np.flatnonzero(np.append(True, ~again))
        row, column, value = row[first], column[first], np.add.reduceat(value, first)
    start = np.zeros(rows + 1, dtype=np.int32)
    np.bincount(row, minlength=rows).cumsum(out=start[1:])
    return Coefficients(value, column, start, columns)
