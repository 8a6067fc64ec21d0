"""SCIP, GLOP and PDLP, as OR-tools' MathOpt brings them."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from typing import Any

import numpy as np

from optsched.model.expression import Floats
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import MIXED_INTEGER, Feature, SolverResult, package_version
from optsched.solvers.mathopt.answer import MathOptResult
from optsched.solvers.mathopt.call import call, quieten_scip
from optsched.solvers.mathopt.parameters import SCIP_DEFAULT, MathOptSolver, parameters
from optsched.solvers.mathopt.writer import build
from optsched.solvers.numbers import (
    contradiction,
    refuse_columns,
    refuse_numbers,
    refuse_options,
    second_look,
    second_look_seconds,
)
from optsched.solvers.options import Options
from optsched.solvers.solution import Status
from optsched.solvers.threads import run

_OFF = 1  # EmphasisProto
_INFINITE_OBJECTIVE = "PrimalSolutionProto.objective_value"  # in what MathOpt says of a ray of SCIP


class MathOpt(MathOptSolver):
    """A back end: one solver behind MathOpt.

    The model goes over as arrays, past MathOpt's Python model, which takes some thirty times longer
    and loses error messages. GLOP and PDLP take no integers and need no warm start.
    SCIP gives no duals; it gets products with a binary factor as linear rows, and its dual
    reductions of indicators are off, as either has been seen to lose optima. PDLP's bound is
    derived from its duals by us, as its own holds only up to its tolerances; if they prove none,
    the status is "feasible".
    """

    def version(self) -> str:
        """Version of OR-tools, raising ImportError if there is none."""
        try:
            return package_version("ortools")
        except PackageNotFoundError as missing:
            raise ImportError(f"{self.name} needs the package ortools") from missing

    def solve(self, compiled: MatrixForm, options: Options, start: Floats | None) -> SolverResult:
        """Solve; ``start`` holds a value per column, NaN if there is none.

        Raises:
            UnsupportedError: an integer variable, a number or an option the solver does not take.
            InputError: a parameter in ``options.extra`` is unknown or cannot take its value.
        """
        began = time.perf_counter()
        refuse_columns(self, compiled)
        refuse_options(self.title, options, threads=self.threads, seed=self.seed, stop=True)
        if self.name == "scip":  # GLOP and PDLP keep all numbers
            refuse_numbers(self.title, compiled, smallest=1e-9, largest=1e20, infinite=1e20)
        if (result := contradiction(compiled)) is not None:
            return result
        quieten_scip()
        session = _Session(self, compiled, options, began)
        result = session.solve(start)
        if result.status in (Status.ERROR, Status.INFEASIBLE):
            result = session.look_again(result)
        if result.status is Status.INFEASIBLE_OR_UNBOUNDED or (
            result.status is Status.UNBOUNDED and not compiled.is_linear_program
        ):
            return session.tell_apart(result)
        return result


class Scip(MathOpt):
    """SCIP: mixed-integer models, linear or quadratic; no LP duals."""

    name, title, code = "scip", "SCIP", 1  # its wheel runs several threads at random: one only
    features = MIXED_INTEGER | {Feature.STOP}
    native = frozenset({"indicator", "product", "rotated_cone", "special_ordered"})


class Glop(MathOpt):
    """GLOP: linear programs, with duals."""

    name, title, code = "glop", "GLOP", 3
    features = MIXED_INTEGER - {Feature.INTEGERS} | {Feature.STOP}


class Pdlp(MathOpt):
    """PDLP: very large linear programs, with duals."""

    name, title, code = "pdlp", "PDLP", 5
    features = frozenset({Feature.CONTINUOUS, Feature.UNBOUNDED, Feature.STOP})
    threads, seed = True, False


scip, glop, pdlp = Scip, Glop, Pdlp
"""What the entry points name."""


class _Session:
    """One model, its parameters and its deadline."""

    def __init__(
        self, engine: MathOpt, compiled: MatrixForm, options: Options, began: float
    ) -> None:
        self.engine = engine
        self.compiled = compiled
        self.options = options
        self.began = began
        self.parameters = parameters(engine, compiled, options)

    def solve(self, start: Floats | None, seconds: float = math.inf) -> SolverResult:
        """Solve the model as it is, within so many seconds."""
        return self._read(*self._run(build(self.compiled), start, seconds))

    def tell_apart(self, result: SolverResult) -> SolverResult:
        """Infeasible or unbounded: drop the objective and see whether a point exists."""
        proto = build(self.compiled, np.zeros(len(self.compiled.cost)))
        again = self._read(*self._run(proto, None))
        if again.status in (Status.OPTIMAL, Status.FEASIBLE):
            return replace(result, status=Status.UNBOUNDED)
        if again.status is Status.INFEASIBLE:
            return replace(result, status=Status.INFEASIBLE)
        interrupted = again.status is Status.INTERRUPTED
        return again if interrupted else replace(result, status=Status.INFEASIBLE_OR_UNBOUNDED)

    def look_again(self, result: SolverResult) -> SolverResult:
        """Solve again, in the way in which the solver is not known to be mistaken.

        The presolve of GLOP has been seen to fail, SCIP to fail or to find none feasible at a
        tolerance as fine as ours, and its presolve to call a feasible model with cones infeasible.
        """
        infeasible, seconds = result.status is Status.INFEASIBLE, math.inf
        if self.engine.name == "scip":
            self.parameters.gscip.real_params["numerics/feastol"] = SCIP_DEFAULT
            if self.compiled.nonlinear or not infeasible:
                self.parameters.presolve = _OFF
        elif self.engine.name == "glop" and not infeasible:
            self.parameters.presolve = _OFF
        else:
            return result
        if infeasible and self.parameters.presolve == _OFF:
            seconds = second_look_seconds(self.compiled, time.perf_counter() - self.began)
        again = self.solve(None, seconds)
        return second_look(self.compiled, result, again) if infeasible else again

    def _run(self, proto: Any, start: Floats | None, seconds: float = math.inf) -> tuple[Any, bool]:
        """The SolveResultProto, or None, and whether the solve was stopped from outside."""
        from ortools.math_opt import model_parameters_pb2
        from ortools.util.python import pybind_solve_interrupter

        details = model_parameters_pb2.ModelSolveParametersProto()
        if start is not None and Feature.INTEGERS in self.engine.features:
            known = np.flatnonzero(~np.isnan(start))
            hint = details.solution_hints.add()
            hint.variable_values.ids.extend(known.tolist())
            hint.variable_values.values.extend(start[known].tolist())
        if self.options.time_limit is not None:
            seconds = min(seconds, self.options.time_limit - (time.perf_counter() - self.began))
        if math.isfinite(seconds):
            self.parameters.time_limit.FromNanoseconds(int(max(seconds, 1e-3) * 1e9))
        else:
            self.parameters.ClearField("time_limit")
        interrupter = pybind_solve_interrupter.PySolveInterrupter()
        ended = run(
            lambda: call(
                self.engine.code, proto, self.parameters, details, interrupter, self.options.log
            ),
            interrupter.interrupt,
            self.options.stop,
        )
        return ended.result, ended.stopped

    def _read(self, answer: Any, stopped: bool) -> SolverResult:
        if answer is None:
            said = f"{self.engine.title} runs on behind; isolate=True ends it"
            return SolverResult(Status.INTERRUPTED, message=said)
        if isinstance(answer, str):
            if _INFINITE_OBJECTIVE in answer:  # a point of infinite value
                return SolverResult(Status.INFEASIBLE_OR_UNBOUNDED)
            return SolverResult(Status.ERROR, message=answer)
        read = MathOptResult(self.compiled, self.options, answer, stopped)
        return read.pdlp() if self.engine.name == "pdlp" else read.result()
