"""The solver-agnostic model object: named blocks of variables and constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.lowering import lower
from optsched.model.base import Kind, Variable
from optsched.model.blocks import Indicator, Linear
from optsched.model.evaluate import BlockViolation, evaluate
from optsched.model.expression import Expression, Floats, Relation
from optsched.model.matrix_form import (
    CompiledIndicator,
    MatrixForm,
    assemble,
    check_finite,
    linear,
)
from optsched.model.nonlinear import NonlinearModel
from optsched.model.view import html_view, text_view

if TYPE_CHECKING:
    from optsched.formats.arguments import ScipyArguments

EVERY_KIND = frozenset(
    {
        "indicator", "product", "table", "active_slot", "maximum", "rotated_cone", "intervals",
        "cumulative",
    }
)  # fmt: skip
"""Kinds of nonlinear block."""

FEASIBILITY = 1e-6
"""Default tolerance on rows, bounds and integrality (absolute, scaled by the row's magnitude)."""


class Model(NonlinearModel):
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
        self._put(Linear(name, formula, relation))

    # variants

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

        Nonlinear blocks are lowered first: their integers are part of what they say. Rotated
        cones stay.
        """
        new = lower(self, frozenset({"rotated_cone"})).copy(f"{self.name} (relaxed)")
        new.variables = {
            name: Variable(
                v.model, name, v.shape, v.start, Kind.CONTINUOUS, v.lower, v.upper, v.formula
            )
            for name, v in new.variables.items()
        }
        return new

    # towards solvers

    def compile(self, native: Iterable[str] = ()) -> MatrixForm:
        """One sparse matrix with bounds and types.

        Args:
            native: kinds of block the solver takes as they are, such as "indicator"; every
                other is lowered to linear rows, which may add variables after the model's own.

        Raises:
            ModelError: a coefficient is not finite, or a block that must be lowered lacks the
                bounds for it.
        """
        model = lower(self, frozenset(native))
        relations: dict[str, Relation] = {}
        indicators, others = [], []
        for name, block in model.blocks.items():
            if isinstance(block, Linear):
                relations[name] = block.relation
            elif isinstance(block, Indicator):
                indicators.append(_compiled_indicator(block, model.columns))
            else:
                others.append(block)
        row_blocks, first = {}, 0
        for name, relation in relations.items():
            row_blocks[name] = (first, relation.expression.shape)
            first += relation.expression.size
        objective, columns = model.objective, model.columns
        lower_bounds, upper_bounds, integer = model.domains()
        compiled = MatrixForm(
            cost=np.zeros(columns) if objective is None else linear(objective, columns),
            offset=0.0 if objective is None else _single(objective.constant),
            maximise=model.maximise,
            rows=assemble(list(relations.values()), columns),
            lower=lower_bounds,
            upper=upper_bounds,
            integer=integer,
            row_blocks=row_blocks,
            column_blocks=model._column_blocks(),
            indicators=tuple(indicators),
            nonlinear=tuple(others),
        )
        check_finite(compiled)
        return compiled

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
        return evaluate(self.compile(EVERY_KIND), self.vector(values), tolerance)

    def value(self, values: Mapping[str, ArrayLike]) -> float:
        """Objective value at a point."""
        if self.objective is None:
            return 0.0
        x = self.vector(values)
        cost = linear(self.objective, self.columns)
        return float(cost @ x) + _single(self.objective.constant)

    # towards other tools

    def write(self, path: str | Path) -> dict[str, str]:
        """Write an MPS or LP file; see :func:`optsched.formats.write`.

        Returns:
            From each name in the file to the model's own.

        Raises:
            InputError: the path ends in neither ".mps" nor ".lp".
        """
        from optsched.formats import write

        return write(self.compile(), path, self.name)

    def to_scipy(self) -> ScipyArguments:
        """Arguments of ``scipy.optimize.milp`` and ``linprog``."""
        from optsched.formats.arguments import ScipyArguments

        return ScipyArguments(self.compile())

    def to_pulp(self) -> Any:
        """A ``pulp.LpProblem`` with the same optimum.

        Raises:
            ImportError: PuLP is not installed.
        """
        from optsched.formats.objects import pulp_model

        return pulp_model(self.compile(), self.name)

    def to_mathopt(self) -> Any:
        """An ``ortools.math_opt.python.mathopt.Model`` with the same optimum."""
        from optsched.formats.objects import mathopt_model

        return mathopt_model(self.compile(), self.name)

    # views

    def __repr__(self) -> str:
        return text_view(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_view(self)


def _single(constant: Floats | float) -> float:
    return float(np.ravel(constant)[0])


def _compiled_indicator(block: Indicator, columns: int) -> CompiledIndicator:
    return CompiledIndicator(
        rows=assemble([block.relation], columns),
        literals=np.stack([one.terms[0].columns for one in block.literals], axis=1),
        active=np.array(block.active),
        name=block.name,
        shape=block.shape,
    )
