"""The one door to the compiler: loops over arrays that numpy cannot say without loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile at the first call, once per signature, and keep the machine code on disk.

    The function takes and returns arrays and numbers only. What was written remains as its
    attribute ``py_func``.
    """
    return cast(Function, njit(cache=True)(function))
