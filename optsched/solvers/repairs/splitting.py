"""Split on integers that a solver did not keep, until it does.

A solver takes 1e-7 for zero in an integer column; a row with a constant of 1e8 then lets 10
through. The rounded point violates the row, and its value is no optimum. If bounds force the column
to one side of the fraction or the other, nothing is left to round. Shown by
``test_an_optimum_is_found_where_no_bound_makes_the_constant_small``.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from optsched.model import FEASIBILITY
from optsched.model.evaluate import row_excess
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.repairs.attempt import Attempt
from optsched.solvers.solution import Solution, Status

_MOST = 200  # solves
_FRACTION = 1e-12  # distance to a whole number that no solver means


def split_on_integers(attempt: Attempt) -> None:
    """Split if a point called optimal is none once its integers are whole."""
    first, form, limit = attempt.first, attempt.given, attempt.options.time_limit
    if first.status is not Status.OPTIMAL or first.x is None or not form.mixes_types:
        return
    if attempt.solution.status is Status.OPTIMAL:
        return

    def ask(child: MatrixForm) -> SolverResult | None:
        if limit is not None and time.perf_counter() - attempt.began >= limit:
            return None
        return attempt.ask(child)

    result = split_solve(form, first, ask, attempt.judge)
    if result is not None and (result.x is not None or not attempt.solution.checked):
        attempt.take(result, attempt.judge(result))


def split_solve(
    form: MatrixForm,
    first: SolverResult,
    ask: Callable[[MatrixForm], SolverResult | None],
    judge: Callable[[SolverResult], Solution],
) -> SolverResult | None:
    """The optimum, by splitting on columns that were rounded; None: it was not to be had.

    Args:
        form: the model.
        first: what the solver says of it.
        ask: what it says of the model with other bounds; None if there is no time left.
        judge: an answer with a point, its integers rounded, as the model accepts it.
    """
    sign = -1.0 if form.maximise else 1.0
    order = itertools.count()
    waiting = [(-math.inf, next(order), form, first)]
    best: SolverResult | None = None
    least, reached = math.inf, math.inf
    solves = 0
    while waiting:
        bound, _, here, result = heapq.heappop(waiting)
        if bound >= reached:
            least = min(least, bound)
            break  # as are all others that wait
        found = judge(result)
        if found.objective is not None and sign * found.objective < reached:
            best, reached = result, sign * found.objective
        if found.status is Status.OPTIMAL:
            least = min(least, reached if result.bound is None else sign * result.bound)
            continue
        column = _guilty(here, result)
        if column is None:
            return None
        for child in _halves(here, result, column):
            solves += 1
            answer = ask(child) if solves <= _MOST else None
            if answer is None or (answer.x is None and answer.status is not Status.INFEASIBLE):
                return None
            if answer.x is not None:
                if answer.status is not Status.OPTIMAL:
                    return None
                far = bound if answer.bound is None else max(bound, sign * answer.bound)
                heapq.heappush(waiting, (far, next(order), child, answer))
    if best is None:
        return replace(first, status=Status.INFEASIBLE, x=None, bound=None)
    proven = sign * min(least, reached)
    return replace(best, status=Status.OPTIMAL, bound=proven, trajectory=first.trajectory)


def _guilty(form: MatrixForm, result: SolverResult) -> int | None:
    """The integer column whose rounding changes some row most; None: no rounding does."""
    assert result.x is not None
    x = result.x
    matrix = form.rows.matrix
    whole = np.where(form.integer, np.rint(x), x)
    excess = row_excess(form.rows, whole, FEASIBILITY, form.movable)
    row = np.repeat(np.arange(form.rows.count), form.rows.lengths)
    free = form.integer & (form.lower < form.upper)
    size = np.zeros(len(x))
    entry = free[matrix.indices]
    off = np.abs(x - whole)
    change = np.abs(matrix.data) * np.where(off > _FRACTION, off, 0.0)[matrix.indices]
    # whole from the start in a row that is broken: the solver has rounded it itself
    change = np.where(excess[row] > 0, np.maximum(change, 1e-15 * np.abs(matrix.data)), change)
    np.maximum.at(size, matrix.indices[entry], change[entry])
    column = int(np.argmax(size)) if len(size) else 0
    return column if len(size) and size[column] > 0 else None


def _halves(form: MatrixForm, result: SolverResult, column: int) -> list[MatrixForm]:
    """The model with the column up to a number, and above it."""
    assert result.x is not None
    at = float(np.rint(result.x[column]))
    at = min(max(at, form.lower[column]), form.upper[column])
    k = at if at < form.upper[column] and result.x[column] >= at else at - 1
    k = max(k, form.lower[column])
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[column], upper[column] = k + 1, k
    return [replace(form, upper=upper), replace(form, lower=lower)]
