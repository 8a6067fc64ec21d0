"""Whole powers of bounded expressions, ``z = x ** n``: squares of squares, each a product.

With them, a polynomial is a sum: ``4 * m.power(x, 3) - 2 * m.product(x, y) + 1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, ModelBase, result_excess
from optsched.model.blocks.product import SQUARE, Product
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter
from optsched.model.ranges import are_integral, finite_range
from optsched.model.variables import Variable
from optsched.model.words import Writer

_CURVE = "elsewhere m.piecewise approximates it between breakpoints"


def power(
    model: ModelBase,
    base: Expression,
    exponent: int,
    *,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return a whole power of an expression, entry by entry.

    For a bounded integer it becomes exact linear rows, which any solver takes. For a continuous
    expression, only solvers that support products (``optsched solvers`` lists them) solve it. Then
    the answer holds to their tolerance, and the bound is what they report.

    Args:
        model: that says it.
        base: of any shape, its variables bounded.
        exponent: at least 2. For a root ``y`` of ``x``, write ``m.power(y, 2) == x``; for a
            negative power, use ``m.ratio``.
        name: of the new variable block.
        formula: LaTeX.

    Raises:
        ModelError: a variable of the base lacks a bound, and the message names it; or the power
            exceeds all floating-point numbers.

    Example:
        >>> m = Model()
        >>> x = m.integer("x", lower=-3, upper=3)
        >>> m.minimize(m.power(x, 4) - 20 * x)
        >>> solve(m).objective
        -24.0
    """
    name = model.free_name(name, "power")
    model.check_own(f"block {name!r}", base)
    if not isinstance(exponent, Integral) or exponent < 2:
        raise ModelError(
            f"block {name!r}: exponent={exponent!r} must be a whole number of at least 2; a root y "
            "of x is said by m.power(y, 2) == x, and a negative power by m.ratio"
        )
    result = _raised(model, name, name, base, int(exponent), formula)
    model.add_block(Power(name, formula, result, base, int(exponent)))
    return result


def _raised(
    model: ModelBase, block: str, name: str, base: Expression, degree: int, formula: str = ""
) -> Variable:
    """A new variable block with the bounds of a power.

    Raises:
        ModelError: naming a variable of the base that lacks a bound, or the power is too large.
    """
    domains = model.domains()
    least, most = finite_range(block, base, domains, model.column_name)
    with np.errstate(over="ignore"):
        ends = least**degree, most**degree
    if not np.isfinite(ends).all():
        reach = float(np.abs((least, most)).max())
        raise ModelError(f"block {block!r}: {reach:g} ** {degree} is no number; scale the base")
    low, high = np.minimum(*ends), np.maximum(*ends)
    if degree % 2 == 0:
        low = np.where((least < 0) & (most > 0), 0.0, low)
    whole = are_integral(domains, base)
    return model.result(name, base.shape, (low, high), whole=whole, formula=formula)


@dataclass(frozen=True, eq=False)
class Power(Block):
    """``result = base ** exponent``."""

    result: Expression
    base: Expression
    exponent: int
    kind = "power"
    becomes = (Product,)
    how = "products: squares of squares, as the binary digits of the exponent say"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        return result_excess(self.result, self.base.at(x) ** self.exponent, x)

    def lower(self, model: ModelBase) -> None:
        """Raise to the leading digits of the exponent, one more at a time."""
        raised, degree = self.base, 1
        for digit in f"{self.exponent:b}"[1:]:
            degree *= 2
            raised = self._times(model, raised, raised, degree)
            if digit == "1":
                degree += 1
                raised = self._times(model, raised, self.base, degree)

    def _times(
        self, model: ModelBase, left: Expression, right: Expression, degree: int
    ) -> Expression:
        name = f"{self.name}:{degree}"
        result = self.result
        if degree < self.exponent:
            result = _raised(model, self.name, name, self.base, degree)
        instead = SQUARE if self.exponent == 2 else _CURVE
        model.add_block(Product(name, "", result, left, right, instead))
        return result

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        results, bases = writer.sums(self.result, entries), writer.atoms(self.base, entries)
        return [f"{z} = {x} ** {self.exponent}" for z, x in zip(results, bases, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        return rf"{writer.expression(self.result)} = {writer.atom(self.base)}^{{{self.exponent}}}"
