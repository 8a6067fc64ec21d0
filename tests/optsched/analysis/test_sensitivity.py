"""What an optimum hangs on: ranges of numbers, and duals of what fixed integers leave."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from optsched import InputError, Model, UnsupportedError, fixed_duals, ranging, solve
from optsched.solvers.registry import available

SOLVERS = [name for name in ("highs", "glop", "gurobi") if name in available()]
STEP = 0.01


def program(matrix, sides, cost, maximise, equal=False):
    """A linear program over a box, with one row for each side."""
    m = Model()
    x = m.continuous("x", len(cost), upper=4.0)
    m.add("rows", (matrix @ x == sides) if equal else (matrix @ x <= sides))
    (m.maximize if maximise else m.minimize)(x @ cost)
    return m


@st.composite
def programs(draw):
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    numbers = st.integers(-4, 4).map(float)
    matrix = np.array(draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns)))
    cost = np.array(draw(st.lists(numbers, min_size=columns, max_size=columns)))
    inside = np.array(draw(st.lists(st.integers(0, 4), min_size=columns, max_size=columns)))
    matrix = matrix.reshape(rows, columns)
    slack = np.array(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    sides = matrix @ inside + slack
    return matrix, sides.astype(float), cost, draw(st.booleans())


@settings(max_examples=25, deadline=None)
@given(programs(), st.sampled_from(SOLVERS))
def test_a_point_stays_optimal_for_costs_within_their_range_and_not_beyond(data, solver):
    matrix, sides, cost, maximise = data
    found = ranging(program(*data), solver, blocks=[])
    point = found.solution["x"]
    for column, (low, high) in enumerate(zip(*found.costs["x"], strict=True)):
        assert low <= cost[column] + 1e-6
        assert high >= cost[column] - 1e-6
        for end, beyond in ((low, low - STEP), (high, high + STEP)):
            for value, stays in ((end, True), (beyond, False)):
                if np.isfinite(value):
                    moved = cost.copy()
                    moved[column] = value
                    best = solve(program(matrix, sides, moved, maximise)).objective
                    loses = abs(best - moved @ point)
                    assert loses <= 1e-6 if stays else loses > 1e-5


@settings(max_examples=25, deadline=None)
@given(programs(), st.sampled_from(SOLVERS), st.booleans())
def test_the_optimum_moves_by_the_dual_within_a_side_s_range(data, solver, equal):
    matrix, sides, cost, maximise = data
    model = program(*data, equal)
    assume(solve(model).has_point)
    found = ranging(model, solver, variables=[])
    duals, base = found.solution.dual("rows"), found.solution.objective
    for row, (low, high) in enumerate(zip(*found.sides["rows"], strict=True)):
        assert low - 1e-6 <= sides[row] <= high + 1e-6
        for value in (low, high, (max(low, -9.0) + min(high, 9.0)) / 2):
            if np.isfinite(value) and low <= value <= high:
                moved = sides.copy()
                moved[row] = value
                again = solve(program(matrix, moved, cost, maximise, equal))
                told = base + duals[row] * (value - sides[row])
                assert again.objective == pytest.approx(told, abs=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_textbook_s_ranges(solver):
    m = Model("dovetail")
    made = m.continuous("made", 2)
    m.maximize(made @ [3.0, 2.0])
    m.add("machine", made.sum() <= 9)
    m.add("wood", made @ [3.0, 1.0] <= 18)
    m.add("long", made[0] <= 7)
    m.add("short", made[1] <= 6)
    found = ranging(m, solver)
    table = found.table[found.table["what"] == "side"]
    assert found.costs["made"].low == pytest.approx([2.0, 1.0])
    assert found.costs["made"].high == pytest.approx([6.0, 3.0])
    sides = {name: ends for name, *ends in table[["name", "low", "high"]].to_numpy().tolist()}
    assert sides["machine"] == pytest.approx((6, 10))
    assert sides["wood"] == pytest.approx((15, 23))  # long at its end: 7 and 2
    assert sides["long"] == pytest.approx((4.5, np.inf))
    assert sides["short"] == pytest.approx((4.5, np.inf))


def test_of_a_row_with_two_sides_the_one_that_binds_moves_up_to_the_other():
    m = Model()
    x = m.continuous("x", upper=10)
    m.add("range", x.between(2, 6))
    m.minimize(x)
    assert [float(end) for end in ranging(m).sides["range"]] == [0.0, 6.0]


def test_whole_numbers_names_that_are_not_there_and_solvers_without_duals_are_refused():
    m = Model()
    x = m.continuous("x", upper=3)
    m.minimize(x)
    with pytest.raises(InputError, match=r"variables.*some of x"):
        ranging(m, variables=["y"])
    with pytest.raises(UnsupportedError, match="gives no duals"):
        ranging(m, "scip")
    m.add("beyond", x >= 4)
    with pytest.raises(InputError, match="infeasible") as refused:
        ranging(m)
    assert str(refused.value) == str(refused.value).strip()
    m.integer("n", upper=2)
    with pytest.raises(InputError, match="a linear program"):
        ranging(m)


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
