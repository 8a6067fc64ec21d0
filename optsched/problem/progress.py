"""Progress of long work: the worker reports it, and the caller listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], None]
"""(done, planned), in whatever the work is counted."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(done: int, planned: int) -> None:
    """Report how far the work is; this is cheap if nobody listens."""
    listener = _listener.get()
    if listener is not None:
        listener(done, planned)


@contextmanager
def reported_to(listener: Listener) -> Iterator[None]:
    """Call a listener with each report made within the block, in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
