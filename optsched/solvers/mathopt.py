"""SCIP, GLOP, PDLP and a second HiGHS, as OR-tools' MathOpt brings them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from optsched.errors import InputError, UnsupportedError
from optsched.model.compiled import Compiled
from optsched.model.expression import Floats
from optsched.solvers.backend import Raw
from optsched.solvers.dual_bound import dual_bound
from optsched.solvers.listening import run
from optsched.solvers.mathopt_proto import build
from optsched.solvers.numbers import (
    contradiction,
    may_be_unbounded,
    refuse_numbers,
    refuse_options,
)
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

SCIP_TOLERANCE = 1e-9
"""SCIP's feasibility tolerance. Its default of 1e-6 lets a binary of 1e-6 switch off a row with a
large constant; the point then breaks the row once the binary is rounded."""

PDLP_TOLERANCE = 1e-8
"""PDLP's tolerances on residuals and gap, relative, entry by entry."""

_OPTIMAL, _INFEASIBLE, _UNBOUNDED, _EITHER, _IMPRECISE = 1, 2, 3, 4, 5  # TerminationReasonProto
_FEASIBLE, _NO_SOLUTION = 9, 6
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
_OFF = 1  # EmphasisProto
_POINT_FEASIBLE = 2  # SolutionStatusProto
_BEYOND = 1e20  # what SCIP says for an infinite bound
_INFINITE_OBJECTIVE = "PrimalSolutionProto.objective_value"  # in what MathOpt says of a ray of SCIP


@dataclass(frozen=True)
class MathOpt:
    """A back end: one solver behind MathOpt.

    The model goes over as arrays, past MathOpt's Python model, which is some ten times slower
    and whose error messages get lost. GLOP and PDLP take no integers and need no warm start.
    SCIP gives no duals. HiGHS takes a seed but neither ``stop`` nor more than one thread, and
    Ctrl-C leaves it running behind. PDLP's bound is derived from its duals by us, as its own
    word holds only up to its tolerances; where that derives none, the status is "feasible".
    """

    name: str
    title: str
    """The solver, for messages."""
    code: int
    """SolverTypeProto."""
    native: frozenset[str] = frozenset()
    integers: bool = True
    threads: bool = False
    seed: bool = True
    heeds_stop: bool = True

    def version(self) -> str:
        """Version of OR-tools, raising ImportError where there is none."""
        try:
            return version("ortools")
        except PackageNotFoundError as missing:
            raise ImportError(f"{self.name} needs the package ortools") from missing

    def solve(self, compiled: Compiled, options: Options, start: Floats | None) -> Raw:
        """Solve; ``start`` holds a value per column, NaN where there is none.

        Raises:
            UnsupportedError: an integer variable, a number or an option the solver does not take.
            InputError: a parameter in ``options.extra`` is unknown or cannot take its value.
        """
        began = time.perf_counter()
        self._refuse(compiled, options)
        if (raw := contradiction(compiled)) is not None:
            return raw
        _quieten_scip()
        session = _Session(self, compiled, options, began)
        raw = session.solve(start)
        if raw.status is Status.INFEASIBLE_OR_UNBOUNDED or (
            raw.status is Status.UNBOUNDED and not compiled.is_linear_program
        ):
            return session.tell_apart(raw)
        if raw.status is Status.INFEASIBLE and self.name == "mathopt-highs":
            return session.doubt_infeasible(raw)
        return raw

    def _refuse(self, compiled: Compiled, options: Options) -> None:
        if not self.integers and compiled.integer.any():
            name = compiled.column_name(int(np.argmax(compiled.integer)))
            raise UnsupportedError(
                f"{self.name} takes linear programs only, and {name} is integer: "
                "relax the model or choose another solver"
            )
        refuse_options(
            self.title, options, threads=self.threads, seed=self.seed, stop=self.heeds_stop
        )
        # GLOP and PDLP keep all numbers
        if self.name == "scip":
            refuse_numbers(self.title, compiled, smallest=1e-9, largest=1e20, infinite=_BEYOND)
        elif self.name == "mathopt-highs":
            _refuse_mixed_highs()
            refuse_numbers(self.title, compiled, smallest=1e-9, largest=1e15, infinite=1e20)


def scip() -> MathOpt:
    """SCIP: mixed-integer models with products, rotated cones and indicators; no LP duals."""
    native = frozenset({"indicator", "product", "rotated_cone"})
    return MathOpt("scip", "SCIP", 1, native)


def glop() -> MathOpt:
    """GLOP: linear programs by simplex, with duals."""
    return MathOpt("glop", "GLOP", 3, integers=False)


