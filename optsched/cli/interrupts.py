"""Ctrl-C ends a command within seconds, whatever it does."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from optsched.cli.console import INTERRUPTED, say

SECONDS = 2.7
"""After which a command that was interrupted is ended, whatever it is at."""


@contextmanager
def heard() -> Iterator[None]:
    """Let the work within end by itself on Ctrl-C, and end the process if it does not.

    The work hears KeyboardInterrupt as ever, but not while a call into C keeps the main thread
    busy. A thread hears the signal in any case. A second Ctrl-C ends the process at once. Once
    there was a first one, the process ends with the work: solvers that run on behind, and what
    waits for them, allow no orderly end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    once = threading.Event()
    threading.Thread(target=_listen, args=(ours, once), daemon=True).start()
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    try:
        yield
    except SystemExit as end:
        if once.is_set():
            _leave(end.code if isinstance(end.code, int) else INTERRUPTED)
        raise
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()


def _listen(ours: socket.socket, once: threading.Event) -> None:
    """Wait for the signal, and from then on for the end."""
    end: float | None = None
    while True:
        ours.settimeout(None if end is None else max(1e-3, end - time.monotonic()))
        try:
            received = ours.recv(1)
        except TimeoutError:
            break
        if not received:
            return
        if received[0] == signal.SIGINT:
            if once.is_set():
                break
            once.set()
            end = time.monotonic() + SECONDS
            say("stopping with what is known; Ctrl-C again ends at once")
    _leave(INTERRUPTED)


def _leave(status: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
