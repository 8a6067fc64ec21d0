"""The state of a solve, which repairs read and change."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.options import Options
from optsched.solvers.repairs.known_points import unless_refuted
from optsched.solvers.solution import Solution, Status


@dataclass
class Attempt:
    """One model on one solver, and the best answer so far."""

    solver: Callable[[MatrixForm, Options, Floats | None], SolverResult]
    """Return what the solver says of a form."""
    judge: Callable[[SolverResult], Solution]
    """Return an answer as the model accepts it."""
    original: MatrixForm
    """The model as written. Its columns come first in ``given``."""
    options: Options
    start: Floats | None
    """A value per column of ``original``, NaN if there is none."""
    began: float
    """``time.perf_counter()`` when work on the model started."""
    given: MatrixForm
    """What the solver was given."""
    first: SolverResult
    """What the solver said of it."""
    x: Floats | None
    """The point of ``solution`` in the columns of ``given``."""
    solution: Solution

    def ask(self, form: MatrixForm, start: Floats | None = None) -> SolverResult:
        """Return what the solver says of another form, within what is left of the time."""
        return self.solver(form, left(self.options, self.began), start)

    def take(self, result: SolverResult, solution: Solution) -> None:
        """Put an answer in the place of the one so far."""
        self.x, self.solution = result.x, solution

    def mend(self, result: SolverResult) -> None:
        """Take an answer if it has a checked point or proves that there is none."""
        result = unless_refuted(result, self.original, self.start)
        solution = self.judge(result)
        if solution.checked or solution.status is Status.INFEASIBLE:
            self.take(result, solution)


def left(options: Options, began: float) -> Options:
    """Return the options with what is left of the time limit after more than 1 % of it."""
    limit, spent = options.time_limit, time.perf_counter() - began
    if limit is None or spent < 0.01 * limit:
        return options
    return replace(options, time_limit=max(limit - spent, 1e-3))
