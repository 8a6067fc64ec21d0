"""Cuts on pooled schedules by which servers jobs have reached.

A run on servers with limits that starts in slot h uses what the job has reached by then. Of its N
workers those that fit on no such server outside a set A stand in A whatever is chosen, and in any
slot all of these are at most A's capacity W_A:

    sum over runs in slot t of max(0, N - room outside A) <= W_A.

The A that a fractional point violates most is a minimum cut between its runs and the servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from formulations.batch.domain_reduction import Prospects
from formulations.batch.instance import Booleans, Floats, Integers
from optsched.jit import njit_cached

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
        reached = self.chosen.reached[job] <= self.start[:, None]
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
        part, capacity = self.take(at), instance.worker_capacity[:, cut.kind]
        other = np.flatnonzero(~cut.servers & (capacity >= 1) & self.chosen.limited.any(axis=0))
        outside = fitting(
            part.job, part.start, part.workers, self.chosen.choices.fast[part.choice],
            self.chosen.reached[:, other], capacity[other].astype(np.int64),
            instance.ps_room[:, other] >= 1,
        )  # fmt: skip
        inside = part.workers - outside
        used = np.flatnonzero(inside)
        return at[used], inside[used].astype(float), float(capacity[cut.servers].sum())

    def by_slot(self, share: Floats) -> Iterator[tuple[int, Runs, Floats, Floats]]:
        """Yield each slot in which runs of a type start: it, those under way, shares, capacity.

        Types whose capacity is not limited are left out; capacity is that of each server.

        Args:
            share: of each run, shape (runs,).
        """
        instance, usable = self.chosen.instance, self.chosen.limited.any(axis=0)
        kind = instance.worker_type[self.job]
        for u in np.unique(kind).tolist():
            capacity = np.where(usable, instance.worker_capacity[:, u], 0.0)
            if not np.isfinite(capacity).all():
                continue
            for t in np.unique(self.start[kind == u]).tolist():
                now = (kind == u) & (self.start <= t) & (t <= self.end)
                yield t, self.take(now), share[now], capacity

    def violated(self, weight: Floats) -> list[ServerCut]:
        """Cuts that a fractional choice of runs violates, at most one for each type and slot.

        Args:
            weight: of each run, above 0, shape (runs,).
        """
        found: list[ServerCut] = []
        for t, part, share, capacity in self.by_slot(weight):
            shares = part.most() * share[:, None]
            servers = bottleneck(part.workers * share, shares, capacity)
            if servers is not None:
                kind = int(self.chosen.instance.worker_type[part.job[0]])
                found.append(ServerCut(kind, t, servers & (capacity > 0)))
        return found


def bottleneck(load: Floats, most: Floats, capacity: Floats) -> Booleans | None:
    """Servers on which loads do not fit, or None where all of them fit somewhere.

    Args:
        load: of each run, shape (runs,).
        most: of it on each server, shape (runs, servers).
        capacity: shape (servers,).
    """
    unit = _UNITS / max(float(load.sum()), 1.0)
    there = np.flatnonzero(most.any(axis=0))
    left, edges, room = (
        np.round(amount * unit).astype(np.int64)
        for amount in (load, most[:, there], np.minimum(capacity[there], float(load.sum())))
    )
    met = saturate(left, edges, room)
    if left.sum() <= _VIOLATED * unit:
        return None
    inside = np.zeros(len(capacity), dtype=bool)
    inside[there[met]] = True
    return inside


@njit_cached
def saturate(left: Integers, edges: Integers, room: Integers) -> Booleans:
    """A maximum flow from runs to servers, along shortest ways (Edmonds and Karp, 1972).

    Args:
        left: load of each run; of it, what finds no place remains, shape (runs,).
        edges: most of each run on each server, shape (runs, servers); changed.
        room: of each server; changed, shape (servers,).

    Returns:
        Servers that loads left over reach in what the flow leaves: those of the minimum cut.
    """
    runs, servers = edges.shape
    flow = np.zeros((runs, servers), dtype=np.int64)
    for r in range(runs):
        for s in range(servers):
            amount = min(left[r], edges[r, s], room[s])
            flow[r, s] += amount
            edges[r, s] -= amount
            left[r] -= amount
            room[s] -= amount
    queue, by_run, by_server = np.zeros(runs, np.int64), np.zeros(servers, np.int64), left.copy()
    while True:
        by_run[:], by_server[:] = -1, -2  # run before a server, server before a run; -1: none
        count, end = 0, -1
        for r in range(runs):
            if left[r] > 0:
                by_server[r], queue[count] = -1, r
                count += 1
        at = 0
        while at < count and end < 0:
            r = queue[at]
            at += 1
            for s in range(servers):
                if edges[r, s] > 0 and by_run[s] < 0:
                    by_run[s] = r
                    if room[s] > 0:
                        end = s
                        break
                    for other in range(runs):
                        if flow[other, s] > 0 and by_server[other] == -2:
                            by_server[other], queue[count] = s, other
                            count += 1
        if end < 0:
            return by_run >= 0
        amount, s = room[end], end
        while s >= 0:
            r = by_run[s]
            s_before = by_server[r]
            amount = min(amount, edges[r, s])
            amount = min(amount, left[r] if s_before < 0 else flow[r, s_before])
            s = s_before
        room[end] -= amount
        s = end
        while s >= 0:
            r = by_run[s]
            edges[r, s] -= amount
            flow[r, s] += amount
            s = by_server[r]
            if s < 0:
                left[r] -= amount
            else:
                flow[r, s] -= amount
                edges[r, s] += amount


@njit_cached
def fitting(
    job: Integers,
    start: Integers,
    workers: Integers,
    fast: Booleans,
    reached: Integers,
    room: Integers,
    served: Booleans,
) -> Integers:
    """How many of the workers of each run fit on some servers, shape (runs,).

    Args:
        job: of each run, shape (runs,), as the next three.
        start: first slot.
        workers: N.
        fast: whether all must be on one server.
        reached: first slot in which a job may use each of the servers, shape (jobs, servers).
        room: workers that each has, shape (servers,).
        served: whether it has a parameter server for a job, shape (jobs, servers).
    """
    found = np.zeros(len(job), dtype=np.int64)
    for r in range(len(job)):
        j, n = job[r], workers[r]
        for s in range(len(room)):
            if reached[j, s] <= start[r]:
                if not fast[r]:
                    found[r] += min(n, room[s])
                elif room[s] >= n and served[j, s]:
                    found[r] = n
            if found[r] >= n:
                found[r] = n
                break
    return found
