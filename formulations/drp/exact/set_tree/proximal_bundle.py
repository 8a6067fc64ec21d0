"""Prices at which a sum of maxima is least, by a proximal bundle method.

A Lagrangian relaxation that falls apart leaves such a sum: each part, a server or a job, has a
vertex (a configuration, a set of servers) that is best at the prices, and what all of these are
worth together is a bound, whatever the prices:

    sum over parts of max over vertices v of the part: value_v + a_v . prices.

Of the vertices of a part only some are known. The sum over those is less than the true one and
close to it near prices that were asked for; the next prices are where it is least, a distance d
from the centre, good prices, counting d^2 / (2 step). They are found from the other side: each part
spreads a weight of 1 over its vertices, prices are the centre less ``step`` times the sum of all
a_v by weight, and weight moves from the worst vertex of a part to its best one until nothing is
gained. Parts of their own make few questions say much (disaggregated cuts), and the distance keeps
prices where the vertices known mean something; without it they jump, as those of linear programs
do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.jit import njit_cached
from optsched.model.expression import Floats

Indices = NDArray[np.int64]

STEP = 0.05
"""Amount by which prices change per unit of a residual, at first."""
MOST = 40
"""Vertices known of a part; the oldest answer without weight makes room for another."""
SWEEPS = 100
"""Most rounds over all parts, in each of which one moves weight between two vertices."""
ENOUGH = 0.1
"""Part of what the known vertices promise that must come true for prices to be the next centre."""
GOOD, LONGER = 0.5, 1.5
"""Part of it from which on steps get longer, and how many times."""
PATIENCE, SHORTER = 15, 0.7
"""Non-improving questions after which steps get shorter, and by which factor."""
_GAIN = 1e-9  # what moving weight, or another vertex, has to gain
_NONE = 1e-12  # weight that counts as none


class Vertices(NamedTuple):
    """Vertices of some parts, and what they are worth at prices."""

    part: Indices
    """Shape (vertices,)."""
    value: Floats
    """What each is worth if all prices are 0, shape (vertices,)."""
    start: Indices
    """Entries of vertex v are start[v] .. start[v + 1] - 1; shape (vertices + 1,)."""
    price: Indices
    """Whose price each entry counts, none twice in a vertex, shape (entries,)."""
    coefficient: Floats
    """How often, shape (entries,)."""


class _Known(NamedTuple):
    """Vertices that are kept, each of shape (parts, MOST), entries of shape (..., longest)."""

    number: Indices
    """Shape (parts,)."""
    value: Floats
    size: Indices
    price: Indices
    coefficient: Floats
    weight: Floats
    since: Indices
    """Question that it answered; 0: known from the beginning, and for good."""


@njit_cached
def _worth(known: _Known, part: int, slot: int, prices: Floats) -> float:
    total = known.value[part, slot]
    for e in range(known.size[part, slot]):
        total += known.coefficient[part, slot, e] * prices[known.price[part, slot, e]]
    return float(total)


@njit_cached
def _model(known: _Known, prices: Floats) -> float:
    """The sum over the vertices known."""
    total = 0.0
    for part in range(len(known.number)):
        best = -np.inf
        for slot in range(known.number[part]):
            best = max(best, _worth(known, part, slot, prices))
        total += best
    return float(total)


@njit_cached
def _keep(
    known: _Known,
    part: Indices,
    value: Floats,
    start: Indices,
    price: Indices,
    coefficient: Floats,
    prices: Floats,
    now: int,
) -> None:
    """Keep vertices that are worth more at some prices than those known of their part.

    The first ones, ``now`` is 0, are all kept.
    """
    for v in range(len(part)):
        p, size = part[v], start[v + 1] - start[v]
        worth, best = value[v], -np.inf
        for e in range(start[v], start[v + 1]):
            worth += coefficient[e] * prices[price[e]]
        slot = known.number[p]
        for s in range(known.number[p]):
            best = max(best, _worth(known, p, s, prices))
            old = known.since[p, s] > 0 and known.weight[p, s] <= _NONE
            if known.number[p] == MOST and old:
                slot = s if slot == MOST or known.since[p, s] < known.since[p, slot] else slot
        if (now > 0 and worth <= best + _GAIN) or slot == MOST:
            continue
        known.value[p, slot], known.size[p, slot], known.since[p, slot] = value[v], size, now
        for n in range(size):
            known.price[p, slot, n] = price[start[v] + n]
            known.coefficient[p, slot, n] = coefficient[start[v] + n]
        known.weight[p, slot] = 1.0 if known.number[p] == 0 else 0.0
        known.number[p] = max(known.number[p], slot + 1)


@njit_cached
def _apart(known: _Known, part: int, one: int, other: int) -> float:
    """The squared distance of two vertices of a part."""
    total = 0.0
    for e in range(known.size[part, one]):
        total += known.coefficient[part, one, e] ** 2
    for e in range(known.size[part, other]):
        total += known.coefficient[part, other, e] ** 2
    for e in range(known.size[part, one]):
        for f in range(known.size[part, other]):
            if known.price[part, one, e] == known.price[part, other, f]:
                both = known.coefficient[part, one, e] * known.coefficient[part, other, f]
                total -= 2.0 * both
    return total


@njit_cached
def _move(
    known: _Known, part: int, slot: int, weight: float, step: float,
    centre: Floats, least: Floats, residual: Floats, prices: Floats,
) -> None:  # fmt: skip
    """Give a vertex so much more weight, and have prices follow."""
    known.weight[part, slot] += weight
    for e in range(known.size[part, slot]):
        i = known.price[part, slot, e]
        residual[i] += weight * known.coefficient[part, slot, e]
        prices[i] = max(least[i], centre[i] - step * residual[i])


@njit_cached
def _settle(known: _Known, step: float, centre: Floats, least: Floats) -> Floats:
    """Prices at which the sum over the vertices known is least, near others."""
    residual = np.zeros(len(centre))
    prices = np.maximum(centre, least)
    for part in range(len(known.number)):
        for slot in range(known.number[part]):
            weight = known.weight[part, slot]
            if weight > _NONE:
                known.weight[part, slot] = 0.0
                _move(known, part, slot, weight, step, centre, least, residual, prices)
    for _ in range(SWEEPS):
        gained = 0.0
        for part in range(len(known.number)):
            high, low, best, worst = -np.inf, np.inf, 0, 0
            for slot in range(known.number[part]):
                worth = _worth(known, part, slot, prices)
                if worth > high:
                    high, best = worth, slot
                if known.weight[part, slot] > _NONE and worth < low:
                    low, worst = worth, slot
            if high - low <= _GAIN:
                continue
            apart = step * _apart(known, part, best, worst)
            weight = known.weight[part, worst]
            if apart * weight > high - low:
                weight = (high - low) / apart
            gained = max(gained, weight * (high - low))
            _move(known, part, best, weight, step, centre, least, residual, prices)
            _move(known, part, worst, -weight, step, centre, least, residual, prices)
        if gained <= _GAIN:
            break
    return prices


class ProximalBundle:
    """The method, question by question: ``prices`` are asked for, ``told`` takes the answer."""

    def __init__(
        self, parts: int, prices: Floats, least: Floats, known: Vertices, step: float = STEP
    ) -> None:
        """Begin.

        Args:
            parts: of the sum.
            prices: to begin with, shape (prices,).
            least: of each price, -inf for those of equations, shape (prices,).
            known: vertices to begin with; parts of which these are all need not be in answers.
            step: see ``STEP``.
        """
        self.prices = np.maximum(prices, least)
        self.best = np.inf
        """The least sum so far: a bound."""
        self.best_prices = self._centre = self.prices
        self._reached = np.inf  # the sum at the centre
        self._least, self._step, self._promised = least, step, 0.0
        self._non_improving = self._asked = 0
        shape = parts, MOST
        self._known = _Known(
            np.zeros(parts, dtype=np.int64), np.zeros(shape), np.zeros(shape, dtype=np.int64),
            np.zeros((*shape, 0), dtype=np.int64), np.zeros((*shape, 0)), np.zeros(shape),
            np.zeros(shape, dtype=np.int64),
        )  # fmt: skip
        self._take(known)

    def told(self, value: float, found: Vertices) -> None:
        """Take the answer, and choose the prices to ask for next.

        Args:
            value: of the true sum at ``prices``, or more.
            found: a best vertex there of each part that has others than those known.
        """
        self._asked += 1
        if value < self.best:
            self.best, self.best_prices = value, self.prices
        gain = self._reached - value
        if gain >= ENOUGH * self._promised:
            if gain >= GOOD * self._promised and self._asked > 1:
                self._step *= LONGER
            self._reached, self._centre, self._non_improving = value, self.prices, 0
        else:
            self._non_improving += 1
            if self._non_improving >= PATIENCE:
                self._step, self._non_improving = SHORTER * self._step, 0
        self._take(found)
        self.prices = _settle(self._known, self._step, self._centre, self._least)
        self._promised = max(0.0, self._reached - _model(self._known, self.prices))

    def _take(self, found: Vertices) -> None:
        longest = int(np.diff(found.start).max(initial=0))
        more = longest - self._known.price.shape[-1]
        if more > 0:
            wider = [(0, 0), (0, 0), (0, more)]
            self._known = self._known._replace(
                price=np.pad(self._known.price, wider),
                coefficient=np.pad(self._known.coefficient, wider),
            )
        _keep(self._known, *found, self.prices, self._asked)
