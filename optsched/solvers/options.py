"""Options of a solve: a back end supports each of them, or refuses it by name."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from optsched.errors import FieldProblem, InputError
from optsched.solvers.solution import Listener

Profile = Literal["default", "tiny"]
PROFILES: tuple[str, ...] = get_args(Profile)


@dataclass(frozen=True)
class Options:
    """Limits and tolerances of a solve. The defaults ask for a proof: both gaps zero, no limit.

    Raises:
        InputError: a value out of range.

    Example:
        >>> from optsched import Options
        >>> Options(time_limit=60, gap=0.01).gap
        0.01
    """

    time_limit: float | None = None
    """Wall seconds; None: no limit. ``solve`` returns after at most 1.2 times the limit and 2 s.

    If the solver overruns, a large model's process is killed; a small model runs on a thread, which
    is abandoned. The limit also holds for the building of a model and for a method's search: the
    answer is what was found by then. Compile time counts; if there is no time to compile, code is
    interpreted or its step left out."""
    gap: float = 0.0
    """Relative gap, |objective - bound| / |objective|, at which the solver may stop."""
    absolute_gap: float = 0.0
    """Absolute gap at which the solver may stop, in units of the objective."""
    threads: int = 1
    seed: int = 0
    warm_start: Mapping[str, NDArray[np.float64]] | None = None
    """Values by variable name, as a hint: they need not be feasible, and blocks may be missing."""
    stop: threading.Event | None = None
    """Set it from another thread to end the solve with what is known so far. If a method ignores
    it, the method is interrupted within two seconds, and abandoned if it still does not end."""
    on_progress: Listener | None = None
    """Called with each better point, and by some solvers with each better bound, on a thread of
    the solver. If it returns something true, the solve ends as by ``stop``. A solver that reports
    no progress refuses it."""
    profile: Profile = "default"
    """"tiny" is for many models of a few dozen variables: a back end that supports it leaves out
    steps that would take longer than the solve, such as listening to Ctrl-C."""
    log: bool = False
    """Show the solver's own log."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Options under the solver's own names, for experts; an unknown one is an error."""
    isolate: bool = False
    """Solve in a separate process, which takes about a second more. A crash is then an error and
    does not end this process; a solver that does not support ``stop`` or Ctrl-C is killed."""
    memory_limit: float | None = None
    """Memory in GiB of the separate process; implies ``isolate``; None: no limit."""

    def __post_init__(self) -> None:
        problems = []
        if self.time_limit is not None and not self.time_limit > 0:
            problems.append(FieldProblem("time_limit", self.time_limit, "seconds > 0, or None"))
        for name in ("gap", "absolute_gap"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                problems.append(FieldProblem(name, value, "a finite number >= 0"))
        if not 1 <= self.threads < 2**31:
            problems.append(FieldProblem("threads", self.threads, "an integer >= 1 and < 2^31"))
        if self.profile not in PROFILES:
            allowed = "one of " + ", ".join(PROFILES)
            problems.append(FieldProblem("profile", self.profile, allowed))
        thread = self.stop is not None or self.on_progress is not None
        if self.profile == "tiny" and (thread or self.threads != 1):
            given = "with a stop event" if self.stop is not None else f"threads={self.threads}"
            given = "with on_progress" if self.on_progress is not None else given
            allowed = f'"default", as {given} needs a separate thread'
            problems.append(FieldProblem("profile", self.profile, allowed))
        if not 0 <= self.seed < 2**31:
            problems.append(FieldProblem("seed", self.seed, "an integer in 0..2^31-1"))
        if self.memory_limit is not None and not self.memory_limit > 0:
            problems.append(FieldProblem("memory_limit", self.memory_limit, "GiB > 0, or None"))
        if self.on_progress is not None and (self.isolate or self.memory_limit is not None):
            allowed = "None where a separate process solves, which cannot call it"
            problems.append(FieldProblem("on_progress", self.on_progress, allowed))
        if problems:
            raise InputError(problems)
        if self.memory_limit is not None:
            object.__setattr__(self, "isolate", True)


def merged(options: Options | None, settings: Mapping[str, Any]) -> Options:
    """Options with single fields replaced.

    Raises:
        InputError: a field that does not exist, or a value out of range.
    """
    known = Options.__dataclass_fields__
    for name, value in settings.items():
        if name not in known:
            raise InputError.of(name, value, "not an option; there are: " + ", ".join(known))
    return Options(**settings) if options is None else replace(options, **settings)
