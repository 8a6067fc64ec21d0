"""Rotated cones by outer approximation: tangents, added where a point lies outside a cone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from optsched.decomposition.cuts import Cut, CutResult, solve_with_cuts
from optsched.model import FEASIBILITY, Model
from optsched.model.blocks import RotatedCone
from optsched.model.expression import Expression, Floats, Relation
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

TOLERANCE = 0.5 * FEASIBILITY
"""A cone counts as satisfied up to this, in the measure of ``RotatedCone.excess``; half of what
the model's own check allows."""

TIGHT = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
"""HiGHS's tolerances beside cones: its defaults are as coarse as the cones' own, so that it may
return a point again that a tangent cuts off."""

_AIM = 0.01 * FEASIBILITY  # what is tried for, until the solver's own tolerance is in the way
_SAME = 1e-9  # distance up to which two points are the same
_SCALE = 32.0  # on tangents: solvers' absolute tolerance on rows is that much finer on cones


def solve_by_outer_approximation(
    model: Model, solver: str = "highs", options: Options | None = None
) -> Solution:
    """Solve a model with rotated cones by a back end that takes none.

    The cones are relaxed to ``u, v >= 0`` and to the tangents found so far, all of which hold on
    the whole cone, so that every bound on the way is true (Duran and Grossmann, 1986). Tangents
    are added at optima of the continuous relaxation first, then at integer solutions and at the
    optima of what remains once their integers are fixed, until every cone holds within
    ``TOLERANCE``, or better where the solver's own tolerance lets it. The model itself checks the
    point that is returned.

    Args:
        model: any model; without rotated cones it is solved as it is.
        solver: name of a back end.
        options: limits over all rounds together, and gaps.

    Raises:
        InputError: a solver that is unknown or not installed.
        UnsupportedError: the solver cannot take another part of the model.
    """
    cones = [block for block in model.blocks.values() if isinstance(block, RotatedCone)]
    relaxed = model.copy()
    for cone in cones:
        del relaxed.blocks[cone.name]
        relaxed.add(f"{cone.name}:u", cone.u >= 0)
        relaxed.add(f"{cone.name}:v", cone.v >= 0)

    before = np.full(model.columns, np.nan)

    def separate(values: Mapping[str, Floats]) -> list[Cut]:
        x = relaxed.vector(values)
        stuck = bool((np.abs(x - before) <= _SAME).all())
        before[:] = x
        found = ((c.name, tangents(c, x, TOLERANCE if stuck else _AIM)) for c in cones)
        return [(name, relation) for name, relation in found if relation is not None]

    options = options or Options()
    if solver == "highs":
        options = replace(options, extra={**TIGHT, **options.extra})
    return _checked(model, solve_with_cuts(relaxed, separate, solver, options=options))


def tangents(cone: RotatedCone, x: Floats, tolerance: float = TOLERANCE) -> Relation | None:
    """Rows that hold on the cones and not at a point, one for each cone it lies outside of.

    ``u v >= |w|^2`` with u, v >= 0 is ``|(2 w, u - v)| <= u + v``, and so, for the unit vector d
    along ``(2 w, u - v)`` at the point, ``d (2 w, u - v) <= u + v`` everywhere on the cone.

    Args:
        cone: a block of rotated cones.
        x: the point, over all columns of the model.
        tolerance: on the excess.

    Returns:
        The rows; None if no cone is violated.
    """
    outside = np.flatnonzero(cone.excess(x).reshape(-1) > tolerance)
    width = cone.w.shape[-1]
    u, v = cone.u.reshape(-1)[outside], cone.v.reshape(-1)[outside]
    w = cone.w.reshape(-1, width)[outside]
    direction = np.column_stack([2.0 * w.at(x), u.at(x) - v.at(x)])
    length = np.linalg.norm(direction, axis=1)
    # at the apex there is no direction, and u, v >= 0 says it all
    tilted = length > 0
    if not tilted.any():
        return None
    u, v, w = u[tilted], v[tilted], w[tilted]
    unit = direction[tilted] / length[tilted, None]
    along = (w * (2.0 * unit[:, :-1])).sum(axis=1) + (u - v) * unit[:, -1]
    beyond: Expression = (along - (u + v)) * _SCALE
    return beyond <= 0.0


def _checked(model: Model, result: CutResult) -> Solution:
    """The answer, its point evaluated by the model with its cones."""
    solution = result.solution
    said = f"outer approximation: {result.rounds} rounds, {result.cuts} tangents"
    solution = replace(solution, message="; ".join(filter(None, (solution.message, said))))
    if not solution.has_point:
        return solution
    broken = model.violations(solution.values)
    if not broken:
        return replace(solution, checked=True)
    worst = max(broken, key=lambda violation: violation.amount)
    return replace(
        solution,
        status=Status.ERROR,
        objective=None,
        values={},
        checked=False,
        message=f"the point found breaks {worst.kind} {worst.block!r} by {worst.amount:g}; {said}",
    )
