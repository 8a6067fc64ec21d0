"""What a model requires of a back end, and why the back end must or may refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase

import numpy as np

from optsched.errors import ModelError
from optsched.model import MatrixForm, Model
from optsched.solvers.backend import Backend, Feature

_SMALLEST = 1e-9
"""Solvers drop coefficients up to here, so they may refuse them; cancelled decimals leave some."""
_TOLERANCE, _UNPROVEN_TOLERANCE = 1e-5, 1e-4
"""Relative differences at which an objective value counts as right: solvers satisfy rows over
continuous variables to some 1e-6, and coefficients multiply that."""


def tolerance(engine: Backend) -> float:
    """Return the relative difference at which the solver's objective value counts as right."""
    return _TOLERANCE if Feature.PROOF in engine.features else _UNPROVEN_TOLERANCE


def asks_for(model: Model, compiled: MatrixForm | None) -> frozenset[Feature]:
    """Return what solving a model asks for.

    Args:
        model: as stated.
        compiled: as handed to the solver; None if it cannot be compiled.
    """
    found = set()
    lower, upper, integer = model.domains()
    if not integer.all() or (compiled is not None and not compiled.integer.all()):
        found.add(Feature.CONTINUOUS)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        found.add(Feature.UNBOUNDED)
    if compiled is not None and compiled.has_integers:
        found.add(Feature.INTEGERS)
    return frozenset(found)


def refusal(model: Model, needs: frozenset[str], engine: Backend) -> str:
    """Return why the back end must refuse a model, in words; empty: it must solve it.

    Args:
        model: the model.
        needs: kinds of block in it that cannot be lowered, so have to be taken natively.
        engine: the back end.
    """
    if missing := needs - engine.native:
        return f"{', '.join(sorted(missing))} without the bounds that linear rows need"
    return ", ".join(sorted(asks_for(model, _compiled(model, engine)) - engine.features))


def may_refuse(model: Model, engine: Backend) -> bool:
    """Return whether a coefficient is so small that a back end may refuse the model."""
    compiled = _compiled(model, engine)
    if compiled is None:
        return False
    size = np.abs(compiled.rows.matrix.data)
    return bool(((size > 0) & (size <= _SMALLEST)).any())


def _compiled(model: Model, engine: Backend) -> MatrixForm | None:
    with suppress(ModelError):
        return model.compile(engine.native | {"rotated_cone"})
    return None


def excluded(case: str, engine: Backend, exclude: Iterable[str]) -> bool:
    """Return whether a pattern names the case, for every version of the solver or for this one.

    Args:
        case: name of the case.
        engine: the back end.
        exclude: patterns such as "circuit*", or "circuit*@1.2.*" for some versions of the solver.

    Example:
        >>> from optsched.solvers.registry import backend
        >>> excluded("circuit of three", backend("highs"), ["circuit*@0.*"])
        False
    """
    for pattern in exclude:
        name, at, version = pattern.rpartition("@")
        if fnmatchcase(case, name if at else pattern) and (
            not at or fnmatchcase(engine.version(), version)
        ):
            return True
    return False
