"""Any back end in a process of its own, where a crash, a hang or a full memory harms nothing.

The process runs :mod:`optsched.solvers.worker` and nothing of the caller's program, so it works
from a notebook, a prompt and a script without ``if __name__ == "__main__"``. It is a session of
its own: Ctrl-C reaches the caller, who passes it on, and an end takes the solver's own child
processes with it.
"""

from __future__ import annotations

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
from dataclasses import replace
from typing import IO, Any

from optsched.errors import UnsupportedError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, SolverResult
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

GRACE = 5.0
"""Seconds a solver may overrun its time limit, or take to heed ``stop``, before it is killed."""

STARTED = b"started\n"
"""What the worker says when it begins to solve."""

_POLL = 0.05  # seconds between two looks at the clock and at ``stop``
_NO_MEMORY = ("MemoryError", "bad_alloc", "out of memory", "insufficient memory")
_TAIL = 20  # last lines of what the worker printed, for the message


def solve_isolated(
    engine: Backend, compiled: MatrixForm, options: Options, start: Floats | None
) -> SolverResult:
    """``engine.solve`` in a process of its own.

    Raises:
        UnsupportedError: a memory limit on a system that has none, or what ``engine`` raises.
        InputError: what ``engine`` raises.
    """
    if options.memory_limit is not None and sys.platform == "win32":
        raise UnsupportedError("memory_limit is not available on Windows")
    heeds_stop = bool(getattr(engine, "heeds_stop", True))
    plain = replace(options, stop=None, warm_start=None)  # start has the values
    request = pickle.dumps((engine, compiled, plain, start, heeds_stop))
    worker = _Worker(options)
    try:
        return worker.solve(request, heeds_stop)
    finally:
        worker.end()


class _Worker:
    """The process, and what it says."""

    def __init__(self, options: Options) -> None:
        self.options = options
        paths = [path for path in sys.path if path] + [os.getcwd()] * ("" in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "optsched.solvers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
        self.printed: deque[str] = deque(maxlen=_TAIL)
        self.answers: queue.Queue[bytes | None] = queue.Queue()
        self.readers = [self._thread(self._read_answers), self._thread(self._read_log)]

    def solve(self, request: bytes, heeds_stop: bool) -> SolverResult:
        """Send the request, wait within the limits."""
        self._thread(lambda: self._send(len(request).to_bytes(8, "little") + request))
        stop_by: float | None = None
        kill_by: float | None = None
        while True:
            try:
                if stop_by is None and self.options.stop is not None and self.options.stop.is_set():
                    stop_by = self._ask_to_stop(heeds_stop)
                now = time.perf_counter()
                if stop_by is not None and now > stop_by:
                    return SolverResult(
                        Status.INTERRUPTED, message="did not stop when asked: killed"
                    )
                if kill_by is not None and now > kill_by:
                    said = f"overran its time limit by {GRACE:g} s: killed"
                    return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME, message=said)
                answer = self.answers.get(timeout=_POLL)
            except queue.Empty:
                continue
            except KeyboardInterrupt:
                if stop_by is not None:
                    return SolverResult(Status.INTERRUPTED, message="killed")
                stop_by = self._ask_to_stop(heeds_stop)
                continue
            if answer == STARTED:
                if self.options.time_limit is not None:
                    kill_by = time.perf_counter() + self.options.time_limit + GRACE
            elif answer is None:
                return self._crashed(stopped=stop_by is not None)
            else:
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

    def _ask_to_stop(self, heeds_stop: bool) -> float:
        """Pass the wish on; until when to wait."""
        if not heeds_stop:
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
        self._kill()  # what it has started; its own exit code stands already
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
        memory = killed or any(word.lower() in text.lower() for word in _NO_MEMORY)
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
        first = pipe.readline()
        if first == STARTED:
            self.answers.put(first)
            size = int.from_bytes(_exactly(pipe, 8), "little")
            data = _exactly(pipe, size) if size else b""
            if size and len(data) == size:
                self.answers.put(data)
                return
        self.answers.put(None)

    def _read_log(self) -> None:
        pipe = self.process.stderr
        assert pipe is not None
        for line in pipe:
            text = line.decode(errors="replace").rstrip("\n")
            self.printed.append(text)
            if self.options.log:
                print(text, flush=True)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    return pipe.read(size)


def _unpacked(answer: bytes) -> SolverResult:
    kind, value = pickle.loads(answer)
    if kind == "result":
        assert isinstance(value, SolverResult)
        return value
    failure: Any = value
    raise failure
