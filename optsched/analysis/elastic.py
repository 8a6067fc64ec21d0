"""Elastic solves: the smallest violation that makes an infeasible model feasible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import InputError
from optsched.model import FEASIBILITY, Model
from optsched.model.blocks import Linear
from optsched.model.expression import Floats
from optsched.solve import solve
from optsched.solvers.backend import Solver
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution


@dataclass(frozen=True)
class GivenUp:
    """A point that breaks rows by the least weighted sum of amounts.

    Example:
        >>> from optsched import Model
        >>> from optsched.analysis.elastic import least_given_up
        >>> m = Model()
        >>> x = m.integer("x", upper=2)
        >>> m.add("more", x >= 3)
        >>> least_given_up(m).amounts["more"].item()
        1.0
    """

    solution: Solution
    """Its objective is that sum; its bound, what cannot be gone below."""
    amounts: Mapping[str, Floats]
    """By block, how much of each row is given up (in its units); blocks that hold are left out."""


def least_given_up(
    model: Model,
    weights: Mapping[str, ArrayLike] | None = None,
    solver: Solver = "highs",
    *,
    options: Options | None = None,
    **settings: Any,
) -> GivenUp:
    """Let linear rows be broken at a price, and pay as little as can be.

    Bounds, integrality, other kinds of block and rows without a weight hold as they are; the
    model's own objective counts for nothing.

    Args:
        model: left alone.
        weights: by block, the price of a unit of each row, above 0; without, 1 for every row.
        solver: as for ``solve``.
        options: limits and tolerances.
        settings: single fields of ``Options``.

    Raises:
        InputError: a weight of no linear block, or one that is not above 0.

    Example:
        >>> from optsched import Model
        >>> from optsched.analysis.elastic import least_given_up
        >>> m = Model()
        >>> x = m.integer("x", shape=2, upper=4)
        >>> m.add("need", x.sum() >= 7)
        >>> m.add("rest", x <= 3)
        >>> m.add("budget", x[0] + 2 * x[1] <= 8)
        >>> found = least_given_up(m, {"rest": 1.0, "budget": 0.4})
        >>> found.solution.objective, {name: a.tolist() for name, a in found.amounts.items()}
        (1.8, {'rest': [1.0, 0.0], 'budget': 2.0})
    """
    linear = {n: b.relation for n, b in model.blocks.items() if isinstance(b, Linear)}
    if weights is None:
        weights = dict.fromkeys(linear, 1.0)
    for name, weight in weights.items():
        if name not in linear:
            raise InputError.of(
                f"weights[{name!r}]", weight, f"a linear block: {', '.join(linear)}"
            )
        if not np.all(np.asarray(weight, dtype=np.float64) > 0):
            raise InputError.of(f"weights[{name!r}]", weight, "above 0")
    soft = model.copy()
    soft.blocks = {name: block for name, block in model.blocks.items() if name not in weights}
    price: Any = 0.0
    amounts = {}
    for name, weight in weights.items():
        amounts[name] = soft.soft(soft.free_name(None, "given_up"), linear[name])
        price = price + (amounts[name] * weight).sum()
    soft.minimize(price)
    solution = solve(soft, solver, options=options, **settings)
    found = {n: solution[v.name] for n, v in amounts.items()} if solution.has_point else {}
    return GivenUp(solution, {n: a for n, a in found.items() if (a > FEASIBILITY).any()})
