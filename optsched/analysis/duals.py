"""Dual values of a model whose integer variables are fixed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError
from optsched.model import MatrixForm, Model
from optsched.model.expression import Floats
from optsched.solvers.ask import ask
from optsched.solvers.backend import Solver
from optsched.solvers.check import checked_solution
from optsched.solvers.options import Options, merged
from optsched.solvers.registry import installed
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.solution import Solution


def fixed_duals(
    model: Model,
    solution: Solution,
    solver: Solver = "highs",
    *,
    options: Options | None = None,
    **settings: Any,
) -> Solution:
    """Solve what is linear of a mixed-integer model once its integers are fixed, for its duals.

    They say what a small change of a side is worth as long as no integer changes.

    Args:
        model: what was solved; blocks that are no rows are lowered, and their rows have duals too,
            by the block's name and ":".
        solution: a point of it.
        solver: takes linear programs and gives duals.
        options: limits and tolerances.
        settings: single fields of ``Options``.

    Raises:
        InputError: the solution has no point.
        UnsupportedError: the model holds what has no linear form, such as rotated cones.

    Example:
        >>> from optsched import Model, solve
        >>> from optsched.analysis.duals import fixed_duals
        >>> m = Model("open a plant, then fill it")
        >>> is_open, made = m.binary("open"), m.continuous("made")
        >>> m.add("capacity", made <= 5 * is_open)
        >>> m.add("demand", made >= 3)
        >>> m.minimize(10 * is_open + 2 * made)
        >>> float(fixed_duals(m, solve(m)).dual("demand"))
        2.0
    """
    if not solution.has_point:
        raise InputError.of("solution", str(solution.status), "one with a point")
    began = time.perf_counter()
    chosen = merged(options, settings)
    engine, version = installed(solver)
    form = with_whole_bounds(model.compile())
    whole = np.flatnonzero(form.integer[: model.columns])
    fixed = _fixed(form, whole, model.vector(solution.values)[whole])
    if fixed.integer.sum() > len(whole):  # those that lowering added follow
        found = ask(engine, fixed, chosen, None)
        if found.x is None:
            return checked_solution(found, fixed, fixed, engine.name, version, began)
        whole = np.flatnonzero(form.integer)
        fixed = _fixed(form, whole, found.x[whole])
    program = replace(fixed, integer=np.zeros_like(fixed.integer))
    result = ask(engine, program, chosen, None)
    solved = checked_solution(result, program, program, engine.name, version, began)
    own = {name: value for name, value in solved.values.items() if name in model.variables}
    return replace(solved, values=own)


def _fixed(form: MatrixForm, columns: NDArray[np.intp], values: Floats) -> MatrixForm:
    """The form with these columns at these whole numbers."""
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[columns] = upper[columns] = np.rint(values)
    return replace(form, lower=lower, upper=upper)
