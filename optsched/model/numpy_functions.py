"""What numpy's functions are of expressions: entries in another order, sums, extrema, logic.

Whatever is linear gives an expression; extrema, absolute values and logic give new variable blocks
that equal them, as ``Model.maximum``, ``minimum`` and ``absolute`` do. What is not here is refused
in a sentence.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import ModelError, NoMeaningError
from optsched.model.base import ModelBase
from optsched.model.blocks.maximum import absolute, maximum, minimum
from optsched.model.expression import Expression, Shape
from optsched.model.numpy_like import FUNCTIONS, UFUNCS, refuse
from optsched.model.ranges import is_binary
from optsched.model.terms import side_by_side

F = TypeVar("F", bound=Callable[..., Any])
Axis = int | tuple[int, ...] | None


def implements(*names: str) -> Callable[[F], F]:
    """Put a function into the tables, under those names that this numpy has."""

    def put(function: F) -> F:
        for name in names:
            original = getattr(np, name, None)
            if original is not None:
                table = UFUNCS if isinstance(original, np.ufunc) else FUNCTIONS
                table[original] = function
        return function

    return put


# entries in another order: the function itself is applied to the places of entries

_REORDERING = (
    "reshape", "ravel", "transpose", "permute_dims", "matrix_transpose",
    "swapaxes", "moveaxis", "rollaxis", "squeeze", "expand_dims",
    "flip", "fliplr", "flipud", "rot90", "roll",
    "repeat", "tile", "take", "take_along_axis", "delete",
    "resize", "diag", "diagonal", "diagflat", "tril",
    "triu", "broadcast_to", "broadcast_arrays", "atleast_1d", "atleast_2d",
    "atleast_3d", "split", "array_split", "hsplit", "vsplit",
    "dsplit", "unstack", "copy", "concatenate", "concat",
    "stack", "vstack", "hstack", "dstack", "column_stack",
    "block",
)  # fmt: skip
_ORDERS: dict[str, tuple[int, ...]] = {  # and at which positions they take arrays of entries
    **dict.fromkeys(_REORDERING, (0,)),
    "append": (0, 1),
    "insert": (0, 2),
    "where": (1, 2),
    "compress": (1,),
    "extract": (1,),
    "choose": (1,),
    "select": (1, 2),
}
_EVERY_POSITION = ("broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d")


class _EntryPlaces:
    """Entries of expressions and numbers, one after the other; the first is the number zero."""

    def __init__(self, operation: str) -> None:
        self.operation, self.size = operation, 1
        self.parts: list[Expression | NDArray[np.float64]] = [np.zeros(())]

    def of(self, value: Any) -> Any:
        """The places that an argument's entries are given, nested lists as they are."""
        if isinstance(value, list | tuple) and _mentions(value):
            return [self.of(item) for item in value]
        if not isinstance(value, Expression):
            try:
                value = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                raise ModelError(f"{self.operation}: not numbers: {value!r}") from None
        first, self.size = self.size, self.size + value.size
        self.parts.append(value)
        return np.arange(first, self.size, dtype=np.int32).reshape(value.shape)

    def expressions(self, places: Any) -> Any:
        """What stands at these places; of a list, each."""
        if isinstance(places, list | tuple):
            return type(places)(self.expressions(one) for one in places)
        places = np.asarray(places)
        mine = [part for part in self.parts if isinstance(part, Expression)]
        if len(mine) == 1 and len(self.parts) == 2 and places.min(initial=1) > 0:
            return mine[0]._picked(places - np.int32(1))
        model = owner(*mine)
        sizes = [(p.size, p.terms if isinstance(p, Expression) else ()) for p in self.parts]
        numbers = [
            np.broadcast_to(p.constant, p.shape) if isinstance(p, Expression) else p
            for p in self.parts
        ]
        if all(isinstance(p, Expression) for p in self.parts[1:]) and places.min(initial=1) > 0:
            sizes, numbers, places = sizes[1:], numbers[1:], places - np.int32(1)
        constant: Any = np.concatenate([one.reshape(-1) for one in numbers])
        if not constant.any():
            constant = 0.0
        size = sum(size for size, _ in sizes)
        return Expression(model, (size,), side_by_side(sizes), constant)._picked(places)


