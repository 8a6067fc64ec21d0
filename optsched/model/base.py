"""The base of every kind of statement: blocks, linear rows, and the model that has them.

A block evaluates points, describes itself in words and LaTeX, and declares what it becomes if a
solver does not support it. In the end, every kind becomes linear rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import ModelError, UnsupportedError
from optsched.model.expression import Expression, Floats, Relation, Shape
from optsched.model.given_numbers import given_numbers, has_nan
from optsched.model.latex import FormulaWriter
from optsched.model.variables import Variable, VariableSpace, VariableType
from optsched.model.words import Writer

Entries = NDArray[np.integer[Any]]
"""Entries of a block in C order of its shape."""


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """A named block of constraints, one per entry of its shape.

    A kind of block is a subclass in one file. ``Model.add_block`` puts one into a model, also of a
    kind that is no part of this package.
    """

    name: str
    formula: str
    """LaTeX, as in the paper; may be empty."""

    kind: ClassVar[str]
    """The word by which solvers say that they take it as it is."""
    becomes: ClassVar[tuple[type[Block], ...]] = ()
    """Kinds of block that ``lower`` puts in its place; without any, only solvers that take it
    natively can solve it."""
    how: ClassVar[str] = ""
    """In words, what stands for it if a solver does not take it."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """One constraint per entry."""

    @abstractmethod
    def excess(self, x: Floats) -> Floats:
        """How far a point is from satisfying each entry, in its own units; <= 0 is satisfied."""

    def lower(self, model: ModelBase) -> None:
        """Add to a model what says the same exactly; added names start with the block's and ":".

        Raises:
            ModelError: the block lacks the bounds its rows need; the message names the variable.
            UnsupportedError: there is no such thing.
        """
        raise UnsupportedError(f"a {self.kind.replace('_', ' ')} has no exact linear form")

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        """What the entries say, as plain text."""
        return [self.kind] * len(entries)

    def latex(self, writer: FormulaWriter) -> str:
        """The generic entry."""
        return rf"\text{{{self.kind}}}"

    def expressions(self) -> tuple[Expression, ...]:
        """Every expression the block mentions."""
        found: list[Expression] = []
        for value in vars(self).values():
            if isinstance(value, Relation):
                found.append(value.expression)
            else:
                items = value if isinstance(value, tuple) else (value,)
                found += [one for one in items if isinstance(one, Expression)]
        return tuple(found)

    def restricted(self, entries: Entries) -> Self:
        """The block of these entries alone, in one axis."""
        if len(entries) == math.prod(self.shape):
            return self
        chosen = {item.name: self._chosen(getattr(self, item.name), entries)
                  for item in fields(self)}  # fmt: skip
        return replace(self, **chosen)

    def _chosen(self, value: Any, entries: Entries) -> Any:
        """These entries of a field; an expression may have one more axis than the block."""
        if isinstance(value, Expression):
            width = value.shape[len(self.shape) :]
            return value.reshape(math.prod(self.shape), *width)[entries]
        if isinstance(value, Relation):
            low, high = (np.broadcast_to(side, self.shape).reshape(-1)[entries]
                         for side in (value.lower, value.upper))  # fmt: skip
            return Relation(self._chosen(value.expression, entries), low, high)
        return tuple(self._chosen(v, entries) for v in value) if isinstance(value, tuple) else value


@dataclass(frozen=True, eq=False)
class Linear(Block):
    """``lower <= expression <= upper``."""

    relation: Relation
    kind = "linear"
    how = "linear rows"

    @property
    def shape(self) -> Shape:
        return self.relation.expression.shape

    def excess(self, x: Floats) -> Floats:
        return relation_excess(self.relation, x)

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        return writer.relations(self.relation, entries)

    def latex(self, writer: FormulaWriter) -> str:
        return writer.relation(self.relation)

    def expressions(self) -> tuple[Expression, ...]:
        return (self.relation.expression,)


def relation_excess(relation: Relation, x: Floats) -> Floats:
    """By how much a point lies outside each row, relative to ``max(1, |side|)``."""
    expression = relation.expression
    activity = Expression(expression.model, expression.shape, expression.terms).at(x)
    excess = np.full(expression.shape, -np.inf)
    for side, sign in ((relation.lower, -1.0), (relation.upper, 1.0)):
        finite = np.isfinite(side)
        value = np.where(finite, side, 0.0)
        over = sign * (activity - value) / np.maximum(1.0, np.abs(value))
        excess = np.maximum(excess, np.where(finite, over, -np.inf))
    return excess


def result_excess(result: Expression, value: Floats, x: Floats) -> Floats:
    """By how much a point's result differs from its value, relative to ``max(1, |value|)``."""
    return np.asarray(np.abs(result.at(x) - value) / np.maximum(1.0, np.abs(value)))


