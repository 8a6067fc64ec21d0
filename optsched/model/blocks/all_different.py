"""All different: no two values along an axis are the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter, letters_of
from optsched.model.ranges import are_integral, finite_range
from optsched.model.words import Writer

_FEW = 2_000
"""Binaries for values and numbers, their rows being the tighter ones, that are never too many."""
_TIGHTER = 20
"""So many of them are worth one that orders two values."""
_MOST = 2_000_000
"""Binaries that can be built."""


def all_different(
    model: ModelBase, values: Expression, *, name: str | None = None, formula: str = ""
) -> None:
    """Require that integer values along the last axis differ from each other.

    Args:
        model: that requires it.
        values: integer, of at least one axis.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> seat = m.integer("seat", shape=3, upper=4)
        >>> m.all_different(seat)
        >>> m.minimize(seat.sum())
        >>> solve(m).objective
        3.0
    """
    name = model.free_name(name, "all_different")
    model.check_own(f"block {name!r}", values)
    if not values.ndim:
        raise ModelError(f"block {name!r}: a single value differs from nothing")
    if not are_integral(model.domains(), values):
        raise ModelError(f"block {name!r}: values that differ must be integer")
    model.add_block(AllDifferent(name, formula, values))


@dataclass(frozen=True, eq=False)
class AllDifferent(Block):
    """Integer values that differ along the last axis."""

    values: Expression
    """Shape (*shape, n)."""
    kind = "all_different"
    becomes = (Linear,)
    how = (
        "a binary per value and number it may take; each number is taken once at most; of wide "
        "ranges a binary per pair says which is less"
    )

    @property
    def shape(self) -> Shape:
        return self.values.shape[:-1]

    def excess(self, x: Floats) -> Floats:
        """How many values are there twice."""
        ranked = np.sort(np.round(self.values.at(x)), axis=-1)
        return np.asarray((np.diff(ranked, axis=-1) == 0).sum(axis=-1), dtype=np.float64)

    def lower(self, model: ModelBase) -> None:
        """An assignment of values to numbers; an order of every two, if that takes far less.

        Raises:
            ModelError: a value lacks a bound; the message names the variable. Or it takes too
                many binaries.
        """
        if not self.values.size:
            return
        least, most = finite_range(self.name, self.values, model.domains(), model.column_name)
        assigned = self.values.size * (most.max() - least.min() + 1)
        ordered = self.values.size * (self.values.shape[-1] - 1) // 2
        by_value = assigned <= max(_FEW, _TIGHTER * ordered)
        binaries = assigned if by_value else ordered
        if binaries > _MOST:
            raise ModelError(
                f"block {self.name!r}: as rows it takes {binaries:.0f} binaries, more than the "
                f"{_MOST} that can be built; a solver that knows all_different needs none"
            )
        if by_value:
            self._assign(model, least, most)
        else:
            self._order(model, least, most)

    def _order(self, model: ModelBase, least: Floats, most: Floats) -> None:
        """A binary per pair of values that may meet: 1 if the first of them is less."""
        one, other = np.triu_indices(self.values.shape[-1], 1)
        may_meet = (least[..., one] <= most[..., other]) & (least[..., other] <= most[..., one])
        *sets, pair = np.nonzero(may_meet)
        first, second = (*sets, one[pair]), (*sets, other[pair])
        less = model.binary(f"{self.name}:less", len(pair))
        x, y = self.values[first], self.values[second]
        above = most[first] - least[second] + 1  # by how much what does not hold may be broken
        below = most[second] - least[first] + 1
        model.add(f"{self.name}:less", x - y + 1 <= above * (1 - less))
        model.add(f"{self.name}:more", y - x + 1 <= below * less)

    def _assign(self, model: ModelBase, least: Floats, most: Floats) -> None:
        """A binary per value and number it may take."""
        numbers = np.arange(int(least.min()), int(most.max()) + 1).astype(float)
        may = (numbers >= least[..., None]) & (numbers <= most[..., None])
        takes = model.integer(f"{self.name}:takes", may.shape, upper=may.astype(float))
        model.add(f"{self.name}:one", takes.sum(axis=-1) == 1)
        model.add(f"{self.name}:value", (takes * numbers).sum(axis=-1) == self.values)
        model.add(f"{self.name}:once", takes.sum(axis=-2) <= 1)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        return [f"all different {x}" for x in writer.lists(self.values, entries)]

    def latex(self, writer: FormulaWriter) -> str:
        axis = letters_of(self.values.shape)[-1]
        value = writer.factor(self.values)
        return rf"\bigl({value}\bigr)_{{{axis}}} \text{{ all different}}"
