"""Cuts on pooled schedules by which widths fit together in a slot.

In slot t every job runs with one of its numbers of workers N, or not at all, and all together are
at most W. What holds for all that fits,

    sum over runs in slot t of pi_j(N) <= pi_0,

is found as patterns are in cutting stock (Gilmore and Gomory, 1961): either patterns of weight 1 in
all cover what a fractional choice runs in the slot, or the prices at which they cover it cheapest
are such a row, and it is violated. It is then lifted, job by job, to every number of workers, as
far as the most that all others can have beside it allows. Coefficients are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.batch.exact.server_cuts import Row, Runs
from formulations.batch.instance import Floats, Integers
from optsched.decomposition.pivot import PRECISION, pivot
from optsched.jit import njit_cached

VIOLATED = 3e-3
"""Part of a side beyond it from which on a cut is worth a row."""
PIVOTS = 8
"""Exchanges of a covering, for each thing covered, after which its prices are taken as they are."""
UNITS = 10_000
"""Of a side, before its coefficients are rounded to whole numbers."""


@njit_cached
def fullest(first: Integers, width: Integers, price: Floats, room: int) -> tuple[float, Integers]:
    """What fits, at most one thing of every group, of the highest price.

    Args:
        first: where the things of each group begin, and past the last, shape (groups + 1,).
        width: of each thing, >= 1, shape (things,).
        price: of each; those without one are not taken.
        room: all widths together.

    Returns:
        The price in all, and 1 for each thing taken.
    """
    groups = len(first) - 1
    best = np.zeros((groups + 1, room + 1))
    pick = np.full((groups, room + 1), -1)
    for g in range(groups):
        best[g + 1] = best[g]
        for i in range(first[g], first[g + 1]):
            if price[i] > PRECISION:
                for c in range(width[i], room + 1):
                    value = best[g, c - width[i]] + price[i]
                    if value > best[g + 1, c]:
                        best[g + 1, c], pick[g, c] = value, i
    taken, c = np.zeros(len(width), dtype=np.int64), room
    for g in range(groups - 1, -1, -1):
        i = pick[g, c]
        if i >= 0:
            taken[i] = 1
            c -= width[i]
    return best[groups, room], taken


@njit_cached
def cover_prices(first: Integers, width: Integers, share: Floats, room: int) -> Floats:
    """Prices of things at which no pattern costs more than 1, and their shares cost the most.

    The simplex method on patterns that cover the shares, beginning with each thing by itself.

    Args:
        first: as in ``fullest``.
        width: as in ``fullest``.
        share: of each thing, > 0.
        room: of a pattern.

    Returns:
        The prices; all 0 where patterns of weight 1 in all are enough.
    """
    things = len(width)
    inverse, weight, none = np.eye(things), share.copy(), np.zeros(things)
    for _ in range(PIVOTS * things):
        price = none.copy()
        for i in range(things):
            price += inverse[i]
        value, taken = fullest(first, width, price, room)
        if weight.sum() <= 1.0 + VIOLATED:
            break
        if value <= 1.0 + PRECISION:
            return price
        change = none.copy()
        for i in range(things):
            for k in range(things):
                if taken[k]:
                    change[i] += inverse[i, k]
        if pivot(inverse, weight, change) < 0:
            break
    return none


@njit_cached
def joined(best: Integers, table: Integers, most: int) -> Integers:
    """The most in every room of what was there and one job more, which has ``table`` by width."""
    found = best.copy()
    for n in range(1, most + 1):
        for c in range(n, len(best)):
            found[c] = max(found[c], best[c - n] + table[n])
    return found


@njit_cached
def lift(tables: Integers, most: Integers, room: int) -> int:
    """Raise what jobs count by width as far as others allow, one job after the other.

    Args:
        tables: shape (jobs, widths), 0 for width 0, never falling; changed.
        most: widths of each job, shape (jobs,).
        room: all widths together.

    Returns:
        What all together count at most.
    """
    jobs = len(most)
    after = np.zeros((jobs + 1, room + 1), dtype=np.int64)
    for j in range(jobs - 1, -1, -1):
        after[j] = joined(after[j + 1], tables[j], most[j])
    side, before = after[0, room], np.zeros(room + 1, dtype=np.int64)
    for j in range(jobs):
        for n in range(1, most[j] + 1):
            others = 0
            for c in range(room - n + 1):
                others = max(others, before[c] + after[j + 1, room - n - c])
            tables[j, n] = side - others
        before = joined(before, tables[j], most[j])
    return int(side)


@dataclass(frozen=True, eq=False)
class WidthCut:
    """One such row."""

    slot: int
    place: Integers
    """Row of each job in ``tables``, or -1, shape (jobs,)."""
    tables: Integers
    """pi_j(N), shape (jobs it counts, widths)."""
    side: int
    """pi_0."""

    def row(self, runs: Runs) -> Row:
        """Runs that it counts, what each counts, and the side, which is made 1."""
        place = self.place[runs.job]
        at = np.flatnonzero((runs.start <= self.slot) & (self.slot <= runs.end) & (place >= 0))
        counts = self.tables[place[at], runs.workers[at]]
        return at[counts > 0], counts[counts > 0] / self.side, 1.0


def width_cuts(runs: Runs, share: Floats) -> list[WidthCut]:
    """Cuts that a fractional choice of runs violates, at most one for each type and slot.

    Args:
        runs: of the choice.
        share: of each, > 0, shape (runs,).
    """
    found: list[WidthCut] = []
    for u, part, own, capacity in runs.by_type(share):
        before = b""
        for t in np.unique(part.start).tolist():
            now = (part.start <= t) & (t <= part.end)  # nothing is added in other slots
            if now.tobytes() != before:
                before = now.tobytes()
                cut = _cut_at(t, u, part.take(now), own[now], int(capacity.sum()))
                found += [] if cut is None else [cut]
    return found


def _cut_at(t: int, u: int, runs: Runs, share: Floats, room: int) -> WidthCut | None:
    """The cut that runs of one slot and type violate most, if any."""
    instance = runs.chosen.instance
    most = np.minimum(instance.num_chunks, room)
    widths = int(most.max(initial=0)) + 1
    thing, of = np.unique(runs.job * widths + runs.workers, return_inverse=True)
    job, width = np.divmod(thing, widths)
    jobs, first = np.unique(job, return_index=True)
    own = np.bincount(of, share).astype(float)
    price = cover_prices(np.append(first, len(job)), width, own, room)
    counts = np.rint(np.maximum(price, 0.0) * UNITS).astype(np.int64)
    if not counts.any():
        return None
    near = (instance.worker_type == u) & (instance.release_slot <= t) & (t <= runs.chosen.last)
    near[jobs] = False
    order = np.concatenate([jobs, np.flatnonzero(near)])
    place = np.full(instance.jobs, -1)
    place[order] = np.arange(len(order))
    tables = np.zeros((len(order), widths), dtype=np.int64)
    tables[place[job], width] = counts
    tables = np.maximum.accumulate(tables, axis=1)
    side = lift(tables, most[order], room)
    if own @ tables[place[job], width] <= (1.0 + VIOLATED) * side:
        return None
    return WidthCut(t, place, tables, side)
