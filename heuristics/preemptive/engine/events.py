"""What edge workers do as time goes by: arrivals, preemptions, completions (Algorithm 4, restated).

A worker always runs the arrived, unfinished chunk with the smallest key, where a key is
``work / w_j``: the whole chunk time for HAPRF as printed (highest density first), the work left
for residual density. Equal keys run in order of arrival. Nothing is simulated before somebody
asks: each worker keeps the moment of its next completion and catches up when looked at.
"""

from __future__ import annotations

import math

from heuristics.preemptive.engine.queues import (
    BUCKET_SIZE,
    NONE,
    Record,
    Tables,
    came_before,
    drop_first_chunk,
    fill_entry,
    free_block,
    precedes,
    settle,
)
from heuristics.preemptive.engine.ties import TIE, slack
from optsched.jit import njit_cached, njit_rows

DO, LOOK, TELL = 0, 1, 2
"""What time leaves behind as it passes: a worker's runs and new state, nothing, or its runs."""


@njit_cached
def is_due(tables: Tables, w: Record, until: float) -> bool:
    """Whether a completion or an arrival falls due by ``until`` (slots)."""
    if w["block"] != NONE:
        duration = tables.blocks[w["block"]]["duration"]
        if w["finish"] <= until + slack(duration, until):
            return True
    return bool(w["first"] != NONE and _has_arrived(tables.blocks[w["first"]], until))


@njit_cached
def _has_arrived(block: Record, moment: float) -> bool:
    return bool(block["arrival"] <= moment + slack(block["duration"], moment))


@njit_cached
def advance(tables: Tables, x: int, until: float, origin: float) -> float:
    """Run a worker up to ``until`` (slots), what falls due at that moment included.

    Args:
        tables: the workers.
        x: row of the worker, or of a copy of it, which tells what is kept.
        until: slots; may be infinite.
        origin: from which the flow is counted, slots.

    Returns:
        Weighted flow of what gets done: sum of w (c - origin).
    """
    w = tables.workers[x]
    flow = 0.0
    while True:
        first = w["first"]
        if w["block"] != NONE:
            own = tables.blocks[w["block"]]
            horizon = until
            if first != NONE:
                horizon = min(tables.blocks[first]["arrival"], until)
            if w["finish"] <= horizon + slack(own["duration"], horizon):
                flow += (w["finish"] - origin) / own["num_chunks"]
                _complete(tables, w)
                continue
        if first == NONE or not _has_arrived(tables.blocks[first], until):
            break
        _take_off_the_way(tables, w)
        _admit(tables, w, first)
    if w["keeps"] == DO:
        settle(tables, w)
    return flow


@njit_cached
def _complete(tables: Tables, w: Record) -> None:
    finish = w["finish"]
    _tell(tables, w, finish, True)
    if w["keeps"] == DO:
        block = w["block"]
        tables.totals[0]["chunks"] -= 1
        tables.blocks[block]["left"] -= 1
        if tables.blocks[block]["left"] == 0:
            free_block(tables, w, block)
    w["block"] = NONE
    w["free"] = finish
    _start_first(tables, w, finish)


@njit_cached
def _tell(tables: Tables, w: Record, end: float, finished: bool) -> None:
    if w["keeps"] == LOOK:
        return
    run = tables.runs[tables.totals[0]["runs"]]
    tables.totals[0]["runs"] += 1
    run["start"] = w["start"]
    run["end"] = end
    run["ticket"] = tables.blocks[w["block"]]["ticket"] + w["position"]
    run["finished"] = finished


@njit_cached
def _take_off_the_way(tables: Tables, w: Record) -> None:
    w["first"] = tables.blocks[w["first"]]["next"]
    if w["keeps"] == DO:
        w["under_way"] -= 1
        tables.totals[0]["under_way"] -= 1
        if w["first"] == NONE:
            w["last"] = NONE
        else:
            tables.blocks[w["first"]]["previous"] = NONE


