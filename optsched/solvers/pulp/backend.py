"""Any solver that PuLP supports, such as "pulp:GUROBI_CMD" with a licence."""

from __future__ import annotations

import inspect
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import MIXED_INTEGER, Backend, SolverResult, package_version
from optsched.solvers.numbers import (
    contradiction,
    gap_needs_constant,
    has_endless_column,
    may_be_unbounded,
    refuse_options,
    with_constant,
    without_constant,
)
from optsched.solvers.options import Options
from optsched.solvers.pulp.writer import load_pulp, pulp_problem
from optsched.solvers.solution import Limit, Status
from optsched.solvers.threads import run

_NEAR = 0.9  # a proof claimed this near to the time limit is not believed
_OPTIMAL, _INTEGER_FEASIBLE, _INFEASIBLE, _UNBOUNDED = 1, 2, -1, -2  # LpSolution


class PulpSolver(Backend):
    """A solver by PuLP's name for it: linear and mixed-integer linear models.

    PuLP calls a solve that ran into its time limit "Optimal", and an unbounded model
    "Infeasible". So an optimum counts as proven only if it came well before the time limit and
    from a solver that PuLP hands the relative gap to; claims of infeasibility on models that may
    be unbounded are tried again without the objective. No duals and no bounds on the way. Seed
    and ``stop`` are refused, Ctrl-C leaves the solve behind, a warm start goes unused.
    ``options.extra`` holds arguments of PuLP's class; some classes take any without a word.
    """

    native: frozenset[str] = frozenset()
    features = MIXED_INTEGER

    def __init__(self, solver: str) -> None:
        self.solver = solver

    @property
    def name(self) -> str:
        """PuLP's name for the solver, after "pulp:"."""
        return f"pulp:{self.solver}"

    @property
    def family(self) -> str:
        """Whose code the solver is."""
        word = self.solver.lower()
        known = {"cbc": "cbc", "coin": "cbc", "scip": "scip"}
        return next((known[one] for one in known if one in word), word.split("_")[0])

    def version(self) -> str:
        """Version of PuLP, raising ImportError if it does not find the solver."""
        if self.solver not in found():
            there = ", ".join(found()) or "no solver"
            raise ImportError(f'PuLP finds: {there}; HiGHS is the solver "highs"')
        return package_version("pulp")

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` is not used.

        Raises:
            UnsupportedError: an option PuLP does not hand on to the solver.
            InputError: an argument in ``options.extra`` that PuLP's class does not take.
        """
        known = _arguments(self.solver)
        refuse_options(
            self.name,
            options,
            threads="threads" in known,
            seed=False,
            stop=False,
            gaps="gapAbs" in known,
        )
        if gap_needs_constant(compiled, options):
            start = None if start is None else np.append(start, 1.0)
            return without_constant(self.solve(with_constant(compiled), options, start))
        if (result := contradiction(compiled)) is not None or (result := _empty_rows(compiled)):
            return result
        session = _Session(self.solver, compiled, options, known)
        cost = -compiled.cost if compiled.maximise else compiled.cost
        result = (
            SolverResult(Status.INFEASIBLE_OR_UNBOUNDED)
            if has_endless_column(compiled, cost)
            else session.solve(compiled.cost)
        )
        doubtful = result.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)
        if not doubtful and not (result.status is Status.INFEASIBLE and may_be_unbounded(compiled)):
            return result
        again = session.solve(0.0 * compiled.cost)
        if again.status is Status.INFEASIBLE:
            return replace(result, status=Status.INFEASIBLE)
        if again.x is None:
            return again if again.limit else replace(result, status=Status.INFEASIBLE_OR_UNBOUNDED)
        return replace(result, status=Status.UNBOUNDED)


def found() -> list[str]:
    """Names of the solvers PuLP can drive here, but for HiGHS, which needs no PuLP."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = load_pulp().listSolvers(onlyAvailable=True)
    return [name for name in names if not name.startswith("HiGHS")]


def _arguments(solver: str) -> set[str]:
    """What PuLP's class for a solver takes by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that PuLP 4 will drop
        engine = load_pulp().getSolver(solver)
    return set(inspect.signature(type(engine).__init__).parameters)


def _empty_rows(compiled: MatrixForm) -> SolverResult | None:
    """Infeasible by a row without variables, which PuLP does not hand on."""
    empty = np.diff(compiled.rows.matrix.indptr) == 0
    if (empty & ((compiled.rows.lower > 0) | (compiled.rows.upper < 0))).any():
        return SolverResult(Status.INFEASIBLE, message="a row without variables does not hold")
    return None


class _Session:
    """One model, PuLP's solver and a deadline."""

    def __init__(
        self, solver: str, compiled: MatrixForm, options: Options, known: set[str]
    ) -> None:
        self.solver = solver
        self.compiled = compiled
        self.options = options
        self.known = known
        self.began = time.perf_counter()

    def solve(self, cost: Floats) -> SolverResult:
        """Solve with another objective."""
        pulp = load_pulp()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that PuLP 4 will drop
            engine = self._engine(pulp)
            compiled = replace(self.compiled, cost=cost, offset=0.0)
            columns = [f"C{j}" for j in range(len(cost))]
            rows = [f"R{i}" for i in range(compiled.rows.count)]
            problem, variables = pulp_problem(compiled, columns, rows, "model")
            asked = time.perf_counter()
            ended = run(lambda: problem.solve(engine) is not None, None, None)
        if ended.result is None:
            said = f"pulp:{self.solver} cannot be stopped and runs on; isolate=True ends it"
            return SolverResult(Status.INTERRUPTED, message=said)
        limit = getattr(engine, "timeLimit", None)
        near = limit is not None and time.perf_counter() - asked >= _NEAR * limit
        return self._read(problem, variables, near)

    def _engine(self, pulp: Any) -> Any:
        options = self.options
        arguments: dict[str, Any] = {"msg": options.log}
        if "gapRel" in self.known:
            arguments["gapRel"] = options.gap
        if "gapAbs" in self.known:
            arguments["gapAbs"] = options.absolute_gap
        if "threads" in self.known:
            arguments["threads"] = options.threads
        if options.time_limit is not None:
            left = options.time_limit - (time.perf_counter() - self.began)
            arguments["timeLimit"] = max(left, 0.01)
        if self.solver in ("PULP_CBC_CMD", "COIN_CMD"):
            # it would look for nothing less than 1e-5 better; the others lose optima and points
            arguments["options"] = [
                "increment 0", "preprocess off", "heuristics off",
                "primalTolerance 1e-9", "integerTolerance 1e-9",
            ]  # fmt: skip
        try:
            return pulp.getSolver(self.solver, **{**arguments, **options.extra})
        except TypeError as failure:
            raise InputError.of("extra", dict(options.extra), str(failure)) from failure

    def _read(self, problem: Any, variables: list[Any], near: bool) -> SolverResult:
        claim = problem.sol_status
        values = [v.varValue for v in variables]
        x = None if any(v is None for v in values) else np.array(values, dtype=np.float64)
        if claim == _OPTIMAL and x is not None and not near:
            value = self.compiled.objective(x)
            if self.compiled.has_integers and "gapRel" not in self.known:
                said = f"PuLP does not hand the gap to {self.solver}: nothing is proven"
                return SolverResult(Status.FEASIBLE, x, limit=Limit.GAP, message=said)
            gap = self.options.gap or self.options.absolute_gap
            if gap or {"gapRel", "gapAbs", "options"} & self.options.extra.keys():
                return SolverResult(Status.FEASIBLE, x, limit=Limit.GAP)
            return SolverResult(Status.OPTIMAL, x, value)
        timed = self.options.time_limit is not None
        if claim in (_OPTIMAL, _INTEGER_FEASIBLE) and x is not None:
            return SolverResult(Status.FEASIBLE, x, limit=Limit.TIME if timed else None)
        if near:
            return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME)
        if claim == _INFEASIBLE:
            return SolverResult(Status.INFEASIBLE)
        if claim == _UNBOUNDED:
            return SolverResult(Status.UNBOUNDED)
        if timed and claim == 0:
            return SolverResult(Status.NO_SOLUTION, limit=Limit.TIME)
        return SolverResult(
            Status.ERROR, message=f"{self.solver}: {problem.status}, {claim} in PuLP"
        )
