"""What one server may bear of jobs together: its storage, its bandwidth and (P1) at once.

A burden is what a job on a covering set asks of one of its servers: storage for its service, and
the loads of the nodes that reach no other server of the set. A configuration is a choice of
burdens, at most one of a job, that a server bears. Cuts on storage alone know nothing of loads, and
rows on loads nothing of whole services; the rows found here hold for every configuration.
"""

from __future__ import annotations

import numpy as np

from formulations.drp.instance import Floats, Integers
from formulations.drp.set_state import load_factor
from optsched.decomposition.pivot import pivot
from optsched.jit import njit_cached

SAFE = 1e-8
"""By which a server may be too full here, so that nothing the checker forgives is cut off."""
PRESENT = 1e-6
"""Weight from which on a burden counts as chosen in part."""
STEPS = 400
"""Most configurations that are looked at for one row."""
ENOUGH = 0.8
"""Part of the violation that may still be found, at which a row is taken."""
CELLS = 1024
"""Into which storage is divided where the most that jobs may weigh is looked up."""
MOST_STEPS = 3_000_000
"""Of the search for a configuration."""
_ROUNDING = 1e-9
_SMALL = 0.02  # beside storage that a service hardly takes
_LEAST = 1e-6  # coefficients up to here are left out


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
def _options(
    weight: Floats, first: Integers, size: Floats, load: Floats
) -> tuple[Integers, Integers]:
    """Burdens worth choosing, those of one job after those of another.

    Jobs that weigh most for their storage come first, and of a job's burdens the heaviest; what
    asks no less than a heavier one of its job is left out.

    Returns:
        The burdens, and where those of each job that is left begin.
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
    return option[:count], start[: deep + 1]


@njit_cached
def _ahead(weight: Floats, size: Floats, option: Integers, start: Integers) -> Floats:
    """The most that the last jobs weigh in so much storage, loads left out: (jobs + 1, cells)."""
    deep = len(start) - 1
    most = np.zeros((deep + 1, CELLS + 1))
    for d in range(deep - 1, -1, -1):
        i = option[start[d]]
        cells = int(size[i] * CELLS)
        most[d] = most[d + 1]
        beside = most[d + 1, : CELLS + 1 - cells] + weight[i]
        most[d, cells:] = np.maximum(most[d, cells:], beside)
    return most


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
    """A configuration of most weight beside what a server bears already, depth first.

    Args:
        weight: of each burden, shape (burdens,); what has none is not chosen.
        first: burdens of job k are first[k] .. first[k + 1] - 1; shape (jobs + 1,).
        size: share of storage, the same for all burdens of a job, shape (burdens,).
        load: shares of inbound bandwidth, a, b and c, shape (burdens, 4).
        stored: share of storage that is taken already.
        loaded: shares of the others, shape (4,).
        known: 1 for the burdens of a configuration to begin with; all 0 for none.

    Returns:
        The weight, or no less where ``MOST_STEPS`` do not end the search, and 1 for the burdens
        chosen.
    """
    option, start = _options(weight, first, size, load)
    most = _ahead(weight, size, option, start)
    deep = len(start) - 1
    chosen = known.copy()
    best = 0.0
    for i in range(len(known)):
        best += weight[i] * known[i]
    at, held = np.zeros(deep + 1, dtype=np.int64), np.full(deep + 1, -1)
    filled, gained, borne = np.zeros(deep + 1), np.zeros(deep + 1), np.zeros((deep + 1, 4))
    filled[0], borne[0] = stored, loaded
    d = steps = 0
    while d >= 0:
        steps += 1
        if steps > MOST_STEPS:
            return max(best, most[0, CELLS]), chosen
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
        filled[d + 1], gained[d + 1], held[d] = filled[d], gained[d], -1
        if n < start[d + 1]:
            held[d] = option[n]
            filled[d + 1] += size[option[n]]
            gained[d + 1] += weight[option[n]]
        room = min(int((1.0 + SAFE - filled[d + 1]) * CELLS) + 1, CELLS)
        if filled[d + 1] > 1.0 + SAFE or gained[d + 1] + most[d + 1, room] <= best + _ROUNDING:
            continue
        for x in range(4):
            borne[d + 1, x] = borne[d, x] + (load[held[d], x] if held[d] >= 0 else 0.0)
        if held[d] >= 0 and not bears(borne[d + 1]):
            continue
        d += 1
        if d < deep:
            at[d] = start[d]
    return best, chosen


@njit_cached
def most_violated(
    point: Floats, first: Integers, size: Floats, load: Floats, least: float
) -> tuple[float, Floats]:
    """A row that all configurations satisfy and a point violates about as much as any.

    The point is packed into as few configurations as possible, which come one by one; prices of
    that linear program, divided by the weight of the heaviest configuration, are a row.

    Args:
        point: weight of each burden, shape (burdens,).
        first: burdens of job k are first[k] .. first[k + 1] - 1; shape (jobs + 1,).
        size: share of storage, shape (burdens,).
        load: shares of inbound bandwidth, a, b and c, shape (burdens, 4).
        least: violation of interest.

    Returns:
        Left-hand side of the row at the point, where 1 is allowed, and its coefficients; 0 and
        none where no row is violated by so much.
    """
    burdens = len(point)
    inverse, cost = np.eye(burdens), np.ones(burdens)
    packed = point + 1e-6 * (1.0 + np.arange(burdens) % 7 / 7.0)  # against ties
    row, worth = np.zeros(burdens), 0.0
    nothing, none = np.zeros(4), np.zeros(burdens, dtype=np.int64)
    for _ in range(STEPS):
        price = inverse.T @ cost
        reach = float(price @ point)
        if (cost * packed).sum() <= 1.0 + least:
            break
        column, its_cost = np.zeros(burdens), 0.0
        lowest = int(np.argmin(price))
        if price[lowest] < -_ROUNDING:
            column[lowest] = -1.0
        else:
            weight = np.maximum(price, 0.0)
            most, chosen = heaviest(weight, first, size, load, 0.0, nothing, none)
            if most <= 0.0:
                break
            if (weight @ point) / most > worth:
                worth, row = float(weight @ point) / most, weight / most
            if most <= 1.0 + 1e-7 or (worth > 1.0 + least and worth - 1.0 >= ENOUGH * (reach - 1)):
                break
            column[:], its_cost = chosen, 1.0
        leaving = pivot(inverse, packed, inverse @ column)
        if leaving < 0:
            break
        cost[leaving] = its_cost
    if worth <= 1.0 + least:
        return 0.0, np.zeros(burdens)
    return worth, row


@njit_cached
def configuration_row(
    point: Floats, first: Integers, size: Floats, load: Floats, lightest: Floats, least: float
) -> tuple[float, Floats]:
    """A violated row over all burdens of a server.

    Burdens that ask no less than one chosen in part count what that does; burdens of other jobs
    count what is left beside them, one job after the other.

    Args:
        point: weight of each burden of the server, shape (burdens,).
        first: burdens of job k are first[k] .. first[k + 1] - 1; shape (jobs + 1,).
        size: share of storage, the same for all burdens of a job, shape (burdens,).
        load: shares of inbound bandwidth, a, b and c, shape (burdens, 4).
        lightest: least of each share of the burdens of a job, shape (jobs, 4).
        least: violation of interest.

    Returns:
        As ``most_violated`` does.
    """
    jobs, burdens = len(first) - 1, len(point)
    inside = np.zeros(burdens + jobs, dtype=np.int64)  # burdens of the row, then of lifted jobs
    starts, owner = np.zeros(2 * jobs + 1, dtype=np.int64), np.full(jobs, -1)
    taken = count = 0
    for k in range(jobs):
        before = count
        for i in range(first[k], first[k + 1]):
            if point[i] > PRESENT:
                inside[count] = i
                count += 1
        if count > before:
            owner[k] = taken
            taken += 1
            starts[taken] = count
    coefficients = np.zeros(burdens)
    part = inside[:count]
    worth, row = most_violated(point[part], starts[: taken + 1], size[part], load[part], least)
    if worth == 0.0:
        return worth, coefficients
    room = count + jobs
    weight, share, loads = np.zeros(room), np.zeros(room), np.zeros((room, 4))
    weight[:count], share[:count], loads[:count] = row, size[part], load[part]
    biggest = np.argsort(-size[np.minimum(first[:-1], burdens - 1)])
    for k in biggest:
        if owner[k] >= 0:
            for i in range(first[k], first[k + 1]):
                for n in range(starts[owner[k]], starts[owner[k] + 1]):
                    if (loads[n] <= load[i]).all():
                        coefficients[i] = max(coefficients[i], row[n])
        elif first[k] < first[k + 1] and size[first[k]] <= 1.0:
            most, _ = heaviest(
                weight[:count], starts[: taken + 1], share[:count], loads[:count],
                size[first[k]], lightest[k], np.zeros(count, dtype=np.int64),
            )  # fmt: skip
            left = 1.0 - most - _ROUNDING
            if left > _LEAST:
                coefficients[first[k] : first[k + 1]] = left
                weight[count], share[count], loads[count] = left, size[first[k]], lightest[k]
                count += 1
                taken += 1
                starts[taken] = count
    return worth, coefficients
