"""Elements: ``z = a[n]``, the entries expressions and the index a variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase, result_excess
from optsched.model.blocks.indicator import Indicator, indicator
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter
from optsched.model.ranges import are_integral, range_of
from optsched.model.variables import Variable
from optsched.model.words import Writer


def element(
    model: ModelBase,
    array: Expression,
    index: Expression,
    *,
    name: str | None = None,
    formula: str = "",
) -> Variable:
    """Return the entry of a vector of expressions at an integer index.

    The index is kept within 0..n-1, even if its own bounds are wider. For a vector of numbers,
    ``Model.table`` needs fewer rows.

    Args:
        model: that says it.
        array: shape (n,).
        index: integer, of any shape.
        name: of the new variable block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> stock, depot = m.integer("stock", shape=3, upper=[4, 9, 6]), m.integer("depot", upper=2)
        >>> m.add("all", stock.sum() <= 12)
        >>> m.maximize(m.element(stock, depot) + depot)
        >>> solve(m).objective
        10.0
    """
    name = model.free_name(name, "element")
    model.check_own(f"block {name!r}", array, index)
    if array.ndim != 1 or not array.size:
        raise ModelError(f"block {name!r}: a vector to choose from, not shape {array.shape}")
    if index is array:
        index = index.reshape(index.shape)  # another object: entries are chosen from one alone
    domains = model.domains()
    if not are_integral(domains, index):
        raise ModelError(f"block {name!r}: the index of an element must be integer")
    least, most = range_of(array, domains)
    whole, bounds = are_integral(domains, array), (least.min(), most.max())
    result = model.result(name, index.shape, bounds, whole=whole, formula=formula)
    model.add_block(Element(name, formula, result, index, array))
    return result


@dataclass(frozen=True, eq=False)
class Element(Block):
    """``result = array[index]`` for an integer expression ``index``."""

    result: Expression
    index: Expression
    array: Expression
    """Shape (n,): the index lies in 0..n-1."""
    kind = "element"
    becomes = (Linear, Indicator)
    how = "a binary per entry says which one is chosen, and an indicator that it is the result"

    @property
    def shape(self) -> Shape:
        return self.result.shape

    def _chosen(self, value: object, entries: Entries) -> object:
        return value if value is self.array else super()._chosen(value, entries)

    def excess(self, x: Floats) -> Floats:
        array, index = self.array.at(x), np.round(self.index.at(x)).astype(np.int64)
        outside = (index < 0) | (index >= len(array))
        value = array[np.clip(index, 0, len(array) - 1)]
        gap = result_excess(self.result, value, x)
        return np.where(outside, np.inf, gap)

    def lower(self, model: ModelBase) -> None:
        """A choice of one entry."""
        places = np.arange(self.array.size).astype(float)
        chosen = model.binary(f"{self.name}:chosen", (*self.shape, len(places)))
        model.add(f"{self.name}:one", chosen.sum(axis=-1) == 1)
        model.add(f"{self.name}:index", (chosen * places).sum(axis=-1) == self.index)
        gap = self.result.reshape(*self.shape, 1) - self.array
        indicator(model, chosen, gap == 0, name=f"{self.name}:is")

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        (array,) = writer.lists(self.array, np.zeros(1, dtype=np.int64))
        results, indices = (writer.sums(e, entries) for e in (self.result, self.index))
        return [f"{z} = {array}[{n}]" for z, n in zip(results, indices, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        index, array = writer.expression(self.index), writer.factor(self.array)
        return rf"{writer.expression(self.result)} = \bigl({array}\bigr)_{{{index}}}"
