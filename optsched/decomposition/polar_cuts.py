"""Polar cuts: rows that all members of a set satisfy and a point violates.

A linear program covers the point with as little total weight of members as possible. Its columns,
the members, are generated (Gilmore and Gomory, 1961). If a total weight of 1 does not suffice, the
dual values are such a row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optsched.model.expression import Floats

ENOUGH = 0.8
"""Part of the violation that may still be found at which a row is taken."""
_ROUNDING = 1e-9
_TIES = 1e-6  # by which amounts to cover are raised, each differently, against degeneracy


def violated_row(
    point: Floats,
    heaviest: Callable[[Floats], tuple[float, Floats]],
    *,
    least: float = 1e-3,
    steps: int = 400,
) -> Floats | None:
    """Return a >= 0 with a v <= 1 for every member v and a point > 1 + least; None: not found.

    Args:
        point: >= 0, shape (n,).
        heaviest: (weight >= 0, shape (n,)) -> the most of weight v over all members v, or a bound
            above it, and the member. What is at most a member, part by part, must be one too.
        least: violation of interest.
        steps: most members that are asked for.

    Example:
        Of three jobs two fit, whichever they are; the row says so.

        >>> def heaviest(weight):
        ...     two = np.argsort(-weight)[:2]
        ...     return float(weight[two].sum()), np.isin(range(3), two).astype(float)
        >>> violated_row(np.array([0.8, 0.8, 0.8]), heaviest).round(6).tolist()
        [0.5, 0.5, 0.5]
        >>> violated_row(np.array([0.8, 0.8, 0.4]), heaviest) is None
        True
    """
    n = len(point)
    inverse, cost = np.eye(n), np.ones(n)
    amount = point + _TIES * (1.0 + np.arange(n) % 7 / 7.0)
    row, violation = np.zeros(n), 1.0
    for _ in range(steps):
        dual = inverse.T @ cost
        if cost @ amount <= 1.0 + least:
            break
        lowest = int(dual.argmin())
        if dual[lowest] < -_ROUNDING:  # covering more than the point costs nothing
            column, its_cost = -np.eye(n)[lowest], 0.0
        else:
            weight = np.maximum(dual, 0.0)
            most, column = heaviest(weight)
            if most <= 0.0:
                break
            if weight @ point / most > violation:
                row, violation = weight / most, float(weight @ point) / most
            found = violation > 1.0 + least and violation - 1.0 >= ENOUGH * (dual @ point - 1.0)
            if most <= 1.0 + _ROUNDING or found:
                break
            its_cost = 1.0
        change = inverse @ column
        ratio = np.full(n, np.inf)
        np.divide(amount, change, out=ratio, where=change > _ROUNDING)
        leaving = int(ratio.argmin())
        if not np.isfinite(ratio[leaving]):
            break
        entering = inverse[leaving] / change[leaving]
        amount = np.maximum(amount - ratio[leaving] * change, 0.0)
        amount[leaving] = ratio[leaving]
        inverse = inverse - np.outer(change, entering)
        inverse[leaving] = entering
        cost[leaving] = its_cost
    return row if violation > 1.0 + least else None
