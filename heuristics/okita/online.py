"""What an online algorithm knows of one job that has arrived, and how it deploys it in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.schedule import Schedule
from heuristics.okita.kernels import filled, fitting, one_shot, split, transport
from optsched.errors import FieldProblem, InputError

PlacementRule = Literal["pa", "exact", "near_data"]
"""pa: Algorithm 2; exact: problem (5); near_data, beyond the paper: Algorithm 2 or the same with no
more workers at a site than its own data need, whichever costs less bandwidth. (5) and Algorithm 2
count what workers pay for talking to their server, and not what it costs to bring them data."""
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
    """Divide the bandwidth term of (6) by its largest value, so that it is scale free (E18)."""
    placement: PlacementRule = "pa"
    transport: TransportRule = "dta"
    printed: bool = False
    """Algorithms 2 and 3 line by line: the last of equal sites wins (E13), and chunks that are
    trained where they lie are not recorded (E15)."""

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


class WindowOptions(NamedTuple):
    """Windows for a range of numbers of workers; see ``kernels.one_shot``."""

    bandwidth: Floats
    slots: Integers
    server: Integers
    exchange: Floats
    near_data: Booleans
    """Whether no site has more workers than its own data need."""


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
        found = self._options(room, first, last, length, False)
        if self.system.rules.placement != "near_data":
            return found
        other = self._options(room, first, last, length, True)
        cheaper = other.bandwidth < found.bandwidth
        return WindowOptions(*(np.where(cheaper, b, a) for a, b in zip(found, other, strict=True)))

    def _options(
        self, room: Integers, first: int, last: int, length: int, near_data: bool
    ) -> WindowOptions:
        order, orders = self._orders(room)
        fit, beside = self.fits(room, near_data)
        found = one_shot(
            self.left, orders, order, fit, beside, self.talk, self.move, self.system.sources,
            self.numerator, self.divisor, first, last, length, self._exact_transport,
            self.system.rules.printed,
        )  # fmt: skip
        return WindowOptions(*found, np.full(last - first + 1, near_data))

    def workers(
        self, room: Integers, server: int, number: int, near_data: bool = False
    ) -> Integers:
        """y^r of a deployment whose server's site is chosen, shape (sites,)."""
        fit, beside = self.fits(room, near_data)
        return filled(self._orders(room)[1][server], fit, int(beside[server]), server, number)

    def _orders(self, room: Integers) -> tuple[Integers, Integers]:
        """Sites by preference, and the order of filling for each site of the server."""
        order = self.system.preference(room, self.left, self.chunks)
        if self.system.rules.placement == "exact":
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

    def train(self, room: Integers, workers: Integers, server: int) -> Integers:
        """Train one slot: pays for it and returns g, chunks from row to column.

        Args:
            room: free resources, by which sites are preferred.
            workers: y^r.
            server: the server's site.
        """
        able = self.numerator * workers // self.divisor
        amount = min(int(self.left.sum()), int(able.sum()))
        order = self.system.preference(room, self.left, self.chunks)
        target = split(self.left, able, order, amount)
        flow = np.zeros(self.move.shape, dtype=np.int64)
        moved = transport(
            self.left, target, self.move, self.system.sources, self._exact_transport, flow,
            not self.system.rules.printed,
        )  # fmt: skip
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
