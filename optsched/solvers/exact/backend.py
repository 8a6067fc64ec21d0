"""Exact: pseudo-Boolean search over bounded integers in arbitrary precision.

The program is licensed under the AGPL; it comes with the extra ``exact`` only, and is imported only
when it is asked for. It takes linear rows; numbers that are not whole are scaled as for CP-SAT, at
a certified error.
"""

from __future__ import annotations

import itertools
import time
from importlib.metadata import PackageNotFoundError
from typing import Any

import numpy as np

from optsched.errors import InputError, UnsupportedError, needs_extra
from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, Feature, SolverResult, package_version
from optsched.solvers.cpsat.integer import IntegerModel, integer_model
from optsched.solvers.cpsat.writer import scaled_rows
from optsched.solvers.numbers import refuse_options
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status


class ExactSearch(Backend):
    """The back end "exact": linear models whose columns are all integer and bounded.

    ``options.extra`` holds its options, such as ``{"lp": 0}``. The time limit is counted by the
    search's own clock, in seconds of processor time.
    """

    name = "exact"
    features = frozenset({Feature.INTEGERS, Feature.PROOF, Feature.EXACT_COSTS})
    native: frozenset[str] = frozenset()

    def version(self) -> str:
        """Version of the package, raising ImportError if there is none."""
        try:
            return package_version("exact")
        except PackageNotFoundError as missing:
            raise ImportError(needs_extra("exact (licence AGPL)", "exact")) from missing

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` holds a value per column, NaN if there is none.

        Raises:
            UnsupportedError: a variable is continuous or lacks a finite bound, numbers do not fit
                64-bit integers, or an option that the search does not know.
            InputError: an option in ``options.extra`` that is unknown.
        """
        refuse_options("exact", options, threads=False, seed=True, stop=False, gaps=False)
        if options.gap:
            raise UnsupportedError("exact does not support the option gap: it searches to the end")
        began = time.perf_counter()
        model = integer_model(compiled, self)
        if (model.lower > model.upper).any():
            return SolverResult(Status.INFEASIBLE)
        engine = _engine(model, options, start)
        left = 0.0  # no limit
        if options.time_limit is not None:
            left = max(options.time_limit - (time.perf_counter() - began), 1e-3)
        ended = engine.runFull(True, left)
        x = None
        if engine.hasSolution():
            names = [f"x{j}" for j in range(len(model.lower))]
            x = np.array([float(value) for value in engine.getLastSolutionFor(names)])
        return _read(model, ended, x, engine)


def _engine(model: IntegerModel, options: Options, start: Floats | None) -> Any:
    """The program with the model in it."""
    import exact

    given = {"verbosity": int(options.log), "seed": options.seed or 1, **options.extra}
    try:
        engine = exact.Exact([(name, str(value)) for name, value in given.items()])
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError.of("extra", options.extra, f"options Exact knows ({error})") from None
    rows = model.compiled.rows
    names = [(first, name) for name, (first, _) in model.compiled.row_blocks.items()]
    scaled = scaled_rows(rows, model.lower, model.upper, names)
    for j, (low, high) in enumerate(zip(model.lower, model.upper, strict=True)):
        engine.addVariable(f"x{j}", int(low), int(high))
    column, weight = rows.matrix.indices.tolist(), scaled.coefficients.tolist()
    for i, (first, end) in enumerate(itertools.pairwise(rows.matrix.indptr.tolist())):
        terms = [(weight[k], f"x{column[k]}") for k in range(first, end)]
        engine.addConstraint(terms, True, int(scaled.lower[i]), True, int(scaled.upper[i]))
    if model.objective is not None:
        costs = [(int(c), f"x{j}") for j, c in enumerate(model.objective.coefficients) if c]
        engine.setObjective(costs, True, 0)
    if start is not None:
        known = np.flatnonzero(~np.isnan(start)).tolist()
        engine.setSolutionHints([(f"x{j}", round(float(start[j]))) for j in known])
    return engine


def _read(model: IntegerModel, ended: str, x: Floats | None, engine: Any) -> SolverResult:
    objective = model.objective
    finished = ended == "UNSAT"  # there is nothing better than what was found
    if finished and x is None:
        return SolverResult(Status.INFEASIBLE)
    status = Status.NO_SOLUTION if x is None else Status.FEASIBLE
    limit = None if finished else Limit.TIME
    if objective is None:
        done = x is not None
        offset = model.compiled.offset
        return SolverResult(Status.OPTIMAL if done else status, x, offset, None if done else limit)
    proven = objective.integer_value(x) if finished and x is not None else engine.getDualBound()
    bound = model.sign * objective.bound(int(proven), model.offset)
    if finished:
        status = Status.OPTIMAL
    return SolverResult(status, x, bound, limit, scaling_error=objective.error)
