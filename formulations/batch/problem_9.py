"""Problem (9): the cheapest schedule of one job at given prices and free amounts.

Exact in polynomial time. On one server (xi = 1) each server is tried. Spread (xi = 0),
workers and parameter server use different capacities at additive prices, so they separate: workers
fill the servers in order of price, and the parameter server takes the cheapest. This is what the
paper's COST_C and COST_D look for; ``problem_9`` states the same as a mixed-integer program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.batch.domain_reduction import Choices, choices, earliest_starts
from formulations.batch.instance import Booleans, Floats, Instance, Integers
from formulations.batch.time_indexed import SlotIndex, build
from optsched.jit import njit_cached
from optsched.model import Model

OBJECTIVE_9 = r"\sum_{s,t} \lambda_{su_j}(t) y_{js}(t) + \sum_{s,t} \mu_{sv_j}(t) z_{js}(t)"
"""LaTeX of the objective (9)."""
TIE = 1e-9
"""Relative difference up to which costs are equal."""


@dataclass(frozen=True, eq=False)
class ServerView:
    """What one job sees of the servers from slot ``first`` on; arrays (servers, slots)."""

    first: int
    worker_price: Floats
    """lambda_su(t)."""
    ps_price: Floats
    """mu_sv(t)."""
    workers: Floats
    """W_su - f_su(t), free workers."""
    services: Floats
    """P_sv - g_sv(t), free parameter servers."""
    release: Integers
    """First slot the job may use each server in, shape (servers,)."""

    @property
    def slots(self) -> int:
        """Slots in the window."""
        return int(self.workers.shape[1])


@dataclass(frozen=True, eq=False)
class Offers:
    """The cheapest schedule of every choice at one start."""

    start: int
    cost: Floats
    """Shape (choices,); infinite where there is none."""
    _market: ServerView
    _choices: Choices

    def placement(self, k: int) -> tuple[Integers, int]:
        """Workers per server, shape (servers,), and server of the PS, of a choice that has one."""
        y = np.zeros(len(self._market.release), dtype=np.int64)
        _, ps = _priced(self._market, self._choices.take(np.array([k])), self.start, y)
        return y, int(ps[0])


def offers(market: ServerView, chosen: Choices, start: int) -> Offers:
    """The cheapest schedule of every choice that starts in slot ``start``.

    Args:
        market: prices and free amounts.
        chosen: choices of one job.
        start: h, in the market's window.
    """
    y = np.zeros(len(market.release), dtype=np.int64)
    return Offers(start, _priced(market, chosen, start, y)[0], market, chosen)


def _priced(
    market: ServerView, chosen: Choices, start: int, y: Integers
) -> tuple[Floats, Integers]:
    """See ``_cheapest``."""

    def alike(of: Floats) -> Floats:  # one memory layout, so that the loop is compiled once
        return np.ascontiguousarray(of, dtype=np.float64)

    return _cheapest(
        alike(market.worker_price), alike(market.ps_price),
        alike(market.workers), alike(market.services),
        market.release <= start, start - market.first,
        chosen.duration, chosen.workers, chosen.fast, y,
    )  # fmt: skip


@njit_cached
def _cheapest(
    price: Floats,
    ps_price: Floats,
    workers: Floats,
    services: Floats,
    reached: Booleans,
    begin: int,
    duration: Integers,
    number: Integers,
    fast: Booleans,
    y: Integers,
) -> tuple[Floats, Integers]:
    """Cost of every choice (infinite where it does not fit) and the server of its PS.

    Args:
        price: of a worker, shape (servers, slots), as the next three.
        ps_price: of a parameter server.
        workers: free.
        services: free.
        reached: servers that may be used.
        begin: slot.
        duration: of each choice.
        number: N of each choice.
        fast: whether all is on one server.
        y: written, workers per server of the last choice that has a schedule.
    """
    servers, slots = price.shape
    cost, ps = np.full(len(duration), np.inf), np.full(len(duration), -1)
    longest = 0
    for d in duration:
        if begin + d <= slots:
            longest = max(longest, d)
    shape = (longest, servers)
    bill, rent, room, served = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for s in range(servers):
        paid, rented, least, hosted = 0.0, 0.0, np.inf, np.inf
        for t in range(longest):
            paid += price[s, begin + t]
            rented += ps_price[s, begin + t]
            bill[t, s], rent[t, s] = paid, rented
            if reached[s]:
                least = min(least, workers[s, begin + t])
                hosted = min(hosted, services[s, begin + t])
                room[t, s], served[t, s] = least, hosted
    ordered = np.zeros(longest, dtype=np.bool_)
    orders = np.zeros(shape, dtype=np.int64)
    for k in range(len(duration)):
        if begin + duration[k] > slots:
            continue
        at, n = duration[k] - 1, number[k]
        total, best, where = 0.0, np.inf, -1
        if fast[k]:
            for s in range(servers):
                if room[at, s] >= n and served[at, s] >= 1:
                    here = n * bill[at, s] + rent[at, s]
                    if here < best:
                        best, where = here, s
            if where >= 0:
                cost[k], ps[k] = best, where
                y[:] = 0
                y[where] = n
            continue
        for s in range(servers):
            if served[at, s] >= 1 and rent[at, s] < best:
                best, where = rent[at, s], s
        if where < 0:
            continue
        if not ordered[at]:
            open_ = np.where(room[at] >= 1, bill[at], np.inf)
            orders[at] = np.argsort(open_, kind="mergesort")
            ordered[at] = True
        y[:] = 0
        rest = n
        for s in orders[at]:
            y[s] = int(min(rest, room[at, s]))
            if y[s] > 0:
                total += y[s] * bill[at, s]
                rest -= y[s]
            if rest == 0:
                cost[k], ps[k] = total + best, where
                break
    return cost, ps


@dataclass(frozen=True)
class Pick:
    """One schedule of one job."""

    choice: int
    start: int
    end: int
    """c: its last slot."""
    cost: float


def best_offer(
    market: ServerView, chosen: Choices, starts: Sequence[int], *, earliest: bool = False
) -> tuple[Pick, Offers] | None:
    """The best schedule of a job over all its choices and some starts; None where there is none.

    Args:
        market: prices and free amounts.
        chosen: choices of one job.
        starts: slots of the window.
        earliest: earliest completion first, then least cost; else least cost first. Further ties:
            earliest completion, fewest workers, one server before several, earliest start.
    """
    best: tuple[tuple[float, ...], Pick, Offers] | None = None
    for start in starts:
        found = offers(market, chosen, start)
        for pick in _front(found, chosen, earliest):
            key = _key(pick, chosen, earliest)
            if best is None or _before(key, best[0], earliest):
                best = (key, pick, found)
    return None if best is None else best[1:]


def _front(found: Offers, chosen: Choices, earliest: bool) -> list[Pick]:
    """The best choice of one start."""
    usable = np.flatnonzero(np.isfinite(found.cost))
    if not len(usable):
        return []
    cost, end = found.cost[usable], found.start + chosen.duration[usable] - 1
    if earliest:
        usable = usable[end == end.min()]
        cost = found.cost[usable]
    near = usable[cost <= cost.min() + TIE * max(1.0, float(cost.min()))]
    order = np.lexsort((~chosen.fast[near], chosen.workers[near], chosen.duration[near]))
    k = int(near[order[0]])
    last = found.start + int(chosen.duration[k]) - 1
    return [Pick(k, found.start, last, float(found.cost[k]))]


def _key(pick: Pick, chosen: Choices, earliest: bool) -> tuple[float, ...]:
    rest = (int(chosen.workers[pick.choice]), int(not chosen.fast[pick.choice]), pick.start)
    return (pick.end, pick.cost, *rest) if earliest else (pick.cost, pick.end, *rest)


def _before(key: tuple[float, ...], other: tuple[float, ...], earliest: bool) -> bool:
    """Whether one key precedes another, costs equal up to rounding."""
    at = 1 if earliest else 0
    if abs(key[at] - other[at]) <= TIE * max(1.0, abs(other[at])):
        key = (*key[:at], other[at], *key[at + 1 :])
    return key < other


# as a mixed-integer program


@dataclass(frozen=True, eq=False)
class ServerPrices:
    """Prices and free amounts over all types; arrays (servers, types, slots) from ``first`` on."""

    first: int
    worker_price: Floats
    ps_price: Floats
    workers: Floats
    services: Floats

    def market(self, instance: Instance, j: int) -> ServerView:
        """What one job sees."""
        u, v = int(instance.worker_type[j]), int(instance.ps_type[j])
        return ServerView(
            self.first,
            self.worker_price[:, u],
            self.ps_price[:, v],
            self.workers[:, u],
            self.services[:, v],
            instance.release_slot[j] + instance.upload_delay[j],
        )


def problem_9(instance: Instance, j: int, prices: ServerPrices) -> Model:
    """(9) for one job as a mixed-integer program, inside the slots that prices are given for.

    Args:
        instance: the jobs and the system.
        j: which job.
        prices: and free amounts; these count, not the instance's capacities.
    """
    one = instance.select_jobs([j])
    last = np.array([prices.first + prices.workers.shape[2] - 1])
    chosen = choices(one)
    first = np.maximum(earliest_starts(one, chosen), prices.first)
    kept: Booleans = first + chosen.duration - 1 <= last[0]
    everywhere = np.ones((1, one.servers), dtype=bool)
    index = SlotIndex(one, chosen.take(kept), first[kept], last, everywhere)
    model = Model("problem (9)")
    cells = build(
        model, index, 1.0, worker_room=prices.workers, ps_room=prices.services,
        first_slot=prices.first,
    )  # fmt: skip
    u, v = int(one.worker_type[0]), int(one.ps_type[0])
    bills = [
        model[name] @ price[pair[1][of], slot - prices.first]
        for name, (of, slot), pair, price in (
            ("y_t", cells.worker_cell, index.worker_pair, prices.worker_price[:, u]),
            ("z_t", cells.ps_cell, index.ps_pair, prices.ps_price[:, v]),
        )
    ]
    model.minimize(bills[0] + bills[1], formula=OBJECTIVE_9)
    return model
