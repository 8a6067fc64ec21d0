"""Exact methods for models too large to write down: columns by pricing, cuts by separation."""

from optsched.decomposition.annealing import Moves, anneal, beside
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
from optsched.decomposition.incumbent import Incumbent
from optsched.decomposition.knapsack import Knapsack, Patterns, ThresholdValue
from optsched.decomposition.lagrangian import PriceSearch, maximise_dual
from optsched.decomposition.limits import Limits
from optsched.decomposition.listed import ListedColumns
from optsched.decomposition.outcome import ColumnSolution, GenerationOptions
from optsched.decomposition.parts import in_parts
from optsched.decomposition.polar_cuts import violated_row
from optsched.decomposition.primal import ColumnChoice
from optsched.decomposition.rows import CutRow, Split

__all__ = [
    "Column",
    "ColumnBlock",
    "ColumnChoice",
    "ColumnGeneration",
    "ColumnSolution",
    "Condition",
    "CutResult",
    "CutRow",
    "Duals",
    "GenerationOptions",
    "Incumbent",
    "Knapsack",
    "Limits",
    "ListedColumns",
    "Moves",
    "Patterns",
    "PriceSearch",
    "Priced",
    "PricingError",
    "Split",
    "Term",
    "ThresholdValue",
    "anneal",
    "beside",
    "in_parts",
    "maximise_dual",
    "solve_with_cuts",
    "violated_row",
]
