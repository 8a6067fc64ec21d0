"""Something done while a lock is held."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from optsched.jit import dispatcher as jit
from optsched.jit.alone import alone
from optsched.solvers import threads


class InterruptedLock:
    """A lock whose taker is interrupted, before or after it has it."""

    def __init__(self, taken: bool) -> None:
        self.inner, self.taken = threading.RLock(), taken

    def acquire(self) -> None:
        if self.taken:
            self.inner.acquire()
        raise KeyboardInterrupt

    def release(self) -> None:
        self.inner.release()


def free(lock: threading.RLock) -> bool:
    with ThreadPoolExecutor(1) as other:
        return other.submit(lock.acquire, blocking=False).result()


def start_a_call() -> None:
    threads.Call(lambda: None)


def ask_for_machine_code() -> None:
    _ = jit.Dispatcher(start_a_call).machine


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize(
    ("room", "name", "act"),
    [(threads, "_starting", start_a_call), (jit, "_building", ask_for_machine_code)],
)
def test_an_interrupt_around_a_lock_of_all_solves_leaves_it_free(
    monkeypatch, taken: bool, room, name: str, act
) -> None:
    """From Python 3.14 on it may come once the lock is taken and before what it is for."""
    lock = InterruptedLock(taken)
    monkeypatch.setattr(room, name, lock)
    with pytest.raises(KeyboardInterrupt):
        act()
    assert free(lock.inner)


def test_what_is_done_alone_returns_or_raises_as_it_would_and_nobody_else_has_the_lock() -> None:
    lock = threading.RLock()
    assert alone(lock, lambda: free(lock)) is False
    with pytest.raises(ZeroDivisionError):
        alone(lock, lambda: 1 / 0)
    assert free(lock)
