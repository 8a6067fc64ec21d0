"""Tables: ``z = f[n]``, one binary per value of ``n`` that its bounds allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase, result_excess
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.given_numbers import given_numbers
from optsched.model.latex import FormulaWriter
from optsched.model.ranges import are_integral, range_of
from optsched.model.variables import Variable
from optsched.model.words import Writer, listed, number


def table(
    model: ModelBase,
    values: ArrayLike,
    index: Expression,
    *,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return ``values[index]`` for an integer expression.

    The index is kept within 0..n-1, even if its own bounds are wider.

    Args:
        model: that says it.
        values: shape (n,).
        index: integer, of any shape.
        name: of the new variable block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> workers = m.integer("workers", upper=3)
        >>> m.maximize(m.table([0, 1, 1.8, 2.4], workers) - 0.7 * workers)
        >>> round(solve(m).objective, 9)
        0.4
    """
    name = model.free_name(name, "table")
    model.check_own(f"block {name!r}", index)
    held = given_numbers(f"block {name!r}", values).copy()
    if held.ndim != 1 or not len(held) or not np.isfinite(held).all():
        raise ModelError(f"block {name!r}: a table is a vector of finite numbers")
    if not are_integral(model.domains(), index):
        raise ModelError(f"block {name!r}: the index of a table must be integer")
    whole = bool(np.all(held == np.round(held)))
    bounds = held.min(), held.max()
    result = model.result(name, index.shape, bounds, whole=whole, formula=formula)
    model.add_block(Table(name, formula, result, index, held))
    return result


@dataclass(frozen=True, eq=False)
class Table(Block):
    """``result = values[index]`` for an integer expression ``index``."""

    result: Expression
    index: Expression
    table: Floats
    """Shape (n,): the index lies in 0..n-1."""
    kind = "table"
    becomes = (Linear,)
    how = "a binary per entry says which one is chosen; the index is one of them"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def excess(self, x: Floats) -> Floats:
        index = np.round(self.index.at(x)).astype(np.int64)
        outside = (index < 0) | (index >= len(self.table))
        value = np.take(self.table, index, mode="clip")
        gap = result_excess(self.result, value, x)
        return np.where(outside, np.inf, gap)

    def lower(self, model: ModelBase) -> None:
        """A choice of exactly one of the entries: the convex hull of the graph."""
        least, most = range_of(self.index, model.domains())
        places = np.arange(len(self.table), dtype=float)
        open_ = (places >= least[..., None]) & (places <= most[..., None])
        shape = (*self.shape, len(places))
        chosen = model.integer(f"{self.name}:chosen", shape, upper=open_.astype(float))
        model.add(f"{self.name}:one", chosen.sum(axis=-1) == 1)
        model.add(f"{self.name}:index", (chosen * places).sum(axis=-1) == self.index)
        model.add(f"{self.name}:value", (chosen * self.table).sum(axis=-1) == self.result)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        values = listed([number(v) for v in self.table[: writer.most_terms]], len(self.table))
        results, indices = (writer.sums(e, entries) for e in (self.result, self.index))
        return [f"{z} = ({values})[{n}]" for z, n in zip(results, indices, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        index = writer.expression(self.index)
        return rf"{writer.expression(self.result)} = f\bigl({index}\bigr)"
