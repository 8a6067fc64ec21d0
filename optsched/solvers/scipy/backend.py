"""HiGHS as scipy contains it: a second solve without a further package."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from optsched.errors import InputError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import MIXED_INTEGER, Backend, SolverResult, package_version
from optsched.solvers.numbers import (
    contradiction,
    gap_needs_constant,
    refuse_numbers,
    refuse_options,
    second_look,
    second_look_seconds,
    with_constant,
    without_constant,
)
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status
from optsched.solvers.threads import run

_INFINITE = 1e20
_EXTRA = {  # what scipy hands on to HiGHS
    "milp": {"presolve", "node_limit"},
    "linprog": {
        "presolve",
        "maxiter",
        "dual_feasibility_tolerance",
        "primal_feasibility_tolerance",
        "simplex_dual_edge_weight_strategy",
    },
}
_OPTIMAL, _INFEASIBLE, _EITHER, _UNBOUNDED = 7, 8, 9, 10  # HighsModelStatus
_ENDED = {13: Limit.TIME, 14: Limit.NODES, 16: Limit.NODES}


class Scipy(Backend):
    """HiGHS inside scipy: linear and mixed-integer linear models, LP duals.

    scipy cannot switch off HiGHS's restarts, which have been seen to lose an optimum, and leaves
    its absolute gap at 1e-6. Nor can it leave out the presolve rule that has been seen to lose
    optima of models with integer and continuous variables: these are solved without presolve
    unless ``extra`` asks for it. Threads, seed, absolute gap and ``stop`` are refused; a warm start
    is a hint and goes unused. Ctrl-C leaves the solve running behind.
    """

    name = "scipy"
    family = "highs"
    features = MIXED_INTEGER
    native: frozenset[str] = frozenset()

    def version(self) -> str:
        """Version of scipy."""
        return package_version("scipy")

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` is not used.

        Raises:
            UnsupportedError: an option scipy does not hand on, or numbers HiGHS would change.
            InputError: an option in ``options.extra`` that scipy does not know.
        """
        refuse_options("scipy", options, threads=False, seed=False, stop=False, gaps=False)
        refuse_numbers("scipy", compiled, smallest=1e-9, largest=1e15, infinite=_INFINITE)
        call = "milp" if compiled.has_integers else "linprog"
        for key, value in options.extra.items():
            if key not in _EXTRA[call]:
                known = ", ".join(sorted(_EXTRA[call]))
                raise InputError.of(f"extra[{key!r}]", value, f"scipy.{call} takes {known}")
        if gap_needs_constant(compiled, options):
            start = None if start is None else np.append(start, 1.0)
            return without_constant(self.solve(with_constant(compiled), options, start))
        if (result := contradiction(compiled)) is not None:
            return result
        sign = -1.0 if compiled.maximise else 1.0
        session = _Session(compiled, options)
        result = session.solve(sign * compiled.cost)
        if result.status is Status.ERROR:  # presolve has been seen to end in one
            result = session.solve(sign * compiled.cost, presolve=compiled.mixes_types)
        elif result.status is Status.INFEASIBLE:  # and to call feasible models infeasible
            seconds = second_look_seconds(compiled, session.spent)
            again = session.solve(sign * compiled.cost, presolve=False, time_limit=seconds)
            result = second_look(compiled, result, again)
        if result.status not in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED):
            return result
        again = session.solve(0.0 * compiled.cost)
        if again.status is Status.INFEASIBLE:
            return replace(result, status=Status.INFEASIBLE)
        if again.x is None:
            return replace(result, status=Status.INFEASIBLE_OR_UNBOUNDED)
        return replace(result, status=Status.UNBOUNDED)


