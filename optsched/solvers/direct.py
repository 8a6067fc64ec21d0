"""One engine, one answer: lower, solve, and let the model judge what came back."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.errors import InputError, ModelError
from optsched.model import FEASIBILITY, Model
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.model.labels import numbers
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, Solver, SolverResult
from optsched.solvers.digits import in_digits, large_in_digits
from optsched.solvers.dual_bound import claimed_bound, dual_bound
from optsched.solvers.numbers import largest_switch
from optsched.solvers.options import Options
from optsched.solvers.refuting import unless_refuted
from optsched.solvers.registry import installed
from optsched.solvers.row_scaling import with_scaled_rows
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.solution import Limit, ProgressPoint, Solution, Status
from optsched.solvers.splitting import JudgedPoint, split_solve
from optsched.solvers.tightening import bounded_by, is_bounded, tightened
from optsched.solvers.tolerances import with_warning
from optsched.solvers.trajectory import heard, in_terms_of, recorded, trajectory, unscaled
from optsched.solvers.watchdog import is_large, watched

AGREEMENT = 1e-6
"""Relative difference up to which objective and bound, or two solvers, count as equal."""

_SMALL_COST = 1e-3  # costs from here on are left as they are
_LARGE_COST = 1e4  # costs are not scaled beyond
_LARGEST_COST = 1e7  # nor are those that nearly tie
_FEW_COSTS, _DISTINCT_COSTS = 1000, 50  # costs, and different ones, among which ties are looked for
_SAME_COST = 1e-12  # relative difference up to which costs are the same, but for rounding
_SWITCH = 1e5  # constants from here on have been seen to lose optima
_TOO_SHORT = 0.05  # seconds in which a large model is not even handed over
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
    start = None if options.warm_start is None else start_vector(model, options.warm_start)
    compiled = with_whole_bounds(model.compile(engine.native))
    # what the point must satisfy: the model as written, not what it was lowered to
    native = model.kinds <= engine.native
    original = compiled if native else with_whole_bounds(model.compile(model.kinds))
    options = in_terms_of(original, options, began)
    return solve_form(engine, version, compiled, original, options, start, began)


def solve_form(
    engine: Backend,
    version: str,
    compiled: MatrixForm,
    original: MatrixForm,
    options: Options,
    start: Floats | None,
    began: float,
) -> Solution:
    """Solve a compiled model, and mend an answer that the model as written does not accept.

    Args:
        engine: the back end.
        version: of the solver.
        compiled: what the solver takes.
        original: the model as written, whose columns come first in ``compiled``.
        options: limits and tolerances.
        start: a value per column of ``original``, NaN where there is none.
        began: ``time.perf_counter()`` when work on the model started.
    """
    given = compiled
    if compiled.has_integers:
        given = tightened(with_scaled_rows(compiled)[0])
        if not getattr(engine, "exact_costs", False):
            given = large_in_digits(given)
    told = (compiled, original, engine.name, version, began)
    result = answer(engine, given, _left(options, began), start)
    result = unless_refuted(result, original, start)
    if options.on_progress is not None:  # what follows may be of a part of the model
        options = replace(options, on_progress=None)
    early = result.limit is not None and result.status is Status.NO_SOLUTION
    if result.x is None and (early or result.status is Status.INTERRUPTED):
        result = _as_started(original, result, start)
    solution, x = checked_solution(result, *told), result.x
    for mend in (_without_blur, _mended):
        if solution.status is not Status.ERROR or x is None:
            break
        mended = mend(engine, given, result, x, _left(options, began))
        mended = unless_refuted(mended, original, start)
        second = checked_solution(mended, *told)
        if second.checked or second.status is Status.INFEASIBLE:
            solution, x = second, mended.x
    if _was_rounded(compiled, result, solution):
        split = _split(engine, given, original, result, options, began)
        if split is not None and (split.x is not None or not solution.checked):
            solution, x = checked_solution(split, *told), split.x
    if x is not None and solution.status is Status.OPTIMAL and largest_switch(given) >= _SWITCH:
        return _second_look(solution, x, engine, given, _left(options, began), told)
    return with_warning(solution, given, x)


def _left(options: Options, began: float) -> Options:
    """The options, with what is left of the time limit after more than a hundredth of it."""
    limit, spent = options.time_limit, time.perf_counter() - began
    if limit is None or spent < 0.01 * limit:
        return options
    return replace(options, time_limit=max(limit - spent, 1e-3))


def _as_started(original: MatrixForm, result: SolverResult, start: Floats | None) -> SolverResult:
    """The start, if it is a point, of a solve that a limit or a wish to stop ended without one."""
    if start is None or np.isnan(start).any() or evaluate(original, start, FEASIBILITY):
        return result
    stopped = result.status is Status.INTERRUPTED
    return replace(result, status=result.status if stopped else Status.FEASIBLE, x=start)


def _second_look(
    solution: Solution,
    x: Floats,
    engine: Backend,
    given: MatrixForm,
    options: Options,
    told: tuple[Any, ...],
) -> Solution:
    """An optimum of a model with large constants, unless a look around it finds a better one.

    No better point has columns as large as the constants allow; among those that are left, the
    constants are small, and the solver is not mistaken.
    """
    assert solution.objective is not None
    around = bounded_by(given, solution.objective)
    if around is given:
        return with_warning(solution, given, x)
    result = answer(engine, around, options, None)
    again = checked_solution(result, *told)
    if again.status is not Status.OPTIMAL or again.objective is None:
        return with_warning(solution, given, x)
    over = again.objective - solution.objective
    better = over > 0 if given.maximise else over < 0
    return with_warning(again if better else solution, around, result.x if better else x)


def _was_rounded(compiled: MatrixForm, result: SolverResult, solution: Solution) -> bool:
    """Whether a point called optimal is none once its integers are whole."""
    return (
        result.status is Status.OPTIMAL
        and result.x is not None
        and solution.status is not Status.OPTIMAL
        and compiled.has_integers
        and not compiled.integer.all()
    )


def _split(
    engine: Backend,
    form: MatrixForm,
    original: MatrixForm,
    first: SolverResult,
    options: Options,
    began: float,
) -> SolverResult | None:
    """The optimum by splitting on the integers that were rounded, if that comes to an end."""

    def ask(child: MatrixForm) -> SolverResult | None:
        limit = options.time_limit
        if limit is not None and time.perf_counter() - began >= limit:
            return None
        return answer(engine, child, _left(options, began), None)

    def judge(result: SolverResult) -> JudgedPoint:
        checked, value = _checked(original, result)
        return JudgedPoint(value, checked.status is Status.OPTIMAL)

    return split_solve(form, first, ask, judge)


def _without_blur(
    engine: Backend, compiled: MatrixForm, result: SolverResult, x: Floats, options: Options
) -> SolverResult:
    """The answer with rows of integer columns in digits, which no tolerance blurs."""
    if (digits := in_digits(compiled)) is None:
        return result
    exact = answer(engine, digits, options, x)
    return exact if exact.x is None else replace(exact, x=exact.x[: len(compiled.cost)])


def _mended(
    engine: Backend, compiled: MatrixForm, result: SolverResult, x: Floats, options: Options
) -> SolverResult:
    """The answer with its integers rounded and everything else made to follow them.

    A solver's integers are whole to within its tolerance only, and a row with a large constant
    may hold for 0.999999 and not for 1. Without integers the solver is asked once more, with what
    it calls ``careful`` options, if it has any.
    """
    if not compiled.has_integers:
        careful = getattr(engine, "careful", None)
        return result if careful is None else answer(engine, compiled, careful(options), None)
    if compiled.integer.all():
        return result
    whole = np.round(x)
    fixed = replace(
        compiled,
        lower=np.where(compiled.integer, whole, compiled.lower),
        upper=np.where(compiled.integer, whole, compiled.upper),
        integer=np.zeros_like(compiled.integer),
    )
    rest = answer(engine, fixed, options, None)
    return result if rest.x is None else replace(result, x=rest.x)


def checked_solution(
    result: SolverResult,
    compiled: MatrixForm,
    original: MatrixForm,
    solver: str,
    version: str,
    began: float,
) -> Solution:
    """A solver's answer, judged by the model.

    Args:
        result: the answer.
        compiled: what the solver was given; it may have more columns than the model.
        original: the model as written.
        solver: name of the back end.
        version: of the solver.
        began: ``time.perf_counter()`` when work on the model started.
    """
    columns = len(original.cost)
    result, objective = _checked(original, result)
    result = _proven(compiled, result, objective)
    duals, costs = result.row_duals, result.reduced_costs
    end = ProgressPoint(time.perf_counter() - began, result.bound, objective)
    return Solution(
        status=result.status,
        objective=objective,
        bound=result.bound,
        values={} if result.x is None else original.split(result.x),
        labels=original.labels,
        row_labels=compiled.row_labels,
        duals={} if duals is None else compiled.split_rows(duals),
        reduced_costs={} if costs is None else original.split(costs[:columns]),
        limit=result.limit,
        checked=objective is not None,
        scaling_error=result.scaling_error,
        seconds=end.seconds,
        nodes=result.nodes,
        solver=solver,
        version=version,
        message=result.message,
        trajectory=trajectory(result, end, began),
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
        compiled, multiplied = with_scaled_rows(compiled)
        if multiplied is not None:
            result = answer(engine, compiled, options, start)
            duals = result.row_duals
            return result if duals is None else replace(result, row_duals=multiplied * duals)
        if (scale := cost_scale(compiled.cost)) == 1.0 or getattr(engine, "exact_costs", False):
            return _asked(engine, compiled, options, start)
        gap = options.absolute_gap * scale
        scaled = replace(compiled, cost=scale * compiled.cost, offset=scale * compiled.offset)
        hear = heard(options.on_progress, lambda moment: unscaled(moment, scale))
        rescaled = replace(options, absolute_gap=gap, on_progress=hear)
        result = _asked(engine, scaled, rescaled, start)
        return _unscaled(result, scale)
    except (InputError, ModelError):  # ModelError includes what a solver does not support
        raise
    except Exception as failure:
        from optsched.solvers.isolation import lacks_memory

        said = f"{type(failure).__name__}: {failure}"
        limit = Limit.MEMORY if lacks_memory(said) else None
        return SolverResult(Status.ERROR, limit=limit, message=said)


def _asked(
    engine: Backend, compiled: MatrixForm, options: Options, start: Floats | None
) -> SolverResult:
    """What the solver says, on a thread or in a process that a limit can end.

    What it can refuse at once it refuses here, before anything can overrun.
    """
    if refuse := getattr(engine, "refuse", None):
        refuse(compiled)
    limit = options.time_limit
    if limit is not None and limit < _TOO_SHORT and is_large(compiled):
        return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME, message="no time was left")
    large = limit is not None and is_large(compiled) and options.on_progress is None
    if options.isolate or large:
        from optsched.solvers.isolation import solve_isolated

        try:
            return solve_isolated(engine, compiled, options, start)
        except pickle.PicklingError:
            if options.isolate:
                raise
    if limit is None or options.profile == "tiny":
        return recorded(engine, compiled, options, start)
    return watched(lambda: recorded(engine, compiled, options, start), limit)


def cost_scale(cost: Floats) -> float:
    """The power of two that small costs are multiplied by before a solver sees them, or 1.

    Solvers take reduced costs of some 1e-7 for nothing, whatever a column's range, and so pass over
    what few costs that nearly tie differ by.
    """
    size = np.abs(cost)
    size = size[size > 0]
    least, largest = size.min(initial=math.inf), _LARGE_COST
    if len(size) <= _FEW_COSTS and len(apart := np.unique(size)) <= _DISTINCT_COSTS:
        apart = np.diff(apart)
        nearest = apart[apart > _SAME_COST * size.max(initial=0.0)].min(initial=math.inf)
        if nearest < min(_SMALL_COST, least):
            least, largest = nearest, _LARGEST_COST
    if least >= _SMALL_COST:
        return 1.0
    scale = min(1.0 / least, largest / size.max())
    return 2.0 ** max(0, math.floor(math.log2(scale)))


def _unscaled(result: SolverResult, scale: float) -> SolverResult:
    """The answer to a model whose objective was multiplied."""
    duals, costs = result.row_duals, result.reduced_costs
    return replace(
        result,
        bound=None if result.bound is None else result.bound / scale,
        row_duals=None if duals is None else duals / scale,
        reduced_costs=None if costs is None else costs / scale,
        scaling_error=result.scaling_error / scale,
        trajectory=tuple(unscaled(moment, scale) for moment in result.trajectory),
    )


def start_vector(model: Model, values: Mapping[str, Any]) -> Floats:
    """Values by name as a vector over all columns, NaN where nothing was said.

    Raises:
        InputError: a name that is no variable's, or values of another shape.
    """
    x = np.full(model.columns, np.nan)
    for name, value in values.items():
        field = f"warm_start[{name!r}]"
        if name not in model.variables:
            known = ", ".join(model.variables)
            raise InputError.of(field, value, f"a variable of the model; there are: {known}")
        variable = model.variables[name]
        if variable.labels is not None:
            value = numbers(field, value, variable.labels)
        try:
            spread = np.broadcast_to(np.asarray(value, dtype=np.float64), variable.shape)
        except (TypeError, ValueError):
            allowed = f"numbers of shape {variable.shape}"
            raise InputError.of(field, value, allowed) from None
        x[variable.start : variable.start + variable.size] = spread.ravel()
    x[np.isinf(x)] = np.nan
    return x


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())


def _proven(compiled: MatrixForm, result: SolverResult, objective: float | None) -> SolverResult:
    """The answer, its claim of optimality given up where the duals it comes with prove less."""
    if result.status is not Status.OPTIMAL or result.row_duals is None or objective is None:
        return result
    bound = claimed_bound(compiled, result.row_duals)
    if math.isinf(bound):  # rows may bound the column that its own bounds do not
        proven = dual_bound(compiled, result.row_duals, objective)
        bound = bound if proven is None else proven
    over = (bound - objective) if compiled.maximise else (objective - bound)
    if over <= AGREEMENT * max(1.0, abs(objective)):
        return result
    said = f"the duals returned prove no more than a bound of {bound:g}"
    unproven = replace(result, status=Status.FEASIBLE, limit=Limit.GAP, message=said)
    return replace(unproven, bound=bound if math.isfinite(bound) else None)


def _checked(compiled: MatrixForm, result: SolverResult) -> tuple[SolverResult, float | None]:
    """What our own evaluation of its point leaves of an answer, and the point's value, if any."""
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
