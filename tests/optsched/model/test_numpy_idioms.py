"""Numpy's idioms on expressions: each means what numpy makes of the values, or is refused."""

import operator
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from optsched import Model, ModelError, solve
from optsched.errors import NoMeaningError
from optsched.model import Expression, Relation

C = np.arange(12.0).reshape(3, 4) - 4.0
W = np.array([2.0, -1.0, 3.0, 0.5])
MASK = C % 2 == 0
KEYS = np.array([1, 0, 1, 2])

# x has shape (3, 4), y shape (4,), z shape (3, 3), s is a single one; plus constants
LINEAR = """
np.sum(x) | np.sum(x, axis=0) | np.sum(x, 1, keepdims=True) | np.sum(x, axis=(0, 1)) | x.sum(-1)
x.sum(axis=0, keepdims=True) | np.mean(x) | np.mean(x, axis=1) | x.mean() | x.mean(axis=0)
x.mean(0, keepdims=True) | np.average(x, axis=1, weights=W) | np.average(x) | np.average(y, weights=abs(W))
np.dot(W, y) | np.dot(C, y) | np.dot(x, W) | np.dot(x, C.T) | np.dot(3.0, x) | x.dot(W) | np.inner(y, W)
np.inner(x, C) | np.vdot(C, x) | np.outer(W, y) | np.outer(y, W) | np.tensordot(x, C) | np.tensordot(C, x)
np.tensordot(x, C, axes=(0, 0)) | np.kron(W, y) | np.kron(x, C) | np.matmul(C, y) | np.matmul(x, C.T)
C @ y | x @ W | W @ y | y @ C.T | x @ np.ones((2, 4, 3)) | np.ones((2, 4, 3)) @ x | np.trace(z)
z.trace() | np.stack([y, 2 * y]) @ C.T | np.einsum("ij,ij->", x, C) | np.einsum("ij,ij->i", C, x)
np.einsum("ij,kj->ik", x, C) | np.einsum("ij,j", x, W) | np.einsum("ii", z) | np.einsum("ii->i", z)
np.einsum("ij->ji", x) | np.einsum("...j,j->...", x, W) | np.einsum("ij,j,i->", C, y, np.ones(3))
np.cumsum(y) | np.cumsum(x) | np.cumsum(x, axis=0) | x.cumsum(axis=1) | np.add.accumulate(y)
np.diff(y) | np.diff(x, axis=0) | np.diff(y, n=2) | np.ediff1d(x) | np.add.reduce(x) | np.convolve(y, W)
np.convolve(W[:2], y, "valid") | np.bincount(KEYS, weights=y) | np.bincount(KEYS, weights=y, minlength=5)
np.stack([y, W]) | np.stack([y, y + 1], axis=1) | np.concatenate([y, W, y]) | np.concatenate([x, C], axis=1)
np.vstack([x, y]) | np.hstack([y, y[:2]]) | np.column_stack([y, y]) | np.dstack([x, x]) | np.block([[x, C], [C, x]])
np.append(y, 1.0) | np.insert(y, 1, 5.0) | np.delete(x, 1, axis=0) | np.where(MASK, x, 0.0) | np.where(MASK, C, x)
np.where(MASK, x, x[::-1]) | np.select([MASK, C > 3], [x, C * 2], 1.0) | np.choose(KEYS % 2, [y, W])
np.ravel(x) | x.ravel() | x.flatten() | x.reshape(4, 3) | x.reshape((2, -1)) | np.reshape(x, (6, 2)) | x.T
np.transpose(x) | x.transpose(1, 0) | x.transpose() | np.swapaxes(x, 0, 1) | x.swapaxes(0, -1)
np.moveaxis(x, 0, 1) | np.expand_dims(y, 0) | np.squeeze(x[:1]) | x[:1].squeeze() | y[None, :] | y[:, np.newaxis]
np.flip(x) | np.flipud(x) | np.fliplr(x) | np.rot90(x) | np.roll(y, 1) | np.roll(x, 2, axis=1) | x[::-1, ::2]
np.repeat(y, 2) | y.repeat([1, 0, 2, 3]) | np.tile(y, (2, 2)) | np.resize(y, 6) | np.take(y, [3, 0]) | x.take([1, 1], axis=0)
np.take_along_axis(x, KEYS[None, :], axis=0) | np.compress([1, 0, 1, 0], y) | np.extract(MASK, x) | np.diag(y)
np.diag(z) | np.diagonal(z, 1) | z.diagonal() | np.tril(x) | np.triu(x, 1) | np.pad(y, 2) | np.pad(x, 1, mode="edge")
np.broadcast_to(y, (3, 4)) | np.atleast_2d(y) | np.copy(x) | x.copy() | x[MASK] | x[[0, 2]] | x[[0, 1], [2, 3]]
x[..., 0] | x[1] | x[-1, -1] | x[np.ix_([0, 2], [1, 3])] | x[KEYS > 0, :][:, 0] if False else x[:, KEYS > 0]
np.add(x, y) | np.subtract(C, x) | np.subtract(x, C) | np.multiply(W, x) | np.divide(x, 2) | np.true_divide(x, W)
np.negative(x) | np.positive(x) | +x | -x | x + y | x - W | W - x | x * W[:, None][:1] | x / 4 | 2 * x + 1
sum([y[0], y[1], 3 * y[2]]) | np.sum([y[0], y[1]]) | np.float64(2.0) * x | [1, 2, 3, 4] * y | y - (1, 2, 3, 4)
np.zeros_like(x) | np.ones_like(x) | np.full_like(x, 7.0) | x - s | np.stack([s, s]) | np.concatenate([np.atleast_1d(s), y])
"""  # noqa: E501
IDIOMS = [one.strip() for line in LINEAR.strip().splitlines() for one in line.split("|")]

