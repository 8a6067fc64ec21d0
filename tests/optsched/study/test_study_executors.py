"""Tasks run over any executor, each has one outcome, and a crash takes nobody with it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial

import pytest

from optsched.parallel.local import ExecutorLostError, External, Processes, Serial, drain


def square(number):
    """A task: a negative number raises, zero kills its process."""
    if number == 0:
        os._exit(3)
    if number < 0:
        raise ArithmeticError(f"{number} is negative")
    time.sleep(0.001 * (number % 3))
    return number * number


def outcomes(executor, numbers):
    """What came of each number."""
    return [one for batch in drain(square, deque(numbers), executor) for one in batch]


@pytest.mark.parametrize(
    "executor",
    [Serial(), Processes(2), External(lambda: ProcessPoolExecutor(2), 2)],
    ids=["here", "processes", "standard pool"],
)
def test_every_task_has_one_outcome(executor):
    numbers = [*range(1, 12), -1]
    found = outcomes(executor, numbers)
    assert Counter(one.task for one in found) == Counter(numbers)
    assert {one.task: one.value for one in found if one.task > 0} == {
        n: n * n for n in range(1, 12)
    }
    (failed,) = [one for one in found if one.error]
    assert (failed.task, failed.value) == (-1, None)
    assert failed.error == "ArithmeticError: -1 is negative"


IN_PROCESSES = """
from collections import deque
from os import environ
from optsched.parallel.local import Processes, drain
for batch in drain(environ.get, deque(["PYTHONSAFEPATH"]), Processes(1)):
    print([one.value for one in batch], environ.get("PYTHONSAFEPATH"))
"""


def test_no_process_imports_from_the_folder_it_happens_to_be_in(tmp_path):
    for name in ("typing", "socket", "json"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w').close(); raise SystemExit")
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", IN_PROCESSES],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[None] None\n", done.stderr  # what a task starts is as ever
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("place", [0, 3, 8])
def test_only_the_task_that_kills_its_process_has_failed(place):
    numbers = list(range(1, 9))
    numbers.insert(place, 0)
    found = outcomes(External(lambda: ProcessPoolExecutor(2), 2), numbers)
    assert Counter(one.task for one in found) == Counter(numbers)
    assert {one.task: one.error for one in found if one.error} == {0: "the process died"}


def test_a_queue_may_grow_while_it_is_worked_on():
    tasks, seen = deque([1]), []
    for batch in drain(square, tasks, Serial()):
        for one in batch:
            seen.append(one.value)
            if one.task < 5:
                tasks.extend([one.task + 1])
    assert seen == [1, 4, 9, 16, 25]


@pytest.mark.parametrize("last", [2, 1])
def test_an_interrupt_that_a_task_heard_and_took_for_its_own_ends_the_rest(last):
    began = []

    def solved(number):
        began.append(number)
        if number == 1:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        return number

    with pytest.raises(KeyboardInterrupt):
        list(drain(solved, deque(range(last + 1)), Serial()))
    assert began == [0, 1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_cannot_be_sent_to_a_process_is_an_outcome():
    executor = External(lambda: ProcessPoolExecutor(1), 1)
    (one,) = [one for batch in drain(lambda n: n, deque([1]), executor) for one in batch]
    assert one.value is None
    assert "local object" in one.error  # which it cannot pickle, or get, by the version of Python


class Broken(Executor):
    """Takes no task, or drops what it has taken."""

    def __init__(self, drops=False):
        self.drops = drops

    def submit(self, *_):
        if not self.drops:
            raise BrokenExecutor("out of order")
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


@pytest.mark.parametrize(("drops", "told"), [(False, "no task can be started"), (True, "dropped")])
def test_an_executor_that_does_not_work_is_not_a_result_of_the_tasks(drops, told):
    with pytest.raises(ExecutorLostError, match=told):
        outcomes(External(lambda: Broken(drops), 1), [1, 2])


def test_an_executor_that_breaks_without_a_task_under_way_is_replaced():
    class Once(Broken):
        def submit(self, function, *arguments):
            future = Future()
            future.set_exception(BrokenProcessPool("gone"))
            return future

    executors = iter([Once(), ProcessPoolExecutor(1)])
    found = outcomes(External(lambda: next(executors), 1), [3])
    assert [(one.value, one.error) for one in found] == [(9, "")]


def test_what_finished_tells_which_task_it_was():
    found = {one.task: one.value for one in outcomes(Processes(2), [3, 2, 1])}
    assert found == {1: 1, 2: 4, 3: 9}


class Counting(ThreadPoolExecutor):
    """Counts what is handed over."""

    handed = 0

    def submit(self, fn, /, *args, **kwargs):
        Counting.handed += 1
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize(
    ("task", "numbers", "fewer"), [(float, range(2000), 4), (time.sleep, [0.7] * 4, 1)]
)
def test_short_tasks_go_together_and_long_ones_alone(task, numbers, fewer):
    Counting.handed = 0
    executor = External(partial(Counting, 2), 2)
    found = [one for batch in drain(task, deque(numbers), executor) for one in batch]
    assert sorted(one.task for one in found) == sorted(numbers)
    assert len(numbers) >= fewer * Counting.handed


def test_one_of_a_bundle_that_cannot_be_sent_back_leaves_the_others():
    tasks = deque(range(300))
    found = [one for batch in drain(some_locked, tasks, Processes(2)) for one in batch]
    assert sorted(one.task for one in found) == list(range(300))
    assert {one.task for one in found if one.error} == {77, 150}


def some_locked(number):
    """A number, or what no process can send."""
    return threading.Lock() if number in (77, 150) else number
