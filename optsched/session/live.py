"""A model on a live solver: edited and solved again, from where the last solve ended.

Building, compiling and handing over a model costs more than solving it again after a small change.
A session does it once; numbers are then changed in place, blocks of rows and variables added and
removed, and the solver starts from its last basis or with its last point. What comes back is what
building the edited model anew gives, checked as ever.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from optsched.errors import InputError, ModelError
from optsched.model import FEASIBILITY, Model, Relation, Rows
from optsched.model.blocks import Linear
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm, assemble, check_finite, linear
from optsched.session.numbers import (
    ChangedNumbers,
    Place,
    Sides,
    Structure,
    Values,
    columns_of,
    own,
    spread,
)
from optsched.solvers.ask import ask
from optsched.solvers.backend import Solver, SolverResult
from optsched.solvers.check import checked_solution
from optsched.solvers.direct import solve_form
from optsched.solvers.highs.backend import Highs
from optsched.solvers.highs.session import HighsSession
from optsched.solvers.options import Options, merged
from optsched.solvers.registry import installed
from optsched.solvers.repairs.cost_scaling import cost_scale
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.solution import Solution, Status
from optsched.solvers.tolerances import with_warning


class Session:
    """One model, edited and solved again and again.

    What is changed stays changed until it is changed again. ``session.model`` is the session's own
    copy: variables, blocks and an objective said on it are seen at the next solve. With "highs",
    the engine is kept and linear programs start from the last basis; a mixed-integer model starts
    with its last point where that is still feasible, with any back end.

    Example:
        >>> import numpy as np
        >>> from optsched import Model, Session
        >>> m = Model("knapsack")
        >>> take = m.binary("take", shape=3)
        >>> m.maximize(take.sum())
        >>> m.add("weight", take @ np.array([3, 2, 2]) <= 4)
        >>> with Session(m, "highs") as s:
        ...     first = s.solve()
        ...     s.fix(take=[1, 0, 0])
        ...     second = s.solve(rhs={"weight": 7})
        ...     s.free("take")
        ...     s.add("apart", take[0] + take[1] <= 1)
        ...     third = s.solve()
        >>> first.objective, second.objective, third.objective
        (2.0, 1.0, 2.0)
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
            model: copied; what is added to it later is not seen.
            solver: name of a back end, or one of your own.
            options: as for ``solve``; neither a warm start nor ``on_progress`` is taken.
            settings: single fields of ``Options``; the profile is "tiny" unless one is named, so
                that Ctrl-C is heard between two solves.

        Raises:
            InputError: an option out of range, or a solver that is unknown or not installed.
            UnsupportedError: the solver cannot take what the model contains.
            ModelError: the model cannot be compiled.
        """
        self._options = merged(options, {"profile": "tiny", **settings})
        if self._options.warm_start is not None:
            raise InputError.of("warm_start", "...", "None: a session starts from its last solve")
        if self._options.on_progress is not None:
            allowed = "None: a session says what it found when a solve has ended"
            raise InputError.of("on_progress", self._options.on_progress, allowed)
        self._engine, self._version = installed(solver)
        self.model = model.copy()
        """What is solved, but for the numbers changed by ``update`` and ``fix``."""
        self._numbers = ChangedNumbers()
        self._session = HighsSession(self._options) if isinstance(self._engine, Highs) else None
        self._point: Floats | None = None
        """What the last solve found of a mixed-integer model, all columns."""
        self._changed: set[str] = set()
        """Parts that differ from what the solver was given last."""
        self._unchecked: set[str] = set()
        """Parts that may hold numbers no solver can take, after a change that was refused."""
        self._origin: NDArray[np.int64]
        """By row, its number in the solver; -1 where it is new."""
        self._build()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self._session.forget()

    # edits

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
        self._follow()
        given = ChangedNumbers(
            dict(cost or {}), offset, dict(rhs or {}), dict(lower or {}), dict(upper or {}),
            dict(coefficients or {}),
        )  # fmt: skip
        # first of all: what is refused half-way has changed something, too
        parts = given.parts()
        self._changed |= parts
        self._unchecked |= parts
        self._apply(given)
        for compiled in self._both():
            check_finite(compiled, self._unchecked)
            if "columns" in self._unchecked and not (compiled.lower <= compiled.upper).all():
                column = int(np.argmin(compiled.lower <= compiled.upper))
                raise ModelError(f"the bounds of {compiled.column_name(column)} cross")
        self._unchecked.clear()

    def fix(self, **values: ArrayLike) -> None:
        """Hold variables at values; NaN leaves an entry as it is.

        Raises:
            ModelError: as for ``update``.
        """
        self._follow()
        bounds: tuple[dict[str, ArrayLike], dict[str, ArrayLike]] = {}, {}
        for name, value in values.items():
            part, shape = columns_of(self._compiled, name)
            given = spread(name, value, shape)
            for new, old in zip(bounds, (self._compiled.lower, self._compiled.upper), strict=True):
                new[name] = np.where(np.isnan(given), old[part], given).reshape(shape)
        self.update(lower=bounds[0], upper=bounds[1])

    def free(self, *names: str) -> None:
        """Give variables back the bounds that the model gives them.

        Raises:
            ModelError: an unknown name.
        """
        self._follow()
        for name in names:
            columns_of(self._compiled, name)  # refuses an unknown one
        variables = {name: self.model.variables[name] for name in names}
        self.update(
            lower={name: v.lower for name, v in variables.items()},
            upper={name: v.upper for name, v in variables.items()},
        )

    def add(self, name: str, relation: Relation) -> None:
        """Add a block of rows, also in variables that were added to ``session.model``.

        Raises:
            ModelError: the name is taken, or it is no relation.
        """
        self.model.add(name, relation)

    def remove(self, *names: str) -> None:
        """Take blocks off.

        Raises:
            ModelError: no such block.
        """
        for name in names:
            if name not in self.model.blocks:
                raise ModelError(f"no block {name!r}; there are: {', '.join(self.model.blocks)}")
            del self.model.blocks[name]

    # solves

    def solve(self, **changes: Any) -> Solution:
        """Change numbers, as ``update`` does, and solve.

        Raises:
            ModelError: as for ``update``, or the edited model cannot be compiled.
            UnsupportedError: the solver cannot take the numbers.
        """
        began = time.perf_counter()
        self.update(**changes)
        solution = self._finish(self._answered(), began)
        if solution.status is Status.ERROR and self._session is not None:
            self._session.forget()  # perhaps it is the kept engine that failed
            compiled, original = map(with_whole_bounds, (self._compiled, self._original))
            start, options = self._start(compiled), self._options
            solution = solve_form(
                self._engine, self._version, compiled, original, options, start, began
            )
        return solution

    def run(self, items: Iterable[Mapping[str, Any]]) -> list[Solution]:
        """``solve(**item)`` for each item."""
        return [self.solve(**item) for item in items]

    def _answered(self) -> SolverResult:
        compiled, session = with_whole_bounds(self._compiled), self._session
        rows = compiled.rows
        if (rows.lower > rows.upper).any():
            return SolverResult(Status.INFEASIBLE, message="the sides of a row exclude each other")
        start = self._start(compiled)
        if session is None or not len(compiled.cost) or cost_scale(compiled.cost) != 1.0:
            if session is not None:
                session.forget()
            return ask(self._engine, compiled, self._options, start)
        changed, self._changed = self._changed, set()
        origin, self._origin = self._origin, np.arange(rows.count)
        try:
            return session.solve(compiled, changed, origin[origin >= 0], start)
        except ModelError:
            session.forget()
            raise
        except Exception as failure:
            session.forget()
            return SolverResult(Status.ERROR, message=f"{type(failure).__name__}: {failure}")

    def _start(self, compiled: MatrixForm) -> Floats | None:
        """The last point, new columns as near to 0 as they go, where it is still feasible."""
        if self._point is None:
            return None
        x = np.clip(0.0, compiled.lower, compiled.upper)
        x[: len(self._point)] = self._point
        return None if evaluate(compiled, x, FEASIBILITY) else x

    def _finish(self, result: SolverResult, began: float) -> Solution:
        if result.x is not None and self._compiled.has_integers:
            self._point = np.where(self._compiled.integer, np.rint(result.x), result.x)
        original = with_whole_bounds(self._original)
        solution = checked_solution(
            result, self._compiled, original, self._engine.name, self._version, began
        )
        return with_warning(solution, self._compiled, result.x)

    # the model and what is compiled of it

    def _build(self) -> None:
        """Compile everything anew, and put the changed numbers in."""
        model, structure = self.model, Structure(self.model)
        compiled = own(model.compile(self._engine.native))
        # what points must satisfy: the model as written, not what it was lowered to
        original = compiled if structure.plain else own(model.compile(model.kinds))
        self._structure, self._compiled, self._original = structure, compiled, original
        self._origin = np.full(compiled.rows.count, -1)
        self._point = None
        if self._session is not None:
            self._session.forget()
        self._apply(self._numbers)

    def _follow(self) -> None:
        """Take over what was said on the model since."""
        model, held = self.model, self._structure
        gone = [n for n, b in held.blocks.items() if model.blocks.get(n) is not b]
        new = {n: b for n, b in model.blocks.items() if held.blocks.get(n) is not b}
        wider = model.columns > held.columns
        spoken = model.objective is not held.objective[0] or model.maximise != held.objective[1]
        if not (gone or new or wider or spoken):
            return
        for name in gone:
            self._numbers.forget_block(name)
        if spoken:
            self._numbers.cost.clear()
            self._numbers.offset = None
        rows = {n: b.relation for n, b in new.items() if isinstance(b, Linear)}
        if not held.plain or len(rows) < len(new) or model.maximise != held.objective[1]:
            self._build()
            return
        if wider:
            self._widen()
        self._exchange_rows(gone, rows)
        if spoken:
            self._take_objective()
        self._structure = Structure(model)
        self._unchecked |= {"cost", "rows", "matrix"}

    def _widen(self) -> None:
        """Columns for the variables that are new; rows follow."""
        held, model = self._compiled, self.model
        old = len(held.cost)
        lower, upper, integer = model.domains()
        lower[:old], upper[:old] = held.lower, held.upper
        cost = np.zeros(model.columns)
        cost[:old] = held.cost
        labels = {name: v.labels for name, v in model.variables.items() if v.labels}
        self._compiled = self._original = replace(
            held, cost=cost, lower=lower, upper=upper, integer=integer,
            column_blocks=model.column_blocks(), labels=labels,
        )  # fmt: skip

    def _exchange_rows(self, gone: list[str], new: Mapping[str, Relation]) -> None:
        """The rows without some blocks, and others under them."""
        held = self._compiled
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
        self._compiled = self._original = replace(
            held, rows=Rows(matrix, low, high), row_blocks=blocks, row_labels=labels
        )
        self._origin = np.append(self._origin[kept], np.full(below.count, -1))

    def _take_objective(self) -> None:
        goal, columns = self.model.objective, len(self._compiled.cost)
        cost = np.zeros(columns) if goal is None else linear(goal, columns)
        offset = 0.0 if goal is None else float(np.ravel(goal.constant)[0])
        self._compiled = self._original = replace(self._compiled, cost=cost, offset=offset)
        self._changed |= {"cost", "offset"}

    def _apply(self, given: ChangedNumbers) -> None:
        """Put numbers in place, and remember them for when the model is compiled again."""
        if given.offset is not None:
            one = self._original is self._compiled
            self._compiled = replace(self._compiled, offset=float(given.offset))
            other = replace(self._original, offset=float(given.offset))
            self._original = self._compiled if one else other
        for compiled in self._both():
            given.put(self._structure, compiled)
        if given is not self._numbers:
            self._numbers.take(given)

    def _both(self) -> list[MatrixForm]:
        return [self._compiled, *([] if self._original is self._compiled else [self._original])]
