"""How far long work is: told by whoever does it, heard by whoever started it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], None]
"""(done, planned), in whatever the work is counted."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def tell(done: int, planned: int) -> None:
    """Say how far the work at hand is; cheap where nobody listens."""
    listener = _listener.get()
    if listener is not None:
        listener(done, planned)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Let a listener hear what is told within the block, in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
