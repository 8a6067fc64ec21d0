"""One engine, one answer: lower, solve, and let the model judge what came back."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.errors import InputError, ModelError
from optsched.model import FEASIBILITY, Model
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, Solver, SolverResult
from optsched.solvers.options import Options
from optsched.solvers.registry import installed
from optsched.solvers.solution import Limit, Solution, Status

AGREEMENT = 1e-6
"""Relative difference up to which objective and bound, or two solvers, count as equal."""

_CLAIMS_POINT = (Status.OPTIMAL, Status.FEASIBLE)


def solve_directly(model: Model, solver: Solver, options: Options) -> Solution:
    """Solve by one back end that takes the model, blocks lowered to linear rows included.

    Raises:
        InputError: the solver is unknown or not installed, or a start names no variable.
        UnsupportedError: the solver cannot take what the model contains.
        ModelError: the model cannot be compiled.
    """
    engine, version = installed(solver)
    began = time.perf_counter()
    start = None if options.warm_start is None else _start(model, options.warm_start)
    compiled = model.compile(engine.native)
    # what the point must satisfy: the model as written, not what it was lowered to
    stated = compiled if model.kinds <= engine.native else model.compile(model.kinds)
    raw = answer(engine, compiled, options, start)
    solution = checked_solution(raw, compiled, stated, engine.name, version, began)
    if solution.status is Status.ERROR and raw.x is not None:
        mended = _mended(engine, compiled, raw, options)
        second = checked_solution(mended, compiled, stated, engine.name, version, began)
        return second if second.checked else solution
    return solution


def _mended(
    engine: Backend, compiled: MatrixForm, raw: SolverResult, options: Options
) -> SolverResult:
    """The answer with its integers rounded and everything else made to follow them.

    A solver's integers are whole to within its tolerance only, and a row with a large constant
    may hold for 0.999999 and not for 1.
    """
    if raw.x is None or compiled.integer.all() or not compiled.has_integers:
        return raw
    whole = np.round(raw.x)
    fixed = replace(
        compiled,
        lower=np.where(compiled.integer, whole, compiled.lower),
        upper=np.where(compiled.integer, whole, compiled.upper),
        integer=np.zeros_like(compiled.integer),
    )
    rest = answer(engine, fixed, options, None)
    return raw if rest.x is None else replace(raw, x=rest.x)


def checked_solution(
    raw: SolverResult,
    compiled: MatrixForm,
    stated: MatrixForm,
    solver: str,
    version: str,
    began: float,
) -> Solution:
    """A solver's answer, judged by the model.

    Args:
        raw: the answer.
        compiled: what the solver was given; it may have more columns than the model.
        stated: the model as written.
        solver: name of the back end.
        version: of the solver.
        began: ``time.perf_counter()`` when work on the model started.
    """
    columns = len(stated.cost)
    if raw.x is not None and len(raw.x) > columns:
        raw = replace(raw, x=raw.x[:columns])
    checked, raw, objective = _checked(stated, raw)
    duals, costs = raw.row_duals, raw.reduced_costs
    return Solution(
        status=raw.status,
        objective=objective,
        bound=raw.bound,
        values={} if raw.x is None else stated.split(raw.x),
        duals={} if duals is None else compiled.split_rows(duals),
        reduced_costs={} if costs is None else stated.split(costs[:columns]),
        limit=raw.limit,
        checked=checked,
        scaling_error=raw.scaling_error,
        seconds=time.perf_counter() - began,
        nodes=raw.nodes,
        solver=solver,
        version=version,
        message=raw.message,
    )


def answer(
    engine: Backend, compiled: MatrixForm, options: Options, start: Floats | None
) -> SolverResult:
    """What the solver says; a failure it did not foresee is an answer too."""
    if not len(compiled.cost):  # nothing to decide, and solvers differ on what that means
        x = np.zeros(0)
        if evaluate(compiled, x, FEASIBILITY):
            return SolverResult(Status.INFEASIBLE)
        return SolverResult(Status.OPTIMAL, x, compiled.offset)
    if start is not None:  # of variables that lowering added nothing is known
        start = np.append(start, np.full(len(compiled.cost) - len(start), np.nan))
    try:
        if options.isolate:
            from optsched.solvers.isolation import solve_isolated

            return solve_isolated(engine, compiled, options, start)
        return engine.solve(compiled, options, start)
    except (InputError, ModelError):  # ModelError includes what a solver does not support
        raise
    except Exception as failure:
        return SolverResult(Status.ERROR, message=f"{type(failure).__name__}: {failure}")


def _start(model: Model, values: Mapping[str, Any]) -> Floats:
    """Values by name as a vector, NaN where nothing was said."""
    x = np.full(model.columns, np.nan)
    for name, value in values.items():
        field = f"warm_start[{name!r}]"
        if name not in model.variables:
            known = ", ".join(model.variables)
            raise InputError.of(field, value, f"a variable of the model; there are: {known}")
        variable = model[name]
        try:
            spread = np.broadcast_to(np.asarray(value, dtype=np.float64), variable.shape)
        except (TypeError, ValueError):
            allowed = f"numbers of shape {variable.shape}"
            raise InputError.of(field, value, allowed) from None
        x[variable.start : variable.start + variable.size] = spread.reshape(-1)
    x[np.isinf(x)] = np.nan
    return x


def _checked(compiled: MatrixForm, raw: SolverResult) -> tuple[bool, SolverResult, float | None]:
    """Whether the point survives our own evaluation, the answer that leaves, and its value."""
    if raw.bound is not None and not math.isfinite(raw.bound):
        raw = replace(raw, bound=None)  # says nothing
    if raw.x is None:
        if raw.status in _CLAIMS_POINT:
            said = f"{raw.status} without a point"
            return False, replace(raw, status=Status.ERROR, message=said), None
        return False, raw, None
    x = np.where(compiled.integer, np.rint(raw.x), raw.x)
    within = np.minimum(np.maximum(x, compiled.lower), compiled.upper)  # np.clip is slow if small
    with np.errstate(invalid="ignore"):  # infinite less infinite
        close = np.abs(x - within).max(initial=0.0) <= FEASIBILITY
    if close:
        x = within
    broken = evaluate(compiled, x, FEASIBILITY)
    if broken:
        worst = max(broken, key=lambda v: v.amount)
        said = f"the point returned breaks {worst.kind} {worst.block!r} by {worst.amount:g}"
        return False, replace(raw, status=Status.ERROR, x=None, message=said), None
    objective = compiled.objective(x)
    if raw.bound is None:
        return True, replace(raw, x=x), objective
    over = (objective - raw.bound) if compiled.maximise else (raw.bound - objective)
    allowed = AGREEMENT * max(1.0, abs(objective))
    if over > allowed:
        said = f"the bound {raw.bound:g} lies beyond the value {objective:g} of a feasible point"
        return True, replace(raw, x=x, status=Status.ERROR, message=said), objective
    bound = objective if over > 0 else raw.bound  # rounding: it never passes a point in hand
    status, limit = raw.status, raw.limit
    if status is Status.OPTIMAL and -over > allowed:
        status, limit = Status.FEASIBLE, Limit.GAP
    return True, replace(raw, x=x, status=status, bound=bound, limit=limit), objective
