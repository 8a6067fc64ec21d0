"""optsched: offline optima, online algorithms and certified ratios for ML-job scheduling."""

from optsched import exports
from optsched.errors import InputError, ModelError, UnsupportedError
from optsched.explain import Explanation, explain
from optsched.explain_lowering import explain_lowering
from optsched.formats.reading import from_mps
from optsched.model import Model
from optsched.session import Session
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

__all__ = [
    "Explanation",
    "InputError",
    "Model",
    "ModelError",
    "Options",
    "Session",
    "Solution",
    "Status",
    "UnsupportedError",
    "explain",
    "explain_lowering",
    "from_mps",
    "solve",
]
__version__ = "0.1.0"

Model.exports = exports
