"""Indicators: a row that holds where its literals are true, by the tightest constant.

A row ``a x <= u`` becomes ``a x <= u + M * (number of false literals)`` with
``M = max(0, max a x - u)`` over the bounds of ``x``: with all literals true it is the row
itself, otherwise it excludes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.model.blocks import Indicator
from optsched.model.expression import Expression
from optsched.model.ranges import raise_missing_bound, range_of, without_noise

if TYPE_CHECKING:
    from optsched.model.model import Model


def lower_indicator(model: Model, block: Indicator) -> None:
    """Replace an indicator by rows.

    Raises:
        ModelError: a variable lacks the bound the constant needs; the message names it.
    """
    relation, shape = block.relation, block.shape
    left = Expression(relation.expression.model, shape, relation.expression.terms)
    false = _false_literals(block)
    domains = model.domains()
    least, most = range_of(left, domains)
    for word, side, sign, extreme in (
        ("upper", relation.upper, 1.0, most),
        ("lower", relation.lower, -1.0, least),
    ):
        side = np.broadcast_to(side, shape)
        rows = np.isfinite(side).reshape(-1)
        if not rows.any():
            continue
        part = left.reshape(left.size)[rows]
        limit = side.reshape(-1)[rows]
        reach = extreme.reshape(-1)[rows]
        if not np.isfinite(reach).all():
            open_ = part[~np.isfinite(reach)]
            raise_missing_bound(block.name, open_, domains, model.column_name, sign)
        slack = np.maximum(0.0, without_noise(sign * (reach - limit), limit))
        off = false.reshape(false.size)[rows] * slack
        row = part - off <= limit if sign > 0 else part + off >= limit
        model.add(f"{block.name}:{word}", row)


def _false_literals(block: Indicator) -> Expression:
    """How many literals are false, entry by entry."""
    counts = [1.0 - b if on else b for b, on in zip(block.literals, block.active, strict=True)]
    total = counts[0]
    for count in counts[1:]:
        total = total + count
    return total
