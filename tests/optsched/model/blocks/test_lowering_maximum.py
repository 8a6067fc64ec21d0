"""Maxima, minima and absolute values as linear rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, solve
from optsched.testing import project

INF = np.inf


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 10**6), word=st.sampled_from(["maximum", "minimum", "absolute"]))
def test_lowered_maxima_allow_the_same_points(seed, word):
    rng = np.random.default_rng(seed)
    m = Model()
    low = rng.integers(-3, 3, 3)
    x = m.integer("x", 3, lower=low, upper=low + rng.integers(0, 3, 3))
    if word == "absolute":
        m.absolute(x[:2] - x[1:], name="z")
    else:
        arguments = [x, x[0] - x[1], 2.0][: int(rng.integers(1, 4))]
        m.maximum(*arguments, name="z") if word == "maximum" else m.minimum(*arguments, name="z")
    found = project(m, most=6000)
    assert found.stated == found.lowered
    assert found.stated


def test_lowered_maxima_of_reals_allow_the_same_points():
    m = Model()
    x = m.continuous("x", 2, lower=[-1, 0], upper=[1, 2])
    m.maximum(x[0], x[1], name="z")
    found = project(m, step=0.5)
    assert found.stated == found.lowered


def slack(m: Model) -> list[float]:
    """How far each argument may lie below the result where it does not win."""
    compiled = m.compile()
    first, shape = compiled.row_blocks["z:meets"]
    column, _ = compiled.column_blocks["z:wins"]
    rows = compiled.rows.matrix.toarray()[first : first + int(np.prod(shape))]
    return [float(row[column + i]) for i, row in enumerate(rows)]


def test_the_slack_is_what_the_greatest_other_argument_allows():
    m = Model()
    x = m.integer("x", 3, lower=[0, 2, 1], upper=[9, 6, 7])
    m.maximum(x, name="z")
    # the first may be 0 where another is 7; the others lie below a first of 9
    assert slack(m) == [7.0, 7.0, 8.0]
    lowest = Model()
    y = lowest.integer("y", 2, lower=[0, -3], upper=[5, 2])
    lowest.minimum(y, name="z")
    assert slack(lowest) == [5.0 + 3.0, 2.0 - 0.0]


def test_the_slack_of_an_absolute_value_is_twice_the_other_end():
    m = Model()
    m.absolute(m.integer("x", lower=-3, upper=5), name="z")
    assert slack(m) == [6.0, 10.0]


def test_an_argument_that_another_always_exceeds_never_wins():
    m = Model()
    m.maximum(m.integer("x", upper=3), m.integer("y", lower=4, upper=6), name="z")
    compiled = m.compile()
    first, _ = compiled.column_blocks["z:wins"]
    np.testing.assert_array_equal(compiled.upper[first : first + 2], [0, 1])
    found = project(m)
    assert found.stated == found.lowered


def test_the_bounds_of_the_result_are_those_of_the_arguments():
    m = Model()
    x = m.integer("x", 2, lower=[-2, 1], upper=[3, 9])
    for made, ends in (
        (m.maximum(x), (1, 9)),
        (m.minimum(x), (-2, 3)),
        (m.absolute(x[0]), (0, 3)),
        (m.absolute(-x[1]), (1, 9)),
    ):
        assert (float(made.lower), float(made.upper)) == ends


def test_an_argument_without_a_bound_is_an_error_that_names_it():
    m = Model()
    x, y = m.continuous("x", 2, upper=[1, INF]), m.continuous("y", lower=-INF, upper=1)
    m.maximum(x, name="z")
    with pytest.raises(ModelError, match=r"'z'.*x\[1\] lacks a finite bound"):
        m.compile()
    other = m.without("z")
    other.minimum(x[0], y, name="w")
    with pytest.raises(ModelError, match=r"'w'.*y lacks a finite bound"):
        other.compile()


def test_nothing_to_choose_from_is_an_error():
    m = Model()
    with pytest.raises(ModelError, match=r"'z'.*nothing"):
        m.maximum(m.integer("x", 0), name="z")
    with pytest.raises(ModelError, match="nothing"):
        m.maximum(name="z")


def test_added_variables_carry_the_name_of_the_block():
    m = Model()
    m.maximum(m.integer("x", 3, upper=2), name="load")
    compiled = m.compile()
    assert [c for c in compiled.column_blocks if c not in m.variables] == ["load:wins"]
    assert all(name.startswith("load:") for name in compiled.row_blocks)


@pytest.mark.parametrize("word", ["absolute", "maximum"])
def test_a_statement_of_an_integer_without_a_value_is_part_of_an_infeasible_model(word):
    m = Model()
    x = m.integer("x", 1, lower=0.3, upper=0.6)
    getattr(m, word)(x)
    m.maximize(x.sum())
    assert solve(m).status == "infeasible"
