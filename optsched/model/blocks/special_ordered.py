"""Special ordered sets: at most one entry, or two neighbours, are not 0 (Beale, Tomlin 1970)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter
from optsched.model.ranges import finite_range
from optsched.model.words import Writer


def sos1(
    model: ModelBase, values: Expression, *, name: str | None = None, formula: str = ""
) -> None:
    """Require that at most one entry along the last axis differs from 0.

    Args:
        model: that requires it.
        values: shape (..., n); bounded, unless the solver supports such sets.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> load = m.continuous("load", 3, upper=[4, 5, 3])
        >>> m.sos1(load)
        >>> m.maximize(load.sum())
        >>> solve(m).objective
        5.0
    """
    _special_ordered(model, values, 1, model.free_name(name, "sos1"), formula)


def sos2(
    model: ModelBase, values: Expression, *, name: str | None = None, formula: str = ""
) -> None:
    """Require that at most two entries along the last axis differ from 0, and are neighbours.

    Args:
        model: that requires it.
        values: shape (..., n); bounded, unless the solver supports such sets.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> load = m.continuous("load", 4, upper=[4, 2, 3, 3])
        >>> m.sos2(load)
        >>> m.maximize(load @ [1.0, 1.0, 1.0, 0.5])
        >>> solve(m).objective
        6.0
    """
    _special_ordered(model, values, 2, model.free_name(name, "sos2"), formula)


def _special_ordered(
    model: ModelBase, values: Expression, order: int, name: str, formula: str
) -> None:
    model.check_own(f"block {name!r}", values)
    if not values.ndim:
        raise ModelError(f"block {name!r}: a set needs an axis, and a single expression has none")
    model.add_block(SpecialOrdered(name, formula, values, order))


@dataclass(frozen=True, eq=False)
class SpecialOrdered(Block):
    """At most ``order`` entries along the last axis differ from 0, and they are neighbours."""

    values: Expression
    """Shape (*shape, n)."""
    order: int
    """1 or 2."""
    kind = "special_ordered"
    becomes = (Linear,)
    how = "a binary per place where the entries that may differ from 0 begin"

    @property
    def shape(self) -> Shape:
        return self.values.shape[:-1]

    def excess(self, x: Floats) -> Floats:
        """The largest entry that would have to be 0, for the best choice of those that need not."""
        size, width = np.abs(self.values.at(x)), self.values.shape[-1]
        begins = np.arange(max(1, width - self.order + 1))[:, None]
        outside = (np.arange(width) < begins) | (np.arange(width) >= begins + self.order)
        others = np.where(outside, size[..., None, :], 0.0).max(axis=-1, initial=0.0)
        return np.asarray(others.min(axis=-1))

    def lower(self, model: ModelBase) -> None:
        """Entries lie between 0 and 0 if no chosen run of neighbours covers them.

        Raises:
            ModelError: an entry lacks a bound; the message names the variable.
        """
        width = self.values.shape[-1]
        if width <= self.order:
            return
        runs = width - self.order + 1
        covers = sum(np.eye(runs, width, shift) for shift in range(self.order))
        least, most = finite_range(self.name, self.values, model.domains(), model.column_name)
        begins = model.binary(f"{self.name}:begins", (*self.shape, runs))
        model.add(f"{self.name}:one", begins.sum(axis=-1) == 1)
        model.add(f"{self.name}:most", self.values <= (begins @ covers) * most)
        model.add(f"{self.name}:least", self.values >= (begins @ covers) * least)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        what = "one of" if self.order == 1 else "two neighbours of"
        return [f"at most {what} {x} not 0" for x in writer.lists(self.values, entries)]

    def latex(self, writer: FormulaWriter) -> str:
        return rf"\mathrm{{SOS}}_{self.order}\bigl({writer.expression(self.values)}\bigr)"
