"""Piecewise-linear functions: ``z = f(x)`` between breakpoints, x continuous or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase, result_excess
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.given_numbers import given_numbers
from optsched.model.latex import FormulaWriter
from optsched.model.variables import Variable
from optsched.model.words import Writer, listed, number


def piecewise(
    model: ModelBase,
    argument: Expression,
    points: ArrayLike,
    values: ArrayLike,
    *,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the function that joins the points by straight lines (``np.interp``), entry by entry.

    The argument is kept between the first point and the last.

    Args:
        model: that says it.
        argument: of any shape.
        points: increasing, shape (n,), n at least 2.
        values: of the function there, shape (n,).
        name: of the new variable block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> load = m.continuous("load", upper=4)
        >>> m.add("need", load >= 2.5)
        >>> m.minimize(m.piecewise(load, [0, 1, 3, 4], [0, 5, 6, 9]))
        >>> solve(m).objective
        5.75
    """
    name = model.free_name(name, "piecewise")
    model.check_own(f"block {name!r}", argument)
    places, held = (given_numbers(f"block {name!r}", one).copy() for one in (points, values))
    if places.ndim != 1 or len(places) < 2 or held.shape != places.shape:
        raise ModelError(
            f"block {name!r}: {places.shape} points and {held.shape} values, not as many of both "
            "and at least two"
        )
    if not (np.isfinite(places).all() and np.isfinite(held).all() and (np.diff(places) > 0).all()):
        raise ModelError(f"block {name!r}: points must increase, and all numbers be finite")
    bounds = held.min(), held.max()
    result = model.result(name, argument.shape, bounds, whole=False, formula=formula)
    model.add_block(Piecewise(name, formula, result, argument, places, held))
    return result


@dataclass(frozen=True, eq=False)
class Piecewise(Block):
    """``result = f(argument)``, f linear between its points."""

    result: Expression
    argument: Expression
    points: Floats
    """Shape (n,), increasing: the argument lies between the first and the last."""
    values: Floats
    """Shape (n,)."""
    kind = "piecewise"
    becomes = (Linear,)
    how = "weights of the points, of which the two ends of one segment count; a binary per segment"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        at = self.argument.at(x)
        value = np.interp(at, self.points, self.values)
        gap = result_excess(self.result, value, x)
        outside = np.maximum(self.points[0] - at, at - self.points[-1])
        return np.asarray(np.maximum(gap, outside))

    def lower(self, model: ModelBase) -> None:
        """Weights between the ends of the chosen segment: the graph's convex pieces."""
        count = len(self.points)
        share = model.continuous(f"{self.name}:share", (*self.shape, count), upper=1.0)
        inside = model.binary(f"{self.name}:inside", (*self.shape, count - 1))
        model.add(f"{self.name}:whole", share.sum(axis=-1) == 1)
        model.add(f"{self.name}:one", inside.sum(axis=-1) == 1)
        ends = np.eye(count - 1, count) + np.eye(count - 1, count, 1)
        model.add(f"{self.name}:ends", share <= inside @ ends)
        model.add(f"{self.name}:argument", (share * self.points).sum(axis=-1) == self.argument)
        model.add(f"{self.name}:value", (share * self.values).sum(axis=-1) == self.result)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        pairs = zip(self.points[: writer.most_terms], self.values, strict=False)
        told = listed([f"{number(a)}: {number(b)}" for a, b in pairs], len(self.points))
        results, arguments = (writer.sums(e, entries) for e in (self.result, self.argument))
        return [f"{z} = ({told})[{x}]" for z, x in zip(results, arguments, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        argument = writer.expression(self.argument)
        return rf"{writer.expression(self.result)} = f\bigl({argument}\bigr)"
