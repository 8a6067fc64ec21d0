"""A model in other tools' terms, as ``Model.write`` and ``Model.to_*`` give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from optsched.files import title, write
from optsched.files.names import name_all
from optsched.model.expression import Floats
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


@dataclass(frozen=True, eq=False)
class ScipyArguments:
    """``scipy.optimize.milp(**arguments.milp())``; scipy minimises, so a maximum is negated."""

    compiled: MatrixForm

    @property
    def c(self) -> Floats:
        """Costs to be minimised, shape (columns,)."""
        return -self.compiled.cost if self.compiled.maximise else self.compiled.cost

    def milp(self) -> dict[str, Any]:
        """Arguments of ``scipy.optimize.milp``."""
        from scipy.optimize import Bounds, LinearConstraint  # slow to import

        rows = self.compiled.rows
        return {
            "c": self.c,
            "integrality": self.compiled.integer.astype(np.int8),
            "bounds": Bounds(self.compiled.lower, self.compiled.upper),
            "constraints": [LinearConstraint(rows.matrix, rows.lower, rows.upper)]
            if rows.count
            else [],
        }

    def linprog(self) -> dict[str, Any]:
        """Arguments of ``scipy.optimize.linprog``; rows with two sides are split."""
        rows, matrix = self.compiled.rows, self.compiled.rows.matrix
        equal = rows.lower == rows.upper
        above = ~equal & np.isfinite(rows.upper)
        below = ~equal & np.isfinite(rows.lower)
        return {
            "c": self.c,
            "A_ub": sp.csr_array(sp.vstack([matrix[above], -matrix[below]])),
            "b_ub": np.concatenate([rows.upper[above], -rows.lower[below]]),
            "A_eq": matrix[equal],
            "b_eq": rows.upper[equal],
            "bounds": np.column_stack([self.compiled.lower, self.compiled.upper]),
            "integrality": self.compiled.integer.astype(np.int8),
        }

    def objective(self, fun: float) -> float:
        """The model's objective for the value that scipy reports."""
        return (-fun if self.compiled.maximise else fun) + self.compiled.offset

    def values(self, x: Floats) -> dict[str, Floats]:
        """The point that scipy reports, by variable name."""
        return self.compiled.split(np.asarray(x, dtype=np.float64))
