"""Entry by entry: arithmetic, and the extrema and logic that give new variable blocks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import NoMeaningError
from optsched.model.base import ModelBase
from optsched.model.blocks.maximum import absolute, maximum, minimum
from optsched.model.expression import Expression, Shape
from optsched.model.numpy_functions.orders import owner
from optsched.model.numpy_like import implements, refuse
from optsched.model.ranges import is_binary

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
