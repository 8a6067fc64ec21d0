"""Exact methods for models too large to write down: columns by pricing, cuts by separation."""

from optsched.decomposition.column_generation import ColumnGeneration
from optsched.decomposition.columns import (
    Column,
    ColumnBlock,
    Condition,
    Duals,
    Priced,
    PricingError,
    Term,
)
from optsched.decomposition.cuts import CutResult, solve_with_cuts
from optsched.decomposition.lagrangian import PriceSearch, maximise_dual
from optsched.decomposition.limits import Limits
from optsched.decomposition.outcome import ColumnSolution, GenerationOptions
from optsched.decomposition.primal import Incumbent

__all__ = [
    "Column",
    "ColumnBlock",
    "ColumnGeneration",
    "ColumnSolution",
    "Condition",
    "CutResult",
    "Duals",
    "GenerationOptions",
    "Incumbent",
    "Limits",
    "PriceSearch",
    "Priced",
    "PricingError",
    "Term",
    "maximise_dual",
    "solve_with_cuts",
]
