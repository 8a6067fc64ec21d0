"""A linear program kept in HiGHS: edit it, and solve it again from the basis of the last solve.

To build, compile and load a model takes longer than to solve it again after a small change. A
session does it once. Then numbers are changed in place, and rows and variables are added and
removed. The answer is that of the edited model, and it is checked like any other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from optsched.errors import InputError, ModelError
from optsched.model import Model, Relation, Rows
from optsched.model.blocks import Linear
from optsched.model.expression import Floats, Shape
from optsched.model.matrix_form import MatrixForm, assemble, check_finite, linear
from optsched.solvers.ask import ask
from optsched.solvers.backend import SolverResult
from optsched.solvers.check import checked_solution
from optsched.solvers.direct import solve_form
from optsched.solvers.highs.session import HighsSession
from optsched.solvers.options import Options, merged
from optsched.solvers.registry import installed
from optsched.solvers.repairs.cost_scaling import cost_scale
from optsched.solvers.solution import Solution, Status
from optsched.solvers.tolerances import with_warning

Values = Mapping[str, ArrayLike]
Sides = ArrayLike | tuple[ArrayLike, ArrayLike]


class Session:
    """One linear program, edited and solved again and again.

    What is changed stays changed until it is changed again. ``session.model`` is the session's own
    copy: variables, linear blocks and an objective stated on it are seen at the next solve.

    Example:
        >>> import numpy as np
        >>> from optsched import Model
        >>> from optsched.session import Session
        >>> m = Model("knapsack")
        >>> take = m.continuous("take", shape=3, upper=1)
        >>> m.maximize(take.sum())
        >>> m.add("weight", take @ np.array([3, 2, 2]) <= 4)
        >>> with Session(m) as s:
        ...     first = s.solve()
        ...     second = s.solve(rhs={"weight": 7})
        ...     s.add("apart", take[0] + take[1] <= 1)
        ...     third = s.solve()
        >>> first.objective, second.objective, third.objective
        (2.0, 3.0, 2.0)
    """

    def __init__(self, model: Model, *, options: Options | None = None, **settings: Any) -> None:
        """Compile the model.

        Args:
            model: a linear program, copied; what is added to it later is not seen.
            options: as for ``solve``; neither a warm start nor ``on_progress`` is taken.
            settings: single fields of ``Options``; the profile is "tiny" unless one is named, so
                that Ctrl-C is heard between two solves.

        Raises:
            InputError: an option out of range.
            ModelError: the model is no linear program, or cannot be compiled.
        """
        self._options = merged(options, {"profile": "tiny", **settings})
        if self._options.warm_start is not None:
            raise InputError.of("warm_start", "...", "None: a session starts from its last solve")
        if self._options.on_progress is not None:
            allowed = "None: a session says what it found when a solve has ended"
            raise InputError.of("on_progress", self._options.on_progress, allowed)
        self._engine, self._version = installed("highs")
        self.model = model.copy()
        """What is solved, but for the numbers changed by ``update``."""
        _refuse(self.model)
        form = model.compile()
        rows = Rows(form.rows.matrix.copy(), form.rows.lower.copy(), form.rows.upper.copy())
        self._form = replace(form, cost=form.cost.copy(), lower=form.lower.copy(),
                             upper=form.upper.copy(), rows=rows)  # fmt: skip
        self._blocks, self._goal = dict(model.blocks), (model.objective, model.maximise)
        """What the form was made of."""
        self._live = HighsSession(self._options)
        self._origin: NDArray[np.int64] = np.full(rows.count, -1)
        """By row, its number in the solver; -1 if it is new."""
        self._unchecked: set[str] = set()
        """Parts that may hold numbers no solver can take, after a change that was refused."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._live.forget()

    def update(
        self,
        *,
        cost: Values | None = None,
        offset: float | None = None,
        rhs: Mapping[str, Sides] | None = None,
        lower: Values | None = None,
        upper: Values | None = None,
    ) -> None:
        """Change numbers; all values broadcast to the shape of their block.

        Args:
            cost: objective coefficients by variable.
            offset: constant of the objective.
            rhs: by block, the number that the rows' variables are compared with once constants
                have gone over to it; a pair (lower, upper) for blocks that have both.
            lower: bounds by variable.
            upper: bounds by variable.

        Raises:
            ModelError: an unknown name, a shape that does not fit, a number that is not finite, or
                bounds that cross.
        """
        self._follow()
        # first of all: what is refused half-way has changed something, too
        self._unchecked |= {
            part
            for part, given in (("cost", cost), ("rows", rhs), ("columns", lower or upper))
            if given
        }
        if offset is not None:
            self._unchecked.add("offset")
            self._form = replace(self._form, offset=float(offset))
        form = self._form
        for vector, values in ((form.cost, cost), (form.lower, lower), (form.upper, upper)):
            for name, value in (values or {}).items():
                part, shape = _place(form.column_blocks, name, "variable")
                vector[part] = _spread(name, value, shape)
        for name, side in (rhs or {}).items():
            _set_sides(form, name, side)
        check_finite(form, self._unchecked)
        if "columns" in self._unchecked and not (form.lower <= form.upper).all():
            column = int(np.argmin(form.lower <= form.upper))
            raise ModelError(f"the bounds of {form.column_name(column)} cross")
        self._unchecked.clear()

    def add(self, name: str, relation: Relation) -> None:
        """Add a block of rows, also in variables that were added to ``session.model``.

        Raises:
            ModelError: the name is taken, or it is no relation.
        """
        self.model.add(name, relation)

    def remove(self, *names: str) -> None:
        """Remove blocks.

        Raises:
            ModelError: no such block.
        """
        for name in names:
            if name not in self.model.blocks:
                raise ModelError(f"no block {name!r}; there are: {', '.join(self.model.blocks)}")
            del self.model.blocks[name]

    def solve(self, **changes: Any) -> Solution:
        """Change numbers, as ``update`` does, and solve.

        Raises:
            ModelError: as for ``update``, or the edited model cannot be compiled.
            UnsupportedError: the solver cannot take the numbers.
        """
        began = time.perf_counter()
        self.update(**changes)
        form, engine = self._form, self._engine
        result = self._result()
        solution = checked_solution(result, form, form, engine.name, self._version, began)
        if solution.status is not Status.ERROR:
            return with_warning(solution, form, result.x)
        self._live.forget()  # perhaps it is the kept engine that failed
        return solve_form(engine, self._version, form, form, self._options, None, began)

    def _result(self) -> SolverResult:
        form = self._form
        if (form.rows.lower > form.rows.upper).any():
            return SolverResult(Status.INFEASIBLE, message="the sides of a row exclude each other")
        if not len(form.cost) or cost_scale(form.cost) != 1.0:
            self._live.forget()
            return ask(self._engine, form, self._options, None)
        origin, self._origin = self._origin, np.arange(form.rows.count)
        try:
            return self._live.solve(form, origin[origin >= 0])
        except ModelError:
            self._live.forget()
            raise
        except Exception as failure:
            return SolverResult(Status.ERROR, message=f"{type(failure).__name__}: {failure}")

    def _follow(self) -> None:
        """Take over what was stated on the model since."""
        model, form, goal = self.model, self._form, (self.model.objective, self.model.maximise)
        turned = goal[1] != self._goal[1]
        gone = [n for n, b in self._blocks.items() if model.blocks.get(n) is not b]
        new = {n: b for n, b in model.blocks.items() if self._blocks.get(n) is not b}
        wider, spoken = model.columns > len(form.cost), turned or goal[0] is not self._goal[0]
        if not (gone or new or wider or spoken):
            return
        _refuse(model)
        if wider:
            self._widen()
        self._exchange_rows(gone, {n: b.relation for n, b in new.items() if isinstance(b, Linear)})
        if spoken:
            cost, offset = np.zeros(model.columns), 0.0
            if model.objective is not None:
                cost = linear(model.objective, model.columns)
                offset = float(np.ravel(model.objective.constant)[0])
            if turned:
                self._live.forget()
            self._form = replace(self._form, cost=cost, offset=offset, maximise=model.maximise)
        self._blocks, self._goal = dict(model.blocks), goal
        self._unchecked |= {"cost", "rows", "matrix"}

    def _widen(self) -> None:
        """Add columns for the variables that are new; rows follow."""
        held, model = self._form, self.model
        old = len(held.cost)
        lower, upper, integer = model.domains()
        lower[:old], upper[:old] = held.lower, held.upper
        cost = np.append(held.cost, np.zeros(model.columns - old))
        labels = {name: v.labels for name, v in model.variables.items() if v.labels}
        self._form = replace(
            held, cost=cost, lower=lower, upper=upper, integer=integer,
            column_blocks=model.column_blocks(), labels=labels,
        )  # fmt: skip

    def _exchange_rows(self, gone: list[str], new: Mapping[str, Relation]) -> None:
        """Remove the rows of some blocks, and put others under the rest."""
        held = self._form
        kept = np.ones(held.rows.count, dtype=bool)
        for name in gone:
            first, shape = held.row_blocks[name]
            kept[first : first + math.prod(shape)] = False
        matrix, low, high = held.rows.matrix, held.rows.lower, held.rows.upper
        if gone:
            matrix, low, high = matrix[np.flatnonzero(kept)], low[kept], high[kept]
        columns = len(held.cost)
        matrix = sp.csr_array((matrix.data, matrix.indices, matrix.indptr),
                              shape=(matrix.shape[0], columns))  # fmt: skip
        below = assemble(list(new.values()), columns)
        if new:
            matrix = sp.csr_array(sp.vstack([matrix, below.matrix], format="csr"))
            low, high = np.append(low, below.lower), np.append(high, below.upper)
        blocks, first = {}, 0
        shapes = {n: shape for n, (_, shape) in held.row_blocks.items() if n not in gone}
        for name, shape in {**shapes, **{n: r.shape for n, r in new.items()}}.items():
            blocks[name] = (first, shape)
            first += math.prod(shape)
        labels = {n: named for n, named in held.row_labels.items() if n in blocks and n not in new}
        labels |= {n: dict(r.labels) for n, r in new.items() if r.labels}
        self._form = replace(
            held, rows=Rows(matrix, low, high), row_blocks=blocks, row_labels=labels
        )
        self._origin = np.append(self._origin[kept], np.full(below.count, -1))