BLOCKS = [  # whose values are those of new variables
    "np.abs(x)", "abs(y)", "np.absolute(y - W)", "np.max(x)", "np.max(x, axis=0)", "x.max(axis=1)",
    "np.min(x)", "x.min()", "np.maximum(x, y)", "np.minimum(x, 1.0)", "np.maximum(C, x)",
    "np.fmax(y, W)", "np.amax(x, axis=-1)",
]  # fmt: skip


def names(model: Model, rng: np.random.Generator) -> tuple[dict, dict]:
    """The same names twice: as variables and as the numbers they are fixed to."""
    values = {
        "x": rng.integers(-5, 6, (3, 4)).astype(float),
        "y": rng.integers(-5, 6, 4).astype(float),
        "z": rng.integers(-5, 6, (3, 3)).astype(float),
        "s": np.float64(rng.integers(-5, 6)),
    }
    variables = {
        name: model.integer(name, np.shape(v), lower=-5, upper=5) for name, v in values.items()
    }
    constants = {"np": np, "C": C, "W": W, "MASK": MASK, "KEYS": KEYS}
    return {**constants, **variables}, {**constants, **values}


def point(values: dict) -> np.ndarray:
    return np.concatenate([np.ravel(values[name]) for name in "xyzs"])


@pytest.mark.parametrize("idiom", IDIOMS)
def test_an_idiom_gives_what_numpy_makes_of_the_values(idiom):
    m = Model()
    symbols, numbers = names(m, np.random.default_rng(len(idiom)))
    found, expected = eval(idiom, symbols), np.asarray(eval(idiom, numbers))
    if isinstance(found, np.ndarray):  # numbers of the same shape
        np.testing.assert_array_equal(found, expected)
        return
    assert isinstance(found, Expression)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.at(point(numbers)), expected, atol=1e-12)


@pytest.mark.parametrize("idiom", BLOCKS)
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_an_extremum_is_a_variable_that_equals_it(idiom, sense):
    m = Model()
    symbols, numbers = names(m, np.random.default_rng(len(idiom)))
    found, expected = eval(idiom, symbols), np.asarray(eval(idiom, numbers))
    for name in "xyzs":
        m.add(f"fix {name}", m[name] == numbers[name])
    getattr(m, sense)(np.sum(found))
    solution = solve(m)
    np.testing.assert_allclose(solution[found.name], expected, atol=1e-6)


def test_several_arrays_come_back_as_numpy_gives_them():
    m = Model()
    symbols, numbers = names(m, np.random.default_rng(1))
    for idiom in ("np.split(y, 2)", "np.array_split(x, 2, axis=1)", "np.broadcast_arrays(x, y)"):
        found, expected = eval(idiom, symbols), eval(idiom, numbers)
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.at(point(numbers)), other)


def test_shape_length_and_number_of_axes_are_numpys():
    x = Model().continuous("x", (3, 4))
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), len(x)) == ((3, 4), 2, 12, 4, 3)
    assert sum(x[i].sum() for i in range(len(x))).shape == ()


