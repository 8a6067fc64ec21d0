"""The linear relaxation of a model, solved repeatedly with other bounds and further rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.proof.exact_model import Terms
from optsched.solvers.highs.backend import load
from optsched.solvers.options import Options

_OPTIONS = {
    "presolve": "off",  # rays and bases are of the model as it stands
    "solver": "simplex",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


class Sum(NamedTuple):
    """Bounds of the sum of some columns."""

    columns: tuple[int, ...]
    lower: float
    upper: float


class Relaxed(NamedTuple):
    """How a linear relaxation ended."""

    x: Floats | None
    """The optimum, minimising; None: there is no point, or none that HiGHS could find."""
    y: Floats
    """Multipliers of the rows: duals, or a Farkas combination; empty if HiGHS gives none."""
    split: Floats
    """Values of the splits that hold, in their order."""
    value: float
    """Value of the optimum; infinite without a point."""


class Relaxation:
    """Kept by HiGHS between solves, which start from the last basis."""

    def __init__(self, form: MatrixForm) -> None:
        sign = -1.0 if form.maximise else 1.0
        relaxed = replace(
            form,
            cost=sign * form.cost,
            offset=sign * form.offset,
            maximise=False,
            integer=np.zeros_like(form.integer),
            nonlinear=(),
        )
        self._engine = load(relaxed, Options(extra=_OPTIONS))
        self._columns = np.arange(len(form.cost), dtype=np.int32)
        self._rows = list(range(form.rows.count))
        """Rows of the engine: the model's and what was added."""
        self._sums: dict[tuple[int, ...], int] = {}
        """Rows of the engine that hold in some branches only, by the columns they sum."""

    def add(self, terms: Terms, side: int, unit: int) -> None:
        """A further row ``terms x >= side``, both divided by ``unit``."""
        columns = np.array(list(terms), dtype=np.int32)
        values = np.array([a / unit for a in terms.values()])
        self._rows.append(self._engine.getNumRow())
        self._engine.addRow(side / unit, np.inf, len(columns), columns, values)

    def solve(
        self, lower: Floats, upper: Floats, seconds: float, sums: Sequence[Sum] = ()
    ) -> Relaxed:
        """The optimum within other bounds of the columns and of sums, if it is found in time."""
        import highspy

        facts, engine = highspy.HighsModelStatus, self._engine
        engine.changeColsBounds(len(lower), self._columns, lower, upper)
        held = self._hold(sums)
        # its clock runs on from solve to solve
        engine.setOptionValue("time_limit", engine.getRunTime() + max(seconds, 1e-3))
        engine.run()
        status = engine.getModelStatus()
        if status not in (facts.kOptimal, facts.kInfeasible):
            engine.clearSolver()
            engine.run()
            status = engine.getModelStatus()
        if status == facts.kOptimal:
            solution = engine.getSolution()
            value = float(engine.getInfo().objective_function_value)
            duals = np.array(solution.row_dual)
            x = np.array(solution.col_value)
            return Relaxed(x, duals[self._rows], duals[held], value)
        _, found, given = engine.getDualRay()
        ray = np.array(given) if found else np.zeros(engine.getNumRow())
        return Relaxed(None, ray[self._rows], ray[held], np.inf)

    def _hold(self, sums: Sequence[Sum]) -> list[int]:
        """Let these sums alone be bounded; their rows in the engine."""
        engine = self._engine
        for row in self._sums.values():
            engine.changeRowBounds(row, -np.inf, np.inf)
        for one in sums:
            if one.columns not in self._sums:
                self._sums[one.columns] = engine.getNumRow()
                columns = np.array(one.columns, dtype=np.int32)
                engine.addRow(-np.inf, np.inf, len(columns), columns, np.ones(len(columns)))
            engine.changeRowBounds(self._sums[one.columns], one.lower, one.upper)
        return [self._sums[one.columns] for one in sums]
