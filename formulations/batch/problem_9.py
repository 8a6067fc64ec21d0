"""Problem (9): the cheapest schedule of one job at given prices and free amounts.

Exact in polynomial time (sheet 3.6). On one server (xi = 1) each server is tried. Spread (xi = 0),
workers and parameter server use different capacities at additive prices, so they separate: workers
fill the servers in order of price, and the parameter server takes the cheapest. This is what the
paper's COST_C and COST_D look for; ``problem_9`` states the same as a mixed-integer program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.batch.choices import Choices, choices, earliest_starts
from formulations.batch.instance import Booleans, Floats, Instance, Integers
from formulations.batch.time_indexed import SlotIndex, build
from optsched.model import Model

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
        servers = len(self._market.release)
        y = np.zeros(servers, dtype=np.int64)
        one = self._choices.take(np.array([k]))
        view = _view(self._market, one, self.start)
        n = int(one.workers[0])
        if one.fast[0]:
            s = int(np.argmin(_together(view, one)[:, 0]))
            y[s] = n
            return y, s
        _, taken = _fill(view, one)
        y[:] = taken[:, 0]
        return y, int(np.argmin(_service(view)[:, 0]))


@dataclass(frozen=True, eq=False)
class _View:
    """Sums and least amounts over each choice's run; arrays (servers, choices)."""

    worker_bill: Floats
    """Lambda_s."""
    ps_bill: Floats
    """Theta_s."""
    workers: Floats
    """A_s; 0 on servers not reached."""
    services: Floats
    """G_s; 0 on servers not reached."""


def offers(market: ServerView, chosen: Choices, start: int) -> Offers:
    """The cheapest schedule of every choice that starts in slot ``start``.

    Args:
        market: prices and free amounts.
        chosen: choices of one job.
        start: h, in the market's window.
    """
    cost = np.full(len(chosen), np.inf)
    fits = start + chosen.duration <= market.first + market.slots
    for fast in (False, True):
        at = np.flatnonzero(fits & (chosen.fast == fast))
        if not len(at):
            continue
        part = chosen.take(at)
        view = _view(market, part, start)
        if fast:
            cost[at] = _together(view, part).min(axis=0)
        else:
            cost[at] = _fill(view, part)[0] + _service(view).min(axis=0)
    return Offers(start, cost, market, chosen)


def _view(market: ServerView, chosen: Choices, start: int) -> _View:
    begin = start - market.first
    until = begin + int(chosen.duration.max())
    durations, of = np.unique(chosen.duration, return_inverse=True)
    last = durations - 1
    reached = (market.release <= start)[:, None]

    def total(price: Floats) -> Floats:
        return np.cumsum(price[:, begin:until], axis=1)[:, last][:, of]

    def least(free: Floats) -> Floats:
        lowest = np.minimum.accumulate(free[:, begin:until], axis=1)[:, last][:, of]
        return np.where(reached, lowest, 0.0)

    return _View(
        total(market.worker_price),
        total(market.ps_price),
        least(market.workers),
        least(market.services),
    )


def _together(view: _View, chosen: Choices) -> Floats:
    """Cost on each single server, shape (servers, choices)."""
    fits = (view.workers >= chosen.workers) & (view.services >= 1)
    with np.errstate(invalid="ignore"):
        return np.where(fits, chosen.workers * view.worker_bill + view.ps_bill, np.inf)


def _service(view: _View) -> Floats:
    """Cost of the parameter server on each server, shape (servers, choices)."""
    return np.where(view.services >= 1, view.ps_bill, np.inf)


def _fill(view: _View, chosen: Choices) -> tuple[Floats, Integers]:
    """Cost of N workers on the cheapest servers, and how many each takes (servers, choices)."""
    bill = np.where(view.workers >= 1, view.worker_bill, np.inf)
    order = np.argsort(bill, axis=0, kind="stable")
    room = np.take_along_axis(np.minimum(view.workers, chosen.workers), order, axis=0)
    before = np.cumsum(room, axis=0) - room
    taken = np.clip(chosen.workers - before, 0.0, room)
    price = np.take_along_axis(bill, order, axis=0)
    cost = np.where(taken > 0, taken * np.where(taken > 0, price, 0.0), 0.0).sum(axis=0)
    cost = np.where(room.sum(axis=0) >= chosen.workers, cost, np.inf)
    placed = np.zeros(room.shape, dtype=np.int64)
    np.put_along_axis(placed, order, taken.astype(np.int64), axis=0)
    return cost, placed


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
    objective = None
    for name, (of, slot), pair, price in (
        ("y_t", cells.worker_cell, index.worker_pair, prices.worker_price[:, u]),
        ("z_t", cells.ps_cell, index.ps_pair, prices.ps_price[:, v]),
    ):
        bill = model[name] @ price[pair[1][of], slot - prices.first]
        objective = bill if objective is None else objective + bill
    if objective is not None:
        model.minimize(objective)
    return model
