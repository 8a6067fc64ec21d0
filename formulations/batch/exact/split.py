"""Back from pooled servers to single ones: an assignment problem with fixed times.

A solution of the pooled problem says when each job runs, how wide and how fast. Whether its
workers and parameter servers fit on single servers, unchanged through every job's run, is asked
exactly; a job that finds no place may be dropped at a price, so that there is an answer either
way, and nothing dropped is a proof that the pooled solution stands.

If all jobs reach all servers before they start and none runs on one server only, it always does:
intervals within a total capacity can be coloured, by giving each what is free when it starts. So
that is tried first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from formulations.batch.domain_reduction import Prospects
from formulations.batch.insertion import Occupancy, PlacedJob, inserted
from formulations.batch.instance import Booleans, Floats, Integers
from optsched.instances.arrays import ranges
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Status


@dataclass(frozen=True, eq=False)
class Timetable:
    """When, how wide and how fast jobs run on servers with limits; each array (runs,)."""

    job: Integers
    choice: Integers
    """Of the prospects."""
    start: Integers

    def take(self, kept: Booleans | Integers) -> Timetable:
        """The runs that a mask or an index array picks."""
        return Timetable(self.job[kept], self.choice[kept], self.start[kept])


@dataclass(frozen=True, eq=False)
class Split:
    """Where the runs of a timetable go."""

    kept: Booleans
    """Runs that have a place, shape (runs,)."""
    ps: Integers
    """Server of the parameter server of each run, shape (runs,); -1 where it is dropped."""
    placed: Integers
    """Rows (run, server, workers)."""
    proven: bool
    """Whether no cheaper set of dropped runs exists."""


def split(
    chosen: Prospects, table: Timetable, penalty: Floats, *, options: Options | None = None
) -> Split:
    """Place as much of a timetable as can be, dropped runs weighed by their penalties.

    Args:
        chosen: what the choices of the timetable refer to.
        table: the runs.
        penalty: > 0, shape (runs,).
        options: limits of the solve.
    """
    runs = len(table.job)
    nothing = np.zeros((0, 3), dtype=np.int64)
    if runs == 0:
        return Split(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64), nothing, True)
    quick = greedy_split(chosen, table)
    if quick is not None:
        return quick
    model, (wr, ws), (pr, ps) = split_model(chosen, table, penalty)
    solution = solve(model, "highs", options=options)
    if not solution.has_point:
        dropped = np.zeros(runs, dtype=bool)
        return Split(dropped, np.full(runs, -1), nothing, False)
    kept = solution["kept"] > 0.5
    workers = np.round(solution["y"]).astype(np.int64)
    used = (workers > 0) & kept[wr]
    server = np.full(runs, -1)
    served = np.flatnonzero(solution["z"] > 0.5)
    server[pr[served]] = ps[served]
    placed = np.column_stack([wr[used], ws[used], workers[used]])
    return Split(kept, server, placed, solution.status is Status.OPTIMAL)


def greedy_split(chosen: Prospects, table: Timetable) -> Split | None:
    """Place runs in order of start on what is free then; None where one finds no place.

    What is free when a run starts stays so, as all others that are placed have started. Servers
    that are reached late come first: fewer jobs can use them.
    """
    instance, k = chosen.instance, chosen.choices.take(table.choice)
    runs = len(table.job)
    workers, services = instance.worker_capacity.copy(), instance.ps_capacity.copy()
    ps = np.full(runs, -1)
    y = np.zeros((runs, instance.servers), dtype=np.int64)
    busy: list[tuple[int, int]] = []
    for r in np.lexsort((~k.fast, table.start)).tolist():
        j, start = int(table.job[r]), int(table.start[r])
        u, v = instance.worker_type[j], instance.ps_type[j]
        while busy and busy[0][0] <= start:
            done = heapq.heappop(busy)[1]
            workers[:, instance.worker_type[table.job[done]]] += y[done]
            services[ps[done], instance.ps_type[table.job[done]]] += 1
        reached = chosen.limited[j] & (instance.release_slot[j] + instance.upload_delay[j] <= start)
        room = np.where(reached, np.minimum(workers[:, u], k.workers[r]), 0.0)
        service = reached & (services[:, v] >= 1)
        if k.fast[r]:
            room = np.where(service & (room >= k.workers[r]), room, 0.0)
        order = np.argsort(-instance.upload_delay[j], kind="stable")
        before = np.cumsum(room[order]) - room[order]
        y[r, order] = np.clip(k.workers[r] - before, 0.0, room[order])
        if y[r].sum() < k.workers[r] or not service.any():
            return None
        beside = int(np.argmax(y[r])) if k.fast[r] else int(order[np.argmax(service[order])])
        ps[r] = beside
        workers[:, u] -= y[r]
        services[beside, v] -= 1
        heapq.heappush(busy, (start + int(k.duration[r]), r))
    run, server = np.nonzero(y)
    return Split(
        np.ones(runs, dtype=bool), ps, np.column_stack([run, server, y[run, server]]), True
    )


Pairs = tuple[Integers, Integers]


def split_model(chosen: Prospects, table: Timetable, penalty: Floats) -> tuple[Model, Pairs, Pairs]:
    """The assignment problem, and run and server of its worker and parameter-server pairs."""
    instance, k = chosen.instance, chosen.choices.take(table.choice)
    runs, job, end = len(table.job), table.job, table.start + k.duration
    reached = chosen.limited[job] & (
        instance.release_slot[job][:, None] + instance.upload_delay[job] <= table.start[:, None]
    )
    wr, ws = np.nonzero(reached & (instance.worker_room[job] >= 1))
    pr, ps = np.nonzero(reached & (instance.ps_room[job] >= 1))
    model = Model("split of a pooled timetable")
    most = instance.most_workers[job[wr], ws]
    fits = np.where(k.fast[wr], most >= k.workers[wr], True)
    y = model.integer("y", len(wr), upper=np.where(fits, np.minimum(most, k.workers[wr]), 0))
    z = model.binary("z", len(pr))
    kept = model.binary("kept", runs)
    model.add("R2", y.sum_by(wr, runs) == kept * k.workers.astype(float))
    model.add("R3", z.sum_by(pr, runs) == kept)
    service = np.full((runs, instance.servers), -1)
    service[pr, ps] = np.arange(len(pr))
    one = np.flatnonzero(k.fast[wr] & (service[wr, ws] >= 0))
    alone = np.flatnonzero(k.fast[wr] & (service[wr, ws] < 0))
    model.add("2f:with PS", y[one] <= z[service[wr[one], ws[one]]] * k.workers[wr[one]])
    model.add("2f:without PS", y[alone] <= 0.0)
    for label, variable, (run, server), kinds, capacity in (
        ("2g", y, (wr, ws), instance.worker_type, instance.worker_capacity),
        ("2h", z, (pr, ps), instance.ps_type, instance.ps_capacity),
    ):
        kind = kinds[job[run]]
        of, pair, room = peaks(server, kind, capacity, table.start[run], end[run])
        model.add(label, variable[pair].sum_by(of, len(room)) <= room)
    model.maximize(kept @ penalty)
    return model, (wr, ws), (pr, ps)


def peaks(
    server: Integers, kind: Integers, capacity: Floats, start: Integers, end: Integers
) -> tuple[Integers, Integers, Floats]:
    """Where loads must be looked at: every (server, type) at every start of something there.

    Args:
        server: of each entry, shape (entries,).
        kind: its type.
        capacity: shape (servers, types); nothing is asked of what is infinite.
        start: first slot of each entry.
        end: slot past its last.

    Returns:
        Peak and entry of everything under way at a peak, and the capacity of each peak.
    """
    group = server * capacity.shape[1] + kind
    scarce = np.flatnonzero(np.isfinite(capacity.reshape(-1)[group]))
    order = scarce[np.argsort(group[scarce], kind="stable")]
    span = int(end.max(initial=0)) + 1
    moments = np.unique(group[order] * span + start[order])
    at, when = np.divmod(moments, span)
    first, last = (np.searchsorted(group[order], at, side=side) for side in ("left", "right"))
    peak, position = ranges(first, last)
    entry = order[position]
    busy = (start[entry] <= when[peak]) & (when[peak] < end[entry])
    return peak[busy], entry[busy], capacity.reshape(-1)[at]


def complete(
    chosen: Prospects,
    table: Timetable,
    given: Split,
    order: Sequence[int],
    go_on: Callable[[], bool],
) -> list[PlacedJob]:
    """The runs of a split, and of the other contested jobs where they complete earliest.

    Args:
        chosen: the choices.
        table: what was split.
        given: where its runs go.
        order: contested jobs in the order in which those without a place look for one.
        go_on: asked before each of them; once it says no, the rest find none.
    """
    k = chosen.choices.take(table.choice)
    servers = chosen.instance.servers
    y = np.zeros((len(table.job), servers), dtype=np.int64)
    y[given.placed[:, 0], given.placed[:, 1]] = given.placed[:, 2]
    runs = []
    for r in np.flatnonzero(given.kept).tolist():
        start = int(table.start[r])
        end = start + int(k.duration[r]) - 1
        runs.append(
            PlacedJob(int(table.job[r]), start, end, bool(k.fast[r]), int(given.ps[r]), y[r])
        )
    return inserted(Occupancy(chosen), runs, order, go_on)