def test_numbers_on_the_left_of_every_operator_and_in_place_are_the_same_expression():
    m = Model()
    symbols, numbers = names(m, np.random.default_rng(2))
    total, expected = np.zeros((3, 4)), np.zeros((3, 4))
    total += symbols["x"]
    total *= 2.0
    expected += numbers["x"]
    np.testing.assert_allclose(total.at(point(numbers)), 2.0 * expected)
    array = sp.csr_array(C)
    np.testing.assert_allclose((array @ symbols["y"]).at(point(numbers)), C @ numbers["y"])
    series = pd.Series(W)
    np.testing.assert_allclose((series * symbols["y"]).at(point(numbers)), W * numbers["y"])


@pytest.mark.parametrize("ufunc", [np.less_equal, np.greater_equal, np.equal])
@pytest.mark.parametrize("left", [True, False])
def test_numpys_comparisons_are_relations(ufunc, left):
    y = Model().continuous("y", 4)
    relation = ufunc(W, y) if left else ufunc(y, W)
    same = {np.less_equal: operator.le, np.greater_equal: operator.ge, np.equal: operator.eq}
    expected = same[ufunc](W, y) if left else same[ufunc](y, W)
    assert isinstance(relation, Relation)
    np.testing.assert_array_equal(relation.lower, expected.lower)
    np.testing.assert_array_equal(relation.upper, expected.upper)


def test_the_mean_of_variables_is_bounded_once_not_entry_by_entry():
    m = Model()
    x = m.continuous("x", 2, upper=9)
    m.add("mean", np.mean(x) <= 2)
    m.maximize(2 * x[0] + x[1])
    assert solve(m).objective == 8.0


def test_an_entry_of_a_relation_is_its_row():
    m = Model()
    x = m.continuous("x", 3, upper=9)
    m.add("second", (x <= np.array([1.0, 2.0, 3.0]))[1])
    m.add("ends", (x >= 1)[[0, 2]])
    m.maximize(x.sum())
    np.testing.assert_array_equal(solve(m)["x"], [9, 2, 9])
    assert (x <= 1).shape == (3,)
    assert (x.between(0, 1))[::2].lower.tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_logic_of_binaries_is_a_variable_or_an_expression_that_equals_it(solver, seed):
    rng = np.random.default_rng(seed)
    m = Model()
    a, b = m.binary("a", 4), m.binary("b", 4)
    p, q = rng.integers(0, 2, (2, 4))
    m.add("a", a == p)
    m.add("b", b == q)
    rules = [
        (a & b, p & q), (a | b, p | q), (a ^ b, p ^ q), (~a, 1 - p), (np.logical_or(a, q), p | q),
        (np.logical_xor(~a, b), (1 - p) ^ q), (a & True, p), (~a | (b & a), (1 - p) | (q & p)),
    ]  # fmt: skip
    seen = m.integer("seen", (len(rules), 4), upper=1)
    m.add("seen", seen == np.stack([rule for rule, _ in rules]))
    m.minimize((seen * rng.integers(-1, 2, seen.shape)).sum())
    np.testing.assert_array_equal(solve(m, solver)["seen"], np.stack([v for _, v in rules]))


