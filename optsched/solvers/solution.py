"""The solution of a solve: status, point, bound, duals, trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from optsched.model.expression import Expression
    from optsched.model.labels import Labelled, Labels


class Status(StrEnum):
    """How a solve, or a run of a method in a study, ended.

    ======================= ======================================= ============================
    word                    incumbent                               bound
    ======================= ======================================= ============================
    optimal                 known                                   meets the incumbent
    feasible                known                                   none, or apart from it
    no_solution             none yet                                none, or proven
    infeasible              proven: there is none                   --
    unbounded               --                                      proven: there is none
    infeasible_or_unbounded proven: no optimum                      proven: no optimum
    interrupted             the best so far, if any                 none, or proven
    error                   refused                                 refused
    disagreement            contradicted by the bound               contradicted
    done                    a heuristic's schedule, checked         a bound's value
    violated                refused: it breaks the problem          none
    sees the future         refused: it is not online               none
    timeout, out of memory  none                                    none
    not measured            none: there is nothing to measure       none
    ======================= ======================================= ============================

    Only runs of a study end with "done" or one of those below it. A run that proves an optimum in
    exact arithmetic is "optimal" if it succeeds and "feasible" if not; it is "no_solution" if
    there is no optimum to prove.

    Example:
        >>> from optsched import Model, Status, solve
        >>> m = Model()
        >>> m.add("never", m.binary("b") >= 2)
        >>> solve(m).status is Status.INFEASIBLE
        True
    """

    OPTIMAL = "optimal"
    """A point is known and proven best: primal value and dual bound meet."""
    FEASIBLE = "feasible"
    """A point is known, not proven best: a limit or a gap asked for was reached."""
    NO_SOLUTION = "no_solution"
    """A limit was reached before any point was found; nothing is proven about feasibility."""
    INFEASIBLE = "infeasible"
    """Proven: no point satisfies the model."""
    UNBOUNDED = "unbounded"
    """Proven: the objective has no bound."""
    INFEASIBLE_OR_UNBOUNDED = "infeasible_or_unbounded"
    """Proven: there is no finite optimum; the solver does not say which of the two it is."""
    INTERRUPTED = "interrupted"
    """Stopped from outside; ``values`` holds the best point found, if any."""
    ERROR = "error"
    """The solver failed, or its answer failed the check; see ``message``."""
    DISAGREEMENT = "disagreement"
    """Two solvers, or a solver and a proof, contradict each other; see ``message``."""
    DONE = "done"
    """A heuristic's schedule passes the checker, or a bound or a sweep is computed."""
    VIOLATED = "violated"
    """A heuristic's schedule fails the checker."""
    FORESEES = "sees the future"
    """A heuristic announced as online makes decisions that depend on later jobs."""
    TIMEOUT = "timeout"
    """A heuristic was ended at its time limit."""
    OUT_OF_MEMORY = "out of memory"
    """A heuristic was ended at its memory limit."""
    UNMEASURED = "not measured"
    """A sweep has nothing to measure."""


FAILED = frozenset(
    {
        *(Status.VIOLATED, Status.ERROR, Status.TIMEOUT, Status.OUT_OF_MEMORY),
        *(Status.DISAGREEMENT, Status.INFEASIBLE, Status.UNBOUNDED, Status.FORESEES),
    }
)
"""Statuses of runs that a person must look at."""


class Limit(StrEnum):
    """What stopped a solve before its proof was complete."""

    TIME = "time"
    GAP = "gap"
    NODES = "nodes"
    MEMORY = "memory"


class ProgressPoint(NamedTuple):
    """The state of a solve at some time, as the solver reported it."""

    seconds: float
    """Wall time since work on the model started."""
    bound: float | None
    """Proven bound on the optimum; None: none yet."""
    objective: float | None
    """Value of the best point so far; None: none yet."""


@dataclass(frozen=True, eq=False)
class Progress:
    """The state of a solve, as ``on_progress`` gets it."""

    bound: float | None
    """Proven bound on the optimum; None: none yet."""
    objective: float | None
    """Value of the best point so far, not checked by the model; None: none yet."""
    x: NDArray[np.float64] | None = field(default=None, repr=False)
    """A new best point, in the columns that the solver was given."""
    seconds: float = 0.0
    """Wall time since work on the model started."""
    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    """The new best point by variable name; empty if only the bound is new."""

    @property
    def gap(self) -> float | None:
        """|objective - bound| / max(1, |objective|); None unless both are known."""
        return relative_gap(self.objective, self.bound)


