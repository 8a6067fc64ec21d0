"""The solver-agnostic model object: named blocks of variables and constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike

from optsched.errors import ModelError
from optsched.model import blocks
from optsched.model.base import Linear, ModelBase
from optsched.model.blocks import Indicator
from optsched.model.blocks.no_overlap import no_overlap
from optsched.model.blocks.precedence import alternative, precedence
from optsched.model.blocks.soft import soft
from optsched.model.evaluate import BlockViolation, evaluate
from optsched.model.expression import Floats, Relation
from optsched.model.lowering import lower
from optsched.model.matrix_form import (
    CompiledIndicator,
    MatrixForm,
    assemble,
    check_finite,
    linear,
)
from optsched.model.variables import VariableType
from optsched.model.view import html_view, text_view

FEASIBILITY = 1e-6
"""Default tolerance on rows, bounds and integrality (absolute, scaled by the row's magnitude)."""


_VARIABLES = "binary, integer or continuous"
_ELSEWHERE = {
    **dict.fromkeys(
        ("addVar", "addVars", "addMVar", "add_var", "add_vars", "add_variable", "add_variables",
         "variable", "new_bool_var", "new_int_var", "NewBoolVar", "NewIntVar"),
        _VARIABLES,
    ),
    **dict.fromkeys(
        ("addConstr", "addConstrs", "addMConstr", "addConstraint", "add_constraint",
         "add_constraints", "add_constr", "addCons", "constraint", "subject_to", "Add"),
        "add",
    ),
    **dict.fromkeys(
        ("setObjective", "set_objective", "add_objective", "minimise", "Minimize", "Maximize"),
        "minimize or maximize",
    ),
    **dict.fromkeys(("optimize", "optimise", "Solve"), "solve"),
}  # fmt: skip
"""Names that other tools have for what a model does."""


class ScipyForm(Protocol):
    """A model as arguments of scipy; see :class:`optsched.solvers.exports.ScipyArguments`."""

    @property
    def c(self) -> Floats:
        """Costs to be minimised."""

    def milp(self) -> dict[str, Any]:
        """Arguments of ``scipy.optimize.milp``."""

    def linprog(self) -> dict[str, Any]:
        """Arguments of ``scipy.optimize.linprog``."""

    def objective(self, fun: float) -> float:
        """The model's objective for the value that scipy reports."""

    def values(self, x: Floats) -> dict[str, Floats]:
        """The point that scipy reports, by variable name."""


class Exports(Protocol):
    """What turns a compiled model into other tools' terms."""

    def write(self, model: Model, path: str | Path, *, native: bool) -> dict[str, str]:
        """Write a file."""

    def scipy_arguments(self, compiled: MatrixForm) -> ScipyForm:
        """Arguments of scipy's solvers."""

    def pulp_model(self, compiled: MatrixForm, name: str) -> Any:
        """A PuLP problem."""

    def mathopt_model(self, compiled: MatrixForm, name: str) -> Any:
        """A MathOpt model."""


class Model(ModelBase):
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

    def solve(self, solver: Any = "highs", **settings: Any) -> Any:
        """Solve the model as ``optsched.solve`` does, and with the same arguments.

        Returns:
            An ``optsched.Solution``; the model stays as it is.

        Example:
            >>> m = Model()
            >>> m.maximize(m.integer("x", upper=3.5) + 1)
            >>> m.solve(time_limit=10).objective
            4.0
        """
        return _above("optsched.solve").solve(self, solver, **settings)

    if not TYPE_CHECKING:  # else every misspelt name would be of some type

        def __getattr__(self, name: str) -> NoReturn:
            known = [word for word in dir(type(self)) if not word.startswith("_")]
            near = _ELSEWHERE.get(name) or ", ".join(get_close_matches(name, known, 1))
            said = f"; did you mean {near}?" if near else ""
            raise AttributeError(f"a model has no attribute {name!r}{said}")

    # statements, each from the file of its kind

    indicator = blocks.indicator.indicator
    product = blocks.product.product
    power = blocks.power.power
    ratio = blocks.ratio.ratio
    table = blocks.table.table
    maximum = blocks.maximum.maximum
    minimum = blocks.maximum.minimum
    absolute = blocks.maximum.absolute
    last_active = blocks.active_slot.last_active
    first_active = blocks.active_slot.first_active
    rotated_cone = blocks.rotated_cone.rotated_cone
    sum_of_squares = blocks.rotated_cone.sum_of_squares
    interval = blocks.intervals.interval
    cumulative = blocks.cumulative.cumulative
    cumulative_profile = blocks.cumulative_profile.cumulative_profile
    no_overlap = no_overlap
    all_different = blocks.all_different.all_different
    circuit = blocks.circuit.circuit
    element = blocks.element.element
    piecewise = blocks.piecewise.piecewise
    routes = blocks.routes.routes
    precedence = precedence
    alternative = alternative
    sos1 = blocks.special_ordered.sos1
    sos2 = blocks.special_ordered.sos2
    semicontinuous = blocks.semicontinuous.semicontinuous
    semi_integer = blocks.semicontinuous.semi_integer
    soft = soft

    # variants

    def without(self, *names: str) -> Model:
        """Return a copy without these blocks; "2h" also names "2h:workers".

        Example:
            >>> m = Model()
            >>> x = m.integer("x", upper=9)
            >>> m.add("most", x <= 4)
            >>> m.maximize(x)
            >>> solve(m).objective, solve(m.without("most")).objective
            (4.0, 9.0)
        """
        new = self.copy()
        for name in names:
            dropped = [b for b in self.blocks if b == name or b.startswith(f"{name}:")]
            if not dropped:
                raise ModelError(f"no block {name!r}; there are: {', '.join(self.blocks)}")
            for block in dropped:
                new.blocks.pop(block, None)
        return new

    def relax(self) -> Model:
        """Return a copy in which every variable is continuous.

        Nonlinear blocks are lowered first, because their meaning depends on integers. Rotated
        cones stay.

        Example:
            >>> m = Model()
            >>> x = m.integer("x", upper=9)
            >>> m.add("most", 2 * x <= 5)
            >>> m.maximize(x)
            >>> solve(m).objective, solve(m.relax()).objective
            (2.0, 2.5)
        """
        new = lower(self, frozenset({"rotated_cone"})).copy(f"{self.name} (relaxed)")
        new.variables = {
            name: v.with_domain(VariableType.CONTINUOUS, v.lower, v.upper)
            for name, v in new.variables.items()
        }
        return new

    # towards solvers

    def compile(self, native: Iterable[str] = ()) -> MatrixForm:
        """Compile the model to one sparse matrix with bounds and types.

        Args:
            native: kinds of block that the solver supports, such as "indicator". All others are
                lowered to linear rows, which may add variables after the model's own.

        Raises:
            ModelError: a coefficient is not finite, or a block that must be lowered lacks the
                bounds for it.

        Example:
            >>> m = Model()
            >>> x = m.integer("x", 3, upper=9)
            >>> m.add("all", x.sum() <= 4)
            >>> m.compile().rows.matrix.toarray().tolist()
            [[1.0, 1.0, 1.0]]
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
            column_blocks=model.column_blocks(),
            labels={name: v.labels for name, v in model.variables.items() if v.labels},
            row_labels={name: dict(r.labels) for name, r in relations.items() if r.labels},
            indicators=tuple(indicators),
            nonlinear=tuple(others),
        )
        check_finite(compiled)
        return compiled

    # points

    def violations(
        self, values: Mapping[str, ArrayLike], tolerance: float = FEASIBILITY
    ) -> list[BlockViolation]:
        """List the blocks that a point violates by more than the tolerance, with the worst entry.

        If floating point cannot decide an entry, it is evaluated with rational numbers. An empty
        list means that the point is feasible.

        Example:
            >>> m = Model()
            >>> x = m.integer("x", 2, upper=9)
            >>> m.add("most", x <= 4)
            >>> [(v.block, float(v.amount)) for v in m.violations({"x": [3, 6]})]
            [('most', 2.0)]
        """
        return evaluate(self.compile(self.kinds), self.vector(values), tolerance)

    def value(self, values: Mapping[str, ArrayLike]) -> float:
        """Return the objective value at a point.

        Example:
            >>> m = Model()
            >>> x = m.integer("x", 2, upper=9)
            >>> m.minimize(x @ [1.0, 10.0] + 5)
            >>> m.value({"x": [2, 3]})
            37.0
        """
        if self.objective is None:
            return 0.0
        x = self.vector(values)
        cost = linear(self.objective, self.columns)
        return float(cost @ x) + _single(self.objective.constant)

    # towards other tools

    def write(self, path: str | Path, *, native: bool = False) -> dict[str, str]:
        """Write an MPS or LP file; see :func:`optsched.files.write`.

        An MPS file has no sense: a maximisation is written as a minimisation of the negative. An
        LP file keeps the sense.

        Args:
            path: ends in ".mps" or ".lp".
            native: write indicators, special ordered sets and semi-continuous variables as such,
                for readers that support them, instead of as rows.

        Returns:
            The model's name of each name in the file.

        Raises:
            InputError: the path ends in neither ".mps" nor ".lp".
            UnsupportedError: a rotated cone that is no quadratic objective.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> m = Model()
            >>> m.minimize(m.integer("start", 2, upper=9).sum())
            >>> with TemporaryDirectory() as folder:
            ...     m.write(f"{folder}/model.lp")
            {'start_0': 'start[0]', 'start_1': 'start[1]'}
        """
        return _exports().write(self, path, native=native)

    def to_scipy(self) -> ScipyForm:
        """Return the arguments of ``scipy.optimize.milp`` and ``linprog``.

        Example:
            >>> from scipy.optimize import milp
            >>> m = Model()
            >>> x = m.integer("x", 2, upper=3)
            >>> m.maximize(x.sum())
            >>> form = m.to_scipy()
            >>> form.objective(milp(**form.milp()).fun)
            6.0
        """
        return _exports().scipy_arguments(self.compile())

    def to_pulp(self) -> Any:
        """Return a ``pulp.LpProblem`` with the same optimum.

        Example:
            >>> m = Model("to be solved elsewhere")
            >>> m.maximize(m.integer("x", 2, upper=3).sum())
            >>> m.to_pulp().name
            'to_be_solved_elsewhere'
        """
        return _exports().pulp_model(self.compile(), self.name)

    def to_mathopt(self) -> Any:
        """Return an ``ortools.math_opt.python.mathopt.Model`` with the same optimum.

        Example:
            >>> m = Model("to be solved elsewhere")
            >>> m.maximize(m.integer("x", 2, upper=3).sum())
            >>> m.to_mathopt().name
            'to_be_solved_elsewhere'
        """
        return _exports().mathopt_model(self.compile(), self.name)

    # views

    def __repr__(self) -> str:
        return text_view(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_view(self)


def _above(module: str) -> Any:
    """A module that needs models itself, and is therefore loaded when it is asked for."""
    return import_module(module)


def _exports() -> Exports:
    exports: Exports = _above("optsched.solvers.exports")
    return exports


def _single(constant: Floats | float) -> float:
    return constant if isinstance(constant, float) else float(constant.reshape(-1)[0])


def _compiled_indicator(block: Indicator, columns: int) -> CompiledIndicator:
    return CompiledIndicator(
        rows=assemble([block.relation], columns),
        literals=block.columns,
        active=np.array(block.active),
        name=block.name,
        shape=block.shape,
    )
