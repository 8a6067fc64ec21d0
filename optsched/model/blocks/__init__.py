"""Nonlinear and logical statements, one file per kind: block, violation, lowering, text, LaTeX.

Each file has the block and the function of the model's method of the same name. A statement that
has a value returns a new variable block that equals it; the others are constraints. A solver that
supports a statement gets it unchanged, other solvers get exact linear rows.

Everywhere, ``name`` is the name of the block, and of the variable block if there is one; by
default the kind and a number. ``formula`` is LaTeX, as in the paper. The examples begin with
``import numpy as np`` and ``from optsched import Model, solve``.
"""

from optsched.model.base import Block, Linear
from optsched.model.blocks.active_slot import ActiveSlot
from optsched.model.blocks.all_different import AllDifferent
from optsched.model.blocks.circuit import Circuit
from optsched.model.blocks.cumulative import Cumulative
from optsched.model.blocks.cumulative_profile import CumulativeProfile
from optsched.model.blocks.element import Element
from optsched.model.blocks.indicator import Indicator
from optsched.model.blocks.intervals import Intervals
from optsched.model.blocks.maximum import Maximum
from optsched.model.blocks.piecewise import Piecewise
from optsched.model.blocks.power import Power
from optsched.model.blocks.product import Product
from optsched.model.blocks.ratio import Ratio
from optsched.model.blocks.rotated_cone import RotatedCone
from optsched.model.blocks.routes import Routes
from optsched.model.blocks.semicontinuous import SemiContinuous
from optsched.model.blocks.special_ordered import SpecialOrdered
from optsched.model.blocks.table import Table

__all__ = [
    "ActiveSlot",
    "AllDifferent",
    "Block",
    "Circuit",
    "Cumulative",
    "CumulativeProfile",
    "Element",
    "Indicator",
    "Intervals",
    "Linear",
    "Maximum",
    "Piecewise",
    "Power",
    "Product",
    "Ratio",
    "RotatedCone",
    "Routes",
    "SemiContinuous",
    "SpecialOrdered",
    "Table",
]
