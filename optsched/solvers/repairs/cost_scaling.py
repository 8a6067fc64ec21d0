"""Multiply small costs, and costs that are almost equal, by a power of two for the solver.

Solvers take reduced costs of about 1e-7 for zero, whatever a column's range, and so ignore small
differences of costs. A power of two rounds nothing. Shown by
``test_of_fleets_that_nearly_tie_the_cheapest_is_found``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optsched.model.expression import Floats
from optsched.solvers.backend import SolverResult

_SMALL_COST = 1e-3  # costs from here on are left as they are
_LARGE_COST = 1e4  # costs are not scaled beyond
_LARGEST_COST = 1e7  # nor are those that nearly tie
_FEW_COSTS, _DISTINCT_COSTS = 1000, 50  # costs, and different ones, among which ties are looked for
_SAME_COST = 1e-12  # relative difference up to which costs are the same, but for rounding


def cost_scale(cost: Floats) -> float:
    """Return the power of two that costs are multiplied by, or 1."""
    size = np.abs(cost)
    size = size[size > 0]
    least, largest = size.min(initial=math.inf), _LARGE_COST
    if len(size) <= _FEW_COSTS and len(apart := np.unique(size)) <= _DISTINCT_COSTS:
        apart = np.diff(apart)
        nearest = apart[apart > _SAME_COST * size.max(initial=0.0)].min(initial=math.inf)
        if nearest < min(_SMALL_COST, least):
            least, largest = nearest, _LARGEST_COST
    if least >= _SMALL_COST:
        return 1.0
    scale = min(1.0 / least, largest / size.max())
    return 2.0 ** max(0, math.floor(math.log2(scale)))


def unscaled(result: SolverResult, scale: float) -> SolverResult:
    """Return the answer for the costs before they were multiplied."""
    duals, costs = result.row_duals, result.reduced_costs
    return replace(
        result,
        bound=None if result.bound is None else result.bound / scale,
        row_duals=None if duals is None else duals / scale,
        reduced_costs=None if costs is None else costs / scale,
        scaling_error=result.scaling_error / scale,
    )
