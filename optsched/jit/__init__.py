"""Loops over arrays that numpy cannot express: compiled functions, and what compiling took."""

from optsched.jit.dispatcher import (
    Stopwatch,
    continued,
    limit_left,
    limited,
    njit_cached,
    stopwatch,
)

__all__ = ["Stopwatch", "continued", "limit_left", "limited", "njit_cached", "stopwatch"]
