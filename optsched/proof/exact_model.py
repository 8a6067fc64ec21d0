"""The exact matrix of a model in rational numbers, against which a proof is verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd, inf, isinf, lcm
from sys import float_info
from typing import Any, NamedTuple

NOISE = 1e-9
"""Relative distance to a whole number, at most 1e-6, at which a bound of an integer is it."""

Exact = int | Fraction
Terms = dict[int, int]
"""Coefficient by column."""


class ProofError(Exception):
    """What is wrong with a proof: it is malformed, or one of its steps does not hold."""


class ExactRow(NamedTuple):
    """``lower <= terms x <= upper``; None: no side."""

    terms: Terms
    lower: int | None
    upper: int | None


class ExactColumn(NamedTuple):
    """``lower <= x <= upper``; None: no bound."""

    lower: Exact | None
    upper: Exact | None

    @property
    def empty(self) -> bool:
        """Whether nothing lies between the bounds."""
        return self.lower is not None and self.upper is not None and self.lower > self.upper


Affine = tuple[Fraction, dict[int, Fraction]]
"""A constant, and coefficients by column."""
Cone = tuple[Affine, ...]
"""u, v and then w, of ``u v >= |w|^2`` with u, v >= 0."""


class ExactModel:
    """Minimise ``(cost x) / unit + offset``; coefficients and sides are multiplied by ``unit``."""

    def __init__(self, form: Any) -> None:
        """Read a ``MatrixForm`` whose only nonlinear blocks are rotated cones.

        Raises:
            ProofError: another block, or a bound that is infinite on the wrong side.
        """
        if form.indicators or any(block.kind != "rotated_cone" for block in form.nonlinear):
            raise ProofError("the model has blocks that are neither linear nor rotated cones")
        self.cones = [cone for block in form.nonlinear for cone in _cones(block)]
        parts = [part for cone in self.cones for part in cone]
        matrix, self.maximise = form.rows.matrix, bool(form.maximise)
        entries, cost = _exact(matrix.data.tolist()), _exact(form.cost.tolist())
        sides = list(zip(form.rows.lower.tolist(), form.rows.upper.tolist(), strict=True))
        numbers = [*entries, *cost, *_exact(x for pair in sides for x in pair if not isinf(x))]
        numbers += [x for constant, terms in parts for x in (constant, *terms.values())]
        self.unit = lcm(*(x.denominator for x in numbers))
        self.sign = -1 if form.maximise else 1
        self.offset = self.sign * Fraction(form.offset)
        self.cost: Mapping[int, Exact] = {
            j: self.sign * self.whole(c) for j, c in enumerate(cost) if c
        }
        start, column = matrix.indptr.tolist(), matrix.indices.tolist()
        self.rows = [
            ExactRow(
                {column[k]: self.whole(entries[k]) for k in range(start[i], start[i + 1])},
                *(None if isinf(side) else self.whole(Fraction(side)) for side in pair),
            )
            for i, pair in enumerate(sides)
        ]
        self.integer: list[bool] = form.integer.tolist()
        ends = zip(form.lower.tolist(), form.upper.tolist(), self.integer, strict=True)
        self.columns = [
            ExactColumn(_bound(low, whole, ceil, -inf), _bound(high, whole, floor, inf))
            for low, high, whole in ends
        ]

    @cached_property
    def empty(self) -> bool:
        """Whether a column has no value at all."""
        return any(column.empty for column in self.columns)

    @cached_property
    def grid(self) -> Fraction:
        """Values of points differ by multiples of it; 0: of nothing known."""
        if not all(self.integer[j] for j in self.cost):
            return Fraction(0)
        over = lcm(*(c.denominator for c in self.cost.values()))
        return Fraction(gcd(*(int(c * over) for c in self.cost.values())), over * self.unit)

    def of_cost(self, cost: Mapping[int, Fraction]) -> ExactModel:
        """The same points, minimising another cost, without a constant."""
        other = copy(self)
        other.__dict__.pop("grid", None)
        other.cost = {j: c * self.unit for j, c in cost.items() if c}
        other.sign, other.offset = 1, Fraction(0)
        return other

    def whole(self, value: Fraction) -> int:
        """A number of the model, multiplied by ``unit``."""
        return value.numerator * (self.unit // value.denominator)

    def raised(self, value: Fraction) -> Fraction:
        """The least value on the grid from this one on; itself without a grid."""
        if not self.grid:
            return value
        return self.offset - (self.offset - value) // self.grid * self.grid


def _cones(block: Any) -> Iterable[Cone]:
    """The rotated cones of a block."""
    u, v, w = (_affine(part) for part in (block.u, block.v, block.w))
    for i in range(len(u)):
        width = len(w) // len(u)
        yield (u[i], v[i], *w[i * width : (i + 1) * width])


def _affine(expression: Any) -> list[Affine]:
    """Every entry of an expression, in C order."""
    constant, size = expression.constant, expression.size
    constants = [constant] * size if isinstance(constant, float) else constant.ravel().tolist()
    parts: list[Affine] = [(Fraction(value), {}) for value in constants]
    for some in expression.terms:
        for entry, j, c in zip(*(array.tolist() for array in some.spelled_out()), strict=True):
            terms = parts[entry][1]
            terms[j] = terms.get(j, Fraction(0)) + Fraction(c)
    return parts


def _bound(
    value: float, integer: bool, inward: Callable[[float], int], none: float
) -> Exact | None:
    """A bound as it is, of an integer column rounded inward; whole numbers as int.

    One that misses a whole number by rounding alone is that number, as in every solve.
    """
    if value == none:
        return None
    if isinf(value):
        raise ProofError("a bound is infinite on the wrong side")
    if integer:
        near, size = round(value), abs(value)
        noise = max(min(NOISE * max(1.0, size), 1e-6), 4 * float_info.epsilon * size)
        return near if abs(value - near) <= noise else inward(value)
    return int(value) if value.is_integer() else Fraction(value)


def _exact(values: Iterable[float]) -> list[Fraction]:
    return [Fraction(value) for value in values]
