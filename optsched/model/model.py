"""The solver-agnostic model object: named blocks of variables and constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optsched.errors import ModelError
from optsched.lowering.indicator import lower_indicator
from optsched.model.compiled import (
    Compiled,
    CompiledIndicator,
    assemble,
    check_finite,
    column_name,
    linear,
)
from optsched.model.evaluate import BlockViolation, evaluate
from optsched.model.expression import LARGEST_INDEX, Expression, Floats, Relation, Shape, Terms

FEASIBILITY = 1e-6
"""Default tolerance on rows, bounds and integrality (absolute, scaled by the row's magnitude)."""


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
        model: Model,
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


@dataclass(frozen=True, eq=False)
class Block:
    """A named block of linear constraints."""

    name: str
    relation: Relation
    formula: str = ""
    """LaTeX, as in the paper."""


@dataclass(frozen=True, eq=False)
class Indicator:
    """Constraints that hold where all literals are true."""

    name: str
    literals: tuple[Expression, ...]
    """Binary variables, each of the relation's shape."""
    active: tuple[bool, ...]
    """The value that makes each literal true."""
    relation: Relation
    formula: str = ""


class Model:
    """An optimisation model in named blocks, independent of any solver.

    Example:
        >>> import numpy as np
        >>> from optsched import Model, solve
        >>> m = Model("knapsack")
        >>> take = m.binary("take", shape=3)
        >>> m.maximize(take @ np.array([6.0, 5.0, 4.0]))
        >>> m.add("weight", take @ np.array([3, 2, 2]) <= 4)
        >>> solve(m).objective
        9.0
    """

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.variables: dict[str, Variable] = {}
        self.blocks: dict[str, Block | Indicator] = {}
        self.objective: Expression | None = None
        self.maximise = False
        self.columns = 0
        """Number of variables."""
        self._ancestors: tuple[tuple[Model, int], ...] = ()

    # variables

    def binary(self, name: str, shape: int | Shape = (), *, formula: str = "") -> Variable:
        """Variables in {0, 1}."""
        return self._variable(name, shape, Kind.BINARY, 0.0, 1.0, formula)

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
        return self._variable(name, shape, Kind.INTEGER, lower, upper, formula)

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
        return self._variable(name, shape, Kind.CONTINUOUS, lower, upper, formula)

    def _variable(
        self,
        name: str,
        shape: int | Shape,
        kind: Kind,
        lower: ArrayLike,
        upper: ArrayLike,
        formula: str,
    ) -> Variable:
        if name in self.variables:
            raise ModelError(f"variable {name!r} exists already")
        full = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
        if self.columns + math.prod(full) > LARGEST_INDEX:
            raise ModelError(f"variable {name!r}: a model has at most {LARGEST_INDEX} columns")
        low, high = _bound(name, lower, full), _bound(name, upper, full)
        if not np.all(np.less_equal(low, high)):  # false for a bound that is not a number, too
            raise ModelError(f"variable {name!r}: a lower bound exceeds its upper bound")
        if np.any(np.equal(low, np.inf)) or np.any(np.equal(high, -np.inf)):
            raise ModelError(f"variable {name!r}: its bounds leave no finite value")
        variable = Variable(self, name, full, self.columns, kind, low, high, formula)
        self.variables[name] = variable
        self.columns += variable.size
        return variable

    def __getitem__(self, name: str) -> Variable:
        """The variable block of that name."""
        if name not in self.variables:
            raise ModelError(f"no variable {name!r}; there are: {', '.join(self.variables)}")
        return self.variables[name]

    # objective and constraints

    def minimize(self, expression: Expression | float) -> None:
        """Set the objective."""
        self._set_objective(expression, maximise=False)

    def maximize(self, expression: Expression | float) -> None:
        """Set the objective."""
        self._set_objective(expression, maximise=True)

    def _set_objective(self, expression: Expression | float, *, maximise: bool) -> None:
        if not isinstance(expression, Expression):
            expression = Expression(self, (), (), float(expression))
        if expression.size != 1:
            raise ModelError(
                f"the objective must be a single expression, not one of shape {expression.shape}"
            )
        self.check_own("the objective", expression)
        self.objective = expression
        self.maximise = maximise

    def add(self, name: str, relation: Relation, *, formula: str = "") -> None:
        """Add a block of linear constraints under a name, such as the paper's number."""
        self._check_relation(name, relation)
        self.blocks[name] = Block(name, relation, formula)

    def indicator(
        self,
        name: str,
        literals: Expression | Sequence[Expression],
        relation: Relation,
        *,
        active: bool | Sequence[bool] = True,
        formula: str = "",
    ) -> None:
        """Add constraints that hold only where all literals are true.

        Args:
            name: of the block.
            literals: binary variables (single entries, no arithmetic), broadcast to the shape
                of the relation.
            relation: what must hold.
            active: the value that makes each literal true.
            formula: LaTeX, as in the paper.
        """
        self._check_relation(name, relation)
        listed = (literals,) if isinstance(literals, Expression) else tuple(literals)
        values = (active,) * len(listed) if isinstance(active, bool) else tuple(active)
        if not listed or len(values) != len(listed):
            raise ModelError(f"block {name!r}: one active value per literal, and at least one")
        spread = tuple(one.broadcast_to(relation.expression.shape) for one in listed)
        for one in spread:
            self._check_literal(name, one)
        self.blocks[name] = Indicator(name, spread, values, relation, formula)

    def _check_relation(self, name: str, relation: Relation) -> None:
        if not isinstance(relation, Relation):
            raise ModelError(f"block {name!r}: expected a relation such as x <= 1, got {relation}")
        if name in self.blocks:
            raise ModelError(f"block {name!r} exists already")
        self.check_own(f"block {name!r}", relation.expression)

    def _check_literal(self, name: str, literal: Expression) -> None:
        self.check_own(f"block {name!r}", literal)
        plain = len(literal.terms) == 1 and literal.terms[0].entries is None
        if not (
            plain
            and np.all(np.equal(literal.terms[0].coefficients, 1.0))
            and np.all(np.equal(literal.constant, 0.0))
        ):
            raise ModelError(f"block {name!r}: a literal must be a plain binary variable")
        columns = literal.terms[0].columns
        lower, upper, integer = self.domains()
        if not np.all(integer[columns] & (lower[columns] >= 0) & (upper[columns] <= 1)):
            raise ModelError(f"block {name!r}: a literal must be a binary variable")

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

    def common_ground(self, other: Model) -> Model:
        """The model that expressions of both belong to: one was copied from the other."""
        if other is self or any(ancestor is other for ancestor, _ in self._ancestors):
            return self
        if any(ancestor is self for ancestor, _ in other._ancestors):
            return other
        raise ModelError(f"{self.name!r} and {other.name!r} are different models")

    # variants

    def copy(self, name: str | None = None) -> Model:
        """A model with the same blocks; what is added to one does not show in the other."""
        new = Model(name or self.name)
        new.variables = dict(self.variables)
        new.blocks = dict(self.blocks)
        new.objective, new.maximise, new.columns = self.objective, self.maximise, self.columns
        new._ancestors = (*self._ancestors, (self, self.columns))
        return new

    def without(self, *names: str) -> Model:
        """A copy that lacks these blocks; "2h" also names "2h:workers"."""
        new = self.copy()
        for name in names:
            dropped = [b for b in self.blocks if b == name or b.startswith(f"{name}:")]
            if not dropped:
                raise ModelError(f"no block {name!r}; there are: {', '.join(self.blocks)}")
            for block in dropped:
                new.blocks.pop(block, None)
        return new

    def relax(self) -> Model:
        """A copy in which every variable is continuous.

        Indicators are lowered first, as their literals must stay binary.
        """
        new = self.copy(f"{self.name} (relaxed)")
        domains = self.domains()
        for name, block in self.blocks.items():
            if isinstance(block, Indicator):
                del new.blocks[name]
                for lowered, relation in self._lowered(block, domains):
                    new.blocks[lowered] = Block(lowered, relation, block.formula)
        new.variables = {
            name: Variable(
                self, name, v.shape, v.start, Kind.CONTINUOUS, v.lower, v.upper, v.formula
            )
            for name, v in self.variables.items()
        }
        return new

    # towards solvers

    def domains(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Lower bounds, upper bounds and integrality of every column."""
        lower, upper = np.empty(self.columns), np.empty(self.columns)
        integer = np.empty(self.columns, dtype=np.bool_)
        for v in self.variables.values():
            part = slice(v.start, v.start + v.size)
            lower[part] = np.ravel(v.lower)
            upper[part] = np.ravel(v.upper)
            integer[part] = v.kind is not Kind.CONTINUOUS
        return lower, upper, integer

    def column_name(self, column: int) -> str:
        """Name and index of one column, for messages."""
        return column_name(self._column_blocks(), column)

    def _column_blocks(self) -> dict[str, tuple[int, Shape]]:
        return {name: (v.start, v.shape) for name, v in self.variables.items()}

    def compile(self, native: Iterable[str] = ()) -> Compiled:
        """One sparse matrix with bounds and types.

        Args:
            native: kinds of block the solver takes as they are ("indicator"); every other
                is lowered to linear rows.

        Raises:
            ModelError: a coefficient is not finite, or a block that must be lowered lacks the
                bounds for it.
        """
        domains = self.domains()
        linear_blocks: dict[str, Relation] = {}
        indicators: list[CompiledIndicator] = []
        for name, block in self.blocks.items():
            if isinstance(block, Block):
                linear_blocks[name] = block.relation
            elif "indicator" in native:
                indicators.append(self._compile_indicator(block))
            else:
                linear_blocks.update(self._lowered(block, domains))
        row_blocks, first = {}, 0
        for name, relation in linear_blocks.items():
            row_blocks[name] = (first, relation.expression.shape)
            first += relation.expression.size
        objective = self.objective
        compiled = Compiled(
            cost=np.zeros(self.columns) if objective is None else linear(objective, self.columns),
            offset=0.0 if objective is None else _single(objective.constant),
            maximise=self.maximise,
            rows=assemble(list(linear_blocks.values()), self.columns),
            lower=domains[0],
            upper=domains[1],
            integer=domains[2],
            row_blocks=row_blocks,
            column_blocks=self._column_blocks(),
            indicators=tuple(indicators),
        )
        check_finite(compiled)
        return compiled

    def _lowered(
        self, block: Indicator, domains: tuple[Floats, Floats, NDArray[np.bool_]]
    ) -> Iterator[tuple[str, Relation]]:
        """Linear blocks that stand for an indicator, by names no other block has."""
        for name, relation in lower_indicator(block, domains, self.column_name):
            if name in self.blocks:
                raise ModelError(f"block {name!r} has the name of a part of block {block.name!r}")
            yield name, relation

    def _compile_indicator(self, block: Indicator) -> CompiledIndicator:
        return CompiledIndicator(
            rows=assemble([block.relation], self.columns),
            literals=np.stack([one.terms[0].columns for one in block.literals], axis=1),
            active=np.array(block.active),
            name=block.name,
            shape=block.relation.expression.shape,
        )

    # points

    def vector(self, values: Mapping[str, ArrayLike]) -> Floats:
        """Values by variable name as one vector over all columns.

        Raises:
            ModelError: a block is missing or has another shape.
        """
        x = np.empty(self.columns)
        for name, v in self.variables.items():
            if name not in values:
                raise ModelError(f"no value for variable {name!r}")
            value = np.asarray(values[name], dtype=np.float64)
            if value.shape != v.shape:
                raise ModelError(f"{name!r} has shape {v.shape}, its value {value.shape}")
            x[v.start : v.start + v.size] = value.reshape(-1)
        return x

    def violations(
        self, values: Mapping[str, ArrayLike], tolerance: float = FEASIBILITY
    ) -> list[BlockViolation]:
        """Every block a point breaks by more than the tolerance, worst entry named.

        Rows are decided as if in exact arithmetic: an entry too close to call in floating
        point is evaluated with rationals. An empty list means the point is feasible.
        """
        return evaluate(self.compile({"indicator"}), self.vector(values), tolerance)

    def value(self, values: Mapping[str, ArrayLike]) -> float:
        """Objective value at a point."""
        if self.objective is None:
            return 0.0
        x = self.vector(values)
        cost = linear(self.objective, self.columns)
        return float(cost @ x) + _single(self.objective.constant)

    def __repr__(self) -> str:
        lines = [
            f"{self.name}: {self.columns} variables, {'maximise' if self.maximise else 'minimise'}"
        ]
        lines += [f"  {v.kind:<10} {v.name} {v.shape}" for v in self.variables.values()]
        for block in self.blocks.values():
            word = "indicator" if isinstance(block, Indicator) else "linear"
            lines.append(f"  {word:<10} ({block.name}) {block.relation.expression.shape}")
        return "\n".join(lines)


def _single(constant: Floats | float) -> float:
    return float(np.ravel(constant)[0])


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
