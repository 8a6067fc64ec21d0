"""A model in other tools' terms, as ``Model.write`` and ``Model.to_*`` give it."""

from __future__ import annotations

from typing import Any

from optsched.files import title, write
from optsched.files.arguments import ScipyArguments
from optsched.files.names import name_all
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.mathopt.writer import build
from optsched.solvers.pulp.writer import pulp_problem

__all__ = ["mathopt_model", "pulp_model", "scipy_arguments", "write"]


def scipy_arguments(compiled: MatrixForm) -> ScipyArguments:
    """Return the arguments of ``scipy.optimize.milp`` and ``linprog``."""
    return ScipyArguments(compiled)


def pulp_model(compiled: MatrixForm, name: str) -> Any:
    """An ``LpProblem``; a row with two sides becomes two, the second's name ending in ``__low``."""
    names = name_all(compiled)
    problem, _ = pulp_problem(compiled, names.columns, names.rows, title(name))
    return problem


def mathopt_model(compiled: MatrixForm, name: str) -> Any:
    """An ``ortools.math_opt.python.mathopt.Model``."""
    from ortools.math_opt.python import mathopt

    names = name_all(compiled)
    proto = build(compiled)
    proto.name = title(name)
    proto.variables.names.extend(names.columns)
    proto.linear_constraints.names.extend(names.rows)
    return mathopt.Model.from_model_proto(proto)
