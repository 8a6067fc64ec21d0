"""Cuts on pooled schedules by which servers jobs have reached, and by whole numbers of workers.

A run on servers with limits that starts in slot h uses what the job has reached by then. Of its N
workers those that fit on no such server outside a set A stand in A whatever is chosen, and in any
slot all of these are at most A's capacity W_A; in whole multiples of q, too:

    sum over runs in slot t of floor(max(0, N - room outside A) / q) <= floor(W_A / q).

For q = 1 the A that a fractional point violates most is a minimum cut between its runs and the
servers; for A all servers q is the workers of a run, or half or a third of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from formulations.batch.instance import Booleans, Floats, Integers
from formulations.batch.prospects import Prospects
from optsched.model import Expression, Relation

Row = tuple[Integers, Floats, float]
"""Schedules, by number, what each counts, and what they count at most."""
_VIOLATED = 1e-3  # workers beyond a side from which on a cut is worth a row
_UNITS = 1e8  # in which flows are whole, of all workers of a slot


@dataclass(frozen=True, eq=False)
class ServerCut:
    """One such row."""

    kind: int
    """Type of worker."""
    slot: int
    servers: Booleans
    """A, shape (servers,)."""
    divisor: int = 1
    """q."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Possible runs on servers with limits; each array (runs,)."""

    chosen: Prospects
    choice: Integers
    start: Integers
    end: Integers

    def take(self, kept: Booleans | Integers) -> Runs:
        """Those that a mask or an index array picks."""
        return Runs(self.chosen, self.choice[kept], self.start[kept], self.end[kept])

    @property
    def job(self) -> Integers:
        """Whose it is."""
        return self.chosen.choices.job[self.choice]

    @property
    def workers(self) -> Integers:
        """N."""
        return self.chosen.choices.workers[self.choice]

    def most(self) -> Floats:
        """Workers that each may have on each server, shape (runs, servers)."""
        instance, job = self.chosen.instance, self.job
        since = instance.release_slot[job, None] + instance.upload_delay[job]
        reached = self.chosen.limited[job] & (since <= self.start[:, None])
        room = np.where(reached, instance.worker_capacity.T[instance.worker_type[job]], 0.0)
        fast = self.chosen.choices.fast[self.choice]
        alone = (room >= self.workers[:, None]) & (instance.ps_room[job] >= 1)
        together = np.where(alone, self.workers[:, None], 0.0)
        return np.where(fast[:, None], together, np.minimum(room, self.workers[:, None]))

    def row(self, cut: ServerCut) -> Row:
        """Runs that a cut counts, what each counts, and the right-hand side."""
        instance = self.chosen.instance
        there = (self.start <= cut.slot) & (cut.slot <= self.end)
        at = np.flatnonzero(there & (instance.worker_type[self.job] == cut.kind))
        part = self.take(at)
        outside = part.most()[:, ~cut.servers].sum(axis=1)
        inside = np.maximum(part.workers - outside, 0.0) // cut.divisor
        used = np.flatnonzero(inside)
        side = float(instance.worker_capacity[cut.servers, cut.kind].sum() // cut.divisor)
        return at[used], inside[used], side

    def violated(self, weight: Floats) -> list[ServerCut]:
        """Cuts that a fractional choice of runs violates, at most two for each type and slot.

        Args:
            weight: of each run, above 0, shape (runs,).
        """
        found: list[ServerCut] = []
        instance = self.chosen.instance
        kind = instance.worker_type[self.job]
        usable = self.chosen.limited.any(axis=0)
        for u in np.unique(kind).tolist():
            mine = np.flatnonzero(kind == u)
            part, share = self.take(mine), weight[mine]
            capacity = np.where(usable, instance.worker_capacity[:, u], 0.0)
            if not np.isfinite(capacity).all():
                continue
            most, before = part.most(), b""
            for t in np.unique(part.start).tolist():  # nothing is added in other slots
                now = np.flatnonzero((part.start <= t) & (t <= part.end))
                if now.tobytes() != before:
                    n, before = part.workers[now], now.tobytes()
                    found += self._cuts_at(u, t, n, share[now], most[now], capacity)
        return found

    def _cuts_at(
        self, u: int, t: int, n: Integers, share: Floats, most: Floats, capacity: Floats
    ) -> list[ServerCut]:
        found = []
        servers = bottleneck(n * share, most * share[:, None], capacity)
        if servers is not None:
            found.append(ServerCut(u, t, servers & (capacity > 0)))
        total = int(capacity.sum())
        q = np.unique(np.concatenate([n, n // 2, n // 3]))
        q = q[(q > 1) & (q <= total)]
        beyond = share @ (n[:, None] // q) - total // q
        worst = beyond / (total // q)
        if len(q) and beyond[np.argmax(worst)] > _VIOLATED:
            found.append(ServerCut(u, t, capacity > 0, int(q[np.argmax(worst)])))
        return found


def bottleneck(load: Floats, most: Floats, capacity: Floats) -> Booleans | None:
    """Servers on which loads do not fit, or None where all of them fit somewhere.

    Args:
        load: of each run, shape (runs,).
        most: of it on each server, shape (runs, servers).
        capacity: shape (servers,).
    """
    runs, servers = most.shape
    unit = _UNITS / max(float(load.sum()), 1.0)
    run, server = np.nonzero(most)
    sink = 1 + runs + servers
    source = np.zeros(runs, dtype=np.int64)
    tail = np.concatenate([source, 1 + run, 1 + runs + np.arange(servers)])
    head = np.concatenate([1 + np.arange(runs), 1 + runs + server, np.full(servers, sink)])
    room = np.minimum(capacity, float(load.sum()))
    amount = np.concatenate([load, most[run, server], room])
    whole = np.round(amount * unit).astype(np.int32)
    graph = csr_array((whole, (tail, head)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, 0, sink)
    if flow.flow_value >= (float(load.sum()) - _VIOLATED) * unit:
        return None
    left = csr_array(graph - flow.flow)
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    met = breadth_first_order(left, 0, return_predecessors=False)
    inside = np.zeros(sink + 1, dtype=bool)
    inside[met] = True
    return inside[1 + runs : sink]


def at_most(b: Expression, rows: Sequence[Row]) -> Relation:
    """Sums over schedules that are at most their sides."""
    at, values, sides = zip(*rows, strict=True)
    of = np.repeat(np.arange(len(rows)), [len(one) for one in at])
    terms = b[np.concatenate(at)] * np.concatenate(values)
    return terms.sum_by(of, len(rows)) <= np.array(sides)
