"""Cuts on pooled schedules by which servers jobs have reached, and by whole numbers of workers.

A run on servers with limits that starts in slot h uses what the job has reached by then. Of its N
workers those that fit on no such server outside a set A stand in A whatever is chosen, and in any
slot all of these are at most A's capacity W_A; in whole multiples of q, too:

    sum over runs in slot t of floor(max(0, N - room outside A) / q) <= floor(W_A / q).

For q = 1 the A that a fractional point violates most is a minimum cut between its runs and the
servers. For A all servers the row is the strongest there is: at most one width of each job and W_A
workers in all are a packing, and a linear program over the packings of what is used finds what each
width of each job counts. Where these are too many, q is the workers of a run, or half or a third.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from formulations.batch.instance import Booleans, Floats, Integers
from formulations.batch.prospects import Prospects
from optsched.jit import njit_cached

MOST_PACKINGS = 2000
"""Packings of one slot that a cut may be found from."""
_VIOLATED = 1e-3  # workers beyond a side from which on a cut is worth a row
_ACTIVE = 1e-3  # weight from which on a width is looked at
_SAFE = 1e-9  # by which the side 1 is raised
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
    counts: Floats | None = field(default=None, repr=False)
    """Instead: what a run counts of a side of 1 by job and N, shape (jobs, W_A + 1)."""


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

    def row(self, cut: ServerCut) -> tuple[Integers, Floats, float]:
        """Runs that a cut counts, what each counts, and the right-hand side."""
        instance = self.chosen.instance
        there = (self.start <= cut.slot) & (cut.slot <= self.end)
        at = np.flatnonzero(there & (instance.worker_type[self.job] == cut.kind))
        part = self.take(at)
        if cut.counts is not None:
            counted = cut.counts[part.job, part.workers]
            used = np.flatnonzero(counted)
            return at[used], counted[used], 1.0 + _SAFE
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
            known: list[Floats] = []
            for t in np.unique(part.start).tolist():  # nothing is added in other slots
                now = np.flatnonzero((part.start <= t) & (t <= part.end))
                if now.tobytes() != before:
                    n, before = part.workers[now], now.tobytes()
                    found += self._cuts_at(
                        u, t, part.job[now], n, share[now], most[now], capacity, known
                    )
        return found

    def _cuts_at(
        self,
        u: int,
        t: int,
        job: Integers,
        n: Integers,
        share: Floats,
        most: Floats,
        capacity: Floats,
        known: list[Floats],
    ) -> list[ServerCut]:
        found = []
        servers = bottleneck(n * share, most * share[:, None], capacity)
        if servers is not None:
            found.append(ServerCut(u, t, servers & (capacity > 0)))
        total = int(capacity.sum())
        counts = next((c for c in known if c[job, n] @ share > 1 + _VIOLATED), None)
        if counts is None:  # what holds in one slot holds in all
            jobs = np.flatnonzero(self.chosen.instance.worker_type == u)
            counts = packing_cut(job, n, share, total, jobs)
        if counts is not None:
            known.append(counts)
            return [*found, ServerCut(u, t, capacity > 0, counts=counts)]
        q = np.unique(np.concatenate([n, n // 2, n // 3]))
        q = q[(q > 1) & (q <= total)]
        beyond = share @ (n[:, None] // q) - total // q
        worst = beyond / (total // q)
        if len(q) and beyond[np.argmax(worst)] > _VIOLATED:
            found.append(ServerCut(u, t, capacity > 0, int(q[np.argmax(worst)])))
        return found


def packing_cut(
    job: Integers, n: Integers, share: Floats, total: int, jobs: Integers
) -> Floats | None:
    """What widths of jobs count at most 1 of in any slot, violated by a fractional choice.

    Whatever runs in a slot is a packing: of each job at most one width, W_A workers in all. The
    row that the shares violate most comes of a linear program over all packings of what they
    hold; then every width of every job is given as much as the others leave it in any packing.

    Args:
        job: of each run under way, shape (runs,).
        n: its workers.
        share: its weight.
        total: W_A.
        jobs: all jobs of the type.

    Returns:
        Shape (largest job + 1, W_A + 1); None where nothing is violated or packings are too many.
    """
    from scipy.optimize import linprog

    items, of = np.unique(np.column_stack([job, n]), axis=0, return_inverse=True)
    weight = np.bincount(of.reshape(-1), share)
    items, weight = items[weight > _ACTIVE], weight[weight > _ACTIVE]
    if not len(items) or (weight > 1.0 - _ACTIVE).all():
        return None
    rows, load = np.zeros((1, len(items))), np.zeros(1)
    for j in np.unique(items[:, 0]):
        more, heavier = [rows], [load]
        for k in np.flatnonzero(items[:, 0] == j):
            fits = load + items[k, 1] <= total
            more.append(rows[fits])
            more[-1] = more[-1].copy()
            more[-1][:, k] = 1.0
            heavier.append(load[fits] + items[k, 1])
        rows, load = np.concatenate(more), np.concatenate(heavier)
        if len(rows) > MOST_PACKINGS:
            return None
    found = linprog(-weight, A_ub=rows[1:], b_ub=np.ones(len(rows) - 1))
    if found.status != 0:
        return None
    worth: Floats = np.maximum(np.asarray(found.x), 0.0)
    worth /= max(1.0, float((rows @ worth).max()))
    if worth @ weight <= 1 + _VIOLATED:
        return None
    counts = np.zeros((int(jobs.max()) + 1, total + 1))
    counts[items[:, 0], items[:, 1]] = worth
    active = np.unique(items[:, 0])
    lift(counts, np.concatenate([active, np.setdiff1d(jobs, active)]))
    return counts


@njit_cached
def _beside(value: Floats, row: Floats, out: Floats) -> None:
    """Best value by workers where one more job may run, at most one width of it."""
    out[:] = value
    for width in range(1, len(row)):
        if row[width] > 0.0:
            for c in range(width, len(value)):
                out[c] = max(out[c], row[width] + value[c - width])


@njit_cached
def lift(counts: Floats, order: Integers) -> None:
    """Raise what each width of each job counts, job by job, as far as no packing exceeds 1.

    Args:
        counts: read and written, by job and workers; no packing of it exceeds 1.
        order: of jobs.
    """
    jobs, size = len(order), counts.shape[1]
    after = np.zeros((jobs + 1, size))  # of those still to come, as they are
    for at in range(jobs - 1, -1, -1):
        _beside(after[at + 1], counts[order[at]], after[at])
    before, spare = np.zeros(size), np.zeros(size)
    for at in range(jobs):
        row = counts[order[at]]
        for width in range(1, size):
            most = 0.0
            for c in range(size - width):
                most = max(most, before[c] + after[at + 1, size - 1 - width - c])
            row[width] = max(row[width], 1.0 - most)
            if row[width] < _VIOLATED:
                row[width] = 0.0
        _beside(before, row, spare)
        before[:] = spare


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
