"""Compiled loops over arrays that numpy cannot express, and the time of their compilation."""

from optsched.jit.dispatcher import (
    Stopwatch,
    always,
    continued,
    limit_left,
    limited,
    njit_cached,
    njit_rows,
    stopwatch,
)

__all__ = [
    "Stopwatch",
    "always",
    "continued",
    "limit_left",
    "limited",
    "njit_cached",
    "njit_rows",
    "stopwatch",
]
