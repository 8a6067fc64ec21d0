"""A time limit holds, whatever a solver makes of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.listening import Call
from optsched.solvers.solution import Limit, Status

LARGE = 100_000
"""Columns and coefficients from which on a solver under a time limit gets a process of its own:
there, presolve and reading the model take seconds in which solvers do not look at the clock."""

RESERVE = 1.0
"""Seconds beyond 1.2 times the limit after which work is given up; a second of the two that are
promised is left for the rest."""

_POLL = 0.05  # seconds between two looks at the keyboard


def latest(time_limit: float) -> float:
    """Seconds after which work under a time limit is given up, if it has not ended by itself."""
    return 1.2 * time_limit + RESERVE


def is_large(compiled: MatrixForm) -> bool:
    """Whether solvers may take seconds between two looks at the clock."""
    return len(compiled.cost) + len(compiled.rows.held.data) >= LARGE


def watched(work: Callable[[], SolverResult], time_limit: float) -> SolverResult:
    """What ``work`` returns, or the status of one that does not end in time.

    Overrunning, it is left behind and goes on. Ctrl-C is passed on to it.

    Args:
        work: to be done; where it keeps Python's global lock, it is not left before it lets go.
        time_limit: seconds.

    Raises:
        Exception: whatever ``work`` raised.
    """
    end = time.perf_counter() + latest(time_limit)
    call = Call(work)
    while not call.ended() and (left := end - time.perf_counter()) > 0:
        try:
            call.ended(min(left, _POLL))
        except KeyboardInterrupt:
            call.interrupt()
    if call.ended():
        return call.result()
    said = f"overran its time limit of {time_limit:.3g} s and runs on behind; isolate=True ends it"
    return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME, message=said)
