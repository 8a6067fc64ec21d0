"""Arrays of linear expressions against numpy: same operations, same numbers."""

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from optsched import Model, ModelError
from optsched.errors import NoMeaningError
from optsched.model import Expression, Relation, terms

QUICK = settings(deadline=None, max_examples=80)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
SPARSE = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.coo_matrix, sp.dia_array]


def value(expression: Expression, x: np.ndarray) -> np.ndarray:
    """The expression at a point, added up term by term from what it stores."""
    total = np.broadcast_to(np.asarray(expression.constant, float), expression.shape).reshape(-1)
    total = total.copy()
    for entries, columns, coefficients in expression.terms:
        where = np.arange(len(columns)) if entries is None else entries
        np.add.at(total, where, np.asarray(coefficients) * x[columns])
    return total.reshape(expression.shape)


def agrees(expression: Expression, expected: np.ndarray, x: np.ndarray) -> None:
    assert isinstance(expression, Expression)
    assert expression.shape == expected.shape
    np.testing.assert_allclose(value(expression, x), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(expression.at(x), expected, rtol=1e-9, atol=1e-9)


class Point:
    """A model, its variables and their values, so that both can be computed with side by side."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = Model()
        self.x = np.zeros(0)

    def variable(self, shape: tuple[int, ...]) -> tuple[Expression, np.ndarray]:
        block = self.model.continuous(f"v{len(self.model.variables)}", shape)
        values = self.rng.integers(-5, 6, shape).astype(float)
        self.x = np.concatenate([self.x, values.reshape(-1)])
        return block, values

    def numbers(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.rng.integers(-3, 4, shape).astype(float)


def scaled(e, v, data, p):
    factor = data.draw(st.sampled_from([2, -0.5, 0, np.float64(3.0), np.int32(2), np.array(4.0)]))
    return (e * factor, v * factor) if data.draw(st.booleans()) else (factor * e, factor * v)


def multiplied(e, v, data, p):
    b = p.numbers(broadcastable(data, e.shape))
    return (e * b, v * b) if data.draw(st.booleans()) else (b * e, b * v)


def divided(e, v, data, p):
    b = p.numbers(broadcastable(data, e.shape)) + 5.0
    return e / b, v / b


def shifted(e, v, data, p):
    b = p.numbers(broadcastable(data, e.shape))
    return data.draw(
        st.sampled_from([(e + b, v + b), (b + e, b + v), (e - b, v - b), (b - e, b - v)])
    )


def combined(e, v, data, p):
    f, w = p.variable(broadcastable(data, e.shape))
    return data.draw(
        st.sampled_from([(e + f, v + w), (f - e, w - v), (e - f, v - w), (-e + 2 * f, -v + 2 * w)])
    )


def summed(e, v, data, p):
    axes = st.sets(st.integers(-e.ndim, e.ndim - 1)) if e.ndim else st.just(set())
    chosen = tuple({a % e.ndim: a for a in data.draw(axes)}.values())
    axis = data.draw(st.sampled_from([None, chosen, *chosen[:1]]))
    return e.sum(axis=axis), np.asarray(v.sum(axis=axis))


def grouped(e, v, data, p):
    groups = data.draw(st.integers(1, 5))
    kind = data.draw(st.sampled_from([np.int8, np.uint8, np.int32, np.int64, np.uint64]))
    keys = p.rng.integers(0, groups, e.shape).astype(kind)
    expected = np.zeros(groups)
    np.add.at(expected, keys.reshape(-1).astype(int), v.reshape(-1))
    return e.sum_by(keys, groups), expected


def indexed(e, v, data, p):
    keys = [hnp.basic_indices(e.shape, allow_newaxis=True), hnp.arrays(bool, e.shape)]
    if e.ndim and e.shape[0]:
        first = st.integers(-e.shape[0], e.shape[0] - 1)
        keys += [st.lists(first, min_size=1, max_size=6), hnp.arrays(int, (2, 2), elements=first)]
    key = data.draw(st.one_of(keys))
    return e[key], np.asarray(v[key])


def reshaped(e, v, data, p):
    shape = data.draw(st.sampled_from([(-1,) if e.size else (0,), e.shape[::-1], (1, *e.shape)]))
    return e.reshape(shape), v.reshape(shape)


def spread(e, v, data, p):
    shape = (data.draw(st.integers(0, 3)), *e.shape)
    return e.broadcast_to(shape), np.broadcast_to(v, shape)


def applied(e, v, data, p):
    if e.ndim not in (1, 2):
        return e, v
    rows = data.draw(st.integers(0, 4))
    if data.draw(st.booleans()):
        a = p.numbers((rows, e.shape[0]))
        return matrix(a, data) @ e, a @ v
    b = p.numbers((e.shape[-1], rows))
    return e @ matrix(b, data), v @ b


def dotted(e, v, data, p):
    if e.ndim not in (1, 2):
        return e, v
    if data.draw(st.booleans()):
        b = p.numbers((e.shape[-1],))
        return e @ b, np.asarray(v @ b)
    b = p.numbers((e.shape[0],))
    return b @ e, np.asarray(b @ v)


def matrix(a: np.ndarray, data: st.DataObject):
    return data.draw(st.sampled_from([np.asarray, *SPARSE]))(a)


def broadcastable(data: st.DataObject, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that numpy broadcasts with this one, of at most three axes."""
    return data.draw(hnp.broadcastable_shapes(shape, max_dims=max(3, len(shape)), max_side=3))


STEPS: list[Callable] = [
    scaled, multiplied, divided, shifted, combined, summed, grouped, indexed, reshaped, spread,
    applied, dotted,
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@settings(deadline=None, max_examples=60)
@given(data=st.data(), shape=SHAPES, seed=st.integers(0, 999))
def test_every_operation_gives_what_numpy_gives(step, data, shape, seed):
    p = Point(seed)
    e, v = p.variable(shape)
    agrees(*step(e, v, data, p), p.x)


@settings(deadline=None, max_examples=250)
@given(data=st.data(), shape=SHAPES, seed=st.integers(0, 999))
def test_nested_operations_give_what_numpy_gives(data, shape, seed):
    p = Point(seed)
    e, v = p.variable(shape)
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=6)):
        if e.size > 500 or e.ndim > 4:
            break
        e, v = step(e, v, data, p)
        agrees(e, v, p.x)


