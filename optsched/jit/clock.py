"""What a thread spends on machine code, and the moment at which its work is late."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")

COMPILE_SECONDS = 10.0
"""Seconds that must be left of a time limit for the compiler to be called, as nothing ends it."""

COMPILE_SECONDS_EACH = 1.0
"""The same for each function that it compiles, if they are many."""


@dataclass
class Stopwatch:
    """Wall seconds of what ran under a watch; what machine code took to get is apart."""

    seconds: float = 0.0
    compile_seconds: float = 0.0
    """Importing the compiler, compiling or loading, and interpreting that was given up."""
    interpreted_seconds: float = 0.0
    """Those of ``seconds`` that went to loops without machine code, often 100 times slower."""


class Clock(threading.local):
    """What a thread has spent."""

    compiling: float = 0.0
    interpreted: float = 0.0
    depth: int = 0
    """Of the compiler's calls of itself."""
    since: float = 0.0
    """When the outermost of them began."""
    runs_plain: bool = False
    """Whether a plain run is under way."""
    latest: float = math.inf
    """Moment on the wall after which whatever is under way is late."""


clock = Clock()


def _working() -> float:
    """Seconds of a clock that stands still while this thread waits for machine code."""
    return time.perf_counter() - clock.compiling


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Let loops end in time: the compiler is waited for only where it will come to its end.

    Where it will not, the loop is interpreted; TimeoutError is raised in it when the time is over.
    What has machine code on disk, or no source to interpret, is loaded or compiled whatever the
    limit.

    Args:
        seconds: wall time from now; None: no limit.
    """
    before = clock.latest
    if seconds is not None:
        clock.latest = min(before, time.perf_counter() + seconds)
    try:
        yield
    finally:
        clock.latest = before


def limit_left() -> float | None:
    """Seconds left of this thread's limit, for another thread to be limited too; None: none."""
    return None if math.isinf(clock.latest) else clock.latest - time.perf_counter()


@contextmanager
def continued() -> Iterator[Callable[[Callable[[], Result]], Result]]:
    """What lets another thread do this one's work, under its limit and on its watches.

    The time spent there counts here if the work ends within.
    """
    before, after = dict(vars(clock)), dict[str, Any]()

    def there(work: Callable[[], Result]) -> Result:
        vars(clock).update(before)
        try:
            return work()
        finally:
            after.update(vars(clock))

    yield there
    vars(clock).update(after)


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure a run; its seconds are there at the end, however that comes.

    Example:
        >>> with stopwatch() as watch:
        ...     total = sum(range(10))
        >>> watch.seconds > 0, watch.compile_seconds
        (True, 0.0)
    """
    watch = Stopwatch()
    began, before, interpreted = _working(), clock.compiling, clock.interpreted
    try:
        yield watch
    finally:
        watch.compile_seconds = clock.compiling - before
        watch.interpreted_seconds = clock.interpreted - interpreted
        watch.seconds = max(0.0, _working() - began)


def time_to_compile(parts: int) -> bool:
    """Whether the limit leaves time to compile so many functions."""
    left = clock.latest - time.perf_counter()
    return left >= max(COMPILE_SECONDS, parts * COMPILE_SECONDS_EACH)


@contextmanager
def compiling() -> Iterator[None]:
    """Count what passes within to the compiler, once where it calls itself."""
    enter()
    try:
        yield
    finally:
        leave()


def enter() -> None:
    """The compiler begins, or calls itself."""
    clock.depth += 1
    if clock.depth == 1:
        clock.since = time.perf_counter()


def leave() -> None:
    """What was entered last has ended."""
    clock.depth -= 1
    if clock.depth == 0:
        clock.compiling += time.perf_counter() - clock.since
