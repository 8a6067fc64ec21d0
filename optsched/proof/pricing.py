"""Find dual values of the rows that couple the parts of a model, for a proof part by part.

Without those rows the parts are independent. At any dual values, the least costs of the parts add
up to a bound. Column generation finds the dual values with the best bound. Its columns are integer
points of a part, found by HiGHS.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from optsched.decomposition import Column, ColumnBlock, ColumnGeneration, Duals, Priced
from optsched.decomposition.columns import PricingError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, Rows
from optsched.proof.exact_model import ExactModel
from optsched.solvers.highs.backend import load
from optsched.solvers.options import Options

OVER = 2**30
"""Denominator of prices."""

_KEPT = 1e-6  # distance to a bound at which a column generated before still keeps to it

Indices = NDArray[np.intp]


class Offer(NamedTuple):
    """What prices show, in floating point."""

    value: float
    """Value of the bound, minimising, without the model's constant."""
    y: NDArray[np.int64]
    """Prices of the rows that tie, times ``OVER``."""
    least: list[float]
    """Least value of every part, at these prices."""
    point: Floats | None
    """A mix of points of the parts that keeps to the rows; None: not known."""


class Part:
    """A part of a model: columns with the rows they are in, which hold whatever others do."""

    def __init__(self, form: MatrixForm, columns: Indices) -> None:
        inside = np.zeros(len(form.cost), dtype=bool)
        inside[columns] = True
        matrix, old = form.rows.matrix, form.rows
        rows = np.flatnonzero(np.diff(matrix[:, columns].indptr))
        others = matrix[rows][:, ~inside]
        low, high = form.lower[~inside], form.upper[~inside]
        sides = (
            old.lower[rows] - _most(others, low, high),
            old.upper[rows] + _most(-others, low, high),
        )
        some = np.isfinite(sides[0]) | np.isfinite(sides[1])
        rows, sign = rows[some], -1.0 if form.maximise else 1.0
        self.columns, self.rows = columns, rows
        self.form = replace(
            form,
            cost=sign * form.cost[columns],
            offset=0.0,
            maximise=False,
            rows=Rows(matrix[rows][:, columns], sides[0][some], sides[1][some]),
            lower=form.lower[columns],
            upper=form.upper[columns],
            integer=form.integer[columns],
            row_blocks={},
            column_blocks={},
            nonlinear=(),
        )
        self.model = ExactModel(self.form)
        self._engine = load(self.form, Options())
        self._asked: dict[tuple[bytes, ...], tuple[float, Floats | None]] = {}
        self._numbers = np.arange(len(columns), dtype=np.int32)

    def cheapest(
        self, cost: Floats, lower: Floats, upper: Floats, seconds: float
    ) -> tuple[float, Floats | None]:
        """A lower bound on the cost of its points, and the cheapest one, if it is found in time."""
        asked = cost.tobytes(), lower.tobytes(), upper.tobytes()
        answer = self._asked.get(asked) or self._solved(cost, lower, upper, seconds)
        if answer[0] > -math.inf:
            self._asked[asked] = answer
        return answer

    def _solved(
        self, cost: Floats, lower: Floats, upper: Floats, seconds: float
    ) -> tuple[float, Floats | None]:
        import highspy

        engine, facts = self._engine, highspy.HighsModelStatus
        engine.changeColsCost(len(cost), self._numbers, cost)
        engine.changeColsBounds(len(cost), self._numbers, lower, upper)
        engine.setOptionValue("time_limit", engine.getRunTime() + max(seconds, 1e-3))
        engine.run()
        status = engine.getModelStatus()
        if status == facts.kInfeasible:
            return math.inf, None
        if status != facts.kOptimal:
            return -math.inf, None
        x, info = np.array(engine.getSolution().col_value), engine.getInfo()
        whole = self.form.integer
        x[whole] = np.rint(x[whole])
        value = info.objective_function_value
        return float(min(value, info.mip_dual_bound) if whole.any() else value), x


