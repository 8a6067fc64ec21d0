"""What an optimum hangs on: duals once whole numbers are fixed, and how far numbers may move.

The ranges are those of the definition, each end an optimum of a linear program of its own, and so
the same by every solver; those that simplex codes report hold for the basis they happened on and
may be smaller.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.errors import InputError, UnsupportedError
from optsched.model import FEASIBILITY, MatrixForm, Model, Rows
from optsched.model.expression import Floats, Shape
from optsched.solvers.ask import ask
from optsched.solvers.backend import Backend, Solver, SolverResult
from optsched.solvers.check import checked_solution
from optsched.solvers.options import Options, merged
from optsched.solvers.registry import installed
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.solution import Solution, Status

if TYPE_CHECKING:
    import pandas as pd

_ZERO = 1e-7  # duals up to here, relative to the largest cost, count as 0

Blocks = Mapping[str, tuple[int, Shape]]


def fixed_duals(
    model: Model,
    solution: Solution,
    solver: Solver = "highs",
    *,
    options: Options | None = None,
    **settings: Any,
) -> Solution:
    """Solve what is linear of a mixed-integer model once its integers are fixed, for its duals.

    They say what a small change of a side is worth as long as no integer changes.

    Args:
        model: what was solved; blocks that are no rows are lowered, and their rows have duals too,
            by the block's name and ":".
        solution: a point of it.
        solver: takes linear programs and gives duals.
        options: limits and tolerances.
        settings: single fields of ``Options``.

    Raises:
        InputError: the solution has no point.
        UnsupportedError: the model holds what has no linear form, such as rotated cones.

    Example:
        >>> from optsched import Model, fixed_duals, solve
        >>> m = Model("open a plant, then fill it")
        >>> is_open, made = m.binary("open"), m.continuous("made")
        >>> m.add("capacity", made <= 5 * is_open)
        >>> m.add("demand", made >= 3)
        >>> m.minimize(10 * is_open + 2 * made)
        >>> float(fixed_duals(m, solve(m)).dual("demand"))
        2.0
    """
    if not solution.has_point:
        raise InputError.of("solution", str(solution.status), "one with a point")
    began = time.perf_counter()
    chosen = merged(options, settings)
    engine, version = installed(solver)
    form = with_whole_bounds(model.compile())
    whole = np.flatnonzero(form.integer[: model.columns])
    fixed = _fixed(form, whole, model.vector(solution.values)[whole])
    if fixed.integer.sum() > len(whole):  # those that lowering added follow
        found = ask(engine, fixed, chosen, None)
        if found.x is None:
            return checked_solution(found, fixed, fixed, engine.name, version, began)
        whole = np.flatnonzero(form.integer)
        fixed = _fixed(form, whole, found.x[whole])
    program = replace(fixed, integer=np.zeros_like(fixed.integer))
    result = ask(engine, program, chosen, None)
    solved = checked_solution(result, program, program, engine.name, version, began)
    own = {name: value for name, value in solved.values.items() if name in model.variables}
    return replace(solved, values=own)


def _fixed(form: MatrixForm, columns: NDArray[np.intp], values: Floats) -> MatrixForm:
    """The form with these columns at these whole numbers."""
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[columns] = upper[columns] = np.rint(values)
    return replace(form, lower=lower, upper=upper)


class Range(NamedTuple):
    """Ends between which numbers may move, one of each per entry; infinite where nothing ends."""

    low: Floats
    high: Floats


@dataclass(frozen=True)
class Ranging:
    """How far each number of a linear program may move alone. NaN: a limit came first.

    Example:
        >>> from optsched import Model, ranging
        >>> m = Model()
        >>> x = m.continuous("x", upper=4)
        >>> m.add("most", 2 * x <= 5)
        >>> m.maximize(2 * x)
        >>> ranging(m, variables=[]).table[["what", "low", "high"]].to_numpy().tolist()
        [['side', 0.0, 8.0]]
    """

    solution: Solution
    costs: Mapping[str, Range]
    """By variable: coefficients of the objective for which the same point stays optimal."""
    sides: Mapping[str, Range]
    """By block: right-hand sides for which the same duals stay optimal, so that the optimum moves
    by the dual per unit. Of a row with two sides, the one that binds; where none does, the
    upper."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per number: what it is, name, index, and the ends of its range."""
        import pandas as pd

        rows = [
            (what, name, index, interval.low[index], interval.high[index])
            for what, ranges in (("cost", self.costs), ("side", self.sides))
            for name, interval in ranges.items()
            for index in np.ndindex(interval.low.shape)
        ]
        return pd.DataFrame(rows, columns=["what", "name", "index", "low", "high"])