@QUICK
@given(data=st.data(), a=SHAPES, b=SHAPES)
def test_shapes_that_numpy_refuses_are_refused_naming_both(data, a, b):
    p = Point(0)
    (e, v), (f, w) = p.variable(a), p.variable(b)
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        for operation in (
            lambda: e + f, lambda: e - w, lambda: w + e, lambda: e * w, lambda: w * e,
            lambda: e / (w + 9), lambda: e <= f, lambda: w >= e, lambda: e == w,
            lambda: e.between(w, np.inf), lambda: e.broadcast_to(b),
        ):  # fmt: skip
            with pytest.raises(ModelError) as error:
                operation()
            assert str(a) in str(error.value)
            assert str(b) in str(error.value)
    else:
        assert (e + f).shape == (e * w).shape == (v <= f).expression.shape == expected


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: np.ones((2, 4)) @ x,
        lambda x: sp.csr_array(np.ones((2, 4))) @ x,
        lambda x: x @ np.ones(2),
        lambda x: x @ np.ones((2, 4, 3)),
        lambda x: np.ones((3, 2, 4)) @ x,
        lambda x: x[0, 0] @ np.ones(1),
        lambda x: x[3],
        lambda x: x[np.ones(4, dtype=bool)],
        lambda x: x["row"],
        lambda x: x.reshape(5),
        lambda x: x.reshape(-1, 2),
        lambda x: x.broadcast_to((3,)),
        lambda x: x.sum(axis=2),
        lambda x: x.sum(axis=(0, -2)),
        lambda x: x.sum_by(np.zeros(3, int), 1),
        lambda x: x.sum_by(np.zeros((3, 3)), 1),
        lambda x: x.sum_by(np.full((3, 3), 2), 2),
        lambda x: x.sum_by(np.full((3, 3), -1), 2),
        lambda x: x.sum_by(np.zeros((3, 3), int), 2**31),
        lambda x: x * x,
        lambda x: x / x,
        lambda x: x + "a lot",
        lambda x: x * sp.csr_array(np.ones((3, 3))),
    ],
)
def test_what_makes_no_linear_array_is_refused(operation):
    with pytest.raises(ModelError):
        operation(Model().continuous("x", (3, 3)))