class Prices:
    """Dual values of the rows that tie a model together."""

    def __init__(self, form: MatrixForm, tying: Collection[str]) -> None:
        """Take a model apart.

        Args:
            form: the model.
            tying: blocks of rows; one that is called "room" stands for "room:2" as well.
        """
        self._cost = -form.cost if form.maximise else form.cost
        self.rows = _rows(form, tying)
        """The rows that tie."""
        self._matrix = form.rows.matrix[self.rows]
        self._sides = form.rows.lower[self.rows], form.rows.upper[self.rows]
        self.parts = list(_parts(form, self.rows)) if len(self.rows) else []
        inside = np.zeros(len(form.cost), dtype=bool)
        for part in self.parts:
            inside[part.columns] = True
        self._rest = np.flatnonzero(~inside)
        self._known: list[tuple[int, Floats]] = []
        """Points of parts, by the number of the part."""
        self._last = np.zeros(len(self.rows))

    def search(
        self,
        lower: Floats,
        upper: Floats,
        enough: float,
        until: float,
        *,
        generate: bool,
    ) -> Offer:
        """The best prices found from those found last on, or the first that are good enough.

        Args:
            lower: bounds of the columns.
            upper: on the other side.
            enough: value of the bound at which to stop.
            until: when to end, as ``time.perf_counter`` counts.
            generate: whether to generate columns where other prices do not do.
        """
        best = self._evaluated(self._last, lower, upper, until)
        if best.value < enough and generate:
            prices, point = self._generated(lower, upper, enough, until)
            found = self._evaluated(prices, lower, upper, until)
            best = (found if found.value > best.value else best)._replace(point=point)
        self._last = best.y / OVER
        return best

    def add(self, number: int, terms: Floats, side: float) -> None:
        """A further row that ties, ``terms x >= side``.

        Args:
            number: of the row.
            terms: its coefficients, shape (columns,).
            side: the least they may add up to.
        """
        self.rows = np.append(self.rows, number)
        self._matrix = sp.csr_array(sp.vstack([self._matrix, sp.csr_array(terms[None, :])]))
        self._sides = np.append(self._sides[0], side), np.append(self._sides[1], np.inf)
        self._last = np.append(self._last, 0.0)

    def reduced(self, y: Floats, weight: float = 1.0) -> Floats:
        """What every column costs at some prices."""
        return np.asarray(weight * self._cost - self._matrix.T @ y)

    def _evaluated(self, y: Floats, lower: Floats, upper: Floats, until: float) -> Offer:
        """What prices show, rounded and without those that ask for a side a row does not have."""
        low, high = self._sides
        whole = np.rint(y * OVER).astype(np.int64)
        whole[np.isinf(np.where(whole > 0, low, high))] = 0
        cost = self.reduced(whole / OVER)
        least = [
            self._ask(b, cost, lower, upper, until - time.perf_counter())[0]
            for b in range(len(self.parts) + 1)
        ]
        return Offer(self._value(whole / OVER, least), whole, least[:-1], None)

    def _value(self, y: Floats, least: Sequence[float]) -> float:
        asked = y != 0
        side = np.where(y > 0, *self._sides)[asked]
        return float(y[asked] @ side) + math.fsum(least) if math.inf not in least else math.inf

    def _ask(
        self, block: int, cost: Floats, lower: Floats, upper: Floats, seconds: float
    ) -> tuple[float, Floats | None]:
        """Return the least value of a part, or of the columns in none, and where it is."""
        if block < len(self.parts):
            j = self.parts[block].columns
            return self.parts[block].cheapest(cost[j], lower[j], upper[j], seconds)
        j = self._rest
        x = np.where(cost[j] > 0, lower[j], np.where(cost[j] < 0, upper[j], 0.0))
        value = float(cost[j] @ x) if np.isfinite(x).all() else -math.inf
        return value, x if value > -math.inf else None

    def _generated(
        self, lower: Floats, upper: Floats, enough: float, until: float
    ) -> tuple[Floats, Floats | None]:
        """The best prices that column generation met, and the mix of columns it ended with."""
        stop, blocks = threading.Event(), len(self.parts) + 1
        best, prices = -math.inf, self._last
        least = [math.nan] * blocks

        def price(block: int, duals: Duals) -> Priced:
            nonlocal best, prices
            cost = self.reduced(duals.rows, duals.weight)
            least[block], x = self._ask(block, cost, lower, upper, duals.seconds)
            if block == blocks - 1 and duals.weight:
                value = self._value(duals.rows, least)
                if value > best:
                    best, prices = value, duals.rows
                if value >= enough:
                    stop.set()
            if x is None:
                return Priced((), least[block])
            self._known.append((block, x))
            return Priced([self._column(block, x)], least[block])

        generation = ColumnGeneration(
            *self._sides,
            [ColumnBlock()] * blocks,
            price,
            initial=[
                self._column(block, x)
                for block, x in self._known
                if self._keeps(block, x, lower, upper)
            ],
        )
        try:
            left = max(until - time.perf_counter(), 1e-3)
            chosen = generation.solve_relaxation(time_limit=left, stop=stop).chosen
        except PricingError:  # rounding has the last word
            chosen = ()
        point = np.zeros(len(self._cost))
        for column, weight in chosen:
            point[self._columns(column.block)] += weight * column.payload
        return prices, point if chosen else None

    def _columns(self, block: int) -> Indices:
        return self.parts[block].columns if block < len(self.parts) else self._rest

    def _column(self, block: int, x: Floats) -> Column:
        j = self._columns(block)
        uses = self._matrix[:, j] @ x
        rows = np.flatnonzero(uses)
        return Column(block, float(self._cost[j] @ x), rows, uses[rows], payload=x)

    def _keeps(self, block: int, x: Floats, lower: Floats, upper: Floats) -> bool:
        j = self._columns(block)
        return bool(((x >= lower[j] - _KEPT) & (x <= upper[j] + _KEPT)).all())


def _rows(form: MatrixForm, tying: Collection[str]) -> Indices:
    """The rows of some blocks."""
    found = [
        np.arange(first, first + math.prod(shape))
        for name, (first, shape) in form.row_blocks.items()
        if name in tying or name.split(":")[0] in tying
    ]
    return np.concatenate([np.empty(0, dtype=np.intp), *found])


def _parts(form: MatrixForm, tying: Indices) -> Iterator[Part]:
    """What is left of the linear rows falls apart into these."""
    kept = np.setdiff1d(form.rows.filled, tying)
    matrix = sp.csr_array(form.rows.matrix[kept])
    columns = matrix.shape[1]
    graph = sp.block_array([[None, matrix], [sp.csr_array((columns, len(kept))), None]])
    _, label = connected_components(graph, directed=False)
    for part in np.unique(label[: len(kept)]):
        yield Part(form, np.flatnonzero(label[len(kept) :] == part))


def _most(matrix: sp.csr_array, lower: Floats, upper: Floats) -> Floats:
    """The most that each row may add up to within bounds."""
    terms = matrix.tocoo()
    at = np.where(terms.data > 0, upper[terms.col], lower[terms.col])
    with np.errstate(invalid="ignore"):
        worth = np.where(terms.data == 0, 0.0, terms.data * at)
    return np.bincount(terms.row, worth, matrix.shape[0]).astype(np.float64)
