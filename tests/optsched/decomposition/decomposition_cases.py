"""Column problems whose columns are listed, for the tests of decomposition."""

import math

import numpy as np

from optsched.decomposition import (
    Column,
    ColumnBlock,
    ColumnGeneration,
    Duals,
    Priced,
)


def listed(columns, lower, upper, blocks, *, heuristic=False, **options) -> ColumnGeneration:
    """A problem whose pricing looks through a list; ``heuristic``: only when it must."""

    def price(block: int, duals: Duals) -> Priced:
        allowed = [c for c in columns if c.block == block and duals.allows(c)]
        if not allowed:
            return Priced(bound=math.inf)
        if heuristic and not duals.exact:
            return Priced(allowed[:1])
        best = min(allowed, key=duals.price_of)
        return Priced([best], bound=duals.price_of(best))

    return ColumnGeneration(lower, upper, blocks, price, **options)


def sets(pairs) -> list[Column]:
    """Columns that cover some elements, with their costs."""
    return [
        Column(0, cost, np.array(p), np.ones(len(p)), features=dict.fromkeys(p, 1))
        for p, cost in pairs.items()
    ]


def cover(pairs, *, single_sets_known: bool = False, **options) -> ColumnGeneration:
    """Cover three elements exactly by sets, all sets alike."""
    columns = sets(pairs)
    initial = [c for c in columns if single_sets_known and len(c.rows) == 1]
    blocks = [ColumnBlock(lower=0, upper=3)]
    return listed(columns, [1] * 3, [1] * 3, blocks, initial=initial, **options)


TRIANGLE = {(0, 1): 1.0, (1, 2): 1.0, (0, 2): 1.0}
SINGLES = {(0,): 2.0, (1,): 2.0, (2,): 2.0}
