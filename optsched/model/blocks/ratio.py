"""Ratios of bounded expressions: ``z = x / y`` as the product ``z * y = x``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, ModelBase, result_excess
from optsched.model.blocks.product import Product
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter
from optsched.model.ranges import finite_range
from optsched.model.variables import Variable
from optsched.model.words import Writer

_INSTEAD = (
    "elsewhere let the divisor y be a bounded integer; x / y <= c with a number c and y > 0 is "
    "x <= c * y; and a single ratio to be optimised is linear once everything is divided by y"
)

_ROOM = 5.0
"""Half of what the model's tolerance, 1e-6, leaves above 1e-7, that of solvers on products: a ratio
is off by its product's error over the divisor, and a finer product is slower to prove."""


def ratio(
    model: ModelBase,
    numerator: Expression | ArrayLike,
    divisor: Expression,
    *,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the ratio of two expressions, entry by entry.

    With a bounded integer divisor it becomes exact linear rows, which any mixed-integer solver
    takes. With a continuous divisor, only solvers that support products (``optsched solvers`` lists
    them) solve it. Then the answer holds to their tolerance, and the bound is what they report.

    Args:
        model: that says it.
        numerator: an expression or numbers, its variables bounded.
        divisor: an expression whose shape fits, by its bounds of one sign throughout and not zero.
        name: of the new variable block.
        formula: LaTeX.

    Raises:
        ModelError: a variable lacks a bound, or the divisor may be zero by its bounds; the message
            names it.

    Example:
        >>> m = Model()
        >>> jobs, servers = m.integer("jobs", upper=7), m.integer("servers", lower=1, upper=4)
        >>> m.add("staff", jobs <= 2 * servers - 1)
        >>> m.maximize(m.ratio(jobs, servers))
        >>> round(solve(m).objective, 6)
        1.75
    """
    name = model.free_name(name, "ratio")
    over, under = model.alike(name, numerator, divisor)
    domains = model.domains()
    reach = finite_range(name, over, domains, model.column_name)
    least, most = finite_range(name, under, domains, model.column_name)
    across = np.flatnonzero((least <= 0) & (most >= 0))
    if len(across):
        entry = across[:1]
        said = Writer(model).sums(under, entry)[0]
        low, high = (float(end.reshape(-1)[entry[0]]) for end in (least, most))
        raise ModelError(
            f"block {name!r}: the divisor {said} lies between {low:g} and {high:g} and may be zero;"
            " give its variables bounds that keep it away from there"
        )
    corners = np.array([a / b for a in reach for b in (least, most)])
    bounds = corners.min(axis=0), corners.max(axis=0)
    result = model.result(name, over.shape, bounds, whole=False, formula=formula)
    model.add_block(Ratio(name, formula, result, over, under))
    return result


@dataclass(frozen=True, eq=False)
class Ratio(Block):
    """``result = numerator / divisor``, the divisor not zero by its bounds."""

    result: Expression
    numerator: Expression
    divisor: Expression
    kind = "ratio"
    becomes = (Product,)
    how = "a product: the ratio times its divisor"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        over, under = self.numerator.at(x), self.divisor.at(x)
        value = over / np.where(under == 0, 1.0, under)
        gap = result_excess(self.result, value, x)
        return np.where(under == 0, np.inf, gap)

    def lower(self, model: ModelBase) -> None:
        """One product, scaled where the divisor may be small: its errors count divided by it."""
        domains = model.domains()
        ends = finite_range(self.name, self.divisor, domains, model.column_name)
        smallest = np.minimum(*np.abs(ends))
        # a whole divisor is at least 1, and has to stay whole
        scale = 1.0 / np.minimum(1.0, _ROOM * smallest)
        over, under = self.numerator * scale, self.divisor * scale
        model.add_block(Product(f"{self.name}:whole", "", over, self.result, under, _INSTEAD))

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        results = writer.sums(self.result, entries)
        over, under = (writer.atoms(e, entries) for e in (self.numerator, self.divisor))
        return [f"{z} = {x} / {y}" for z, x, y in zip(results, over, under, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        over, under = writer.expression(self.numerator), writer.expression(self.divisor)
        return rf"{writer.expression(self.result)} = \frac{{{over}}}{{{under}}}"
