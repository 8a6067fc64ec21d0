"""Calls on threads of their own, and what ends them early."""

import random
import subprocess
import sys
import threading
import time

import pytest

from optsched import Model, solve
from optsched.solvers.threads import Call


def nested() -> None:
    """Calls within a call, as solvers make them, until it is interrupted."""
    while True:
        Call(lambda: None).ended(1.0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_call_ends_whenever_it_is_interrupted() -> None:
    """Also while it starts another, which must not be interrupted in its stead."""
    moments = random.Random(0)
    for _ in range(300):
        call = Call(nested)
        time.sleep(moments.uniform(0.0, 0.003))
        call.interrupt()
        assert call.ended(30.0)
        with pytest.raises(KeyboardInterrupt):
            call.result()


def test_a_call_hands_over_what_it_returns_and_what_it_raises() -> None:
    call = Call(lambda: 7)
    assert call.ended(30.0)
    assert call.result() == 7
    failed = Call(lambda: 1 / 0)
    assert failed.ended(30.0)
    with pytest.raises(ZeroDivisionError):
        failed.result()


def on(done: threading.Event) -> int:
    done.wait(30.0)
    return threading.get_ident()


def test_kept_calls_share_a_thread_unless_two_are_under_way() -> None:
    free = threading.Event()
    first, second = Call(lambda: on(free), kept=True), Call(lambda: on(free), kept=True)
    free.set()
    assert first.ended(30.0)
    assert second.ended(30.0)
    third = Call(lambda: on(free), kept=True)
    assert third.ended(30.0)
    assert first.result() != second.result()
    assert third.result() in (first.result(), second.result())


def test_solves_may_ask_for_another_number_of_threads_each_time() -> None:
    model = Model("seven of twenty")
    x = model.binary("x", 20)
    model.add("enough", x.sum() >= 7)
    model.minimize(x.sum())
    found = [solve(model, threads=threads, solver="highs").objective for threads in (1, 2, 1)]
    assert found == [7.0] * 3


FORKED = """
import os
from optsched import Model, solve
model = Model()
x = model.binary("x", 3)
model.add("enough", x.sum() >= 2)
model.minimize(x.sum())
assert solve(model).objective == 2.0
child = os.fork()
assert solve(model).objective == 2.0
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_solves_on_threads_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=60)
