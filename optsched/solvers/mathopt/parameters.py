"""Parameters of the solvers behind MathOpt: exact by default, and the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from optsched.errors import InputError
from optsched.model.matrix_form import MatrixForm
from optsched.solvers.backend import Backend, Feature
from optsched.solvers.mathopt.call import call
from optsched.solvers.options import Options

SCIP_TOLERANCE = 1e-9
"""SCIP's feasibility tolerance. Its default of 1e-6 lets a binary of 1e-6 switch off a row with a
large constant; the point then breaks the row once the binary is rounded."""

SCIP_DEFAULT = 1e-6
"""What SCIP works at by itself: at this tolerance, too, a model must be infeasible to count as
such; a point found at it is mended as any other."""

SCIP_NONLINEAR_TOLERANCE = 1e-7
"""The same beside quadratic constraints. At 1e-9, which is what SCIP takes for zero, it has been
seen to prove models with products infeasible and to lose optima; up to 1e-8, optima."""

PDLP_TOLERANCE = 1e-8
"""PDLP's tolerances on residuals and gap, relative, entry by entry."""


class MathOptSolver(Backend):
    """A solver behind MathOpt, and the options that it supports."""

    title: str
    """The solver, for messages."""
    code: int
    """SolverTypeProto."""
    native: frozenset[str] = frozenset()
    threads = False
    seed = True


def parameters(engine: MathOptSolver, compiled: MatrixForm, options: Options) -> Any:
    """The SolveParametersProto.

    Raises:
        InputError: a parameter in ``options.extra`` is unknown or cannot take its value.
    """
    from ortools.math_opt import parameters_pb2

    proto = parameters_pb2.SolveParametersProto()
    if engine.seed:
        proto.random_seed = options.seed
    if engine.threads:
        proto.threads = options.threads
    if (
        Feature.INTEGERS in engine.features and not compiled.is_linear_program
    ):  # a simplex ends at the optimum anyway
        proto.relative_gap_tolerance = options.gap
        proto.absolute_gap_tolerance = options.absolute_gap
    if engine.name == "scip":
        proto.gscip.bool_params["misc/catchctrlc"] = False
        tolerance = SCIP_NONLINEAR_TOLERANCE if compiled.nonlinear else SCIP_TOLERANCE
        proto.gscip.real_params["numerics/feastol"] = tolerance
        # they have been seen to lose the optimum where two indicators share a literal
        proto.gscip.bool_params["constraints/indicator/dualreductions"] = False
    elif engine.name == "pdlp":
        _set_tolerances(proto.pdlp.termination_criteria, options)
    for key, value in options.extra.items():
        _set_extra(engine, proto, key, value)
    return proto


def _set_tolerances(criteria: Any, options: Options) -> None:
    criteria.optimality_norm = 3  # the greatest entry, each relative to its own side
    detailed = criteria.detailed_optimality_criteria
    for part in ("primal_residual", "dual_residual", "objective_gap"):
        for kind in ("absolute", "relative"):
            setattr(detailed, f"eps_optimal_{part}_{kind}", PDLP_TOLERANCE)
    # its relative gap is relative to |primal| + |dual|
    detailed.eps_optimal_objective_gap_relative = max(PDLP_TOLERANCE, options.gap / 2)
    detailed.eps_optimal_objective_gap_absolute = max(PDLP_TOLERANCE, options.absolute_gap)


def _set_extra(engine: MathOptSolver, proto: Any, key: str, value: Any) -> None:
    """Set a parameter in the first place that takes it, tried on an empty model.

    Raises:
        InputError: none does.
    """
    from ortools.math_opt import model_parameters_pb2, model_pb2, parameters_pb2

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
        answer = call(engine.code, model_pb2.ModelProto(), trial, details)
        if not isinstance(answer, str):
            setting(proto)
            return
        said = answer
    allowed = f"a parameter of {engine.title} and a value it takes ({said})"
    raise InputError.of(f"extra[{key!r}]", value, allowed)


def _settings(engine: MathOptSolver, key: str, value: Any) -> Iterator[Any]:
    """Ways to set a parameter: where SCIP keeps it depends on its type."""
    if engine.name in ("glop", "pdlp"):
        yield lambda to: _set_field(getattr(to, engine.name), key, value)
        return
    kinds: dict[type, tuple[str, ...]] = {
        bool: ("bool",),
        int: ("long", "int", "real") if key.startswith("limits/") else ("int", "long", "real"),
        float: ("real",),
        str: ("char", "string") if len(str(value)) == 1 else ("string",),
    }
    for kind in kinds.get(type(value), ()):
        yield lambda to, kind=kind: _put(getattr(to.gscip, f"{kind}_params"), key, value)


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
