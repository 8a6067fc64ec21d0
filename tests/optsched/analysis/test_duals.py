"""Duals of what fixed integers leave."""

import numpy as np
import pytest

from optsched import InputError, Model, solve
from optsched.analysis.duals import fixed_duals
from optsched.solvers.registry import available

SOLVERS = [name for name in ("highs", "glop", "gurobi") if name in available()]


@pytest.mark.parametrize("solver", SOLVERS)
def test_duals_with_integers_fixed_are_those_of_the_program_left(solver):
    m = Model("two plants")
    works = m.binary("works", 2)
    made = m.continuous("made", 2)
    m.add("capacity", made <= np.array([5.0, 8.0]) * works)
    m.add("demand", made.sum() >= 6)
    m.minimize(works @ [10.0, 3.0] + made @ [1.0, 2.0])
    fixed = fixed_duals(m, solve(m), solver)
    assert fixed.objective == pytest.approx(15)
    assert fixed["works"].tolist() == [0, 1]
    assert fixed.dual("demand") == pytest.approx(2)
    closed, spare = fixed.dual("capacity")
    assert closed <= -1 + 1e-9
    assert spare == pytest.approx(0)


def test_rows_that_stand_for_a_block_have_duals_under_its_name():
    m = Model()
    load = m.continuous("load", 3, upper=9)
    m.add("total", load.sum() == 12)
    m.minimize(m.maximum(load, name="most") + m.piecewise(load[0], [0, 2, 9], [0, 6, 6], name="f"))
    best = solve(m)
    fixed = fixed_duals(m, best)
    assert fixed.objective == pytest.approx(best.objective)
    assert set(fixed.values) == set(m.variables)
    assert any(name.startswith("most:") for name in fixed.duals)


def test_without_a_point_nothing_is_fixed():
    m = Model()
    m.add("never", m.binary("b") >= 2)
    with pytest.raises(InputError, match="one with a point"):
        fixed_duals(m, solve(m))
