"""What every back end honours, or refuses in words."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import FieldProblem, InputError


@dataclass(frozen=True)
class Options:
    """How to solve. The defaults ask for a proof: both gaps zero, no limit.

    Raises:
        InputError: a value out of range.
    """

    time_limit: float | None = None
    """Wall seconds; None: no limit."""
    gap: float = 0.0
    """Relative gap |objective - bound| / |objective| at which the solver may stop."""
    absolute_gap: float = 0.0
    """Absolute gap at which the solver may stop, in objective units."""
    threads: int = 1
    seed: int = 0
    warm_start: Mapping[str, NDArray[np.float64]] | None = None
    """Values by variable name; blocks may be missing. A hint: it need not be feasible."""
    stop: threading.Event | None = None
    """Set it from another thread to end the solve with what is known so far."""
    log: bool = False
    """Show the solver's own log."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Options under the solver's own names, for experts; an unknown one is an error."""

    def __post_init__(self) -> None:
        problems = []
        if self.time_limit is not None and not self.time_limit > 0:
            problems.append(FieldProblem("time_limit", self.time_limit, "seconds > 0, or None"))
        for name in ("gap", "absolute_gap"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                problems.append(FieldProblem(name, value, "a finite number >= 0"))
        if self.threads < 1:
            problems.append(FieldProblem("threads", self.threads, "an integer >= 1"))
        if not 0 <= self.seed < 2**31:
            problems.append(FieldProblem("seed", self.seed, "an integer in 0..2^31-1"))
        if problems:
            raise InputError(problems)