def pdlp() -> MathOpt:
    """PDLP: very large linear programs by first-order steps, with duals."""
    return MathOpt("pdlp", "PDLP", 5, integers=False, threads=True, seed=False)


def highs() -> MathOpt:
    """HiGHS inside OR-tools: a second witness for linear and mixed-integer linear models."""
    return MathOpt("mathopt-highs", "HiGHS inside MathOpt", 10, heeds_stop=False)


def _refuse_mixed_highs() -> None:
    """Refuse to call a HiGHS that would run on another HiGHS's functions, and crash.

    PuLP, when imported, makes highspy's functions global; OR-tools' libraries, if they come
    later, bind to them.
    """
    if "pulp" not in sys.modules or "highspy" not in sys.modules:
        return
    order = list(sys.modules)
    native = [
        name
        for name, module in list(sys.modules.items())
        if name.startswith("ortools.")
        and str(getattr(module, "__file__", "")).endswith((".so", ".pyd"))
    ]
    if not native or order.index(native[0]) > order.index("pulp"):
        raise UnsupportedError(
            "mathopt-highs crashes where pulp was imported before OR-tools: "
            "import ortools.math_opt.python.mathopt first, or use isolate=True"
        )


@lru_cache(maxsize=1)
def _quieten_scip() -> None:
    """Keep SCIP from printing two errors whenever it is handed an interrupter (ortools 9.15).

    Its errors reach us as statuses; where its library is not found it goes on printing.
    """
    import ctypes

    import ortools
    from ortools.math_opt.core.python import solver  # noqa: F401  (loads the library)

    folder = Path(ortools.__file__).parent
    for place in (".libs", ".dylibs"):
        for path in (folder / place).glob("libscip*"):
            with suppress(OSError, AttributeError):
                ctypes.CDLL(str(path)).SCIPmessageSetErrorPrinting(None, None)


class _Session:
    """One model, its parameters and its deadline."""

    def __init__(
        self, engine: MathOpt, compiled: Compiled, options: Options, began: float
    ) -> None:
        self.engine = engine
        self.compiled = compiled
        self.options = options
        self.began = began
        self.parameters = _parameters(engine, compiled, options)

    def solve(self, start: Floats | None) -> Raw:
        """Solve the model as it is."""
        return self._read(*self._run(build(self.compiled), start))

    def tell_apart(self, raw: Raw) -> Raw:
        """Infeasible or unbounded: drop the objective and see whether a point exists."""
        proto = build(self.compiled, np.zeros(len(self.compiled.cost)))
        again = self._read(*self._run(proto, None))
        if again.status in (Status.OPTIMAL, Status.FEASIBLE):
            return replace(raw, status=Status.UNBOUNDED)
        if again.status is Status.INFEASIBLE:
            return replace(raw, status=Status.INFEASIBLE)
        interrupted = again.status is Status.INTERRUPTED
        return again if interrupted else replace(raw, status=Status.INFEASIBLE_OR_UNBOUNDED)

    def doubt_infeasible(self, raw: Raw) -> Raw:
        """Ask again where HiGHS's presolve may have taken an unbounded model for infeasible."""
        if not may_be_unbounded(self.compiled):
            return raw
        again = self.tell_apart(raw)
        if again.status is not Status.UNBOUNDED:
            return again
        self.parameters.presolve = _OFF
        return self._read(*self._run(build(self.compiled), None))

    def _run(self, proto: Any, start: Floats | None) -> tuple[Any, bool]:
        """The SolveResultProto, or None, and whether the solve was stopped from outside."""
        from ortools.math_opt import model_parameters_pb2
        from ortools.util.python import pybind_solve_interrupter

        details = model_parameters_pb2.ModelSolveParametersProto()
        if start is not None and self.engine.integers:
            known = np.flatnonzero(~np.isnan(start))
            hint = details.solution_hints.add()
            hint.variable_values.ids.extend(known.tolist())
            hint.variable_values.values.extend(start[known].tolist())
        if self.options.time_limit is not None:
            left = self.options.time_limit - (time.perf_counter() - self.began)
            self.parameters.time_limit.FromNanoseconds(int(max(left, 1e-3) * 1e9))
        interrupter = (
            pybind_solve_interrupter.PySolveInterrupter() if self.engine.heeds_stop else None
        )
        heard = run(
            lambda: _call(self.engine, proto, self.parameters, details, interrupter, self.options),
            None if interrupter is None else interrupter.interrupt,
            self.options.stop,
        )
        return heard.result, heard.stopped

    def _read(self, answer: Any, stopped: bool) -> Raw:
        if answer is None:
            said = "" if self.engine.heeds_stop else (
                f"{self.engine.title} cannot be stopped and runs on behind; isolate=True ends it"
            )  # fmt: skip
            return Raw(Status.INTERRUPTED, message=said)
        if isinstance(answer, str):
            if _INFINITE_OBJECTIVE in answer:  # a point of infinite value
                return Raw(Status.INFEASIBLE_OR_UNBOUNDED)
            return Raw(Status.ERROR, message=answer)
        if self.engine.name == "pdlp":
            return _Reader(self, answer, stopped).pdlp()
        return _Reader(self, answer, stopped).raw()


