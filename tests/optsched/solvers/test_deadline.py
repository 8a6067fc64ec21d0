"""The clock of exact methods."""

import math
import time
from threading import Event

from optsched.jit.clock import compiling
from optsched.solvers.deadline import Deadline


def test_without_a_limit_only_a_stop_ends_it() -> None:
    stop = Event()
    clock = Deadline(None, stop)
    assert math.isinf(clock.left)
    assert clock.within(0.5) is None
    assert clock.within(0.5, 3.0) == 3.0
    assert not clock.over()
    stop.set()
    assert clock.stopped
    assert clock.over()


def test_a_passed_limit_leaves_a_part_that_a_solver_takes() -> None:
    clock = Deadline(1e-6)
    time.sleep(1e-3)
    assert clock.left < 0
    assert clock.over()
    assert not clock.stopped
    assert clock.within(1.0) == 1e-3


def test_it_goes_on_while_machine_code_is_waited_for() -> None:
    clock = Deadline(100.0)
    with compiling():
        time.sleep(0.05)
    assert clock.spent >= 0.05
