"""The end of column generation at a node: its status, its bound, and the limits."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from enum import StrEnum

from optsched.decomposition.columns import Duals
from optsched.decomposition.master import MasterPoint, Phase


class Outcome(StrEnum):
    """How column generation at a node ended."""

    CONVERGED = "converged"
    """The relaxation is solved, or its bound can no longer matter."""
    CUT_OFF = "cut_off"
    """No solution of the node is better than the one in hand."""
    INFEASIBLE = "infeasible"
    """Proven: no choice of columns satisfies the node."""
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    STOPPED = "stopped"
    OPEN = "open"
    """Pricing gave no bound when an exact one was needed, or the master problem failed."""


@dataclass(frozen=True)
class Iteration:
    """One round of master problem and pricing."""

    node: int
    phase: Phase
    value: float
    """Optimum of the master problem over the columns known."""
    bound: float | None
    """Lagrangian bound of this round's prices on the node; None in the feasibility phase."""
    columns: int
    """Columns added."""


@dataclass(frozen=True, eq=False)
class NodeResult:
    """What is known of a node."""

    outcome: Outcome
    bound: float
    """Proven lower bound on every integer solution of the node."""
    point: MasterPoint | None
    """A fractional solution that satisfies the rows; None if none is known."""
    duals: Duals | None = None
    """At which the bound was proven, terms left out; None if it was proven otherwise."""
    value: float = -math.inf
    """Lagrangian value of ``duals``, which the bound may be rounded up from; -inf if terms were
    part of it."""


@dataclass
class Budget:
    """What is left of time and iterations, over the whole solve."""

    deadline: float = math.inf
    """In ``time.perf_counter`` seconds."""
    iterations: float = math.inf
    stop: threading.Event | None = None

    @property
    def seconds(self) -> float:
        """Wall time left, not negative."""
        return max(0.0, self.deadline - time.perf_counter())

    @property
    def spent(self) -> Outcome | None:
        """Why to end now, if there is a reason."""
        if self.stop is not None and self.stop.is_set():
            return Outcome.STOPPED
        return Outcome.LIMIT if self.seconds <= 0 or self.iterations <= 0 else None

    def within(self, seconds: float) -> Budget:
        """The same, but ending in so many seconds at the latest."""
        deadline = min(self.deadline, time.perf_counter() + seconds)
        return Budget(deadline, self.iterations, self.stop)