def _call(
    engine: MathOpt, proto: Any, parameters: Any, details: Any, interrupter: Any, options: Options
) -> Any:
    """The SolveResultProto, or the words of an error."""
    from ortools.math_opt import callback_pb2, parameters_pb2
    from ortools.math_opt.core.python import solver
    from pybind11_abseil.status import StatusNotOk

    try:
        return solver.solve(
            proto,
            engine.code,
            parameters_pb2.SolverInitializerProto(),
            parameters,
            details,
            _print_lines if options.log else None,
            callback_pb2.CallbackRegistrationProto(),
            None,
            interrupter,
        )
    except StatusNotOk as failure:
        return str(failure)


def _print_lines(lines: list[str]) -> None:
    print("\n".join(lines), flush=True)


# parameters


def _parameters(engine: MathOpt, compiled: Compiled, options: Options) -> Any:
    from ortools.math_opt import parameters_pb2

    parameters = parameters_pb2.SolveParametersProto()
    if engine.seed:
        parameters.random_seed = options.seed
    if engine.threads:
        parameters.threads = options.threads
    if compiled.is_linear_program and engine.integers:  # a simplex ends at the optimum anyway
        pass
    elif engine.integers:
        parameters.relative_gap_tolerance = options.gap
        parameters.absolute_gap_tolerance = options.absolute_gap
    if engine.name == "scip":
        parameters.gscip.bool_params["misc/catchctrlc"] = False
        parameters.gscip.real_params["numerics/feastol"] = SCIP_TOLERANCE
    elif engine.name == "mathopt-highs":
        # a restart of the branch and bound has been seen to lose the optimum
        parameters.highs.bool_options["mip_allow_restart"] = False
    elif engine.name == "pdlp":
        _set_tolerances(parameters.pdlp.termination_criteria, options)
    for key, value in options.extra.items():
        _set_extra(engine, parameters, key, value)
    return parameters


def _set_tolerances(criteria: Any, options: Options) -> None:
    criteria.optimality_norm = 3  # the greatest entry, each relative to its own side
    detailed = criteria.detailed_optimality_criteria
    for part in ("primal_residual", "dual_residual", "objective_gap"):
        for kind in ("absolute", "relative"):
            setattr(detailed, f"eps_optimal_{part}_{kind}", PDLP_TOLERANCE)
    # its relative gap is relative to |primal| + |dual|
    detailed.eps_optimal_objective_gap_relative = max(PDLP_TOLERANCE, options.gap / 2)
    detailed.eps_optimal_objective_gap_absolute = max(PDLP_TOLERANCE, options.absolute_gap)


def _set_extra(engine: MathOpt, parameters: Any, key: str, value: Any) -> None:
    """Set a parameter in the first place that takes it, tried on an empty model.

    Raises:
        InputError: none does.
    """
    from ortools.math_opt import model_pb2, model_parameters_pb2, parameters_pb2

    said = ""
    plain = value.item() if isinstance(value, np.generic) else value
    for setting in _settings(engine, key, plain):
        trial = parameters_pb2.SolveParametersProto()
        try:
            setting(trial)
        except (TypeError, ValueError, AttributeError, KeyError) as failure:
            said = str(failure)
            continue
        details = model_parameters_pb2.ModelSolveParametersProto()
        answer = _call(engine, model_pb2.ModelProto(), trial, details, None, Options())
        if not isinstance(answer, str):
            setting(parameters)
            return
        said = answer
    allowed = f"a parameter of {engine.title} and a value it takes ({said})"
    raise InputError.of(f"extra[{key!r}]", value, allowed)


def _settings(engine: MathOpt, key: str, value: Any) -> Iterator[Any]:
    """Ways to set a parameter: where SCIP and HiGHS keep it depends on its type."""
    if engine.name in ("glop", "pdlp"):
        yield lambda to: _set_field(getattr(to, engine.name), key, value)
        return
    scip = engine.name == "scip"
    kinds: dict[type, tuple[str, ...]] = {
        bool: ("bool",),
        int: ("long", "int", "real") if key.startswith("limits/") else ("int", "long", "real"),
        float: ("real",),
        str: ("char", "string") if len(str(value)) == 1 else ("string",),
    }
    for kind in kinds.get(type(value), ()):
        if scip:
            yield lambda to, kind=kind: _put(getattr(to.gscip, f"{kind}_params"), key, value)
        elif kind not in ("long", "char"):
            place = f"{'double' if kind == 'real' else kind}_options"
            yield lambda to, place=place: _put(getattr(to.highs, place), key, value)


