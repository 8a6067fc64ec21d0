"""Gurobi, by its matrix interface: the shortest complete back end.

It is a good start for a new back end. It takes the compiled model as arrays, sets the solver's
tolerances to the smallest values, and returns what the solver reports. The caller checks the point
and decides whether an optimum is proven.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, UnsupportedError, needs_extra
from optsched.model.blocks import Product, RotatedCone, SpecialOrdered
from optsched.model.expression import Expression, Floats
from optsched.model.matrix_form import MatrixForm
from optsched.model.ranges import affine
from optsched.solvers.backend import MIXED_INTEGER, Backend, Feature, SolverResult, package_version
from optsched.solvers.numbers import (
    contradiction,
    refuse_numbers,
    second_look,
    second_look_seconds,
)
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Progress, Status
from optsched.solvers.threads import run

_TOLERANCES = {
    "FeasibilityTol": 1e-9,
    "OptimalityTol": 1e-9,
    "IntFeasTol": 1e-9,
    "BarQCPConvTol": 1e-10,
}
_INFINITE = 1e20
_TOO_LARGE = 10010  # for the licence
_OPTIMAL, _INTERRUPTED = 2, 11  # of Gurobi's statuses
_CLAIMS = {3: Status.INFEASIBLE, 4: Status.INFEASIBLE_OR_UNBOUNDED, 5: Status.UNBOUNDED}
_LIMITS = {7: Limit.NODES, 8: Limit.NODES, 9: Limit.TIME, 16: Limit.NODES, 17: Limit.MEMORY}


class Gurobi(Backend):
    """Gurobi: mixed-integer models, linear or quadratic; LP duals.

    Without a licence of one's own the one in its wheel is used, which ends at 2,000 columns and
    rows; a larger model is refused. Special ordered sets go over as they are, products and rotated
    cones as quadratic constraints; all other nonlinear blocks as linear rows, by the tightest
    constants there are. ``options.extra`` holds Gurobi's parameters, such as ``{"MIPFocus": 2}``.
    """

    name = "gurobi"
    native: frozenset[str] = frozenset({"product", "rotated_cone", "special_ordered"})
    features = MIXED_INTEGER | {Feature.STOP, Feature.PROGRESS}

    def version(self) -> str:
        """Version of gurobipy, raising ImportError if there is none."""
        try:
            return package_version("gurobipy")
        except PackageNotFoundError as missing:
            raise ImportError(needs_extra("gurobi", "gurobi")) from missing

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` holds a value per column, NaN if there is none.

        Raises:
            UnsupportedError: numbers that Gurobi would change, or a model its licence is too small
                for.
            InputError: a parameter in ``options.extra`` is unknown or cannot take its value.
        """
        refuse_numbers("gurobi", compiled, smallest=1e-13, largest=1e15, infinite=_INFINITE)
        if (result := contradiction(compiled)) is not None:
            return result
        with _environment(options) as environment:
            session = _Session(environment, compiled, options)
            result = session.solve(start)
            if result.status is Status.INFEASIBLE:
                seconds = second_look_seconds(compiled, session.spent)
                again = session.solve(None, Presolve=0, TimeLimit=seconds)
                result = second_look(compiled, result, again)
            if result.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED):
                return _told_apart(result, session.solve(None, costs=False))
            return result


def _told_apart(claim: SolverResult, anywhere: SolverResult) -> SolverResult:
    """Infeasible or unbounded, by whether there is a point without the objective."""
    if anywhere.status is Status.INFEASIBLE:
        return replace(claim, status=Status.INFEASIBLE)
    there = anywhere.x is not None
    return replace(claim, status=Status.UNBOUNDED if there else Status.INFEASIBLE_OR_UNBOUNDED)


@contextmanager
def _environment(options: Options) -> Iterator[Any]:
    """Gurobi with its parameters set."""
    import gurobipy

    with gurobipy.Env(empty=True) as environment:
        environment.setParam("OutputFlag", int(options.log))
        environment.start()
        given = {
            "Threads": options.threads,
            "Seed": options.seed,
            "MIPGap": options.gap,
            "MIPGapAbs": options.absolute_gap,
        }
        for key, value in (_TOLERANCES | given).items():
            environment.setParam(key, value)
        for key, value in options.extra.items():
            try:
                environment.setParam(key, value)
            except (gurobipy.GurobiError, TypeError) as refused:
                allowed = f"a parameter of Gurobi, as it takes it ({refused})"
                raise InputError.of(f"extra[{key!r}]", value, allowed) from refused
        yield environment


@dataclass
class _Built:
    """A model inside Gurobi."""

    model: Any
    columns: Any
    rows: list[tuple[Any, NDArray[np.intp]]]
    """Gurobi's rows, and which of ours they are: one with two sides is two."""


