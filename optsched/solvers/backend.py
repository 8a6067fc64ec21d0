"""The interface of a back end, which turns a compiled model into a result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol, TypeAlias

from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, ProgressPoint, Status

if TYPE_CHECKING:
    from optsched.model.expression import Floats
    from optsched.model.matrix_form import MatrixForm


@dataclass(frozen=True, eq=False)
class SolverResult:
    """A solver's answer before the model has checked it, in the caller's sense and units."""

    status: Status
    x: Floats | None = None
    """Best point, shape (columns,)."""
    bound: float | None = None
    """Proven bound on the objective, offset included."""
    limit: Limit | None = None
    row_duals: Floats | None = None
    """Shape (rows,): change of the optimum per unit of right-hand side."""
    reduced_costs: Floats | None = None
    """Shape (columns,)."""
    nodes: int | None = None
    scaling_error: float = 0.0
    """Objective units; ``bound`` already allows for it."""
    message: str = ""
    trajectory: tuple[ProgressPoint, ...] = ()
    """The steps that it reported on the way, by ``time.time()``; kept by the caller."""


class Feature(StrEnum):
    """What a back end supports. It refuses the rest with ``UnsupportedError`` before it solves."""

    INTEGERS = "integer variables"
    """Stated as such, or brought in by lowering a block."""
    CONTINUOUS = "continuous variables"
    UNBOUNDED = "variables without a finite bound"
    PROOF = "proof"
    """Without a limit a solve ends with a proof. Without this feature it may end earlier."""
    STOP = "stop"
    """A solve ends soon after ``options.stop`` is set, and after Ctrl-C."""
    PROGRESS = "on_progress"
    """``options.on_progress`` is called with each better point or bound."""
    EXACT_COSTS = "exact costs"
    """Costs that nearly tie are told apart, so they are handed over as they are."""


MIXED_INTEGER = frozenset({Feature.INTEGERS, Feature.CONTINUOUS, Feature.UNBOUNDED, Feature.PROOF})
"""What a solver of mixed-integer linear models supports."""


class Backend(Protocol):
    """One solver. A class that derives from this one is its own ``family``."""

    @property
    def name(self) -> str:
        """The word users say."""

    @property
    def features(self) -> frozenset[Feature]:
        """What it supports."""

    @property
    def native(self) -> frozenset[str]:
        """Kinds of nonlinear block it takes as they are."""

    @property
    def family(self) -> str:
        """Whose code it runs. Back ends of one family are no witnesses for each other."""
        return self.name

    def version(self) -> str:
        """Version of the solver found, raising ImportError if there is none."""

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` holds a value per column, NaN if there is none."""


Solver: TypeAlias = str | Backend
"""A back end's name, or a back end of your own."""


@lru_cache
def package_version(package: str) -> str:
    """Version of an installed package; looked up on disk once, as that takes a small solve's time.

    Raises:
        PackageNotFoundError: there is none.
    """
    return version(package)
