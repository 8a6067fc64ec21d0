"""The depth-first search of ``knapsack``: over the patterns that fit one knapsack.

Options come by decreasing value for what they take at resource prices u >= 0, and a pattern is
made by adding options in that order, so that each is met once. Whatever is still to come is worth
no more than

* the capacity left, at prices u, filled in this order, the last option in part, options that no
  longer fit left out (the linear relaxation of the surrogate constraint);
* if there is a table: what the options to come add on a coarse grid of two resources, sizes
  rounded down to it. Where the grid has a cell per unit, the table is exact for these resources.

Both never grow with later options: the first that cannot beat what is known ends a level. The
options that still fit at each level lie on a stack, so that those that do not are met once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.decomposition.listed import Integers
from optsched.jit import njit_cached
from optsched.model.expression import Floats

_STEPS = 120  # of the descent to resource prices
_LEVELS = 8  # of a pattern, for which there is room from the beginning
_SLACK = 1e-9  # relative error, at most, of what is ahead


class Items(NamedTuple):
    """What may go into the knapsack, in the order of the search."""

    size: Integers
    """Shape (options, resources)."""
    value: Floats
    """Shape (options,)."""
    priced: Floats
    """u . size, shape (options,)."""
    kind: Integers
    """Type of item, shape (options,)."""
    number: Integers
    """Items left of each type, shape (types,)."""
    capacity: Integers
    """Shape (resources,)."""
    room: float
    """u . capacity."""


class Conditions(NamedTuple):
    """Terms: values of patterns that have at least so many units of each option named."""

    worth: Floats
    """Shape (terms,)."""
    term: Integers
    """Shape (conditions,)."""
    option: Integers
    """Place in the order of the search, shape (conditions,)."""
    least: Integers
    """At least one, shape (conditions,)."""


class Table(NamedTuple):
    """What options from one on can add, by cell of the free space; without cells there is none."""

    axes: Integers
    """The two resources; twice the same if there is one only, shape (2,)."""
    cells: Integers
    """Along each axis, shape (2,); the second has one cell if there is one resource."""
    most: Floats
    """Shape (options + 1, cells, cells), or (0, 0, 0)."""


@njit_cached
def resource_prices(size: Floats, value: Floats, number: Integers) -> Floats:
    """Prices u >= 0 of capacities scaled to 1 at which a pattern is worth little more than them.

    Subgradient steps on sum u + sum_k n_k max(0, v_k - u . s_k), whose least value is that of the
    linear relaxation; the best prices met. Any prices make true bounds.
    """
    options, resources = size.shape
    price = np.zeros(resources)
    scale, worth = 0.0, 0.0
    for k in range(options):  # the value of a full knapsack, spread over what is scarce
        worth += value[k]
        for r in range(resources):
            price[r] += size[k, r] * number[k]
            scale += size[k, r] * number[k]
    dearest = 0.0
    for k in range(options):
        paid = 0.0
        for r in range(resources):
            paid += price[r] * size[k, r] / max(scale, 1e-12)
        dearest = max(dearest, value[k] / max(paid, 1e-12))
    step = 0.8 * min(dearest, worth)
    for r in range(resources):
        price[r] *= step / max(scale, 1e-12)
    best, kept = np.inf, price.copy()
    slope = np.zeros(resources)
    step *= 0.1
    for _ in range(_STEPS):
        total, length = 0.0, 0.0
        for r in range(resources):
            total += price[r]
            slope[r] = 1.0
        for k in range(options):
            gain = value[k]
            for r in range(resources):
                gain -= price[r] * size[k, r]
            if gain > 0:
                total += number[k] * gain
                for r in range(resources):
                    slope[r] -= number[k] * size[k, r]
        if total < best:
            best = total
            kept = price.copy()
        for r in range(resources):
            length += slope[r] * slope[r]
        if length <= 1e-24:
            break
        for r in range(resources):
            price[r] = max(0.0, price[r] - step * slope[r] / np.sqrt(length))
        step *= 0.96
    return kept


@njit_cached
def tabulated(size: Integers, value: Floats, number: Integers, cells: Integers) -> Floats:
    """What options from one on can add within so many cells, shape (options + 1, cells, cells).

    Args:
        size: of each option in cells of two axes, shape (options, 2).
        value: shape (options,).
        number: units of each option there may be, shape (options,).
        cells: of each axis, shape (2,).
    """
    options = len(value)
    rows, columns = cells[0] + 1, cells[1] + 1
    most = np.zeros((options + 1, rows, columns))
    for k in range(options - 1, -1, -1):
        for x in range(rows):
            for y in range(columns):
                most[k, x, y] = most[k + 1, x, y]
        if value[k] <= 0:
            continue
        a, b = size[k, 0], size[k, 1]
        for _ in range(number[k]):
            for x in range(rows - 1, a - 1, -1):
                for y in range(columns - 1, b - 1, -1):
                    most[k, x, y] = max(most[k, x, y], most[k, x - a, y - b] + value[k])
    return most


@njit_cached
def fits(items: Items, k: int, free: Integers, left: Integers) -> bool:
    """Whether a pattern has room for another unit of an option, and there is one."""
    room = left[items.kind[k]] > 0
    for r in range(len(free)):
        room = room and items.size[k, r] <= free[r]
    return bool(room)


@njit_cached
def narrow(
    items: Items, stack: Integers, first: int, last: int, free: Integers, left: Integers
) -> int:
    """Put those options of a part of the stack that still fit on top of it; where they end."""
    top = last
    for place in range(first, last):
        if fits(items, stack[place], free, left):
            stack[top] = stack[place]
            top += 1
    return top


@njit_cached
def _below(
    items: Items,
    stack: Integers,
    tops: Integers,
    depth: int,
    first: int,
    free: Integers,
    left: Integers,
) -> Integers:
    """Begin a level with what still fits of the one above it; the stack, longer if need be.

    Args:
        items: the options.
        stack: of them, level upon level.
        tops: where levels end, written at ``depth``.
        depth: of the level.
        first: place from which on options of the level above count.
        free: capacity that is left.
        left: units that are left.
    """
    last = tops[depth - 1]
    if 2 * last - first > len(stack):
        stack = np.concatenate((stack, stack))
    tops[depth] = narrow(items, stack, first, last, free, left)
    return stack


@njit_cached
def ahead(items: Items, options: Integers, left: Integers, room: float) -> float:
    """The surrogate relaxation of options that fit: the most they add to a pattern."""
    worth = 0.0
    for k in options:
        if items.value[k] <= 0:
            break
        units = left[items.kind[k]]
        if items.priced[k] > 0 and units * items.priced[k] > room:
            return float(worth + items.value[k] * max(room, 0.0) / items.priced[k])
        worth += units * items.value[k]
        room -= units * items.priced[k]
    return worth


@njit_cached
def reward(terms: Conditions, short: Integers, units: Integers, first: int) -> float:
    """Positive values that a pattern does not have yet, but may get by options from one on."""
    total = 0.0
    for t in range(len(terms.worth)):
        if terms.worth[t] <= 0 or short[t] == 0:
            continue
        open_ = True
        for c in range(len(terms.term)):
            if terms.term[c] == t and units[terms.option[c]] < terms.least[c]:
                open_ = open_ and terms.option[c] >= first
        if open_:
            total += terms.worth[t]
    return total


@njit_cached
def best_patterns(
    items: Items, terms: Conditions, table: Table, beat: float, keep: int, nodes: int
) -> tuple[Integers, Floats, float]:
    """The most valuable patterns worth more than ``beat``, and what none exceeds.

    Returns:
        Units of each option, shape (patterns, options), the value of each, and a bound on the
        value of every pattern: the greatest of ``beat``, the best one found, and what was left
        when so many bounds had been computed.
    """
    options, resources = items.size.shape
    found = np.zeros((keep, options), dtype=np.int64)
    value = np.full(keep, beat)
    count, worst = 0, 0
    free, left = items.capacity.copy(), items.number.copy()
    units = np.zeros(options, dtype=np.int64)
    short = np.zeros(len(terms.worth), dtype=np.int64)
    for c in range(len(terms.term)):
        short[terms.term[c]] += 1
    chosen = np.zeros(left.sum() + 1, dtype=np.int64)
    worths, rooms = np.zeros(len(chosen)), np.zeros(len(chosen))  # so that no rounding adds up
    stack = np.arange(_LEVELS * options)
    tops = np.zeros(len(chosen), dtype=np.int64)
    tops[0] = narrow(items, stack, 0, options, free, left)
    worth, room, dropped = 0.0, items.room, beat
    depth, place, visited, new = 0, options, 0, True
    while True:
        if new and worth > value[worst]:
            for k in range(options):
                found[worst, k] = units[k]
            value[worst] = worth
            count = min(count + 1, keep)
            worst = int(np.argmin(value)) if count == keep else count
        new = False
        if place < tops[depth]:
            k = int(stack[place])
            visited += 1
            extra = reward(terms, short, units, k) if len(terms.worth) else 0.0
            most = worth + extra
            if items.value[k] > 0:
                most += ahead(items, stack[place : tops[depth]], left, room)
            elif extra == 0:
                most = value[worst]
            if len(table.most) and most > value[worst]:
                a, b = table.axes[0], table.axes[1]
                x = free[a] * table.cells[0] // max(1, items.capacity[a])
                y = free[b] * table.cells[1] // max(1, items.capacity[b])
                most = min(most, worth + extra + table.most[k, x, y])
            if most > value[worst]:
                new = visited <= nodes
                dropped = dropped if new else max(dropped, most)
        if new:  # down, with one more unit
            chosen[depth] = place
            worths[depth], rooms[depth] = worth, room
            worth += items.value[k]
            room -= items.priced[k]
            step = 1
        elif depth == 0:
            break
        else:  # up, to go on with the next option
            depth -= 1
            place = chosen[depth]
            k = int(stack[place])
            worth, room = worths[depth], rooms[depth]
            step = -1
        units[k] += step
        left[items.kind[k]] -= step
        for r in range(resources):
            free[r] -= step * items.size[k, r]
        for c in range(len(terms.term)):
            if terms.option[c] == k and units[k] == terms.least[c] - (1 - step) // 2:
                t = terms.term[c]
                short[t] -= step
                if step > 0 and short[t] == 0:
                    worth += terms.worth[t]
        if step < 0:
            place += 1
            continue
        depth += 1
        stack = _below(items, stack, tops, depth, place, free, left)
        place = tops[depth - 1]
    for n in range(count):
        dropped = max(dropped, value[n])
    return found[:count], value[:count], dropped


@njit_cached
def maximal_patterns(
    items: Items, least: float, most: int, nodes: int
) -> tuple[Integers, Integers, bool]:
    """Every pattern worth at least so much that has no room for another unit of any option.

    Values are whole numbers, and so small that sums of them are exact.

    Args:
        items: values must not be negative.
        least: worth from which on a pattern counts.
        most: patterns after which the list is abandoned.
        nodes: bounds computed after which it is abandoned.

    Returns:
        Options held, pattern after pattern, each ascending; where each pattern ends; whether
        the list is complete.
    """
    options, resources = items.size.shape
    held, ends, count = np.zeros(4096, dtype=np.int64), np.zeros(most, dtype=np.int64), 0
    free, left = items.capacity.copy(), items.number.copy()
    chosen = np.zeros(left.sum() + 1, dtype=np.int64)
    rooms = np.zeros(len(chosen))
    stack = np.arange(_LEVELS * options)
    tops = np.zeros(len(chosen), dtype=np.int64)
    tops[0] = narrow(items, stack, 0, options, free, left)
    worth, room, depth, place, visited, written = 0.0, items.room, 0, options, 0, 0
    enough = least - 0.5 - _SLACK * abs(least)  # what is ahead is not computed exactly
    while True:
        down = False
        if place < tops[depth]:
            visited += 1
            down = worth + ahead(items, stack[place : tops[depth]], left, room) >= enough
        if not down and worth >= least and _full(items, free, left):
            if count == most:
                return held[:written], ends[:count], False
            while written + depth > len(held):
                held = np.concatenate((held, np.zeros(len(held), dtype=np.int64)))
            for d in range(depth):
                held[written + d] = stack[chosen[d]]
            written += depth
            ends[count] = written
            count += 1
        if visited > nodes:
            return held[:written], ends[:count], False
        if down:
            k = int(stack[place])
            chosen[depth], rooms[depth] = place, room
            room -= items.priced[k]
            step = 1
        elif depth == 0:
            return held[:written], ends[:count], True
        else:
            depth -= 1
            place, room = chosen[depth], rooms[depth]
            k = int(stack[place])
            step = -1
        worth += step * items.value[k]
        left[items.kind[k]] -= step
        for r in range(resources):
            free[r] -= step * items.size[k, r]
        if not down:
            place += 1
            continue
        depth += 1
        stack = _below(items, stack, tops, depth, place, free, left)
        place = tops[depth - 1]


@njit_cached
def _full(items: Items, free: Integers, left: Integers) -> bool:
    """Whether no further unit of any option fits."""
    k = 0
    while k < len(items.value) and not fits(items, k, free, left):
        k += 1
    return k == len(items.value)
