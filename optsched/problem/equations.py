"""Numbered statements of a paper, and what they have become in a model.

A formulation says for every number where it went, in one of two ways:

* names in the model, with commas between them: blocks ("2h" names "2h:workers", too), variables,
  ``OBJECTIVE``;
* a sentence, which ends in a full stop: why nothing is needed, or what says the same. Names of the
  model stand in backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optsched.errors import ModelError

if TYPE_CHECKING:
    from optsched.model import Model, Variable

OBJECTIVE = "objective"


@dataclass(frozen=True)
class Equation:
    """A numbered statement of a paper in one model.

    Example:
        >>> import optsched as osd
        >>> print(osd.problem("okita").equation("2b"))
        (2b) of problem_2: 2b
    """

    number: str
    model: str
    """The formulation."""
    names: tuple[str, ...]
    """Blocks, variables and ``OBJECTIVE`` of the model that it is; empty if there is a reason."""
    formulas: tuple[str, ...]
    """LaTeX of these, each once; marked "(ours)" if it is not the paper's."""
    reason: str
    """Where it went, if it is nothing of the model."""

    def __str__(self) -> str:
        return f"({self.number}) of {self.model}: {self.reason or ', '.join(self.names)}"

    @property
    def is_ours(self) -> bool:
        """Whether a formula of it is not the paper's."""
        from optsched.model.latex import ours

        return any(formula.endswith(ours("")) for formula in self.formulas)

    @property
    def by_number(self) -> bool:
        """Whether the model has it under its number."""
        return any(name.partition(":")[0] == self.number for name in self.names)


def equations_in(name: str, model: Model, where: Mapping[str, str]) -> Iterator[Equation]:
    """The numbered statements of a model, in order.

    Args:
        name: of the formulation.
        model: that it builds.
        where: by number, as the module says.

    Raises:
        ModelError: a name that the model does not have.
    """
    for number, text in where.items():
        if text.endswith("."):
            for mentioned in re.findall(r"`([^`]+)`", text):
                _formulas(model, mentioned, number)
            yield Equation(number, name, (), (), text)
            continue
        names = tuple(text.split(", "))
        found = [formula for one in names for formula in _formulas(model, one, number)]
        yield Equation(number, name, names, tuple(dict.fromkeys(found)), "")


def _formulas(model: Model, name: str, number: str) -> list[str]:
    """LaTeX of what a name stands for; blocks of another number are ours."""
    from optsched.model.latex import ours
    from optsched.model.view import block_formula, objective_formula

    if name == OBJECTIVE:
        written = objective_formula(model)
        return [written if model.objective_formula else ours(written)]
    blocks = [block for key, block in model.blocks.items() if f"{key}:".startswith(f"{name}:")]
    if name in model.variables and not blocks:
        return [_domain(model.variables[name])]
    if not blocks:
        raise ModelError(f"{model.name} has no block and no variable {name!r} for ({number})")
    written_by_paper = name.partition(":")[0] == number
    return [
        block.formula
        if block.formula and written_by_paper
        else _marked(block_formula(model, block))
        for block in blocks
    ]


def _marked(formula: str) -> str:
    from optsched.model.latex import ours

    return formula if formula.endswith(r"\text{(ours)}") else ours(formula)


def _domain(variable: Variable) -> str:
    from optsched.model import VariableType
    from optsched.model.latex import variable_formula

    whole = variable.type is not VariableType.CONTINUOUS
    if np.all(variable.lower >= 0) and np.all(variable.upper <= 1):
        values = r"\in \{0, 1\}" if whole else r"\in [0, 1]"
    else:
        values = r"\in \{0, 1, 2, \dots\}" if whole else r"\ge 0"
    return f"{variable_formula(variable)} {values}"
