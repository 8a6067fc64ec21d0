"""A HiGHS kept between solves of one linear program whose numbers, rows and columns change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.model.matrix_form import MatrixForm, Rows
from optsched.solvers.backend import SolverResult
from optsched.solvers.highs.backend import Highs, hand_over, load, read, refuse, run
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

_DECIDED = (Status.OPTIMAL, Status.FEASIBLE, Status.NO_SOLUTION, Status.INFEASIBLE)

_FEW_ROWS = 200
"""HiGHS changes sides one by one; with more rows than this, a new hand-over is faster."""


class HighsSession:
    """Each solve starts from the basis of the last one."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._engine: Any = None
        self._held: MatrixForm | None = None
        """What the engine has, in its own arrays."""

    def forget(self) -> None:
        """Hand over anew at the next solve."""
        self._engine = self._held = None

    def solve(self, compiled: MatrixForm, kept: NDArray[np.int64]) -> SolverResult:
        """Solve; an end that a kept engine could be blamed for is tried again with a new one.

        Args:
            compiled: at the first call any; later, the rows ``kept`` of the last call's come
                first, in their order, and its columns come first.
            kept: rows of the last call that are still there.

        Raises:
            UnsupportedError: numbers HiGHS would change without a word.
        """
        held = self._held
        refuse(compiled)
        if self._engine is None or held is None:
            self._engine = load(compiled, self._options)
        else:
            self._change(held, compiled, kept)
        self._held = _copied(compiled)
        if self._options.time_limit is not None:  # its clock runs on from solve to solve
            limit = self._engine.getRunTime() + self._options.time_limit
            self._engine.setOptionValue("time_limit", limit)
        stopped = run(self._engine, self._options)
        result = read(self._engine, compiled, stopped)
        if result.status in _DECIDED:
            return result
        self.forget()
        return Highs().solve(compiled, self._options, None)

    def _change(self, held: MatrixForm, compiled: MatrixForm, kept: NDArray[np.int64]) -> None:
        """Bring the engine from what it holds to the model, its basis kept."""
        engine, columns, rows = self._engine, len(held.cost), compiled.rows
        if len(kept) < held.rows.count:
            self._delete_rows(np.setdiff1d(np.arange(held.rows.count), kept), kept)
        if len(compiled.cost) > columns:
            new = slice(columns, None)
            count = len(compiled.cost) - columns
            nothing = np.zeros(0, dtype=np.int32)
            engine.addCols(
                count, compiled.cost[new], compiled.lower[new], compiled.upper[new],
                0, np.zeros(count, dtype=np.int32), nothing, np.zeros(0),
            )  # fmt: skip
        if rows.count > len(kept):
            start = rows.matrix.indptr[len(kept) :]
            part = slice(int(start[0]), None)
            engine.addRows(
                rows.count - len(kept), rows.lower[len(kept) :], rows.upper[len(kept) :],
                int(start[-1] - start[0]), (start[:-1] - start[0]).astype(np.int32),
                rows.matrix.indices[part].astype(np.int32, copy=False), rows.matrix.data[part],
            )  # fmt: skip
        self._change_columns(held, compiled)
        low, high = rows.lower[: len(kept)], rows.upper[: len(kept)]
        other = np.flatnonzero(
            (low != held.rows.lower[kept]) | (high != held.rows.upper[kept])
        ).tolist()
        if len(other) <= _FEW_ROWS:
            for row in other:
                engine.changeRowBounds(row, low[row], high[row])
            return
        basis = engine.getBasis()
        hand_over(engine, compiled)
        if basis.valid:
            engine.setBasis(basis)

    def _delete_rows(self, gone: NDArray[np.int64], kept: NDArray[np.int64]) -> None:
        basis = self._engine.getBasis()
        self._engine.deleteRows(len(gone), gone.astype(np.int32))
        if basis.valid:  # HiGHS forgets it; of a row that was tight, something else turns basic
            status = list(basis.row_status)
            basis.row_status = [status[row] for row in kept.tolist()]
            basis.alien = True
            self._engine.setBasis(basis)

    def _change_columns(self, held: MatrixForm, compiled: MatrixForm) -> None:
        engine, old = self._engine, len(held.cost)
        if compiled.offset != held.offset:
            engine.changeObjectiveOffset(compiled.offset)
        other = np.flatnonzero(compiled.cost[:old] != held.cost).astype(np.int32)
        if len(other):
            engine.changeColsCost(len(other), other, compiled.cost[other])
        low, high = compiled.lower[:old] != held.lower, compiled.upper[:old] != held.upper
        other = np.flatnonzero(low | high).astype(np.int32)
        if len(other):
            engine.changeColsBounds(len(other), other, compiled.lower[other], compiled.upper[other])


def _copied(compiled: MatrixForm) -> MatrixForm:
    """Return what later changes in place do not reach; a matrix is never changed in place."""
    rows = compiled.rows
    return replace(
        compiled,
        cost=compiled.cost.copy(),
        lower=compiled.lower.copy(),
        upper=compiled.upper.copy(),
        rows=Rows(rows.matrix, rows.lower.copy(), rows.upper.copy()),
    )
