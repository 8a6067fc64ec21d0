"""What one server may bear of jobs together: its storage, its bandwidth and (P1) at once.

A burden is what a job on a covering set asks of one of its servers: storage for its service, and
the loads of the nodes that reach no other server of the set. A configuration is a choice of
burdens, at most one of a job, that a server bears. The heaviest one is found depth first, bounded
by a table over storage; where loads are what binds, burdens are less worth for what they load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.drp.instance import Floats, Integers
from formulations.drp.loads import load_factor
from optsched.jit import njit_cached

SAFE = 1e-8
"""Margin by which a server may be too full, so that nothing the checker allows is cut off."""
CELLS = 1024
"""Cells into which storage is divided when the most that jobs may weigh is looked up."""
FEW_STEPS, MOST_STEPS = 5_000, 3_000_000
"""Steps of the search for a configuration: bounded by storage alone, and after that."""
ROUNDS = 6
"""Rounds in which the prices of loads are searched after that."""
_ROUNDING = 1e-9
_SLACK = 1e-12  # that a price of loads does not use, up to which it is as good as can be
_SMALL = 0.02  # beside storage that a service hardly takes


class _Burdens(NamedTuple):
    """What a configuration is chosen from, in the order in which the search looks at it."""

    weight: Floats
    size: Floats
    load: Floats
    option: Integers
    """Options worth choosing, job after job."""
    start: Integers
    """First option of each job, shape (jobs + 1,)."""


class _Price(NamedTuple):
    """Prices of loads, such that what a server bears costs no more than ``most``."""

    load: Floats
    """Prices of inbound bandwidth, a, b and c, shape (4,)."""
    most: float


@njit_cached
def bears(load: Floats) -> bool:
    """Whether inbound bandwidth, a, b and c of (P1) are within a server's capacities."""
    return bool(load[0] <= 1.0 + SAFE and load_factor(load[1], load[2], load[3]) <= 1.0 + SAFE)


@njit_cached
def _asks_more(load: Floats, one: int, others: Integers) -> bool:
    """Whether a burden asks no less than one of some others."""
    for other in others:
        less = False
        for x in range(4):
            less |= load[one, x] < load[other, x]
        if not less:
            return True
    return False


@njit_cached
def _options(weight: Floats, first: Integers, size: Floats, load: Floats) -> _Burdens:
    """Burdens worth choosing.

    Jobs that weigh most for their storage come first, and of a job's burdens the heaviest; what
    asks no less than a heavier one of its job is left out.
    """
    jobs = len(first) - 1
    ratio = np.zeros(jobs)
    for k in range(jobs):
        for i in range(first[k], first[k + 1]):
            if size[i] <= 1.0 + SAFE:
                ratio[k] = max(ratio[k], weight[i] / (size[i] + _SMALL))
    option = np.zeros(len(weight), dtype=np.int64)
    start, deep, count = np.zeros(jobs + 1, dtype=np.int64), 0, 0
    for k in np.argsort(-ratio, kind="mergesort"):
        if ratio[k] <= 0.0:
            break
        for i in range(first[k], first[k + 1]):  # sorted as they come
            if weight[i] > 0.0:
                n = count
                while n > start[deep] and weight[option[n - 1]] < weight[i]:
                    option[n] = option[n - 1]
                    n -= 1
                option[n] = i
                count += 1
        left = start[deep]
        for n in range(start[deep], count):
            if not _asks_more(load, option[n], option[start[deep] : left]):
                option[left] = option[n]
                left += 1
        count = left
        deep += 1
        start[deep] = count
    return _Burdens(weight, size, load, option[:count], start[: deep + 1])


@njit_cached
def _room(filled: float) -> int:
    """Cells of storage that are left, rounded up."""
    return min(int((1.0 + SAFE - filled) * CELLS) + 1, CELLS)


