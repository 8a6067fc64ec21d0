"""What a problem is, how it is solved, and how problems are found."""

from optsched.problem.algorithms import Bound, Heuristic
from optsched.problem.arrivals import Arrivals
from optsched.problem.definition import (
    COST_TOLERANCE,
    UNPROVEN,
    Problem,
    Sense,
    granted_check_options,
)
from optsched.problem.equations import OBJECTIVE, Equation
from optsched.problem.guarantee import Guarantee
from optsched.problem.lazy import LazyMapping, later
from optsched.problem.methods import ExactMethod, Formulation
from optsched.problem.registry import problem, problems
from optsched.problem.violation import Violation
from optsched.solvers.answer import Answer

__all__ = [
    "COST_TOLERANCE",
    "OBJECTIVE",
    "UNPROVEN",
    "Answer",
    "Arrivals",
    "Bound",
    "Equation",
    "ExactMethod",
    "Formulation",
    "Guarantee",
    "Heuristic",
    "LazyMapping",
    "Problem",
    "Sense",
    "Violation",
    "granted_check_options",
    "later",
    "problem",
    "problems",
]
