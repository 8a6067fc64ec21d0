"""Options and result of branch and price."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from optsched.decomposition.branching import INTEGRAL
from optsched.decomposition.columns import Column, ColumnBlock, Duals, Price, Rank
from optsched.decomposition.nodes import Iteration
from optsched.decomposition.primal import ColumnChoice
from optsched.decomposition.rows import CutRow, Split
from optsched.errors import FieldProblem, InputError
from optsched.model.expression import Floats
from optsched.solvers.deadline import Deadline
from optsched.solvers.registry import backend
from optsched.solvers.solution import Limit, Solution, Status, relative_gap


class ColumnProblem(Protocol):
    """What branch-and-price is given; see :class:`optsched.decomposition.ColumnGeneration`."""

    lower: Floats
    upper: Floats
    blocks: tuple[ColumnBlock, ...]
    price: Price
    initial: tuple[Column, ...]
    known: tuple[Column, ...]
    branching: int
    rank: Rank
    separate: Separate | None
    splits: Splits | None


@dataclass(frozen=True)
class GenerationOptions:
    """How to generate and to search. The defaults ask for a proof, without a limit.

    Raises:
        InputError: a value out of range.
    """

    time_limit: float | None = None
    """Wall seconds; None: no limit. It is looked at before each block is priced; pricing of one
    that is under way is not cut short."""
    node_limit: int | None = None
    iteration_limit: int | None = None
    """Rounds of pricing, over all nodes."""
    gap: float = 0.0
    """Relative gap |objective - bound| / |objective| at which the search may stop; of a relaxation
    asked for alone, |value - bound| / |value|."""
    absolute_gap: float = 0.0
    integral_objective: bool = False
    """Whether every integer solution has a whole cost, so that bounds may be rounded up."""
    smoothing: float = 0.5
    """Weight of the best prices against the master problem's in pricing; 0: no smoothing."""
    dive_every: int | None = 25
    """A dive at the root and every so many nodes; None: never."""
    master_every: int | None = 50
    """The master problem over the columns known solved as an integer program at the root and
    every so many nodes; None: never."""
    heuristic_seconds: float = 10.0
    """Longest time of one such solve or dive."""
    cutoff: float = math.inf
    """Solutions of this cost or more are of no interest; if there is no other, none is returned,
    and the bound is no larger."""
    cut_gain: float = 0.01
    """Rounds of cuts at a node end once the last three gained no more than this part of what is
    left between the relaxation's value and the incumbent (or, without one, of the value)."""
    stop: threading.Event | None = None
    """Set it from another thread to end with what is known so far."""
    on_progress: Callable[[float, ColumnChoice | None], object] | None = None
    """Told a proven lower bound, once there is one, and the best solution at each step, new or not;
    what it returns does not count."""

    def __post_init__(self) -> None:
        problems = []
        for name in ("time_limit", "heuristic_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                problems.append(FieldProblem(name, value, "seconds > 0"))
        for name in ("node_limit", "iteration_limit", "dive_every", "master_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                problems.append(FieldProblem(name, value, "an integer >= 1, or None"))
        for name in ("gap", "absolute_gap", "cut_gain"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                problems.append(FieldProblem(name, value, "a finite number >= 0"))
        if math.isnan(self.cutoff):
            problems.append(FieldProblem("cutoff", self.cutoff, "a number"))
        if not 0 <= self.smoothing < 1:
            problems.append(FieldProblem("smoothing", self.smoothing, "0 <= smoothing < 1"))
        if problems:
            raise InputError(problems)


@dataclass(frozen=True, eq=False)
class ColumnSolution:
    """The outcome: what is proven beside what is known."""

    status: Status
    objective: float | None = None
    """Cost of the columns chosen."""
    bound: float | None = None
    """Proven lower bound on the optimum; None if nothing finite is proven."""
    chosen: tuple[tuple[Column, float], ...] = field(default=(), repr=False)
    """Columns and how often each is used; whole numbers unless the relaxation was asked for."""
    limit: Limit | None = None
    root_bound: float | None = None
    """Proven lower bound before branching."""
    duals: Duals | None = field(default=None, repr=False)
    """At which the bound was proven; if the relaxation alone was asked for."""
    nodes: int = 0
    columns: int = 0
    """Columns known in the end."""
    iterations: tuple[Iteration, ...] = field(default=(), repr=False)
    seconds: float = 0.0
    message: str = ""

    @property
    def gap(self) -> float | None:
        """|objective - bound| / max(1, |objective|); None unless both are known."""
        return relative_gap(self.objective, self.bound)

    @property
    def prices(self) -> Floats | None:
        """Dual values of the rows, shape (rows,); see ``duals``."""
        return None if self.duals is None else self.duals.rows

    @property
    def whole(self) -> bool:
        """Whether every column is used a whole number of times."""
        return all(abs(number - round(number)) <= INTEGRAL for _, number in self.chosen)

    @property
    def incumbent(self) -> ColumnChoice | None:
        """The columns chosen, with what they cost; None if there are none."""
        return None if self.objective is None else ColumnChoice(self.chosen, self.objective)

    def solution(self, *, scale: float = 1.0, constant: float = 0.0) -> Solution:
        """The outcome as of a solve, values ``scale * value + constant``; columns are left out.

        Args:
            scale: -1 if the model maximises what the columns cost.
            constant: what columns do not cost.
        """
        value, bound = (
            None if v is None else scale * v + constant for v in (self.objective, self.bound)
        )
        return Solution(
            self.status,
            objective=value,
            bound=bound,
            limit=self.limit,
            seconds=self.seconds,
            nodes=self.nodes,
            solver="highs",
            version=backend("highs").version(),
            message=self.message,
        )


Separate: TypeAlias = Callable[[ColumnSolution, Deadline], Sequence[CutRow]]
"""Rows that a point violates; exact at whole points. See ``ColumnGeneration``."""

Splits: TypeAlias = Callable[[ColumnSolution], Sequence[Split]]
"""Sums to branch on at a fractional point."""


def merged(options: GenerationOptions | None, settings: Mapping[str, Any]) -> GenerationOptions:
    """Options with single fields changed.

    Raises:
        InputError: no such field, or a value out of range.
    """
    known = GenerationOptions.__dataclass_fields__
    for name, value in settings.items():
        if name not in known:
            raise InputError.of(name, value, "not an option; there are: " + ", ".join(known))
    return replace(options or GenerationOptions(), **settings)
