"""The one door to the compiler: loops over arrays that numpy cannot say without loops."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_digests: dict[int, str] = {}  # of compiled functions, by identity; they live as long as we do


def njit_cached(function: Function) -> Function:
    """Compile at the first call, once per signature, and keep the machine code on disk.

    The function takes and returns arrays and numbers only. What was written remains as its
    attribute ``py_func``. Machine code is used again only while everything it was made from is
    the same: the file the function is in, those of the compiled functions and classes it imports,
    and the constants of its module.
    """
    digest = _digest(function)
    settings: Any = numba.config
    given = settings.CACHE_DIR
    folder = given or os.path.join(os.path.dirname(function.__code__.co_filename), "__pycache__")
    settings.CACHE_DIR = os.path.join(folder, f"compiled-{digest[:16]}")
    try:
        made = numba.njit(cache=True)(function)
    finally:
        settings.CACHE_DIR = given
    _digests[id(made)] = digest
    return cast(Function, made)


def _digest(function: Callable[..., Any]) -> str:
    return hashlib.sha256("\n".join(_ingredients(function)).encode()).hexdigest()


def _ingredients(function: Callable[..., Any]) -> Iterator[str]:
    """What the machine code of a function depends on; numba itself looks at its file only."""
    yield _source(function.__code__.co_filename)
    package = function.__module__.partition(".")[0]
    for name, value in sorted(function.__globals__.items(), key=lambda item: item[0]):
        if name.startswith("__"):
            continue
        if id(value) in _digests:
            yield _digests[id(value)]
        elif isinstance(value, type) and value.__module__.partition(".")[0] == package:
            yield _source(getattr(sys.modules[value.__module__], "__file__", None) or "")
        elif isinstance(value, bool | int | float | str | tuple):
            yield f"{name} = {value!r}"


@cache
def _source(path: str) -> str:
    """The text of a file; "" where there is none."""
    file = Path(path)
    return file.read_text(encoding="utf-8") if file.is_file() else ""
