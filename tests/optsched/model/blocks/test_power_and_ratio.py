"""Powers and ratios: their values, their bounds, their rows over integers, what they refuse."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, solve
from optsched.model.view import block_formula
from optsched.testing import project

INF = np.inf


def broken(m: Model, **values) -> list[float]:
    return [v.amount for v in m.violations(values)]


def test_a_power_is_judged_as_written_relative_to_its_size():
    m = Model()
    m.power(m.continuous("x", 2, lower=-9, upper=9), 3, name="z")
    assert broken(m, x=[-2, 0.5], z=[-8, 0.125]) == []
    assert broken(m, x=[-2, 0.5], z=[-8, 0.126]) == [pytest.approx(1e-3)]
    assert broken(m, x=[8, 0], z=[512.0004, 0]) == []  # 8e-7 of it
    assert broken(m, x=[8, 0], z=[512.0006, 0]) == [pytest.approx(1.17e-6, rel=0.01)]


def test_a_ratio_is_judged_as_written_relative_to_its_size():
    m = Model()
    x, y = m.continuous("x", 2, upper=9), m.continuous("y", 2, lower=0.5, upper=9)
    m.ratio(x, y - 0.25, name="z")
    assert broken(m, x=[3, 1], y=[1.75, 0.75], z=[2, 2]) == []
    assert broken(m, x=[3, 1], y=[1.75, 0.75], z=[2, 2.02]) == [pytest.approx(0.01)]
    assert INF in broken(m, x=[3, 0], y=[1.75, 0.25], z=[2, 0])  # nothing by nothing


@pytest.mark.parametrize("exponent", range(2, 9))
@pytest.mark.parametrize(("low", "high"), [(-2, 3), (-3, 2), (-3, -1), (1, 3), (0, 2)])
def test_the_bounds_of_a_power_are_the_least_and_the_greatest(exponent, low, high):
    m = Model()
    z = m.power(m.integer("x", lower=low, upper=high), exponent, name="z")
    values = [x**exponent for x in range(low, high + 1)]
    least = 0 if exponent % 2 == 0 and low < 0 < high else min(values)
    assert (z.lower, z.upper) == (least, max(values))


@settings(deadline=None, max_examples=25)
@given(low=st.integers(-3, 1), width=st.integers(0, 4), exponent=st.integers(2, 7))
def test_a_lowered_power_of_an_integer_allows_the_same_points(low, width, exponent):
    m = Model()
    x = m.integer("x", lower=low, upper=low + width)
    z = m.power(x - 1, exponent, name="z")
    for sign in (1, -1):
        values = {n: (n - 1) ** exponent + sign * 40 * n for n in range(low, low + width + 1)}
        m.minimize(z + sign * 40 * x)
        assert solve(m).objective == pytest.approx(min(values.values()))
        m.maximize(z + sign * 40 * x)
        assert solve(m).objective == pytest.approx(max(values.values()))


def test_a_lowered_square_allows_no_point_beside_the_curve():
    m = Model()
    m.power(m.integer("x", lower=-1, upper=2), 2, name="z")
    found = project(m)
    assert found.stated == found.lowered
    assert len(found.stated) == 4


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_a_ratio_over_an_integer_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    low, most = int(rng.integers(-4, 3)), int(rng.integers(-3, 7))
    most, sign = max(most, low + 1), float(rng.choice([-1, 1]))
    m = Model()
    x = m.integer("x", lower=low, upper=low + 4)
    y = m.integer("y", lower=1, upper=5)
    m.add("row", x + y <= most)
    m.maximize(m.ratio(x + 0.5, sign * y) + 0.25 * x)
    points = itertools.product(range(low, low + 5), range(1, 6))
    best = max((a + 0.5) / (sign * b) + 0.25 * a for a, b in points if a + b <= most)
    assert solve(m).objective == pytest.approx(best, abs=1e-5)


def test_both_say_themselves_as_written():
    m = Model()
    x, y = m.continuous("x", upper=4), m.continuous("y", 2, lower=1, upper=4)
    m.power(x, 3, name="cube")
    m.power(2 * x, 2, name="double")
    m.power(-x, 2, name="minus")
    m.ratio(x + 1, 2 * y, name="z")
    m.ratio(1, y, name="inverse")
    text = repr(m)
    for said in ("cube = x ** 3", "double = (2 x) ** 2", "minus = (-x) ** 2",
                 "z[0] = (x + 1) / (2 y[0])", "inverse[0] = 1 / y[0]"):  # fmt: skip
        assert said in text
    latex = "; ".join(block_formula(m, block) for block in m.blocks.values())
    for said in (r"x^{3}", r"\left(2\, x\right)^{2}", r"\left(-x\right)^{2}",
                 r"\frac{x + 1}{2\, y_{i}}"):  # fmt: skip
        assert said in latex


def test_a_variable_without_a_bound_is_named():
    m = Model()
    x, y = m.continuous("x", 2, lower=[0, -INF], upper=3), m.continuous("y", lower=1)
    with pytest.raises(ModelError, match=r"'cube'.* x\[1\] lacks a finite bound"):
        m.power(x, 3, name="cube")
    with pytest.raises(ModelError, match="y lacks a finite bound"):
        m.ratio(x[0], y)
    with pytest.raises(ModelError, match=r"x\[1\] lacks a finite bound"):
        m.ratio(x, 2)
    with pytest.raises(ModelError, match="y lacks a finite bound"):
        m.product(x[0], y)


def test_a_divisor_that_may_be_zero_is_named_with_its_range():
    m = Model()
    y = m.continuous("y", 2, lower=[1, -2], upper=3)
    with pytest.raises(ModelError, match=r"divisor y\[1\] lies between -2 and 3"):
        m.ratio(1, y)
    with pytest.raises(ModelError, match=r"divisor y\[0\] - 1 lies between 0 and 2"):
        m.ratio(1, y[0] - 1)


def test_a_power_beyond_all_floating_point_numbers_is_refused():
    m = Model()
    with pytest.raises(ModelError, match=r"50 \*\* 400 is no number; scale the base"):
        m.power(m.continuous("x", lower=-50, upper=2), 400)


@pytest.mark.parametrize("exponent", [1, 0, -1, 0.5, "2"])
def test_an_exponent_that_is_no_whole_number_of_at_least_2_is_refused(exponent):
    m = Model()
    with pytest.raises(ModelError, match="must be a whole number of at least 2"):
        m.power(m.integer("x", upper=2), exponent)


@pytest.mark.parametrize(
    ("write", "instead"),
    [
        (lambda x: x**3, "m.power"),
        (lambda x: np.square(x), "m.power"),
        (lambda x: x / x, "m.ratio"),
        (lambda x: 1 / x, "m.ratio"),
        (lambda x: x * x, "m.product"),
    ],
)
def test_operators_say_which_statement_is_meant(write, instead):
    with pytest.raises(ModelError, match=instead):
        write(Model().continuous("x", 2, lower=1, upper=2))
