"""Rotated cones by outer approximation: tangents, added where a point lies outside a cone.

The cones are relaxed to ``u, v >= 0`` and to the tangents found so far, all of which hold on the
whole cone, so that every bound on the way is valid (Duran and Grossmann, 1986).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from optsched.model import FEASIBILITY, Model
from optsched.model.blocks import RotatedCone
from optsched.model.expression import Expression, Floats, Relation

TOLERANCE = 0.5 * FEASIBILITY
"""A cone counts as satisfied up to this, in the measure of ``RotatedCone.excess``; half of what
the model's own check allows."""

TIGHT = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
"""HiGHS's tolerances beside cones: its defaults are as coarse as the cones' own, so that it may
return a point again that a tangent cuts off."""

_AIM = 0.01 * FEASIBILITY  # what is tried for, until the solver's own tolerance is in the way
_SQUARES = 0.1 * FEASIBILITY  # the same of sums of squares, relative to the sum
_SAME = 1e-9  # distance up to which two points are the same
_FAINT = 1e-11  # of a tangent's direction
_GRID = tuple(sign * 10.0**exponent for exponent in range(-1, 6, 2) for sign in (-1, 1))
_STEPS = (-0.5, 0.0, 0.5)  # points of new tangents, by the distance to those that meet at a point
_SHARE = 0.1  # of the mean; squares that are less short get no tangents
_SCALE = 32.0  # on tangents: solvers' absolute tolerance on rows is that much finer on cones


def foreign_cones(model: Model, native: frozenset[str]) -> list[RotatedCone]:
    """The rotated cones of a model, if a back end takes none; they have no linear form."""
    if "rotated_cone" in native:
        return []
    return [block for block in model.blocks.values() if isinstance(block, RotatedCone)]


class Tangents:
    """Separates points from cones that were taken out of a model.

    A cone holds within ``TOLERANCE``, or better where the solver's own tolerance lets it.
    """

    def __init__(self, model: Model, cones: list[RotatedCone]) -> None:
        self.cones = cones
        self.relaxed = model.copy()
        """The model with ``u, v >= 0`` in the place of each cone, sums of squares term by term."""
        self._squares: dict[str, _Squares] = {}
        continuous = not model.domains()[2].any()  # a back end for integers takes no new columns
        for cone in cones:
            del self.relaxed.blocks[cone.name]
            for side, part in (("u", cone.u), ("v", cone.v)):
                self.relaxed.add(self.relaxed.free_name(None, f"{cone.name}:{side}"), part >= 0)
            if continuous and _sums_squares(cone, np.zeros(model.columns)):
                self._squares[cone.name] = _Squares(self.relaxed, cone)
        self._before = np.full(self.relaxed.columns, np.nan)

    def __call__(self, values: Mapping[str, Floats]) -> list[tuple[str, Relation]]:
        """Rows that a point outside a cone violates."""
        x = self.relaxed.vector(values)
        stuck = bool((np.abs(x - self._before) <= _SAME).all())
        self._before = x
        aim = TOLERANCE if stuck else _AIM
        found = ((cone.name, self._cuts(cone, x, aim)) for cone in self.cones)
        return [(name, relation) for name, relation in found if relation is not None]

    def _cuts(self, cone: RotatedCone, x: Floats, aim: float) -> Relation | None:
        squares = self._squares.get(cone.name)
        if squares is None:
            return tangents(cone, x, aim)
        return squares.separate(x, max(aim, _SQUARES))


def _sums_squares(cone: RotatedCone, origin: Floats) -> bool:
    """Whether a cone says that u is at least a sum of several squares over a constant."""
    constant = not any(terms.columns.size for terms in cone.v.terms)
    return constant and cone.w.shape[-1] > 1 and bool((cone.v.at(origin) > 0).all())


class _Squares:
    """A sum of squares over a constant, with one variable per square.

    Tangents of many squares at once approximate their sum with few rounds, those of the sum with
    many (Vielma, Dunning, Huchette and Lubin 2017).
    """

    def __init__(self, model: Model, cone: RotatedCone) -> None:
        self.u, self.shape = cone.u, cone.w.shape
        shape = self.shape
        side = cone.v.at(np.zeros(model.columns))
        self.v = np.broadcast_to(side[..., None], shape).reshape(-1)

        def free(part: str) -> str:
            return model.free_name(None, f"{cone.name}:{part}")

        root = model.continuous(free("root"), shape, lower=-np.inf)
        square = model.continuous(free("square"), shape)
        model.add(free("roots"), root == cone.w)
        model.add(free("sum"), cone.u >= square.sum(axis=-1))
        self.root, self.square = root.reshape(-1), square.reshape(-1)
        every = np.arange(self.root.size)
        grid = np.concatenate([np.full(len(every), point) for point in _GRID])
        model.add(free("grid"), self._tangents(np.tile(every, len(_GRID)), grid))

    def _tangents(self, entries: NDArray[np.int64], at: Floats) -> Relation:
        """``v square >= root^2``, linear at points of the root, scaled."""
        size = np.maximum(1.0, np.abs(at))
        square, root = self.square[entries], self.root[entries]
        left: Expression = square * (self.v[entries] / size) - root * (2.0 * at / size)
        return left >= -at * at / size

    def separate(self, x: Floats, tolerance: float) -> Relation | None:
        """Rows at a point, and on both sides of it half-way to where tangents met there.

        None if every sum is met up to the tolerance, relative to ``max(1, sum)``.
        """
        root, square = self.root.at(x), self.square.at(x)
        short = (root * root / self.v).reshape(self.shape).sum(axis=-1) - self.u.at(x)
        if (short <= tolerance * np.maximum(1.0, self.u.at(x))).all():
            return None
        gap = np.sqrt(np.maximum(root * root - self.v * square, 0.0))
        lack = gap * gap
        outside = np.flatnonzero(lack > _SHARE * lack.mean())
        steps = [root[outside] + part * gap[outside] for part in _STEPS]
        return self._tangents(np.tile(outside, len(_STEPS)), np.concatenate(steps))


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
    # a shorter d says a little less, and as truly; solvers refuse coefficients that are almost 0
    unit[np.abs(unit) < _FAINT] = 0.0
    unit[:, -1] = np.clip(unit[:, -1], _FAINT - 1.0, 1.0 - _FAINT)
    along = (w * (2.0 * unit[:, :-1])).sum(axis=1) + (u - v) * unit[:, -1]
    beyond: Expression = (along - (u + v)) * _SCALE
    return beyond <= 0.0
