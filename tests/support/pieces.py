"""What blocks say of continuous variables once the integers are chosen: one of several polyhedra.

Exact if the numbers are sums of few powers of two, as no arithmetic on them rounds then.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from optsched.errors import ModelError
from optsched.model.blocks import (
    Block,
    Element,
    Maximum,
    Piecewise,
    Product,
    Ratio,
    SemiContinuous,
    SpecialOrdered,
)
from optsched.model.expression import Floats, Relation

Pieces = list[list[Relation]]
"""Relations that hold together, for each piece."""


def pieces(block: Block, known: Floats) -> Iterator[Pieces]:
    """For every entry of a block the pieces of which one must hold.

    Args:
        block: says something of columns that are not known.
        known: values of the columns that are, NaN elsewhere.

    Raises:
        ModelError: a kind whose pieces are not linear, or not known here.
    """
    if not isinstance(
        block, Product | Ratio | Element | Maximum | Piecewise | SpecialOrdered | SemiContinuous
    ):
        raise ModelError(f"block {block.name!r} depends on continuous variables")
    for entry in range(int(np.prod(block.shape))):
        one = block.restricted(np.array([entry]))
        yield list(_pieces(one, known))


def _pieces(block: Block, known: Floats) -> Iterator[list[Relation]]:
    """Pieces of a block with one entry."""
    match block:
        case Product():
            number, other = block.left.at(known), block.right
            if np.isnan(number).any():
                number, other = block.right.at(known), block.left
            yield [block.result - other * number == 0]
        case Ratio():
            yield [block.result * block.divisor.at(known) - block.numerator == 0]
        case Element():
            place = int(block.index.at(known).item())
            yield [block.result - block.array[place] == 0]
        case Maximum():
            arguments = block.arguments.reshape(-1)
            above = block.sign * (block.result - arguments)
            for winner in range(arguments.size):
                yield [above >= 0, above[winner] <= 0]
        case Piecewise():
            ends = list(zip(block.points.tolist(), block.values.tolist(), strict=True))
            for (a, f), (b, g) in itertools.pairwise(ends):
                line = (b - a) * (block.result - f) - (g - f) * (block.argument - a)
                yield [line == 0, block.argument.between(a, b)]
        case SpecialOrdered():
            values = block.values.reshape(-1)
            for begin in range(max(1, values.size - block.order + 1)):
                rest = np.r_[0:begin, begin + block.order : values.size]
                yield [values[rest] == 0] if rest.size else []
        case SemiContinuous():
            yield [block.result == 0]
            yield [block.result.between(block.least, block.most)]
