"""The deadline of an exact method that looks at its limits between steps."""

from __future__ import annotations

import math
from threading import Event
from time import perf_counter


class Deadline:
    """What is left of a time limit, on the wall.

    Args:
        seconds: the limit; None: there is none.
        stop: set from outside to end.

    Example:
        >>> deadline = Deadline(None)
        >>> deadline.over(), deadline.left, deadline.within(0.5)
        (False, inf, None)
    """

    def __init__(self, seconds: float | None, stop: Event | None = None) -> None:
        self.seconds, self.stop, self._began = seconds, stop, perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since it was made."""
        return perf_counter() - self._began

    @property
    def left(self) -> float:
        """Seconds, negative once the limit is passed; infinite without a limit."""
        return math.inf if self.seconds is None else self.seconds - self.spent

    @property
    def stopped(self) -> bool:
        """Whether somebody asked for an end."""
        return self.stop is not None and self.stop.is_set()

    def over(self) -> bool:
        """Whether to begin nothing more."""
        return self.stopped or self.left <= 0

    def within(self, share: float, most: float = math.inf) -> float | None:
        """Part of the seconds left, at most so many, as a limit of its own; None: no limit."""
        seconds = min(most, share * self.left)
        return None if math.isinf(seconds) else max(1e-3, seconds)