class _Session:
    """One model and its deadline."""

    def __init__(self, environment: Any, compiled: MatrixForm, options: Options) -> None:
        self.environment = environment
        self.compiled = compiled
        self.options = options
        self.began = time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.began

    def solve(self, start: Floats | None, *, costs: bool = True, **parameters: Any) -> SolverResult:
        """Solve, with the objective or without."""
        import gurobipy

        built = _build(self.environment, self.compiled, costs)
        model = built.model
        if self.options.time_limit is not None:
            left = max(self.options.time_limit - self.spent, 1e-3)
            parameters["TimeLimit"] = min(left, parameters.get("TimeLimit", left))
        for key, value in parameters.items():
            model.setParam(key, value)
        if start is not None and self.compiled.has_integers:
            built.columns.Start = np.where(np.isnan(start), gurobipy.GRB.UNDEFINED, start)
        try:
            callback = None if self.options.on_progress is None else self._callback
            ended = run(lambda: model.optimize(callback), model.terminate, self.options.stop)
            return _read(self.compiled, built, ended.stopped)
        except gurobipy.GurobiError as failure:
            if failure.errno == _TOO_LARGE:
                said = "gurobi: its licence is for 2,000 columns and rows, 200 beside products"
                raise UnsupportedError(said) from failure
            return SolverResult(Status.ERROR, message=f"gurobi: {failure}")
        finally:
            model.dispose()

    def _callback(self, model: Any, where: int) -> None:
        """What Gurobi calls all the time: better points alone are passed on."""
        from gurobipy import GRB

        report = self.options.on_progress
        if report is None or where != GRB.Callback.MIPSOL:
            return
        values = np.array(model.cbGetSolution(model.getVars()))
        objective = float(model.cbGet(GRB.Callback.MIPSOL_OBJ))
        best, bound = (
            float(model.cbGet(what))
            for what in (GRB.Callback.MIPSOL_OBJBST, GRB.Callback.MIPSOL_OBJBND)
        )
        if (objective > best) if self.compiled.maximise else (objective < best):
            known = bound if abs(bound) < _INFINITE else None
            report(Progress(known, objective, values[: len(self.compiled.cost)]))


def _build(environment: Any, compiled: MatrixForm, costs: bool) -> _Built:
    import gurobipy

    model = gurobipy.Model(env=environment)
    columns = model.addMVar(
        len(compiled.cost),
        lb=compiled.lower,
        ub=compiled.upper,
        obj=compiled.cost if costs else 0.0,
        vtype=np.where(compiled.integer, "I", "C"),
    )
    model.ObjCon = compiled.offset if costs else 0.0
    model.ModelSense = -1 if compiled.maximise else 1
    rows = compiled.rows
    same = rows.lower == rows.upper
    sides = (
        ("=", same, rows.lower),
        ("<", ~same & np.isfinite(rows.upper), rows.upper),
        (">", ~same & np.isfinite(rows.lower), rows.lower),
    )
    added = []
    for sense, chosen, side in sides:
        which = np.flatnonzero(chosen)
        if len(which):
            matrix: Any = rows.matrix[which]  # gurobipy's types know dense ones alone
            handle = model.addMConstr(matrix, columns, sense, side[which])
            added.append((handle, which))
    for block in compiled.nonlinear:
        if isinstance(block, SpecialOrdered):
            _add_sets(model, columns, block)
        elif isinstance(block, Product):
            _add_products(model, columns, block)
        elif isinstance(block, RotatedCone):
            _add_cones(model, columns, block)
        else:
            raise TypeError(f"no form of a {block.kind} is known to Gurobi")
    return _Built(model, columns, added)


def _equal(model: Any, columns: Any, expression: Expression, least: float = -np.inf) -> Any:
    """New columns that equal the entries of an expression."""
    matrix, constant = affine(expression, columns.shape[0])
    new = model.addMVar(expression.size, lb=least)
    model.addConstr(matrix @ columns - new == -constant)
    return new


def _add_sets(model: Any, columns: Any, block: SpecialOrdered) -> None:
    for one in _equal(model, columns, block.values).reshape(-1, block.values.shape[-1]).tolist():
        model.addSOS(block.order, one)


def _add_products(model: Any, columns: Any, block: Product) -> None:
    result, left, right = (
        _equal(model, columns, e) for e in (block.result, block.left, block.right)
    )
    model.addConstr(left * right == result)


def _add_cones(model: Any, columns: Any, block: RotatedCone) -> None:
    """``u v >= w'w``, over columns that equal the factors, as Gurobi knows a cone by."""
    u, v = _equal(model, columns, block.u, 0.0), _equal(model, columns, block.v, 0.0)
    w = _equal(model, columns, block.w).reshape(u.shape[0], -1)
    for i in range(u.shape[0]):
        model.addConstr(w[i] @ w[i] <= u[i] * v[i])


def _read(compiled: MatrixForm, built: _Built, stopped: bool) -> SolverResult:
    """What Gurobi says."""
    model = built.model
    status = model.Status
    if status in _CLAIMS:
        return SolverResult(_CLAIMS[status])
    # an unfinished simplex point is not feasible in general
    there = model.SolCount and (status == _OPTIMAL or compiled.has_integers)
    x = np.array(built.columns.X) if there else None
    bound = float(model.ObjBound) if status == _OPTIMAL or model.IsMIP else np.inf
    result = SolverResult(
        Status.NO_SOLUTION if x is None else Status.FEASIBLE,
        x,
        bound if abs(bound) < _INFINITE else None,
        _LIMITS.get(status),
        nodes=int(model.NodeCount) if model.IsMIP else None,
    )
    if status == _OPTIMAL:
        done = replace(result, status=Status.OPTIMAL)
        return _with_duals(done, built, compiled.rows.count) if compiled.is_linear_program else done
    if stopped or status == _INTERRUPTED:
        return replace(result, status=Status.INTERRUPTED)
    if status in _LIMITS or x is not None:
        return result
    return SolverResult(Status.ERROR, message=f"gurobi ended with its status {status}")


def _with_duals(result: SolverResult, built: _Built, rows: int) -> SolverResult:
    duals = np.zeros(rows)
    for handle, which in built.rows:
        duals[which] += handle.Pi
    return replace(result, row_duals=duals, reduced_costs=np.array(built.columns.RC))
