"""A compiled model as CP-SAT's protocol buffer, all numbers integers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from optsched.errors import UnsupportedError
from optsched.model.compiled import Compiled, Rows
from optsched.model.expression import Floats
from optsched.model.model import FEASIBILITY
from optsched.solvers.scaling import (
    LARGEST,
    Integers,
    ScaledObjective,
    ScaledRows,
    integer_bounds,
    scale_objective,
    scale_rows,
)

_LARGEST_VALUE = 2.0**53  # integers beyond are not doubles


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """A model with its bounds and objective rounded to integers."""

    compiled: Compiled
    lower: Floats
    """Shape (columns,), integers; above ``upper`` where no integer lies between the bounds."""
    upper: Floats
    """Shape (columns,), integers."""
    objective: ScaledObjective | None
    """To be minimised; None where every point is optimal."""

    @property
    def sign(self) -> float:
        """-1 when the model maximises."""
        return -1.0 if self.compiled.maximise else 1.0

    @property
    def unit(self) -> float:
        """The solver's objective units per unit of the model's."""
        return 1.0 if self.objective is None else self.objective.multiplier

    @property
    def offset(self) -> float:
        """Offset of the objective that is minimised, in the model's units."""
        return self.sign * self.compiled.offset

    def value(self, x: Floats) -> float:
        """Objective that is minimised, in the model's units."""
        return self.sign * float(self.compiled.cost @ x) + self.offset


def integer_model(compiled: Compiled) -> IntegerModel:
    """Round bounds and objective.

    Raises:
        UnsupportedError: a variable is continuous or lacks a finite bound, or the objective does
            not fit 64-bit integers.
    """
    if not compiled.integer.all():
        name = compiled.column_name(int(np.argmin(compiled.integer)))
        raise UnsupportedError(
            f"cpsat takes integer variables only, and {name} is continuous: declare it integer, "
            "in units fine enough, or choose another solver"
        )
    for side in (compiled.lower, compiled.upper):
        bad = ~(np.abs(side) <= _LARGEST_VALUE)
        if bad.any():
            column = int(np.argmax(bad))
            raise UnsupportedError(
                "cpsat needs finite bounds, of magnitude at most 2^53: "
                f"{compiled.column_name(column)} lies in "
                f"[{compiled.lower[column]:g}, {compiled.upper[column]:g}]"
            )
    lower, upper = integer_bounds(compiled.lower, compiled.upper)
    return IntegerModel(compiled, lower, upper, _objective(compiled, lower, upper))


def _objective(compiled: Compiled, lower: Floats, upper: Floats) -> ScaledObjective | None:
    if not compiled.cost.any():
        return None
    largest = int(np.argmax(np.abs(compiled.cost)))
    scaled = None
    if abs(compiled.cost[largest]) <= LARGEST:
        cost = -compiled.cost if compiled.maximise else compiled.cost
        scaled = scale_objective(cost, lower, upper)
    if scaled is None:
        raise UnsupportedError(
            "cpsat counts the objective in 64-bit integers, which do not hold this one (largest "
            f"coefficient {compiled.cost[largest]:g}, of {compiled.column_name(largest)}): use "
            "tighter bounds, other units, or another solver"
        )
    return scaled


def build(model: IntegerModel) -> Any:
    """The solver's model.

    Raises:
        UnsupportedError: a row cannot be scaled to integers finely enough.
    """
    compiled = model.compiled
    proto, templates = _empty(), _empty()
    _add_variables(proto, templates, model)
    names = [(first, name) for name, (first, _) in compiled.row_blocks.items()]
    scaled = _scaled(compiled.rows, model, names)
    _add_rows(proto, templates, compiled.rows, scaled, None)
    for block in compiled.indicators:
        scaled = _scaled(block.rows, model, [(0, block.name)])
        negated = -block.literals.astype(np.int64) - 1  # how the solver writes "not"
        literals = np.where(block.active, block.literals, negated)
        _add_rows(proto, templates, block.rows, scaled, literals)
    if model.objective is not None:
        used = np.flatnonzero(model.objective.coefficients)
        proto.objective.vars.extend(used.tolist())
        proto.objective.coeffs.extend(model.objective.coefficients[used].tolist())
        proto.objective.offset = model.offset * model.unit
        proto.objective.scaling_factor = model.sign
    return proto


