"""Products: ``z = a * b`` with a bounded integer factor.

A binary ``a`` gives the four McCormick rows, which are exact at ``a = 0`` and ``a = 1``. A wider
integer is written in binary digits, and each digit times ``b`` is such a product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.errors import ModelError
from optsched.model.blocks import Product
from optsched.model.expression import Expression, Floats, Relation
from optsched.model.ranges import finite_range, is_binary, is_integral

if TYPE_CHECKING:
    from optsched.model.model import Model


def lower_product(model: Model, block: Product) -> None:
    """Replace a product by rows.

    Raises:
        ModelError: no factor is integer throughout, or a factor lacks a bound.
    """
    domains = model.domains()
    integral = [bool(is_integral(f, domains).all()) for f in (block.left, block.right)]
    if not any(integral):
        raise ModelError(f"block {block.name!r}: a product needs an integer factor")
    sides = [
        finite_range(block.name, f, domains, model.column_name) for f in (block.left, block.right)
    ]
    widths = [float((high - low).max(initial=0.0)) for low, high in sides]
    first = 0 if integral[0] and not (integral[1] and widths[1] < widths[0]) else 1
    factors = (block.left, block.right)
    narrow, other = factors[first], factors[1 - first]
    low, high = sides[1 - first]
    if is_binary(narrow, domains):
        _mccormick(model, block.name, block.result, narrow, other, low, high)
        return
    least = sides[first][0]
    digits = int(np.ceil(np.log2(widths[first] + 1)))
    powers = 2.0 ** np.arange(digits)
    shape = (*block.shape, digits)
    digit = model.binary(f"{block.name}:digit", shape)
    spread = other.reshape(*other.shape, 1).broadcast_to(shape)
    low, high = (np.broadcast_to(end[..., None], shape) for end in (low, high))
    part = model.continuous(
        f"{block.name}:part", shape, lower=np.minimum(low, 0.0), upper=np.maximum(high, 0.0)
    )
    _mccormick(model, block.name, part, digit, spread, low, high)
    model.add(f"{block.name}:digits", narrow == (digit * powers).sum(axis=-1) + least)
    total = (part * powers).sum(axis=-1) + other * least
    model.add(f"{block.name}:sum", block.result == total)


def _mccormick(
    model: Model,
    name: str,
    result: Expression,
    binary: Expression,
    other: Expression,
    low: Floats,
    high: Floats,
) -> None:
    for word, rows in convex_hull(result, binary, other, low, high).items():
        model.add(f"{name}:{word}", rows)


def convex_hull(
    result: Expression, binary: Expression, other: Expression, low: Floats, high: Floats
) -> dict[str, Relation]:
    """``result = binary * other`` for ``low <= other <= high``, by name (McCormick 1976)."""
    return {
        "off above": result <= binary * high,
        "off below": result >= binary * low,
        "on above": result <= other - low + binary * low,
        "on below": result >= other - high + binary * high,
    }
