"""A linear program for packings whose columns and rows change: maximise value, rows at most 1.

The first rows may be ranges instead. A shortfall below the lower side is penalised, so the program
is always feasible. In a tree, each node builds its program from the basis of its parent, so that
nodes are independent and few columns and rows are held at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.model import Model
from optsched.model.expression import Floats
from optsched.solvers.highs.backend import load, refuse
from optsched.solvers.options import Options

Indices = NDArray[np.int64]


class Ranges(NamedTuple):
    """What the first rows may come to, each of shape (ranges,)."""

    least: Floats
    most: Floats

    @classmethod
    def none(cls) -> Ranges:
        """For a program without ranges."""
        return cls(np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Basis:
    """Where an optimum lies."""

    columns: list[Any]
    """Status of each column, HiGHS's own."""
    rows: list[Any]
    """Status of each row, ranges first."""
    short: list[Any]
    """Status of what each range is short of."""

    def part(self, columns: Indices, rows: Indices) -> Basis:
        """Return the basis of some columns and rows, all ranges among them."""
        return Basis([self.columns[c] for c in columns], [self.rows[r] for r in rows], self.short)

    def with_row(self) -> Basis:
        """With one row more, which it does not hold tight."""
        import highspy

        return Basis(self.columns, [*self.rows, highspy.HighsBasisStatus.kBasic], self.short)

    def with_ranges(self, ranges: int) -> Basis:
        """With so many ranges, those that are new not held tight."""
        import highspy

        known, facts = len(self.short), highspy.HighsBasisStatus
        rows = [*self.rows[:known], *[facts.kBasic] * (ranges - known), *self.rows[known:]]
        return Basis(self.columns, rows, self.short + [facts.kLower] * (ranges - known))

    def loose(self) -> NDArray[np.bool_]:
        """Rows that it does not hold tight, shape (rows,)."""
        import highspy

        basic = highspy.HighsBasisStatus.kBasic
        return np.array([status == basic for status in self.rows], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class PackingPoint:
    """What a solve ended with."""

    value: float
    """Worth; where the solve was cut short, no less than the optimum's."""
    weights: Floats
    """Weight of each column, shape (columns,); of no use if it was cut short."""
    duals: Floats
    """Shape (rows,); at least 0 but for ranges, where less than 0 is a price of their least. Any
    such prices bound the optimum."""
    optimal: bool
    """False: the worth fell to what is of no interest, or a limit came first."""
    short: float
    """The most that a range lacks of its least."""


class PackingProgram:
    """max worth x over A x <= 1 and x >= 0, by HiGHS's dual simplex method.

    Ranges are rows least <= A x <= most, before all others.
    """

    def __init__(self) -> None:
        empty = Model("packing").compile()
        refuse(empty)  # a version of HiGHS known to answer wrongly
        self._engine = load(empty, Options(extra={"presolve": "off"}))
        self._worth: Floats = np.zeros(0)
        self._ranges = 0

    def enter(
        self,
        worth: Floats,
        matrix: sp.csc_array,
        basis: Basis | None = None,
        ranges: Ranges | None = None,
        penalty: float = 0.0,
    ) -> None:
        """Put a program in the place of the last one.

        Args:
            worth: of each column, shape (columns,).
            matrix: A, shape (rows, columns).
            basis: to start from; it need not be one of this program, and have no more than its
                first ranges.
            ranges: of the first rows.
            penalty: for each unit that a range is short of its least.
        """
        import highspy

        limits = Ranges.none() if ranges is None else ranges
        self._ranges = len(limits.least)
        # what ranges are short of are the first columns
        lacking = sp.eye_array(matrix.shape[0], self._ranges)
        whole = sp.hstack([lacking, matrix], format="csc")
        rows, columns = whole.shape
        self._worth = np.concatenate([np.full(self._ranges, -penalty), worth])
        lower, upper = np.full(rows, -np.inf), np.ones(rows)
        lower[: self._ranges], upper[: self._ranges] = limits
        self._engine.passModel(
            columns, rows, whole.nnz, int(highspy.MatrixFormat.kColwise), 1, 0.0, -self._worth,
            np.zeros(columns), np.full(columns, np.inf), lower, upper,
            whole.indptr.astype(np.int32), whole.indices.astype(np.int32), whole.data,
            np.zeros(columns, dtype=np.int32),
        )  # fmt: skip
        if basis is not None:
            self._set(basis.with_ranges(self._ranges), alien=True)

    def twin(self) -> PackingProgram:
        """Another one with the same program, for another thread; it has no basis."""
        other = PackingProgram()
        other._engine.passModel(self._engine.getLp())
        other._worth, other._ranges = self._worth, self._ranges
        return other

    def add_columns(self, worth: Floats, matrix: sp.csc_array) -> None:
        """Columns at the end, of shape (rows, columns)."""
        columns = len(worth)
        self._worth = np.concatenate([self._worth, worth])
        self._engine.addCols(
            columns, -worth, np.zeros(columns), np.full(columns, np.inf), matrix.nnz,
            matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32), matrix.data,
        )  # fmt: skip

    def add_rows(self, matrix: sp.csr_array) -> None:
        """Rows at the end, of shape (rows, columns)."""
        rows = matrix.shape[0]
        self._engine.addRows(
            rows, np.full(rows, -np.inf), np.ones(rows), matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            (matrix.indices + self._ranges).astype(np.int32), matrix.data,
        )  # fmt: skip

    @property
    def basis(self) -> Basis:
        """That of the last solve."""
        found = self._engine.getBasis()
        columns = list(found.col_status)
        return Basis(columns[self._ranges :], list(found.row_status), columns[: self._ranges])

    def _set(self, basis: Basis, alien: bool) -> None:
        import highspy

        given = highspy.HighsBasis()
        given.col_status, given.row_status = basis.short + basis.columns, basis.rows
        given.valid, given.alien = True, alien
        self._engine.setBasis(given)

    def solve(
        self, least: float = -math.inf, steps: int | None = None, seconds: float = math.inf
    ) -> PackingPoint:
        """Optimise from the last basis.

        Args:
            least: an optimum of less worth is of no interest.
            steps: most of the simplex method.
            seconds: limit on the wall.
        """
        import highspy

        engine, facts = self._engine, highspy.HighsModelStatus
        engine.setOptionValue("objective_bound", -least if math.isfinite(least) else math.inf)
        engine.setOptionValue("simplex_iteration_limit", 2**31 - 1 if steps is None else steps)
        engine.setOptionValue("time_limit", min(engine.getRunTime() + max(seconds, 1e-3), 1e30))
        if engine.run() == highspy.HighsStatus.kError:  # its threads were set up otherwise
            highspy.Highs.resetGlobalScheduler(True)
            engine.clearSolver()
            engine.run()
        solution, ending = engine.getSolution(), engine.getModelStatus()
        value = -engine.getInfo().objective_function_value
        if ending in (facts.kObjectiveBound, facts.kInfeasible):
            value = least
        weights, duals = np.array(solution.col_value), -np.array(solution.row_dual)
        np.maximum(duals[self._ranges :], 0.0, out=duals[self._ranges :])
        short = float(weights[: self._ranges].max(initial=0.0))
        weights = np.maximum(weights[self._ranges :], 0.0)
        return PackingPoint(value, weights, duals, ending == facts.kOptimal, short)

    def tried(
        self,
        basis: Basis,
        forbidden: Indices,
        changed: Indices,
        worth: float,
        least: float,
        steps: int,
    ) -> float:
        """About the worth without some columns; the program is afterwards as it was.

        Args:
            basis: to start from, of this program.
            forbidden: columns that are left out.
            changed: columns that are worth something else meanwhile.
            worth: what these are worth.
            least: as for ``solve``.
            steps: as for ``solve``; the fewer, the higher is what is returned.
        """
        engine, changed = self._engine, changed + self._ranges
        before = self._worth[changed]
        nothing, columns = np.zeros(len(forbidden)), (forbidden + self._ranges).astype(np.int32)
        engine.changeColsBounds(len(columns), columns, nothing, nothing)
        self._price(changed, np.full(len(changed), worth))
        self._set(basis, alien=False)
        value = self.solve(least, steps).value
        engine.changeColsBounds(len(columns), columns, nothing, nothing + np.inf)
        self._price(changed, before)
        return value

    def tried_beside(
        self,
        basis: Basis,
        row: Floats,
        limits: Sequence[tuple[float, float]],
        least: float,
        steps: int,
    ) -> list[float]:
        """About the worth with one more row, within each of some limits.

        Afterwards the program is as it was.

        Args:
            basis: to start from, of this program.
            row: its coefficients, shape (columns,).
            limits: least and most.
            least: as for ``solve``; also what is returned where nothing keeps the limits.
            steps: as for ``tried``.
        """
        engine, number = self._engine, len(basis.rows)
        place = np.flatnonzero(row)
        columns = (place + self._ranges).astype(np.int32)
        engine.addRow(-math.inf, math.inf, len(place), columns, row[place])
        longer, values = basis.with_row(), []
        for low, high in limits:
            engine.changeRowBounds(number, low, high)
            self._set(longer, alien=False)
            values.append(self.solve(least, steps).value)
        engine.deleteRows(1, np.array([number], dtype=np.int32))
        return values

    def price(self, worth: Floats, penalty: float = 0.0) -> None:
        """Change what every column is worth, shape (columns,), and what is paid for shortage."""
        self._worth = np.concatenate([np.full(self._ranges, -penalty), worth])
        self._price(np.arange(len(self._worth)), self._worth)

    def _price(self, columns: Indices, worth: Floats) -> None:
        if len(columns):
            self._engine.changeColsCost(len(columns), columns.astype(np.int32), -worth)
