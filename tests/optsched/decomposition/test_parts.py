"""Time that parts share: all is handed out, and nothing begins after the end."""

import math
import threading
from typing import Any

import pytest

from optsched.decomposition.parts import in_parts
from optsched.solvers.deadline import Deadline


class Steps(Deadline):
    """A clock that goes on by what is told."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(seconds)
        self.now = 0.0

    @property
    def spent(self) -> float:
        return self.now


def limits_of(parts: list[float], seconds: float | None, **options: Any) -> list[float | None]:
    """Limits that parts get which take so much of theirs."""
    clock, found = Steps(seconds), []

    def step(part: float, limit: float | None) -> None:
        found.append(limit)
        clock.now += part * (0.0 if limit is None else limit)

    in_parts(parts, step, clock, **options)
    return found


def test_time_that_one_leaves_is_the_others() -> None:
    assert limits_of([0.5, 1.0, 1.0], 12.0) == pytest.approx([4.0, 5.0, 5.0])
    assert limits_of([1.0, 1.0], 12.0, share=0.5) == pytest.approx([3.0, 3.0])
    assert limits_of([1.0, 1.0], None) == [None, None]
    assert limits_of([1.0, 0.5], 12.0, sizes=[1, 3]) == pytest.approx([3.0, 9.0])


def test_nothing_begins_once_the_time_is_over() -> None:
    assert len(limits_of([1.0, 1.5, 1.0], 9.0)) == 3
    assert len(limits_of([1.0, 2.0, 1.0], 9.0)) == 2


def test_several_threads_take_steps_at_a_time_and_share_what_nobody_was_promised() -> None:
    clock, found = Steps(12.0), []

    def pass_by() -> None:
        clock.now += 6.0

    both = threading.Barrier(2, pass_by, timeout=30.0)

    def step(part: int, limit: float | None) -> None:
        assert limit is not None
        found.append(limit)
        both.wait()  # nobody passes alone

    in_parts(range(4), step, clock, threads=2)
    assert found == pytest.approx([6.0, 6.0, 6.0, 6.0])


def test_what_a_step_raises_on_a_thread_is_raised() -> None:
    def step(part: int, limit: float | None) -> None:
        raise ValueError(part)

    with pytest.raises(ValueError, match="0"):
        in_parts([0, 1], step, Deadline(math.inf), threads=2)
