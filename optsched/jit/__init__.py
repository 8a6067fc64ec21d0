"""Compiled loops over arrays that numpy cannot express, and the time of their compilation."""

from optsched.jit.clock import Stopwatch, continued, limit_left, limited, stopwatch
from optsched.jit.dispatcher import always, njit_cached, njit_rows

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