class _Session:
    """One model and its deadline."""

    def __init__(self, compiled: MatrixForm, options: Options) -> None:
        self.compiled = compiled
        self.options = options
        self.began = time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.began

    def solve(self, cost: Floats, **settings: Any) -> SolverResult:
        """Minimise ``cost``."""
        options: dict[str, Any] = {"disp": self.options.log, **self.options.extra, **settings}
        if self.compiled.mixes_types:
            options.setdefault("presolve", False)
        if self.options.time_limit is not None:
            left = self.options.time_limit - self.spent
            options["time_limit"] = max(1e-3, min(left, options.get("time_limit", left)))
        mixed = self.compiled.has_integers
        call = self._milp if mixed else self._linprog
        ended = run(lambda: call(cost, options), None, None)
        if ended.result is None:
            said = "scipy cannot be stopped and runs on behind; isolate=True ends it"
            return SolverResult(Status.INTERRUPTED, message=said)
        return ended.result

    def _milp(self, cost: Floats, options: dict[str, Any]) -> SolverResult:
        from scipy.optimize import Bounds, LinearConstraint, milp

        compiled, rows = self.compiled, self.compiled.rows
        answer = milp(
            cost,
            constraints=LinearConstraint(rows.matrix, rows.lower, rows.upper)
            if rows.count
            else None,
            integrality=compiled.integer.astype(int),
            bounds=Bounds(compiled.lower, compiled.upper),
            options=cast(Any, {**options, "mip_rel_gap": self.options.gap}),
        )
        bound = getattr(answer, "mip_dual_bound", None)
        nodes = getattr(answer, "mip_node_count", None)
        result = self._read(answer, None if bound is None else float(bound))
        return replace(result, nodes=None if nodes is None else int(nodes))

    def _linprog(self, cost: Floats, options: dict[str, Any]) -> SolverResult:
        from scipy import optimize

        compiled, rows = self.compiled, self.compiled.rows
        equal = rows.lower == rows.upper
        above = np.flatnonzero(np.isfinite(rows.upper) & ~equal)
        below = np.flatnonzero(np.isfinite(rows.lower) & ~equal)
        same = np.flatnonzero(equal)
        stacked = sp.vstack([rows.matrix[above], -rows.matrix[below]])
        linprog: Any = optimize.linprog  # its stubs know no sparse matrices
        answer = linprog(
            cost,
            A_ub=stacked,
            b_ub=np.concatenate([rows.upper[above], -rows.lower[below]]),
            A_eq=rows.matrix[same],
            b_eq=rows.lower[same],
            bounds=np.stack([compiled.lower, compiled.upper], axis=1),
            method="highs",
            options=options,
        )
        result = self._read(answer, float(answer.fun) if answer.status == 0 else None)
        if result.status is not Status.OPTIMAL:
            return replace(result, x=None) if result.status is Status.FEASIBLE else result
        sign = -1.0 if compiled.maximise else 1.0
        duals = np.zeros(rows.count)
        duals[same] = answer.eqlin.marginals
        duals[above] = answer.ineqlin.marginals[: len(above)]
        duals[below] -= answer.ineqlin.marginals[len(above) :]
        costs = answer.lower.marginals + answer.upper.marginals
        return replace(result, row_duals=sign * duals, reduced_costs=sign * costs)

    def _read(self, answer: Any, bound: float | None) -> SolverResult:
        """The status from HiGHS's own number: scipy's puts several into one."""
        found = re.search(r"HiGHS Status (\d+)", answer.message)
        code = int(found.group(1)) if found else -1
        x = None if answer.x is None else np.asarray(answer.x, dtype=np.float64)
        if bound is not None:
            sign = -1.0 if self.compiled.maximise else 1.0
            bound = sign * bound + self.compiled.offset
        claims = {
            _INFEASIBLE: Status.INFEASIBLE,
            _UNBOUNDED: Status.UNBOUNDED,
            _EITHER: Status.INFEASIBLE_OR_UNBOUNDED,
        }
        if code == _OPTIMAL and x is not None:
            return SolverResult(Status.OPTIMAL, x, bound)
        if code in claims:
            return SolverResult(claims[code])
        if code in _ENDED:
            status = Status.NO_SOLUTION if x is None else Status.FEASIBLE
            return SolverResult(status, x, bound, _ENDED[code])
        return SolverResult(Status.ERROR, message=f"scipy: {answer.message}")
