"""Split rows of integers with large coefficients into digits, which tolerances do not affect.

A solver takes 1e-6 away from an integer for the integer. In a row of bytes, this is thousands of
bytes. ``a k <= b`` in integers is therefore split at a base B: with ``a = B a' + a''`` and
``b = B b' + b''`` it holds exactly if ``a'' k - B c <= b''`` and ``a' k + c <= b'`` hold for some
integer carry c. Repeated on the second row, no coefficient is larger than B. Shown by
``test_knapsacks_of_large_numbers_have_the_optimum_of_enumeration`` and ``test_cents_are_exact``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.model.matrix_form import MatrixForm, Rows
from optsched.solvers.dual_bound import derived_bounds
from optsched.solvers.repairs.attempt import Attempt
from optsched.solvers.scaling import Flags, scale_rows
from optsched.solvers.solution import Status

LARGE = 1e8
"""Solvers have been seen to lose optima by larger coefficients of whole numbers."""
TIED = 1e-8
"""Relative difference of coefficients that nearly tie."""
_SAME = 2.0**-48  # relative difference up to which they are the same, but for rounding
_BLUR = 2.0**-20
"""Distance to a whole number that a solver may take for none."""
_BASE = 2**15
"""The largest base; rows of many columns have smaller ones, so that their blur stays below 1/2."""
_LEAST_BASE = 2**6
_FURTHEST = 2.0**53  # columns without an end are taken to end there


def large_in_digits(form: MatrixForm) -> MatrixForm:
    """The model with those rows of integer columns in digits that solvers have been wrong about.

    These are rows of whole numbers of ``LARGE`` or more, and rows of decimals that nearly tie.
    """
    data = form.rows.held.data
    large = np.abs(data).max(initial=0.0) >= LARGE
    if not form.has_integers or not (large or (data != np.rint(data)).any()):
        return form
    alone, size, decimal = _integer_rows(form)
    chosen = alone & np.where(decimal, False, size >= LARGE)
    chosen[np.flatnonzero(alone & decimal)] |= _nearly_tied(form.rows, alone & decimal)
    return (_in_digits(form, np.flatnonzero(chosen)) if chosen.any() else None) or form


def solve_in_digits(attempt: Attempt) -> None:
    """Solve again with all rows of integer columns in digits if the point breaks a row."""
    x = attempt.x
    if x is None or attempt.solution.status is not Status.ERROR:
        return
    if (digits := in_digits(attempt.given)) is None:
        return
    exact = attempt.ask(digits, start=x)
    columns = len(attempt.given.cost)
    attempt.mend(exact if exact.x is None else replace(exact, x=exact.x[:columns]))


def _nearly_tied(rows: Rows, chosen: Flags) -> Flags:
    """Whether two sizes in a row differ by less than ``TIED`` of the larger, of the rows chosen.

    HiGHS (1.12) has been seen to lose optima of such rows at its finest tolerance.
    """
    part = rows.matrix[np.flatnonzero(chosen)]
    row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    size = np.abs(part.data)
    order = np.lexsort((size, row))
    row, size = row[order], size[order]
    apart = size[1:] - size[:-1]
    close = (row[1:] == row[:-1]) & (apart > _SAME * size[1:]) & (apart < TIED * size[1:])
    return np.bincount(row[1:], close, part.shape[0]) > 0


def in_digits(form: MatrixForm) -> MatrixForm | None:
    """The model with its rows of integer columns in digits; None if it has none in question.

    Rows of decimals are made whole first, as in :mod:`optsched.solvers.scaling`.
    """
    alone, size, decimal = _integer_rows(form)
    return _in_digits(form, np.flatnonzero(alone & (decimal | (size * _BLUR > 0.5))))


def _integer_rows(form: MatrixForm) -> tuple[Flags, NDArray[Any], Flags]:
    """Which rows have integer columns only; the size of their coefficients; which have decimals."""
    rows, matrix = form.rows, form.rows.matrix
    row = np.repeat(np.arange(rows.count), rows.lengths)
    mixed = np.bincount(row, ~form.integer[matrix.indices], rows.count) > 0
    size = np.bincount(row, np.abs(matrix.data), rows.count)
    decimal = np.bincount(row, matrix.data != np.rint(matrix.data), rows.count) > 0
    return ~mixed & (rows.lengths > 0), size, decimal


def _in_digits(form: MatrixForm, chosen: NDArray[np.intp]) -> MatrixForm | None:
    """The model with some of its rows in digits; None if their numbers are too large for it.

    The rows stay, without terms and sides; carries and rows of digits are added at the end.
    """
    rows = form.rows
    part = Rows(rows.matrix[chosen], rows.lower[chosen], rows.upper[chosen])
    lower, upper = derived_bounds(rows, form.lower, form.upper)
    lower = np.ceil(np.maximum(lower, -_FURTHEST))
    upper = np.floor(np.minimum(upper, _FURTHEST))
    scaled = scale_rows(part, lower, upper)
    split = np.isfinite(scaled.slack)
    if not split.any():
        return None
    digits = _Digits(lower.tolist(), upper.tolist())
    pointer, columns = part.matrix.indptr, part.matrix.indices
    for k in np.flatnonzero(split):
        terms = slice(pointer[k], pointer[k + 1])
        a = dict(zip(columns[terms].tolist(), scaled.coefficients[terms].tolist(), strict=True))
        low, high = int(scaled.lower[k]), int(scaled.upper[k])
        if low == high:
            digits.add(a, high, equal=True)
            continue
        if np.isfinite(part.upper[k]):
            digits.add(a, high)
        if np.isfinite(part.lower[k]):
            digits.add({j: -value for j, value in a.items()}, -low)
    return digits.added_to(form, chosen[split])


class _Digits:
    """Rows of digits and the carries in them."""

    def __init__(self, lower: list[float], upper: list[float]) -> None:
        self.columns = len(lower)
        self.lower, self.upper = lower, upper
        self.terms: list[tuple[int, int, int]] = []
        """(row, column, coefficient)"""
        self.sides: list[tuple[float, int]] = []

    def add(self, a: dict[int, int], b: int, *, equal: bool = False) -> None:
        """Add ``a k <= b``, or ``a k == b``."""
        base = max(_LEAST_BASE, min(_BASE, int(0.5 / _BLUR / len(a))))
        while max(map(abs, a.values()), default=0) > base:
            high = {j: round(value / base) for j, value in a.items()}
            low = {j: value - base * high[j] for j, value in a.items()}
            side = b // base
            rest = b - base * side
            carry = self._carry(low, rest, base)
            self._row({**low, carry: -base}, rest, equal)
            a, b = {**high, carry: 1}, side
        self._row(a, b, equal)

    def _carry(self, low: dict[int, int], rest: int, base: int) -> int:
        """A new column: what the low digits exceed their side by, in units of the base."""
        ends = [(v * self.lower[j], v * self.upper[j]) for j, v in low.items() if v]
        self.lower.append(np.floor((sum(map(min, ends)) - rest) / base))
        self.upper.append(np.ceil((sum(map(max, ends)) - rest) / base))
        return len(self.lower) - 1

    def _row(self, a: dict[int, int], b: int, equal: bool) -> None:
        here = len(self.sides)
        self.terms += [(here, j, value) for j, value in a.items() if value]
        self.sides.append((float(b) if equal else -np.inf, b))

    def added_to(self, form: MatrixForm, replaced: NDArray[np.intp]) -> MatrixForm:
        """The model with these rows in the place of those replaced."""
        import scipy.sparse as sp

        columns = len(self.lower)
        row, column, value = np.array(self.terms, dtype=np.float64).reshape(-1, 3).T
        at = row.astype(np.int64), column.astype(np.int64)
        digits = sp.csr_array((value, at), shape=(len(self.sides), columns))
        stays = np.ones(form.rows.count)
        stays[replaced] = 0.0
        kept = form.rows.matrix.copy()
        kept.data *= np.repeat(stays, form.rows.lengths)
        kept.eliminate_zeros()
        wide = sp.csr_array((kept.data, kept.indices, kept.indptr), shape=(kept.shape[0], columns))
        lower, upper = form.rows.lower.copy(), form.rows.upper.copy()
        lower[replaced], upper[replaced] = -np.inf, np.inf
        sides = np.array(self.sides, dtype=np.float64).T
        more = columns - self.columns
        added = np.ones(more, dtype=bool)
        return replace(
            form,
            cost=np.append(form.cost, np.zeros(more)),
            rows=Rows(
                sp.csr_array(sp.vstack([wide, digits])),
                np.append(lower, sides[0]),
                np.append(upper, sides[1]),
            ),
            lower=np.append(form.lower, self.lower[self.columns :]),
            upper=np.append(form.upper, self.upper[self.columns :]),
            integer=np.append(form.integer, added),
        )
