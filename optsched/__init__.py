"""optsched: offline optima, online algorithms and certified ratios for ML-job scheduling."""

from optsched.batch import Batch
from optsched.errors import InputError, ModelError, UnsupportedError
from optsched.explain import Explanation, explain
from optsched.export.reading import from_mps
from optsched.lowering.report import explain_lowering
from optsched.model import Model
from optsched.solvers import Options, Solution, Status, solve

__all__ = [
    "Batch",
    "Explanation",
    "InputError",
    "Model",
    "ModelError",
    "Options",
    "Solution",
    "Status",
    "UnsupportedError",
    "explain",
    "explain_lowering",
    "from_mps",
    "solve",
]
__version__ = "0.1.0"
