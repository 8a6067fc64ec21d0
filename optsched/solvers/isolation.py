"""Work in a separate process, so that a crash, a hang or full memory does no harm.

The process runs ``main`` of this module and nothing of the caller's program, so it works from a
notebook, a prompt and a script without ``if __name__ == "__main__"``. Only the caller gets Ctrl-C,
and passes it on. If the process is ended, the child processes of the solver end too.

The process reads the length of a request and the request from standard input, and perhaps the word
"stop" later. If standard input ends, the caller has ended, and the process ends. The answer goes to
standard output; everything that solvers print goes to standard error.
"""

from __future__ import annotations

import ctypes
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO, Any, Generic, TypeVar

import cloudpickle

from optsched.errors import InputError, ModelError, UnsupportedError, words
from optsched.solvers.backend import SolverResult
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status
from optsched.solvers.threads import latest

T = TypeVar("T")

GRACE = 2.2
"""Seconds between ``stop`` and the moment at which the work is killed."""

_TO_ANSWER = 0.7  # seconds a solver is left for ending, and the process for its answer
_POLL = 0.05  # seconds between two looks at the clock and at ``stop``
_TO_END = 1.0  # seconds for a process whose answers have ended to end itself
_NO_MEMORY = (
    *("MemoryError", "bad_alloc", "out of memory", "insufficient memory"),
    *("failed to map segment", "cannot allocate memory", "can't start new thread"),
)
_PROGRAM = "from optsched.solvers.isolation import main; main()"
_TAIL = 20  # last lines of what the worker printed, for the message


