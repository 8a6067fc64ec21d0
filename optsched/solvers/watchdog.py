"""Limits and the wish to stop hold, whatever the work makes of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TypeVar

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

PATIENCE = 0.8
"""Seconds for work to end by itself once it is asked to stop, before it is interrupted."""

LEFT_BEHIND = 0.6
"""Seconds for work to end once it is interrupted, before it is left behind."""

_POLL = 0.05  # seconds between two looks at the keyboard and at the stop event

T = TypeVar("T")


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


def ended_by(
    work: Callable[[], T], stop: threading.Event, seconds: float | None, patience: float = PATIENCE
) -> T | None:
    """What ``work`` returns; None if it was ended from outside.

    After the limit, and some time after ``stop`` is set, KeyboardInterrupt is raised in it. What
    even that does not end is left behind and goes on, as a loop of machine code does. Ctrl-C sets
    ``stop``; a second one leaves the work behind at once.

    Args:
        work: what another thread does.
        stop: asks it to end by itself.
        seconds: for the work; None: no limit.
        patience: seconds for it to end by itself once ``stop`` is set.

    Raises:
        Exception: whatever ``work`` raised by itself.
    """
    call = Call(work)
    end = math.inf if seconds is None else time.perf_counter() + seconds
    asked = interrupted = False
    while True:
        try:
            if call.ended(_POLL):
                break
            now = time.perf_counter()
            if not asked and stop.is_set():
                asked, end = True, min(end, now + patience)
            if now > end + LEFT_BEHIND:
                return None
            if now > end:
                interrupted = True
                call.interrupt()
        except KeyboardInterrupt:
            if stop.is_set():
                return None
            stop.set()
    try:
        return call.result()
    except BaseException:
        if interrupted:  # whatever it made of that
            return None
        raise
