"""The restricted master problem: one HiGHS object that columns and rows are added to."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.decomposition.columns import Column, ColumnBlock
from optsched.decomposition.limits import Limits
from optsched.decomposition.pool import ColumnPool, RowKey
from optsched.decomposition.rows import CutRow, Split
from optsched.model import Model
from optsched.model.expression import Floats
from optsched.solvers.highs.backend import load, refuse
from optsched.solvers.options import Options
from optsched.solvers.solution import Status

_PENALTY = 10.0  # price of leaving a row unsatisfied, over the largest cost of a column
_ABSENT = -1  # a row that HiGHS has not been given
_MET = 1e-7  # absolute: up to here HiGHS, too, takes rows to be satisfied


def _nothing() -> Floats:
    return np.zeros(0)


class Phase(StrEnum):
    """What the master problem minimises."""

    PENALISED = "penalised"
    """Cost, rows being left unsatisfied at a penalty."""
    FEASIBILITY = "feasibility"
    """How far the rows are from being satisfied."""
    STRICT = "strict"
    """Cost, every row satisfied."""


@dataclass(frozen=True, eq=False)
class MasterPoint:
    """An optimum of the master problem's relaxation over the columns known."""

    status: Status
    """NO_SOLUTION: the time was over; ERROR: HiGHS failed twice."""
    value: float = math.nan
    weights: Floats = field(default_factory=_nothing)
    """Weight of each column, shape (columns,)."""
    shortfall: float = 0.0
    """How far rows are from being satisfied in all, each relative to ``max(1, |side|)``."""
    duals: Floats = field(default_factory=_nothing)
    """Dual values of coupling rows and rows added, in the sign of HiGHS."""
    thresholds: Floats = field(default_factory=_nothing)
    """Dual of each block's number of columns, shape (blocks,)."""


