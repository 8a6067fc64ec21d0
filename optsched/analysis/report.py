"""Report what a solver is given for a model: its lowering and its numerics."""

from __future__ import annotations

from dataclasses import dataclass

from optsched.analysis.lowering_report import LoweringReport, explain_lowering
from optsched.analysis.numerics import Conditioning, conditioning
from optsched.errors import ModelError
from optsched.model import Model


@dataclass(frozen=True)
class ModelReport:
    """A model as one solver is given it."""

    lowering: LoweringReport
    """Which blocks the solver takes as they are, and what the others become."""
    numerics: Conditioning | None
    """The numbers of the rows; None if a block cannot be lowered, as ``lowering`` says."""

    def __str__(self) -> str:
        return "\n\n".join(str(part) for part in (self.lowering, self.numerics) if part)


def report(model: Model, solver: str = "highs") -> ModelReport:
    """Report how a model is given to a solver, and which rows its tolerances make doubtful.

    Raises:
        InputError: an unknown solver.

    Example:
        >>> import optsched as osd
        >>> m = osd.Model("one machine")
        >>> load, on = m.continuous("load", upper=2e6), m.binary("on")
        >>> m.add("off", load <= 2e6 * on)
        >>> found = osd.report(m)
        >>> found.lowering.rows, found.numerics.doubtful
        (1, ('off',))
    """
    lowering = explain_lowering(model, solver)
    try:
        return ModelReport(lowering, conditioning(model, solver))
    except ModelError:
        return ModelReport(lowering, None)