def owner(*expressions: Expression) -> Any:
    """The model that all of them belong to."""
    model: Any = expressions[0].model
    for one in expressions[1:]:
        if one.model is not model:
            model = model.common_ground(one.model)
    model.check_own("an operation", *expressions)
    return model


def _mentions(value: Any) -> bool:
    """Whether an argument is or holds an expression."""
    if isinstance(value, list | tuple):
        return any(map(_mentions, value))
    return isinstance(value, Expression)


def _reordered(name: str, function: Any, arrays: tuple[int, ...], *args: Any, **kwargs: Any) -> Any:
    if name in _EVERY_POSITION:
        arrays = tuple(range(len(args)))
    others = [args[i] for i in range(len(args)) if i not in arrays] + list(kwargs.values())
    if _mentions(others) or "out" in kwargs:
        raise NoMeaningError(
            f"np.{name}: what chooses or receives entries must be numbers known now; "
            "m.indicator, m.element and m.table choose by a variable"
        )
    held = _EntryPlaces(f"np.{name}")
    placed = [held.of(arg) if i in arrays else arg for i, arg in enumerate(args)]
    try:
        return held.expressions(function(*placed, **kwargs))
    except (ValueError, IndexError, TypeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"np.{name}: {error}") from None


for _name, _positions in _ORDERS.items():
    _function: Any = getattr(np, _name, None)
    if _function is not None:  # a numpy of today
        FUNCTIONS[_function] = partial(_reordered, _function.__name__, _function, _positions)


@implements("pad")
def _pad(x: Expression, width: Any, mode: str = "constant") -> Any:
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap", "empty"):
        refuse(f"np.pad with mode {mode!r}")
    return _reordered("pad", np.pad, (0,), x, width, mode=mode)


# sums


@implements("sum")
def _sum(
    x: Expression, axis: Axis = None, dtype: Any = None, out: None = None, *, keepdims: bool = False
) -> Expression:
    if out is not None:
        refuse("out=")
    return x.sum(axis, keepdims=keepdims)


@implements("mean")
def _mean(
    x: Expression, axis: Axis = None, dtype: Any = None, out: None = None, *, keepdims: bool = False
) -> Expression:
    total = _sum(x, axis, dtype, out, keepdims=keepdims)
    count = x.size // max(1, total.size)
    if not count:
        raise ModelError(f"mean: there is no entry in shape {x.shape}")
    return total * (1.0 / count)


@implements("average")
def _average(
    x: Expression, axis: int | None = None, weights: Any = None, *, keepdims: bool = False
) -> Expression:
    if weights is None:
        return _mean(x, axis, keepdims=keepdims)
    factor = np.asarray(weights, dtype=np.float64)
    if axis is not None and factor.ndim == 1 and x.ndim > 1:
        factor = np.moveaxis(factor.reshape(-1, *[1] * (x.ndim - 1)), 0, axis)
    factor = np.broadcast_to(factor, x.shape)
    weighted: Expression = x * factor
    total: ArrayLike = factor.sum(axis=axis, keepdims=keepdims)
    return weighted.sum(axis, keepdims=keepdims) / total


def _moved(x: Expression, axis: int, place: int) -> Expression:
    """The expression with one axis in another place."""
    moved: Expression = FUNCTIONS[np.moveaxis](x, axis, place)
    return moved


@implements("cumsum")
def _cumsum(
    x: Expression, axis: int | None = None, dtype: Any = None, out: None = None
) -> Expression:
    if axis is None:
        x, axis = x.ravel(), 0
    last = _moved(x, axis, -1)
    return _moved(last @ np.triu(np.ones((last.shape[-1],) * 2)), -1, axis)