def test_narrow_keys_do_not_wrap_when_blocks_stand_under_each_other():
    m = Model()
    x = m.continuous("x", 200)
    m.add("first", x <= 1)
    m.add("second", x.sum_by(np.arange(200, dtype=np.uint8), 200) <= 1)
    expected = np.vstack([np.eye(200), np.eye(200)])
    np.testing.assert_array_equal(m.compile().rows.matrix.toarray(), expected)


@pytest.mark.parametrize("dtype", ["i1", "u1", ">i2", "<i4", ">i8", "u8"])
def test_keys_of_any_integer_type_add_up_alike_and_one_out_of_range_is_named(dtype):
    x = Model().continuous("x", (2, 3))
    keys = np.array([[0, 1, 2], [2, 1, 1]], dtype)[:, ::-1]
    assert x.sum_by(keys, 3).at(np.arange(6.0)).tolist() == [2, 8, 5]
    keys[1, 1] = 3
    with pytest.raises(ModelError, match=r"keys must lie in 0\.\.2, found 0\.\.3"):
        x.sum_by(keys, 3)


def test_keys_that_32_bits_would_wrap_are_out_of_range():
    with pytest.raises(ModelError, match=r"found 0\.\.4294967297"):
        Model().continuous("x", 2).sum_by(np.array([0, 2**32 + 1]), 2)


@pytest.mark.parametrize("shared", [False, True])
def test_the_matrix_of_a_large_model_is_kept_by_columns_until_it_is_asked_for_by_rows(shared):
    m, width = Model(), terms.FEW
    x = m.continuous("x", width)
    m.add("each", x <= 1)
    groups = np.arange(width) % 7
    sums = x.sum_by(groups, 7)
    m.add("groups", (sums - x[:7] if shared else sums) <= 1)
    expected = np.vstack([np.eye(width), groups == np.arange(7)[:, None]])
    expected[width : width + 7, :7] -= shared * np.eye(7)
    rows = m.compile().rows
    assert rows.held.format == ("csr" if shared else "csc")  # whoever adds up asks for it by rows
    assert (rows.matrix.toarray() == expected).all()
    assert rows.matrix.has_canonical_format
    assert rows.held is rows.lines is rows.matrix


