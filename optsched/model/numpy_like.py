"""Make an array of expressions an array to numpy: its protocols, methods and refusals."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import NoMeaningError
from optsched.model.terms import Shape

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What numpy's functions are of expressions; see :mod:`optsched.model.numpy_functions`."""
UFUNCS: dict[Any, Callable[..., Any]] = {}
"""The same of its universal functions."""


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


LONG_LOOP = 10_000
"""Entries from which on a Python loop takes seconds."""
_VALUES = {"value", "values", "val", "varValue", "X", "x", "level", "solution", "solution_value"}
"""What other tools call the value of a solved variable."""
_POWER = (
    "m.power(x, n) gives a variable that equals a whole power, m.sum_of_squares(x) one that is no "
    "less than the sum of squares, which is all that minimising asks for"
)
_RATIO = "m.ratio(x, y) gives a variable that equals a ratio"
_INSTEAD = {
    "np.square": _POWER,
    "**": _POWER,
    "np.power": _POWER,
    "/ by an expression": _RATIO,
    "np.reciprocal": _RATIO,
    "between": "its sides are numbers; two relations, <= and >=, say it of expressions",
    "np.all": "np.min(b) of binaries b is 1 where all are",
    "np.any": "np.max(b) of binaries b is 1 where any is",
    "np.prod": "m.product(x, y) gives a variable that equals a product",
    "np.clip": "np.minimum and np.maximum give variables that equal them",
    "np.count_nonzero": "the sum of binaries counts",
    "np.linalg.norm": "abs(x).sum() and abs(x).max() are norms that a linear model can say",
}


def refuse(operation: str) -> NoReturn:
    """Say what can be written instead.

    Raises:
        NoMeaningError: always.
    """
    said = _INSTEAD.get(operation, "only what is linear in them is")
    raise NoMeaningError(f"{operation} is not defined for expressions: {said}")