@njit_cached
def _cost(price: Floats, load: Floats) -> float:
    total = 0.0
    for x in range(4):
        total += price[x] * load[x]
    return total


@njit_cached
def _best(burdens: _Burdens, d: int, price: Floats) -> tuple[float, int]:
    """The burden of a job that weighs most beyond what its loads cost, -1 if none does."""
    best, chosen = 0.0, -1
    for n in range(burdens.start[d], burdens.start[d + 1]):
        i = burdens.option[n]
        worth = burdens.weight[i] - _cost(price, burdens.load[i])
        if worth > best:
            best, chosen = worth, i
    return best, chosen


@njit_cached
def _cells(burdens: _Burdens, d: int) -> int:
    """That a job takes at least."""
    return min(int(burdens.size[burdens.option[burdens.start[d]]] * CELLS), CELLS + 1)


@njit_cached
def _look_ahead(burdens: _Burdens, price: Floats, most: Floats) -> None:
    """Write the most that the last jobs weigh in so much storage beyond what their loads cost.

    Args:
        burdens: in order.
        price: of loads, shape (4,).
        most: to write to, shape (jobs + 1, cells + 1).
    """
    deep = len(burdens.start) - 1
    most[deep] = 0.0
    for d in range(deep - 1, -1, -1):
        best, cells = _best(burdens, d, price)[0], _cells(burdens, d)
        here, after = most[d], most[d + 1]
        for n in range(cells):
            here[n] = after[n]
        for c in range(cells, CELLS + 1):
            here[c] = max(after[c], after[c - cells] + best)


@njit_cached
def _packed(
    burdens: _Burdens, stored: float, loaded: Floats, price: Floats, most: Floats
) -> Floats:
    """Loads of a server that holds what weighs most there, if all that binds is storage."""
    cells, total = _room(stored), loaded.copy()
    for d in range(len(burdens.start) - 1):
        if most[d, cells] > most[d + 1, cells]:
            total += burdens.load[_best(burdens, d, price)[1]]
            cells -= _cells(burdens, d)
    return total


@njit_cached
def _priced(
    burdens: _Burdens, stored: float, loaded: Floats, best: float, most: Floats
) -> tuple[_Price, float]:
    """The price of loads that bounds best, about, and the bound: a Lagrangian by Polyak's steps.

    Args:
        burdens: in order.
        stored: share of storage that is taken already.
        loaded: shares of the others, shape (4,).
        best: weight of a configuration.
        most: room for ``_look_ahead``.
    """
    load, total = np.zeros(4), 0.0
    found, bound = _Price(load.copy(), total), np.inf
    for _ in range(ROUNDS):
        _look_ahead(burdens, load, most)
        value = total + most[0, _room(stored)] - _cost(load, loaded)
        if value < bound:
            found, bound = _Price(load.copy(), total), value
        if value <= best + _ROUNDING:
            break
        inbound, a, b, c = _packed(burdens, stored, loaded, load, most)
        factor = load_factor(a, b, c)
        over = max(inbound, factor) - 1.0
        if over > SAFE:  # loads are dearer in the direction in which they are too much
            step = (value - best) / over
            angle = 0.5 * np.arctan2(2.0 * c, a - b)
            cos, sin = np.cos(angle), np.sin(angle)
            of_factor = np.array([0.0, cos * cos, sin * sin, 2.0 * sin * cos])
            load += step * (np.array([1.0, 0.0, 0.0, 0.0]) if inbound > factor else of_factor)
            total += step * (1.0 + SAFE)  # what servers bear at most
        else:  # they are cheaper, all of them
            slack = total - _cost(load, np.array([inbound, a, b, c]))
            if slack <= _SLACK:
                break
            part = max(0.5, 1.0 - (value - best) / slack)
            load, total = part * load, part * total
    return found, bound


