"""Many models of one structure: compiled once, solved again and again with other data.

Building, compiling and handing over a small model costs more than solving it. A batch does it once;
each item then changes numbers in place and starts the solver where the last item ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from optsched.errors import InputError, ModelError
from optsched.model import Model, Rows
from optsched.model.blocks import Linear
from optsched.model.expression import Floats, Shape
from optsched.model.matrix_form import MatrixForm, check_finite
from optsched.solvers.backend import Solver, SolverResult
from optsched.solvers.direct import answer, checked_solution, cost_scale
from optsched.solvers.highs.backend import Highs
from optsched.solvers.highs.session import HighsSession
from optsched.solvers.options import Options, merged
from optsched.solvers.registry import installed
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.solution import Solution, Status

Values = Mapping[str, ArrayLike]
Sides = ArrayLike | tuple[ArrayLike, ArrayLike]
Place = tuple[str, str]
"""A block of rows and a variable."""


class ParametricModel:
    """One model with changing numbers.

    What is changed stays changed until it is changed again. Solutions are checked as ever. With
    "highs", the engine is kept and linear programs start from the last basis; other back ends are
    spared building and compiling only.

    Example:
        >>> import numpy as np
        >>> from optsched import Model
        >>> from optsched.parametric import ParametricModel
        >>> m = Model("knapsack")
        >>> take = m.binary("take", shape=3)
        >>> m.maximize(take.sum())
        >>> m.add("weight", take @ np.array([3, 2, 2]) <= 4)
        >>> batch = ParametricModel(m)
        >>> [batch.solve(rhs={"weight": w}).objective for w in (2, 5, 7)]
        [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        model: Model,
        solver: Solver = "highs",
        *,
        options: Options | None = None,
        **settings: Any,
    ) -> None:
        """Compile the model.

        Args:
            model: its structure and first numbers; what is added to it later is not seen.
            solver: name of a back end, or one of your own.
            options: as for ``solve``; a warm start is not taken.
            settings: single fields of ``Options``; the profile is "tiny" unless one is named, so
                that Ctrl-C is heard between two items.

        Raises:
            InputError: an option out of range, or a solver that is unknown or not installed.
            UnsupportedError: the solver cannot take what the model contains.
            ModelError: the model cannot be compiled.
        """
        self._options = merged(options, {"profile": "tiny", **settings})
        if self._options.warm_start is not None:
            raise InputError.of("warm_start", "...", "None: a batch starts from its last item")
        self._engine, self._version = installed(solver)
        self._linear = {name for name, b in model.blocks.items() if isinstance(b, Linear)}
        self._bound_to = _in_nonlinear_blocks(model)
        self._compiled = _own(model.compile(self._engine.native))
        # what points must satisfy: the model as written, not what it was lowered to
        self._original = self._compiled
        if len(self._linear) < len(model.blocks):
            self._original = _own(model.compile(model.kinds))
        self._places: dict[tuple[int, Place], _Places] = {}
        self._changed: set[str] = set()
        """Parts that differ from what the solver was given last."""
        self._unchecked: set[str] = set()
        """Parts that may hold numbers no solver can take, after a change that was refused."""
        self._session = HighsSession(self._options) if isinstance(self._engine, Highs) else None

    def update(
        self,
        *,
        cost: Values | None = None,
        offset: float | None = None,
        rhs: Mapping[str, Sides] | None = None,
        lower: Values | None = None,
        upper: Values | None = None,
        coefficients: Mapping[Place, Any] | None = None,
    ) -> None:
        """Change numbers; all values broadcast to the shape of their block.

        Args:
            cost: objective coefficients by variable.
            offset: constant of the objective.
            rhs: by block, the number that the rows' variables are compared with once constants
                have gone over to it; a pair (lower, upper) for blocks that have both.
            lower: bounds by variable.
            upper: bounds by variable.
            coefficients: by block and variable, a matrix (numpy or scipy.sparse) of shape (rows of
                the block, entries of the variable); 0 wherever the model had no coefficient.

        Raises:
            ModelError: an unknown name, a shape that does not fit, a number that is not finite, a
                coefficient where there was none, bounds that cross, or bounds of a variable in a
                nonlinear block, whose rows were made from them.
        """
        # first of all: what is refused half-way has changed something, too
        given = {"cost": cost, "rows": rhs, "columns": lower or upper, "matrix": coefficients}
        changed = {word for word, values in given.items() if values}
        if offset is not None:
            changed.add("offset")
            self._compiled = replace(self._compiled, offset=float(offset))
            self._original = replace(self._original, offset=float(offset))
        self._changed |= changed
        self._unchecked |= changed
        for compiled in self._both():
            for name, value in (cost or {}).items():
                part, shape = _columns(compiled, name)
                compiled.cost[part] = _spread(name, value, shape)
            for bound, values in ((compiled.lower, lower), (compiled.upper, upper)):
                for name, value in (values or {}).items():
                    part, shape = _columns(compiled, name)
                    if name in self._bound_to:
                        raise ModelError(
                            f"bounds of {name!r} cannot change: rows of block "
                            f"{self._bound_to[name]!r} are made from them"
                        )
                    bound[part] = _spread(name, value, shape)
            for name, side in (rhs or {}).items():
                self._set_sides(compiled, name, side)
            for place, matrix in (coefficients or {}).items():
                self._set_coefficients(compiled, place, matrix)
            check_finite(compiled, self._unchecked)
            if "columns" in self._unchecked and not (compiled.lower <= compiled.upper).all():
                column = int(np.argmin(compiled.lower <= compiled.upper))
                raise ModelError(f"the bounds of {compiled.column_name(column)} cross")
        self._unchecked.clear()

    def solve(self, **changes: Any) -> Solution:
        """Change numbers, as ``update`` does, and solve.

        Raises:
            ModelError: as for ``update``.
            UnsupportedError: the solver cannot take the numbers.
        """
        began = time.perf_counter()
        if changes or self._unchecked:
            self.update(**changes)
        solution = self._finish(self._answered(), began)
        if solution.status is Status.ERROR and self._session is not None:
            self._session.forget()  # perhaps it is the kept engine that failed
            solution = self._finish(self._answered(), began)
        return solution

    def run(self, items: Iterable[Mapping[str, Any]]) -> list[Solution]:
        """``solve(**item)`` for each item."""
        return [self.solve(**item) for item in items]

    def _answered(self) -> SolverResult:
        compiled, session = with_whole_bounds(self._compiled), self._session
        rows = compiled.rows
        if (rows.lower > rows.upper).any():
            return SolverResult(Status.INFEASIBLE, message="the sides of a row exclude each other")
        if session is None or not len(compiled.cost) or cost_scale(compiled.cost) != 1.0:
            return answer(self._engine, compiled, self._options, None)
        changed, self._changed = self._changed, set()
        try:
            return session.solve(compiled, changed)
        except ModelError:
            session.forget()
            raise
        except Exception as failure:
            session.forget()
            return SolverResult(Status.ERROR, message=f"{type(failure).__name__}: {failure}")

    def _finish(self, result: SolverResult, began: float) -> Solution:
        original = with_whole_bounds(self._original)
        return checked_solution(
            result, self._compiled, original, self._engine.name, self._version, began
        )

    def _both(self) -> list[MatrixForm]:
        return [self._compiled, *([] if self._original is self._compiled else [self._original])]

    def _rows(self, compiled: MatrixForm, name: str) -> tuple[slice, Shape]:
        if name not in self._linear:
            known = ", ".join(n for n in compiled.row_blocks if n in self._linear)
            raise ModelError(f"no linear block {name!r}; there are: {known}")
        first, shape = compiled.row_blocks[name]
        return slice(first, first + math.prod(shape)), shape

    def _set_sides(self, compiled: MatrixForm, name: str, side: Sides) -> None:
        part, shape = self._rows(compiled, name)
        low, high = compiled.rows.lower[part], compiled.rows.upper[part]
        if isinstance(side, tuple):
            if len(side) != 2:
                raise ModelError(f"rhs of {name!r}: a pair (lower, upper), or one number a row")
            low[:], high[:] = _spread(name, side[0], shape), _spread(name, side[1], shape)
            return
        below, above = np.isfinite(low), np.isfinite(high)
        if (below & above & (low != high)).any():
            raise ModelError(f"rhs of {name!r}: its rows have two sides, give (lower, upper)")
        value = _spread(name, side, shape)
        if not np.isfinite(value).all():
            raise ModelError(f"rhs of {name!r}: a number is not finite")
        low[below], high[above] = value[below], value[above]

    def _set_coefficients(self, compiled: MatrixForm, place: Place, matrix: Any) -> None:
        key = (id(compiled.rows), place)
        if key not in self._places:
            rows, _ = self._rows(compiled, place[0])
            columns, _ = _columns(compiled, place[1])
            self._places[key] = _Places.find(compiled.rows.matrix, rows, columns)
        known = self._places[key]
        given: Any = matrix if sp.issparse(matrix) else np.asarray(matrix, dtype=np.float64)
        if given.shape != known.shape:
            raise ModelError(f"coefficients of {place}: shape {given.shape}, not {known.shape}")
        values = known.values(given)
        # NaN counts as nonzero on both sides, and is refused with the other numbers
        dense = isinstance(given, np.ndarray)
        nonzeros = np.count_nonzero(given) if dense else given.count_nonzero()
        if nonzeros != np.count_nonzero(values):
            raise ModelError(f"coefficients of {place}: one is not 0 where the model has none")
        compiled.rows.matrix.data[known.position] = values


