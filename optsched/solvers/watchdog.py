"""A time limit holds, whatever a solver makes of it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.solution import Limit, Status

LARGE = 100_000
"""Columns and coefficients from which on a solver under a time limit gets a process of its own:
there, presolve and reading the model take seconds in which solvers do not look at the clock."""

RESERVE = 1.5
"""Seconds beyond 1.2 times the limit after which work is given up; half a second of what is
promised is left for the rest."""

_POLL = 0.05  # seconds between two looks at the keyboard


def latest(time_limit: float) -> float:
    """Seconds after which work under a time limit is given up, if it has not ended by itself."""
    return 1.2 * time_limit + RESERVE


def is_large(compiled: MatrixForm) -> bool:
    """Whether solvers may take seconds between two looks at the clock."""
    return len(compiled.cost) + compiled.rows.matrix.nnz >= LARGE


def watched(work: Callable[[], SolverResult], time_limit: float) -> SolverResult:
    """What ``work`` returns, or the status of one that does not end in time.

    It runs on a thread, which cannot be killed: work that overruns is left behind, and goes on.
    Ctrl-C is passed on to it.

    Args:
        work: to be done.
        time_limit: seconds.

    Raises:
        Exception: whatever ``work`` raised.
    """
    results: list[SolverResult] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def body() -> None:
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    end = time.perf_counter() + latest(time_limit)
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    while not done.is_set() and (left := end - time.perf_counter()) > 0:
        try:
            done.wait(min(left, _POLL))
        except KeyboardInterrupt:
            _interrupt(thread)
    if failures:
        raise failures[0]
    if results:
        return results[0]
    said = f"overran its time limit of {time_limit:.3g} s and runs on behind; isolate=True ends it"
    return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME, message=said)


def _interrupt(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in a thread, once it is back in Python."""
    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(KeyboardInterrupt))
