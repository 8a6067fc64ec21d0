"""Ask one solver once: scale the model and its answer, keep limits, report failures."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass, replace

import numpy as np

from optsched.errors import InputError, ModelError, UnsupportedError
from optsched.model import FEASIBILITY
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, Feature, SolverResult
from optsched.solvers.isolation import here, lacks_memory, run_isolated
from optsched.solvers.numbers import COLUMNS, refuse_columns
from optsched.solvers.options import Options
from optsched.solvers.repairs.cost_scaling import cost_scale, unscaled
from optsched.solvers.repairs.row_scaling import with_scaled_rows
from optsched.solvers.solution import Limit, Status
from optsched.solvers.threads import is_large, watched
from optsched.solvers.trajectory import Recorder

_TOO_SHORT = 0.05  # seconds in which a large model is not even handed over


def ask(
    engine: Backend,
    form: MatrixForm,
    options: Options,
    start: Floats | None,
    *,
    scaled: bool = False,
) -> SolverResult:
    """Return what a solver says of a model; an error that it raises is an answer too.

    Args:
        engine: the back end.
        form: the model.
        options: limits and tolerances.
        start: values of the first columns, NaN if unknown; None: no start.
        scaled: whether the rows are scaled already.

    Raises:
        UnsupportedError: the solver cannot take the model or an option.
        InputError: an option that the solver does not know.
    """
    if not len(form.cost):  # solvers differ on what this means
        x = np.zeros(0)
        if evaluate(form, x, FEASIBILITY):
            return SolverResult(Status.INFEASIBLE)
        return SolverResult(Status.OPTIMAL, x, form.offset)
    if not engine.features >= COLUMNS:
        refuse_columns(engine, form)
    if start is not None:  # nothing is known of columns that lowering added
        start = np.append(start, np.full(len(form.cost) - len(start), np.nan))
    row_scale: Floats | None = None
    if not scaled:
        form, row_scale = with_scaled_rows(form)
    scale = 1.0 if Feature.EXACT_COSTS in engine.features else cost_scale(form.cost)
    if scale != 1.0:
        form = replace(form, cost=scale * form.cost, offset=scale * form.offset)
        options = replace(options, absolute_gap=options.absolute_gap * scale)
    question = _Question(engine, form, options, start, scale)
    try:
        if options.time_limit is None and options.on_progress is None and not options.isolate:
            result = question(options.stop, None)
        else:
            result = _within_limits(question)
    except (InputError, ModelError):  # ModelError includes what a solver does not support
        raise
    except Exception as failure:
        said = f"{type(failure).__name__}: {failure}"
        limit = Limit.MEMORY if lacks_memory(said) else None
        return SolverResult(Status.ERROR, limit=limit, message=said)
    if scale != 1.0:
        result = unscaled(result, scale)
    if row_scale is not None and result.row_duals is not None:
        result = replace(result, row_duals=row_scale * result.row_duals)
    return result


@dataclass(frozen=True)
class _Question:
    """One call of a back end, here or in a separate process."""

    engine: Backend
    form: MatrixForm
    options: Options
    start: Floats | None
    scale: float
    """What the costs were multiplied by."""

    def __call__(self, stop: threading.Event | None, time_limit: float | None) -> SolverResult:
        """Return the answer, and the steps that led to it if the solver reports any."""
        options = self.options
        if stop is not options.stop or time_limit != options.time_limit:
            options = replace(options, stop=stop, time_limit=time_limit)
        if options.profile == "tiny" or Feature.PROGRESS not in self.engine.features:
            return self.engine.solve(self.form, options, self.start)
        return Recorder(options, self.scale).solve(self.engine, self.form, self.start)


def _within_limits(question: _Question) -> SolverResult:
    """Return the answer of a solver on a thread or in a process that a limit can end.

    Raises:
        UnsupportedError: ``on_progress`` is asked of a solver that reports nothing on the way.
    """
    engine, form, options = question.engine, question.form, question.options
    limit = options.time_limit
    if options.on_progress is not None and Feature.PROGRESS not in engine.features:
        said = f"{engine.name} reports no progress, so that on_progress is never called"
        raise UnsupportedError(said)
    if options.isolate or (limit is not None and is_large(form)):
        if limit is not None and limit < _TOO_SHORT and is_large(form):
            return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME, message="no time was left")
        if options.isolate or options.on_progress is None:
            plain = here(replace(options, warm_start=None))  # start has the values
            task = replace(question, options=plain)
            try:
                return run_isolated(task, options, stops=Feature.STOP in engine.features)
            except pickle.PicklingError:
                if options.isolate:
                    raise
    if limit is None or options.profile == "tiny":
        return question(options.stop, limit)
    return watched(lambda: question(options.stop, limit), limit)