def _empty() -> Any:
    from ortools.sat.python import cp_model_helper

    if not hasattr(cp_model_helper, "CpModelProto"):  # ortools 9.14
        from ortools.sat import cp_model_pb2

        return cp_model_pb2.CpModelProto()
    return cp_model_helper.CpModelProto()


def add_hint(proto: Any, model: IntegerModel, start: Floats) -> None:
    """Tell the solver a point to begin from; NaN where there is none."""
    known = np.flatnonzero(~np.isnan(start))
    values = np.clip(np.rint(start[known]), model.lower[known], model.upper[known])
    proto.solution_hint.vars.extend(known.tolist())
    proto.solution_hint.values.extend(values.astype(np.int64).tolist())


def _scaled(rows: Rows, model: IntegerModel, names: list[tuple[int, str]]) -> ScaledRows:
    """Rows as integers, refused where they would admit points that the model's check rejects."""
    too_large = np.abs(rows.matrix.data) > LARGEST
    if too_large.any():
        row = int(np.searchsorted(rows.matrix.indptr, np.argmax(too_large), side="right")) - 1
    else:
        scaled = scale_rows(rows, model.lower, model.upper)
        side = np.minimum(np.abs(rows.lower), np.abs(rows.upper))
        allowed = 0.9 * FEASIBILITY * np.where(np.isfinite(side), np.maximum(1.0, side), 1.0)
        if (scaled.slack <= allowed).all():
            return scaled
        row = int(np.argmin(scaled.slack <= allowed))
    name = [name for first, name in names if first <= row][-1]
    raise UnsupportedError(
        f"cpsat counts in 64-bit integers, which do not hold the coefficients and bounds of block "
        f"{name!r} to within {FEASIBILITY:g}: use tighter bounds, other units, or another solver"
    )


def _add_variables(proto: Any, templates: Any, model: IntegerModel) -> None:
    lower, upper = (side.astype(np.int64).tolist() for side in (model.lower, model.upper))
    domains = list(zip(lower, upper, strict=True))
    known = {}
    for domain in set(domains):
        known[domain] = templates.variables.add()
        known[domain].domain.extend(domain)
    proto.variables.extend([known[domain] for domain in domains])


def _add_rows(
    proto: Any, templates: Any, rows: Rows, scaled: ScaledRows, literals: Integers | None
) -> None:
    """Append rows, each enforced by its literals, shape (rows, literals), where there are any.

    What costs here is the number of calls into the protocol buffer. Rows alike but for their
    variables, as most rows of a block are, are copied from one template at once.
    """
    kept = np.flatnonzero(np.isfinite(rows.lower) | np.isfinite(rows.upper))
    pointer = rows.matrix.indptr
    spans = list(zip(pointer[kept].tolist(), pointer[kept + 1].tolist(), strict=True))
    domains = list(zip(scaled.lower[kept].tolist(), scaled.upper[kept].tolist(), strict=True))
    columns, coefficients = rows.matrix.indices.tolist(), scaled.coefficients.tolist()
    raw = scaled.coefficients.tobytes()
    alike = [(d, raw[8 * a : 8 * b]) for d, (a, b) in zip(domains, spans, strict=True)]
    whole = 2 * len(set(alike)) < len(alike)  # else templates hold the domain alone
    if not whole:
        alike = [(d, b"") for d in domains]
    known: dict[tuple[tuple[int, int], bytes], Any] = {}
    for key, (a, b) in zip(alike, spans, strict=True):
        if key not in known:
            known[key] = templates.constraints.add()
            known[key].linear.domain.extend(key[0])
            if whole:
                known[key].linear.coeffs.extend(coefficients[a:b])
    first = len(proto.constraints)
    proto.constraints.extend([known[key] for key in alike])
    added = islice(proto.constraints, first, None)
    for constraint, (a, b) in zip(added, spans, strict=True):
        linear = constraint.linear
        linear.vars.extend(columns[a:b])
        if not whole:
            linear.coeffs.extend(coefficients[a:b])
    if literals is not None:
        added = islice(proto.constraints, first, None)
        for constraint, enforced in zip(added, literals[kept].tolist(), strict=True):
            constraint.enforcement_literal.extend(enforced)
