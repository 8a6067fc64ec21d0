"""What an online algorithm knows of one job that has arrived, and how it deploys it in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.problem_7 import exact_transport
from formulations.okita.schedule import Schedule
from heuristics.okita.kernels import (
    filled,
    fitting,
    one_shot,
    split,
    transport,
    transport_costs,
)
from optsched.errors import FieldProblem, InputError

PlacementRule = Literal["pa", "exact", "near_data"]
"""pa: Algorithm 2; exact: problem (5); near_data, beyond the paper: what costs least of both, of
Algorithm 2 with no more workers at a site than its own data need, and of sites in turn, one a slot
with the server and workers for what lies there, so that nothing is sent. (5) and Algorithm 2 count
what workers pay for talking to their server, and not what it costs to bring them data."""
TransportRule = Literal["dta", "exact"]
"""dta: Algorithm 3; exact: problem (7')."""


@dataclass(frozen=True)
class Rules:
    """How workers are placed and data are moved.

    Raises:
        InputError: an option out of range.
    """

    beta: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Weights of free resources, bandwidth cost and data left in (6)."""
    normalise_q: bool = False
    """Divide the bandwidth term of (6) by its largest value, so that it is scale free."""
    placement: PlacementRule = "pa"
    transport: TransportRule = "dta"
    printed: bool = False
    """Algorithms 2 and 3 line by line: the last of equal sites wins, and chunks that are
    trained where they lie are not recorded."""

    def __post_init__(self) -> None:
        problems = []
        weights = np.asarray(self.beta, dtype=float)
        if weights.shape != (3,) or not (np.isfinite(weights) & (weights >= 0)).all():
            problems.append(FieldProblem("beta", self.beta, "three finite numbers >= 0"))
        for name, allowed in (("placement", PlacementRule), ("transport", TransportRule)):
            if getattr(self, name) not in get_args(allowed):
                listed = "one of " + ", ".join(get_args(allowed))
                problems.append(FieldProblem(name, getattr(self, name), listed))
        if problems:
            raise InputError(problems)


Spread = Literal["preferred", "server", "near", "one"]
"""Sites that workers of a deployment use: by (6); by what talking to the server costs; by (6) with
no more than their own data need; so, and only the server's."""


class WindowOptions(NamedTuple):
    """Windows for a range of numbers of workers; see ``kernels.one_shot``."""

    bandwidth: Floats
    slots: Integers
    server: Integers
    exchange: Floats
    number: Integers
    """Most workers."""
    spread: NDArray[np.str_]


class SiteCosts:
    """What does not depend on the job: sites, bandwidth costs, and (6) in part."""

    def __init__(self, instance: Instance, rules: Rules) -> None:
        self.instance, self.rules = instance, rules
        q, sites = instance.unit_bandwidth_cost, instance.sites
        self.sources = np.argsort(q.T, axis=1, kind="stable")  # row r: who brings chunks to r
        mean = q.sum(axis=1) / max(1, sites - 1)
        if rules.normalise_q and mean.max() > 0:
            mean = mean / mean.max()
        self.bandwidth_term = rules.beta[1] * mean
        self._counted = instance.capacity > 0
        self._kinds = np.maximum(1, self._counted.sum(axis=1))

    def free_share(self, room: Integers) -> Floats:
        """Mean over resources of what is free, shape (sites,); 0 where a site has none."""
        capacity = np.maximum(self.instance.capacity, 1)
        return np.asarray(((room / capacity) * self._counted).sum(axis=1) / self._kinds)

    def preference(self, room: Integers, left: Integers, chunks: Integers) -> Integers:
        """Sites by (6), best first, ties by index."""
        data = np.divide(left, chunks, out=np.zeros(len(left)), where=chunks > 0)
        beta = self.rules.beta
        score = beta[0] * self.free_share(room) - self.bandwidth_term + beta[2] * data
        return np.argsort(-score, kind="stable")


class Job:
    """One job after its arrival: what is left of it, and how it could be deployed."""

    def __init__(self, system: SiteCosts, i: int) -> None:
        instance = system.instance
        self.system, self.id = system, i
        self.release = int(instance.release_slot[i])
        self.chunks = instance.num_chunks[i]
        self.total = int(instance.total_chunks[i])
        self.left = self.chunks.copy()
        """M_i^r."""
        self.paid = 0.0
        """Bandwidth cost paid so far, money."""
        self.worker, self.server = instance.worker_demand[i], instance.ps_demand[i]
        self.numerator = int(instance.rate_numerator[i])
        self.divisor = int(instance.work_per_chunk[i])
        self.move = instance.unit_bandwidth_cost * instance.chunk_size_mb[i]
        self.talk = instance.unit_bandwidth_cost * instance.exchange_size_mb[i]
        if self.numerator < self.divisor:
            allowed = "at least the epochs: one worker trains a chunk in a slot (A2)"
            raise InputError.of(f"jobs[{i}].worker_rate", self.numerator / self.divisor, allowed)
        self._late = np.zeros(0)

    @cached_property
    def _by_server(self) -> Integers:
        """Row s: sites by what a worker there pays for talking to s."""
        return np.argsort(self.talk.T, axis=1, kind="stable")

    @property
    def most_workers(self) -> int:
        """Workers that could train all that is left in one slot, by the rate."""
        return -(-self.divisor * int(self.left.sum()) // self.numerator)

    def latency(self, flow: Integers) -> Floats:
        """f_i of flow times, money."""
        largest = int(flow.max())
        if largest >= len(self._late):
            reach = np.arange(max(64, 2 * largest + 1))
            self._late = self.system.instance.latency.cost(self.id, reach)
        return self._late[flow]

    def fits(self, room: Integers, near_data: bool = False) -> tuple[Integers, Integers]:
        """Workers that fit at each site, alone and beside the server (-1: no server).

        Args:
            room: free resources.
            near_data: count no more than the data of the site need in a slot.
        """
        alone, beside = fitting(room, self.worker, self.server)
        if near_data:
            needed = -(-self.divisor * self.left // self.numerator)
            alone, beside = np.minimum(alone, needed), np.minimum(beside, needed)
        return alone, beside

    def options(self, room: Integers, first: int, last: int, length: int = 0) -> WindowOptions:
        """OSF for numbers of workers first .. last on some free resources."""
        found = [self._one_shot(room, first, last, length, spread) for spread in self._spreads]
        if self.system.rules.placement == "near_data":
            found += self._in_turn(room, first, last)
        return WindowOptions(*map(np.concatenate, zip(*found, strict=True)))

    def _one_shot(
        self, room: Integers, first: int, last: int, length: int, spread: Spread
    ) -> WindowOptions:
        order, orders = self._orders(room, spread)
        fit, beside = self.fits(room, spread == "near")
        bandwidth, slots, server, exchange, targets = one_shot(
            self.left, orders, order, fit, beside, self.talk, self.numerator, self.divisor,
            first, last, length, self.system.rules.printed,
        )  # fmt: skip
        if self._exact_transport:
            bandwidth += [exact_transport(self.left, row, self.move)[0] for row in targets]
        else:
            bandwidth += transport_costs(self.left, targets, self.move, self.system.sources)
        number = np.arange(first, last + 1)
        return WindowOptions(
            bandwidth, slots, server, exchange, number, np.full(len(number), spread)
        )

    def _in_turn(self, room: Integers, first: int, last: int) -> list[WindowOptions]:
        """Sites one after the other, most data first: each trains its own, and nothing is sent."""
        has = self.left > 0
        now = self.fits(room, True)[1]
        later = self.fits(self.system.instance.capacity, True)[1]
        if (later[has] <= 0).any() or (now[has] <= 0).all():
            return []
        server = int(np.argmax(np.where(has & (now > 0), self.left, -1)))
        number = np.arange(first, last + 1)
        able = self.numerator * np.minimum(number[:, None], later[has]) // self.divisor
        slots = (-(-self.left[has] // able)).sum(axis=1)
        sent, same = np.zeros(len(number)), np.full(len(number), server)
        return [WindowOptions(sent, slots, same, sent, number, np.full(len(number), "one"))]

    def workers(
        self, room: Integers, server: int, number: int, spread: Spread | None = None
    ) -> Integers:
        """y^r of a deployment whose server's site is chosen, shape (sites,).

        Args:
            room: free resources.
            server: the server's site.
            number: of workers, at most.
            spread: None: that of the rules, where it is one.
        """
        spread = spread or self._spreads[0]
        fit, beside = self.fits(room, spread in ("near", "one"))
        if spread == "one":
            fit = np.zeros_like(fit)
        orders = self._orders(room, spread)[1]
        return filled(orders, fit, beside, server, number)

    @property
    def _spreads(self) -> tuple[Spread, ...]:
        """Spreads that are tried one-shot."""
        rule = self.system.rules.placement
        if rule == "near_data":
            return "preferred", "near", "server"
        return ("server" if rule == "exact" else "preferred",)

    def _orders(self, room: Integers, spread: Spread) -> tuple[Integers, Integers]:
        """Sites by preference, and the order of filling for each site of the server."""
        order = self.system.preference(room, self.left, self.chunks)
        if spread == "server":
            return order, self._by_server
        return order, np.broadcast_to(order, (len(order), len(order)))

    @property
    def _exact_transport(self) -> bool:
        return self.system.rules.transport == "exact"

    def demand(self, workers: Integers, server: int) -> Integers:
        """Resources that a deployment holds, shape (sites, resources)."""
        held = workers[:, None] * self.worker
        held[server] += self.server
        return np.asarray(held, dtype=np.int64)

    def train(
        self, room: Integers, workers: Integers, server: int, spread: Spread = "preferred"
    ) -> Integers:
        """Train one slot: pays for it and returns g, chunks from row to column.

        Args:
            room: free resources, by which sites are preferred.
            workers: y^r.
            server: the server's site.
            spread: "one": only what lies there.
        """
        able = self.numerator * workers // self.divisor
        if spread == "one":
            able = np.minimum(able, self.left)
        amount = min(int(self.left.sum()), int(able.sum()))
        order = self.system.preference(room, self.left, self.chunks)
        target = split(self.left, able, order, amount)
        if self._exact_transport:
            moved, flow = exact_transport(self.left, target, self.move)
        else:
            flow = np.zeros(self.move.shape, dtype=np.int64)
            moved = transport(self.left, target, self.move, self.system.sources, flow)
            if self.system.rules.printed:
                np.fill_diagonal(flow, 0)
        self.paid += float(workers @ self.talk[:, server]) + moved
        self.left = self.left - flow.sum(axis=1)
        return flow


class Recorder:
    """Collects what is deployed, slot by slot."""

    def __init__(self) -> None:
        self._workers: list[Integers] = []
        self._servers: list[tuple[int, int, int]] = []
        self._moves: list[Integers] = []
        self.moved = 0
        """Chunks recorded."""

    def add(self, i: int, slot: int, workers: Integers, server: int, flow: Integers) -> None:
        """One job in one slot."""
        site = np.flatnonzero(workers)
        source, target = np.nonzero(flow)
        self._workers.append(_rows(i, slot, site, workers[site]))
        self._servers.append((i, slot, server))
        self._moves.append(_rows(i, slot, source, target, flow[source, target]))
        self.moved += int(flow.sum())

    def schedule(self) -> Schedule:
        """All of it."""
        return Schedule.build(
            workers=np.concatenate(self._workers),
            servers=self._servers,
            moves=np.concatenate(self._moves),
        )


def _rows(i: int, slot: int, *columns: Integers) -> Integers:
    rows = np.empty((len(columns[0]), 2 + len(columns)), dtype=np.int64)
    rows[:, 0], rows[:, 1] = i, slot
    for at, column in enumerate(columns, start=2):
        rows[:, at] = column
    return rows
