"""A compiled model over integers for CP-SAT, or a refusal that names what it does not support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.errors import UnsupportedError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend
from optsched.solvers.numbers import refuse_columns
from optsched.solvers.scaling import LARGEST, ScaledObjective, integer_bounds, scale_objective


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """A model with its bounds and objective rounded to integers."""

    compiled: MatrixForm
    lower: Floats
    """Shape (columns,), integers; above ``upper`` where no integer lies between the bounds."""
    upper: Floats
    """Shape (columns,), integers."""
    objective: ScaledObjective | None
    """To be minimised; None if every point is optimal."""

    @property
    def sign(self) -> float:
        """-1 when the model maximises."""
        return -1.0 if self.compiled.maximise else 1.0

    @property
    def unit(self) -> float:
        """The solver's objective units per unit of the model's."""
        return 1.0 if self.objective is None else self.objective.multiplier

    @property
    def offset(self) -> float:
        """Offset of the objective that is minimised, in the model's units."""
        return self.sign * self.compiled.offset

    def value(self, x: Floats) -> float:
        """Objective that is minimised, in the model's units."""
        return self.sign * float(self.compiled.cost @ x) + self.offset


def integer_model(compiled: MatrixForm, engine: Backend) -> IntegerModel:
    """Round bounds and objective for a back end.

    Raises:
        UnsupportedError: a variable is continuous or lacks a finite bound, or the objective does
            not fit 64-bit integers.
    """
    refuse_columns(engine, compiled)
    lower, upper = integer_bounds(compiled.lower, compiled.upper)
    return IntegerModel(compiled, lower, upper, _objective(compiled, lower, upper, engine.name))


def _objective(
    compiled: MatrixForm, lower: Floats, upper: Floats, solver: str
) -> ScaledObjective | None:
    if not compiled.cost.any():
        return None
    largest = int(np.argmax(np.abs(compiled.cost)))
    scaled = None
    if abs(compiled.cost[largest]) <= LARGEST:
        cost = -compiled.cost if compiled.maximise else compiled.cost
        scaled = scale_objective(cost, lower, upper)
    if scaled is None:
        raise UnsupportedError(
            f"{solver} counts the objective in 64-bit integers, which do not hold this one "
            f"(largest coefficient {compiled.cost[largest]:g}, of "
            f"{compiled.column_name(largest)}): use tighter bounds, other units, or another solver"
        )
    return scaled
