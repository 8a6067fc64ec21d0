"""One back end's answer, judged by the model."""

import numpy as np
import pytest

from optsched import Model
from optsched.solvers.backend import SolverResult
from optsched.solvers.direct import solve_directly
from optsched.solvers.options import Options
from optsched.solvers.solution import Limit, Status

SIGNS = {"minimise": 1.0, "maximise": -1.0}


class Scripted:
    """A back end that says what it is told to."""

    name = "scripted"
    native = frozenset[str]()

    def __init__(self, answer: SolverResult) -> None:
        self.answer = answer

    def version(self) -> str:
        return "0.1"

    def solve(self, compiled, options, start) -> SolverResult:
        return self.answer


def nine(sense: str) -> Model:
    """One variable, whose cost is 9 times itself."""
    m = Model()
    x = m.continuous("x", upper=1)
    (m.minimize if sense == "minimise" else m.maximize)(9 * x)
    return m


def answered(sense, below):
    """The solution whose point costs 9 and whose bound lies that share on its better side."""
    bound = 9 - SIGNS[sense] * 9 * below
    raw = SolverResult(Status.OPTIMAL, np.array([1.0]), bound)
    return solve_directly(nine(sense), Scripted(raw), Options())


@pytest.mark.parametrize("sense", SIGNS)
def test_an_optimum_whose_bound_lies_a_millionth_apart_is_none(sense):
    inside, outside = answered(sense, 0.9e-6), answered(sense, 1.1e-6)
    assert (inside.status, inside.limit) == (Status.OPTIMAL, None)
    assert (outside.status, outside.limit) == (Status.FEASIBLE, Limit.GAP)


@pytest.mark.parametrize("sense", SIGNS)
def test_a_bound_a_millionth_beyond_a_point_refutes_the_answer(sense):
    inside, outside = answered(sense, -0.9e-6), answered(sense, -1.1e-6)
    assert (inside.status, inside.bound) == (Status.OPTIMAL, 9.0)
    assert outside.status is Status.ERROR
    assert "beyond the value" in outside.message
