"""A compiled model as PuLP's objects."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from optsched.model.matrix_form import MatrixForm


def load_pulp() -> Any:
    """Import PuLP, after OR-tools: the HiGHS inside OR-tools would crash otherwise."""
    with suppress(ImportError):
        # PuLP makes highspy's functions global, and libraries that come later bind to them
        import ortools.math_opt.core.python.solver  # noqa: F401
    import pulp

    return pulp


def pulp_problem(
    compiled: MatrixForm, columns: Sequence[str], rows: Sequence[str], title: str
) -> tuple[Any, list[Any]]:
    """The ``LpProblem`` and its variables in the model's order.

    A row with two sides becomes two, the second with ``__low`` after its name.

    Args:
        compiled: linear rows only.
        columns: names, shape (columns,).
        rows: names, shape (rows,).
        title: of the problem.
    """
    pulp = load_pulp()
    problem = pulp.LpProblem(title, pulp.LpMaximize if compiled.maximise else pulp.LpMinimize)
    lower, upper = (
        [value if np.isfinite(value) else None for value in side.tolist()]
        for side in (compiled.lower, compiled.upper)
    )
    kinds = [pulp.LpInteger if i else pulp.LpContinuous for i in compiled.integer.tolist()]
    variables = list(map(pulp.LpVariable, columns, lower, upper, kinds))
    problem.addVariables(variables)
    weights = zip(variables, compiled.cost.tolist(), strict=True)
    problem.setObjective(pulp.LpAffineExpression(weights, compiled.offset))
    matrix = compiled.rows.matrix
    places, data, cuts = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    sides = zip(compiled.rows.lower.tolist(), compiled.rows.upper.tolist(), strict=True)
    for row, (low, high) in enumerate(sides):
        terms = [(variables[places[k]], data[k]) for k in range(cuts[row], cuts[row + 1])]
        if low == high:
            wanted = [(pulp.LpConstraintEQ, "", high)]
        else:
            above, below = high < np.inf, low > -np.inf
            wanted = [(pulp.LpConstraintLE, "", high)] * above
            wanted += [(pulp.LpConstraintGE, "__low" * above, low)] * below
        for sense, suffix, side in wanted:
            total = pulp.LpAffineExpression(terms)
            problem.addConstraint(pulp.LpConstraint(total, sense, rows[row] + suffix, side))
    return problem, variables