def ranging(
    model: Model,
    solver: Solver = "highs",
    *,
    variables: Collection[str] | None = None,
    blocks: Collection[str] | None = None,
    options: Options | None = None,
    **settings: Any,
) -> Ranging:
    """Solve a linear program and say how far its costs and right-hand sides may move.

    Two linear programs are solved for each number, so name what you need of a large model.

    Args:
        model: a linear program.
        solver: gives duals, such as "highs", "glop", "gurobi".
        variables: whose costs; None: all.
        blocks: whose sides; None: all.
        options: limits and tolerances of each solve.
        settings: single fields of ``Options``.

    Raises:
        InputError: an unknown name, or the model has integers or no optimum.
        UnsupportedError: the solver gives no duals.

    Example:
        >>> from optsched import Model, ranging
        >>> m = Model("chairs and tables")
        >>> made = m.continuous("made", 2)
        >>> m.maximize(made @ [3.0, 5.0])
        >>> m.add("wood", made @ [1.0, 2.0] <= 10)
        >>> m.add("work", made @ [1.0, 1.0] <= 8)
        >>> found = ranging(m)
        >>> found.solution["made"].tolist(), found.costs["made"].low.tolist()
        ([6.0, 2.0], [2.5, 3.0])
        >>> [float(end) for end in found.sides["wood"]]
        [8.0, 16.0]
    """
    chosen = merged(options, settings)
    engine, version = installed(solver)
    form = model.compile()
    if not form.is_linear_program:
        raise InputError.of("model", model.name, "a linear program; see fixed_duals, Model.relax")
    began = time.perf_counter()
    result = ask(engine, form, chosen, None)
    solution = checked_solution(result, form, form, engine.name, version, began)
    if solution.status is not Status.OPTIMAL:
        told = f"one with an optimum {result.message}".rstrip()
        raise InputError.of("model", str(solution.status), told)
    if result.row_duals is None:
        raise UnsupportedError(f"{engine.name} gives no duals: choose another solver")
    work = _Ranges(form, result, engine, chosen)
    costs = _by_name("variables", variables, form.column_blocks, work.cost)
    return Ranging(solution, costs, _by_name("blocks", blocks, form.row_blocks, work.side))


def _by_name(
    field: str,
    asked: Collection[str] | None,
    known: Blocks,
    ends: Callable[[int], tuple[float, float]],
) -> dict[str, Range]:
    """The range of every entry of these blocks."""
    for name in asked or ():
        if name not in known:
            raise InputError.of(field, name, f"some of {', '.join(known)}")
    found = {}
    for name in known if asked is None else asked:
        first, shape = known[name]
        pairs = [ends(first + i) for i in range(math.prod(shape))]
        low, high = np.array(pairs).reshape(-1, 2).T
        found[name] = Range(low.reshape(shape), high.reshape(shape))
    return found


