"""One entry to every solver: lower, solve, check, and say what is proven."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.model import FEASIBILITY, Model
from optsched.model.compiled import Compiled
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.solvers.backend import Backend, Raw
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Solution, Status

__all__ = ["BACKENDS", "Limit", "Options", "Solution", "Status", "available", "backend", "solve"]

BACKENDS: dict[str, str] = {
    "highs": "optsched.solvers.highs:Highs",
    "cpsat": "optsched.solvers.cpsat:CpSat",
}
"""Where each back end lives; imported when first asked for, as they need not all be installed."""

AGREEMENT = 1e-6
"""Relative difference up to which objective and bound, or two solvers, count as equal."""

_CLAIMS_POINT = (Status.OPTIMAL, Status.FEASIBLE)


def backend(name: str) -> Backend:
    """The back end of that name.

    Raises:
        InputError: no such back end.
    """
    if name not in BACKENDS:
        raise InputError.of("solver", name, "must be one of " + ", ".join(sorted(BACKENDS)))
    module, _, attribute = BACKENDS[name].partition(":")
    factory: Callable[[], Backend] = getattr(import_module(module), attribute)
    return factory()


def available() -> dict[str, str]:
    """Back ends whose solver is installed, with its version."""
    found = {}
    for name in BACKENDS:
        try:
            found[name] = backend(name).version()
        except ImportError:  # includes a distribution that is not there
            continue
    return found


def solve(
    model: Model,
    solver: str = "highs",
    *,
    options: Options | None = None,
    confirm: str | None = None,
    **settings: Any,
) -> Solution:
    """Solve a model and check the answer.

    The point returned is evaluated by the model itself, integers rounded; one that breaks a row
    is an error, not an optimum.

    Args:
        model: what to solve.
        solver: name of a back end.
        options: limits and tolerances.
        confirm: a second back end to solve with; where the two contradict each other the status
            is "disagreement".
        settings: single fields of ``Options``, such as ``time_limit=60``.

    Raises:
        InputError: an option out of range, or an unknown solver.
        UnsupportedError: the solver cannot take what the model contains.
        ModelError: the model cannot be compiled.
    """
    options = _merged(options, settings)
    solution = _solve_once(model, backend(solver), options)
    if confirm is None:
        return solution
    return _confirmed(solution, _solve_once(model, backend(confirm), options), model.maximise)


def _merged(options: Options | None, settings: Mapping[str, Any]) -> Options:
    known = Options.__dataclass_fields__
    for name, value in settings.items():
        if name not in known:
            raise InputError.of(name, value, "not an option; there are: " + ", ".join(known))
    return replace(options or Options(), **settings)


def _solve_once(model: Model, engine: Backend, options: Options) -> Solution:
    began = time.perf_counter()
    compiled = model.compile(engine.native)
    start = None if options.warm_start is None else _start(model, options.warm_start)
    raw = engine.solve(compiled, options, start)
    checked, raw = _checked(compiled, raw, options)
    seconds = time.perf_counter() - began
    return Solution(
        status=raw.status,
        objective=None if raw.x is None else compiled.objective(raw.x),
        bound=raw.bound,
        values={} if raw.x is None else compiled.split(raw.x),
        duals={} if raw.row_duals is None else compiled.split_rows(raw.row_duals),
        reduced_costs={} if raw.reduced_costs is None else compiled.split(raw.reduced_costs),
        limit=raw.limit,
        checked=checked,
        scaling_error=raw.scaling_error,
        seconds=seconds,
        nodes=raw.nodes,
        solver=engine.name,
        version=engine.version(),
        message=raw.message,
    )


def _start(model: Model, values: Mapping[str, Any]) -> Floats:
    """Values by name as a vector, NaN where nothing was said."""
    x = np.full(model.columns, np.nan)
    for name, value in values.items():
        variable = model[name]
        x[variable.start : variable.start + variable.size] = np.broadcast_to(
            np.asarray(value, dtype=np.float64), variable.shape
        ).reshape(-1)
    return x


def _checked(compiled: Compiled, raw: Raw, options: Options) -> tuple[bool, Raw]:
    """Whether the point survives our own evaluation, and the answer that leaves."""
    if raw.x is None:
        if raw.status in _CLAIMS_POINT:
            return False, replace(raw, status=Status.ERROR, message=f"{raw.status} without a point")
        return False, raw
    x = np.where(compiled.integer, np.round(raw.x), raw.x)
    x = (
        np.clip(x, compiled.lower, compiled.upper)
        if np.allclose(x, np.clip(x, compiled.lower, compiled.upper), rtol=0, atol=FEASIBILITY)
        else x
    )
    broken = evaluate(compiled, x, FEASIBILITY)
    if broken:
        worst = max(broken, key=lambda v: v.amount)
        said = f"the point returned breaks {worst.kind} {worst.block!r} by {worst.amount:g}"
        return False, replace(raw, status=Status.ERROR, x=None, message=said)
    raw = replace(raw, x=x)
    if raw.bound is None:
        return True, raw
    objective = compiled.objective(x)
    over = (objective - raw.bound) if compiled.maximise else (raw.bound - objective)
    within = AGREEMENT * max(1.0, abs(objective))
    if over > within:
        said = f"the bound {raw.bound:g} lies beyond the value {objective:g} of a feasible point"
        return True, replace(raw, status=Status.ERROR, message=said)
    if over > 0:  # rounding: a bound never passes a point in hand
        raw = replace(raw, bound=objective)
    if raw.status is Status.OPTIMAL and -over > within:
        raw = replace(raw, status=Status.FEASIBLE, limit=Limit.GAP)
    return True, raw


def _confirmed(first: Solution, second: Solution, maximise: bool) -> Solution:
    """The first answer, unless the second contradicts it."""
    complaint = _contradiction(first, second, maximise) or _contradiction(second, first, maximise)
    witness = f"{second.solver} {second.version}"
    if complaint:
        return replace(first, status=Status.DISAGREEMENT, message=complaint)
    if Status.OPTIMAL in (first.status, second.status) or first.status is second.status:
        return replace(first, message=f"confirmed by {witness}: {second.status}")
    return replace(first, message=f"{witness} ended {second.status}: nothing to confirm by")


def _contradiction(a: Solution, b: Solution, maximise: bool) -> str:
    """In words, what ``a`` proves and ``b`` shows to be false."""
    if a.status is Status.INFEASIBLE and b.has_point:
        return f"{a.solver} proves infeasible what {b.solver} has a checked point for"
    if a.bound is not None and b.objective is not None:
        over = (b.objective - a.bound) if maximise else (a.bound - b.objective)
        if over > AGREEMENT * max(1.0, abs(b.objective)):
            return (
                f"{a.solver} bounds the optimum by {a.bound:g}, "
                f"{b.solver} has a checked point of value {b.objective:g}"
            )
    proves = {Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED}
    if a.status in proves and b.status in proves and a.status is not b.status:
        return f"{a.solver} ends {a.status}, {b.solver} ends {b.status}"
    return ""