class RestrictedMaster:
    """min cost of columns, subject to coupling rows, numbers per block, cuts and branching's rows.

    Rows in HiGHS: blocks, then coupling rows and rows added as they come. A coupling row that
    choosing nothing satisfies comes once an optimum breaks it: of many, few ever matter. Other
    rows have an artificial column of their own, so that the problem is always feasible until
    :attr:`phase` is strict. A node's limits are entered by bounds alone; nothing is rebuilt.
    """

    def __init__(
        self,
        lower: Floats,
        upper: Floats,
        blocks: Sequence[ColumnBlock],
    ) -> None:
        self.pool = ColumnPool(len(lower))
        self.limits = Limits.of(blocks)
        self.phase = Phase.PENALISED
        self._lower, self._upper = lower.copy(), upper.copy()  # of coupling rows and rows added
        empty = Model("master").compile()
        refuse(empty)  # a version of HiGHS known to answer wrongly
        self._engine = load(empty, Options())
        self._position = np.zeros(0, dtype=np.int32)  # of each column of the pool in HiGHS
        self._artificial: list[int] = []  # positions in HiGHS
        self._per_unit: list[float] = []  # what one unit of an artificial adds to its row
        self._columns = 0
        self._sides = np.zeros((0, 2))  # of every row in HiGHS
        self._row = np.full(len(lower), _ABSENT)  # of coupling rows and rows added, in HiGHS
        nothing = sp.csr_array((len(blocks), 0))
        self._add_rows(nothing, self.limits.lower, self.limits.upper)
        for row, least in enumerate(self.limits.lower):
            self._add_artificial(row, max(least, 1.0))  # branching may ask for a column of any
        asked = (lower > 0) | (upper < 0)
        self._enter_rows(np.flatnonzero(asked))
        for row in np.flatnonzero(asked).tolist():
            side = lower[row] if lower[row] > 0 else upper[row]
            self._add_artificial(int(self._row[row]), float(side))

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """Sides of the coupling rows and the rows added at this node."""
        return self._lower, self._upper

    # what there is to choose from

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new; returns how many were."""
        new = self.pool.extend(columns)
        if not new:
            return 0
        parts = []
        for column in new:
            rows, values = self.pool.entries(column)
            rows = self._row[rows]
            there = rows != _ABSENT
            parts.append((np.append(rows[there], column.block), np.append(values[there], 1.0)))
        length = np.array([len(rows) for rows, _ in parts])
        self._engine.addCols(
            len(new),
            self._costs(np.array([column.cost for column in new])),
            np.zeros(len(new)),
            np.full(len(new), np.inf),
            int(length.sum()),
            (np.cumsum(length) - length).astype(np.int32),
            np.concatenate([rows for rows, _ in parts]).astype(np.int32),
            np.concatenate([values for _, values in parts]),
        )
        positions = np.arange(self._columns, self._columns + len(new), dtype=np.int32)
        self._position = np.concatenate([self._position, positions])
        self._columns += len(new)
        if self.phase is Phase.PENALISED:
            self._price_artificials()
        return len(new)

    def _enter_rows(self, rows: NDArray[np.int64]) -> None:
        """Give coupling rows to HiGHS, with what columns have in them."""
        self._row[rows] = len(self._sides) + np.arange(len(rows))
        self._add_rows(self.pool.matrix()[rows], self._lower[rows], self._upper[rows])

    def _add_rows(self, coefficients: sp.csr_array, lower: Floats, upper: Floats) -> None:
        """Rows at the end, shape (rows, columns of the pool)."""
        self._sides = np.vstack([self._sides, np.column_stack([lower, upper])])
        self._engine.addRows(
            len(lower), lower, upper, coefficients.nnz, coefficients.indptr[:-1].astype(np.int32),
            self._position[coefficients.indices], coefficients.data,
        )  # fmt: skip

    def _add_artificial(self, row: int, side: float) -> None:
        """A column that satisfies a row in units of ``max(1, |side|)``."""
        unit = math.copysign(max(1.0, abs(side)), side)
        index = np.array([row], dtype=np.int32)
        self._engine.addCols(
            1, np.zeros(1), np.zeros(1), np.full(1, np.inf), 1,
            np.zeros(1, dtype=np.int32), index, np.array([unit]),
        )  # fmt: skip
        self._artificial.append(self._columns)
        self._per_unit.append(abs(unit))
        self._columns += 1

    # nodes and phases

    def enter(self, limits: Limits) -> None:
        """Move to a node of the tree; dives are undone, the phase is penalised again."""
        self.limits = limits
        first = self.pool.coupling
        for key in limits.rows:
            if key not in self.pool.added:
                self._add_row(key)
        for row, key in enumerate(self.pool.added, start=first):
            free = (-np.inf, key.upper if isinstance(key, CutRow) else np.inf)
            self._lower[row], self._upper[row] = limits.rows.get(key, free)
        self._change_rows(np.arange(len(limits.lower)), limits.lower, limits.upper)
        self._change_rows(self._row[first:], self._lower[first:], self._upper[first:])
        self.fix(np.zeros(len(self.pool)))
        self.enter_phase(Phase.PENALISED)

    def cut(self, cuts: Iterable[CutRow]) -> None:
        """Add rows that hold at every node; ``enter`` a node before the next solve."""
        for cut in cuts:
            self._add_row(cut)

    def _add_row(self, key: RowKey) -> None:
        row = len(self._sides)
        upper = key.upper if isinstance(key, CutRow) else np.inf
        members, values = self.pool.add_row(key)
        met = sp.csr_array((values, members, [0, len(members)]), shape=(1, len(self.pool)))
        self._add_rows(met, np.array([-np.inf]), np.array([upper]))
        if not isinstance(key, CutRow):
            self._add_artificial(row, 1.0)
        if isinstance(key, Split) or upper < 0:
            self._add_artificial(row, min(upper, -1.0))
        self._row = np.append(self._row, row)
        self._lower, self._upper = np.append(self._lower, -np.inf), np.append(self._upper, upper)

    def _change_rows(self, rows: NDArray[np.int64], lower: Floats, upper: Floats) -> None:
        sides = np.column_stack([lower, upper])
        # highspy changes rows one by one: only those that differ, which are few
        for n in np.flatnonzero((sides != self._sides[rows]).any(axis=1)):
            self._engine.changeRowBounds(int(rows[n]), *sides[n])
        self._sides[rows] = sides

    def fix(self, least: Floats) -> None:
        """Ask for at least so much of each column; what the node forbids stays forbidden."""
        upper = np.where(self.limits.allowed(self.pool), np.inf, 0.0)
        if len(upper):
            self._engine.changeColsBounds(len(upper), self._position, least, upper)

    def enter_phase(self, phase: Phase) -> None:
        """Change what is minimised."""
        self.phase = phase
        if len(self.pool):
            costs = self._costs(self.pool.cost)
            self._engine.changeColsCost(len(costs), self._position, costs)
        self._price_artificials()
        if self._artificial:
            ceiling = 0.0 if phase is Phase.STRICT else np.inf
            artificial = np.array(self._artificial, dtype=np.int32)
            zero = np.zeros(len(artificial))
            self._engine.changeColsBounds(len(artificial), artificial, zero, zero + ceiling)

    @property
    def weight(self) -> float:
        """How much the cost of a column counts in this phase."""
        return 0.0 if self.phase is Phase.FEASIBILITY else 1.0

    def _costs(self, cost: Floats) -> Floats:
        return self.weight * cost

    def _price_artificials(self) -> None:
        if not self._artificial:
            return
        unit = np.array(self._per_unit)
        largest = np.abs(self.pool.cost).max(initial=1.0)
        cost = np.ones(len(unit)) if self.weight == 0.0 else _PENALTY * largest * unit
        artificial = np.array(self._artificial, dtype=np.int32)
        self._engine.changeColsCost(len(unit), artificial, cost)

    # solving

    def solve(self, seconds: float = math.inf) -> MasterPoint:
        """Optimise over the columns known, from the last basis."""
        end = time.perf_counter() + seconds
        while True:
            point = self._solve(max(0.0, end - time.perf_counter()))
            broken = self._broken(point)
            if not len(broken):
                return point
            self._enter_rows(broken)

    def _broken(self, point: MasterPoint) -> NDArray[np.int64]:
        """Coupling rows that HiGHS ought to know of, and does not."""
        absent = self._row[: self.pool.coupling] == _ABSENT
        if point.status in (Status.UNBOUNDED, Status.ERROR):
            return np.flatnonzero(absent)  # they may be what is missing
        if point.status is not Status.OPTIMAL or not absent.any():
            return np.zeros(0, dtype=np.int64)
        held = self.pool.held(point.weights)
        lower, upper = self._lower[: len(held)], self._upper[: len(held)]
        return np.flatnonzero(absent & ((held < lower - _MET) | (held > upper + _MET)))

    def _solve(self, seconds: float) -> MasterPoint:
        import highspy

        engine = self._engine
        limit = engine.getRunTime() + seconds  # the clock runs on from solve to solve
        engine.setOptionValue("time_limit", min(limit, 1e30))
        facts = highspy.HighsModelStatus
        known = {
            facts.kOptimal: Status.OPTIMAL,
            facts.kInfeasible: Status.INFEASIBLE,
            facts.kUnbounded: Status.UNBOUNDED,
            facts.kUnboundedOrInfeasible: Status.UNBOUNDED,
            facts.kTimeLimit: Status.NO_SOLUTION,
        }
        for _ in range(2):
            if engine.run() == highspy.HighsStatus.kError:  # its threads were set up otherwise
                highspy.Highs.resetGlobalScheduler(True)
            status = known.get(engine.getModelStatus(), Status.ERROR)
            if status is not Status.ERROR:
                break
            engine.clearSolver()  # from scratch, once
        if status is not Status.OPTIMAL:
            return MasterPoint(status)
        return self._read(engine.getSolution(), engine.getInfo().objective_function_value)

    def _read(self, solution: Any, value: float) -> MasterPoint:
        x, y = np.array(solution.col_value), np.array(solution.row_dual)
        duals = np.where(self._row == _ABSENT, 0.0, y[self._row])
        return MasterPoint(
            Status.OPTIMAL,
            float(value),
            np.maximum(x[self._position], 0.0),
            float(x[self._artificial].sum()) if self._artificial else 0.0,
            self.project(duals),
            y[: len(self.limits.lower)],
        )

    def project(self, duals: Floats) -> Floats:
        """The nearest prices of the sign that the rows' sides allow."""
        low = np.where(np.isfinite(self._upper), -np.inf, 0.0)
        high = np.where(np.isfinite(self._lower), np.inf, 0.0)
        return np.clip(duals, low, high)
