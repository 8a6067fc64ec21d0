"""CP-SAT: integer models only, with real coefficients scaled to integers at a certified error."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, Feature, SolverResult, package_version
from optsched.solvers.cpsat.blocks import NATIVE
from optsched.solvers.cpsat.integer import IntegerModel, integer_model
from optsched.solvers.cpsat.proto import build
from optsched.solvers.options import Options
from optsched.solvers.scaling import SIDE_NOISE, ScaledObjective
from optsched.solvers.solution import Limit, Listener, Progress, Status
from optsched.solvers.threads import Ended, run

OPTIMALITY = 1e-9
"""Largest loss, relative to the objective, at which a rounded objective's proof is one."""

_INVALID, _FEASIBLE, _INFEASIBLE, _OPTIMAL = 1, 2, 3, 4  # CpSolverStatus
_LIMITS = {  # parameters that end a search, and what we call it
    "max_time_in_seconds": Limit.TIME,
    "max_deterministic_time": Limit.TIME,
    "max_number_of_conflicts": Limit.NODES,
    "max_memory_in_mb": Limit.MEMORY,
}


class CpSat(Backend):
    """OR-tools' CP-SAT.

    Continuous variables and variables without finite bounds are refused. Rows and objectives with
    real coefficients are scaled (:mod:`optsched.solvers.scaling`): the integer model is a
    relaxation of the exact one, the bound allows for the rounding, and what cannot be scaled so
    finely that its points pass the model's own check is refused. The solver runs on a thread of
    its own, so that ``stop`` and Ctrl-C end it with what it has found.
    """

    name = "cpsat"
    features = frozenset({Feature.INTEGERS, Feature.PROOF, Feature.STOP, Feature.PROGRESS,
                          Feature.EXACT_COSTS})  # fmt: skip
    native = NATIVE

    def version(self) -> str:
        """Version of OR-tools, raising ImportError if there is none."""
        try:
            return package_version("ortools")
        except PackageNotFoundError as missing:
            raise ImportError("cpsat needs the package ortools") from missing

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` holds a value per column, NaN if there is none.

        A complete start that satisfies the model is the answer where the solver finds no better.

        Raises:
            UnsupportedError: a variable is continuous or lacks a finite bound, or numbers do not
                fit 64-bit integers.
            InputError: a parameter in ``options.extra`` is unknown or cannot take its value.
        """
        try:
            return _solve(self, compiled, options, start)
        except KeyboardInterrupt:  # before the search, or again while it was being ended
            return SolverResult(Status.INTERRUPTED)


def _solve(
    engine: CpSat, compiled: MatrixForm, options: Options, start: Floats | None
) -> SolverResult:
    began = time.perf_counter()
    model = integer_model(compiled, engine)
    if (model.lower > model.upper).any():
        name = compiled.column_name(int(np.argmax(model.lower > model.upper)))
        return SolverResult(
            Status.INFEASIBLE, message=f"no integer lies within the bounds of {name}"
        )
    proto = build(model, start)
    parameters = _parameters(options, model, began)
    if options.log and model.unit != 1.0:
        print(f"objective in units of {1.0 / model.unit:g}")
    return _read(model, _run(model, proto, parameters, options), options, start)


def _parameters(options: Options, model: IntegerModel, began: float) -> Any:
    from ortools.sat.python import cp_model

    parameters = cp_model.CpSolver().parameters
    parameters.num_workers = options.threads
    parameters.random_seed = options.seed
    # the objective is in integer units, so that below 1, where the solver's relative gap is an
    # absolute one, there is nothing but 0
    parameters.relative_gap_limit = options.gap
    parameters.absolute_gap_limit = options.absolute_gap * model.unit
    parameters.catch_sigint_signal = False  # Python's handler tells us that it was Ctrl-C
    parameters.log_search_progress = options.log
    parameters.log_to_stdout = False
    for name, value in options.extra.items():
        _set(parameters, name, value)
    if options.time_limit is not None:
        left = options.time_limit - (time.perf_counter() - began)
        parameters.max_time_in_seconds = min(parameters.max_time_in_seconds, max(left, 1e-3))
    return parameters


def _set(parameters: Any, name: str, value: Any) -> None:
    field = f"extra[{name!r}]"
    current = getattr(parameters, name, None)
    if current is None or callable(current) or name.startswith("_"):
        raise InputError.of(field, value, "not a parameter of CP-SAT (SatParameters)")
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        if hasattr(current, "extend"):
            current.extend(list(plain) if isinstance(plain, list | tuple) else plain)
            return
        members: Mapping[str, Any] | None = getattr(type(current), "__members__", None)
        if members is not None:
            plain = members[plain] if isinstance(plain, str) else type(current)(plain)
        setattr(parameters, name, plain)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        allowed = f"a value that CP-SAT's parameter of type {type(current).__name__} takes"
        raise InputError.of(field, value, allowed) from error


def _run(model: IntegerModel, proto: Any, parameters: Any, options: Options) -> Ended[Any]:
    """The CpSolverResponse of a search on a separate thread."""
    from ortools.sat.python import cp_model_helper

    solver: Any = cp_model_helper.SolveWrapper()
    solver.set_parameters(parameters)
    if parameters.log_search_progress:
        solver.add_log_callback(print)
    listener = None
    if options.on_progress is not None and model.objective is not None:
        listener = _listen(solver, model, options.on_progress)
    try:
        return run(partial(_search, solver, proto, listener), solver.stop_search, options.stop)
    except BaseException:
        solver.stop_search()
        raise


def _search(solver: Any, proto: Any, listener: Any) -> Any:
    """The CpSolverResponse; the listener lives as long as the search, which may be left behind."""
    return solver.solve(proto)


def _listen(solver: Any, model: IntegerModel, report: Listener) -> Any:
    """Pass on each better point and each better bound, in the model's units.

    Returns:
        What must outlive the search.
    """
    from ortools.sat.python import cp_model_helper

    columns = len(model.lower)
    value: float | None = None

    class Better(cp_model_helper.SolutionCallback):
        """Called with each better point."""

        def OnSolutionCallback(self) -> None:  # noqa: N802  (its name in OR-tools)
            nonlocal value
            response: Any = self.Response()  # type: ignore[no-untyped-call]
            x = np.array(list(response.solution), dtype=np.float64)[:columns]
            value = model.sign * model.value(x)
            report(Progress(_proven(model, response.best_objective_bound), value, x))

    def bound(shown: float) -> None:
        report(Progress(_proven(model, shown), value))

    better = Better()
    solver.add_solution_callback(better)
    solver.add_best_bound_callback(bound)
    return better


def _proven(model: IntegerModel, shown: float) -> float | None:
    """The bound that CP-SAT shows, on the objective before it was rounded to integers."""
    objective = model.objective
    if objective is None or not math.isfinite(shown):
        return None
    whole = math.ceil(model.sign * shown - model.offset * model.unit - 1e-6)
    return model.sign * objective.bound(whole, model.offset)


# the answer


def _read(
    model: IntegerModel, ended: Ended[Any], options: Options, start: Floats | None
) -> SolverResult:
    response = ended.result
    if response is None:
        return SolverResult(Status.INTERRUPTED)
    code = int(response.status)
    if code == _INVALID:
        return SolverResult(
            Status.ERROR, message=f"CP-SAT refused the model: {response.solution_info}"
        )
    nodes = int(response.num_branches)
    if code == _INFEASIBLE:
        return SolverResult(Status.INFEASIBLE, nodes=nodes)
    x = None
    if len(response.solution):  # columns that blocks needed come after the model's own
        x = np.array(list(response.solution), dtype=np.float64)[: len(model.lower)]
    proven = None if model.objective is None else _integer_bound(model, model.objective, response)
    x = _better(model, x, _usable(model, start, proven))
    status, limit, message = _status(model, x, proven, response, ended.stopped, options)
    if model.objective is None or proven is None:
        return SolverResult(status, x, model.compiled.offset, limit, nodes=nodes, message=message)
    return SolverResult(
        status,
        x,
        model.sign * model.objective.bound(proven, model.offset),
        limit,
        nodes=nodes,
        scaling_error=model.objective.error,
        message=message,
    )


def _integer_bound(model: IntegerModel, objective: ScaledObjective, response: Any) -> int:
    """Best proven lower bound on the integer objective.

    A search that ends early leaves the response's bound at 0, proven or not; such a bound is
    told from a real one by its two copies and by the status, and the box's bound stands in.
    """
    c = objective.coefficients
    low, high = model.lower.astype(np.int64), model.upper.astype(np.int64)
    box = int(np.minimum(c * low, c * high).sum())
    bound = int(response.inner_objective_lower_bound)
    shown = model.sign * response.best_objective_bound
    offset = model.offset * model.unit
    agree = abs(shown - (bound + offset)) <= 1e-6 * max(1.0, abs(bound), abs(offset))
    empty = int(response.status) not in (_FEASIBLE, _OPTIMAL) and bound == shown == 0
    return max(box, bound) if agree and not empty else box


def _usable(model: IntegerModel, start: Floats | None, proven: int | None) -> Floats | None:
    """The start, if it is complete and satisfies the model."""
    if start is None or np.isnan(start).any():
        return None
    x = np.rint(start)
    if evaluate(model.compiled, x, SIDE_NOISE) or np.abs(x - start).max(initial=0.0) > SIDE_NOISE:
        return None
    if model.objective is None or proven is None:
        return x
    return x if model.objective.integer_value(x) >= proven else None


def _better(model: IntegerModel, x: Floats | None, start: Floats | None) -> Floats | None:
    if x is None or start is None:
        return start if x is None else x
    return start if model.value(start) < model.value(x) else x


def _status(
    model: IntegerModel,
    x: Floats | None,
    proven: int | None,
    response: Any,
    stopped: bool,
    options: Options,
) -> tuple[Status, Limit | None, str]:
    """What the facts amount to, the limit that cut the proof short, and a word on it."""
    if x is not None and _is_optimal(model, x, proven):
        return Status.OPTIMAL, None, ""
    if int(response.status) == _OPTIMAL and model.objective is not None:
        gap = 0 if x is None or proven is None else model.objective.integer_value(x) - proven
        if gap > 0:
            return Status.FEASIBLE, Limit.GAP, ""
        return (
            Status.FEASIBLE,
            Limit.GAP,
            "proven best for the objective as rounded to integers, which leaves "
            f"{model.objective.error:g} open",
        )
    if stopped:
        return Status.INTERRUPTED, None, ""
    status = Status.NO_SOLUTION if x is None else Status.FEASIBLE
    asked = [limit for name, limit in _LIMITS.items() if name in options.extra]
    early = response.wall_time < 0.9 * (options.time_limit or 0.0)
    if options.time_limit is not None and not (options.extra and early):
        return status, Limit.TIME, ""
    return status, asked[0] if asked else None, "CP-SAT ended its search before the proof"


def _is_optimal(model: IntegerModel, x: Floats, proven: int | None) -> bool:
    """Whether the bound proves the point optimal in spite of the objective's rounding."""
    objective = model.objective
    if objective is None or proven is None:
        return True
    if objective.gap(x, proven) <= OPTIMALITY * abs(model.value(x)):
        return True
    # the data mean multiples of 1/m: a value between two of them is noise
    on_grid = objective.on_grid and objective.error * objective.multiplier < 0.5
    return on_grid and objective.integer_value(x) == proven
