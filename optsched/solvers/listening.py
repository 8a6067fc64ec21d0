"""A solver's call on a thread of its own, so that clocks, the stop event and Ctrl-C are heard."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from optsched.alone import alone

Result = TypeVar("Result")

_POLL = 0.02  # seconds between two looks at the keyboard and the stop event

_starting = threading.RLock()
"""Held while a call's thread starts: until it runs, Python 3.11 takes it for the thread that starts
it, and an exception meant for that one would end it unseen, waited for for ever. Calls that are
interrupted start no threads but those of calls."""


class Call(Generic[Result]):
    """Work that has begun on a thread, which cannot be killed: what is not waited for goes on."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._results: list[Result] = []
        self._failures: list[BaseException] = []
        self._done = threading.Event()

        def body() -> None:
            try:
                self._results.append(work())
            except BaseException as failure:
                self._failures.append(failure)
            finally:
                self._done.set()

        self._thread = threading.Thread(target=body, daemon=True)
        alone(_starting, self._thread.start)

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

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in it, once it is back in Python."""
        ident = ctypes.c_ulong(self._thread.ident or 0)
        interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
        alone(_starting, lambda: interrupt(ident, ctypes.py_object(KeyboardInterrupt)))


@dataclass(frozen=True)
class Heard(Generic[Result]):
    """How a call ended."""

    result: Result | None
    """What it returned; None only if it was left behind."""
    stopped: bool
    """Whether it was asked to end, or left behind."""


def run(
    work: Callable[[], Result],
    ask_to_stop: Callable[[], None] | None,
    stop: threading.Event | None,
) -> Heard[Result]:
    """Call ``work`` and wait, listening.

    Args:
        work: the solver's call; it must let go of Python's global lock.
        ask_to_stop: ends it early, may be called more than once; None where nothing can. Then
            Ctrl-C leaves the call behind, running until it ends by itself, as a second Ctrl-C
            does in any case.
        stop: set by the caller to end the call.

    Raises:
        Exception: whatever ``work`` raised.
    """
    stopped = False
    call = Call(work)
    while not call.ended():
        try:
            if stopped and ask_to_stop is not None:  # again: the first may have come too early
                ask_to_stop()
            call.ended(_POLL)
            stopped = stopped or (stop is not None and stop.is_set())
        except KeyboardInterrupt:
            if stopped or ask_to_stop is None:
                return Heard(None, True)
            stopped = True
    return Heard(call.result(), stopped)