def _refuse(model: Model) -> None:
    """Refuse what is no linear program.

    Raises:
        ModelError: naming a block or saying that a variable is integer.
    """
    other = [name for name, block in model.blocks.items() if not isinstance(block, Linear)]
    if other or model.domains()[2].any():
        what = f"block {other[0]!r} is not linear" if other else "a variable is integer"
        raise ModelError(f"a session holds linear programs, and {what}: use solve, or Model.relax")


def _place(blocks: Mapping[str, tuple[int, Shape]], name: str, word: str) -> tuple[slice, Shape]:
    """Return the columns or rows of a block, and its shape."""
    if name not in blocks:
        raise ModelError(f"no {word} {name!r}; there are: {', '.join(blocks)}")
    first, shape = blocks[name]
    return slice(first, first + math.prod(shape)), shape


def _spread(name: str, value: ArrayLike, shape: Shape) -> Floats:
    """Return numbers in the shape of a block, flat."""
    array = np.asarray(value, dtype=np.float64)
    try:
        return np.broadcast_to(array, shape).reshape(-1)
    except ValueError:
        raise ModelError(f"{name!r}: shape {array.shape} does not fit {shape}") from None


def _set_sides(form: MatrixForm, name: str, side: Sides) -> None:
    part, shape = _place(form.row_blocks, name, "linear block")
    low, high = form.rows.lower[part], form.rows.upper[part]
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
