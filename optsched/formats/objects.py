"""A model as the objects of other modelling libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.formats.names import Names
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.mathopt.writer import build
from optsched.solvers.pulp.backend import load_pulp


def pulp_problem(compiled: MatrixForm, names: Names, title: str) -> Any:
    """An ``LpProblem``; a row with two sides becomes two, the second with ``__low`` after its name.

    Raises:
        ImportError: PuLP is not installed.
    """
    pulp = load_pulp()

    def side(value: float) -> float | None:
        return value if np.isfinite(value) else None

    sense = pulp.LpMaximize if compiled.maximise else pulp.LpMinimize
    problem = pulp.LpProblem(title, sense)
    variables = [
        pulp.LpVariable(name, side(low), side(high), pulp.LpInteger if whole else pulp.LpContinuous)
        for name, low, high, whole in zip(
            names.columns,
            compiled.lower.tolist(),
            compiled.upper.tolist(),
            compiled.integer.tolist(),
            strict=True,
        )
    ]
    problem.addVariables(variables)
    used = np.flatnonzero(compiled.cost).tolist()
    cost = compiled.cost.tolist()
    problem.setObjective(
        pulp.LpAffineExpression([(variables[i], cost[i]) for i in used], compiled.offset)
    )
    matrix = compiled.rows.matrix
    columns, data, cuts = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    sides = zip(compiled.rows.lower.tolist(), compiled.rows.upper.tolist(), strict=True)
    for row, (low, high) in enumerate(sides):
        terms = [(variables[columns[k]], data[k]) for k in range(cuts[row], cuts[row + 1])]
        wanted = []
        if low == high:
            wanted.append((pulp.LpConstraintEQ, "", high))
        else:
            if high < np.inf:
                wanted.append((pulp.LpConstraintLE, "", high))
            if low > -np.inf:
                wanted.append((pulp.LpConstraintGE, "__low" if wanted else "", low))
        for relation, suffix, right in wanted:
            total = pulp.LpAffineExpression(terms)
            name = names.rows[row] + suffix
            problem.addConstraint(pulp.LpConstraint(total, relation, name, right))
    return problem


def mathopt_model(compiled: MatrixForm, names: Names, title: str) -> Any:
    """An ``ortools.math_opt.python.mathopt.Model``."""
    from ortools.math_opt.python import mathopt

    proto = build(compiled)
    proto.name = title
    proto.variables.names.extend(names.columns)
    proto.linear_constraints.names.extend(names.rows)
    return mathopt.Model.from_model_proto(proto)
