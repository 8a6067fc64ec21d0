"""Rows that hold for every configuration of a server, found at a point that violates them.

Cuts on storage alone know nothing of loads, and rows on loads nothing of whole services.
"""

from __future__ import annotations

import numpy as np

from formulations.drp.exact.set_tree.configurations import heaviest
from formulations.drp.exact.set_tree.pivot import pivot
from formulations.drp.instance import Floats, Integers
from optsched.jit import njit_cached

PRESENT = 1e-6
"""Weight from which on a burden counts as chosen in part."""
STEPS = 400
"""Most configurations that are looked at for one row."""
ENOUGH = 0.8
"""Part of the violation that may still be found, at which a row is taken."""
_ROUNDING = 1e-9
_LEAST = 1e-6  # coefficients up to here are left out


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
    room = count + jobs
    weight, share, loads = np.zeros(room), np.zeros(room), np.zeros((room, 4))
    for n in range(count):
        weight[n], share[n] = point[inside[n]], size[inside[n]]
        for r in range(4):
            loads[n, r] = load[inside[n], r]
    worth, row = most_violated(
        weight[:count], starts[: taken + 1], share[:count], loads[:count], least
    )
    if worth == 0.0:
        return worth, coefficients
    for n in range(count):
        weight[n] = row[n]
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
                weight[count], share[count] = left, size[first[k]]
                for r in range(4):
                    loads[count, r] = lightest[k, r]
                count += 1
                taken += 1
                starts[taken] = count
    return worth, coefficients
