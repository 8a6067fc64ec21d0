"""Indicators: a row that holds if its literals are true, lowered with the tightest constant.

A row ``a x <= u`` becomes ``a x <= u + M * (number of false literals)`` with
``M = max(0, max a x - u)`` over the bounds of ``x``: with all literals true it is the row
itself, otherwise it excludes nothing. If the row contains its own literals, they are replaced by
the values that make them true, which makes ``M`` smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.errors import ModelError
from optsched.model.base import (
    Block,
    Entries,
    Linear,
    ModelBase,
    checked_relation,
    relation_excess,
)
from optsched.model.expression import Expression, Floats, Relation, Shape, Terms
from optsched.model.latex import FormulaWriter
from optsched.model.matrix_form import Rows, assemble
from optsched.model.ranges import raise_missing_bound, range_of, without_noise
from optsched.model.words import Writer


def indicator(
    model: ModelBase,
    literals: Expression | Sequence[Expression],
    relation: Relation,
    *,
    active: bool | Sequence[bool] = True,
    name: str | None = None,
    formula: str = "",
) -> None:
    """Require a relation if all literals are true.

    Args:
        model: that requires it.
        literals: binary variables (single entries, no arithmetic), broadcast to the shape of
            the relation.
        relation: what must hold.
        active: the value that makes each literal true.
        name: of the block.
        formula: LaTeX.

    Example:
        >>> m = Model()
        >>> on, load = m.binary("on"), m.continuous("load", upper=5)
        >>> m.indicator(on, load >= 2, name="least load")
        >>> m.minimize(load - on)
        >>> solve(m).objective
        0.0
    """
    name = model.free_name(name, "indicator")
    shape = checked_relation(name, relation).expression.shape
    listed = (literals,) if isinstance(literals, Expression) else tuple(literals)
    values = (active,) * len(listed) if isinstance(active, bool) else tuple(active)
    if not listed or len(values) != len(listed):
        raise ModelError(f"block {name!r}: one active value per literal, and at least one")
    spread = tuple(one.broadcast_to(shape) for one in listed)
    for one in spread:
        check_literal(model, name, one)
    model.add_block(Indicator(name, formula, spread, values, relation))


def check_literal(model: ModelBase, name: str, literal: Expression) -> None:
    """Refuse what is no plain binary variable."""
    model.check_own(f"block {name!r}", literal)
    plain = len(literal.terms) == 1 and literal.terms[0].entries is None
    if not (
        plain
        and np.all(np.equal(literal.terms[0].coefficients, 1.0))
        and np.all(np.equal(literal.constant, 0.0))
    ):
        raise ModelError(f"block {name!r}: a literal must be a plain binary variable")
    columns = literal.terms[0].columns
    lower, upper, integer = model.domains()
    if not np.all(integer[columns] & (lower[columns] >= 0) & (upper[columns] <= 1)):
        raise ModelError(f"block {name!r}: a literal must be a binary variable")


@dataclass(frozen=True, eq=False)
class Indicator(Block):
    """A relation that must hold if all literals are true."""

    literals: tuple[Expression, ...]
    """Binary variables, each of the relation's shape."""
    active: tuple[bool, ...]
    """The value that makes each literal true."""
    relation: Relation
    kind = "indicator"
    becomes = (Linear,)
    how = "a constant, the tightest the bounds allow, takes the row off where it is idle"

    @property
    def shape(self) -> Shape:
        return self.relation.expression.shape

    @property
    def columns(self) -> NDArray[np.int32]:
        """Columns of the literals, shape (entries, literals)."""
        return np.stack([one.terms[0].columns for one in self.literals], axis=1)

    def excess(self, x: Floats) -> Floats:
        on = np.ones(self.shape, dtype=bool)
        for literal, active in zip(self.literals, self.active, strict=True):
            on &= np.round(literal.at(x)) == active
        return np.where(on, relation_excess(self.relation, x), 0.0)

    def lower(self, model: ModelBase) -> None:
        """The rows, with a constant for every literal that is false.

        Raises:
            ModelError: a variable lacks the bound the constant needs; the message names it.
        """
        rows = assemble([self.relation], model.columns)
        stated = _without_literals(rows, self.columns, self.active)
        place = np.repeat(np.arange(stated.count), np.diff(stated.matrix.indptr))
        terms = Terms(place, stated.matrix.indices, stated.matrix.data)
        left = Expression(self.relation.expression.model, (stated.count,), (terms,))
        false = self._false_literals().reshape(stated.count)
        domains = model.domains()
        least, most = range_of(left, domains)
        for word, side, sign, extreme in (
            ("upper", stated.upper, 1.0, most),
            ("lower", stated.lower, -1.0, least),
        ):
            finite = np.isfinite(side)
            if not finite.any():
                continue
            part, limit, reach = left[finite], side[finite], extreme[finite]
            if not np.isfinite(reach).all():
                open_ = part[~np.isfinite(reach)]
                raise_missing_bound(self.name, open_, domains, model.column_name, sign)
            slack = np.maximum(0.0, without_noise(sign * (reach - limit), limit))
            off = false[finite] * slack
            row = part - off <= limit if sign > 0 else part + off >= limit
            model.add(f"{self.name}:{word}", row)

    def _false_literals(self) -> Expression:
        """How many literals are false, entry by entry."""
        counts = [1.0 - b if on else b for b, on in zip(self.literals, self.active, strict=True)]
        total = counts[0]
        for count in counts[1:]:
            total = total + count
        return total

    def words(self, writer: Writer, entries: Entries) -> list[str]:
        literals = [
            [f"{text} = {int(on)}" for text in writer.sums(b, entries)]
            for b, on in zip(self.literals, self.active, strict=True)
        ]
        rows = writer.relations(self.relation, entries)
        return [
            f"{' and '.join(when)} implies {row}"
            for *when, row in zip(*literals, rows, strict=True)
        ]

    def latex(self, writer: FormulaWriter) -> str:
        when = r" \wedge ".join(
            f"{writer.expression(b)} = {int(on)}"
            for b, on in zip(self.literals, self.active, strict=True)
        )
        return rf"{when} \;\Rightarrow\; {writer.relation(self.relation)}"


def _without_literals(rows: Rows, literals: NDArray[np.int32], active: tuple[bool, ...]) -> Rows:
    """Rows that say the same where their literals are true, and do not mention them."""
    columns, values = rows.matrix.indices, rows.matrix.data.copy()
    place = np.repeat(np.arange(rows.count), np.diff(rows.matrix.indptr))
    known = np.zeros(rows.count)
    for literal, value in zip(literals.T, active, strict=True):
        own = columns == literal[place]
        known += np.bincount(place[own], values[own] * value, rows.count)
        values[own] = 0.0
    matrix = rows.matrix.copy()
    matrix.data = values
    matrix.eliminate_zeros()
    # a known value of 0 moves no side, be it infinite
    lower, upper = (
        np.where(known == 0, side, without_noise(side - known, known))
        for side in (rows.lower, rows.upper)
    )
    return Rows(matrix, lower, upper)
