"""Products as linear rows: same points, and no looser than the corners allow."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError, solve
from optsched.testing import project

small = settings(deadline=None, max_examples=12)
INF = np.inf


def factor(m: Model, rng: np.random.Generator, name: str, kind: str):
    if kind == "binary":
        return m.binary(name)
    low = int(rng.integers(-3, 2))
    make = m.integer if kind == "integer" else m.continuous
    return make(name, lower=low, upper=low + int(rng.integers(0, 4)))


@small
@given(
    seed=st.integers(0, 10**6),
    kinds=st.sampled_from(
        [(a, b) for a in ("binary", "integer") for b in ("binary", "integer", "continuous")]
    ),
    swap=st.booleans(),
)
def test_lowered_products_allow_the_same_points(seed, kinds, swap):
    rng = np.random.default_rng(seed)
    m = Model()
    a, b = (factor(m, rng, name, kind) for name, kind in zip("ab", kinds, strict=True))
    shift, scale = rng.integers(-1, 2, 2)
    a = a + float(shift) if scale else 1 - a
    m.product(*((b, a) if swap else (a, b)), name="z")
    found = project(m, step=0.5 if "continuous" in kinds else 1.0)
    assert found.stated == found.lowered
    assert found.stated


def test_a_product_of_arrays_of_unlike_widths_allows_the_same_points():
    m = Model()
    a = m.integer("a", 2, lower=[0, -1], upper=[1, 1])
    m.product(a, m.integer("b", 2, lower=[-1, 0], upper=[1, 2]), name="z")
    found = project(m)
    assert found.stated == found.lowered
    assert len(found.stated) == 2 * 3 * 3 * 3


@small
@given(seed=st.integers(0, 10**6))
def test_the_relaxation_of_a_binary_times_a_real_is_the_hull_of_its_corners(seed):
    rng = np.random.default_rng(seed)
    low = int(rng.integers(-4, 3))
    high = low + int(rng.integers(1, 5))
    m = Model()
    b, x = m.binary("b"), m.continuous("x", lower=low, upper=high)
    z = m.product(b, x)
    relaxed = m.relax()
    for _ in range(5):
        c = rng.integers(-5, 6, 3).astype(float)
        relaxed.maximize(c[0] * b + c[1] * x + c[2] * z)
        corners = [c @ (i, v, i * v) for i, v in itertools.product((0, 1), (low, high))]
        assert solve(relaxed).objective == pytest.approx(max(corners))


def test_the_bounds_of_the_result_are_the_extreme_corners():
    m = Model()
    z = m.product(m.integer("a", lower=-2, upper=3), m.integer("b", lower=-4, upper=1), name="z")
    assert (float(z.lower), float(z.upper)) == (-12.0, 8.0)


def test_added_variables_carry_the_name_of_the_block_and_are_bounded():
    m = Model()
    m.product(m.integer("a", 2, upper=5), m.continuous("x", 2, lower=-1, upper=3), name="work")
    compiled = m.compile()
    added = [name for name in compiled.column_blocks if name not in m.variables]
    assert added
    assert all(name.startswith("work:") for name in added)
    assert all(name.startswith("work:") for name in compiled.row_blocks)
    assert np.isfinite(compiled.lower).all()
    assert np.isfinite(compiled.upper).all()


@pytest.mark.parametrize("open_end", ["lower", "upper"])
def test_a_factor_without_a_bound_is_an_error_that_names_it(open_end):
    m = Model()
    bounds = {"lower": 0, "upper": 4} | {open_end: -INF if open_end == "lower" else INF}
    x = m.continuous("x", 2, **bounds)
    m.product(m.binary("b"), x[1], name="z")
    with pytest.raises(ModelError, match=r"'z'.*x\[1\] lacks a finite bound"):
        m.compile()
    assert m.compile({"product"}).nonlinear  # taken natively, it needs none


def test_two_real_factors_have_no_linear_form():
    m = Model()
    x = m.continuous("x", 2, upper=4)
    m.product(x[0], x[1], name="z")
    with pytest.raises(ModelError, match=r"'z'.*integer factor"):
        m.compile()


def test_a_factor_of_one_value_needs_no_digits():
    m = Model()
    m.product(m.integer("a", lower=3, upper=3), m.integer("b", lower=2, upper=4), name="z")
    found = project(m)
    assert found.stated == found.lowered == {(3.0, v, 3.0 * v) for v in (2.0, 3.0, 4.0)}
