"""Products with numbers, all of them sums over letters (``np.einsum``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import ModelError
from optsched.model.expression import Expression, Shape
from optsched.model.given_numbers import given_numbers
from optsched.model.numpy_like import implements, refuse


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
            weight = weight * spread(given_numbers("np.einsum", one), inputs[i])
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


def _matching(name: str, a: Any, b: Any, ours: list[int], others: list[int]) -> None:
    """Refuse axes summed together that are not as long: subscripts would repeat one of length 1."""
    shapes = np.shape(a), np.shape(b)
    if [shapes[0][i] for i in ours] != [shapes[1][j] for j in others]:
        raise ModelError(f"{name} does not fit shapes {shapes[0]} and {shapes[1]}")


@implements("matmul")
def _matmul(a: Any, b: Any, *, left: bool = False) -> Any:
    a, b = (b, a) if left else (a, b)
    if isinstance(a, Expression) and isinstance(b, Expression):
        raise ModelError("a product of two expressions is not linear")
    if max(_ndim(a), _ndim(b)) <= 2 and min(_ndim(a), _ndim(b)) > 0:
        return a @ b if isinstance(a, Expression) else b.__rmatmul__(a)
    if not (_ndim(a) and _ndim(b)):
        refuse("@ with a single number")
    _matching("@", a, b, [-1], [-min(2, _ndim(b))])
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
    ours, others = (np.atleast_1d(one).tolist() for one in axes)
    _matching("np.tensordot", a, b, ours, others)
    for i, j in zip(ours, others, strict=True):
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
    return value if isinstance(value, Expression) else given_numbers("a product", value)
