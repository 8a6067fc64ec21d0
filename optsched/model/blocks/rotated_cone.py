"""Rotated second-order cones: for solvers that support them, and for outer approximation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.base import Block, Entries, ModelBase
from optsched.model.expression import Expression, Floats, Shape
from optsched.model.latex import FormulaWriter, letters_of
from optsched.model.ranges import range_of
from optsched.model.variables import Variable
from optsched.model.words import Writer


def rotated_cone(
    model: ModelBase,
    u: Expression | ArrayLike,
    v: Expression | ArrayLike,
    w: Expression,
    *,
    name: str | None = None,
    formula: str = "",
) -> None:
    """Require ``u * v >= sum(w ** 2)`` with ``u, v >= 0``.

    Args:
        model: that requires it.
        u: of any shape.
        v: of the same shape.
        w: of the same shape, or with one more axis over which squares are summed.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> share = m.continuous("share", upper=1)
        >>> time = m.continuous("time")
        >>> work = m.continuous("work", lower=2)
        >>> m.rotated_cone(share, time, work)
        >>> m.minimize(time)
        >>> round(solve(m).objective, 4)
        4.0
    """
    name = model.free_name(name, "rotated_cone")
    left, right = model.alike(name, u, v)
    if w.ndim <= left.ndim:
        left, right, w = model.alike(name, left, right, w)
        w = w.reshape(*w.shape, 1)
    elif w.shape[:-1] != left.shape:
        raise ModelError(f"block {name!r}: w has shape {w.shape}, u and v {left.shape}")
    model.add_block(RotatedCone(name, formula, left, right, w))


def sum_of_squares(
    model: ModelBase, w: Expression, *, name: str | None = None, formula: str = ""
) -> Variable:
    """Return a new variable block of at least the sum of squares over the last axis.

    It equals the sum in an optimum if the objective or the rows push it down. So it states convex
    quadratic objectives and rows.

    Args:
        model: that says it.
        w: of shape (*shape, n).
        name: of the new variable block; its rotated cone is ``name:cone``.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> share = m.continuous("share", 3)
        >>> m.add("all", share.sum() == 1)
        >>> m.minimize(m.sum_of_squares(share))
        >>> round(solve(m).objective, 6)
        0.333333
    """
    name = model.free_name(name, "sum_of_squares")
    model.check_own(f"block {name!r}", w)
    if not w.ndim:
        raise ModelError(f"block {name!r}: a single entry has no axis to sum over; take w[None]")
    sides = range_of(w, model.domains())
    most = (np.maximum(*np.abs(sides)) ** 2).sum(axis=-1)
    result = model.result(name, w.shape[:-1], (0.0, most), whole=False, formula=formula)
    rotated_cone(model, result, 1.0, w, name=f"{name}:cone")
    return result


@dataclass(frozen=True, eq=False)
class RotatedCone(Block):
    """``u * v >= sum(w ** 2)`` with ``u, v >= 0``."""

    u: Expression
    v: Expression
    w: Expression
    """Shape (*shape, n)."""
    kind = "rotated_cone"
    how = "outer approximation: tangents, added round by round while solving"

    @property
    def shape(self) -> Shape:
        return self.u.shape

    def excess(self, x: Floats) -> Floats:
        """Distance measure ``|(2w, u - v)| - (u + v)``, relative to ``max(1, u + v)``.

        It is in the units of u and v, and zero or less exactly on the cone.
        """
        u, v, w = self.u.at(x), self.v.at(x), self.w.at(x)
        norm = np.sqrt((2 * w) ** 2 @ np.ones(w.shape[-1]) + (u - v) ** 2)
        return np.asarray((norm - (u + v)) / np.maximum(1.0, np.abs(u + v)))

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        u, v = (writer.factors(e, entries) for e in (self.u, self.v))
        listed = writer.lists(self.w, entries)
        return [f"{a} * {b} >= |{w}|^2" for a, b, w in zip(u, v, listed, strict=True)]

    def latex(self, writer: FormulaWriter) -> str:
        squares = f"{writer.factor(self.w)}^2"
        if self.w.shape[-1] > 1:
            squares = rf"\sum_{{{letters_of(self.w.shape)[-1]}}} {squares}"
        factors = [f for f in (writer.factor(self.u), writer.factor(self.v)) if f != "1"]
        return rf"{squares} \le " + (r" \cdot ".join(factors) or "1")