@implements("diff")
def _diff(x: Expression, n: int = 1, axis: int = -1) -> Expression:
    last = _moved(x, axis, -1)
    for _ in range(n):
        last = last[..., 1:] - last[..., :-1]
    return _moved(last, -1, axis)


@implements("ediff1d")
def _ediff1d(x: Expression) -> Expression:
    return _diff(x.ravel())


@implements("trace")
def _trace(x: Expression, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Expression:
    diagonal: Expression = FUNCTIONS[np.diagonal](x, offset, axis1, axis2)
    return diagonal.sum(axis=-1)


@implements("bincount")
def _bincount(keys: Any, weights: Expression, minlength: int = 0) -> Expression:
    key = np.asarray(keys)
    return weights.sum_by(key, max(int(key.max(initial=-1)) + 1, minlength))


# sums of products with numbers


@implements("einsum")
def _einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Expression:
    """A sum over all letters that the result does not have, of places times numbers."""
    if not isinstance(subscripts, str) or set(kwargs) - {"optimize"}:
        refuse("np.einsum with other than a string and operands")
    variable = [i for i, one in enumerate(operands) if isinstance(one, Expression)]
    if len(variable) != 1:
        raise ModelError("np.einsum: a product of two expressions is not linear")
    x = operands[variable[0]]
    shapes = [one.shape if isinstance(one, Expression) else np.shape(one) for one in operands]
    inputs, output = _letters(subscripts, shapes)
    letters = list(dict.fromkeys("".join(inputs)))
    length = dict.fromkeys(letters, 1)
    for word, shape in zip(inputs, shapes, strict=True):
        for letter, n in zip(word, shape, strict=True):
            if n != 1 and length[letter] not in (1, n):
                raise ModelError(f"np.einsum does not fit shapes {' and '.join(map(str, shapes))}")
            length[letter] = n if n != 1 else length[letter]
    space = tuple(length[letter] for letter in letters)

    def spread(values: NDArray[Any], word: str) -> NDArray[Any]:
        """Numbers over the whole space; of a letter twice, the diagonal."""
        own = [letters.index(letter) for letter in word]
        whole = list(range(len(letters)))
        made: NDArray[Any] = np.einsum(values, own, np.ones(space, values.dtype), whole, whole)
        return made

    places = spread(np.arange(x.size).reshape(x.shape), inputs[variable[0]]).reshape(-1)
    weight: NDArray[np.float64] = np.ones(space)
    for i, one in enumerate(operands):
        if i != variable[0]:
            weight = weight * spread(np.asarray(one, dtype=np.float64), inputs[i])
    shape = tuple(length[letter] for letter in output)
    target = spread(np.arange(int(np.prod(shape))).reshape(shape), output).reshape(-1)
    used = np.flatnonzero(weight)
    kept: Expression = x.ravel()[places[used]] * weight.reshape(-1)[used]
    return kept.sum_by(target[used], int(np.prod(shape))).reshape(shape)


def _letters(subscripts: str, shapes: list[Shape]) -> tuple[list[str], str]:
    """Subscripts of each operand and of the result, an ellipsis spelled out."""
    words, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = words.split(",")
    if len(inputs) != len(shapes):
        raise ModelError(f"np.einsum: {subscripts!r} for {len(shapes)} operands")
    spare = [
        c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in subscripts
    ]
    widest = 0
    for i, (word, shape) in enumerate(zip(inputs, shapes, strict=True)):
        more = len(shape) - len(word.replace("...", ""))
        if more < 0 or ("..." not in word and more):
            raise ModelError(f"np.einsum: {word!r} does not fit shape {shape}")
        widest = max(widest, more)
        inputs[i] = word.replace("...", "".join(spare[:more][::-1]))
    dots = "".join(spare[:widest][::-1])
    if arrow:
        return inputs, output.replace("...", dots)
    joined = "".join(inputs)
    once = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in dots)
    return inputs, dots + "".join(once)


