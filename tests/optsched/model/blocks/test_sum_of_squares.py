"""Sums of squares: least squares have closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, solve


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=4))
def test_the_nearest_whole_point_is_the_rounded_one(tenths):
    target = np.array(tenths) / 10
    m = Model()
    x = m.integer("x", len(target), lower=-9, upper=9)
    m.minimize(m.sum_of_squares(x - target))
    nearest = ((np.rint(target) - target) ** 2).sum()
    assert solve(m).objective == pytest.approx(nearest, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_fit_is_the_one_of_the_normal_equations(solver, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(6, 2)), rng.normal(size=6)
    m = Model()
    x = m.continuous("x", 2, lower=-50, upper=50)
    m.minimize(m.sum_of_squares(a @ x - b))
    best = np.linalg.lstsq(a, b)[1][0]
    assert solve(m, solver).objective == pytest.approx(best, abs=1e-5)


def test_each_entry_sums_over_the_last_axis():
    m = Model()
    x = m.continuous("x", (2, 3), lower=[[1, 2, 3], [0, 1, 0]], upper=9)
    squares = m.sum_of_squares(x, name="squares")
    m.minimize(squares.sum())
    assert solve(m)["squares"] == pytest.approx([14, 1], abs=1e-5)


def test_a_ball_is_a_bound_on_the_sum():
    m = Model()
    x = m.continuous("x", 2, lower=-9, upper=9)
    m.add("ball", m.sum_of_squares(x) <= 2)
    m.maximize(x.sum())
    assert solve(m).objective == pytest.approx(2, abs=1e-5)


def test_a_single_entry_has_nothing_to_sum_over():
    m = Model()
    with pytest.raises(ModelError, match="no axis"):
        m.sum_of_squares(m.continuous("x"))