@njit_cached
def _admit(tables: Tables, w: Record, block: int) -> None:
    own = tables.blocks[block]
    now = own["arrival"]
    if w["block"] != NONE and _gives_way(tables, w, own):
        _suspend(tables, w, now)
    key = own["num_chunks"] * own["duration"]
    _join(tables, w, key, block, 0, int(own["count"]), own["duration"])
    if w["block"] == NONE:
        _start_first(tables, w, max(now, w["free"]))


@njit_cached
def _gives_way(tables: Tables, w: Record, block: Record) -> bool:
    """Whether the running chunk comes after a chunk of ``block``, which arrives now."""
    current = tables.blocks[w["block"]]
    key = w["key"]
    if tables.residual:
        key = (w["finish"] - block["arrival"]) * current["num_chunks"]
    fresh = block["num_chunks"] * block["duration"]
    if abs(fresh - key) <= TIE * key:
        return came_before(block, current)
    return bool(fresh < key)


@njit_cached
def _suspend(tables: Tables, w: Record, now: float) -> None:
    own = tables.blocks[w["block"]]
    key, work = w["key"], w["work"]
    if now - w["start"] > slack(own["duration"], now):  # else it never really ran
        _tell(tables, w, now, False)
        w["free"] = now
        work = w["finish"] - now
        if tables.residual:
            key = work * own["num_chunks"]
    block, position = w["block"], w["position"]
    w["block"] = NONE
    _join(tables, w, key, block, int(position), 1, work)


@njit_cached
def _join(
    tables: Tables, w: Record, key: float, block: int, position: int, count: int, work: float
) -> None:
    """Put chunks to those that have joined since the queue was settled, in no order."""
    fill_entry(tables, tables.ahead[w["ahead"]], key, block, position, count, work)
    w["ahead"] += 1


@njit_cached
def _start_first(tables: Tables, w: Record, now: float) -> None:
    """Start the waiting chunk of smallest key, if any waits."""
    best = 0
    for i in range(1, w["ahead"]):
        if precedes(tables, tables.ahead[i], tables.ahead[best]):
            best = i
    from_ahead = w["ahead"] > 0
    front = tables.ahead[best]
    if w["bucket"] != NONE:
        settled = tables.entries[w["bucket"] * BUCKET_SIZE + w["index"]]
        if not from_ahead or not precedes(tables, front, settled):
            from_ahead = False
            front = settled
    elif not from_ahead:
        return
    own = tables.blocks[front["block"]]
    gone = 0 if from_ahead else w["taken"]
    w["key"] = front["key"]
    w["block"] = front["block"]
    w["position"] = front["position"] + gone
    w["work"] = front["work"] if gone == 0 else own["duration"]
    w["start"] = now
    w["finish"] = now + w["work"]
    if from_ahead and front["count"] > 1:
        drop_first_chunk(tables, front)
    elif from_ahead:
        w["ahead"] -= 1
        tables.ahead[best] = tables.ahead[w["ahead"]]
    elif front["count"] - gone > 1:
        w["taken"] += 1
    else:
        w["taken"] = 0
        w["index"] += 1
        if w["index"] == tables.buckets[w["bucket"]]["size"]:
            w["bucket"] = tables.buckets[w["bucket"]]["next"]
            w["index"] = 0


@njit_cached
def catch_up(tables: Tables, x: int, now: float) -> None:
    """Bring a worker to ``now`` if anything falls due by then, and note what it is at."""
    w = tables.workers[x]
    if is_due(tables, w, now):
        advance(tables, x, now, now)
        if w["block"] != NONE:
            w["busy_until"] = w["finish"]
            w["busy_weight"] = 1.0 / tables.blocks[w["block"]]["num_chunks"]


@njit_cached
def copy(tables: Tables, x: int, keeps: int) -> int:
    """The row that holds a copy of a worker, good until the next copy, for ``LOOK`` or ``TELL``."""
    row = len(tables.workers) - 1
    tables.workers[row] = tables.workers[x]
    tables.workers[row]["keeps"] = keeps
    return row


@njit_rows
def tell_all(tables: Tables) -> None:
    """Append the runs that workers will do if nothing else arrives."""
    for x in range(len(tables.workers) - 1):
        advance(tables, copy(tables, x, TELL), math.inf, 0.0)