REFUSED = {
    "x[None, :, :1] @ C": "@ does not fit shapes",
    "C[None, :, :1] @ x": "@ does not fit shapes",
    "np.dot(x[None, :, :1], y)": "does not fit shapes",
    "np.inner(x[None, :, :1], C)": "does not fit shapes",
    "np.tensordot(x[:, :1], C)": "np.tensordot does not fit shapes",
    "np.tensordot(C, x[:1], axes=(0, 0))": "np.tensordot does not fit shapes",
    "x < 1": "< and > have no meaning for solvers",
    "x > y": "write <= or >=",
    "np.less(x, 1)": "write <= or >=",
    "x != 1": "!= is no row",
    "bool(x)": "neither true nor false",
    "1 if y[0] else 0": "neither true nor false",
    "y[0] and (y[1] <= 0)": "neither true nor false",
    "(y[0] <= 0) or (y[1] <= 0)": "a relation is neither true nor false",
    "not y[0]": "neither true nor false",
    "0 <= y <= 1": r"written x\.between\(lower, upper\)",
    "bool(x <= 1)": "m.indicator",
    "(x <= 1) & (x >= 0)": "a relation is neither true nor false",
    "np.all(x <= 1)": "a relation is neither true nor false",
    "np.logical_and(x <= 1, x >= 0)": "a relation is neither true nor false",
    "(x <= 1) <= 2": "a relation is neither true nor false",
    "np.all(x)": r"np\.min\(b\) of binaries",
    "np.any(x)": r"np\.max\(b\) of binaries",
    "x + 'much'": "not an array of numbers: 'much'",
    "x <= None": "comparison",
    "x * x": r"m\.product\(x, y\)",
    "x ** 2": r"m\.power\(x, n\).*m\.sum_of_squares\(x\)",
    "2 ** x": r"\*\* is not defined",
    "np.square(x)": r"m\.power",
    "np.power(x, 2)": r"m\.power",
    "1 / x": r"/ by an expression is not defined.*m\.ratio",
    "x / x": r"/ by an expression is not defined.*m\.ratio",
    "y[0] / y[1]": r"/ by an expression is not defined.*m\.ratio",
    "y.between(0, y)": "two relations, <= and >=, say it",
    "x // 2": "// is not defined",
    "x % 2": "% is not defined",
    "np.exp(x)": "np.exp is not defined for expressions: only what is linear",
    "np.sqrt(x)": "np.sqrt is not defined",
    "np.prod(x)": r"m\.product",
    "np.std(x)": "np.std is not defined",
    "np.sort(x)": "np.sort is not defined",
    "np.argmax(x)": "np.argmax is not defined",
    "np.clip(x, 0, 1)": r"np\.minimum and np\.maximum",
    "np.isfinite(x)": "np.isfinite is not defined",
    "np.allclose(x, 1)": "np.allclose is not defined",
    "np.linalg.norm(x)": "norms that a linear model can say",
    "np.count_nonzero(x)": "np.count_nonzero is not defined: the sum|the sum of binaries counts",
    "np.sum(x, where=MASK)": None,
    "np.add(x, 1, out=np.zeros((3, 4)))": "np.add is not defined",
    "np.multiply.reduce(x)": r"np\.multiply\.reduce is not defined",
    "np.einsum('i,i->', y, y)": "product of two expressions is not linear",
    "np.dot(y, y)": "not linear",
    "np.where(y, 1, 0)": "what chooses or receives entries must be numbers known now",
    "np.where(y <= 1, y, 0)": "a relation is neither true nor false",
    "x[y]": "an index is known numbers",
    "W[y[0]]": None,
    "x[x <= 1]": "an index is known numbers",
    "np.array([x, x])": "np.stack and np.concatenate",
    "np.sum([x, x])": "np.stack and np.concatenate",
    "x + [y[0], y[1], y[2], y[3]]": None,
    "np.array(x, dtype=float)": "is no array of numbers",
    "float(s)": None,
    "list(s)": "a single expression has no length",
    "max(y)": "closed sets only",
    "1.0 in y": "contains no value before a model is solved",
    "len(s)": "a single expression has no length",
    "~x": "~ joins binaries",
    "x & x": "& joins binaries",
    "np.pad(y, 1, mode='mean')": "np.pad with mode 'mean' is not defined",
    "np.concatenate([x, y])": "np.concatenate: ",
    "np.stack([y, W[:2]])": "np.stack: ",
    "np.stack([y, 'abc'])": "not an array of numbers: 'abc'",
    "np.reshape(x, (5, 5))": "np.reshape: cannot reshape",
    "np.einsum('ij,j->', x, C)": "does not fit shape",
    "sp.csr_array(C) * x": None,
}


@pytest.mark.parametrize("idiom", REFUSED)
def test_what_has_no_meaning_is_refused_in_a_sentence(idiom):
    symbols, _ = names(Model(), np.random.default_rng(0))
    said = REFUSED[idiom]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ModelError, TypeError, IndexError) if said is None else ModelError,
                           match=said):  # fmt: skip
            eval(idiom, {**symbols, "sp": sp})


def test_refusals_are_type_errors_as_numpys_are():
    assert issubclass(NoMeaningError, TypeError)
    assert issubclass(NoMeaningError, ModelError)


def test_variables_of_two_models_do_not_stand_in_one_array():
    with pytest.raises(ModelError, match="different models"):
        np.stack([Model("a").continuous("x"), Model("b").continuous("x")])
