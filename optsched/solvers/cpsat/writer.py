"""Writing CP-SAT's protocol buffer from arrays.

What costs here is the number of calls into the buffer: what is alike is written once and copied,
rows are written over one another in a constraint outside the model and copied from there, and rows
over two binaries, if there are many, are gathered in few constraints.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from optsched.errors import UnsupportedError
from optsched.model.expression import Expression, Floats, Relation, Terms
from optsched.model.matrix_form import Rows, assemble
from optsched.model.model import FEASIBILITY
from optsched.model.ranges import activity_range, coefficients
from optsched.model.terms import Coefficients
from optsched.solvers.cpsat.implications import (
    Implication,
    implications,
    rows_over_two_binaries,
)
from optsched.solvers.cpsat.integer import LARGEST_VALUE, IntegerModel
from optsched.solvers.scaling import LARGEST, Integers, ScaledRows, scale_rows

_MANY_ROWS = 50  # with fewer, looking for implications takes longer than writing the rows
Line = tuple[list[int], list[int], int]
"""A linear function: columns, coefficients, constant."""


class ProtoWriter:
    """CP-SAT's model being written.

    What a block says may need columns beyond the model's own; they come after those.
    """

    def __init__(self, model: IntegerModel, start: Floats | None) -> None:
        self.proto: Any = _empty()
        self._templates: Any = type(self.proto)()
        self.lower = model.lower
        """Shape (columns,), integers, added columns included."""
        self.upper = model.upper
        self.point = (
            np.full(len(model.lower), np.nan)
            if start is None
            else np.clip(np.rint(start), model.lower, model.upper)
        )
        """Values to begin from, shape (columns,), NaN where none is known."""

    # linear functions

    def lines(self, block: str, expression: Expression) -> list[Line]:
        """Each entry as the solver writes it.

        Raises:
            UnsupportedError: a number is not whole, or values need more than 53 bits.
        """
        matrix, constant = self._whole(block, expression)
        pointer, columns = matrix.indptr.tolist(), matrix.indices.tolist()
        values, offsets = (v.astype(np.int64).tolist() for v in (matrix.data, constant))
        spans = zip(pointer[:-1], pointer[1:], offsets, strict=True)
        return [(columns[a:b], values[a:b], offset) for a, b, offset in spans]

    def range_of(self, block: str, expression: Expression) -> tuple[Floats, Floats]:
        """Least and greatest value of each entry, exact as all are whole and small.

        Raises:
            UnsupportedError: a number is not whole, or values need more than 53 bits.
        """
        matrix, constant = self._whole(block, expression)
        least, most = activity_range(matrix, self.lower, self.upper)
        shape = expression.shape
        return (least + constant).reshape(shape), (most + constant).reshape(shape)

    def _whole(self, block: str, expression: Expression) -> tuple[Coefficients, Floats]:
        """Coefficients and constants, whole and small."""
        matrix, constant = coefficients(expression)
        if (matrix.data != np.rint(matrix.data)).any() or (constant != np.rint(constant)).any():
            raise UnsupportedError(f"cpsat takes whole numbers only, not those of block {block!r}")
        size = np.maximum(np.abs(self.lower), np.abs(self.upper))
        row = np.repeat(np.arange(len(constant)), np.diff(matrix.indptr))
        reach = np.bincount(row, np.abs(matrix.data) * size[matrix.indices], len(constant))
        if not (reach + np.abs(constant) <= LARGEST_VALUE).all():
            raise UnsupportedError(
                f"cpsat needs values of magnitude at most 2^53 in block {block!r}: use tighter "
                "bounds, other units, or another solver"
            )
        return matrix, constant

    def single(self, block: str, expression: Expression) -> Expression:
        """The same values, flat, each of one column at most: a sum gets a column of its own."""
        flat = expression.reshape(expression.size)
        wide = np.diff(coefficients(flat)[0].indptr) > 1
        if not wide.any():
            return flat
        entries = np.flatnonzero(wide)
        sums = flat[entries]
        column = self.add_columns(sums, *self.range_of(block, sums), sums.at(self.point))
        self.add_rows(block, sums == column)
        return flat * ~wide + column.sum_by(entries, flat.size)

    # columns and rows

    def add_columns(
        self, like: Expression, lower: Floats | float, upper: Floats | float, point: Floats
    ) -> Expression:
        """New integer columns, in the model and shape of ``like``."""
        first = len(self.lower)
        self.lower = np.append(self.lower, np.broadcast_to(lower, like.shape))
        self.upper = np.append(self.upper, np.broadcast_to(upper, like.shape))
        self.point = np.append(self.point, point)
        columns = np.arange(first, len(self.lower), dtype=np.int32)
        return Expression(like.model, like.shape, (Terms(None, columns, 1.0),))

    def add_rows(self, block: str, relation: Relation, literals: Integers | None = None) -> None:
        """A linear relation, enforced by its literals, shape (rows, literals), where given."""
        self.add_compiled_rows(assemble([relation], len(self.lower)), [(0, block)], literals)

    def add_compiled_rows(
        self, rows: Rows, names: list[tuple[int, str]], literals: Integers | None = None
    ) -> None:
        """Rows, each enforced by its literals, shape (rows, literals), where there are any.

        Args:
            rows: over the first columns, all or some.
            names: first row and name of each block, for messages.
            literals: as the solver writes them.

        Raises:
            UnsupportedError: a row cannot be scaled to integers finely enough.
        """
        scaled = scaled_rows(rows, self.lower, self.upper, names)
        left = np.isfinite(rows.lower) | np.isfinite(rows.upper)
        if literals is None and rows.count >= _MANY_ROWS:
            pairs = left & rows_over_two_binaries(rows, self.lower, self.upper)
            self._add_implications(implications(rows, scaled, pairs))
            left &= ~pairs
        kept = np.flatnonzero(left)
        pointer = rows.matrix.indptr
        columns, coefficients = rows.matrix.indices.tolist(), scaled.coefficients.tolist()
        spans = zip(pointer[kept].tolist(), pointer[kept + 1].tolist(), strict=True)
        sides = zip(scaled.lower[kept].tolist(), scaled.upper[kept].tolist(), strict=True)
        enforced = None if literals is None else literals[kept].tolist()
        draft, append = self.template(), self.proto.constraints.append
        linear, enforcement = draft.linear, draft.enforcement_literal
        variables, weights, domain = linear.vars, linear.coeffs, linear.domain
        written: list[int] = []
        between: tuple[int, ...] = ()
        for row, ((a, b), side) in enumerate(zip(spans, sides, strict=True)):
            variables.clear()
            variables.extend(columns[a:b])
            if (numbers := coefficients[a:b]) != written:  # rows of a block are often alike
                weights.clear()
                weights.extend(numbers)
                written = numbers
            if side != between:
                domain.clear()
                domain.extend(side)
                between = side
            if enforced is not None:
                enforcement.clear()
                enforcement.extend(enforced[row])
            append(draft)

    def _add_implications(self, found: list[Implication]) -> None:
        draft, append = self.template(), self.proto.constraints.append
        premises, literals = draft.enforcement_literal, draft.bool_and.literals
        premises.append(0)
        for premise, conclusions in found:
            premises[0] = premise
            literals.clear()
            literals.extend(conclusions)
            append(draft)

    # constraints of other kinds

    def template(self) -> Any:
        """An empty constraint outside the model, to be filled and copied."""
        return self._templates.constraints.add()

    def add_copies(self, templates: list[Any]) -> list[Any]:
        """Constraints of the model, copied from templates."""
        first = len(self.proto.constraints)
        self.proto.constraints.extend(templates)
        return list(islice(self.proto.constraints, first, None))

    def finish(self) -> Any:
        """The solver's model, with its columns and the point to begin from."""
        sides = (side.astype(np.int64).tolist() for side in (self.lower, self.upper))
        domains = list(zip(*sides, strict=True))
        known = {}
        for domain in set(domains):
            known[domain] = self._templates.variables.add()
            known[domain].domain.extend(domain)
        self.proto.variables.extend([known[domain] for domain in domains])
        given = np.flatnonzero(~np.isnan(self.point))
        if len(given):
            self.proto.solution_hint.vars.extend(given.tolist())
            self.proto.solution_hint.values.extend(self.point[given].astype(np.int64).tolist())
        return self.proto


def write(target: Any, line: Line) -> None:
    """Fill an empty linear expression of the protocol buffer."""
    columns, coefficients, offset = line
    if columns:
        target.vars.extend(columns)
        target.coeffs.extend(coefficients)
    if offset:
        target.offset = offset


def _empty() -> Any:
    from ortools.sat.python import cp_model_helper

    if not hasattr(cp_model_helper, "CpModelProto"):  # ortools 9.14
        from ortools.sat import cp_model_pb2

        return cp_model_pb2.CpModelProto()
    return cp_model_helper.CpModelProto()


def scaled_rows(
    rows: Rows, lower: Floats, upper: Floats, names: list[tuple[int, str]]
) -> ScaledRows:
    """Rows as integers, refused where they would admit points that the model's check rejects."""
    too_large = np.abs(rows.matrix.data) > LARGEST
    if too_large.any():
        row = int(np.searchsorted(rows.matrix.indptr, np.argmax(too_large), side="right")) - 1
    else:
        scaled = scale_rows(rows, lower, upper)
        if not scaled.slack.any():
            return scaled
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