Task = Callable[[threading.Event | None, float | None], T]
"""(stop, time_limit) -> what is to be sent back; ``stop`` is None if the task ignores it."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """What the worker reads."""

    task: Task[T]
    stops: bool
    memory_limit: float | None
    """GiB."""
    time_limit: float | None
    """Seconds."""
    end_by: float
    """``time.time()`` at which the task should have ended, before it is killed."""


def here(options: Options) -> Options:
    """Return the options as the process gets them."""
    return replace(options, stop=None, isolate=False, memory_limit=None)


def run_isolated(task: Task[T], options: Options, *, stops: bool) -> T | SolverResult:
    """What a task returns, or how it was ended.

    Args:
        task: what cloudpickle takes.
        options: limits; a task that overruns its time limit is killed.
        stops: whether it ends by itself when the stop event is set.

    Raises:
        UnsupportedError: a memory limit on a system that has none, or what the task raises.
        InputError: what the task raises.
        PicklingError: the task cannot be sent.
    """
    # other systems accept the limit without effect
    if options.memory_limit is not None and sys.platform != "linux":
        raise UnsupportedError(f"memory_limit is held by Linux only, not by {sys.platform}")
    seconds = options.time_limit
    end_by = math.inf if seconds is None else time.time() + latest(seconds) - _TO_ANSWER
    request = Request(task, stops, options.memory_limit, seconds, end_by)
    try:
        data = cloudpickle.dumps(request)
    except TypeError as failure:  # of a lock, for one
        raise pickle.PicklingError(str(failure)) from failure
    worker = _Worker(options)
    try:
        return worker.work(data, stops)  # type: ignore[no-any-return]
    finally:
        worker.end()


class _Worker:
    """The process, and what it says."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.began = time.perf_counter()
        paths = [path for path in sys.path if path] + [os.getcwd()] * ("" in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
        self.printed: deque[str] = deque(maxlen=_TAIL)
        self.answers: queue.Queue[bytes | None] = queue.Queue()
        self.readers = [self._thread(self._read_answers), self._thread(self._read_log)]

    def work(self, request: bytes, stops: bool) -> Any:
        """Send the request, wait within the limits."""
        self._thread(lambda: self._send(len(request).to_bytes(8, "little") + request))
        stop_by: float | None = None
        limit = self.options.time_limit
        kill_by = None if limit is None else self.began + latest(limit)
        while True:
            try:
                if stop_by is None and self.options.stop is not None and self.options.stop.is_set():
                    stop_by = self._ask_to_stop(stops)
                now = time.perf_counter()
                if stop_by is not None and now > stop_by:
                    return SolverResult(
                        Status.INTERRUPTED, message="did not stop when asked: killed"
                    )
                if kill_by is not None and now > kill_by:
                    said = f"overran its time limit of {limit:.3g} s: killed"
                    return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME, message=said)
                answer = self.answers.get(timeout=_POLL)
            except queue.Empty:
                continue
            except KeyboardInterrupt:
                if stop_by is not None:
                    return SolverResult(Status.INTERRUPTED, message="killed")
                stop_by = self._ask_to_stop(stops)
                continue
            if answer is None:
                return self._crashed(stopped=stop_by is not None)
            return _unpacked(answer)

    def end(self) -> None:
        """End the process and all it has started."""
        self._kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def _ask_to_stop(self, stops: bool) -> float:
        """Pass the wish on; until when to wait."""
        if not stops:
            return time.perf_counter()
        self._send(b"stop\n")
        return time.perf_counter() + GRACE

    def _send(self, data: bytes) -> None:
        pipe = self.process.stdin
        assert pipe is not None
        with suppress(OSError, ValueError):  # a worker that has ended says so by itself
            pipe.write(data)
            pipe.flush()

    def _crashed(self, *, stopped: bool) -> SolverResult:
        with suppress(subprocess.TimeoutExpired):  # its answers end before its exit code stands
            self.process.wait(timeout=_TO_END)
        self._kill()  # what it has started
        code = self.process.wait()
        self.readers[1].join()
        text = "\n".join(self.printed)
        killed = code == -getattr(signal, "SIGKILL", 9)
        how = f"exit code {code}"
        if code < 0:
            with suppress(ValueError):
                how = f"signal {signal.Signals(-code).name}"
        if stopped:
            return SolverResult(Status.INTERRUPTED, message=f"the solver's process ended by {how}")
        memory = killed or lacks_memory(text)
        said = f"the solver's process ended by {how}"
        if killed:
            said += ", as it does when memory runs out"
        return SolverResult(
            Status.ERROR,
            limit=Limit.MEMORY if memory else None,
            message=f"{said}: {text}" if text else said,
        )

    # what the process says

    def _thread(self, body: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        return thread

    def _read_answers(self) -> None:
        pipe = self.process.stdout
        assert pipe is not None
        size = int.from_bytes(pipe.read(8), "little")
        data = pipe.read(size)
        self.answers.put(data if size and len(data) == size else None)

    def _read_log(self) -> None:
        pipe = self.process.stderr
        assert pipe is not None
        for line in pipe:
            text = line.decode(errors="replace").rstrip("\n")
            self.printed.append(text)
            if self.options.log:
                print(text, flush=True)


def lacks_memory(text: str) -> bool:
    """Whether a failure's words say that memory ran out."""
    return any(word.lower() in text.lower() for word in _NO_MEMORY)


def _unpacked(answer: bytes) -> Any:
    kind, value = pickle.loads(answer)
    if kind == "result":
        return value
    raise value


# the process itself


def main() -> None:
    """Do one request."""
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # solvers write to descriptor 1 themselves
    size = int.from_bytes(source.read(8), "little")
    data = source.read(size)
    answer = _answer(data, source)
    _flush()
    target.write(len(answer).to_bytes(8, "little") + answer)
    target.flush()
    os._exit(0)  # whatever a solver has left running


def _answer(data: bytes, source: IO[bytes]) -> bytes:
    try:
        request = pickle.loads(data)
    except Exception as failure:
        return pickle.dumps(("failure", pickle.PicklingError(f"where it was sent: {failure}")))
    try:
        stop = threading.Event()
        threading.Thread(target=_listen, args=(source, stop), daemon=True).start()
        _limit_memory(request.memory_limit)
        given = stop if request.stops else None
        return pickle.dumps(("result", request.task(given, _seconds(request))))
    except (InputError, ModelError) as failure:
        return pickle.dumps(("failure", failure))
    except BaseException as failure:  # this process does nothing else, so no more is to be ended
        said = words(failure)
        limit = Limit.MEMORY if lacks_memory(said) else None
        result = SolverResult(Status.ERROR, limit=limit, message=said)
        return pickle.dumps(("result", result))


def _seconds(request: Request[Any]) -> float | None:
    """The time limit, or what the start of this process has left of it and of its reserve."""
    if request.time_limit is None:
        return None
    return max(min(request.time_limit, request.end_by - time.time()), 0.25 * request.time_limit)


def _listen(source: IO[bytes], stop: threading.Event) -> None:
    for _ in source:
        stop.set()
    if hasattr(os, "killpg"):
        with suppress(PermissionError):
            os.killpg(0, signal.SIGKILL)  # this process and those it has started
    os._exit(1)


def _flush() -> None:
    """Send off what Python and the solver's C library have not printed yet."""
    sys.stdout.flush()
    sys.stderr.flush()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


def _limit_memory(limit: float | None) -> None:
    """Limit what the process may write to, in GiB, not what it merely reserves or maps."""
    if limit is None:
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (int(limit * 2**30), most))
