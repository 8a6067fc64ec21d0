"""A HiGHS engine kept between solves of one structure with changing numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.highs.backend import Highs, hand_over, load, read, refuse, run
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

_DECIDED = (Status.OPTIMAL, Status.FEASIBLE, Status.NO_SOLUTION, Status.INFEASIBLE)

_FEW_ROWS = 200
"""HiGHS changes sides row by row; with more rows than this, a new hand-over is faster."""


class HighsSession:
    """Linear programs start from the last basis; mixed-integer models are spared the hand-over."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._engine: Any = None

    def forget(self) -> None:
        """Hand over anew at the next solve."""
        self._engine = None

    def solve(self, compiled: MatrixForm, changed: set[str]) -> SolverResult:
        """Solve; an end that a kept engine could be blamed for is tried again with a new one.

        Args:
            compiled: of the same structure at every call.
            changed: which of "cost", "offset", "rows", "columns" and "matrix" differ from the
                last call.

        Raises:
            UnsupportedError: numbers HiGHS would change without a word.
        """
        if self._engine is None:
            refuse(compiled)
            self._engine = load(compiled, self._options)
        else:
            refuse(compiled, changed)
            self._change(compiled, changed)
        if self._options.time_limit is not None:  # its clock runs on from solve to solve
            limit = self._engine.getRunTime() + self._options.time_limit
            self._engine.setOptionValue("time_limit", limit)
        stopped = run(self._engine, self._options)
        result = read(self._engine, compiled, stopped)
        if result.status in _DECIDED:
            return result
        self.forget()
        return Highs().solve(compiled, self._options, None)

    def _change(self, compiled: MatrixForm, changed: set[str]) -> None:
        engine, rows = self._engine, compiled.rows
        if "matrix" in changed or ("rows" in changed and rows.count > _FEW_ROWS):
            basis = None if compiled.has_integers else engine.getBasis()
            hand_over(engine, compiled)
            if basis is not None and basis.valid:
                engine.setBasis(basis)
            return
        columns = np.arange(len(compiled.cost), dtype=np.int32)
        if "cost" in changed:
            engine.changeColsCost(len(columns), columns, compiled.cost)
        if "offset" in changed:
            engine.changeObjectiveOffset(compiled.offset)
        if "columns" in changed:
            engine.changeColsBounds(len(columns), columns, compiled.lower, compiled.upper)
        if "rows" in changed:
            sides = zip(rows.lower.tolist(), rows.upper.tolist(), strict=True)
            for row, (low, high) in enumerate(sides):
                engine.changeRowBounds(row, low, high)
        if compiled.has_integers:
            engine.clearSolver()
