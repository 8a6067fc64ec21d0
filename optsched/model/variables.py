"""The variables of a model: named arrays with a column for each entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.expression import LARGEST_INDEX, Expression, Floats, Owner, Shape, Terms
from optsched.model.given_numbers import given_numbers, has_nan
from optsched.model.labels import Labelled, Labels, labels_of, numbers
from optsched.model.ranges import Domains


class VariableType(StrEnum):
    """What values the entries of a variable block take, within their bounds."""

    BINARY = "binary"
    INTEGER = "integer"
    CONTINUOUS = "continuous"


class Variable(Expression):
    """A named block of decision variables; an expression like any other."""

    __slots__ = ("formula", "labels", "lower", "name", "start", "type", "upper")

    def __init__(
        self,
        model: Owner,
        name: str,
        shape: Shape,
        start: int,
        variable_type: VariableType,
        lower: Floats | float,
        upper: Floats | float,
        formula: str,
        labels: Labels | None = None,
    ) -> None:
        columns = np.arange(start, start + math.prod(shape), dtype=np.int32)
        super().__init__(model, shape, (Terms(None, columns, 1.0),))
        self.name = name
        self.start = start
        """Column of its first entry."""
        self.type = variable_type
        self.lower = lower
        self.upper = upper
        self.formula = formula
        self.labels = labels
        """Labels of its axes, by name, if it has any."""

    def with_domain(
        self, variable_type: VariableType, lower: Floats | float, upper: Floats | float
    ) -> Variable:
        """The same columns in a variant of the model where they take other values."""
        return Variable(
            self.model, self.name, self.shape, self.start, variable_type, lower, upper,
            self.formula, self.labels,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<{self.type} {self.name!r} of shape {self.shape}>"


class VariableSpace:
    """Blocks of variables by name, side by side: one column for each entry."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.variables: dict[str, Variable] = {}
        self.columns = 0
        """Number of variables."""
        self._ancestors: tuple[tuple[VariableSpace, int], ...] = ()

    @overload
    def binary(self, name: str, shape: int | Shape = (), *, formula: str = "") -> Variable: ...

    @overload
    def binary(self, name: str, *, coords: Mapping[str, Any], formula: str = "") -> Labelled: ...

    def binary(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        coords: Mapping[str, Any] | None = None,
        formula: str = "",
    ) -> Variable | Labelled:
        """Variables in {0, 1}; with ``coords``, labels by name of dimension, a labelled array.

        Example:
            >>> m = Model()
            >>> m.binary("take", 3).shape, m.binary("put", coords={"item": ["a", "b"]}).shape
            ((3,), (2,))
        """
        return self._declared(name, shape, VariableType.BINARY, None, formula, coords)

    @overload
    def integer(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        formula: str = "",
    ) -> Variable: ...

    @overload
    def integer(
        self,
        name: str,
        *,
        lower: Any = 0.0,
        upper: Any = np.inf,
        coords: Mapping[str, Any],
        formula: str = "",
    ) -> Labelled: ...

    def integer(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: Any = 0.0,
        upper: Any = np.inf,
        coords: Mapping[str, Any] | None = None,
        formula: str = "",
    ) -> Variable | Labelled:
        """Whole numbers in [lower, upper]; bounds are numbers or arrays of the shape.

        With ``coords``, labels by name of dimension, it is a labelled array; bounds from pandas
        or xarray are aligned.

        Example:
            >>> m = Model()
            >>> m.maximize(m.integer("x", 2, upper=[3, 4.5]).sum())
            >>> solve(m)["x"].tolist()
            [3.0, 4.0]
        """
        sort, bounds = VariableType.INTEGER, (lower, upper)
        return self._declared(name, shape, sort, bounds, formula, coords)

    @overload
    def continuous(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        formula: str = "",
    ) -> Variable: ...

    @overload
    def continuous(
        self,
        name: str,
        *,
        lower: Any = 0.0,
        upper: Any = np.inf,
        coords: Mapping[str, Any],
        formula: str = "",
    ) -> Labelled: ...

    def continuous(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: Any = 0.0,
        upper: Any = np.inf,
        coords: Mapping[str, Any] | None = None,
        formula: str = "",
    ) -> Variable | Labelled:
        """Real numbers in [lower, upper]; bounds are numbers or arrays of the shape.

        With ``coords``, labels by name of dimension, it is a labelled array; bounds from pandas
        or xarray are aligned.

        Example:
            >>> m = Model()
            >>> m.minimize(m.continuous("x", 2, lower=-1.5).sum())
            >>> solve(m).objective
            -3.0
        """
        sort, bounds = VariableType.CONTINUOUS, (lower, upper)
        return self._declared(name, shape, sort, bounds, formula, coords)

    def _declared(
        self,
        name: str,
        shape: int | Shape,
        sort: VariableType,
        bounds: tuple[Any, Any] | None,
        formula: str,
        coords: Mapping[str, Any] | None,
    ) -> Variable | Labelled:
        """A variable block, in labels if there are any."""
        if coords is None:
            return self._variable(name, shape, sort, bounds, formula)
        if shape != ():
            raise ModelError(f"variable {name!r}: give a shape or coords, not both")
        labels = labels_of(name, coords)
        full = tuple(map(len, labels.values()))
        if bounds is not None:
            low, high = (numbers(f"bounds of {name!r}", side, labels) for side in bounds)
            bounds = low, high
        variable = self._variable(name, full, sort, bounds, formula)
        variable.labels = labels
        return Labelled(variable, labels)

    def _variable(
        self,
        name: str,
        shape: int | Shape,
        variable_type: VariableType,
        bounds: tuple[ArrayLike, ArrayLike] | None,
        formula: str,
    ) -> Variable:
        if name in self.variables:
            raise ModelError(f"variable {name!r} exists already")
        full = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
        if self.columns + math.prod(full) > LARGEST_INDEX:
            raise ModelError(f"variable {name!r}: a model has at most {LARGEST_INDEX} columns")
        low, high = (0.0, 1.0) if bounds is None else _bounds(name, *bounds, full)
        variable = Variable(self, name, full, self.columns, variable_type, low, high, formula)
        self.variables[name] = variable
        self.columns += variable.size
        return variable

    def __getitem__(self, name: str) -> Variable:
        """The variable block of that name, in its labels if it has any."""
        if name not in self.variables:
            raise ModelError(f"no variable {name!r}; there are: {', '.join(self.variables)}")
        variable = self.variables[name]
        if variable.labels is None:
            return variable
        return Labelled(variable, variable.labels)  # type: ignore[return-value]

    def check_own(self, where: str, *expressions: Expression) -> None:
        """Refuse expressions in variables that this model does not have.

        Raises:
            ModelError: naming where they were used.
        """
        for expression in expressions:
            if expression.model is not self and not any(
                expression.model is ancestor
                and (
                    ancestor.columns == columns
                    or all(t.columns.max(initial=-1) < columns for t in expression.terms)
                )
                for ancestor, columns in self._ancestors
            ):
                raise ModelError(f"{where} uses variables of another model")

    def common_ground(self, other: Any) -> VariableSpace:
        """The model that expressions of both belong to: one was copied from the other."""
        if other is self or any(ancestor is other for ancestor, _ in self._ancestors):
            return self
        if any(ancestor is self for ancestor, _ in other._ancestors):
            space: VariableSpace = other
            return space
        raise ModelError(f"{self.name!r} and {other.name!r} are different models")

    def vector(self, values: Mapping[str, ArrayLike]) -> Floats:
        """Values by variable name as one vector over all columns.

        Raises:
            ModelError: a block is missing or has another shape.

        Example:
            >>> m = Model()
            >>> x, y = m.binary("x", 2), m.continuous("y")
            >>> m.vector({"y": 0.5, "x": [1, 0]}).tolist()
            [1.0, 0.0, 0.5]
        """
        x = np.empty(self.columns)
        for name, v in self.variables.items():
            if name not in values:
                raise ModelError(f"no value for variable {name!r}")
            given = values[name]
            if v.labels is not None:
                given = numbers(f"values of {name!r}", given, v.labels)
            value = given_numbers(f"the value of {name!r}", given)
            if value.shape != v.shape:
                raise ModelError(f"{name!r} has shape {v.shape}, its value {value.shape}")
            x[v.start : v.start + v.size] = value.reshape(-1)
        return x

    def domains(self) -> Domains:
        """Lower bounds, upper bounds and integrality of every column."""
        lower, upper = np.empty(self.columns), np.empty(self.columns)
        integer = np.empty(self.columns, dtype=np.bool_)
        for v in self.variables.values():
            part = slice(v.start, v.start + v.size)
            lower[part].reshape(v.shape)[...] = v.lower
            upper[part].reshape(v.shape)[...] = v.upper
            integer[part] = v.type is not VariableType.CONTINUOUS
        return lower, upper, integer

    def column_name(self, column: int) -> str:
        """Name and index of one column, for messages."""
        return column_name(self.column_blocks(), column)

    def column_blocks(self) -> dict[str, tuple[int, Shape]]:
        """First column and shape of each variable block, by name."""
        return {name: (v.start, v.shape) for name, v in self.variables.items()}


