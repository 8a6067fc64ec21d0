"""Run calls on threads, so that limits, the stop event and Ctrl-C always hold."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from optsched.jit.alone import alone
from optsched.solvers.backend import SolverResult
from optsched.solvers.solution import Limit, Status

if TYPE_CHECKING:
    from optsched.model.matrix_form import MatrixForm

Result = TypeVar("Result")

LARGE = 100_000
"""Columns and coefficients from which on a solver under a time limit gets a separate process:
there, presolve and reading the model take seconds in which solvers do not look at the clock."""

RESERVE = 1.0
"""Seconds beyond 1.2 times the limit after which work is given up; a second of the two that are
promised is left for the rest."""

PATIENCE = 0.8
"""Seconds for work to end by itself once it is asked to stop, before it is interrupted."""

LEFT_BEHIND = 0.6
"""Seconds for work to end once it is interrupted, before it is left behind."""

_POLL = 0.02  # seconds between two looks at the keyboard and the stop event

_starting = threading.RLock()
"""Held while a call's thread starts: until it runs, Python 3.11 takes it for the thread that starts
it, and an exception meant for that one would end it unseen, waited for for ever. Calls that are
interrupted start no threads but those of calls."""


class _Worker:
    """A thread that does one call after another: starting one takes longer than a tiny solve."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        alone(_starting, self.thread.start)

    def _serve(self) -> None:
        while True:
            self.calls.get()()


_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a forked process has none of these threads


class Call(Generic[Result]):
    """Work that has begun on a thread, which cannot be killed: what is not waited for goes on.

    Args:
        work: what to do.
        kept: whether on a thread that stays for later calls; such a call must not be interrupted.
    """

    def __init__(self, work: Callable[[], Result], kept: bool = False) -> None:
        self._results: list[Result] = []
        self._failures: list[BaseException] = []
        self._done = threading.Event()

        def body() -> None:
            try:
                self._results.append(work())
            except BaseException as failure:
                self._failures.append(failure)
            finally:
                if worker is not None:
                    _idle.append(worker)
                self._done.set()

        worker = _idle_worker() if kept else None
        if worker is None:
            self._thread = threading.Thread(target=body, daemon=True)
            alone(_starting, self._thread.start)
        else:
            self._thread = worker.thread
            worker.calls.put(body)

    def ended(self, seconds: float = 0.0) -> bool:
        """Whether it has come to its end, after waiting for at most so long."""
        return self._done.wait(seconds) or not self._thread.is_alive()

    def result(self) -> Result:
        """What it returned, once it has ended.

        Raises:
            Exception: whatever it raised.
            KeyboardInterrupt: it was interrupted, be it before it could begin.
        """
        if self._failures or not self._results:
            raise self._failures[0] if self._failures else KeyboardInterrupt
        return self._results[0]

    def interrupt(self) -> bool:
        """Raise KeyboardInterrupt in it, once it is back in Python; say whether that was done.

        It is not done during an import: half of a package in ``sys.modules`` breaks every later
        import of it.
        """
        ident = self._thread.ident or 0
        if _imports(ident):
            return False
        interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
        alone(
            _starting,
            lambda: interrupt(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt)),
        )
        return True


def _imports(ident: int) -> bool:
    """Whether a thread is importing something."""
    frame = sys._current_frames().get(ident)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _idle_worker() -> _Worker:
    try:
        return _idle.pop()  # two threads may ask at once
    except IndexError:
        return _Worker()


@dataclass(frozen=True)
class Ended(Generic[Result]):
    """How a call ended."""

    result: Result | None
    """What it returned; None only if it was left behind."""
    stopped: bool
    """Whether it was asked to end, or left behind."""


def run(
    work: Callable[[], Result],
    ask_to_stop: Callable[[], None] | None,
    stop: threading.Event | None,
) -> Ended[Result]:
    """Call ``work`` and wait for its end, for ``stop`` and for Ctrl-C.

    Args:
        work: the solver's call; it must let go of Python's global lock.
        ask_to_stop: ends it early, may be called more than once. If it is None, Ctrl-C leaves the
            call behind, running until it ends by itself. A second Ctrl-C does so in any case.
        stop: set by the caller to end the call.

    Raises:
        Exception: whatever ``work`` raised.
    """
    stopped = False
    call = Call(work, kept=True)
    while not call.ended():
        try:
            if stopped and ask_to_stop is not None:  # again: the first may have come too early
                ask_to_stop()
            call.ended(_POLL)
            stopped = stopped or (stop is not None and stop.is_set())
        except KeyboardInterrupt:
            if stopped or ask_to_stop is None:
                return Ended(None, True)
            stopped = True
    return Ended(call.result(), stopped)


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
    call, asked = Call(work), False
    while not call.ended() and (left := end - time.perf_counter()) > 0:
        try:
            asked = asked and not call.interrupt()
            call.ended(min(left, _POLL))
        except KeyboardInterrupt:
            asked = True
    if call.ended():
        return call.result()
    said = f"overran its time limit of {time_limit:.3g} s and runs on behind; isolate=True ends it"
    return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME, message=said)


def ended_by(
    work: Callable[[], Result],
    stop: threading.Event,
    seconds: float | None,
    patience: float = PATIENCE,
) -> Result | None:
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
                interrupted = call.interrupt() or interrupted
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
