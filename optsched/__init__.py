"""optsched: offline optima, online algorithms and certified ratios for ML-job scheduling."""

from importlib import import_module
from typing import Any

from optsched.analysis.duals import fixed_duals
from optsched.analysis.elastic import GivenUp, least_given_up
from optsched.analysis.explain import Explanation, explain
from optsched.analysis.lexicographic import solve_in_order
from optsched.analysis.lowering_report import explain_lowering
from optsched.analysis.numerics import Conditioning, conditioning
from optsched.analysis.solution_pool import Alternatives, alternatives
from optsched.errors import InputError, ModelError, UnsupportedError
from optsched.files.reading import read
from optsched.model import Model
from optsched.session import Session
from optsched.solve import solve
from optsched.solvers import exports
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

__all__ = [
    "Alternatives",
    "Conditioning",
    "Explanation",
    "GivenUp",
    "InputError",
    "Model",
    "ModelError",
    "Options",
    "Session",
    "Solution",
    "Status",
    "UnsupportedError",
    "adversarial",
    "alternatives",
    "conditioning",
    "explain",
    "explain_lowering",
    "fixed_duals",
    "least_given_up",
    "measure",
    "problem",
    "read",
    "solve",
    "solve_in_order",
    "study",
]


def __getattr__(name: str) -> Any:
    """Load what stands above the models, such as ``problem`` and ``study``, when asked for."""
    if name in ("problem", "study"):
        return import_module(f"optsched.{name}")
    if name == "measure":
        from optsched.evaluation.measure import measure

        return measure
    if name == "adversarial":
        return import_module("optsched.adversary").adversarial
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__ = "0.1.0"

Model.exports = exports
Model.solving = staticmethod(solve)
