"""Solve by one solver: lower, prepare, solve, repair, and check by the model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.model import Model
from optsched.model.expression import Floats
from optsched.model.labels import numbers
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.ask import ask
from optsched.solvers.backend import Backend, Feature, Solver
from optsched.solvers.check import checked_solution
from optsched.solvers.options import Options
from optsched.solvers.registry import installed
from optsched.solvers.repairs.attempt import Attempt, left
from optsched.solvers.repairs.digits import large_in_digits, solve_in_digits
from optsched.solvers.repairs.known_points import or_the_start, unless_refuted
from optsched.solvers.repairs.rounding import round_integers
from optsched.solvers.repairs.row_scaling import with_scaled_rows
from optsched.solvers.repairs.second_look import look_around
from optsched.solvers.repairs.splitting import split_on_integers
from optsched.solvers.repairs.tightening import tightened
from optsched.solvers.scaling import with_whole_bounds
from optsched.solvers.solution import Solution, Status
from optsched.solvers.tolerances import with_warning
from optsched.solvers.trajectory import in_terms_of

MENDS = (solve_in_digits, round_integers, split_on_integers, look_around)
"""Repairs of an answer, in this order. Each returns at once unless the answer calls for it."""


def solve_directly(model: Model, solver: Solver, options: Options) -> Solution:
    """Solve by one back end that takes the model, blocks lowered to linear rows included.

    Raises:
        InputError: the solver is unknown or not installed, or a start names no variable.
        UnsupportedError: the solver cannot take what the model contains.
        ModelError: the model cannot be compiled.
    """
    return solve_on(*installed(solver), model, options)


def solve_on(engine: Backend, version: str, model: Model, options: Options) -> Solution:
    """Do as ``solve_directly`` with a back end that is known to be installed."""
    began = time.perf_counter()
    start = None if options.warm_start is None else start_vector(model, options.warm_start)
    compiled = with_whole_bounds(model.compile(engine.native))
    # what the point must satisfy: the model as written, not what it was lowered to
    native = model.kinds <= engine.native
    original = compiled if native else with_whole_bounds(model.compile(model.kinds))
    if options.on_progress is not None:
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
        start: a value per column of ``original``, NaN if there is none.
        began: ``time.perf_counter()`` when work on the model started.
    """
    given, scaled = compiled, False
    if compiled.has_integers:
        scaled_form, _ = with_scaled_rows(compiled)
        given = tightened(scaled_form) if compiled.mixes_types else scaled_form
        if Feature.EXACT_COSTS not in engine.features:
            given = large_in_digits(given)
        scaled = given is scaled_form
    now = options if options.time_limit is None else left(options, began)
    result = ask(engine, given, now, start, scaled=scaled)
    if result.x is None:
        result = or_the_start(unless_refuted(result, original, start), original, start)
    judge = partial(
        checked_solution, compiled=compiled, original=original, solver=engine.name,
        version=version, began=began,
    )  # fmt: skip
    solution = judge(result)
    if solution.status is not Status.ERROR and not given.mixes_types:  # nothing was rounded
        return with_warning(solution, given, result.x)
    if options.on_progress is not None:  # what follows may be of a part of the model
        options = replace(options, on_progress=None)
    attempt = Attempt(
        partial(ask, engine), judge, original, options, start, began,
        given, result, result.x, solution,
    )  # fmt: skip
    for mend in MENDS:
        mend(attempt)
    return with_warning(attempt.solution, attempt.given, attempt.x)


def start_vector(model: Model, values: Mapping[str, Any]) -> Floats:
    """Return values by name as a vector over all columns, NaN if nothing was said.

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
