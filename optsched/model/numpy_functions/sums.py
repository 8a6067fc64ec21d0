"""Sums, means and differences along axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.expression import Expression
from optsched.model.given_numbers import given_numbers
from optsched.model.numpy_like import FUNCTIONS, implements, refuse

Axis = int | tuple[int, ...] | None


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
    factor = given_numbers("np.average", weights)
    if axis is not None and factor.ndim == 1 and x.ndim > 1:
        factor = np.moveaxis(factor.reshape(-1, *[1] * (x.ndim - 1)), 0, axis)
    factor = np.broadcast_to(factor, x.shape)
    weighted: Expression = x * factor
    sums = factor.sum(axis=axis, keepdims=True)  # numpy's types refuse what is not a constant here
    total: ArrayLike = sums if keepdims else np.squeeze(sums, axis)
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
