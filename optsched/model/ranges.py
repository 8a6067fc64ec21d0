"""Ranges and integrality of expressions, from the bounds of their variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from optsched.errors import ModelError
from optsched.model.expression import Expression, Floats
from optsched.model.terms import Coefficients, added_up

if TYPE_CHECKING:
    import scipy.sparse as sp

_INTEGRALITY = 1e-6  # a bound of an integer this close to a whole number is taken for it
NOISE = 1e-13
"""What is left of a sum such as 0.1 + 0.2 - 0.3, relative to its terms, and counts as nothing."""

Domains = tuple[Floats, Floats, NDArray[np.bool_]]
"""Lower bounds, upper bounds and integrality of every column."""


def coefficients(expression: Expression) -> tuple[Coefficients, Floats]:
    """Coefficients other than 0 of each entry, and constants, shape (entries,)."""
    spelled = [t.spelled_out() for t in expression.terms]
    if len(spelled) == 1 and expression.terms[0].entries is None:
        start = np.arange(expression.size + 1, dtype=np.int32)
        lines = Coefficients(spelled[0][2], spelled[0][1], start, expression.model.columns)
    else:
        entries, columns, values = (
            np.concatenate([part[i] for part in spelled] or [np.zeros(0, dtype=np.int32)])
            for i in range(3)
        )
        values = values.astype(np.float64, copy=False)
        shape = expression.size, expression.model.columns
        lines = added_up(values, entries, columns, *shape)
    if not lines.data.all():
        lines = lines.where(lines.data != 0)
    constant = expression.constant
    if isinstance(constant, float):
        return lines, np.full(expression.size, constant)
    return lines, constant.reshape(-1)


def affine(expression: Expression, columns: int) -> tuple[sp.csr_array, Floats]:
    """Coefficients, shape (entries, columns), and constants, shape (entries,)."""
    lines, constant = coefficients(expression)
    return lines._replace(columns=columns).matrix().copy(), constant


def range_of(expression: Expression, domains: Domains) -> tuple[Floats, Floats]:
    """Least and greatest value of each entry over the bounds of its variables; may be infinite."""
    lower, upper, integer = domains
    lower = np.where(integer, np.ceil(lower - _INTEGRALITY), lower)
    upper = np.where(integer, np.floor(upper + _INTEGRALITY), upper)
    lines, constant = coefficients(expression)
    ends = activity_range(lines, lower, upper)
    shape = expression.shape
    least, most = (without_noise(end + constant, constant).reshape(shape) for end in ends)
    return least, most


def without_noise(value: Floats, scale: Floats) -> Floats:
    """Differences of numbers of this scale, zero if nothing but their rounding is left.

    Solvers take a coefficient of 1e-17 for an error, and rightly so.
    """
    return np.where(np.abs(value) <= NOISE * np.abs(scale), 0.0, value)


def activity_range(
    matrix: Coefficients | sp.csr_array, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """Least and greatest value of each row of ``matrix @ x`` over the bounds of x."""
    column, value, rows = matrix.indices, matrix.data, len(matrix.indptr) - 1
    at_least = np.where(value > 0, value * lower[column], value * upper[column])
    at_most = np.where(value > 0, value * upper[column], value * lower[column])
    row = np.repeat(np.arange(rows), np.diff(matrix.indptr))
    least = np.bincount(row, weights=at_least, minlength=rows).astype(np.float64)
    return least, np.bincount(row, weights=at_most, minlength=rows).astype(np.float64)


def is_integral(expression: Expression, domains: Domains) -> NDArray[np.bool_]:
    """Whether each entry takes whole values only, shape of the expression."""
    if _all_whole(expression.constant) and all(
        _all_whole(t.coefficients) and domains[2][t.columns].all() for t in expression.terms
    ):
        return np.ones(expression.shape, dtype=np.bool_)  # the usual case
    lines, constant = coefficients(expression)
    whole = (lines.data == np.round(lines.data)) & domains[2][lines.indices]
    row = np.repeat(np.arange(len(constant)), np.diff(lines.indptr))
    broken = np.bincount(row, weights=~whole, minlength=len(constant))
    answer: NDArray[np.bool_] = (broken == 0) & (constant == np.round(constant))
    return answer.reshape(expression.shape)


def _all_whole(values: Floats | float) -> bool:
    if isinstance(values, float):
        return values.is_integer()
    return bool((values == np.rint(values)).all())


def are_integral(domains: Domains, *expressions: Expression) -> bool:
    """Whether all entries of all expressions take whole values only."""
    return all(bool(is_integral(one, domains).all()) for one in expressions)


def is_binary(expression: Expression, domains: Domains) -> bool:
    """Whether every entry takes the values 0 and 1 only."""
    least, most = range_of(expression, domains)
    return bool(np.all(is_integral(expression, domains) & (least >= 0) & (most <= 1)))


def finite_range(
    block: str, expression: Expression, domains: Domains, column_name: Callable[[int], str]
) -> tuple[Floats, Floats]:
    """``range_of``, both ends finite.

    Raises:
        ModelError: naming a variable that lacks the bound.
    """
    least, most = range_of(expression, domains)
    for end, sign in ((least, -1.0), (most, 1.0)):
        if not np.isfinite(end).all():
            raise_missing_bound(block, expression, domains, column_name, sign)
    return least, most


def raise_missing_bound(
    block: str,
    expression: Expression,
    domains: Domains,
    column_name: Callable[[int], str],
    sign: float,
) -> NoReturn:
    """Say which variable makes ``sign * expression`` unbounded above.

    Raises:
        ModelError: always.
    """
    lower, upper, _ = domains
    lines, _ = coefficients(expression)
    towards = np.where(sign * lines.data > 0, upper[lines.indices], lower[lines.indices])
    column = int(lines.indices[np.argmax(np.isinf(towards))])
    raise ModelError(f"block {block!r}: {column_name(column)} lacks a finite bound")
