"""The bound of all configurations of all servers, by prices of every single burden.

Rows of configurations come to a program a few at a time, those that a point violates by much. Here
every burden has a price instead, every server says which configuration is the dearest, and

    jobs <= sum over servers of the price of the dearest configuration
            + sum over jobs of max over its sets of 1 - price of the set,

where the row of all servers and counts with limits have prices as in the program. The prices at
which this is least are sought from those of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from formulations.drp.exact.set_tree.burden_rows import BurdenRows
from formulations.drp.exact.set_tree.configurations import heaviest
from formulations.drp.exact.set_tree.counts import Counts
from formulations.drp.exact.set_tree.nodes import Limits, Proven, Relaxed, proven
from formulations.drp.exact.set_tree.proximal_bundle import ProximalBundle, Vertices
from formulations.drp.instance import Booleans, Floats, Integers
from optsched.jit import njit_cached

MOST_ASKED = 120
"""Prices that servers are asked at for one node."""
AT_LEAST, RECENT = 40, 10
"""Asked before the last ones tell whether to go on."""
HOPELESS = 3.0
"""Times as much as the last ``RECENT`` gained, from which on what is missing is given up."""
KNOWN = 20
"""Last answers of servers among which each finds one to begin with."""


class _Asked(NamedTuple):
    """A node's sets and burdens, these by server and then by job.

    Prices are those of burdens, of the row of all servers, and of counts, in this order.
    """

    own: Integers
    """Sets of job k are own[k] .. own[k + 1] - 1; shape (jobs + 1,)."""
    start: Integers
    """Entries of set n are start[n] .. start[n + 1] - 1; shape (sets + 1,)."""
    burden: Integers
    """Burden of each entry, shape (entries,)."""
    nodes: Floats
    """In the row of all servers, shape (sets,)."""
    counted: Floats
    """Shape (sets, limits)."""
    must: Booleans
    """Shape (jobs,)."""
    server: Integers
    """Burdens of server j are server[j] .. server[j + 1] - 1; shape (servers + 1,)."""
    first: Integers
    """Where those of each job begin among them, shape (servers, jobs + 1)."""
    size: Floats
    load: Floats


@njit_cached
def _best_sets(asked: _Asked, prices: Floats) -> tuple[float, Integers]:
    """What all jobs gain, and the set of each, -1 where it is not trained."""
    jobs, burdens = len(asked.must), len(asked.size)
    found, total = np.full(jobs, -1), 0.0
    fee = prices[burdens + 1 :]
    for k in range(jobs):
        best = -np.inf if asked.must[k] else 0.0
        for n in range(asked.own[k], asked.own[k + 1]):
            gain = 1.0 - asked.nodes[n] * prices[burdens]
            for c in range(len(fee)):
                gain -= asked.counted[n, c] * fee[c]
            for e in range(asked.start[n], asked.start[n + 1]):
                gain -= prices[asked.burden[e]]
            if gain > best:
                best, found[k] = gain, n
        total += best
    return total, found


@njit_cached
def _dearest(asked: _Asked, prices: Floats, known: Integers) -> tuple[float, Integers]:
    """What the dearest configurations of all servers cost, and 1 for their burdens.

    Args:
        asked: of a node.
        prices: in its order.
        known: configurations to begin with, some for each server, shape (some, burdens).
    """
    total, nothing = 0.0, np.zeros(4)
    chosen = np.zeros(len(asked.size), dtype=np.int64)
    for j in range(len(asked.server) - 1):
        own = slice(asked.server[j], asked.server[j + 1])
        best, begin = 0.0, 0
        for c in range(len(known)):
            worth = 0.0
            for i in range(asked.server[j], asked.server[j + 1]):
                worth += prices[i] * known[c, i]
            if c == 0 or worth > best:
                best, begin = worth, c
        cost, chosen[own] = heaviest(
            prices[own], asked.first[j], asked.size[own], asked.load[own], 0.0, nothing,
            known[begin, own],
        )  # fmt: skip
        total += cost
    return total, chosen


@njit_cached
def _vertices(
    asked: _Asked, found: Integers, chosen: Integers
) -> tuple[Integers, Floats, Integers, Integers, Floats]:
    """Sets of jobs and configurations of servers as ``Vertices``; jobs are the first parts."""
    jobs, burdens, limits = len(asked.must), len(asked.size), asked.counted.shape[1]
    servers = len(asked.server) - 1
    room = chosen.sum() + limits * jobs + jobs
    for n in found:
        room += asked.start[n + 1] - asked.start[n] if n >= 0 else 0
    price, coefficient = np.zeros(room, dtype=np.int64), np.zeros(room)
    part, start = np.zeros(jobs + servers, dtype=np.int64), np.zeros(jobs + servers + 1, np.int64)
    value, v, at = np.zeros(jobs + servers), 0, 0
    for k in range(jobs):
        n = found[k]
        if n < 0:
            continue
        part[v], value[v] = k, 1.0
        for e in range(asked.start[n], asked.start[n + 1]):
            price[at], coefficient[at] = asked.burden[e], -1.0
            at += 1
        for c in range(limits + 1):
            often = asked.nodes[n] if c == 0 else asked.counted[n, c - 1]
            if often != 0.0:
                price[at], coefficient[at] = burdens + c, -often
                at += 1
        v += 1
        start[v] = at
    for j in range(servers):
        part[v] = jobs + j
        for i in range(asked.server[j], asked.server[j + 1]):
            if chosen[i]:
                price[at], coefficient[at] = i, 1.0
                at += 1
        v += 1
        start[v] = at
    return part[:v], value[:v], start[: v + 1], price[:at], coefficient[:at]


class ConfigurationPrices:
    """Bounds nodes; several threads may ask at a time."""

    def __init__(self, rows: BurdenRows, counts: Counts) -> None:
        """Prepare.

        Args:
            rows: know what sets burden servers with.
            counts: that may have limits.
        """
        self._rows, self._counts = rows, counts

    def narrowed(self, relaxed: Relaxed, goal: float, go_on: Callable[[], bool]) -> Relaxed | None:
        """A node without the sets that no schedule of interest uses; None where none exists."""
        found = self.bound(relaxed, goal, go_on)
        if found.bound < goal:
            return None
        sets = relaxed.sets[found.lost <= found.bound - goal]
        near = relaxed.near[np.isin(relaxed.near, sets)]
        return replace(relaxed, sets=sets, near=near)

    def bound(self, relaxed: Relaxed, goal: float, go_on: Callable[[], bool]) -> Proven:
        """What the best prices found prove of all schedules on a node's sets.

        Args:
            relaxed: the node, and the prices of its program, to begin with.
            goal: a bound below it is all that is wanted.
            go_on: looked at before each question.
        """
        sets, must, limits = relaxed.sets, relaxed.must, relaxed.limits
        used, asked = self._asked(sets, must, limits)
        jobs, burdens, servers = len(must), len(used), len(asked.server) - 1
        free = np.full(len(limits.number), -np.inf)
        price, of_all = self._rows.prices(relaxed.rows, relaxed.paid)
        bundle = ProximalBundle(
            jobs + servers + 1 + len(free),
            np.concatenate([price[used], [of_all], relaxed.fee]),
            np.concatenate([np.zeros(burdens + 1), free]),
            _known(must, limits, servers, burdens),
        )
        known, sums = np.zeros((KNOWN, burdens), dtype=np.int64), [np.inf]
        while bundle.best >= goal and go_on() and _promising(sums, goal):
            prices = bundle.prices
            gained, found = _best_sets(asked, prices)
            held = float(prices[burdens]) + limits.cost(prices[burdens + 1 :])
            cost, chosen = _dearest(asked, prices, known)
            bundle.told(gained + cost + held, Vertices(*_vertices(asked, found, chosen)))
            known[len(sums) % KNOWN] = chosen
            sums.append(bundle.best)
        best = bundle.best_prices
        single = np.add.reduceat(best[asked.burden], asked.start[:-1])
        cost = single + best[burdens] * asked.nodes + asked.counted @ best[burdens + 1 :]
        return proven(self._rows.table.sets.job[sets], cost, must)._replace(bound=bundle.best)

    def _asked(self, sets: Integers, must: Booleans, limits: Limits) -> tuple[Integers, _Asked]:
        """The burdens of some sets, by server, and what is asked of them."""
        table, jobs, servers = self._rows.table, len(must), self._rows.servers
        burden, start = self._rows.burdens(sets)
        used = np.unique(burden)
        used = used[np.argsort(table.burdened[used], kind="stable")]
        place = np.zeros(len(table.burdened), dtype=np.int64)
        place[used] = np.arange(len(used))
        server = table.burdened[used]
        job = np.searchsorted(table.first_burden, used, side="right") - 1
        begin = np.searchsorted(server, np.arange(servers + 1))
        key = np.arange(servers)[:, None] * jobs + np.arange(jobs + 1)
        first = np.searchsorted(server * jobs + job, key) - begin[:-1, None]
        own = np.searchsorted(table.sets.job[sets], np.arange(jobs + 1))
        return used, _Asked(
            own, start, place[burden], self._rows.nodes[sets],
            self._counts.of(sets, limits.number), must, begin, first,
            table.size[table.service[job], server], np.ascontiguousarray(table.load[used]),
        )  # fmt: skip


def _known(must: Booleans, limits: Limits, servers: int, burdens: int) -> Vertices:
    """Vertices that need no question.

    Jobs that are not trained and empty servers; the row of all servers, which allows 1; the least
    and the most of counts.
    """
    jobs, counts = len(must), len(limits.number)
    empty = np.concatenate([np.flatnonzero(~must), jobs + np.arange(servers)])
    ends = np.repeat(jobs + servers + 1 + np.arange(counts), 2)
    part = np.concatenate([empty, [jobs + servers], ends])
    start = np.concatenate([np.zeros(len(empty)), np.arange(2 + 2 * counts)]).astype(np.int64)
    price = burdens + np.concatenate([[0], np.repeat(1 + np.arange(counts), 2)])
    often = np.column_stack([limits.most, limits.least]).ravel()
    return Vertices(
        part, np.zeros(len(part)), start, price, np.concatenate([[1.0], often.astype(np.float64)])
    )


def _promising(sums: list[float], goal: float) -> bool:
    """Whether more questions may bring a bound below the goal, if they do what the last ones did.

    Args:
        sums: the best one after each, the first one infinite.
        goal: finite.
    """
    asked = len(sums) - 1
    if asked < AT_LEAST:
        return True
    return asked < MOST_ASKED and sums[-1] - goal <= HOPELESS * (sums[-1 - RECENT] - sums[-1])
