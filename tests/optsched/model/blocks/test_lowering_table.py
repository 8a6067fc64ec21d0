"""Tables as linear rows: same points, and the convex hull of the graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, solve
from optsched.testing import project

small = settings(deadline=None, max_examples=15)


@small
@given(seed=st.integers(0, 10**6))
def test_lowered_tables_allow_the_same_points(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    low = rng.integers(-2, 3, 2)
    n = m.integer("n", 2, lower=low, upper=low + rng.integers(0, 4, 2))
    values = rng.integers(-2, 3, int(rng.integers(1, 5)))
    index = n if rng.random() < 0.5 else 2 * n[::-1] + float(rng.integers(-1, 2))
    m.table(values, index, name="f")
    found = project(m)
    assert found.stated == found.lowered


def test_entries_that_the_index_cannot_reach_are_closed():
    m = Model()
    m.table([5, 1, 2, 9], m.integer("n", lower=1, upper=2), name="f")
    compiled = m.compile()
    first, shape = compiled.column_blocks["f:chosen"]
    np.testing.assert_array_equal(compiled.upper[first : first + shape[-1]], [0, 1, 1, 0])


@small
@given(seed=st.integers(0, 10**6))
def test_the_relaxation_of_a_table_is_the_hull_of_its_graph(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-5, 6, 5).astype(float)
    m = Model()
    n = m.integer("n", upper=4)
    f = m.table(values, n)
    relaxed = m.relax()
    for _ in range(5):
        c = rng.integers(-5, 6, 2).astype(float)
        relaxed.maximize(c[0] * n + c[1] * f)
        assert solve(relaxed).objective == pytest.approx(
            (c[0] * np.arange(5) + c[1] * values).max()
        )


def test_a_table_bounds_an_index_without_bounds():
    m = Model()
    n = m.integer("n", lower=-np.inf)
    m.table([4, 2, 3], n, name="f")
    m.maximize(n)
    assert solve(m).objective == 2.0


def test_an_index_that_may_be_fractional_is_an_error():
    m = Model()
    with pytest.raises(ModelError, match=r"'f'.*index"):
        m.table([1, 2], 0.5 * m.integer("n", upper=2), name="f")
    with pytest.raises(ModelError, match=r"'f'.*index"):
        m.table([1, 2], m.continuous("x", upper=1), name="f")


@pytest.mark.parametrize("values", [[], [[1, 2]], [1, np.inf]])
def test_a_table_is_a_vector_of_finite_numbers(values):
    m = Model()
    with pytest.raises(ModelError, match="'f'"):
        m.table(values, m.integer("n", upper=1), name="f")


def test_added_variables_carry_the_name_of_the_block():
    m = Model()
    m.table([1, 2], m.integer("n", 3, upper=1), name="power")
    compiled = m.compile()
    assert [c for c in compiled.column_blocks if c not in m.variables] == ["power:chosen"]
    assert all(name.startswith("power:") for name in compiled.row_blocks)
