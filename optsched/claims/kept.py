"""What a sweep measured, kept on disk row by row, so that a run that was killed goes on."""

from __future__ import annotations

import hashlib
import inspect
import json
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

from optsched import __version__
from optsched.claims.claim import Sweep
from optsched.errors import InputError

_GROUPS = ("optsched.problems", "optsched.heuristics", "optsched.claims")
_LIBRARIES = ("numpy", "scipy", "numba", "highspy", "ortools")

Rows = list[dict[str, Any]]


class Kept:
    """A file of measurements (SQLite); each is safe as soon as ``put`` returns."""

    def __init__(self, path: Path) -> None:
        """Open the file, or begin it.

        Raises:
            InputError: it is no such file.
        """
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._base = sqlite3.connect(path, timeout=60.0)
            with self._base:
                self._base.execute(
                    "CREATE TABLE IF NOT EXISTS measurement"
                    " (key TEXT PRIMARY KEY, sweep TEXT, task TEXT, rows TEXT, seconds REAL)"
                )
        except sqlite3.Error as error:
            raise InputError.of("--keep", str(path), f"a file of measurements ({error})") from None

    def get(self, key: str) -> tuple[Rows, float] | None:
        """Rows and wall seconds under a key; None where there are none."""
        found = self._base.execute(
            "SELECT rows, seconds FROM measurement WHERE key = ?", (key,)
        ).fetchone()
        return None if found is None else (json.loads(found[0]), found[1])

    def put(
        self, key: str, sweep: Sweep, task: Mapping[str, Any], rows: Rows, seconds: float
    ) -> None:
        """Keep rows under a key."""
        texts = (key, sweep.name, json.dumps(task, sort_keys=True), json.dumps(rows), seconds)
        with self._base:
            self._base.execute("INSERT OR REPLACE INTO measurement VALUES (?, ?, ?, ?, ?)", texts)

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()


def key(sweep: Sweep, task: Mapping[str, Any]) -> str:
    """Digest of everything that may change what is measured: task, code, libraries."""
    what = [sweep.name, sweep.measure.__qualname__, dict(task), _code(sweep.measure)]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def plain_rows(rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Rows as they come back from disk: Python's own numbers and texts.

    Raises:
        TypeError: something else is in them.
    """
    text = json.dumps([dict(row) for row in rows], default=lambda number: number.item())
    loaded: Rows = json.loads(text)
    return loaded


@cache
def _code(measure: Callable[..., Any]) -> str:
    """Digest of the code a measurement reaches in packages that announce problems or claims."""
    from optsched.evaluation.code_digest import digest

    own = {_top(entry.module) for group in _GROUPS for entry in entry_points(group=group)}
    own.add(_top(measure.__module__))
    named = vars(sys.modules[measure.__module__]).values()
    # what the module imports from the other packages leads to their files, too
    parts = [
        value
        for value in named
        if (inspect.isfunction(value) or inspect.isclass(value)) and _top(value.__module__) in own
    ]
    libraries = [f"{name} {_version(name)}" for name in _LIBRARIES]
    return " ".join([digest([measure, *parts]), __version__, *libraries])


def _top(module: str) -> str:
    return module.partition(".")[0]


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"