@njit_cached
def _search(
    burdens: _Burdens, stored: float, loaded: Floats, plain: Floats, most: Floats, price: _Price,
    steps: int, best: float, chosen: Integers,
) -> tuple[bool, float]:  # fmt: skip
    """Look for a heavier configuration, depth first.

    Args:
        burdens: in order.
        stored: share of storage that is taken already.
        loaded: shares of the others, shape (4,).
        plain: from ``_look_ahead`` where loads cost nothing.
        most: from there at prices.
        price: these.
        steps: most of them.
        best: weight of the heaviest one known.
        chosen: 1 for its burdens; becomes that of the one found.

    Returns:
        Whether the search ended, and the weight of the heaviest one known then.
    """
    start, option, deep = burdens.start, burdens.option, len(burdens.start) - 1
    at, held = np.zeros(deep + 1, dtype=np.int64), np.full(deep + 1, -1)
    filled, gained, borne = np.zeros(deep + 1), np.zeros(deep + 1), np.zeros((deep + 1, 4))
    filled[0], borne[0] = stored, loaded
    d = 0
    for _ in range(steps):
        if d < 0:
            return True, best
        if d == deep:
            if gained[d] > best:
                best = gained[d]
                chosen[:] = 0
                for e in range(deep):
                    if held[e] >= 0:
                        chosen[held[e]] = 1
            d -= 1
            continue
        n = at[d]
        if n > start[d + 1]:
            d -= 1
            continue
        at[d] += 1
        i = option[n] if n < start[d + 1] else -1
        held[d], filled[d + 1], gained[d + 1] = i, filled[d], gained[d]
        if i >= 0:
            filled[d + 1] += burdens.size[i]
            gained[d + 1] += burdens.weight[i]
        if filled[d + 1] > 1.0 + SAFE:
            continue
        room, wanted = _room(filled[d + 1]), best + _ROUNDING - gained[d + 1]
        if plain[d + 1, room] <= wanted:
            continue
        for x in range(4):
            borne[d + 1, x] = borne[d, x] + (burdens.load[i, x] if i >= 0 else 0.0)
        if most[d + 1, room] + price.most - _cost(price.load, borne[d + 1]) <= wanted:
            continue
        if i >= 0 and not bears(borne[d + 1]):
            continue
        d += 1
        if d < deep:
            at[d] = start[d]
    return False, best


@njit_cached
def heaviest(
    weight: Floats,
    first: Integers,
    size: Floats,
    load: Floats,
    stored: float,
    loaded: Floats,
    known: Integers,
) -> tuple[float, Integers]:
    """A configuration of most weight beside what a server bears already.

    Args:
        weight: of each burden, shape (burdens,); what has none is not chosen.
        first: burdens of job k are first[k] .. first[k + 1] - 1; shape (jobs + 1,).
        size: share of storage, the same for all burdens of a job, shape (burdens,).
        load: shares of inbound bandwidth, a, b and c, shape (burdens, 4).
        stored: share of storage that is taken already, at most 1.
        loaded: shares of the others, shape (4,).
        known: 1 for the burdens of a configuration to begin with; all 0 for none.

    Returns:
        The weight, or no less where ``MOST_STEPS`` do not end the search, and 1 for the burdens
        chosen.
    """
    burdens = _options(weight, first, size, load)
    chosen, best = known.copy(), 0.0
    for i in range(len(known)):
        best += weight[i] * known[i]
    plain, price = np.empty((len(burdens.start), CELLS + 1)), _Price(np.zeros(4), 0.0)
    _look_ahead(burdens, price.load, plain)
    ended, best = _search(burdens, stored, loaded, plain, plain, price, FEW_STEPS, best, chosen)
    if ended:
        return best, chosen
    most = np.empty_like(plain)
    price, bound = _priced(burdens, stored, loaded, best, most)
    _look_ahead(burdens, price.load, most)
    ended, best = _search(burdens, stored, loaded, plain, most, price, MOST_STEPS, best, chosen)
    return best if ended else max(best, bound), chosen
