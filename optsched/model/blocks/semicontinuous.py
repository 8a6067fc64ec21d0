"""Semi-continuous and semi-integer variables: 0, or within bounds that leave 0 out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.given_numbers import given_numbers
from optsched.model.latex import FormulaWriter
from optsched.model.variables import Variable
from optsched.model.words import Writer, number


def semicontinuous(
    model: ModelBase,
    name: str,
    shape: int | Shape = (),
    *,
    lower: ArrayLike,
    upper: ArrayLike,
    formula: str = "",
) -> Variable:
    """Add continuous variables that are 0 or in [lower, upper].

    Args:
        model: that has them.
        name: of the variable block, and of the block that says it.
        shape: of the block.
        lower: finite numbers, or an array of the shape.
        upper: likewise.
        formula: LaTeX.

    Example:
        >>> m = Model("a unit that runs at 2 to 8, or not at all")
        >>> power = m.semicontinuous("power", 3, lower=2, upper=8)
        >>> m.add("demand", power.sum() == 9)
        >>> m.minimize(power @ [1.0, 2.0, 3.0])
        >>> solve(m)["power"].tolist()
        [7.0, 2.0, 0.0]
    """
    return _semi(model, name, shape, (lower, upper), formula, whole=False)


def semi_integer(
    model: ModelBase,
    name: str,
    shape: int | Shape = (),
    *,
    lower: ArrayLike,
    upper: ArrayLike,
    formula: str = "",
) -> Variable:
    """Add integer variables that are 0 or in [lower, upper].

    Args:
        model: that has them.
        name: of the variable block, and of the block that says it.
        shape: of the block.
        lower: finite numbers, or an array of the shape.
        upper: likewise.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> lot = m.semi_integer("lot", 2, lower=3, upper=5)
        >>> m.add("need", lot.sum() >= 6.5)
        >>> m.minimize(lot.sum())
        >>> solve(m, "cpsat").objective
        7.0
    """
    return _semi(model, name, shape, (lower, upper), formula, whole=True)


def _semi(
    model: ModelBase,
    name: str,
    shape: int | Shape,
    bounds: tuple[ArrayLike, ArrayLike],
    formula: str,
    *,
    whole: bool,
) -> Variable:
    size = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    try:
        low, high = (np.broadcast_to(given_numbers(f"block {name!r}", b), size) for b in bounds)
    except ValueError:
        raise ModelError(f"block {name!r}: bounds that do not fit its shape {size}") from None
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ModelError(f"block {name!r}: finite bounds, as 0 is told from them by constants")
    reach = np.minimum(low, 0.0), np.maximum(high, 0.0)
    result = model.result(name, size, reach, whole=whole, formula=formula)
    model.add_block(SemiContinuous(name, formula, result, low.copy(), high.copy()))
    return result


@dataclass(frozen=True, eq=False)
class SemiContinuous(Block):
    """``result = 0`` or ``least <= result <= most``."""

    result: Expression
    """Plain variables."""
    least: Floats
    """Shape of the result, finite."""
    most: Floats
    kind = "semicontinuous"
    becomes = (Linear,)
    how = "a binary says whether the variable is within its bounds or 0"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def _chosen(self, value: object, entries: Entries) -> object:
        if value is self.least or value is self.most:
            return np.asarray(value).reshape(-1)[entries]
        return super()._chosen(value, entries)

    def excess(self, x: Floats) -> Floats:
        value = self.result.at(x)
        outside = np.maximum(self.least - value, value - self.most)
        return np.asarray(np.minimum(np.abs(value), np.maximum(outside, 0.0)))

    def lower(self, model: ModelBase) -> None:
        """Between ``least`` and ``most`` if a binary is 1, between 0 and 0 if it is 0."""
        on = model.binary(f"{self.name}:on", self.shape)
        model.add(f"{self.name}:least", self.result >= on * self.least)
        model.add(f"{self.name}:most", self.result <= on * self.most)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        ends = (side.reshape(-1)[entries].tolist() for side in (self.least, self.most))
        results = writer.sums(self.result, entries)
        return [
            f"{x} = 0 or {number(low)} <= {x} <= {number(high)}"
            for x, low, high in zip(results, *ends, strict=True)
        ]

    def latex(self, writer: FormulaWriter) -> str:
        low, high = (writer.expression(Expression(self.result.model, self.shape, (), side))
                     for side in (self.least, self.most))  # fmt: skip
        return rf"{writer.expression(self.result)} \in \{{0\}} \cup [{low}, {high}]"
