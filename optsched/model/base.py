"""What a model is made of before it says anything: variables, names, ownership."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model.blocks import Block
from optsched.model.expression import LARGEST_INDEX, Expression, Floats, Shape, Terms
from optsched.model.matrix_form import column_name
from optsched.model.ranges import Domains


class Kind(StrEnum):
    """Domain of a variable block."""

    BINARY = "binary"
    INTEGER = "integer"
    CONTINUOUS = "continuous"


class Variable(Expression):
    """A named block of decision variables; an expression like any other."""

    __slots__ = ("formula", "kind", "lower", "name", "start", "upper")

    def __init__(
        self,
        model: ModelBase,
        name: str,
        shape: Shape,
        start: int,
        kind: Kind,
        lower: Floats | float,
        upper: Floats | float,
        formula: str,
    ) -> None:
        columns = np.arange(start, start + math.prod(shape), dtype=np.int32)
        super().__init__(model, shape, (Terms(None, columns, 1.0),))
        self.name = name
        self.start = start
        """Column of its first entry."""
        self.kind = kind
        self.lower = lower
        self.upper = upper
        self.formula = formula

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r} of shape {self.shape}>"


class ModelBase:
    """Variables and blocks by name."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.variables: dict[str, Variable] = {}
        self.blocks: dict[str, Block] = {}
        self.objective: Expression | None = None
        self.maximise = False
        self.columns = 0
        """Number of variables."""
        self._ancestors: tuple[tuple[ModelBase, int], ...] = ()

    # variables

    def binary(self, name: str, shape: int | Shape = (), *, formula: str = "") -> Variable:
        """Variables in {0, 1}."""
        return self._variable(name, shape, Kind.BINARY, None, formula)

    def integer(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        formula: str = "",
    ) -> Variable:
        """Whole numbers in [lower, upper]; bounds are numbers or arrays of the shape."""
        return self._variable(name, shape, Kind.INTEGER, (lower, upper), formula)

    def continuous(
        self,
        name: str,
        shape: int | Shape = (),
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        formula: str = "",
    ) -> Variable:
        """Real numbers in [lower, upper]; bounds are numbers or arrays of the shape."""
        return self._variable(name, shape, Kind.CONTINUOUS, (lower, upper), formula)

    def _variable(
        self,
        name: str,
        shape: int | Shape,
        kind: Kind,
        bounds: tuple[ArrayLike, ArrayLike] | None,
        formula: str,
    ) -> Variable:
        if name in self.variables:
            raise ModelError(f"variable {name!r} exists already")
        full = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
        if self.columns + math.prod(full) > LARGEST_INDEX:
            raise ModelError(f"variable {name!r}: a model has at most {LARGEST_INDEX} columns")
        low, high = (0.0, 1.0) if bounds is None else _bounds(name, *bounds, full)
        variable = Variable(self, name, full, self.columns, kind, low, high, formula)
        self.variables[name] = variable
        self.columns += variable.size
        return variable

    def __getitem__(self, name: str) -> Variable:
        """The variable block of that name."""
        if name not in self.variables:
            raise ModelError(f"no variable {name!r}; there are: {', '.join(self.variables)}")
        return self.variables[name]

    # blocks

    def _put(self, block: Block) -> None:
        if block.name in self.blocks:
            raise ModelError(f"block {block.name!r} exists already")
        for expression in block.expressions():
            self.check_own(f"block {block.name!r}", expression)
        self.blocks[block.name] = block

    def _name(self, name: str | None, word: str) -> str:
        """The name given, or the word and the first number that is free."""
        if name is not None:
            return name
        number = 1
        while f"{word}_{number}" in self.blocks or f"{word}_{number}" in self.variables:
            number += 1
        return f"{word}_{number}"

    def _expression(self, value: Expression | ArrayLike) -> Expression:
        """Numbers as an expression without variables."""
        if isinstance(value, Expression):
            return value
        number = np.asarray(value, dtype=np.float64)
        return Expression(self, number.shape, (), float(number) if number.ndim == 0 else number)

    def check_own(self, where: str, expression: Expression) -> None:
        """Refuse an expression in variables that this model does not have.

        Raises:
            ModelError: naming where it was used.
        """
        if expression.model is not self and not any(
            expression.model is ancestor
            and (
                ancestor.columns == columns
                or all(t.columns.max(initial=-1) < columns for t in expression.terms)
            )
            for ancestor, columns in self._ancestors
        ):
            raise ModelError(f"{where} uses variables of another model")

    def common_ground(self, other: ModelBase) -> ModelBase:
        """The model that expressions of both belong to: one was copied from the other."""
        if other is self or any(ancestor is other for ancestor, _ in self._ancestors):
            return self
        if any(ancestor is self for ancestor, _ in other._ancestors):
            return other
        raise ModelError(f"{self.name!r} and {other.name!r} are different models")

    def copy(self, name: str | None = None) -> Self:
        """A model with the same blocks; what is added to one does not show in the other."""
        new = type(self)(name or self.name)
        new.variables = dict(self.variables)
        new.blocks = dict(self.blocks)
        new.objective, new.maximise, new.columns = self.objective, self.maximise, self.columns
        new._ancestors = (*self._ancestors, (self, self.columns))
        return new

    def domains(self) -> Domains:
        """Lower bounds, upper bounds and integrality of every column."""
        lower, upper = np.empty(self.columns), np.empty(self.columns)
        integer = np.empty(self.columns, dtype=np.bool_)
        for v in self.variables.values():
            part = slice(v.start, v.start + v.size)
            lower[part].reshape(v.shape)[...] = v.lower
            upper[part].reshape(v.shape)[...] = v.upper
            integer[part] = v.kind is not Kind.CONTINUOUS
        return lower, upper, integer

    def column_name(self, column: int) -> str:
        """Name and index of one column, for messages."""
        return column_name(self._column_blocks(), column)

    def _column_blocks(self) -> dict[str, tuple[int, Shape]]:
        return {name: (v.start, v.shape) for name, v in self.variables.items()}


def _bounds(
    name: str, lower: ArrayLike, upper: ArrayLike, shape: Shape
) -> tuple[Floats | float, Floats | float]:
    low, high = _bound(name, lower, shape), _bound(name, upper, shape)
    if not np.all(np.less_equal(low, high)):  # false for a bound that is not a number, too
        raise ModelError(f"variable {name!r}: a lower bound exceeds its upper bound")
    if np.any(np.equal(low, np.inf)) or np.any(np.equal(high, -np.inf)):
        raise ModelError(f"variable {name!r}: its bounds leave no finite value")
    return low, high


def _bound(name: str, side: ArrayLike, shape: Shape) -> Floats | float:
    array = np.array(side, dtype=np.float64)  # a copy: later changes stay outside
    if array.ndim == 0:
        return float(array)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ModelError(
            f"variable {name!r}: a bound of shape {array.shape} does not fit {shape}"
        ) from None
