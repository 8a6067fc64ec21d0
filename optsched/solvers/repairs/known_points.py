"""Use known points: they refute a claim of infeasibility, and a start may be the answer.

No regression shows this repair: no solver is an oracle, and the check costs one evaluation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.model import FEASIBILITY
from optsched.model.evaluate import evaluate
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.solution import Status

_SURE = 1e-9
"""A point that keeps every row this well refutes a claim whatever tolerance a solver works at."""


def unless_refuted(
    result: SolverResult, original: MatrixForm, start: Floats | None
) -> SolverResult:
    """Return the answer; an error if it says infeasible and a known point satisfies the model.

    Args:
        result: the answer.
        original: the model as written.
        start: a value per column, NaN if there is none; None: no start.
    """
    if result.status is not Status.INFEASIBLE:
        return result
    known = {"the point nearest to zero": np.clip(0.0, original.lower, original.upper)}
    if start is not None and not np.isnan(start).any():
        known["the start"] = start
    for name, x in known.items():
        if not evaluate(original, x, _SURE):
            said = f"called infeasible, but {name} satisfies the model"
            if result.message:
                said = f"{result.message}; {said}"
            return replace(result, status=Status.ERROR, message=said)
    return result


def or_the_start(result: SolverResult, original: MatrixForm, start: Floats | None) -> SolverResult:
    """Return the answer; the start if a limit or a wish to stop left no point and it is one."""
    stopped = result.status is Status.INTERRUPTED
    early = result.limit is not None and result.status is Status.NO_SOLUTION
    if result.x is not None or start is None or not (stopped or early):
        return result
    if np.isnan(start).any() or evaluate(original, start, FEASIBILITY):
        return result
    return replace(result, status=result.status if stopped else Status.FEASIBLE, x=start)
