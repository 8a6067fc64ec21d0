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
_ROUNDING = 1e-9
_LEAST = 1e-6  # coefficients up to here are left out


@njit_cached
def bears(load: Floats) -> bool:
    """Whether inbound bandwidth, a, b and c of (P1) are within a server's capacities."""
    return bool(load[0] <= 1.0 + SAFE and load_factor(load[1], load[2], load[3]) <= 1.0 + SAFE)


@njit_cached
def heaviest(
    weight: Floats, first: Integers, size: Floats, load: Floats, stored: float, loaded: Floats
) -> tuple[float, Integers]:
    """A configuration of most weight beside what a server bears already, depth first.

    Args:
        weight: of each burden, shape (burdens,); what has none is not chosen.
        first: burdens of job k are first[k] .. first[k + 1] - 1; shape (jobs + 1,).
        size: share of storage, shape (burdens,).
        load: shares of inbound bandwidth, a, b and c, shape (burdens, 4).
        stored: share of storage that is taken already.
        loaded: shares of the others, shape (4,).

    Returns:
        The weight, and 1 for the burdens chosen.
    """
    jobs = len(first) - 1
    most, least = np.zeros(jobs), np.full(jobs, np.inf)
    for k in range(jobs):
        for i in range(first[k], first[k + 1]):
            if weight[i] > 0.0:
                most[k], least[k] = max(most[k], weight[i]), min(least[k], size[i])
    ratio = np.zeros(jobs)
    for k in range(jobs):
        if most[k] > 0.0:
            ratio[k] = -most[k] / max(least[k], _ROUNDING)
    order = np.argsort(ratio)
    deep = 0
    while deep < jobs and most[order[deep]] > 0.0:
        deep += 1
    option, held = np.zeros(deep + 1, dtype=np.int64), np.full(deep + 1, -1)
    filled, gained, borne = np.zeros(deep + 1), np.zeros(deep + 1), np.zeros((deep + 1, 4))
    filled[0], borne[0] = stored, loaded
    best, chosen = 0.0, np.zeros(len(weight), dtype=np.int64)
    d = 0
    if deep > 0:
        option[0] = first[order[0]]
    while d >= 0:
        if d == deep:
            if gained[d] > best:
                best = gained[d]
                chosen[:] = 0
                for e in range(deep):
                    if held[e] >= 0:
                        chosen[held[e]] = 1
            d -= 1
            continue
        k, i = order[d], option[d]
        if i == first[k]:  # the others of least size, the last one in part
            room, bound = 1.0 + SAFE - filled[d], gained[d]
            for e in range(d, deep):
                j = order[e]
                if least[j] <= room:
                    bound += most[j]
                    room -= least[j]
                else:
                    bound += most[j] * max(room, 0.0) / least[j]
                    break
            if bound <= best + _ROUNDING:
                d -= 1
                continue
        if i > first[k + 1]:
            d -= 1
            continue
        option[d] += 1
        filled[d + 1], gained[d + 1], held[d] = filled[d], gained[d], -1
        borne[d + 1] = borne[d]
        if i < first[k + 1]:
            filled[d + 1] += size[i]
            borne[d + 1] += load[i]
            if weight[i] <= 0.0 or filled[d + 1] > 1.0 + SAFE or not bears(borne[d + 1]):
                continue
            gained[d + 1] += weight[i]
            held[d] = i
        d += 1
        if d < deep:
            option[d] = first[order[d]]
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
    nothing = np.zeros(4)
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
            most, chosen = heaviest(weight, first, size, load, 0.0, nothing)
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
                size[first[k]], lightest[k],
            )  # fmt: skip
            left = 1.0 - most - _ROUNDING
            if left > _LEAST:
                coefficients[first[k] : first[k + 1]] = left
                weight[count], share[count], loads[count] = left, size[first[k]], lightest[k]
                count += 1
                taken += 1
                starts[taken] = count
    return worth, coefficients
