"""Writing CP-SAT's protocol buffer from arrays.

What costs here is the number of calls into the buffer: what is alike is written once and copied,
rows are written over one another in a constraint outside the model and copied from there, and rows
over two binaries, if there are many, are gathered in few constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np

from optsched.errors import UnsupportedError
from optsched.model.expression import Expression, Floats, Relation, Terms
from optsched.model.matrix_form import Rows, assemble
from optsched.model.model import FEASIBILITY
from optsched.solvers.cpsat.implications import (
    Implication,
    implications,
    rows_over_two_binaries,
)
from optsched.solvers.cpsat.integer import IntegerModel
from optsched.solvers.numbers import LARGEST_INTEGER
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
        self.domains: list[tuple[int, int]] = []
        """The same, column by column."""
        self._reach: list[int] = []
        self._domains_of(0)
        self.point = (
            np.full(len(model.lower), np.nan)
            if start is None
            else np.clip(np.rint(start), model.lower, model.upper)
        )
        """Values to begin from, shape (columns,), NaN if none is known."""

    # linear functions

    def lines(self, block: str, expression: Expression, *, single: bool = False) -> list[Line]:
        """Each entry as the solver writes it; if single, a sum gets its own column.

        Raises:
            UnsupportedError: a number is not whole, or values need more than 53 bits.
        """
        found = [self._line(block, line, offset) for line, offset in added_up(expression)]
        wide = [i for i, (columns, _, _) in enumerate(found) if len(columns) > 1] if single else []
        if wide:
            some, ends = expression.ravel()[wide], self._ends([found[i] for i in wide])
            made = self.add_columns(some, *ends, some.at(self.point))
            for i, column in zip(wide, made.terms[0].columns.tolist(), strict=True):
                columns, weights, offset = found[i]
                linear = self.proto.constraints.add().linear
                linear.vars.extend([*columns, column])
                linear.coeffs.extend([*weights, -1])
                linear.domain.extend([-offset, -offset])
                found[i] = [column], [1], 0
        return found

    def _line(self, block: str, line: dict[int, float], offset: float) -> Line:
        """One line, its numbers whole and small."""
        weights = line.values()
        if not (offset.is_integer() and all(map(float.is_integer, weights))):
            raise UnsupportedError(f"cpsat takes whole numbers only, not those of block {block!r}")
        reach = sum([abs(weight) * self._reach[column] for column, weight in line.items()])
        if reach + abs(offset) > LARGEST_INTEGER:
            raise UnsupportedError(
                f"cpsat needs values of magnitude at most 2^53 in block {block!r}: use tighter "
                "bounds, other units, or another solver"
            )
        if 0.0 in weights:
            line = {column: weight for column, weight in line.items() if weight}
        return list(line), [int(weight) for weight in line.values()], int(offset)

    def range_of(self, block: str, expression: Expression) -> tuple[Floats, Floats]:
        """Least and greatest value of each entry, exact as all are whole and small.

        Raises:
            UnsupportedError: a number is not whole, or values need more than 53 bits.
        """
        least, most = self._ends(self.lines(block, expression))
        return least.reshape(expression.shape), most.reshape(expression.shape)

    def _ends(self, lines: list[Line]) -> tuple[Floats, Floats]:
        """Least and greatest value of each line."""
        ends = np.empty((2, len(lines)))
        for i, (columns, weights, offset) in enumerate(lines):
            low = high = offset
            for column, weight in zip(columns, weights, strict=True):
                a, b = self.domains[column]
                low += weight * (a if weight > 0 else b)
                high += weight * (b if weight > 0 else a)
            ends[:, i] = low, high
        return ends[0], ends[1]

    # columns and rows

    def add_columns(
        self, like: Expression, lower: Floats | float, upper: Floats | float, point: Floats
    ) -> Expression:
        """New integer columns, in the model and shape of ``like``."""
        first = len(self.lower)
        self.lower = np.append(self.lower, np.broadcast_to(lower, like.shape))
        self.upper = np.append(self.upper, np.broadcast_to(upper, like.shape))
        self._domains_of(first)
        self.point = np.append(self.point, point)
        columns = np.arange(first, len(self.lower), dtype=np.int32)
        return Expression(like.model, like.shape, (Terms(None, columns, 1.0),))

    def _domains_of(self, first: int) -> None:
        """Bounds as plain numbers of the columns from the first on."""
        low, high = (s[first:].astype(np.int64).tolist() for s in (self.lower, self.upper))
        self.domains += zip(low, high, strict=True)
        self._reach += [max(abs(a), abs(b)) for a, b in self.domains[first:]]

    def add_rows(self, block: str, relation: Relation, literals: Integers | None = None) -> None:
        """A linear relation, enforced by its literals, shape (rows, literals), where given."""
        self.add_compiled_rows(assemble([relation], len(self.lower)), [(0, block)], literals)

    def add_compiled_rows(
        self, rows: Rows, names: list[tuple[int, str]], literals: Integers | None = None
    ) -> None:
        """Rows, each enforced by its literals, shape (rows, literals), if there are any.

        Args:
            rows: over the first columns, all or some.
            names: first row and name of each block, for messages.
            literals: as the solver writes them.

        Raises:
            UnsupportedError: a row cannot be scaled to integers finely enough.
        """
        if not rows.count:
            return
        scaled = scaled_rows(rows, self.lower, self.upper, names)
        left = np.isfinite(rows.lower) | np.isfinite(rows.upper)
        if literals is None and rows.count >= _MANY_ROWS:
            pairs = left & rows_over_two_binaries(rows, self.lower, self.upper)
            self._add_implications(implications(rows, scaled, pairs))
            left &= ~pairs
        kept = np.flatnonzero(left)
        pointer = rows.lines.indptr
        columns, coefficients = rows.lines.indices.tolist(), scaled.coefficients.tolist()
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
        constraints = self.proto.constraints
        first = len(constraints)
        constraints.extend(templates)
        return [constraints[i] for i in range(first, first + len(templates))]

    def finish(self) -> Any:
        """The solver's model, with its columns and the point to begin from."""
        known = {}
        for domain in set(self.domains):
            known[domain] = self._templates.variables.add()
            known[domain].domain.extend(domain)
        self.proto.variables.extend([known[domain] for domain in self.domains])
        given = np.flatnonzero(~np.isnan(self.point))
        if len(given):
            self.proto.solution_hint.vars.extend(given.tolist())
            self.proto.solution_hint.values.extend(self.point[given].astype(np.int64).tolist())
        return self.proto


def added_up(expression: Expression) -> Iterator[tuple[dict[int, float], float]]:
    """Coefficients by column, 0 among them where terms cancel, and constant of each entry."""
    sums: list[dict[int, float]] = [{} for _ in range(expression.size)]
    for entries, columns, weights in expression.terms:
        of = range(len(sums)) if entries is None else entries.tolist()
        each = repeat(weights) if isinstance(weights, float) else weights.tolist()
        for entry, column, weight in zip(of, columns.tolist(), each):  # noqa: B905
            line = sums[entry]
            line[column] = line.get(column, 0.0) + weight
    constant = expression.constant
    flat = repeat(constant) if isinstance(constant, float) else constant.ravel().tolist()
    return zip(sums, flat)  # noqa: B905


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
    too_large = np.abs(rows.held.data) > LARGEST
    if too_large.any():
        row = int(np.searchsorted(rows.lines.indptr, np.argmax(too_large), side="right")) - 1
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
