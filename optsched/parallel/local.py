"""Run many tasks on any executor: results as they come, and no task lost to a crash."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from concurrent.futures import Executor as FuturesExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Generic, TypeVar

from loky import cpu_count, get_reusable_executor
from loky.backend import resource_tracker as loky_tracker

from optsched.errors import words

Task = TypeVar("Task")
Result = TypeVar("Result")

_ON_THEIR_WAY = 5.0  # seconds within which tasks handed over surely are on their way to a worker

_LOOK = 5.0  # seconds of silence after which to look whether the executor works

AT_A_TIME = 0.5
"""Seconds of short tasks that go to a worker together; what is left of them then comes back."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_SAFE_PATH = "PYTHONSAFEPATH"
"""Set where a process starts, so that it does not import from the folder it happens to be in."""


class ExecutorLostError(RuntimeError):
    """The executor is gone; the tasks it had were not at fault and may run again elsewhere."""


@dataclass(frozen=True)
class Finished(Generic[Task, Result]):
    """What came of one task: a value, or words about what went wrong."""

    task: Task
    value: Result | None = None
    error: str = ""


def cores() -> int:
    """Cores that this process may use."""
    return int(cpu_count())


class Executor(ABC):
    """Where tasks run.

    Args:
        workers: how many tasks run at a time.
    """

    bundles = True
    """Whether handing a task over costs so much that short ones go together."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    @abstractmethod
    def start(self) -> FuturesExecutor:
        """A working executor; asked again after the one before broke.

        Raises:
            ExecutorLostError: there is no other.
        """

    def size(self) -> int:
        """How many tasks run at a time, at this moment."""
        return self.workers

    def window(self) -> int:
        """How many tasks, or bundles of short ones, to hand over at a time, so that no worker waits
        for the way back and forth; few, as a crash puts all under suspicion.
        """
        return 2 * self.size()

    def end(self, abandoned: Collection[Future[Any]]) -> None:
        """Let go of the executor; ``abandoned`` is what is under way and no longer wanted."""
        for future in abandoned:
            future.cancel()


class Remote(Executor):
    """One that may be gone without a word."""

    @abstractmethod
    def check(self) -> None:
        """Look whether it still works; asked every few seconds while nothing comes back.

        Raises:
            ExecutorLostError: it does not.
        """


class Serial(Executor):
    """This very process, one task after the other."""

    bundles = False

    class _Now(FuturesExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    def start(self) -> FuturesExecutor:
        return self._Now()

    def window(self) -> int:
        return 1


class Processes(Executor):
    """Worker processes of this machine; they stay for the next call, for a while.

    Tasks and functions may be anything that cloudpickle takes. Ctrl-C is left to this process.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._executor: FuturesExecutor | None = None

    def start(self) -> FuturesExecutor:
        # a worker that has grown is replaced, which loky announces in a separate thread
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        with _safe_path():
            resource_tracker.ensure_running()
            loky_tracker.ensure_running()
        self._executor = get_reusable_executor(
            self.workers,
            env={**_ONE_THREAD, _SAFE_PATH: "1"},
            initializer=_begin,
            initargs=(os.environ.get(_SAFE_PATH),),
        )
        return self._executor

    def end(self, abandoned: Collection[Future[Any]]) -> None:
        if not abandoned or self._executor is None:
            return
        # its shutdown breaks down over tasks that are cancelled, or not yet on their way
        patience = time.monotonic() + _ON_THEIR_WAY
        while any(not (f.running() or f.done()) for f in abandoned) and time.monotonic() < patience:
            time.sleep(0.005)
        self._executor.shutdown(kill_workers=True)  # type: ignore[call-arg]


class External(Executor):
    """An executor of the caller's, or a function that starts one; whoever starts it ends it.

    Functions and tasks must be what it can send. After a crash a function is asked for another
    executor; an executor alone cannot be replaced.
    """

    def __init__(
        self, executor: FuturesExecutor | Callable[[], FuturesExecutor], workers: int
    ) -> None:
        super().__init__(workers)
        self.given = executor
        self._started: FuturesExecutor | None = None

    def start(self) -> FuturesExecutor:
        if not isinstance(self.given, FuturesExecutor):
            self.end(())
            self._started = self.given()
            return self._started
        if self._started is not None:
            raise ExecutorLostError("the executor broke, and there is no other to go on with")
        self._started = self.given
        return self.given

    def end(self, abandoned: Collection[Future[Any]]) -> None:
        super().end(abandoned)
        if self._started is not None and not isinstance(self.given, FuturesExecutor):
            self._started.shutdown(wait=not abandoned)


def drain(
    function: Callable[[Task], Result], tasks: deque[Task], executor: Executor
) -> Generator[list[Finished[Task, Result]], None, None]:
    """Call ``function`` on every task of a queue that may grow meanwhile; yield what finished.

    The queue is looked at again after every yield; an empty one with nothing under way is the end.

    Raises:
        ExecutorLostError: the executor is gone and cannot be replaced.
    """
    flight: InFlight[Task, Result] = InFlight(function, executor)
    suspects: deque[Task] = deque()  # one of them killed its process: they go one by one
    alone = False
    try:
        with flight.interrupts_land():
            while tasks or suspects or flight.tasks:
                alone = bool(suspects) or (alone and bool(flight.tasks))
                flight.submit(suspects or tasks, alone)
                finished, broken, left = flight.collect()
                tasks.extendleft(reversed(left))
                if len(broken) == 1 and alone:
                    finished.append(Finished(broken[0], error="the process died"))
                else:
                    suspects.extendleft(reversed(broken))
                if finished:
                    yield finished
                if flight.dropped:
                    raise ExecutorLostError(f"the executor dropped a task ({flight.dropped})")
    finally:
        executor.end(list(flight.tasks))


