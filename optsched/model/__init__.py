"""The model object: arrays of linear expressions in named blocks."""

import optsched.model.numpy_functions  # noqa: F401  # fills numpy's tables
from optsched.model.base import Block, ModelBase
from optsched.model.evaluate import BlockViolation
from optsched.model.expression import Expression, Relation
from optsched.model.labels import Labelled
from optsched.model.matrix_form import MatrixForm, Rows
from optsched.model.model import FEASIBILITY, Model
from optsched.model.variables import Variable, VariableType

__all__ = [
    "FEASIBILITY",
    "Block",
    "BlockViolation",
    "Expression",
    "Labelled",
    "MatrixForm",
    "Model",
    "ModelBase",
    "Relation",
    "Rows",
    "Variable",
    "VariableType",
]