Listener: TypeAlias = Callable[[Progress], object]
"""A function that gets the progress of a solve, and ends it by returning something true."""


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """|objective - bound| / max(1, |objective|); None unless both are known."""
    if objective is None or bound is None:
        return None
    return abs(objective - bound) / max(1.0, abs(objective))


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of one solve: status, best point, objective, and proven bound.

    Example:
        >>> from optsched import Model, solve
        >>> m = Model()
        >>> x = m.integer("x", 2, upper=3)
        >>> m.maximize(x.sum())
        >>> solution = solve(m)
        >>> solution.objective, solution.bound, solution["x"].tolist()
        (6.0, 6.0, [3.0, 3.0])
    """

    status: Status
    objective: float | None = None
    """Value of the returned point, recomputed by the model; None without a point."""
    bound: float | None = None
    """Proven bound on the optimum: a lower one when minimising, an upper one when maximising."""
    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    """Values by variable name, in the variable's shape; empty without a point."""
    duals: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    """Dual values of a linear program by block: change of the optimum per unit of right side."""
    reduced_costs: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    """Reduced costs of a linear program by variable name."""
    labels: Mapping[str, Labels] = field(default_factory=dict, repr=False)
    """Labels of variables declared with ``coords``, by name."""
    row_labels: Mapping[str, Labels] = field(default_factory=dict, repr=False)
    """Labels of constraint blocks, by name."""
    limit: Limit | None = None
    """What stopped the solve early, if anything did."""
    checked: bool = False
    """Whether the model itself evaluated the point and found it feasible."""
    scaling_error: float = 0.0
    """Largest error that rounding the data for the solver can have caused, in units of the
    objective; ``bound`` allows for it."""
    seconds: float = 0.0
    """Wall time in the solver, with the conversion of the model."""
    nodes: int | None = None
    """Branch-and-bound nodes or conflicts, if the solver counts them."""
    trajectory: tuple[ProgressPoint, ...] = field(default=(), repr=False)
    """(seconds, bound, objective) at each better point or bound that the solver reported, and at
    the end; only at the end if it reports none (see ``Options.on_progress``)."""
    solver: str = ""
    version: str = ""
    message: str = ""
    """What else a reader should know, such as why there is no proof."""
    proof: Mapping[str, Any] | None = field(default=None, repr=False)
    """The proof that no point is better than ``proof["bound"]``, if one was asked for and found.
    ``optsched.proof.verify`` checks it in exact arithmetic."""

    def __getitem__(self, name: str | Expression | Labelled) -> Any:
        """Return the values of a variable block, by its name, or of an expression of the model.

        They are an array; with labels, a Series, a DataFrame or (from three axes on) a DataArray.

        Example:
            >>> from optsched import Model, solve
            >>> m = Model()
            >>> x = m.integer("x", 2, upper=[3, 4])
            >>> m.maximize(x.sum())
            >>> solve(m)[2 * x + 1].tolist()
            [7.0, 9.0]

        Raises:
            KeyError: no such block, or the solve found no point.
            ModelError: the expression is in variables that the model did not have.
        """
        if not isinstance(name, str):
            return self._at(name)
        if name not in self.values:
            known = ", ".join(self.values) or f"none: the solve ended {self.status}"
            raise KeyError(f"no values for {name!r}; there are: {known}")
        return _labelled(self.values[name], self.labels.get(name))

    def _at(self, expression: Expression | Labelled) -> Any:
        """Return the values of an expression."""
        from optsched.model.expression import Expression
        from optsched.model.labels import Labelled

        if isinstance(expression, Labelled):
            return _labelled(self[expression.array], expression.labels)
        if isinstance(expression, Expression) and self.values:
            return expression.at(expression.model.vector(self.values))
        raise KeyError(f"no values: the solve ended {self.status}")

    def dual(self, name: str) -> Any:
        """Return the dual values of a constraint block of a linear program, with the labels it has.

        Raises:
            KeyError: no such block, or the model is not a linear program solved to optimality.
        """
        if name not in self.duals:
            known = ", ".join(self.duals) or "none: duals exist for solved linear programs"
            raise KeyError(f"no duals for {name!r}; there are: {known}")
        return _labelled(self.duals[name], self.row_labels.get(name))

    @property
    def value(self) -> float:
        """The objective of the point, always a number; ``objective`` may be None.

        Raises:
            ValueError: there is no point; the message says how the solve ended.

        Example:
            >>> from optsched import Model, solve
            >>> m = Model()
            >>> m.add("never", m.binary("b") >= 2)
            >>> try:
            ...     solve(m).value
            ... except ValueError as error:
            ...     print(error)
            the objective has no value: the solve ended infeasible
        """
        if self.objective is None:
            said = f"the objective has no value: the solve ended {self.status}"
            raise ValueError(f"{said}: {self.message}" if self.message else said)
        return self.objective

    @property
    def has_point(self) -> bool:
        """Whether a feasible point is known."""
        return self.objective is not None

    @property
    def gap(self) -> float | None:
        """|objective - bound| / max(1, |objective|); None unless both are known."""
        return relative_gap(self.objective, self.bound)

    @property
    def progress(self) -> pd.DataFrame:
        """The trajectory as a table: seconds, bound, objective and gap; NaN if unknown.

        ``optsched.report.plots.gap_over_time`` draws it.
        """
        import pandas as pd

        table = pd.DataFrame(self.trajectory, columns=list(ProgressPoint._fields), dtype=float)
        apart = (table["objective"] - table["bound"]).abs()
        return table.assign(gap=apart / table["objective"].abs().clip(lower=1.0))

    def summary(self) -> dict[str, Any]:
        """Return the fields that a table shows."""
        return {
            "status": str(self.status),
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "seconds": self.seconds,
            "solver": f"{self.solver} {self.version}".strip(),
        }


def _labelled(values: Any, labels: Labels | None) -> Any:
    """Return values with their labels, if they have any."""
    if labels is None:
        return values
    from optsched.model.labels import with_labels

    return with_labels(values, labels)
