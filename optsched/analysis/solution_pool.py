"""Solution pools: all optimal solutions of a model, or its best few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.model import Model, VariableType
from optsched.solve import solve
from optsched.solvers.backend import Solver
from optsched.solvers.options import Options
from optsched.solvers.scaling import integer_bounds
from optsched.solvers.solution import Solution, Status

SAME = 1e-9
"""Difference of two objective values, relative to max(1, |best|), that counts as none."""


@dataclass(frozen=True)
class Alternatives:
    """Solutions that differ in some integer variable, from the best on.

    Example:
        >>> from optsched import Model
        >>> from optsched.analysis.solution_pool import alternatives
        >>> m = Model("two of three")
        >>> take = m.binary("take", 3)
        >>> m.add("two", take.sum() == 2)
        >>> found = alternatives(m)
        >>> len(found.solutions), found.complete
        (3, True)
    """

    solutions: tuple[Solution, ...]
    complete: bool
    """Whether it is proven that there is no further one as good as was asked for."""
    last: Solution
    """How the last solve ended: what is said of a model without any."""


def alternatives(
    model: Model,
    most: int = 100,
    worse: float = 0.0,
    solver: Solver = "highs",
    *,
    options: Options | None = None,
    **settings: Any,
) -> Alternatives:
    """The best solutions, one after the other: each solve excludes all found before.

    Two solutions differ if an integer variable does; of those that differ in continuous
    variables alone, one is found.

    Args:
        model: left alone; with integer variables, all of them bounded.
        most: solutions, at least 1.
        worse: by how much one may be worse than the best, relative to ``max(1, |best|)``: 0 asks
            for all optimal ones, ``math.inf`` for the ``most`` best.
        solver: as for ``solve``.
        options: limits and tolerances of each solve.
        settings: single fields of ``Options``.

    Raises:
        InputError: no integer variable, one without finite bounds, or a number out of range.

    Example:
        >>> from optsched import Model
        >>> from optsched.analysis.solution_pool import alternatives
        >>> m = Model()
        >>> x = m.binary("x", 3)
        >>> m.add("two", x.sum() >= 2)
        >>> m.minimize(x @ [1, 1, 2])
        >>> [s.objective for s in alternatives(m, worse=0.5).solutions]
        [2.0, 3.0, 3.0]
    """
    if most < 1:
        raise InputError.of("most", most, "at least 1")
    if not worse >= 0:
        raise InputError.of("worse", worse, "at least 0")
    names = _integers(model)
    staged, sign = model.copy(), -1.0 if model.maximise else 1.0
    found: list[Solution] = []
    while True:
        solution = solve(staged, solver, options=options, **settings)
        if solution.status is not Status.OPTIMAL or solution.objective is None:
            done = solution.status is Status.INFEASIBLE
            return Alternatives(tuple(found), done, solution)
        best = found[0].objective if found else solution.objective
        assert best is not None
        allowed = (worse + SAME) * max(1.0, abs(best))
        if sign * (solution.objective - best) > allowed:
            return Alternatives(tuple(found), True, solution)
        if len(found) == most:
            return Alternatives(tuple(found), False, solution)
        found.append(solution)
        _exclude(staged, names, solution)


def _integers(model: Model) -> list[str]:
    """The blocks of integer variables."""
    names = [n for n, v in model.variables.items() if v.type is not VariableType.CONTINUOUS]
    if not names:
        raise InputError.of("model", model.name, "a model with integer variables")
    for name in names:
        for side in (model.variables[name].lower, model.variables[name].upper):
            if not np.isfinite(side).all():
                raise InputError.of(name, math.inf, "integer variables with finite bounds")
    return names


def _exclude(model: Model, names: list[str], solution: Solution) -> None:
    """Ask for a difference in some integer variable.

    An entry at one of its bounds differs by the distance from it. Another lies above where a new
    binary variable says so, or below if a second one does.
    """
    change: Any = 0.0
    for name in names:
        variable = model.variables[name]
        x, values = variable.reshape(variable.size), np.rint(np.ravel(solution.values[name]))
        lower, upper = integer_bounds(
            *(
                np.broadcast_to(side, variable.shape).ravel()
                for side in (variable.lower, variable.upper)
            )
        )
        least, greatest = values == lower, (values == upper) & (values > lower)
        change = change + (x[least] - values[least]).sum()
        change = change + (values[greatest] - x[greatest]).sum()
        inside = ~(least | greatest)
        if inside.any():
            values, lower, upper = (side[inside] for side in (values, lower, upper))
            above, below = (
                model.binary(model.free_name(None, word), len(values))
                for word in ("above", "below")
            )
            model.add(
                model.free_name(None, "above"), x[inside] >= lower + (values + 1 - lower) * above
            )
            model.add(
                model.free_name(None, "below"), x[inside] <= upper - (upper - values + 1) * below
            )
            change = change + above.sum() + below.sum()
    model.add(model.free_name(None, "another"), change >= 1)