class InFlight(Generic[Task, Result]):
    """The tasks under way."""

    def __init__(self, function: Callable[[Task], Result], executor: Executor) -> None:
        self.function = function
        self.executor = executor
        self.pool: FuturesExecutor | None = None
        self.tasks: dict[Future[Any], list[Task]] = {}
        self.together = 1
        """Tasks in a bundle: as many as take ``AT_A_TIME``, as the last ones did."""
        self.landed: SimpleQueue[Future[Any] | None] = SimpleQueue()
        """Futures that are done, and None for Ctrl-C."""
        self.dropped = ""
        """Why the executor has let a task fall, if it has."""

    def submit(self, source: deque[Task], alone: bool) -> None:
        """Hand over tasks until enough are under way, or the executor turns out broken.

        Args:
            source: of the tasks.
            alone: one at a time, and by itself.
        """
        fresh = self.pool is None
        if self.pool is None:
            self.pool = self.executor.start()
        room = 1 if alone else self.executor.window()
        while source and len(self.tasks) < room:
            fair = max(1, len(source) // self.executor.size())
            size = min(self.together, fair) if self.executor.bundles and not alone else 1
            bundle = [source.popleft() for _ in range(size)]
            try:
                future = self.pool.submit(_guarded, self.function, bundle)
            except BrokenExecutor as error:
                source.extendleft(reversed(bundle))
                if fresh:
                    raise ExecutorLostError(f"no task can be started ({words(error)})") from None
                if not self.tasks:
                    self.pool = None
                return
            fresh = False
            self.tasks[future] = bundle
            future.add_done_callback(self.landed.put)

    def collect(self) -> tuple[list[Finished[Task, Result]], list[Task], list[Task]]:
        """Wait for a bundle to come back.

        Returns:
            What finished; the tasks that were under way when a process died, or one of which could
            not be sent there or back; those that its worker had no time for.

        Raises:
            KeyboardInterrupt: Ctrl-C was heard while waiting, or before.
        """
        finished: list[Finished[Task, Result]] = []
        broken: list[Task] = []
        left: list[Task] = []
        died = False
        for future in self._done():
            bundle = self.tasks.pop(future)
            try:
                found, seconds = future.result()
                fill = len(found) * AT_A_TIME / max(seconds, 1e-9)
                self.together = max(1, int(min(fill, 2 * self.together)))
                finished += [Finished(task, *one) for task, one in zip(bundle, found, strict=False)]
                left += bundle[len(found) :]
            except BrokenExecutor:
                broken += bundle
                died = True
            except CancelledError as error:
                self.dropped = words(error)
            except Exception as error:  # what could not be sent there or back
                if isinstance(error, ModuleNotFoundError) and _is_ours(error.name):
                    self.dropped = "a worker has no optsched"
                if len(bundle) > 1:
                    broken += bundle
                else:
                    finished.append(Finished(bundle[0], error=words(error)))
        if died:
            broken += [task for bundle in self.tasks.values() for task in bundle]
            self.tasks.clear()
            self.pool = None
        return finished, broken, left

    def _done(self) -> list[Future[Any]]:
        """At least one future that is done, if any is under way."""
        done: list[Future[Any]] = []
        while self.tasks and not (done and self.landed.empty()):
            try:
                future = self.landed.get(timeout=_LOOK)
            except Empty:
                if isinstance(self.executor, Remote):
                    self.executor.check()
                continue
            if future is None:
                raise KeyboardInterrupt
            if future in self.tasks and future not in done:  # not from before a crash
                done.append(future)
        return done

    @contextmanager
    def interrupts_land(self) -> Iterator[None]:
        """Hear Ctrl-C where futures land, and not within their locks, which it would leave closed.

        A second Ctrl-C is heard at once. So is the first where tasks run in this very thread, and
        once more where they land: a solver that has heard it may come to its end all the same. Both
        are heard as ever if the caller has a way of its own.
        """
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def hear(number: int, frame: FrameType | None) -> None:
            self.landed.put(None)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if isinstance(self.executor, Serial):
                signal.default_int_handler(number, frame)

        signal.signal(signal.SIGINT, hear)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_ours(module: str | None) -> bool:
    return (module or "").partition(".")[0] == "optsched"


def _guarded(
    function: Callable[[Task], Result], bundle: list[Task]
) -> tuple[list[tuple[Result | None, str]], float]:
    """What came of the first tasks of a bundle, at least one, and the seconds they took."""
    began, found = time.perf_counter(), []
    for task in bundle:
        value, error = None, ""
        try:
            value = function(task)
        except Exception as wrong:  # one task must not take the others with it
            error = words(wrong)
        found.append((value, error))
        if time.perf_counter() - began > AT_A_TIME:
            break
    return found, time.perf_counter() - began


@contextmanager
def _safe_path() -> Iterator[None]:
    """Python processes that start within do not import from the current folder."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        _restore(before)


def _restore(safe_path: str | None) -> None:
    if safe_path is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = safe_path


def _begin(safe_path: str | None) -> None:
    """Leave Ctrl-C to the process that asks, and the environment as that process has it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _restore(safe_path)
