"""Indicator blocks as linear rows: same points, tightest constants."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import Model, ModelError
from optsched.model import Rows

INF = np.inf


def hold(rows: Rows, x: np.ndarray) -> bool:
    """Whether the linear rows alone hold at a point."""
    activity = rows.matrix @ x
    return bool((activity >= rows.lower - 1e-9).all() and (activity <= rows.upper + 1e-9).all())


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 10**6))
def test_lowered_rows_hold_at_exactly_the_points_the_indicator_allows(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    lower = rng.integers(-3, 1, 2)
    upper = lower + rng.integers(0, 4, 2)
    x = m.integer("x", 2, lower=lower, upper=upper)
    literals = int(rng.integers(1, 3))
    b = m.binary("b", (literals, 2))
    active = [bool(v) for v in rng.integers(0, 2, literals)]
    a = rng.integers(-2, 3, (2, 2)).astype(float)
    constant = rng.integers(-2, 3, 2).astype(float)
    expression = a @ x + constant
    side = rng.integers(-4, 5, 2).astype(float)
    sort = int(rng.integers(0, 4))
    relation = [
        expression <= side,
        expression >= side,
        expression == side,
        expression.between(side - 1, side + 1),
    ][sort]
    low = [np.full(2, -INF), side, side, side - 1][sort]
    high = [side, np.full(2, INF), side, side + 1][sort]
    m.indicator([b[i] for i in range(literals)], relation, active=active, name="when")
    lowered, allowed, points = m.compile().rows, 0, []
    for xs in itertools.product(*(range(lo, hi + 1) for lo, hi in zip(lower, upper, strict=True))):
        value = a @ np.array(xs) + constant
        for bits in itertools.product((0, 1), repeat=2 * literals):
            on = (np.reshape(bits, (literals, 2)) == np.array(active)[:, None]).all(axis=0)
            meant = bool(np.all(~on | ((value >= low) & (value <= high))))
            point = np.array([*xs, *bits], dtype=float)
            assert hold(lowered, point) == meant
            points.append((point, meant))
            allowed += meant
    assert allowed  # with a literal false, every x is allowed
    for i in rng.integers(0, len(points), 20):
        point, meant = points[i]
        values = {"x": point[:2], "b": point[2:].reshape(literals, 2)}
        assert (m.violations(values) == []) == meant


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_the_constant_is_the_tightest_the_bounds_allow(seed):
    rng = np.random.default_rng(seed)
    m = Model()
    lower = rng.integers(-5, 1, 3).astype(float)
    upper = lower + rng.integers(0, 6, 3)
    x, b = m.continuous("x", 3, lower=lower, upper=upper), m.binary("b")
    a, side = rng.integers(-3, 4, 3).astype(float), float(rng.integers(-6, 7))
    m.indicator(b, a @ x <= side, name="when")
    m.indicator(b, a @ x >= side, name="also")
    corners = [a @ np.array(c) for c in itertools.product(*zip(lower, upper, strict=True))]
    compiled = m.compile()
    column = compiled.column_blocks["b"][0]
    matrix = compiled.rows.matrix.toarray()
    # a x <= side + M (1 - b): with b = 0 the row reads a x <= side + M
    upper_row = compiled.row_blocks["when:upper"][0]
    lower_row = compiled.row_blocks["also:lower"][0]
    assert compiled.rows.upper[upper_row] == max(side, max(corners))
    assert matrix[upper_row, column] == max(0.0, max(corners) - side)
    assert compiled.rows.lower[lower_row] == min(side, min(corners))
    assert matrix[lower_row, column] == -max(0.0, side - min(corners))


def test_the_constant_knows_that_whole_numbers_stop_at_whole_numbers():
    m = Model()
    x, b = m.integer("x", lower=-1.5, upper=3.7), m.binary("b")
    m.indicator(b, x <= 0, name="when")
    m.indicator(b, x >= 0, name="also")
    compiled = m.compile()
    np.testing.assert_array_equal(compiled.rows.upper[:1], [3.0])
    np.testing.assert_array_equal(compiled.rows.lower[1:], [-1.0])


@pytest.mark.parametrize(
    ("side", "missing"),
    [(lambda e: e <= 1, "x[1]"), (lambda e: e >= 1, "y"), (lambda e: e == 1, "")],
)
def test_a_missing_bound_is_an_error_that_names_the_variable(side, missing):
    m = Model()
    x = m.continuous("x", 2, upper=np.array([4.0, INF]))
    y = m.continuous("y", upper=INF)
    b = m.binary("b")
    m.indicator(b, side(x.sum() - y), name="when")
    with pytest.raises(ModelError) as error:
        m.compile()
    assert "'when'" in str(error.value)
    assert f"{missing} lacks a finite bound" in str(error.value)
    assert m.compile({"indicator"}).rows.count == 0  # taken natively, it needs none


def test_bounds_that_the_side_does_not_need_may_be_missing():
    m = Model()
    x, b = m.continuous("x", 2, lower=0, upper=INF), m.binary("b")
    m.indicator(b, -x <= -1, name="when")
    m.indicator(b, (x - x) + 1 <= INF, name="idle")  # no side at all, and coefficients of zero
    compiled = m.compile()
    assert compiled.rows.count == 2
    np.testing.assert_array_equal(compiled.rows.upper, [0, 0])


@pytest.mark.parametrize(
    "literal",
    [
        lambda m: m.integer("i", upper=2),
        lambda m: m.continuous("c", upper=1),
        lambda m: 1 - m.binary("b"),
        lambda m: 2 * m.binary("b"),
        lambda m: m.binary("b", 2).sum(),
    ],
)
def test_a_literal_is_a_plain_binary_variable(literal):
    m = Model()
    x = m.continuous("x", upper=1)
    with pytest.raises(ModelError, match="binary variable"):
        m.indicator(literal(m), x <= 0.5, name="when")


def test_an_integer_between_0_and_1_is_a_literal():
    m = Model()
    x, i = m.continuous("x", upper=3), m.integer("i", upper=1)
    m.indicator(i, x <= 1, name="when")
    rows = m.compile().rows
    assert hold(rows, np.array([3.0, 0.0]))
    assert not hold(rows, np.array([3.0, 1.0]))


def test_literals_take_the_shape_of_the_relation_or_are_refused():
    m = Model()
    x, b = m.continuous("x", (2, 3), upper=1), m.binary("b", 3)
    m.indicator(b, x <= 0.5, name="each")
    assert m.compile().rows.count == 6
    with pytest.raises(ModelError, match=r"\(3,\) and \(2, 2\)"):
        m.indicator(b, x[:, :2] <= 0.5, name="wrong")
    with pytest.raises(ModelError, match="one active value per literal"):
        m.indicator([b, b], x <= 0.5, active=[True], name="wrong")
    with pytest.raises(ModelError, match="at least one"):
        m.indicator([], x <= 0.5, name="wrong")


def test_the_rows_of_an_indicator_never_replace_a_block_of_the_same_name():
    m = Model()
    x, b = m.continuous("x", upper=3), m.binary("b")
    m.add("when:upper", x <= 2)
    m.indicator(b, x <= 1, name="when")
    with pytest.raises(ModelError, match="when:upper"):
        m.compile()
    with pytest.raises(ModelError, match="when:upper"):
        m.relax()


def test_a_row_on_its_own_literal_needs_a_constant_for_the_rest_only():
    m = Model()
    n, b = m.integer("n", upper=5), m.binary("b")
    m.indicator(b, n + 4 * b <= 7, name="when")  # n <= 3 where b is 1
    rows = m.compile().rows
    assert rows.matrix.toarray().tolist() == [[1.0, 2.0]]
    assert (rows.lower.tolist(), rows.upper.tolist()) == ([-INF], [5.0])


def test_a_literal_named_twice_is_replaced_once():
    m = Model()
    n, b = m.integer("n", upper=5), m.binary("b")
    m.indicator([b, b], n + 4 * b <= 7, name="when")
    rows = m.compile().rows
    points = {(x, y): hold(rows, np.array([x, y])) for x in range(6) for y in (0, 1)}
    assert points == {(x, y): y == 0 or x <= 3 for x, y in points}


def test_a_row_of_nothing_but_its_literal_forbids_it_or_says_nothing():
    m = Model()
    b = m.binary("b", 2)
    m.indicator(b, b <= np.array([0.0, 1.0]), name="when")
    rows = m.compile().rows
    allowed = [[hold(rows, np.array([x, y])) for y in (0, 1)] for x in (0, 1)]
    assert allowed == [[True, True], [False, False]]
