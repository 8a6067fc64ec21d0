"""Indicators: a row that holds where its literals are true, by the tightest constant.

A row ``a x <= u`` becomes ``a x <= u + M * (number of false literals)`` with
``M = max(0, max a x - u)`` over the bounds of ``x``: with all literals true it is the row
itself, otherwise it excludes nothing. Where the row mentions its own literals, they are replaced
by the values that make them true, which leaves less for ``M`` to make up for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from optsched.model.blocks import Indicator
from optsched.model.expression import Expression, Terms
from optsched.model.matrix_form import Rows, assemble
from optsched.model.ranges import raise_missing_bound, range_of, without_noise

if TYPE_CHECKING:
    from optsched.model.model import Model


def lower_indicator(model: Model, block: Indicator) -> None:
    """Replace an indicator by rows.

    Raises:
        ModelError: a variable lacks the bound the constant needs; the message names it.
    """
    literals = np.stack([one.terms[0].columns for one in block.literals], axis=1)
    stated = _without_literals(assemble([block.relation], model.columns), literals, block.active)
    place = np.repeat(np.arange(stated.count), np.diff(stated.matrix.indptr))
    terms = Terms(place, stated.matrix.indices, stated.matrix.data)
    left = Expression(block.relation.expression.model, (stated.count,), (terms,))
    false = _false_literals(block).reshape(stated.count)
    domains = model.domains()
    least, most = range_of(left, domains)
    for word, side, sign, extreme in (
        ("upper", stated.upper, 1.0, most),
        ("lower", stated.lower, -1.0, least),
    ):
        rows = np.isfinite(side)
        if not rows.any():
            continue
        part, limit, reach = left[rows], side[rows], extreme[rows]
        if not np.isfinite(reach).all():
            open_ = part[~np.isfinite(reach)]
            raise_missing_bound(block.name, open_, domains, model.column_name, sign)
        slack = np.maximum(0.0, without_noise(sign * (reach - limit), limit))
        off = false[rows] * slack
        row = part - off <= limit if sign > 0 else part + off >= limit
        model.add(f"{block.name}:{word}", row)


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


def _false_literals(block: Indicator) -> Expression:
    """How many literals are false, entry by entry."""
    counts = [1.0 - b if on else b for b, on in zip(block.literals, block.active, strict=True)]
    total = counts[0]
    for count in counts[1:]:
        total = total + count
    return total
