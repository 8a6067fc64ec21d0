"""What machine code is made from, by which it is found on disk."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np

CONSTANT = bool, int, float, str, tuple
"""What a module may name for machine code to be made of."""

KEPT = (*CONSTANT, np.ndarray, np.generic, np.dtype)
"""Values of a module that the digest of its functions depends on."""


class Digested(Protocol):
    """A function to be compiled that knows what it is made from."""

    digest: str


def ingredients(function: Callable[..., Any], compiled: type[Digested]) -> list[str]:
    """What the machine code of a function depends on; numba itself looks at its file only.

    Args:
        function: as its module is imported: what is defined below it does not count.
        compiled: class of the functions that it calls.
    """
    found = [_numba_version(), file_digest(function.__code__.co_filename)]
    named = function.__globals__
    for name in sorted(named):
        value = named[name]
        if isinstance(value, compiled):
            found.append(value.digest)
        elif isinstance(value, type | ModuleType):
            found += _class_files(value)
        elif not name.startswith("__"):
            found.append(f"{name} = {_constant(value)}" if isinstance(value, KEPT) else name)
    return found


@cache
def _class_files(value: type | ModuleType) -> list[str]:
    """Digests of the files of a class or module, and of those that named tuples may hold.

    Machine code has the order of a named tuple's fields in it, of which numba knows the class's
    name and the fields' types.
    """
    digests, seen, ahead = [], set(), [value]
    while ahead:
        one = ahead.pop()
        of = one.__name__ if isinstance(one, ModuleType) else one.__module__
        if of in seen:
            continue
        module = sys.modules.get(of)
        digests.append(file_digest(getattr(module, "__file__", None) or ""))
        if hasattr(one, "_fields"):
            seen.add(of)
            named = vars(module)
            ahead += [
                named[name] for name in sorted(named) if isinstance(named[name], type | ModuleType)
            ]
    return digests


def _constant(value: Any) -> str:
    """A value that machine code may have in it; "" for what it cannot."""
    if isinstance(value, tuple):
        return ", ".join(map(_constant, value))
    if isinstance(value, np.ndarray):
        return f"{value.dtype!r} {value.shape} {value.tobytes().hex()}"
    return repr(value) if isinstance(value, KEPT) else ""


@cache
def _numba_version() -> str:
    return version("numba")


@cache
def source(path: str) -> str:
    """The text of a file; "" if there is none."""
    file = Path(path)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


@cache
def file_digest(path: str) -> str:
    """The digest of a Python file as its module was imported; that of "" if there is none."""
    return hashlib.sha256((source(path) if path.endswith(".py") else "").encode()).hexdigest()