def _put(into: Any, key: str, value: Any) -> None:
    into[key] = value


def _set_field(message: Any, path: str, value: Any) -> None:
    """Set a field of a protocol buffer; a dot leads into a field of a field."""
    *outer, last = path.split(".")
    for name in outer:
        message = getattr(message, name)
    kind = message.DESCRIPTOR.fields_by_name[last]
    if kind.enum_type is not None and isinstance(value, str):
        value = kind.enum_type.values_by_name[value].number
    setattr(message, last, value)


# the answer


class _Reader:
    """What a SolveResultProto amounts to."""

    def __init__(self, session: _Session, answer: Any, stopped: bool) -> None:
        self.compiled = session.compiled
        self.options = session.options
        self.termination = answer.termination
        self.answer = answer
        self.stopped = stopped
        self.nodes = int(answer.solve_stats.node_count) if self.compiled.integer.any() else None
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

    @property
    def duals(self) -> dict[str, Floats]:
        """Row duals and reduced costs of a linear program."""
        if self.dual is None or not self.compiled.is_linear_program:
            return {}
        return {
            "row_duals": _dense(self.dual.dual_values, self.compiled.rows.count),
            "reduced_costs": _dense(self.dual.reduced_costs, len(self.compiled.cost)),
        }

    def raw(self) -> Raw:
        """The answer of a solver whose statuses are proofs up to its tolerances."""
        reason, x = self.termination.reason, self.point
        said = self.termination.objective_bounds.dual_bound
        bound = float(said) if abs(said) < _BEYOND else None
        if reason == _OPTIMAL:
            return Raw(Status.OPTIMAL, x, bound, nodes=self.nodes, **self.duals)
        claims = {
            _INFEASIBLE: Status.INFEASIBLE,
            _UNBOUNDED: Status.UNBOUNDED,
            _EITHER: Status.INFEASIBLE_OR_UNBOUNDED,
        }
        if reason in claims:
            return Raw(claims[reason], nodes=self.nodes)
        if reason in (_FEASIBLE, _NO_SOLUTION):
            if self.compiled.is_linear_program:
                bound = None  # an unfinished simplex proves nothing
            return self._limited(x, bound)
        detail = self.termination.detail
        if reason == _IMPRECISE and x is not None:
            return Raw(Status.FEASIBLE, x, None, message=f"not solved precisely: {detail}")
        return Raw(Status.ERROR, message=f"MathOpt ends with reason {reason}: {detail}")

    def _limited(self, x: Floats | None, bound: float | None) -> Raw:
        limit = self.termination.limit
        if limit == _INTERRUPTED or (self.stopped and limit == _UNDETERMINED):
            return Raw(Status.INTERRUPTED, x, bound, nodes=self.nodes)
        status = Status.NO_SOLUTION if x is None else Status.FEASIBLE
        if limit == _UNDETERMINED and self.options.time_limit is not None:  # GLOP does not say
            return Raw(status, x, bound, Limit.TIME, nodes=self.nodes)
        message = "" if limit in _LIMITS else f"MathOpt: {self.termination.detail}"
        return Raw(status, x, bound, _LIMITS.get(limit), nodes=self.nodes, message=message)

    def pdlp(self) -> Raw:
        """The answer of PDLP, whose claims are proven here or not made."""
        raw = self.raw()
        if raw.status is Status.INFEASIBLE:
            return raw if self._proves_infeasible() else Raw(
                Status.NO_SOLUTION,
                message="PDLP holds the model for infeasible, by a certificate that is not exact",
            )  # fmt: skip
        if self.dual is None:
            return raw
        value = 0.0 if self.primal is None else float(
            self.compiled.objective(_dense(self.primal.variable_values, len(self.compiled.cost)))
        )  # fmt: skip
        duals = _dense(self.dual.dual_values, self.compiled.rows.count)
        raw = replace(raw, bound=dual_bound(self.compiled, duals, value))
        if raw.status is Status.OPTIMAL and raw.bound is None:
            said = "PDLP's duals prove no bound, as a variable has none"
            return replace(raw, status=Status.FEASIBLE, limit=Limit.GAP, message=said)
        return raw

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
