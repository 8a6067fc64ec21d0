"""Compare a lowering with its block: both must have the same points."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from optsched.errors import ModelError
from optsched.model import FEASIBILITY, MatrixForm, Model
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats


@dataclass(frozen=True)
class Projection:
    """Points over the model's own variables, judged by its blocks and by its lowered rows."""

    stated: frozenset[tuple[float, ...]]
    """What the blocks allow."""
    lowered: frozenset[tuple[float, ...]]
    """What the rows allow for some value of the variables that lowering added."""
    points: int
    """How many points were judged."""


def project(model: Model, step: float = 1.0, most: int = 3000) -> Projection:
    """Judge every point of the box both ways.

    The second judgement fixes the model's own variables in the lowered rows and asks for the
    rest, with HiGHS as scipy carries it.

    Args:
        model: with finite bounds.
        step: between the points tried of a continuous variable; the rounded-up bound included.
        most: points to judge at most.

    Raises:
        ModelError: more points than that.
    """
    compiled, written = model.compile(), model.compile(model.kinds)
    lower, upper, integer = model.domains()
    axes = [
        np.arange(np.ceil(a), np.floor(b) + 0.5) if whole else np.arange(a, b + step / 2, step)
        for a, b, whole in zip(lower, upper, integer, strict=True)
    ]
    points = int(np.prod([float(len(a)) for a in axes]))
    if points > most:
        raise ModelError(f"{points} points, at most {most}")
    stated, lowered = set(), set()
    for point in itertools.product(*axes):
        x = np.array(point)
        if not evaluate(written, x, FEASIBILITY):
            stated.add(tuple(map(float, point)))
        if _extends(compiled, x):
            lowered.add(tuple(map(float, point)))
    return Projection(frozenset(stated), frozenset(lowered), points)


def _extends(compiled: MatrixForm, x: Floats) -> bool:
    """Whether the lowered rows hold at the point with some value of the added variables."""
    rows = compiled.rows
    own, added = rows.matrix[:, : len(x)], rows.matrix[:, len(x) :]
    activity = own @ x
    low, high = rows.lower - activity, rows.upper - activity
    if not added.shape[1]:
        return bool(((low <= FEASIBILITY) & (high >= -FEASIBILITY)).all())
    bounds = Bounds(compiled.lower[len(x) :], compiled.upper[len(x) :])
    found = milp(
        np.zeros(added.shape[1]),
        integrality=compiled.integer[len(x) :].astype(int),
        bounds=bounds,
        constraints=LinearConstraint(added, low, high) if rows.count else (),
    )
    return bool(found.status == 0)
