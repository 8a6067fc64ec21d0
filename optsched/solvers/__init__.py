"""One entry to every solver: lower, solve, check, and say what is proven."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from optsched.errors import InputError, ModelError
from optsched.model import EVERY_KIND, FEASIBILITY, Model
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
    "scip": "optsched.solvers.mathopt:scip",
    "glop": "optsched.solvers.mathopt:glop",
    "pdlp": "optsched.solvers.mathopt:pdlp",
    "mathopt-highs": "optsched.solvers.mathopt:highs",
    "cbc": "optsched.solvers.cbc:Cbc",
    "scipy": "optsched.solvers.scipy_solvers:Scipy",
}
"""Where each back end lives; imported when first asked for, as they need not all be installed.

"pulp:NAME" is a back end, too, for every NAME of a solver that PuLP drives."""

AGREEMENT = 1e-6
"""Relative difference up to which objective and bound, or two solvers, count as equal."""

_CLAIMS_POINT = (Status.OPTIMAL, Status.FEASIBLE)

_PROVES = {
    Status.OPTIMAL: {Status.OPTIMAL},
    Status.INFEASIBLE: {Status.INFEASIBLE},
    Status.UNBOUNDED: {Status.UNBOUNDED},
    Status.INFEASIBLE_OR_UNBOUNDED: {Status.INFEASIBLE, Status.UNBOUNDED},
}
"""What may be true of a model when a solve ends so; other ways to end prove nothing of it."""


def backend(name: str) -> Backend:
    """The back end of that name.

    Raises:
        InputError: no such back end.
    """
    if name.startswith("pulp:"):
        from optsched.solvers.pulp_solvers import PulpSolver

        return PulpSolver(name.removeprefix("pulp:"))
    if name not in BACKENDS:
        raise InputError.of(
            "solver", name, "must be one of " + ", ".join([*sorted(BACKENDS), "pulp:NAME"])
        )
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
    is an error, not an optimum. A solver that fails in any other way is an error too, with what
    it said in ``message``.

    Args:
        model: what to solve.
        solver: name of a back end.
        options: limits and tolerances.
        confirm: a second back end to solve with, under the same limits but without ``extra``;
            where the two contradict each other the status is "disagreement".
        settings: single fields of ``Options``, such as ``time_limit=60``.

    Raises:
        InputError: an option out of range, or a solver that is unknown or not installed.
        UnsupportedError: the solver cannot take what the model contains.
        ModelError: the model cannot be compiled.

    Example:
        >>> from optsched import Model, solve
        >>> m = Model("two machines")
        >>> fast = m.integer("fast", upper=3)
        >>> slow = m.integer("slow", upper=5)
        >>> m.add("work", 2 * fast + slow >= 8)
        >>> m.minimize(3 * fast + slow)
        >>> solution = solve(m, solver="highs", confirm="cpsat", time_limit=60)
        >>> solution.status.value, solution.objective, solution.bound, solution.checked
        ('optimal', 10.0, 10.0, True)
        >>> solution["fast"].item(), solution["slow"].item()
        (2.0, 4.0)
    """
    options = merged(options, settings)
    engines = [installed(name) for name in (solver, confirm) if name is not None]
    solution = _solve_once(model, *engines[0], options)
    if confirm is None:
        return solution
    witness = _solve_once(model, *engines[1], replace(options, extra={}))
    return _confirmed(solution, witness, model.maximise)


def installed(name: str) -> tuple[Backend, str]:
    """A back end and its solver's version.

    Raises:
        InputError: it is unknown or not installed.
    """
    try:
        engine = backend(name)
        return engine, engine.version()
    except ImportError as missing:
        raise InputError.of("solver", name, f"is not installed ({missing})") from missing


def merged(options: Options | None, settings: Mapping[str, Any]) -> Options:
    """Options with single fields replaced.

    Raises:
        InputError: a field that does not exist, or a value out of range.
    """
    known = Options.__dataclass_fields__
    for name, value in settings.items():
        if name not in known:
            raise InputError.of(name, value, "not an option; there are: " + ", ".join(known))
    return replace(options or Options(), **settings)


def _solve_once(model: Model, engine: Backend, version: str, options: Options) -> Solution:
    if "rotated_cone" not in engine.native and any(
        block.kind == "rotated_cone" for block in model.blocks.values()
    ):
        from optsched.decomposition import solve_by_outer_approximation

        return solve_by_outer_approximation(model, engine.name, options)
    began = time.perf_counter()
    start = None if options.warm_start is None else _start(model, options.warm_start)
    compiled = model.compile(engine.native)
    # what the point must satisfy: the model as written, not what it was lowered to
    kinds = {block.kind for block in model.blocks.values()} - {"linear"}
    stated = compiled if kinds <= engine.native else model.compile(EVERY_KIND)
    raw = answer(engine, compiled, options, start)
    solution = checked_solution(raw, compiled, stated, engine.name, version, began)
    if solution.status is Status.ERROR and raw.x is not None:
        mended = _mended(engine, compiled, raw, options)
        second = checked_solution(mended, compiled, stated, engine.name, version, began)
        return second if second.checked else solution
    return solution


def _mended(engine: Backend, compiled: Compiled, raw: Raw, options: Options) -> Raw:
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
    raw: Raw, compiled: Compiled, stated: Compiled, solver: str, version: str, began: float
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


def answer(engine: Backend, compiled: Compiled, options: Options, start: Floats | None) -> Raw:
    """What the solver says; a failure it did not foresee is an answer too."""
    if not len(compiled.cost):  # nothing to decide, and solvers differ on what that means
        x = np.zeros(0)
        if evaluate(compiled, x, FEASIBILITY):
            return Raw(Status.INFEASIBLE)
        return Raw(Status.OPTIMAL, x, compiled.offset)
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
        return Raw(Status.ERROR, message=f"{type(failure).__name__}: {failure}")


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


def _checked(compiled: Compiled, raw: Raw) -> tuple[bool, Raw, float | None]:
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


def _confirmed(first: Solution, second: Solution, maximise: bool) -> Solution:
    """The first answer, unless the second contradicts it."""
    witness = f"{second.solver} {second.version} ended {second.status}"
    proofs = [one.status in _PROVES for one in (first, second)]
    if Status.ERROR in (first.status, second.status):
        said = f"nothing to confirm by: {witness}: {second.message}"
    elif complaint := (
        _contradiction(first, second, maximise) or _contradiction(second, first, maximise)
    ):
        return replace(first, status=Status.DISAGREEMENT, message=complaint)
    elif all(proofs):
        said = f"confirmed: {witness}"
    elif any(proofs):
        said = f"proven by one solver, not contradicted by the other: {witness}"
    else:
        said = f"proven by neither solver: {witness}"
    return replace(first, message=f"{first.message}; {said}".removeprefix("; "))


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
    if a.bound is not None and b.status is Status.UNBOUNDED:
        return f"{a.solver} bounds the optimum by {a.bound:g}, {b.solver} ends {b.status}"
    if a.status in _PROVES and b.status in _PROVES and not _PROVES[a.status] & _PROVES[b.status]:
        return f"{a.solver} ends {a.status}, {b.solver} ends {b.status}"
    return ""
