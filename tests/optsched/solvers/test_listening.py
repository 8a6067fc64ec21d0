"""Calls on threads of their own, and what ends them early."""

import random
import time

import pytest

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
