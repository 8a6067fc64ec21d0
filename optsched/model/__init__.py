"""The model object: arrays of linear expressions in named blocks."""

from optsched.model.compiled import Compiled, CompiledIndicator, Rows
from optsched.model.evaluate import BlockViolation
from optsched.model.expression import Expression, Relation
from optsched.model.model import FEASIBILITY, Block, Indicator, Kind, Model, Variable

__all__ = [
    "FEASIBILITY",
    "Block",
    "BlockViolation",
    "Compiled",
    "CompiledIndicator",
    "Expression",
    "Indicator",
    "Kind",
    "Model",
    "Relation",
    "Rows",
    "Variable",
]
