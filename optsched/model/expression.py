"""Arrays of linear expressions that behave like numpy arrays.

An expression of shape ``s`` stands for ``prod(s)`` linear functions at once. It is kept as a few
runs of terms (entry, column, coefficient), never as objects per variable, so building a model
costs a few array operations however many variables it has.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import ModelError, NoMeaningError
from optsched.model.given_numbers import given_numbers
from optsched.model.numpy_like import NumpyLike, refuse
from optsched.model.terms import Floats as Floats
from optsched.model.terms import Shape as Shape
from optsched.model.terms import Terms as Terms
from optsched.model.terms import gathered, multiplied

if TYPE_CHECKING:
    import scipy.sparse as sp

LARGEST_INDEX = 2**31 - 1
"""Columns, rows and nonzeros are counted in 32 bits, as the solvers count them."""

_ZERO: Floats = np.zeros(())
_ZERO_ENTRY = bytes(4)


class Owner(Protocol):
    """What expressions ask of the model whose variables they are in."""

    columns: int
    """Number of variables."""

    def check_own(self, where: str, *expressions: Expression) -> None:
        """Refuse expressions in variables that the model does not have."""

    def vector(self, values: Mapping[str, ArrayLike]) -> Floats:
        """Values by variable name as one vector over all columns."""

    def common_ground(self, other: Any) -> Owner:
        """The model that expressions of both belong to: one was copied from the other."""


class Expression(NumpyLike["Expression"]):
    """An array of linear expressions in the variables of one model.

    Arithmetic, indexing, ``sum`` and broadcasting follow numpy; shapes that do not fit raise
    :class:`ModelError` naming both. Comparing with ``<=``, ``>=`` or ``==`` gives a
    :class:`Relation` to be added to the model.
    """

    __slots__ = ("constant", "model", "shape", "size", "terms")
    __pandas_priority__ = 5000  # pandas series leave arithmetic with us to our own methods
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        model: Owner,
        shape: Shape,
        terms: tuple[Terms, ...],
        constant: Floats | float = 0.0,
    ) -> None:
        self.model = model
        self.shape = shape
        self.size = math.prod(shape)
        """Number of entries."""
        self.terms = terms
        self.constant = constant
        """A number, or an array of the expression's shape."""

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise NoMeaningError("a single expression has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape}>"

    # arithmetic

    def __neg__(self) -> Expression:
        return self * -1.0

    def __pos__(self) -> Expression:
        return self

    def __add__(self, other: Expression | ArrayLike) -> Expression:
        if isinstance(other, Expression):
            shape = _common_shape("+", self.shape, other.shape)
            a, b = self.broadcast_to(shape), other.broadcast_to(shape)
            model = self.model
            if other.model is not model:
                model = model.common_ground(other.model)
                model.check_own("+", self, other)
            return Expression(model, shape, a.terms + b.terms, a.constant + b.constant)
        value = _number("+", other)
        shape = _common_shape("+", self.shape, value.shape)
        a = self.broadcast_to(shape)
        constant = a.constant + (float(value) if value.ndim == 0 else _spread(value, shape))
        return Expression(self.model, shape, a.terms, constant)

    __radd__ = __add__

    def __sub__(self, other: Expression | ArrayLike) -> Expression:
        return self + (-other if isinstance(other, Expression) else -_number("-", other))

    def __rsub__(self, other: ArrayLike) -> Expression:
        return -self + other

    def __mul__(self, other: ArrayLike) -> Expression:
        if isinstance(other, Expression):
            raise ModelError(
                "a product of two expressions is not linear; m.product(x, y) gives a variable "
                "that equals it"
            )
        value = _number("*", other)
        if value.ndim == 0:
            factor = float(value)
            constant = 0.0 if _is_zero(self.constant) else self.constant * factor
            terms = tuple([t.scaled(factor) for t in self.terms])
            return Expression(self.model, self.shape, terms, constant)
        shape = _common_shape("*", self.shape, value.shape)
        a = self.broadcast_to(shape)
        value = _spread(value, shape)
        flat = value.reshape(-1)
        constant = 0.0 if _is_zero(a.constant) else a.constant * value
        return Expression(self.model, shape, tuple([t.scaled(flat) for t in a.terms]), constant)

    __rmul__ = __mul__

    def __truediv__(self, other: ArrayLike) -> Expression:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self * (1.0 / _number("/", other))

    def __matmul__(self, other: Any) -> Expression:
        """``x @ b`` for a vector or a (numpy or scipy.sparse) matrix of numbers ``b``."""
        matrix = _matrix(other)
        if isinstance(matrix, np.ndarray) and (matrix.ndim > 2 or self.ndim > 2):
            return self._call(np.matmul, matrix)
        if not (
            self.ndim
            and self.shape[-1] == matrix.shape[0]
            and (matrix.ndim == 1 or (matrix.ndim == 2 and self.ndim <= 2))
        ):
            raise ModelError(f"@ does not fit shapes {self.shape} and {matrix.shape}")
        if matrix.ndim == 1:
            product: Expression = self * matrix
            return product.sum(axis=-1)
        factor = matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()
        if self.ndim == 2:
            import scipy.sparse as sp

            factor = sp.kron(sp.eye_array(self.shape[0]), factor, format="csr")
        return self._transformed(factor, (*self.shape[:-1], matrix.shape[1]))

    def __rmatmul__(self, other: Any) -> Expression:
        """``A @ x`` for a vector or a (numpy or scipy.sparse) matrix of numbers ``A``."""
        matrix = _matrix(other)
        if isinstance(matrix, np.ndarray) and (matrix.ndim > 2 or self.ndim > 2):
            return self._call(np.matmul, matrix, left=True)
        if not (
            self.ndim in (1, 2) and matrix.ndim in (1, 2) and matrix.shape[-1] == self.shape[0]
        ):
            raise ModelError(f"@ does not fit shapes {matrix.shape} and {self.shape}")
        factor = matrix if matrix.ndim == 2 else matrix[None, :]
        if self.ndim == 2:
            import scipy.sparse as sp

            factor = sp.kron(factor, sp.eye_array(self.shape[1]), format="csr")
        return self._transformed(factor, (*matrix.shape[:-1], *self.shape[1:]))

    def _transformed(self, factor: sp.csr_array | Floats, shape: Shape) -> Expression:
        """``factor @ x`` over the flattened entries, in the shape given."""
        constant: Floats | float = 0.0
        if not _is_zero(self.constant):
            flat = np.broadcast_to(self.constant, self.shape).reshape(-1)
            constant = (factor @ flat).reshape(shape)[()]
        return Expression(
            self.model, shape, tuple(multiplied(factor, t) for t in self.terms), constant
        )

    # shape

    def __getitem__(self, key: Any) -> Expression:
        if isinstance(key, Relation | Expression):
            raise NoMeaningError("an index is known numbers; m.element and m.table choose by a "
                                 "variable")  # fmt: skip
        try:
            picked = np.arange(self.size, dtype=np.int32).reshape(self.shape)[key]
        except IndexError as error:
            raise ModelError(f"index does not fit shape {self.shape}: {error}") from None
        return self._picked(np.asarray(picked))

    def broadcast_to(self, shape: Shape) -> Expression:
        """The expression repeated along new or length-one axes, as numpy does."""
        if shape == self.shape:
            return self
        if _common_shape("broadcasting", self.shape, shape) != shape:
            raise ModelError(f"broadcasting does not fit shapes {self.shape} and {shape}")
        return self._picked(
            np.broadcast_to(np.arange(self.size, dtype=np.int32).reshape(self.shape), shape)
        )

    def ravel(self) -> Expression:
        """All entries in one axis."""
        return self.reshape(self.size)

    flatten = ravel

    def reshape(self, *shape: int | Shape) -> Expression:
        """The same entries in another shape, a tuple or its lengths; one length may be -1."""
        new = np.empty(self.shape, dtype=np.bool_)  # never written, so nothing
        try:
            target = np.reshape(new, shape[0] if len(shape) == 1 else shape).shape  # type: ignore[arg-type]
        except ValueError:
            raise ModelError(f"cannot reshape {self.shape} to {shape}") from None
        constant = (
            self.constant if isinstance(self.constant, float) else self.constant.reshape(target)
        )
        return Expression(self.model, target, self.terms, constant)

    def _picked(self, picked: NDArray[np.int32]) -> Expression:
        """Entry ``i`` of the result is entry ``picked[i]`` of this one."""
        flat = picked.reshape(-1)
        constant = (
            self.constant
            if isinstance(self.constant, float)
            else (self.constant.reshape(-1)[picked])
        )
        terms = tuple(gathered(t, flat, self.size) for t in self.terms)
        return Expression(self.model, picked.shape, terms, constant)

    # sums

    def sum(
        self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
    ) -> Expression:
        """Sum over all entries, or over the axes named, which stay with length one if kept."""
        if axis is None:
            axes = tuple(range(self.ndim))
        else:
            listed = axis if isinstance(axis, tuple) else (axis,)
            axes = tuple(_axis(a, self.ndim) for a in listed)
            if len(set(axes)) != len(axes):
                raise ModelError(f"sum: an axis is named twice in {axis}")
        left = tuple([n for a, n in enumerate(self.shape) if a not in axes])
        if left:
            one = np.arange(math.prod(left), dtype=np.int32).reshape(
                tuple(1 if a in axes else n for a, n in enumerate(self.shape))
            )
            target = np.broadcast_to(one, self.shape).reshape(-1)
        else:  # a zero per entry without the memory
            target = np.ndarray(self.size, dtype=np.int32, buffer=_ZERO_ENTRY, strides=(0,))
        constant = self.constant
        if not _is_zero(constant):
            total = np.broadcast_to(constant, self.shape).sum(axis=axes)
            constant = float(total) if not left else total
        terms = tuple([t.moved(target) for t in self.terms])
        added = Expression(self.model, left, terms, constant)
        if not keepdims:
            return added
        return added.reshape(tuple(1 if a in axes else n for a, n in enumerate(self.shape)))

    def sum_by(self, keys: ArrayLike, groups: int) -> Expression:
        """Add up entries that share a key: entry ``k`` of the result sums where ``keys == k``.

        Args:
            keys: integers in 0..groups-1, in the expression's shape.
            groups: length of the result.
        """
        key = np.asarray(keys)
        if key.shape != self.shape:
            raise ModelError(f"sum_by: keys have shape {key.shape}, the expression {self.shape}")
        if key.size and key.dtype.kind not in "iu":
            raise ModelError(f"sum_by: keys must be integers, not {key.dtype}")
        if not 0 <= groups <= LARGEST_INDEX:
            raise ModelError(f"sum_by: groups = {groups}, allowed are 0..{LARGEST_INDEX}")
        unsigned = key.view(key.dtype.str.replace("i", "u"))  # what is below 0 is large there
        if key.size and not np.maximum.reduce(unsigned, axis=None) < groups:
            raise ModelError(
                f"sum_by: keys must lie in 0..{groups - 1}, found {key.min()}..{key.max()}"
            )
        flat = key.astype(np.int32).reshape(-1)  # a copy: later changes of the keys stay outside
        constant = self.constant
        if not _is_zero(constant):
            weights = np.broadcast_to(constant, self.shape).reshape(-1)
            constant = np.bincount(flat, weights=weights, minlength=groups).astype(np.float64)
        terms = tuple([t.moved(flat) for t in self.terms])
        return Expression(self.model, (groups,), terms, constant)

    # values

    def at(self, x: Floats) -> Floats:
        """Values at a point, a vector over all columns of the model."""
        total = np.zeros(self.size)
        for t in self.terms:
            weights = t.coefficients * x[t.columns]
            if t.entries is None:
                total += weights
            else:
                total += np.bincount(t.entries, weights=weights, minlength=self.size)
        return total.reshape(self.shape) + self.constant

    # relations

    def __le__(self, other: Expression | ArrayLike) -> Relation:
        return self._related(other, upper=True)

    def __ge__(self, other: Expression | ArrayLike) -> Relation:
        return self._related(other, lower=True)

    def __eq__(self, other: Expression | ArrayLike) -> Relation:  # type: ignore[override]
        return self._related(other, lower=True, upper=True)

    def __lt__(self, other: Any) -> NoReturn:
        raise NoMeaningError(
            "< and > have no meaning for solvers, which know closed sets only: write <= or >=, "
            "of whole numbers x <= y - 1"
        )

    __gt__ = __lt__

    def __ne__(self, other: object) -> NoReturn:
        raise NoMeaningError("!= is no row: m.all_different(x) says it of whole numbers")

    def between(self, lower: ArrayLike, upper: ArrayLike) -> Relation:
        """``lower <= expression <= upper`` as one block of rows."""
        low, high = _number("between", lower), _number("between", upper)
        shape = _common_shape("between", self.shape, low.shape)
        spread = self.broadcast_to(_common_shape("between", shape, high.shape))
        return Relation(spread, spread._side(low), spread._side(high))

    def _related(
        self, other: Expression | ArrayLike, *, lower: bool = False, upper: bool = False
    ) -> Relation:
        if isinstance(other, Expression):
            _common_shape("comparison", self.shape, other.shape)
            difference = self - other
            side = difference._side(_ZERO)
        else:
            value = _number("comparison", other)
            shape = _common_shape("comparison", self.shape, value.shape)
            difference = self.broadcast_to(shape)
            side = difference._side(value)
        return Relation(difference, side if lower else -np.inf, side if upper else np.inf)

    def _side(self, number: Floats) -> Floats | float:
        """The right-hand side once the expression's constant has gone over."""
        if number.ndim == 0 and isinstance(self.constant, float):
            return float(number) - self.constant
        return _spread(number - self.constant, self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """``lower <= linear part of the expression <= upper``, entry by entry."""

    expression: Expression
    lower: Floats | float
    """The constant of the expression already taken off."""
    upper: Floats | float
    labels: Mapping[str, Any] | None = None
    """Labels of the axes, by name, if they have any; see :mod:`optsched.model.labels`."""

    @property
    def shape(self) -> Shape:
        """One row per entry."""
        return self.expression.shape

    def __getitem__(self, key: Any) -> Relation:
        """The rows of some entries."""
        low, high = (np.broadcast_to(side, self.shape)[key] for side in (self.lower, self.upper))
        return Relation(self.expression[key], low, high)

    def labelled(self, labels: Mapping[str, Any]) -> Relation:
        """The same, its axes named."""
        return replace(self, labels=labels)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NoMeaningError(
            "a relation is neither true nor false; add it to a model "
            "(lower <= x <= upper is written x.between(lower, upper)), or say with "
            "m.indicator(binary, relation) where it must hold"
        )

    __bool__ = __iter__ = __and__ = __or__ = __invert__ = __xor__ = __rand__ = __ror__ = _refuse
    __array__ = __array_function__ = __array_ufunc__ = _refuse
    __le__ = __ge__ = __lt__ = __gt__ = __eq__ = __ne__ = __add__ = __radd__ = __mul__ = _refuse
    __hash__ = None  # type: ignore[assignment]


def _number(operation: str, value: ArrayLike) -> Floats:
    if isinstance(value, Expression):
        refuse(f"{operation} by an expression" if operation == "/" else operation)
    return given_numbers(operation, value)


def _matrix(value: Any) -> Any:
    """A numpy array, or a sparse matrix in rows."""
    loaded: Any = sys.modules.get("scipy.sparse")  # without which no value is sparse
    if loaded is None or not loaded.issparse(value):
        return _number("@", value)
    return loaded.csr_array(value, dtype=np.float64) if value.ndim == 2 else value.toarray()


def _spread(value: Floats, shape: Shape) -> Floats:
    """The value in that shape, at no cost if it has it already."""
    return value if value.shape == shape else np.broadcast_to(value, shape)


def _is_zero(constant: Floats | float) -> bool:
    return isinstance(constant, float) and constant == 0.0


def _common_shape(operation: str, a: Shape, b: Shape) -> Shape:
    if a == b or not b:
        return a
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise ModelError(f"{operation} does not fit shapes {a} and {b}") from None


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ModelError(f"axis {axis} does not exist: the expression has {ndim} axes")
    return axis % ndim