class ModelBase(VariableSpace):
    """Variables, blocks and an objective: all that a lowering may touch."""

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)
        self.blocks: dict[str, Block] = {}
        self.objective: Expression | None = None
        self.maximise = False
        self.objective_formula = ""
        """LaTeX, as in the paper; may be empty."""
        self._free: dict[str, int] = {}

    def minimize(self, expression: Expression | float, *, formula: str = "") -> None:
        """Set the objective, with its LaTeX if the paper has one.

        Example:
            >>> m = Model()
            >>> m.minimize(m.integer("x", 2, lower=1).sum() + 3)
            >>> solve(m).objective
            5.0
        """
        self._set_objective(expression, maximise=False, formula=formula)

    def maximize(self, expression: Expression | float, *, formula: str = "") -> None:
        """Set the objective, with its LaTeX if the paper has one.

        Example:
            >>> m = Model()
            >>> m.maximize(m.integer("x", 2, upper=4).sum())
            >>> solve(m).objective
            8.0
        """
        self._set_objective(expression, maximise=True, formula=formula)

    def _set_objective(
        self, expression: Expression | float, *, maximise: bool, formula: str = ""
    ) -> None:
        if not isinstance(expression, Expression):
            try:
                expression = Expression(self, (), (), float(given_numbers("", expression)))
            except (ModelError, TypeError, ValueError):
                raise ModelError(
                    "the objective must be a single expression or a number, not of type "
                    f"{type(expression).__name__}; several are solve_in_order's"
                ) from None
        if expression.size != 1:
            raise ModelError(
                f"the objective must be a single expression, not one of shape {expression.shape}"
            )
        self.check_own("the objective", expression)
        numbers = (expression.constant, *(terms.coefficients for terms in expression.terms))
        if any(map(has_nan, numbers)):
            raise ModelError("the objective: a coefficient or constant is NaN")
        self.objective = expression
        self.maximise = maximise
        self.objective_formula = formula

    @overload
    def add(self, name: str, relation: Relation, /, *, formula: str = "") -> None: ...

    @overload
    def add(self, relation: Relation, /, *, formula: str = "") -> None: ...

    def add(self, name: Any, relation: Any = None, /, *, formula: str = "") -> None:
        """Add a block of linear constraints under a name, such as the paper's number.

        Without a name it is "rows_1", "rows_2", ...

        Example:
            >>> m = Model()
            >>> x = m.binary("x", (2, 3))
            >>> m.add("2a", x.sum(axis=0) == 1)
            >>> m.add(x[0] <= x[1])
            >>> {name: block.shape for name, block in m.blocks.items()}
            {'2a': (3,), 'rows_1': (3,)}
        """
        if isinstance(name, Relation):
            if relation is not None:
                raise ModelError(f"block {relation!r}: the name comes first, then the relation")
            name, relation = self.free_name(None, "rows"), name
        self.add_block(Linear(name, formula, checked_relation(name, relation)))

    def add_block(self, block: Block) -> None:
        """Add a block of any kind, also of one that is not part of this package.

        Raises:
            ModelError: the name is taken, or the block mentions variables of another model.

        Example:
            >>> from optsched.model.blocks import Linear
            >>> m = Model()
            >>> x = m.binary("x", 2)
            >>> m.add_block(Linear("one", "", x.sum() == 1))
            >>> list(m.blocks)
            ['one']
        """
        if block.name in self.blocks:
            raise ModelError(f"block {block.name!r} exists already")
        self.check_own(f"block {block.name!r}", *block.expressions())
        self.blocks[block.name] = block

    def copy(self, name: str | None = None) -> Self:
        """A model with the same blocks; what is added to one does not show in the other.

        Example:
            >>> m = Model("first")
            >>> x = m.binary("x", 2)
            >>> second = m.copy("second")
            >>> second.add("one", x.sum() == 1)
            >>> len(m.blocks), len(second.blocks)
            (0, 1)
        """
        new = type(self)(name or self.name)
        new.variables = dict(self.variables)
        new.blocks = dict(self.blocks)
        new.objective, new.maximise, new.columns = self.objective, self.maximise, self.columns
        new.objective_formula = self.objective_formula
        new._ancestors = (*self._ancestors, (self, self.columns))
        return new

    __copy__ = copy

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of block it holds, linear ones aside."""
        return frozenset([block.kind for block in self.blocks.values()]) - {Linear.kind}

    # what statements are made of

    def free_name(self, name: str | None, word: str) -> str:
        """The name given, or the word and the first number that is free."""
        if name is not None:
            return name
        number = self._free.get(word, 1)  # those below are taken
        while f"{word}_{number}" in self.blocks or f"{word}_{number}" in self.variables:
            number += 1
        self._free[word] = number
        return f"{word}_{number}"

    def as_expression(self, value: Expression | ArrayLike) -> Expression:
        """Numbers as an expression without variables."""
        if isinstance(value, Expression):
            return value
        number = given_numbers("a statement", value)
        return Expression(self, number.shape, (), float(number) if number.ndim == 0 else number)

    def alike(self, name: str, *values: Expression | ArrayLike) -> list[Expression]:
        """The model's own expressions, or numbers, of a block in their common shape.

        Raises:
            ModelError: naming the block: shapes do not fit, or variables of another model.
        """
        parts = [self.as_expression(value) for value in values]
        self.check_own(f"block {name!r}", *parts)
        try:
            shape = np.broadcast_shapes(*(part.shape for part in parts))
        except ValueError:
            shapes = " and ".join(str(part.shape) for part in parts)
            raise ModelError(f"block {name!r}: shapes {shapes} do not fit") from None
        return [part.broadcast_to(shape) for part in parts]

    def stack(self, *expressions: Expression | ArrayLike) -> Expression:
        """Expressions and numbers side by side along a new last axis, shapes broadcast.

        Example:
            >>> m = Model()
            >>> x, y = m.binary("x", 2), m.binary("y", 2)
            >>> m.stack(x, y, 1.0).shape
            (2, 3)
        """
        if not expressions:
            raise ModelError("nothing to stack")
        parts, width = self.alike("stack", *expressions), len(expressions)
        total = self.as_expression(0.0)
        for i, part in enumerate(parts):
            places = np.arange(part.size) * width + i
            total = total + part.reshape(part.size).sum_by(places, part.size * width)
        return total.reshape(*parts[0].shape, width)

    def result(
        self,
        name: str,
        shape: Shape,
        bounds: tuple[ArrayLike, ArrayLike],
        *,
        whole: bool,
        formula: str = "",
    ) -> Variable:
        """The variable block that stands for the value of a statement.

        Its bounds may cross if a variable has no value at all, which its own bounds say.
        """
        bounds = np.minimum(*bounds), np.maximum(*bounds)
        sort = VariableType.INTEGER if whole else VariableType.CONTINUOUS
        return self._variable(name, shape, sort, bounds, formula)


def checked_relation(name: str, relation: Relation) -> Relation:
    """The relation, refusing what is none."""
    if not isinstance(relation, Relation):
        raise ModelError(f"block {name!r}: expected a relation such as x <= 1, got {relation}")
    return relation
