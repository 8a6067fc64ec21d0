"""Claims of a paper's evaluation as data, measured on demand, with a verdict on each.

A :class:`Claim` names what the paper prints and how it is measured. Several claims may share one
*experiment*: a function from a scale to what it measured, which is run once, or a :class:`Sweep`
over many instances, which are measured in parallel and kept one by one. What a paper leaves open
is a :class:`Interpretation`; a claim names those that can move its verdict. Packages announce their
claims through the entry-point group ``optsched.claims`` (a sequence of :class:`Claim`, under the
problem's name); ``optsched claims`` measures them.
"""

from heuristics.common.claims.claim import (
    NOTHING,
    UNDECIDED,
    Claim,
    ClaimVerdict,
    Finding,
    Interpretation,
    Judged,
    Under,
)
from heuristics.common.claims.experiments import (
    Result,
    claims,
    judge,
    measure_claims,
    run_experiments,
)
from heuristics.common.claims.tables import latex, markdown, table
from heuristics.common.claims.verdicts import (
    STATED,
    bounded,
    compared,
    compared_means,
    counted,
    limited,
    ordered,
    within,
)
from heuristics.common.data import data_folder
from optsched.evaluation.runs import UnmeasuredError
from optsched.study.sweep import Scale, Sweep

__all__ = [
    "NOTHING",
    "STATED",
    "UNDECIDED",
    "Claim",
    "ClaimVerdict",
    "Finding",
    "Interpretation",
    "Judged",
    "Result",
    "Scale",
    "Sweep",
    "Under",
    "UnmeasuredError",
    "bounded",
    "claims",
    "compared",
    "compared_means",
    "counted",
    "data_folder",
    "judge",
    "latex",
    "limited",
    "markdown",
    "measure_claims",
    "ordered",
    "run_experiments",
    "table",
    "within",
]
