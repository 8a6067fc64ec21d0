"""A solver's call on a thread of its own, so that the stop event and Ctrl-C are heard."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")

_POLL = 0.02  # seconds between two looks at the keyboard and the stop event


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
    results: list[Result] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def body() -> None:
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    stopped = False
    threading.Thread(target=body, daemon=True).start()
    while not done.is_set():
        try:
            if stopped and ask_to_stop is not None:  # again: the first may have come too early
                ask_to_stop()
            done.wait(_POLL)
            stopped = stopped or (stop is not None and stop.is_set())
        except KeyboardInterrupt:
            if stopped or ask_to_stop is None:
                return Heard(None, True)
            stopped = True
    if failures:
        raise failures[0]
    return Heard(results[0], stopped)
