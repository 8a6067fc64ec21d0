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
from optsched.decomposition.listed import ListedColumns
from optsched.decomposition.outcome import ColumnSolution, GenerationOptions
from optsched.decomposition.primal import Incumbent
from optsched.decomposition.rows import CutRow, Split

__all__ = [
    "Column",
    "ColumnBlock",
    "ColumnGeneration",
    "ColumnSolution",
    "Condition",
    "CutResult",
    "CutRow",
    "Duals",
    "GenerationOptions",
    "Incumbent",
    "Limits",
    "ListedColumns",
    "PriceSearch",
    "Priced",
    "PricingError",
    "Split",
    "Term",
    "maximise_dual",
    "solve_with_cuts",
]
