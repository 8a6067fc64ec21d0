"""Translate MathOpt's answer into a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import SolverResult
from optsched.solvers.dual_bound import dual_bound
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

_OPTIMAL, _INFEASIBLE, _UNBOUNDED, _EITHER, _IMPRECISE = 1, 2, 3, 4, 5  # TerminationReasonProto
_FEASIBLE, _NO_SOLUTION, _NUMERICAL = 9, 6, 7
_INTERRUPTED, _UNDETERMINED = 9, 1  # LimitProto
_LIMITS = {
    2: Limit.NODES,  # iterations
    3: Limit.TIME,
    4: Limit.NODES,
    5: Limit.NODES,  # number of solutions
    6: Limit.MEMORY,
    7: Limit.GAP,  # an objective or bound asked for
    12: Limit.GAP,  # a cut-off asked for
}
_POINT_FEASIBLE = 2  # SolutionStatusProto
_BEYOND = 1e20  # what SCIP says for an infinite bound


class MathOptResult:
    """What a SolveResultProto amounts to."""

    def __init__(self, compiled: MatrixForm, options: Options, answer: Any, stopped: bool) -> None:
        self.compiled = compiled
        self.options = options
        self.termination = answer.termination
        self.answer = answer
        self.stopped = stopped
        self.nodes = int(answer.solve_stats.node_count) if self.compiled.has_integers else None
        solution = answer.solutions[0] if answer.solutions else None
        self.primal = solution.primal_solution if solution is not None else None
        self.dual = (
            solution.dual_solution
            if solution is not None and solution.HasField("dual_solution")
            else None
        )

    @property
    def point(self) -> Floats | None:
        """The best point, if the solver holds it for feasible."""
        if self.primal is None or self.primal.feasibility_status != _POINT_FEASIBLE:
            return None
        return _dense(self.primal.variable_values, len(self.compiled.cost))

    def _with_duals(self, result: SolverResult) -> SolverResult:
        """Row duals and reduced costs of a linear program beside its answer."""
        if self.dual is None or not self.compiled.is_linear_program:
            return result
        return replace(
            result,
            row_duals=_dense(self.dual.dual_values, self.compiled.rows.count),
            reduced_costs=_dense(self.dual.reduced_costs, len(self.compiled.cost)),
        )

    def result(self) -> SolverResult:
        """The answer of a solver whose statuses are proofs up to its tolerances."""
        reason, x = self.termination.reason, self.point
        said = self.termination.objective_bounds.dual_bound
        bound = float(said) if abs(said) < _BEYOND else None
        if reason == _OPTIMAL:
            return self._with_duals(SolverResult(Status.OPTIMAL, x, bound, nodes=self.nodes))
        claims = {
            _INFEASIBLE: Status.INFEASIBLE,
            _UNBOUNDED: Status.UNBOUNDED,
            _EITHER: Status.INFEASIBLE_OR_UNBOUNDED,
        }
        if reason in claims:
            return SolverResult(claims[reason], nodes=self.nodes)
        if reason in (_FEASIBLE, _NO_SOLUTION):
            if self.compiled.is_linear_program:
                bound = None  # an unfinished simplex proves nothing
            return self._limited(x, bound)
        detail = self.termination.detail
        if reason == _IMPRECISE and x is not None:
            return SolverResult(Status.FEASIBLE, x, None, message=f"not solved precisely: {detail}")
        return SolverResult(Status.ERROR, message=f"MathOpt ends with reason {reason}: {detail}")

    def _limited(self, x: Floats | None, bound: float | None) -> SolverResult:
        limit = self.termination.limit
        if limit == _INTERRUPTED or (self.stopped and limit == _UNDETERMINED):
            return SolverResult(Status.INTERRUPTED, x, bound, nodes=self.nodes)
        status = Status.NO_SOLUTION if x is None else Status.FEASIBLE
        if limit == _UNDETERMINED and self.options.time_limit is not None:  # GLOP does not say
            return SolverResult(status, x, bound, Limit.TIME, nodes=self.nodes)
        message = "" if limit in _LIMITS else f"MathOpt: {self.termination.detail}"
        return SolverResult(status, x, bound, _LIMITS.get(limit), nodes=self.nodes, message=message)

    def pdlp(self) -> SolverResult:
        """The answer of PDLP, whose claims are proven here or not made."""
        if self.termination.reason == _NUMERICAL:
            said = "PDLP gives up over numerical difficulties"
            return SolverResult(Status.NO_SOLUTION, message=said)
        result = self.result()
        if result.status is Status.INFEASIBLE:
            if self._proves_infeasible():
                return result
            said = "PDLP holds the model for infeasible, by a certificate that is not exact"
            return SolverResult(Status.NO_SOLUTION, message=said)
        if self.dual is None:
            return result
        value = 0.0 if self.primal is None else float(
            self.compiled.objective(_dense(self.primal.variable_values, len(self.compiled.cost)))
        )  # fmt: skip
        duals = _dense(self.dual.dual_values, self.compiled.rows.count)
        result = replace(result, bound=dual_bound(self.compiled, duals, value))
        if result.status is Status.OPTIMAL and result.bound is None:
            said = "PDLP's duals prove no bound, as a variable has none"
            return replace(result, status=Status.FEASIBLE, limit=Limit.GAP, message=said)
        return result

    def _proves_infeasible(self) -> bool:
        """Whether a dual ray bounds the objective 0 from above 0."""
        nothing = replace(self.compiled, cost=np.zeros(len(self.compiled.cost)), offset=0.0)
        sign = -1.0 if self.compiled.maximise else 1.0
        for ray in self.answer.dual_rays:
            duals = _dense(ray.dual_values, self.compiled.rows.count)
            bound = dual_bound(nothing, duals, 0.0)
            if bound is not None and sign * bound > 0:
                return True
        return False


def _dense(vector: Any, length: int) -> Floats:
    """The first ``length`` entries of a SparseDoubleVectorProto."""
    ids = np.array(vector.ids, dtype=np.int64)
    values = np.array(vector.values)
    result = np.zeros(length)
    kept = ids < length
    result[ids[kept]] = values[kept]
    return result
