"""What a back end is: one file that turns a compiled model into a result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Protocol, TypeAlias

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, ProgressPoint, Status


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
    """The steps it told of on the way, by ``time.time()``; kept by the caller."""


class Backend(Protocol):
    """One solver.

    Whatever it cannot honour it refuses with ``UnsupportedError`` before solving; by a method
    ``refuse(compiled)``, if it has one, before a process is started for it. An attribute
    ``family`` names whose code it runs, where that is not its own; ``tells_progress``, if true,
    that it calls ``options.on_progress`` with each better point or bound while it solves. A method
    ``careful(options)`` gives the options under which a linear program is solved again whose point
    breaks a row.
    """

    @property
    def name(self) -> str:
        """The word users say."""

    @property
    def native(self) -> frozenset[str]:
        """Kinds of nonlinear block it takes as they are."""

    def version(self) -> str:
        """Version of the solver found, raising ImportError where there is none."""

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` holds a value per column, NaN where there is none."""


Solver: TypeAlias = str | Backend
"""A back end's name, or a back end of your own."""


@lru_cache
def package_version(package: str) -> str:
    """Version of an installed package; looked up on disk once, as that takes a small solve's time.

    Raises:
        PackageNotFoundError: there is none.
    """
    return version(package)
