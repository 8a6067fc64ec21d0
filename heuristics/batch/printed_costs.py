"""COST_C and COST_D line by line as Algorithms 3 and 4 print them, to show where they go wrong.

Prices "at tau_i" are read at the first slot of the window, z' left empty by line 19 as a parameter
server on s_i1. Everything else is literal, so the cost COST_D returns need not be that of its
schedule, and COST_C may miss the cheapest server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from formulations.batch.instance import Integers
from formulations.batch.problem_9 import ServerView


@dataclass(frozen=True, eq=False)
class PrintedAnswer:
    """What lines 1 to 38 return."""

    claimed: float
    """The cost it says."""
    workers: Integers
    """y, shape (servers,)."""
    ps: int
    """Server of the parameter server."""

    def cost(self, market: ServerView, duration: int) -> float:
        """The cost of the schedule itself, the run starting with the window."""
        bill = market.worker_price[:, :duration].sum(axis=1) @ self.workers
        return float(bill + market.ps_price[self.ps, :duration].sum())


def cost_d_printed(market: ServerView, workers: int, duration: int) -> PrintedAnswer | None:
    """Algorithm 4 for a run that starts with the window; None where it returns no schedule.

    Args:
        market: prices and free amounts.
        workers: D_u.
        duration: d_j, slots; no more than the window has.
    """
    reached = np.flatnonzero(market.release <= market.first)
    free = market.workers[:, :duration].min(axis=1)
    services = market.services[:, :duration].min(axis=1)
    worker_price, ps_price = market.worker_price[:, 0], market.ps_price[:, 0]
    rent = market.ps_price[:, :duration].sum(axis=1)
    order = reached[np.argsort(worker_price[reached], kind="stable")].tolist()
    y = np.zeros(len(free), dtype=np.int64)
    left, used_last = workers, -1
    for position, s in enumerate(order):  # lines 4 to 7
        y[s] = int(min(free[s], left))
        left -= int(y[s])
        used_last = position if y[s] else used_last
    if left > 0:
        return None
    base = float(market.worker_price[:, :duration].sum(axis=1) @ y)
    found = [  # lines 13 to 17
        PrintedAnswer(base + float(rent[s]), y, s) for s in order[:used_last] if services[s] >= 1
    ]
    for one in order[used_last:]:  # lines 18 to 33
        room, moved, cost = free[one] - y[one], y.copy(), base + float(rent[one])
        for other in reversed(order[: used_last + 1]):
            step = worker_price[one] - worker_price[other] - ps_price[one]
            if step <= 0 and room > 0:
                shift = int(min(moved[other], room))
                room -= shift
                cost += float(step) * shift
                moved[other] -= shift
                moved[one] += shift
                continue
            if services[one] >= 1:
                found.append(PrintedAnswer(cost, moved, one))
            break
    return min(found, key=lambda answer: answer.claimed, default=None)


def cost_c_printed(market: ServerView, workers: int, duration: int) -> PrintedAnswer | None:
    """Algorithm 3 for a run that starts with the window; None where no server has room.

    Line 3 sorts servers by what they cost at tau_i, line 8 bills the first of them over the run.
    Arguments are the same as of ``cost_d_printed``.
    """
    free = market.workers[:, :duration].min(axis=1)
    services = market.services[:, :duration].min(axis=1)
    fits = (market.release <= market.first) & (free >= workers) & (services >= 1)
    if not fits.any():
        return None
    now = workers * market.worker_price[:, 0] + market.ps_price[:, 0]
    first = int(np.argmin(np.where(fits, now, np.inf)))
    y = np.zeros(len(free), dtype=np.int64)
    y[first] = workers
    answer = PrintedAnswer(0.0, y, first)
    return replace(answer, claimed=answer.cost(market, duration))