def test_what_the_caller_changes_later_stays_outside():
    m = Model()
    keys, upper, factor, side = np.array([0, 1, 1], np.int32), np.ones(3), np.ones(3), np.ones(2)
    x = m.continuous("x", 3, upper=upper)
    m.add("row", (factor * x).sum_by(keys, 2) <= side)
    for array in (keys, upper, factor, side):
        array[:] = 7
    compiled = m.compile()
    np.testing.assert_array_equal(compiled.rows.matrix.toarray(), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(compiled.rows.upper, [1, 1])
    np.testing.assert_array_equal(compiled.upper, [1, 1, 1])


def sides(relation: Relation) -> tuple[np.ndarray, np.ndarray]:
    shape = relation.expression.shape
    return np.broadcast_to(relation.lower, shape), np.broadcast_to(relation.upper, shape)


@QUICK
@given(data=st.data(), shape=SHAPES, seed=st.integers(0, 999), operator=st.sampled_from("<>="))
def test_a_relation_holds_at_a_point_exactly_where_numpy_says_so(data, shape, seed, operator):
    p = Point(seed)
    e, v = p.variable(shape)
    e, v = e + 1.0, v + 1.0
    if data.draw(st.booleans(), label="other side is an expression"):
        f, w = p.variable(broadcastable(data, shape))
        f, w = 2 * f - 3.0, 2 * w - 3.0
    else:
        f = w = p.numbers(broadcastable(data, shape))
        if data.draw(st.booleans(), label="a number"):
            f = w = 2.0
    if data.draw(st.booleans(), label="swapped"):
        e, f, v, w = f, e, w, v
    relation, expected = {
        "<": lambda: (e <= f, np.less_equal(v, w)),
        ">": lambda: (e >= f, np.greater_equal(v, w)),
        "=": lambda: (e == f, np.equal(v, w)),
    }[operator]()
    assert isinstance(relation, Relation)
    lower, upper = sides(relation)
    linear = value(relation.expression, p.x) - relation.expression.constant
    np.testing.assert_array_equal((linear >= lower) & (linear <= upper), expected)


@pytest.mark.parametrize("left", [np.arange(3), np.float64(2), 2, np.array(2.0), [0, 1, 2]])
def test_numbers_on_the_left_of_a_comparison_give_the_reflected_relation(left):
    x = Model().continuous("x", 3)
    lower, upper = sides(left <= x)
    np.testing.assert_array_equal(lower, np.broadcast_to(left, 3))
    assert np.isinf(upper).all()
    lower, upper = sides(left >= x)
    np.testing.assert_array_equal(upper, np.broadcast_to(left, 3))
    assert np.isinf(lower).all()
    lower, upper = sides(left == x)
    np.testing.assert_array_equal(lower, np.broadcast_to(left, 3))
    np.testing.assert_array_equal(upper, np.broadcast_to(left, 3))


def test_a_pandas_series_on_the_left_is_an_array_of_numbers():
    p = Point(3)
    x, v = p.variable((3,))
    series = pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    agrees(series * x, series.to_numpy() * v, p.x)
    agrees(series - x, series.to_numpy() - v, p.x)
    assert isinstance(series <= x, Relation)


def test_between_broadcasts_all_three_and_takes_off_the_constant():
    x = Model().continuous("x", 2)
    relation = (x + 10.0).between(np.array([[11.0], [12.0], [13.0]]), 20.0)
    lower, upper = sides(relation)
    np.testing.assert_array_equal(lower, [[1, 1], [2, 2], [3, 3]])
    np.testing.assert_array_equal(upper, np.full((3, 2), 10.0))


def test_a_relation_is_neither_true_nor_false():
    x = Model().continuous("x", 2)
    with pytest.raises(ModelError, match="between"):
        bool(0 <= x <= 1)
    with pytest.raises(ModelError):
        bool(x != 1)
    with pytest.raises(TypeError, match="write <= or >="):
        bool(x < 1)


def test_a_python_loop_says_what_the_whole_array_says():
    m = Model()
    x = m.continuous("x", (2, 3))
    point = np.arange(6.0)
    assert [row.at(point).tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert sum(x[1]).at(point) == x[1].sum().at(point) == 12
    assert [[v.at(point).item() for v in row] for row in x.tolist()] == [[0, 1, 2], [3, 4, 5]]
    assert m.continuous("single").tolist().shape == ()
    with pytest.raises(NoMeaningError, match="no length"):
        list(x[0, 0])


def test_only_a_long_loop_warns():
    long = Model().continuous("x", 10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(long[1:])) == 9_999
    with pytest.warns(UserWarning, match=r"loop over 10,000 entries is slow: x\.sum\(\)"):
        list(long)


@pytest.mark.parametrize("word", ["value", "varValue", "X"])
def test_an_expression_says_where_its_value_is(word):
    m = Model()
    m.minimize(m.continuous("x"))
    with pytest.raises(AttributeError, match=r"solution\[x\] is the value"):
        getattr(m.objective, word)
    with pytest.raises(AttributeError, match="'Expression' object has no attribute 'colour'"):
        (m["x"] + 1).colour  # noqa: B018


@pytest.mark.parametrize("count", [0, 1, 40, 2001])
def test_terms_of_one_place_are_added_up_whether_few_or_many(count):
    rng = np.random.default_rng(count)
    row, column = rng.integers(0, 7, count), rng.integers(0, 5, count)
    value = rng.integers(-3, 4, count).astype(float)
    dense = np.zeros((7, 5))
    np.add.at(dense, (row, column), value)
    matrix = terms.added_up(value, row, column, 7, 5).matrix()
    assert matrix.has_canonical_format
    assert (matrix.toarray() == dense).all()
