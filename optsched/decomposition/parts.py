"""Share time among independent parts of a problem, on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Lock
from typing import TypeVar

from optsched.jit import limit_left, limited
from optsched.solvers.deadline import Deadline

Part = TypeVar("Part")


def in_parts(
    parts: Sequence[Part],
    step: Callable[[Part, float | None], None],
    deadline: Deadline,
    share: float = 1.0,
    threads: int = 1,
    sizes: Sequence[float] = (),
) -> None:
    """Take a step of every part, in order; time that one part leaves goes to the later ones.

    Threads pay in compiled code and solvers, which release Python's lock.

    Args:
        parts: of the problem; each is searched by its own steps.
        step: given a part and the seconds it has; None: no limit.
        deadline: once it is over no step is begun.
        share: of the time left for all parts together.
        threads: steps at a time.
        sizes: each part has time in proportion to its size; empty: all alike.
    """
    until, began, seconds = deadline.left * (1.0 - share), deadline.spent, limit_left()
    lock, weights = Lock(), list(sizes) or [1.0] * len(parts)
    ends = [0.0] * len(parts)  # by when a step under way is to be done

    def own_limit() -> AbstractContextManager[None]:
        return limited(None if seconds is None else seconds - (deadline.spent - began))

    def turn(number: int) -> None:
        if deadline.over():
            return
        with lock:
            limit: float | None = None
            left, now = deadline.left - until, deadline.spent
            if math.isfinite(deadline.left):
                free = threads * left - sum(max(0.0, end - now) for end in ends)
                limit = max(1e-3, min(left, free * weights[number] / sum(weights)))
                ends[number] = now + limit
            weights[number] = 0.0
        with own_limit():
            step(parts[number], limit)
        ends[number] = 0.0

    if threads == 1:
        for number in range(len(parts)):
            turn(number)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(turn, range(len(parts))))