class _Ranges:
    """An optimal pair of point and duals, in terms of minimising, and what it allows."""

    def __init__(
        self, form: MatrixForm, result: SolverResult, engine: Backend, options: Options
    ) -> None:
        assert result.x is not None
        assert result.row_duals is not None
        self.form, self.engine, self.options = form, engine, options
        self.sign = -1.0 if form.maximise else 1.0
        cost, matrix = self.sign * form.cost, form.rows.matrix
        self.x, self.duals = result.x, self.sign * result.row_duals
        self.slopes = cost - matrix.T @ self.duals
        zero = _ZERO * max(1.0, np.abs(cost).max(initial=0.0))
        self.duals[np.abs(self.duals) <= zero] = 0.0
        self.slopes[np.abs(self.slopes) <= zero] = 0.0

    def cost(self, column: int) -> tuple[float, float]:
        """Costs of a column for which the point stays optimal: there are duals that say so."""
        form = self.form
        matrix, rows, columns = form.rows.matrix, form.rows.count, len(form.cost)
        at_row = _signs(matrix @ self.x, form.rows.lower, form.rows.upper)
        at_column = _signs(self.x, form.lower, form.upper)
        moves = sp.csr_array(([-1.0], ([column], [0])), shape=(columns, 1))
        stated = sp.csr_array(sp.hstack([matrix.T, sp.eye_array(columns), moves]))
        lower, upper = (np.concatenate(pair) for pair in zip(at_row, at_column, strict=True))
        cost = self.sign * form.cost
        low, high = self._ends(Rows(stated, cost, cost), lower, upper, rows + columns)
        ends = sorted(self.sign * (cost[column] + end) for end in (low, high))
        return ends[0], ends[1]

    def side(self, row: int) -> tuple[float, float]:
        """Sides of a row for which the duals stay optimal: there is a point that they fit."""
        rows, x_lower, x_upper = self.form.rows, self.form.lower.copy(), self.form.upper.copy()
        x_upper[self.slopes > 0] = x_lower[self.slopes > 0]
        x_lower[self.slopes < 0] = x_upper[self.slopes < 0]
        lower, upper = rows.lower.copy(), rows.upper.copy()
        upper[self.duals > 0] = lower[self.duals > 0]
        lower[self.duals < 0] = upper[self.duals < 0]
        given = rows.lower[row], rows.upper[row]
        below = self.duals[row] > 0 or (self.duals[row] == 0 and math.isinf(given[1]))
        both = given[0] == given[1]
        side = given[0] if below else given[1]
        # the side that moves stands in a row of its own, with how far; the other stays
        lower[row] = -np.inf if below or both else given[0]
        upper[row] = np.inf if not below or both else given[1]
        binds = both or self.duals[row] != 0
        moved = (side if binds or below else -np.inf), (side if binds or not below else np.inf)
        again = sp.csr_array(rows.matrix[[row]])
        here = sp.csr_array(np.append(np.zeros(rows.count), -1.0)[:, None])
        stated = sp.csr_array(sp.hstack([sp.vstack([rows.matrix, again]), here]))
        wider = Rows(stated, np.append(lower, moved[0]), np.append(upper, moved[1]))
        low, high = self._ends(wider, x_lower, x_upper, len(x_lower))
        return side + low, side + high

    def _ends(self, rows: Rows, lower: Floats, upper: Floats, free: int) -> tuple[float, float]:
        """Least and greatest value of one more column, which is free."""
        cost = np.zeros(free + 1)
        cost[free] = 1.0
        program = MatrixForm(
            cost=cost,
            offset=0.0,
            maximise=False,
            rows=rows,
            lower=np.append(lower, -np.inf),
            upper=np.append(upper, np.inf),
            integer=np.zeros(free + 1, dtype=bool),
            row_blocks={"rows": (0, (rows.count,))},
            column_blocks={"columns": (0, (free + 1,))},
        )
        return self._extreme(program, -1.0), self._extreme(replace(program, maximise=True), 1.0)

    def _extreme(self, program: MatrixForm, sign: float) -> float:
        found = ask(self.engine, program, self.options, None)
        if found.status is Status.OPTIMAL and found.x is not None:
            return float(found.x[-1])
        # 0 is feasible
        endless = found.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)
        return sign * math.inf if endless else math.nan


def _signs(value: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Bounds on duals: at a lower side they are at least 0, at an upper at most, between both 0."""
    size = FEASIBILITY * np.maximum(1.0, np.abs(value))
    return (
        np.where(value >= upper - size, -np.inf, 0.0),
        np.where(value <= lower + size, np.inf, 0.0),
    )
