"""Products: ``z = a * b``, lowered for a bounded integer factor.

A binary ``a`` gives the four McCormick rows, which are exact at ``a = 0`` and ``a = 1``. A wider
integer is written in binary digits, and each digit times ``b`` is such a product. Products of
continuous factors are for solvers that take them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase, result_excess
from optsched.model.expression import Expression, Floats, Relation, Shape
from optsched.model.latex import FormulaWriter
from optsched.model.ranges import are_integral, finite_range, is_binary, range_of
from optsched.model.variables import Variable
from optsched.model.words import Writer

SQUARE = (
    "elsewhere m.sum_of_squares says the same where less of it is always allowed, and m.piecewise "
    "approximates it"
)
"""What helps with the square of a continuous expression."""
_CHOICE = (
    "elsewhere let a factor be binary or whole steps of a fixed size, or approximate the squares "
    "of x + y and x - y by m.piecewise: their difference is 4 times the product"
)


def product(
    model: ModelBase,
    left: Expression,
    right: Expression,
    *,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the product of two expressions, entry by entry.

    With a bounded integer factor it becomes exact linear rows, which any solver takes. With
    continuous factors, only solvers that support products (``optsched solvers`` lists them) solve
    it. Then the answer holds to their tolerance, and the bound is what they report.

    Args:
        model: that says it.
        left: an expression; bounded, unless the solver takes products natively and ``left`` or
            ``right`` is integer.
        right: an expression whose shape fits, as ``left``.
        name: of the new variable block.
        formula: LaTeX.

    Raises:
        ModelError: a variable of two continuous factors lacks a bound; the message names it.

    Example:
        >>> m = Model()
        >>> open_, workers = m.binary("open"), m.integer("workers", lower=2, upper=4)
        >>> m.maximize(3 * m.product(open_, workers) - 2 * workers)
        >>> solve(m).objective
        4.0
    """
    name = model.free_name(name, "product")
    instead = SQUARE if left is right else _CHOICE
    left, right = model.alike(name, left, right)
    domains = model.domains()
    if not (are_integral(domains, left) or are_integral(domains, right)):
        for factor in (left, right):
            finite_range(name, factor, domains, model.column_name)
    with np.errstate(invalid="ignore"):  # zero times an infinite bound
        corners = np.array(
            [a * b for a in range_of(left, domains) for b in range_of(right, domains)]
        )
    corners = np.nan_to_num(corners, nan=0.0, posinf=np.inf, neginf=-np.inf)
    bounds = corners.min(axis=0), corners.max(axis=0)
    result = model.result(name, left.shape, bounds, whole=are_integral(domains, left, right))
    model.add_block(Product(name, formula, result, left, right, instead))
    return result


@dataclass(frozen=True, eq=False)
class Product(Block):
    """``result = left * right``; linear rows say it if a factor is integer and bounded."""

    result: Expression
    left: Expression
    right: Expression
    instead: str = _CHOICE
    """What helps if no factor is integer and the solver does not take it."""
    kind = "product"
    becomes = (Linear,)
    how = "rows by McCormick, exact for a binary factor; a wider integer by its digits"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        return result_excess(self.result, self.left.at(x) * self.right.at(x), x)

    def lower(self, model: ModelBase) -> None:
        """Rows over a binary factor, or over the digits of an integer one.

        Raises:
            ModelError: no factor is integer throughout, or a factor lacks a bound.
        """
        domains, factors = model.domains(), (self.left, self.right)
        integral = [are_integral(domains, factor) for factor in factors]
        if not any(integral):
            raise ModelError(
                f"block {self.name!r}: without an integer factor no linear rows say a product; "
                f"solvers with a native product take it as it is, such as scip; {self.instead}"
            )
        sides = [finite_range(self.name, f, domains, model.column_name) for f in factors]
        widths = [float((high - low).max(initial=0.0)) for low, high in sides]
        first = 0 if integral[0] and not (integral[1] and widths[1] < widths[0]) else 1
        narrow, other = factors[first], factors[1 - first]
        low, high = sides[1 - first]
        if is_binary(narrow, domains):
            rows = convex_hull(self.result, narrow, other, low, high)
        else:
            least = sides[first][0]
            powers = 2.0 ** np.arange(int(np.ceil(np.log2(widths[first] + 1))))
            shape = (*self.shape, len(powers))
            digit = model.binary(f"{self.name}:digit", shape)
            spread = other.reshape(*other.shape, 1).broadcast_to(shape)
            low, high = (np.broadcast_to(end[..., None], shape) for end in (low, high))
            least_part, most_part = np.minimum(low, 0.0), np.maximum(high, 0.0)
            part = model.continuous(f"{self.name}:part", shape, lower=least_part, upper=most_part)
            rows = convex_hull(part, digit, spread, low, high)
            rows["digits"] = narrow == (digit * powers).sum(axis=-1) + least
            rows["sum"] = self.result == (part * powers).sum(axis=-1) + other * least
        for word, row in rows.items():
            model.add(f"{self.name}:{word}", row)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        results = writer.sums(self.result, entries)
        left, right = (writer.factors(e, entries) for e in (self.left, self.right))
        return [f"{z} = {a} * {b}" for z, a, b in zip(results, left, right, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        left, right = writer.factor(self.left), writer.factor(self.right)
        return rf"{writer.expression(self.result)} = {left} \cdot {right}"


def convex_hull(
    result: Expression, binary: Expression, other: Expression, low: Floats, high: Floats
) -> dict[str, Relation]:
    """``result = binary * other`` for ``low <= other <= high``, by name (McCormick 1976)."""
    return {
        "off above": result <= binary * high,
        "off below": result >= binary * low,
        "on above": result <= other - low + binary * low,
        "on below": result >= other - high + binary * high,
    }
