"""When two numbers count as equal: what makes decisions robust to rounding.

Prices and priorities tie within a relative ``TIE``; moments tie within ``slack``. A tie between
edge and cloud goes to the edge, between workers to the lowest index, between chunks of equal
density to the one that reached the worker first.
"""

from __future__ import annotations

from typing import TypeVar

from formulations.preemptive.instance import Floats
from optsched.jit import njit_cached

Moment = TypeVar("Moment", float, Floats)

TIE = 1e-9
"""Relative difference up to which two prices, densities or amounts of work count as equal."""

_ROUNDING = 1e-15  # a few units in the last place of a moment


@njit_cached
def slack(duration: Moment, moment: Moment) -> Moment:
    """How far apart two moments may lie and still be one (slots).

    Args:
        duration: length of the chunk or interval at stake, slots.
        moment: where on the time axis, slots.
    """
    return TIE * duration + _ROUNDING * moment
