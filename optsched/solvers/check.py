"""Check a solver's answer by the model."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from optsched.model import FEASIBILITY
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.dual_bound import claimed_bound, dual_bound, is_bounded
from optsched.solvers.solution import Limit, ProgressPoint, Solution, Status
from optsched.solvers.trajectory import trajectory

AGREEMENT = 1e-6
"""Relative difference up to which objective and bound, or two solvers, count as equal."""

_CLAIMS_POINT = (Status.OPTIMAL, Status.FEASIBLE)


def checked_solution(
    result: SolverResult,
    compiled: MatrixForm,
    original: MatrixForm,
    solver: str,
    version: str,
    began: float,
) -> Solution:
    """Return a solver's answer as a solution, as far as the model accepts it.

    Args:
        result: the answer.
        compiled: what the solver was given; it may have more columns than the model.
        original: the model as written.
        solver: name of the back end.
        version: of the solver.
        began: ``time.perf_counter()`` when work on the model started.
    """
    result, objective = checked(original, result)
    if result.row_duals is not None and objective is not None and result.status is Status.OPTIMAL:
        result = _proven_by_duals(compiled, result, result.row_duals, objective)
    duals, costs = result.row_duals, result.reduced_costs
    end = ProgressPoint(time.perf_counter() - began, result.bound, objective)
    steps = trajectory(result, began) if result.trajectory else ()
    return Solution(
        status=result.status,
        objective=objective,
        bound=result.bound,
        values={} if result.x is None else original.split(result.x),
        labels=original.labels,
        row_labels=compiled.row_labels,
        duals={} if duals is None else compiled.split_rows(duals),
        reduced_costs={} if costs is None else original.split(costs[: len(original.cost)]),
        limit=result.limit,
        checked=objective is not None,
        scaling_error=result.scaling_error,
        seconds=end.seconds,
        nodes=result.nodes,
        solver=solver,
        version=version,
        message=result.message,
        trajectory=(*steps, end),
    )


def _proven_by_duals(
    compiled: MatrixForm, result: SolverResult, duals: Floats, objective: float
) -> SolverResult:
    """Return the answer, no longer called optimal if the duals it comes with prove less."""
    bound = claimed_bound(compiled, duals)
    if math.isinf(bound):  # rows may bound the column that its own bounds do not
        proven = dual_bound(compiled, duals, objective)
        bound = bound if proven is None else proven
    over = (bound - objective) if compiled.maximise else (objective - bound)
    if over <= AGREEMENT * max(1.0, abs(objective)):
        return result
    said = f"the duals returned prove no more than a bound of {bound:g}"
    unproven = replace(result, status=Status.FEASIBLE, limit=Limit.GAP, message=said)
    return replace(unproven, bound=bound if math.isfinite(bound) else None)


def checked(compiled: MatrixForm, result: SolverResult) -> tuple[SolverResult, float | None]:
    """Return what the model accepts of an answer, and the value of its point, if any."""
    if result.bound is not None and not math.isfinite(result.bound):
        result = replace(result, bound=None)  # says nothing
    if result.status is Status.UNBOUNDED and is_bounded(compiled):
        said = "called unbounded, which the bounds of the columns contradict"
        return replace(result, status=Status.NO_SOLUTION, x=None, message=said), None
    if result.x is None:
        if result.status in _CLAIMS_POINT:
            said = f"{result.status} without a point"
            return replace(result, status=Status.ERROR, message=said), None
        return result, None
    x = result.x[: len(compiled.cost)]  # lowering adds columns
    x = np.where(compiled.integer, np.rint(x), x)
    within = np.minimum(np.maximum(x, compiled.lower), compiled.upper)  # np.clip is slow if small
    with np.errstate(invalid="ignore"):  # infinite less infinite
        close = np.abs(x - within) <= FEASIBILITY
    if close.all():
        x = within
    broken = evaluate(compiled, x, FEASIBILITY)
    if broken:
        worst = max(broken, key=lambda v: v.amount)
        said = f"the point returned breaks {worst.kind} {worst.block!r} by {worst.amount:g}"
        return replace(result, status=Status.ERROR, x=None, message=said), None
    objective = compiled.objective(x)
    if result.bound is None:
        return replace(result, x=x), objective
    over = (objective - result.bound) if compiled.maximise else (result.bound - objective)
    allowed = AGREEMENT * max(1.0, abs(objective))
    if allowed > 0.5 and (compiled.integer | (compiled.cost == 0)).all() and _whole(compiled.cost):
        allowed = 0.5  # values that are whole differ by 1 at least
    if over > allowed:
        said = f"the bound {result.bound:g} lies beyond the value {objective:g} of a feasible point"
        return replace(result, x=x, status=Status.ERROR, message=said), objective
    # rounding: it never passes a point in hand
    bound = (max if compiled.maximise else min)(result.bound, objective)
    status, limit = result.status, result.limit
    if status is Status.OPTIMAL and -over > allowed:
        status, limit = Status.FEASIBLE, Limit.GAP
    return replace(result, x=x, status=status, bound=bound, limit=limit), objective


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())
