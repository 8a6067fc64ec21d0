"""Tasks in time: ``start + duration = end``, if present."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, Linear, ModelBase
from optsched.model.blocks.indicator import Indicator, check_literal
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter
from optsched.model.ranges import are_integral
from optsched.model.words import Writer


def interval(
    model: ModelBase,
    start: Expression | ArrayLike,
    duration: Expression | ArrayLike,
    end: Expression | ArrayLike,
    *,
    presence: Expression | None = None,
    name: str | None = None,
    formula: str = "",
) -> Intervals:
    """Add tasks with ``start + duration = end`` and ``duration >= 0``, if they are present.

    Args:
        model: that has them.
        start: integer, of any shape.
        duration: integer, of that shape.
        end: integer, of that shape.
        presence: binary; by default all tasks are present.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> start, end = m.integer("start", 2, upper=9), m.integer("end", 2, upper=9)
        >>> tasks = m.interval(start, [3, 4], end)
        >>> m.cumulative(tasks, [1, 1], 1)
        >>> m.minimize(m.maximum(end))
        >>> solve(m, "cpsat").objective
        7.0
    """
    name = model.free_name(name, "interval")
    optional = 1.0 if presence is None else presence
    begin, length, finish, there = model.alike(name, start, duration, end, optional)
    if not are_integral(model.domains(), begin, length, finish):
        raise ModelError(f"block {name!r}: starts, durations and ends must be integer")
    if presence is not None:
        check_literal(model, name, there)
    block = Intervals(name, formula, begin, length, finish, there)
    model.add_block(block)
    return block


@dataclass(frozen=True, eq=False)
class Intervals(Block):
    """Tasks in time: ``start + duration = end`` where present, duration non-negative."""

    start: Expression
    duration: Expression
    end: Expression
    presence: Expression
    """Binary, or the constant 1; an absent task binds nothing."""
    kind = "intervals"
    becomes = (Linear, Indicator)
    how = "start + duration = end, as indicator rows where a task may be absent"

    @property
    def shape(self) -> Shape:
        return self.start.shape

    def excess(self, x: Floats) -> Floats:
        duration = self.duration.at(x)
        apart = np.abs(self.start.at(x) + duration - self.end.at(x))
        present = np.round(self.presence.at(x)) == 1
        return np.asarray(present * np.maximum(apart, -duration))

    def lower(self, model: ModelBase) -> None:
        """Rows, or indicators of presence."""
        rows = {
            f"{self.name}:length": self.start + self.duration - self.end == 0,
            f"{self.name}:sign": self.duration >= 0,
        }
        for name, row in rows.items():
            if self.presence.terms:
                model.add_block(Indicator(name, "", (self.presence,), (True,), row))
            else:
                model.add(name, row)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        start, duration = (writer.factors(e, entries) for e in (self.start, self.duration))
        end, presence = (writer.sums(e, entries) for e in (self.end, self.presence))
        return [
            f"{s} + {d} = {e}" + ("" if p == "1" else f" where {p} = 1")
            for s, d, e, p in zip(start, duration, end, presence, strict=True)
        ]

    def latex(self, writer: FormulaWriter) -> str:
        sides = f"{writer.expression(self.start)} + {writer.expression(self.duration)}"
        row = f"{sides} = {writer.expression(self.end)}"
        if not self.presence.terms:
            return row
        return rf"{writer.expression(self.presence)} = 1 \;\Rightarrow\; {row}"
