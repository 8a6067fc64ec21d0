"""What a model asks of a back end, and what a back end says it does not take."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from optsched.errors import ModelError
from optsched.model import MatrixForm, Model
from optsched.solvers.backend import Backend


class Feature(StrEnum):
    """What a back end may refuse."""

    INTEGER = "integer variables"
    """Stated as such, or brought in by lowering a block that is not taken natively."""
    CONTINUOUS = "continuous variables"
    UNBOUNDED = "variables without a finite bound"


@dataclass(frozen=True)
class Capabilities:
    """What to expect of a back end beyond ``Backend.native``."""

    refuses: frozenset[Feature] = frozenset()
    """Refused with ``UnsupportedError`` before solving; everything else is solved."""
    smallest: float = 0.0
    """Coefficients up to here are refused rather than dropped in silence; they are left over
    where decimals cancel."""
    proves: bool = True
    """Whether it ends with a proof where no limit is set; if not, what it says is still true."""
    tolerance: float = 1e-5
    """Relative difference at which an objective value counts as right: solvers satisfy rows over
    continuous variables to some 1e-6, and coefficients multiply that."""


CAPABILITIES: dict[str, Capabilities] = {
    "highs": Capabilities(smallest=1e-12),
    "scipy": Capabilities(smallest=1e-9),
    "cpsat": Capabilities(frozenset({Feature.CONTINUOUS, Feature.UNBOUNDED})),
    "exact": Capabilities(frozenset({Feature.CONTINUOUS, Feature.UNBOUNDED})),
    "gurobi": Capabilities(smallest=1e-13),
    "glop": Capabilities(frozenset({Feature.INTEGER})),
    "pdlp": Capabilities(frozenset({Feature.INTEGER}), proves=False, tolerance=1e-4),
}
"""Of the back ends that come with the package and do not take everything."""


def known_capabilities(engine: Backend, given: Capabilities | None = None) -> Capabilities:
    """What was said of a back end, else what is known of it, else that it refuses nothing."""
    return CAPABILITIES.get(engine.name, Capabilities()) if given is None else given


def features(model: Model, compiled: MatrixForm | None) -> frozenset[Feature]:
    """What solving a model asks for.

    Args:
        model: as stated.
        compiled: as handed to the solver; None where it cannot be compiled.
    """
    found = set()
    lower, upper, integer = model.domains()
    if not integer.all() or (compiled is not None and not compiled.integer.all()):
        found.add(Feature.CONTINUOUS)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        found.add(Feature.UNBOUNDED)
    if compiled is not None and compiled.has_integers:
        found.add(Feature.INTEGER)
    return frozenset(found)


def refusal(
    model: Model, needs: frozenset[str], engine: Backend, capabilities: Capabilities
) -> str:
    """Why the back end must refuse a model, in words; empty: it must solve it.

    Args:
        model: the model.
        needs: kinds of block in it that cannot be lowered, so have to be taken natively.
        engine: the back end.
        capabilities: of the back end.
    """
    missing = needs - engine.native
    if missing:
        return f"{', '.join(sorted(missing))} without the bounds that linear rows need"
    if not (capabilities.refuses or capabilities.smallest):
        return ""
    compiled: MatrixForm | None = None
    with suppress(ModelError):
        compiled = model.compile(engine.native | {"rotated_cone"})
    refused = features(model, compiled) & capabilities.refuses
    if not refused and compiled is not None and capabilities.smallest:
        size = np.abs(compiled.rows.matrix.data)
        if ((size > 0) & (size <= capabilities.smallest)).any():
            return f"coefficients up to {capabilities.smallest:g}"
    return ", ".join(sorted(refused))