def _ndim(value: Any) -> int:
    return value.ndim if isinstance(value, Expression) else np.ndim(value)


@implements("matmul")
def _matmul(a: Any, b: Any, *, left: bool = False) -> Any:
    a, b = (b, a) if left else (a, b)
    if isinstance(a, Expression) and isinstance(b, Expression):
        raise ModelError("a product of two expressions is not linear")
    if max(_ndim(a), _ndim(b)) <= 2 and min(_ndim(a), _ndim(b)) > 0:
        return a @ b if isinstance(a, Expression) else b.__rmatmul__(a)
    if not (_ndim(a) and _ndim(b)):
        refuse("@ with a single number")
    words = ("k" if _ndim(a) == 1 else "...ik"), ("k" if _ndim(b) == 1 else "...kj")
    return _einsum(f"{words[0]},{words[1]}->...{'i' * (_ndim(a) > 1)}{'j' * (_ndim(b) > 1)}", a, b)


@implements("dot")
def _dot(a: Any, b: Any) -> Any:
    if not (_ndim(a) and _ndim(b)):
        return a * b
    if max(_ndim(a), _ndim(b)) <= 2:
        return _matmul(a, b)
    return _tensordot(a, b, (-1, -min(2, _ndim(b))))


@implements("inner")
def _inner(a: Any, b: Any) -> Any:
    return a * b if not (_ndim(a) and _ndim(b)) else _tensordot(a, b, (-1, -1))


@implements("vdot")
def _vdot(a: Any, b: Any) -> Any:
    return _matmul(np.ravel(a), np.ravel(b))


@implements("outer")
def _outer(a: Any, b: Any) -> Any:
    return np.ravel(a)[:, None] * np.ravel(b)


@implements("kron")
def _kron(a: Any, b: Any) -> Any:
    n = max(_ndim(a), _ndim(b))
    a, b = (v.reshape((1,) * (n - v.ndim) + v.shape) for v in map(_array, (a, b)))
    apart = tuple(m for pair in zip(a.shape, (1,) * n, strict=True) for m in pair)
    within = tuple(m for pair in zip((1,) * n, b.shape, strict=True) for m in pair)
    product = a.reshape(apart) * b.reshape(within)
    return product.reshape(tuple(i * j for i, j in zip(a.shape, b.shape, strict=True)))


@implements("tensordot")
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Expression:
    left, right = list(range(_ndim(a))), list(range(_ndim(a), _ndim(a) + _ndim(b)))
    if isinstance(axes, int):
        axes = (list(range(_ndim(a) - axes, _ndim(a))), list(range(axes)))
    for i, j in zip(*(np.atleast_1d(one).tolist() for one in axes), strict=True):
        right[j] = left[i]
    spell = "abcdefghijklmnopqrstuvwxyz".__getitem__
    out = [i for i in left + right if (left + right).count(i) == 1]
    words = ["".join(map(spell, one)) for one in (left, right, out)]
    return _einsum(f"{words[0]},{words[1]}->{words[2]}", a, b)


@implements("convolve")
def _convolve(a: Any, v: Any, mode: str = "full") -> Expression:
    a, v = (a, v) if isinstance(a, Expression) else (v, a)
    if isinstance(v, Expression):
        raise ModelError("np.convolve: a product of two expressions is not linear")
    convolve: Any = np.convolve
    factor = np.stack([convolve(row, v, mode) for row in np.eye(len(a))], axis=1)
    product: Expression = a.__rmatmul__(factor)
    return product


def _array(value: Any) -> Any:
    return value if isinstance(value, Expression) else np.asarray(value, dtype=np.float64)


# shapes, and numbers of the same shape


@implements("shape")
def _shape(x: Expression) -> Shape:
    return x.shape


@implements("ndim")
def _ndim_of(x: Expression) -> int:
    return x.ndim


