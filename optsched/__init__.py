"""optsched: offline optima, online algorithms and certified ratios for ML-job scheduling."""

from optsched.errors import InputError, ModelError, UnsupportedError
from optsched.model import Model
from optsched.solvers import Options, Solution, Status, solve

__all__ = [
    "InputError",
    "Model",
    "ModelError",
    "Options",
    "Solution",
    "Status",
    "UnsupportedError",
    "solve",
]
__version__ = "0.1.0"
