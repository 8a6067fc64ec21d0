"""Let one process do something while the others wait, such as compiling for all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock on a file, which ends with the process at the latest.

    If the system has no such locks, or the folder cannot be written, nothing is held.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    lock: Any = None
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("a")
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if lock is not None:
            lock.close()