@implements("size")
def _size(x: Expression, axis: int | None = None) -> int:
    return x.size if axis is None else x.shape[axis]


@implements("zeros_like", "empty_like")
def _zeros_like(x: Expression, dtype: Any = None, **_: Any) -> NDArray[np.float64]:
    return np.zeros(x.shape, dtype)


@implements("ones_like")
def _ones_like(x: Expression, dtype: Any = None, **_: Any) -> NDArray[np.float64]:
    return np.ones(x.shape, dtype)


@implements("full_like")
def _full_like(x: Expression, fill_value: Any, dtype: Any = None, **_: Any) -> NDArray[Any]:
    return np.full(x.shape, fill_value, dtype)


# extrema and logic: new variable blocks


@implements("absolute", "fabs")
def _absolute(x: Expression) -> Expression:
    return absolute(_model(x), x)


def _extremum(along: bool, function: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.max(x, axis)`` (along) or ``np.maximum(x, y)``."""
    if not along:
        return function(_model(*args), *args)
    x, axis = args[0], kwargs.pop("axis", args[1] if len(args) > 1 else None)
    if kwargs or len(args) > 2:
        refuse("np.max and np.min with more than an axis")
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % x.ndim
    left = [a for a in range(x.ndim) if a not in axes]
    moved = np.transpose(x, [*left, *axes])
    return function(_model(x), moved.reshape(*(x.shape[a] for a in left), -1))


for _names, _along, _one in (
    (("max", "amax"), True, maximum),
    (("min", "amin"), True, minimum),
    (("maximum", "fmax"), False, maximum),
    (("minimum", "fmin"), False, minimum),
):
    implements(*_names)(partial(_extremum, _along, _one))


@implements("logical_not", "invert")
def _not(x: Expression) -> Expression:
    _check_binary("~", x)
    return 1.0 - x


@implements("logical_and", "bitwise_and")
def _and(a: Any, b: Any) -> Expression:
    _check_binary("&", a, b)
    return minimum(_model(a, b), a, b)


@implements("logical_or", "bitwise_or")
def _or(a: Any, b: Any) -> Expression:
    _check_binary("|", a, b)
    return maximum(_model(a, b), a, b)


@implements("logical_xor", "bitwise_xor")
def _xor(a: Any, b: Any) -> Any:
    return _or(a, b) - _and(a, b)


def _model(*values: Any) -> ModelBase:
    model: ModelBase = owner(*(one for one in values if isinstance(one, Expression)))
    return model


def _check_binary(sign: str, *values: Any) -> None:
    for one in values:
        if isinstance(one, Expression):
            known = is_binary(one, _model(one).domains())
        else:
            known = bool(np.isin(np.asarray(one), (0, 1)).all())
        if not known:
            raise NoMeaningError(
                f"{sign} joins binaries; what must hold of a relation is said by m.indicator"
            )


# arithmetic


def _by_operator(name: str, reflected: str) -> Callable[[Any, Any], Any]:
    """An operator's method, or the reflected one where numbers stand on the left."""

    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, Expression):
            return getattr(a, name)(b)
        return getattr(b, reflected)(a)

    return apply


for _ufunc, _name, _reflected in (
    ("add", "__add__", "__radd__"),
    ("subtract", "__sub__", "__rsub__"),
    ("multiply", "__mul__", "__rmul__"),
    ("true_divide", "__truediv__", "__rtruediv__"),
    ("less_equal", "__le__", "__ge__"),
    ("greater_equal", "__ge__", "__le__"),
    ("equal", "__eq__", "__eq__"),
    ("less", "__lt__", "__gt__"),
    ("greater", "__gt__", "__lt__"),
    ("not_equal", "__ne__", "__ne__"),
    ("remainder", "__mod__", "__rmod__"),
    ("floor_divide", "__floordiv__", "__rfloordiv__"),
):
    implements(_ufunc)(_by_operator(_name, _reflected))
implements("negative")(operator.neg)
implements("positive")(operator.pos)
