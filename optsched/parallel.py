"""Many tasks in parallel processes: results as they come, and no task lost to a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """What came of one task: a value, or words about what went wrong."""

    index: int
    """Which task."""
    value: Result | None = None
    error: str = ""


def words(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def run_each(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int = 1
) -> Iterator[Outcome[Result]]:
    """Call ``function`` on every task and yield each outcome once, in the order they finish.

    A task that raises, and one that kills its process, has an outcome with ``error``.

    Args:
        function: what to do; it and the tasks are sent to other processes.
        tasks: on what.
        workers: processes; 1 stays in this one.
    """
    if workers == 1:
        for index, task in enumerate(tasks):
            yield _guarded(function, index, task)
        return
    pending = dict(enumerate(tasks))
    while pending:
        try:
            for outcome in _pool(function, pending, workers):
                del pending[outcome.index]
                yield outcome
        except BrokenProcessPool:
            # which task killed its process is not said: those that ran go one by one
            for index in list(pending)[: 2 * workers]:
                task = pending.pop(index)
                try:
                    yield from _pool(function, {index: task}, workers)
                except BrokenProcessPool as error:
                    yield Outcome(index, error=f"the process died ({type(error).__name__})")


def _pool(
    function: Callable[[Task], Result], tasks: dict[int, Task], workers: int
) -> Iterator[Outcome[Result]]:
    pool = joblib.Parallel(
        n_jobs=workers,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch=workers,  # so that after a crash few tasks are under suspicion
    )
    calls = (joblib.delayed(_guarded)(function, i, task) for i, task in list(tasks.items()))
    yield from pool(calls)


def _guarded(function: Callable[[Task], Result], index: int, task: Task) -> Outcome[Result]:
    try:
        return Outcome(index, function(task))
    except Exception as error:  # one task must not take the others with it
        return Outcome(index, error=words(error))
