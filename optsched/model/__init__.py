"""The model object: arrays of linear expressions in named blocks."""

from optsched.model.base import Kind, Variable
from optsched.model.blocks import Block
from optsched.model.evaluate import BlockViolation
from optsched.model.expression import Expression, Relation
from optsched.model.matrix_form import MatrixForm, Rows
from optsched.model.model import EVERY_KIND, FEASIBILITY, Model

__all__ = [
    "EVERY_KIND",
    "FEASIBILITY",
    "Block",
    "BlockViolation",
    "Expression",
    "Kind",
    "MatrixForm",
    "Model",
    "Relation",
    "Rows",
    "Variable",
]
