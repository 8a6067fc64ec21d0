"""A kind of block as a third party writes it: one file, and nothing of the package touched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched import Model
from optsched.model import Block, Expression, ModelBase
from optsched.model.base import Entries
from optsched.model.blocks import Linear
from optsched.model.expression import Floats, Shape
from optsched.model.latex import FormulaWriter, letters_of
from optsched.model.words import Writer


def exactly(m: Model, count: int, choices: Expression, *, name: str, formula: str = "") -> None:
    """Require that exactly ``count`` of the binaries along the last axis are 1."""
    m.add_block(ExactlyK(name, formula, choices, count))


@dataclass(frozen=True, eq=False)
class ExactlyK(Block):
    """Exactly ``count`` of the choices are 1."""

    choices: Expression
    """Binary, shape (*shape, n)."""
    count: int
    kind = "exactly_k"
    becomes = (Linear,)
    how = "the choices sum to the count"

    @property
    def shape(self) -> Shape:
        return self.choices.shape[:-1]

    def excess(self, x: Floats) -> Floats:
        on = np.round(self.choices.at(x)) == 1
        return np.abs(on.sum(axis=-1) - float(self.count))

    def lower(self, model: ModelBase) -> None:
        model.add(f"{self.name}:sum", self.choices.sum(axis=-1) == self.count)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        return [f"exactly {self.count} of {x}" for x in writer.lists(self.choices, entries)]

    def latex(self, writer: FormulaWriter) -> str:
        axis = letters_of(self.choices.shape)[-1]
        return rf"|\{{{axis} : {writer.expression(self.choices)} = 1\}}| = {self.count}"