def column_name(blocks: Mapping[str, tuple[int, Shape]], column: int) -> str:
    """Name and index of one column, from the first column and shape of each block.

    Raises:
        ModelError: there is no such column.
    """
    for name, (first, shape) in blocks.items():
        if first <= column < first + math.prod(shape):
            return name + index_text(column - first, shape)
    raise ModelError(f"column {column} does not exist")


def index_text(entry: int, shape: Shape) -> str:
    """``[1, 2]`` for an entry in C order; nothing for a single one."""
    if not shape:
        return ""
    return "[" + ", ".join(str(int(i)) for i in np.unravel_index(entry, shape)) + "]"


def _bounds(
    name: str, lower: ArrayLike, upper: ArrayLike, shape: Shape
) -> tuple[Floats | float, Floats | float]:
    low, high = _bound(name, lower, shape), _bound(name, upper, shape)
    fits = low <= high
    if fits if isinstance(fits, bool) else fits.all():
        most = low if isinstance(low, float) else low.max(initial=-np.inf)
        least = high if isinstance(high, float) else high.min(initial=np.inf)
        if most < np.inf and least > -np.inf:
            return low, high
        raise ModelError(f"variable {name!r}: its bounds leave no finite value")
    if has_nan(low) or has_nan(high):
        raise ModelError(f"variable {name!r}: a bound is NaN")
    raise ModelError(f"variable {name!r}: a lower bound exceeds its upper bound")


def _bound(name: str, side: ArrayLike, shape: Shape) -> Floats | float:
    if isinstance(side, float):
        return float(side)  # also numpy's
    array = given_numbers(f"bounds of {name!r}", side)
    if array.ndim == 0:
        return float(array)
    array = array.copy()  # later changes stay outside
    array.flags.writeable = False
    if array.shape == shape:
        return array
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ModelError(
            f"variable {name!r}: a bound of shape {array.shape} does not fit {shape}"
        ) from None
