"""The process behind ``isolate=True``; run as ``python -m optsched.solvers.worker``.

It reads one request from standard input, its length first, and afterwards the word "stop", or
nothing more: where standard input ends, the caller has gone, and so does this process. The
answer goes to standard output; all that solvers print goes to standard error.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import IO, Any

from optsched.errors import InputError, ModelError, words
from optsched.solvers.backend import SolverResult
from optsched.solvers.isolation import Request, lacks_memory
from optsched.solvers.solution import Limit, Status


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
        told = stop if request.heeds_stop else None
        return pickle.dumps(("result", request.task(told, _seconds(request))))
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


if __name__ == "__main__":
    main()
