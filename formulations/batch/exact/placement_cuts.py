"""Cuts on pooled schedules by which servers can keep runs from their first slot to their last.

A run keeps its servers. Where a worker on server s costs pi_s(t) >= 0 in slot t, no placement of
run r costs less than what (9) says,

    c_r = min { sum_s y_s sum_{t in r} pi_s(t) : sum_s y_s = N, y_s at most what r finds there },

and all that runs together cost at most what all workers would:

    sum over runs c_r <= sum over s, t of pi_s(t) W_s.

The prices are dual values of placing a fractional choice in parts, as far as it goes (Benders,
1962): where that leaves something over, the choice violates the row. They are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.batch.exact.server_cuts import Row, Runs
from formulations.batch.instance import Booleans, Floats, Integers
from optsched.instances.arrays import compress, ranges
from optsched.jit import njit_cached
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options

VIOLATED = 1e-3
"""Part of a side beyond it from which on a cut is worth a row."""
UNITS = 10_000
"""Of the highest price, before prices are rounded to whole numbers."""


@dataclass(frozen=True, eq=False)
class PlacementCut:
    """One such row."""

    kind: int
    """Type of worker."""
    prices: Integers
    """pi_s(t), shape (slots, servers)."""

    def row(self, runs: Runs) -> Row:
        """Runs that it counts, what each counts, and the side, which is made 1."""
        instance, chosen = runs.chosen.instance, runs.chosen
        priced = np.flatnonzero(self.prices.any(axis=1))
        now = (runs.start <= priced[-1]) & (priced[0] <= runs.end)
        at = np.flatnonzero(now & (instance.worker_type[runs.job] == self.kind))
        part, capacity = runs.take(at), instance.worker_capacity[:, self.kind]
        there = np.flatnonzero((capacity >= 1) & chosen.limited.any(axis=0))
        room, prices = capacity[there].astype(np.int64), self.prices[:, there]
        cost = cheapest(
            part.job, part.start, part.end, part.workers, chosen.choices.fast[part.choice],
            chosen.reached[:, there], room, instance.ps_room[:, there] >= 1,
            np.cumsum(np.vstack([np.zeros_like(prices[:1]), prices]), axis=0),
        )  # fmt: skip
        side = float((prices @ room).sum())
        return at[cost > 0], cost[cost > 0] / side, 1.0


@njit_cached
def cheapest(
    job: Integers,
    start: Integers,
    end: Integers,
    workers: Integers,
    fast: Booleans,
    reached: Integers,
    room: Integers,
    served: Booleans,
    spent: Integers,
) -> Integers:
    """What the cheapest placement of each run costs, shape (runs,).

    Args:
        job: of each run, shape (runs,), as the next four.
        start: first slot.
        end: last slot.
        workers: N.
        fast: whether all must be on one server.
        reached: first slot in which a job may use each of the servers, shape (jobs, servers).
        room: workers that each has, shape (servers,).
        served: whether it has a parameter server for a job, shape (jobs, servers).
        spent: what a worker costs before each slot, all in all, shape (slots + 1, servers).
    """
    found, last = np.zeros(len(job), dtype=np.int64), len(spent) - 1
    for r in range(len(job)):
        price = spent[min(end[r] + 1, last)] - spent[min(start[r], last)]
        left = workers[r]
        for s in np.argsort(price, kind="mergesort"):
            if reached[job[r], s] <= start[r]:
                if not fast[r]:
                    n = min(left, room[s])
                else:
                    n = left if room[s] >= left and served[job[r], s] else 0
                found[r] += n * price[s]
                left -= n
    return found


def placement_cuts(runs: Runs, share: Floats, clock: Deadline | None = None) -> list[PlacementCut]:
    """Cuts that a fractional choice of runs violates, for each type at most one for each window.

    Windows are twice as long as runs are on average; each begins in the middle of the one before.

    Args:
        runs: of the choice.
        share: of each, > 0, shape (runs,).
        clock: once it is over, no more are looked for.
    """
    found: list[PlacementCut] = []
    clock = Deadline(None) if clock is None else clock
    for u, part, own, capacity in runs.by_type(share):
        length = 2 * max(1, round(float(np.average(part.end - part.start + 1, weights=own))))
        for begin in range(int(part.start.min()), int(part.end.max()) + 1, length // 2):
            near = (part.start < begin + length) & (begin <= part.end)
            if clock.over() or not near.any():
                continue
            prices = placement_prices(part.take(near), own[near], capacity, clock)
            cut = _cut_of(u, part.take(near), own[near], prices)
            found += [] if cut is None else [cut]
    return found


def _cut_of(u: int, runs: Runs, share: Floats, prices: Floats) -> PlacementCut | None:
    """The cut at some prices, if a choice of runs violates it."""
    if not prices.any():
        return None
    cut = PlacementCut(u, np.rint(prices * (UNITS / prices.max())).astype(np.int64))
    at, counts, side = cut.row(runs)
    return cut if share[at] @ counts > (1.0 + VIOLATED) * side else None


def placement_prices(runs: Runs, share: Floats, capacity: Floats, clock: Deadline) -> Floats:
    """Of a worker on each server in each slot: what one more would place, worker-slots.

    Args:
        runs: of one type of worker.
        share: of each, > 0, shape (runs,).
        capacity: of servers, shape (servers,).
        clock: what time there is.

    Returns:
        Shape (slots, servers); all 0 where everything can be placed, or that was not found out.
    """
    most, servers = runs.most(), len(capacity)
    run, server = np.nonzero(most)
    of, slot = ranges(runs.start[run], runs.end[run] + 1)
    peak = np.isin(slot, runs.start)  # nothing is added in other slots
    of, slot = of[peak], slot[peak]
    place, rows = compress(slot * servers + server[of])
    length = (runs.end - runs.start + 1).astype(float)
    model = Model("placement of a fractional choice")
    y = model.continuous("y", len(run), upper=most[run, server] * share[run])
    model.add("workers", y.sum_by(run, len(share)) <= runs.workers * share)
    model.add("capacity", y[of].sum_by(place, len(rows)) <= capacity[rows % servers])
    model.maximize(y @ length[run])
    limits = Options(time_limit=clock.within(1.0), stop=clock.stop)
    solution = solve(model, "highs", options=limits)
    prices = np.zeros((int(runs.end.max()) + 1) * servers)
    if "capacity" in solution.duals:
        prices[rows] = np.abs(solution.duals["capacity"])
    return prices.reshape(-1, servers)
