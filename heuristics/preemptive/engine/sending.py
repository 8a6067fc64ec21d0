"""Chunks on their way to workers: one block per job and worker, in lists by arrival."""

from __future__ import annotations

from heuristics.preemptive.engine.events import catch_up
from heuristics.preemptive.engine.queues import NONE, Record, Table, Tables, free_block, new_block
from optsched.jit import njit_cached, njit_rows

LONG = 32
"""Blocks under way from which on a worker catches up when something is sent to it."""


@njit_cached
def send(
    tables: Tables,
    x: int,
    arrival: float,
    release_time: float,
    job: int,
    num_chunks: int,
    duration: float,
    count: int,
) -> int:
    """Put chunks of a job under way to a worker; the block they form."""
    totals, w = tables.totals[0], tables.workers[x]
    block = new_block(tables, w)
    own = tables.blocks[block]
    own["arrival"] = arrival
    own["release_time"] = release_time
    own["duration"] = duration
    own["job"] = job
    own["num_chunks"] = num_chunks
    own["count"] = count
    own["left"] = count
    own["ticket"] = totals["tickets"]
    before = w["last"]
    while before != NONE and tables.blocks[before]["arrival"] > arrival:
        before = tables.blocks[before]["previous"]
    _link(tables, w, block, before)
    w["under_way"] += 1
    totals["under_way"] += 1
    totals["most_under_way"] = max(totals["most_under_way"], w["under_way"])
    return block


@njit_cached
def _link(tables: Tables, w: Record, block: int, before: int) -> None:
    after = w["first"] if before == NONE else tables.blocks[before]["next"]
    tables.blocks[block]["previous"] = before
    tables.blocks[block]["next"] = after
    if before == NONE:
        w["first"] = block
    else:
        tables.blocks[before]["next"] = block
    if after == NONE:
        w["last"] = block
    else:
        tables.blocks[after]["previous"] = block


@njit_cached
def withdraw(tables: Tables, x: int, block: int) -> None:
    """Undo ``send``, before time has passed."""
    w = tables.workers[x]
    before, after = tables.blocks[block]["previous"], tables.blocks[block]["next"]
    if before == NONE:
        w["first"] = after
    else:
        tables.blocks[before]["next"] = after
    if after == NONE:
        w["last"] = before
    else:
        tables.blocks[after]["previous"] = before
    w["under_way"] -= 1
    tables.totals[0]["under_way"] -= 1
    free_block(tables, w, block)


@njit_rows
def dispatch_chunks(
    tables: Tables,
    worker: Table,
    order: Table,
    delay: Table,
    release_time: float,
    job: int,
    num_chunks: int,
    duration: float,
) -> None:
    """Send chunks, the number of each being its index, to their workers.

    Args:
        tables: the workers.
        worker: edge worker of each chunk, or negative: not to the edge; shape (chunks,).
        order: chunks by worker, those of one worker ascending.
        delay: of the job to each worker, shape (workers,), slots.
        release_time: r_j, slots.
        job: its index.
        num_chunks: D_j.
        duration: p^0_j at the online speed, slots.
    """
    totals = tables.totals[0]
    i = 0
    while i < len(order):
        x = worker[order[i]]
        end = i + 1
        while end < len(order) and worker[order[end]] == x:
            end += 1
        if x >= 0:
            count = end - i
            arrival = release_time + delay[x]
            send(tables, x, arrival, release_time, job, num_chunks, duration, count)
            w = tables.workers[x]
            w["idle_from"] = max(w["idle_from"], arrival) + count * duration
            for k in range(i, end):
                ticket = tables.tickets[totals["tickets"]]
                ticket["job"] = job
                ticket["chunk"] = order[k]
                ticket["worker"] = x
                totals["tickets"] += 1
            totals["chunks"] += count
            if w["under_way"] > LONG:
                catch_up(tables, x, release_time)
        i = end
