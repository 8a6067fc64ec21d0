"""A HiGHS engine kept between solves of one model whose numbers, rows and columns change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.model.expression import Floats
from optsched.model.matrix_form import EVERY_PART, MatrixForm, Rows
from optsched.solvers.backend import SolverResult
from optsched.solvers.highs.backend import Highs, hand_over, load, read, refuse, run
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

_DECIDED = (Status.OPTIMAL, Status.FEASIBLE, Status.NO_SOLUTION, Status.INFEASIBLE)

_FEW_ROWS = 200
"""HiGHS changes sides one by one; with more rows than this, a new hand-over is faster."""
_PER_COEFFICIENT = 20
"""As many rows cost what one coefficient costs."""


class HighsSession:
    """Linear programs start from the last basis; mixed-integer models are spared the hand-over."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._engine: Any = None
        self._held: MatrixForm | None = None
        """What the engine has, in arrays of its own."""

    def forget(self) -> None:
        """Hand over anew at the next solve."""
        self._engine = self._held = None

    def solve(
        self,
        compiled: MatrixForm,
        changed: set[str],
        kept: NDArray[np.int64] | None = None,
        start: Floats | None = None,
    ) -> SolverResult:
        """Solve; an end that a kept engine could be blamed for is tried again with a new one.

        Args:
            compiled: at the first call any; later, the rows ``kept`` of the last call's come
                first, in their order, and its columns come first.
            changed: which of "cost", "offset", "rows", "columns" and "matrix" differ from the
                last call in what was there.
            kept: rows of the last call; None: all.
            start: a feasible point of a mixed-integer model.

        Raises:
            UnsupportedError: numbers HiGHS would change without a word.
        """
        held, same = self._held, False
        if held is not None and compiled.integer[len(held.cost) :].any():
            self.forget()  # the options depend on what is integer
        if self._engine is None or held is None:
            refuse(compiled)
            self._engine = load(compiled, self._options)
        else:
            rows = np.arange(held.rows.count) if kept is None else kept
            same = len(rows) == held.rows.count == compiled.rows.count
            same = same and len(held.cost) == len(compiled.cost)
            if not same or "matrix" in changed:
                changed = changed | EVERY_PART
            refuse(compiled, changed)
            self._change(held, compiled, changed, rows)
        self._held = _copied(compiled, held if same else None, changed)
        if start is not None:
            places = np.arange(len(start), dtype=np.int32)
            self._engine.setSolution(len(places), places, start)
        if self._options.time_limit is not None:  # its clock runs on from solve to solve
            limit = self._engine.getRunTime() + self._options.time_limit
            self._engine.setOptionValue("time_limit", limit)
        stopped = run(self._engine, self._options)
        result = read(self._engine, compiled, stopped)
        if result.status in _DECIDED:
            return result
        self.forget()
        return Highs().solve(compiled, self._options, start)

    def _change(
        self, held: MatrixForm, compiled: MatrixForm, changed: set[str], kept: NDArray[np.int64]
    ) -> None:
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
        if not self._change_rows(held, compiled, kept, coefficients="matrix" in changed):
            basis = None if compiled.has_integers else engine.getBasis()
            hand_over(engine, compiled)
            if basis is not None and basis.valid:
                engine.setBasis(basis)
        if compiled.has_integers:
            engine.clearSolver()

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

    def _change_rows(
        self,
        held: MatrixForm,
        compiled: MatrixForm,
        kept: NDArray[np.int64],
        *,
        coefficients: bool,
    ) -> bool:
        """Sides and coefficients of rows that were there, unless they are too many."""
        engine, rows, old = self._engine, compiled.rows, held.rows
        low, high = rows.lower[: len(kept)], rows.upper[: len(kept)]
        other = np.flatnonzero((low != old.lower[kept]) | (high != old.upper[kept]))
        entries = np.zeros(0, dtype=np.int64)
        if coefficients:
            before = old.matrix[kept].data if len(kept) < old.count else old.matrix.data
            entries = np.flatnonzero(rows.matrix.data[: len(before)] != before)
        if len(other) + _PER_COEFFICIENT * len(entries) > _FEW_ROWS:
            return False
        for row in other.tolist():
            engine.changeRowBounds(row, low[row], high[row])
        places = np.searchsorted(rows.matrix.indptr, entries, side="right") - 1
        for row, entry in zip(places.tolist(), entries.tolist(), strict=True):
            column = int(rows.matrix.indices[entry])
            engine.changeCoeff(row, column, float(rows.matrix.data[entry]))
        return True


def _copied(compiled: MatrixForm, held: MatrixForm | None, changed: Collection[str]) -> MatrixForm:
    """What later changes in place do not reach.

    Args:
        compiled: what the engine has now.
        held: what it had, of the same structure, whose matrix may be written over; None: nothing.
        changed: parts that differ.
    """
    rows = compiled.rows
    if held is None:
        matrix = rows.matrix.copy()
    else:
        matrix = held.rows.matrix  # a copy by scipy costs what a small solve does
        if "matrix" in changed:
            matrix.data[:] = rows.matrix.data
    return replace(
        compiled,
        cost=compiled.cost.copy(),
        lower=compiled.lower.copy(),
        upper=compiled.upper.copy(),
        rows=Rows(matrix, rows.lower.copy(), rows.upper.copy()),
    )