class NumpyLike(Generic[E]):
    """Methods and operators of numpy's arrays that stand on its functions.

    Args:
        E: what they give.
    """

    __slots__ = ()
    shape: Shape

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> E:
        """What a function of numpy makes of it."""
        table = UFUNCS if isinstance(function, np.ufunc) else FUNCTIONS
        made: E = table[function](self, *args, **kwargs)
        return made

    # protocols

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in FUNCTIONS:
            refuse(f"{function.__module__}.{function.__name__}".replace("numpy.", "np."))
        return FUNCTIONS[function](*args, **kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs and len(inputs) == 2 and kwargs["out"][0] is inputs[0]:
            kwargs.pop("out")  # numbers += x: the name on the left is given the expression
        if method == "reduce" and ufunc is np.add:
            return FUNCTIONS[np.sum](*inputs, **{"axis": 0, **kwargs})
        if method == "accumulate" and ufunc is np.add:
            return FUNCTIONS[np.cumsum](*inputs, **{"axis": 0, **kwargs})
        if method != "__call__" or kwargs or ufunc not in UFUNCS:
            refuse(f"np.{ufunc.__name__}" + f".{method}" * (method != "__call__"))
        return UFUNCS[ufunc](*inputs)

    if not TYPE_CHECKING:  # else numpy times expression would have the type of numbers

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            """A box for a single expression; numpy would not do to boxes what it means."""
            asking = sys._getframe(1).f_code.co_name  # scipy.sparse looks before it leaves @ to us
            if dtype in (None, np.dtype(object)) and (not self.shape or "matmul" in asking):
                box = np.empty((), dtype=object)
                box[()] = self
                return box
            raise NoMeaningError(
                f"an expression of shape {self.shape} is no array of numbers; "
                "np.stack and np.concatenate put expressions together"
            )

    def __bool__(self) -> NoReturn:
        raise NoMeaningError(
            "an expression is neither true nor false before a model is solved; and, or, not are "
            "written &, | and ~ on binaries, and an if is m.indicator(binary, relation)"
        )

    def __iter__(self) -> Iterator[E]:
        """Go along the first axis, as numpy does; warn if the loop is a long one."""
        array: Any = self
        if len(array) >= LONG_LOOP:
            warnings.warn(
                f"a Python loop over {len(array):,} entries is slow: x.sum(), slices and numpy's "
                "functions take all of them at once",
                stacklevel=2,
            )
        return (array[i] for i in range(len(array)))

    def __contains__(self, item: Any) -> NoReturn:
        raise NoMeaningError(
            "an expression contains no value before a model is solved: of known numbers, "
            "np.isin(solution[x], value) says where they are"
        )

    def tolist(self) -> Any:
        """Return the single expressions in nested lists; one alone is itself."""
        array: Any = self
        return [entry.tolist() for entry in array] if self.shape else self

    if not TYPE_CHECKING:  # else every misspelt name would be of some type

        def __getattr__(self, name: str) -> NoReturn:
            if name in _VALUES:
                raise AttributeError(
                    f"{name!r}: solving leaves a model and its expressions as they are; "
                    "solution[x] is the value of x, and solution.objective that of the objective"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __rtruediv__(self, other: Any) -> NoReturn:
        refuse("/ by an expression")

    def __pow__(self, other: Any) -> NoReturn:
        refuse("**")

    def __mod__(self, other: Any) -> NoReturn:
        refuse("%")

    def __floordiv__(self, other: Any) -> NoReturn:
        refuse("//")

    __rpow__, __rmod__, __rfloordiv__ = __pow__, __mod__, __floordiv__

    def __abs__(self) -> E:
        """A new variable block, as ``Model.absolute`` gives it."""
        return self._call(np.absolute)

    # logic of binaries

    def __invert__(self) -> E:
        return self._call(np.logical_not)

    def __and__(self, other: Any) -> E:
        return self._call(np.logical_and, other)

    def __or__(self, other: Any) -> E:
        return self._call(np.logical_or, other)

    def __xor__(self, other: Any) -> E:
        return self._call(np.logical_xor, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    # order of entries

    @property
    def T(self) -> E:  # noqa: N802
        """The axes reversed."""
        return self._call(np.transpose)

    def transpose(self, *axes: int | tuple[int, ...]) -> E:
        """The axes in another order, or reversed."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self._call(np.transpose, order or None)

    def swapaxes(self, first: int, second: int) -> E:
        """Two axes exchanged."""
        return self._call(np.swapaxes, first, second)

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> E:
        """Without the axes of length one."""
        return self._call(np.squeeze, axis)

    def copy(self) -> E:
        """Itself: expressions do not change."""
        return self._call(np.copy)

    def take(self, indices: ArrayLike, axis: int | None = None) -> E:
        """Entries by their indices along an axis, or of all in one axis."""
        return self._call(np.take, indices, axis)

    def repeat(self, repeats: ArrayLike, axis: int | None = None) -> E:
        """Each entry several times along an axis, or of all in one axis."""
        return self._call(np.repeat, repeats, axis)

    def diagonal(self, offset: int = 0) -> E:
        """Entries whose first two indices differ by the offset."""
        return self._call(np.diagonal, offset)

    # sums and extrema

    def mean(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> E:
        """Mean of all entries, or over the axes named."""
        return self._call(np.mean, axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> E:
        """Sums of each entry and those before it along an axis, or of all in one axis."""
        return self._call(np.cumsum, axis)

    def trace(self, offset: int = 0) -> E:
        """Sum along the diagonal of the first two axes."""
        return self._call(np.trace, offset)

    def dot(self, other: ArrayLike) -> E:
        """``np.dot``."""
        return self._call(np.dot, other)

    def max(self, axis: int | tuple[int, ...] | None = None) -> E:
        """A new variable block that equals the greatest entries, as ``Model.maximum`` gives it."""
        return self._call(np.max, axis)

    def min(self, axis: int | tuple[int, ...] | None = None) -> E:
        """A new variable block that equals the least entries, as ``Model.minimum`` gives it."""
        return self._call(np.min, axis)
