"""Hold a lock while something is done, and release it after any interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def alone(lock: threading.RLock, act: Callable[[], Result]) -> Result:
    """Do something while nobody else has the lock, and leave it free even if interrupted.

    Python 3.14 interrupts between a ``with`` that has taken a lock and its body, and then the lock
    is held for ever. Here it is released by whoever has it, which a lock that can be taken twice
    knows. Whoever has it already may not ask for it here.
    """
    try:
        lock.acquire()
        return act()
    finally:
        try:  # noqa: SIM105 - one call more is one place more to be interrupted at
            lock.release()
        except RuntimeError:  # interrupted before it was taken
            pass