class _Places:
    """Where the coefficients of a block and a variable are stored."""

    def __init__(
        self,
        shape: Shape,
        position: NDArray[np.int64],
        row: NDArray[np.int64],
        column: NDArray[np.int64],
    ) -> None:
        self.shape, self.position, self.row, self.column = shape, position, row, column

    @classmethod
    def find(cls, matrix: sp.csr_array, rows: slice, columns: slice) -> _Places:
        start, end = int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop])
        column = matrix.indices[start:end]
        inside = np.flatnonzero((column >= columns.start) & (column < columns.stop))
        lengths = np.diff(matrix.indptr[rows.start : rows.stop + 1])
        row = np.repeat(np.arange(len(lengths)), lengths)[inside]
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return cls(shape, inside + start, row, column[inside].astype(np.int64) - columns.start)

    def values(self, matrix: Any) -> Floats:
        if isinstance(matrix, np.ndarray):
            return np.asarray(matrix[self.row, self.column])
        return np.asarray(matrix.tocsr()[self.row, self.column]).reshape(-1)


def _own(compiled: MatrixForm) -> MatrixForm:
    """A copy whose arrays may be written to."""
    rows = compiled.rows
    return replace(
        compiled,
        cost=compiled.cost.copy(),
        lower=compiled.lower.copy(),
        upper=compiled.upper.copy(),
        rows=Rows(rows.matrix.copy(), rows.lower.copy(), rows.upper.copy()),
    )


def _in_nonlinear_blocks(model: Model) -> dict[str, str]:
    """By variable, a nonlinear block that mentions it."""
    found: dict[str, str] = {}
    variables = list(model.variables.values())
    starts = np.array([v.start for v in variables])
    for block in model.blocks.values():
        if isinstance(block, Linear):
            continue
        for expression in block.expressions():
            for terms in expression.terms:
                places = np.unique(np.searchsorted(starts, terms.columns, side="right") - 1)
                for place in places.tolist():
                    found.setdefault(variables[place].name, block.name)
    return found


def _columns(compiled: MatrixForm, name: str) -> tuple[slice, Shape]:
    if name not in compiled.column_blocks:
        raise ModelError(f"no variable {name!r}; there are: {', '.join(compiled.column_blocks)}")
    first, shape = compiled.column_blocks[name]
    return slice(first, first + math.prod(shape)), shape


def _spread(name: str, value: ArrayLike, shape: Shape) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if array.shape == shape:
        return array.reshape(-1)
    try:
        return np.broadcast_to(array, shape).reshape(-1)
    except ValueError:
        raise ModelError(f"{name!r}: shape {array.shape} does not fit {shape}") from None
