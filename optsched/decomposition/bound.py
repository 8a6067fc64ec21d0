"""The Lagrangian bound at dual values, and the smoothing of dual values between iterations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from optsched.decomposition.columns import ColumnBlock
from optsched.model.expression import Floats

ENDLESS = 1e9
"""Most columns of a block without upper limit that a bound must allow for."""

_UNIT = float(np.finfo(np.float64).eps)


def lagrangian_value(
    duals: Floats,
    sides: tuple[Floats, Floats],
    least_price: Floats,
    numbers: tuple[Floats, Floats],
    blocks: Sequence[ColumnBlock],
    weight: float = 1.0,
) -> float:
    """A lower bound on the (weighted) cost of every choice of columns, whatever the prices.

    The value of the rows at these prices plus, for each block, its least price times the number
    of columns that makes this smallest. Where a block without upper limit has a negative least
    price, all prices are first scaled down until it has none (Farley's bound). That takes least
    costs, positive for the blocks concerned and known for all; if they are missing, "without
    limit" means ``ENDLESS`` columns, which leaves a weaker bound.

    Args:
        duals: price per row, shape (rows,); positive only if there is a finite lower side,
            negative only if there is a finite upper side.
        sides: of the rows.
        least_price: a lower bound on the price of each block's columns, shape (blocks,);
            infinity if a block has no column.
        numbers: least and largest number of columns of each block.
        blocks: for their least costs.
        weight: how much costs count: 1, or 0.
    """
    lower, upper = sides
    asked = duals != 0
    rows = duals[asked] * np.where(duals > 0, lower, upper)[asked]
    few, many = numbers[0], np.minimum(numbers[1], ENDLESS)
    endless = np.isinf(numbers[1]) & (least_price < 0)
    scaled = _scaled(least_price, endless, blocks, weight) if endless.any() else None
    shrink, least = (1.0, least_price) if scaled is None else scaled
    number = np.where(least >= 0, few, many)
    if (np.isposinf(least) & (number > 0)).any():
        return math.inf  # a block that needs a column has none
    with np.errstate(invalid="ignore"):
        bought = np.where(number > 0, least * number, 0.0)
    terms = np.concatenate([shrink * rows, bought])
    if not np.isfinite(terms).all():
        return -math.inf
    # the sum itself is exact; its terms, and the prices under them, carry rounding errors
    return math.fsum(terms) - 4 * _UNIT * math.fsum(np.abs(terms))


def _scaled(
    least_price: Floats, endless: NDArray[np.bool_], blocks: Sequence[ColumnBlock], weight: float
) -> tuple[float, Floats] | None:
    """The factor on prices that some blocks can bear without end, and least prices after it.

    Scaling prices by s turns the price p of a column of cost c into (1 - s) c + s p.
    """
    floor = np.array([np.nan if b.least_cost is None else weight * b.least_cost for b in blocks])
    if (
        not np.isfinite(floor).all()
        or (floor[endless] <= 0).any()
        or np.isneginf(least_price).any()
    ):
        return None
    shrink = float((floor[endless] / (floor[endless] - least_price[endless])).min())
    scaled = (1.0 - shrink) * floor + shrink * least_price
    # of the blocks concerned none is negative any more, but for rounding
    return shrink, np.where(endless, np.maximum(scaled, 0.0), scaled)


@dataclass
class Smoothing:
    """Prices between those of the master problem and the best ones so far (Wentges, 1997).

    Pricing at a point between the two steadies the path of the prices. When it yields no column
    that improves the master problem (mis-pricing), the next trial lies nearer to the master's
    prices, and reaches them after finitely many.
    """

    factor: float
    """Weight of the best prices, in [0, 1)."""
    best: float = -math.inf
    """Largest Lagrangian value seen."""
    _centre: Floats | None = field(default=None, repr=False)
    _misses: int = 0

    def trial(self, duals: Floats) -> tuple[Floats, bool]:
        """Where to price, and whether that is the master's own point."""
        pull = max(0.0, 1.0 - (self._misses + 1) * (1.0 - self.factor))
        if self._centre is None or pull == 0.0:
            return duals, True
        return pull * self._centre + (1.0 - pull) * duals, False

    def learn(self, trial: Floats, value: float | None, *, missed: bool) -> None:
        """Take in the Lagrangian value of a trial and whether it missed."""
        self._misses = self._misses + 1 if missed else 0
        if value is not None and value > self.best:
            self.best, self._centre = value, trial
