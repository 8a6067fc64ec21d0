"""What places at the workers cost a job that arrives: rule (5), and the exact increase of flow.

Levels are prices over the job's weight, ``Q / w_j``, in slots.
"""

from __future__ import annotations

import numpy as np

from heuristics.preemptive.engine.events import LOOK, advance, catch_up, copy, is_due
from heuristics.preemptive.engine.queues import NONE, Table, Tables, waiting
from heuristics.preemptive.engine.sending import send, withdraw
from heuristics.preemptive.engine.ties import TIE
from optsched.jit import njit_cached, njit_rows

SURFACED = 8
"""Workers after which the surface of the water is computed anew."""


@njit_cached
def pending(tables: Tables, x: int, moment: float, now: float, key: float) -> tuple[float, float]:
    """(W_1, W_2) of (5) at a worker at ``moment``, as far as is known ``now``."""
    catch_up(tables, x, now)
    row = x
    if is_due(tables, tables.workers[x], moment):
        row = copy(tables, x, LOOK)
        advance(tables, row, moment, now)
    w = tables.workers[row]
    limit = key * (1 + TIE)
    before, behind = waiting(tables, w, limit)
    if w["block"] != NONE:
        chunks = tables.blocks[w["block"]]["num_chunks"]
        left = w["finish"] - moment
        if (left * chunks if tables.residual else w["key"]) <= limit:
            before += left
        else:
            behind += 1.0 / chunks
    return before, behind


@njit_rows
def least_levels(
    tables: Tables, workers: Table, delay: Table, now: float, chunk_time: float, key: float
) -> Table:
    """Lower bound on the level Q / w_j of (5) at each worker, without looking closely.

    A chunk seen running cannot be done before the end then planned; whatever is left of it
    counts in W_1, or its weight in W_2.
    """
    levels = np.empty(len(workers))
    for i in range(len(workers)):
        w = tables.workers[workers[i]]
        left = max(w["busy_until"] - (now + delay[i]), 0.0)
        levels[i] = delay[i] + chunk_time + min(left, key * w["busy_weight"])
    return levels


@njit_rows
def look_closely(
    tables: Tables,
    workers: Table,
    delay: Table,
    now: float,
    chunk_time: float,
    key: float,
    ceiling: float,
    chunks: float,
    order: Table,
    levels: Table,
) -> None:
    """Turn lower bounds into levels, in their order, as long as they may matter.

    Chunks poured into the workers looked at so far would stand up to a surface; a worker whose
    lower bound is above it, or above the ceiling, takes none.

    Args:
        tables: the workers.
        workers: indices, shape (n,).
        delay: to each of them, slots.
        now: release time of the job that asks, slots.
        chunk_time: p^0_j at the online speed, slots.
        key: its inverse density D_j p^0_j.
        ceiling: a level of no interest from there on, slots.
        chunks: how many are poured; infinite to look at all workers up to the ceiling.
        order: positions by ascending lower bound.
        levels: lower bounds, overwritten.
    """
    seen = np.empty(len(workers))  # ascending
    highest = ceiling
    for n in range(len(order)):
        i = order[n]
        if levels[i] > highest * (1 + TIE):
            break
        moment = now + delay[i]
        if tables.workers[workers[i]]["idle_from"] > moment:
            before, behind = pending(tables, workers[i], moment, now, key)
            levels[i] = delay[i] + chunk_time + before + key * behind
        at = n
        while at > 0 and seen[at - 1] > levels[i]:
            seen[at] = seen[at - 1]
            at -= 1
        seen[at] = levels[i]
        if n % SURFACED == SURFACED - 1:
            below = 0.0
            for m in range(n + 1):
                below += seen[m]
                highest = min(highest, (chunks * chunk_time + below) / (m + 1))


@njit_cached
def planned_flow(tables: Tables, x: int, now: float) -> float:
    """Sum of w (c - now) over unfinished chunks of a worker if nothing else is sent."""
    return advance(tables, copy(tables, x, LOOK), np.inf, now)


@njit_rows
def fill_exactly(
    tables: Tables,
    workers: Table,
    delay: Table,
    now: float,
    job: int,
    num_chunks: int,
    duration: float,
    ceiling: float,
) -> tuple[Table, Table]:
    """Chunks by the exact increase of the planned flow time: index of the worker, and level.

    Only the price at the chosen worker changes with each chunk; it need not rise, because a
    chunk may bear the whole loss of a gap that the next one no longer finds.
    """
    supposed = np.zeros(len(workers), dtype=np.int64)
    flow, levels = np.empty(len(workers)), np.empty(len(workers))
    chosen, paid = np.empty(num_chunks, dtype=np.int64), np.empty(num_chunks)
    taken, i = 0, -1
    for k in range(len(workers)):
        catch_up(tables, workers[k], now)
        flow[k] = planned_flow(tables, workers[k], now)
    todo = len(workers)  # prices to write, from all of them to the one that changed
    while len(workers):
        for k in range(len(workers)) if todo > 1 else range(i, i + 1):
            x, arrival = workers[k], now + delay[k]
            block = send(tables, x, arrival, now, job, num_chunks, duration, supposed[k] + 1)
            with_next = planned_flow(tables, x, now)
            withdraw(tables, x, block)
            levels[k] = (with_next - flow[k]) * num_chunks
            flow[k] = with_next
        todo = 1
        lowest = np.inf
        for level in levels:
            lowest = min(lowest, level)
        if taken == num_chunks or lowest > ceiling * (1 + TIE):
            break
        i = 0
        while levels[i] > lowest * (1 + TIE):
            i += 1
        chosen[taken] = i
        paid[taken] = levels[i]
        supposed[i] += 1
        taken += 1
    return chosen[:taken], paid[:taken]
