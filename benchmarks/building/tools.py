"""What the builders of several models share: grouping for loops, and the way into HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]


def groups(key: Array, sides: Array) -> list[tuple[list[int], float]]:
    """Members and right-hand side of every group that has members, for tools that loop."""
    members: list[list[int]] = [[] for _ in sides]
    for i, group in enumerate(key.tolist()):
        members[group].append(i)
    pairs = zip(members, sides.tolist(), strict=True)
    return [(cells, side) for cells, side in pairs if cells]


def in_highs(
    matrix: Any, cost: Array, columns: tuple[Array, Array, Array], rows: tuple[Array, Array]
) -> Any:
    """HiGHS holding a model.

    Args:
        matrix: scipy CSR or CSC array, shape (rows, columns).
        cost: shape (columns,).
        columns: lower bound, upper bound and whether integer, each of shape (columns,).
        rows: lower and upper side, each of shape (rows,).
    """
    import highspy

    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    form = (
        highspy.MatrixFormat.kRowwise if matrix.format == "csr" else highspy.MatrixFormat.kColwise
    )
    lower, upper, integer = columns
    engine.passModel(
        len(cost), len(rows[0]), matrix.nnz, int(form), 1, 0.0, cost, lower, upper, *rows,
        matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data,
        integer.astype(np.int32),
    )  # fmt: skip
    return engine


def pyomo_in_highs(model: Any) -> Any:
    """HiGHS holding a Pyomo model, by its standard form.

    This is the quickest of Pyomo's ways there: writing an LP file, or its persistent HiGHS
    interfaces, take four times as long for this step.
    """
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    form = LinearStandardFormCompiler().write(model, mixed_form=True)
    bounds = np.array([v.bounds for v in form.columns], dtype=float)
    integer = np.array([v.is_integer() for v in form.columns])
    sense = np.array([row.bound_type for row in form.rows])  # -1 is >=, 0 is ==, 1 is <=
    rows = np.where(sense <= 0, form.rhs, -np.inf), np.where(sense >= 0, form.rhs, np.inf)
    cost = form.c.toarray().reshape(-1)
    return in_highs(form.A, cost, (bounds[:, 0], bounds[:, 1], integer), rows)


def optsched_to_highs(model: Any) -> Any:
    """What our HiGHS back end would run."""
    from optsched.solvers.highs.backend import load
    from optsched.solvers.options import Options

    return load(model.compile(), Options())


def optsched_to_mathopt(model: Any) -> Any:
    """What our SCIP back end hands to MathOpt."""
    from optsched.solvers.mathopt.writer import build

    return build(model.compile())


def optsched_to_cpsat(model: Any) -> Any:
    """What our CP-SAT back end hands over, numbers scaled to integers."""
    from optsched.solvers.cpsat.backend import CpSat
    from optsched.solvers.cpsat.integer import integer_model
    from optsched.solvers.cpsat.proto import build

    return build(integer_model(model.compile(), CpSat()))
