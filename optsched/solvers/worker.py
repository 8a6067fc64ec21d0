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
from contextlib import suppress
from dataclasses import replace
from typing import IO, Any

from optsched.errors import InputError, ModelError
from optsched.solvers.backend import SolverResult
from optsched.solvers.isolation import STARTED
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status


def main() -> None:
    """Solve one request."""
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # solvers write to descriptor 1 themselves
    size = int.from_bytes(source.read(8), "little")
    data = source.read(size)
    target.write(STARTED)
    target.flush()
    answer = _answer(data, source)
    _flush()
    target.write(len(answer).to_bytes(8, "little") + answer)
    target.flush()
    os._exit(0)  # whatever a solver has left running


def _answer(data: bytes, source: IO[bytes]) -> bytes:
    try:
        engine, compiled, options, start, heeds_stop = pickle.loads(data)
        stop = threading.Event()
        threading.Thread(target=_listen, args=(source, stop), daemon=True).start()
        _limit_memory(options)
        settings: dict[str, Any] = {"isolate": False, "memory_limit": None}
        if heeds_stop:
            settings["stop"] = stop
        result = engine.solve(compiled, replace(options, **settings), start)
        return pickle.dumps(("result", result))
    except MemoryError as failure:
        result = SolverResult(Status.ERROR, limit=Limit.MEMORY, message=f"MemoryError: {failure}")
        return pickle.dumps(("result", result))
    except (InputError, ModelError) as failure:
        return pickle.dumps(("failure", failure))
    except Exception as failure:
        result = SolverResult(Status.ERROR, message=f"{type(failure).__name__}: {failure}")
        return pickle.dumps(("result", result))


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


def _limit_memory(options: Options) -> None:
    """Limit what the process may write to, not what it merely reserves or maps from files."""
    if options.memory_limit is None:
        return
    import resource

    size = int(options.memory_limit * 2**30)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size, most))


if __name__ == "__main__":
    main()
