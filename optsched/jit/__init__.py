"""Loops over arrays that numpy cannot express: compiled functions, and what compiling took."""

from optsched.jit.dispatcher import (
    Stopwatch,
    always,
    continued,
    limit_left,
    limited,
    njit_cached,
    stopwatch,
)

__all__ = ["Stopwatch", "always", "continued", "limit_left", "limited", "njit_cached", "stopwatch"]
