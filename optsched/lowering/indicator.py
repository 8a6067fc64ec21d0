"""Indicator blocks as linear rows with the tightest constant bounds allow.

A row ``a x <= u`` that holds where the literals ``b_1 .. b_n`` are true becomes
``a x <= u + M * (number of false literals)`` with ``M = max(0, max a x - u)`` over the bounds
of ``x``: with all literals true it is the row itself, otherwise it excludes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from optsched.errors import ModelError
from optsched.model.compiled import assemble
from optsched.model.expression import Expression, Floats, Relation

if TYPE_CHECKING:
    from optsched.model.model import Indicator

_INTEGRALITY = 1e-6  # a bound this close to a whole number is taken for it

Domains = tuple[Floats, Floats, NDArray[np.bool_]]


def lower_indicator(
    block: Indicator, domains: Domains, column_name: Callable[[int], str]
) -> Iterator[tuple[str, Relation]]:
    """The rows that stand for an indicator block, under names of their own.

    Raises:
        ModelError: a variable lacks the bound the constant needs; the message names it.
    """
    relation = block.relation
    shape = relation.expression.shape
    false = _false_literals(block)
    linear_part = Expression(relation.expression.model, shape, relation.expression.terms)
    least, most = _activity(block, domains, column_name)
    upper = np.broadcast_to(relation.upper, shape)
    if np.isfinite(upper).any():
        slack = np.where(np.isfinite(upper), np.maximum(0.0, most.reshape(shape) - upper), 0.0)
        yield f"{block.name}:upper", linear_part - false * slack <= upper
    lower = np.broadcast_to(relation.lower, shape)
    if np.isfinite(lower).any():
        slack = np.where(np.isfinite(lower), np.maximum(0.0, lower - least.reshape(shape)), 0.0)
        yield f"{block.name}:lower", linear_part + false * slack >= lower


def _false_literals(block: Indicator) -> Expression:
    """How many literals are false, entry by entry."""
    counts = [1.0 - b if on else b for b, on in zip(block.literals, block.active, strict=True)]
    total = counts[0]
    for count in counts[1:]:
        total = total + count
    return total


def _activity(
    block: Indicator, domains: Domains, column_name: Callable[[int], str]
) -> tuple[Floats, Floats]:
    """Least and greatest value of each row over the domains of its variables."""
    lower, upper, integer = domains
    lower = np.where(integer, np.ceil(lower - _INTEGRALITY), lower)
    upper = np.where(integer, np.floor(upper + _INTEGRALITY), upper)
    relation = block.relation
    matrix = assemble([relation], len(lower)).matrix
    positive, negative = matrix.maximum(0), matrix.minimum(0)
    most = positive @ upper + negative @ lower
    least = positive @ lower + negative @ upper
    for needed, activity, sides in (
        (relation.upper, most, (positive, upper, negative, lower)),
        (relation.lower, least, (positive, lower, negative, upper)),
    ):
        missing = np.isfinite(np.ravel(needed)) & ~np.isfinite(activity)
        if missing.any():
            row = [int(np.argmax(missing))]
            for part, side in (sides[:2], sides[2:]):
                columns = part[row].indices
                unbounded = columns[~np.isfinite(side[columns])]
                if len(unbounded):
                    raise ModelError(
                        f"block {block.name!r} cannot be lowered: "
                        f"{column_name(int(unbounded[0]))} lacks a finite bound"
                    )
    return least, most
