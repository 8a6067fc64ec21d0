"""A compiled model as MathOpt's protocol buffer.

Linear parts go over as arrays. Blocks that SCIP takes as they are become indicator and quadratic
constraints, with auxiliary columns behind the model's own if a factor is no plain variable. A
product with a binary factor is linear rows instead, which are exact: as a quadratic constraint,
SCIP 9.2 (ortools 9.15) has been seen to lose optima and to return points that break it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optsched.model.blocks import Product, RotatedCone, SpecialOrdered
from optsched.model.blocks.product import convex_hull
from optsched.model.expression import Expression, Floats, Relation
from optsched.model.matrix_form import CompiledIndicator, MatrixForm, Rows, assemble
from optsched.model.ranges import affine, is_integral, range_of


def build(compiled: MatrixForm, cost: Floats | None = None) -> Any:
    """The ModelProto.

    Args:
        compiled: its nonlinear blocks are products, rotated cones and special ordered sets.
        cost: instead of the model's own, shape (columns,).
    """
    from ortools.math_opt import model_pb2

    proto = model_pb2.ModelProto()
    extra = _Extra(compiled)
    for block in compiled.indicators:
        _add_indicators(proto, extra, block)
    for other in compiled.nonlinear:
        if isinstance(other, Product):
            _add_products(proto, extra, other)
        elif isinstance(other, RotatedCone):
            _add_cones(proto, extra, other)
        elif isinstance(other, SpecialOrdered):
            _add_sets(proto, extra, other)
        else:
            raise TypeError(f"no form of a {other.kind} is known to MathOpt")
    _add_columns(proto, extra)
    _add_rows(proto, extra)
    weights = compiled.cost if cost is None else cost
    used = np.flatnonzero(weights)
    proto.objective.maximize = compiled.maximise
    proto.objective.offset = compiled.offset if cost is None else 0.0
    proto.objective.linear_coefficients.ids.extend(used.tolist())
    proto.objective.linear_coefficients.values.extend(weights[used].tolist())
    return proto


@dataclass
class _Extra:
    """Columns and rows behind those of the model."""

    compiled: MatrixForm
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    rows: list[tuple[list[int], list[float], float, float]] = field(default_factory=list)
    """Columns, ascending, coefficients, lower and upper side."""
    relations: list[Relation] = field(default_factory=list)
    """More rows, over the model's columns only."""

    @property
    def domains(self) -> tuple[Floats, Floats, np.ndarray]:
        """Domains of the model's columns."""
        return self.compiled.lower, self.compiled.upper, self.compiled.integer

    def column(self, lower: float, upper: float, integer: bool) -> int:
        """A new column."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.compiled.cost) + len(self.lower) - 1


def _add_columns(proto: Any, extra: _Extra) -> None:
    compiled = extra.compiled
    variables = proto.variables
    variables.ids.extend(range(len(compiled.cost) + len(extra.lower)))
    variables.lower_bounds.extend(compiled.lower.tolist() + extra.lower)
    variables.upper_bounds.extend(compiled.upper.tolist() + extra.upper)
    variables.integers.extend(compiled.integer.tolist() + extra.integer)


def _add_rows(proto: Any, extra: _Extra) -> None:
    rows = extra.compiled.rows
    if extra.relations:
        more = assemble(extra.relations, len(extra.compiled.cost))
        rows = Rows(
            sp.csr_array(sp.vstack([rows.matrix, more.matrix])),
            np.concatenate([rows.lower, more.lower]),
            np.concatenate([rows.upper, more.upper]),
        )
    matrix = rows.matrix
    if not matrix.has_sorted_indices:
        matrix = sp.csr_array(matrix.sorted_indices())
    constraints = proto.linear_constraints
    constraints.ids.extend(range(rows.count + len(extra.rows)))
    constraints.lower_bounds.extend(rows.lower.tolist() + [row[2] for row in extra.rows])
    constraints.upper_bounds.extend(rows.upper.tolist() + [row[3] for row in extra.rows])
    entries = proto.linear_constraint_matrix
    entries.row_ids.extend(np.repeat(np.arange(rows.count), np.diff(matrix.indptr)).tolist())
    entries.column_ids.extend(matrix.indices.tolist())
    entries.coefficients.extend(matrix.data.tolist())
    for number, (columns, values, _, _) in enumerate(extra.rows, start=rows.count):
        entries.row_ids.extend([number] * len(columns))
        entries.column_ids.extend(columns)
        entries.coefficients.extend(values)


# indicators


def _add_indicators(proto: Any, extra: _Extra, block: CompiledIndicator) -> None:
    """One constraint per row and side: SCIP takes no indicator with two sides."""
    matrix = sp.csr_array(block.rows.matrix.sorted_indices())
    columns, values, pointer = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    literals, on_zero = _single_literals(extra, block)
    number = len(proto.indicator_constraints)
    for upper, sides in ((False, block.rows.lower), (True, block.rows.upper)):
        for row in np.flatnonzero(np.isfinite(sides)).tolist():
            constraint = proto.indicator_constraints[number]
            constraint.indicator_id = literals[row]
            constraint.activate_on_zero = on_zero
            constraint.expression.ids.extend(columns[pointer[row] : pointer[row + 1]])
            constraint.expression.values.extend(values[pointer[row] : pointer[row + 1]])
            constraint.lower_bound = -np.inf if upper else float(sides[row])
            constraint.upper_bound = float(sides[row]) if upper else np.inf
            number += 1


def _single_literals(extra: _Extra, block: CompiledIndicator) -> tuple[list[int], bool]:
    """One literal per row, and whether it is true at 0.

    Several literals become one new binary that is 1 if all of them are true.
    """
    if block.literals.shape[1] == 1:
        return block.literals[:, 0].tolist(), not bool(block.active[0])
    distinct, place = np.unique(block.literals, axis=0, return_inverse=True)
    signs = np.where(block.active, 1.0, -1.0)
    false = int(np.count_nonzero(~block.active))
    together = []
    for several in distinct:
        both = extra.column(0.0, 1.0, True)
        weights: dict[int, float] = {both: -1.0}
        for column, sign in zip(several.tolist(), signs.tolist(), strict=True):
            weights[column] = weights.get(column, 0.0) + sign
        # (number of true literals) - both <= literals - 1
        ids = sorted(weights)
        side = block.literals.shape[1] - 1.0 - false
        extra.rows.append((ids, [weights[i] for i in ids], -np.inf, side))
        together.append(both)
    return np.array(together)[place.reshape(-1)].tolist(), False


# quadratic constraints


@dataclass(frozen=True)
class _Factor:
    """``coefficient * x[column] + constant``."""

    column: int
    coefficient: float
    constant: float


@dataclass
class _Quadratic:
    """A polynomial of degree two, as it is summed up."""

    constant: float = 0.0
    linear: dict[int, float] = field(default_factory=dict)
    square: dict[tuple[int, int], float] = field(default_factory=dict)

    def add(self, a: _Factor, b: _Factor, weight: float) -> None:
        """Add ``weight * a * b``."""
        self.constant += weight * a.constant * b.constant
        self.add_linear(a.column, weight * a.coefficient * b.constant)
        self.add_linear(b.column, weight * b.coefficient * a.constant)
        value = weight * a.coefficient * b.coefficient
        if value:
            key = (min(a.column, b.column), max(a.column, b.column))
            self.square[key] = self.square.get(key, 0.0) + value

    def add_linear(self, column: int, value: float) -> None:
        """Add a linear term."""
        if value:
            self.linear[column] = self.linear.get(column, 0.0) + value

    def write(self, proto: Any, lower: float, upper: float) -> None:
        """Append ``lower <= polynomial <= upper`` to the quadratic constraints."""
        constraint = proto.quadratic_constraints[len(proto.quadratic_constraints)]
        ids = sorted(self.linear)
        constraint.linear_terms.ids.extend(ids)
        constraint.linear_terms.values.extend(self.linear[i] for i in ids)
        pairs = sorted(self.square)
        constraint.quadratic_terms.row_ids.extend(i for i, _ in pairs)
        constraint.quadratic_terms.column_ids.extend(j for _, j in pairs)
        constraint.quadratic_terms.coefficients.extend(self.square[p] for p in pairs)
        constraint.lower_bound = lower - self.constant
        constraint.upper_bound = upper - self.constant


def _factors(extra: _Extra, expression: Expression) -> list[_Factor]:
    """Each entry in at most one variable; sums get a new column that equals them."""
    matrix, constants = affine(expression, len(extra.compiled.cost))
    matrix = sp.csr_array(matrix.sorted_indices())
    least, most = (side.reshape(-1) for side in range_of(expression, extra.domains))
    whole = is_integral(expression, extra.domains).reshape(-1)
    factors = []
    for entry, constant in enumerate(constants.tolist()):
        part = slice(matrix.indptr[entry], matrix.indptr[entry + 1])
        columns, values = matrix.indices[part].tolist(), matrix.data[part].tolist()
        if len(columns) > 1:
            new = extra.column(float(least[entry]), float(most[entry]), bool(whole[entry]))
            extra.rows.append(([*columns, new], [*values, -1.0], -constant, -constant))
            factors.append(_Factor(new, 1.0, 0.0))
        elif columns:
            factors.append(_Factor(columns[0], values[0], constant))
        else:
            factors.append(_Factor(0, 0.0, constant))
    return factors


def _add_products(proto: Any, extra: _Extra, block: Product) -> None:
    result, left, right = (e.reshape(e.size) for e in (block.result, block.left, block.right))
    first, second = (_switches(extra, one, other) for one, other in ((left, right), (right, left)))
    for chosen, binary, other in ((first, left, right), (second & ~first, right, left)):
        if chosen.any():
            reach = range_of(other[chosen], extra.domains)
            rows = convex_hull(result[chosen], binary[chosen], other[chosen], *reach)
            extra.relations += rows.values()
    rest = ~(first | second)
    one = _Factor(0, 0.0, 1.0)
    parts = [_factors(extra, e[rest]) for e in (result, left, right)]
    for value, a, b in zip(*parts, strict=True):
        polynomial = _Quadratic()
        polynomial.add(a, b, 1.0)
        polynomial.add(value, one, -1.0)
        polynomial.write(proto, 0.0, 0.0)


def _switches(extra: _Extra, factor: Expression, other: Expression) -> NDArray[np.bool_]:
    """Entries if a factor is binary and the other has finite bounds."""
    least, most = range_of(factor, extra.domains)
    low, high = range_of(other, extra.domains)
    binary = is_integral(factor, extra.domains) & (least >= 0) & (most <= 1)
    found: NDArray[np.bool_] = binary & np.isfinite(low) & np.isfinite(high)
    return found


def _add_cones(proto: Any, extra: _Extra, block: RotatedCone) -> None:
    width = block.w.shape[-1]
    u, v = (_factors(extra, e) for e in (block.u, block.v))
    w = _factors(extra, block.w)
    for entry, (left, right) in enumerate(zip(u, v, strict=True)):
        for side in (left, right):
            if side.coefficient:
                terms = ([side.column], [side.coefficient])
                extra.rows.append((*terms, -side.constant, np.inf))
            elif side.constant < 0:  # two negative constants have a positive product
                extra.rows.append(([], [], 1.0, np.inf))
        polynomial = _Quadratic()
        polynomial.add(left, right, 1.0)
        for term in w[entry * width : (entry + 1) * width]:
            polynomial.add(term, term, -1.0)
        polynomial.write(proto, 0.0, np.inf)


def _add_sets(proto: Any, extra: _Extra, block: SpecialOrdered) -> None:
    """Sets, and rows if an entry cannot be 0: SCIP has been seen to fail over such entries."""
    matrix, constants = affine(block.values, len(extra.compiled.cost))
    width = block.values.shape[-1]
    least, most = range_of(block.values, extra.domains)
    apart = np.abs(np.subtract.outer(np.arange(width), np.arange(width))) >= block.order
    if (zero := ((least > 0) | (most < 0)) @ apart).any():
        extra.relations.append(block.values[zero] == 0)
    sets = proto.sos1_constraints if block.order == 1 else proto.sos2_constraints
    for first in range(0, block.values.size, max(1, width)):
        one = sets[len(sets)]
        one.weights.extend(range(1, width + 1))
        for entry in range(first, first + width):
            part = slice(matrix.indptr[entry], matrix.indptr[entry + 1])
            expression = one.expressions.add()
            expression.ids.extend(matrix.indices[part].tolist())
            expression.coefficients.extend(matrix.data[part].tolist())
            expression.offset = constants[entry]
