"""What a problem is, how it is solved, and how problems are found."""

from optsched.problem.arrivals import Arrivals
from optsched.problem.cards import Cards
from optsched.problem.definition import (
    COST_TOLERANCE,
    UNPROVEN,
    Bound,
    Heuristic,
    Problem,
    Sense,
    granted_check_options,
    later,
    problem,
    problems,
)
from optsched.problem.equations import OBJECTIVE, Equation
from optsched.problem.guarantee import Guarantee
from optsched.problem.methods import ExactMethod, Formulation
from optsched.problem.violation import Violation
from optsched.solvers.answer import Answer

__all__ = [
    "COST_TOLERANCE",
    "OBJECTIVE",
    "UNPROVEN",
    "Answer",
    "Arrivals",
    "Bound",
    "Cards",
    "Equation",
    "ExactMethod",
    "Formulation",
    "Guarantee",
    "Heuristic",
    "Problem",
    "Sense",
    "Violation",
    "granted_check_options",
    "later",
    "problem",
    "problems",
]
