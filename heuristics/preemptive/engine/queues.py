"""The state of all edge workers as tables, and what waits at each in order of key.

Chunks that have arrived and wait are kept as *entries*, one per (job, worker) or less, in a
chain of buckets per worker: sorted, of bounded size, each with the sums of its entries. Finding
a place, and summing up what comes before and after it, looks at whole buckets and inside one,
so that long queues cost little more than short ones.

Everything here is compiled: records go by reference, and nothing allocates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.preemptive.engine.ties import TIE, slack
from optsched.jit import njit_cached

Table = NDArray[Any]
Record = Any

NONE = -1
"""Index that stands for no block, no bucket."""

BUCKET_SIZE = 64
BLOCKS_TOGETHER = 16
"""Rows of blocks that a worker takes at a time, so that what it looks at lies together."""

WORKER = np.dtype(
    [
        ("block", "i4"),  # of the running chunk, or NONE; its place in the block, and its entry
        ("position", "i4"),
        ("key", "f8"),
        ("work", "f8"),
        ("start", "f8"),
        ("finish", "f8"),
        ("free", "f8"),  # end of the last run
        ("first", "i4"),  # blocks under way, a list by arrival
        ("last", "i4"),
        ("under_way", "i4"),
        ("slab", "i4"),  # next of the rows taken for blocks; a multiple of their number: none left
        ("spare", "i4"),  # a list of rows to use again
        ("head", "i4"),  # first bucket that is this worker's
        ("bucket", "i4"),  # front of the queue: bucket, index in it, chunks gone from its entry
        ("index", "i4"),
        ("taken", "i4"),
        ("ahead", "i4"),  # entries that have joined since the queue was last settled
        ("keeps", "i4"),  # what remains of passing time, see ``events``
        ("idle_from", "f8"),  # a moment from which the worker is surely idle
        ("busy_until", "f8"),  # of the chunk that ran when the worker was last looked at
        ("busy_weight", "f8"),
    ],
    align=True,
)
BLOCK = np.dtype(
    [
        ("arrival", "f8"),
        ("release_time", "f8"),
        ("duration", "f8"),
        ("job", "i4"),
        ("num_chunks", "i4"),  # of the whole job
        ("count", "i4"),  # of this block
        ("left", "i4"),  # of them, not yet done
        ("ticket", "i4"),  # of its first chunk; the others follow
        ("next", "i4"),
        ("previous", "i4"),
    ],
    align=True,
)
ENTRY = np.dtype(
    [
        ("key", "f8"),
        ("work", "f8"),  # left of the first chunk
        ("total", "f8"),  # left of all of them
        ("mass", "f8"),  # their weight
        ("block", "i4"),
        ("position", "i4"),  # of the first chunk in the block
        ("count", "i4"),
    ],
    align=True,
)
BUCKET = np.dtype(
    [
        ("total", "f8"),
        ("mass", "f8"),
        ("lowest", "f8"),  # key of the first entry, and of the last
        ("highest", "f8"),
        ("size", "i4"),
        ("next", "i4"),
    ],
    align=True,
)
RUN = np.dtype([("start", "f8"), ("end", "f8"), ("ticket", "i4"), ("finished", "i4")], align=True)
TICKET = np.dtype([("job", "i4"), ("chunk", "i4"), ("worker", "i4")])


class Totals(NamedTuple):
    """Counts over all workers, in the order of the columns of ``TOTALS``."""

    blocks_end: int
    """Rows ever taken."""
    buckets: int
    """Rows in use."""
    buckets_end: int
    """Rows ever in use."""
    buckets_free: int
    """Head of the list of rows to use again, or ``NONE``."""
    runs: int
    tickets: int
    chunks: int
    """Dispatched to the edge and not known to be done."""
    under_way: int
    """Blocks."""
    most_under_way: int
    """Blocks to one worker, ever."""


TOTALS = np.dtype([(name, "i8") for name in Totals._fields])


class Tables(NamedTuple):
    """All there is to know of the edge workers; compiled code changes it in place."""

    workers: Table
    """``WORKER``; the last row is nobody's, for looking ahead."""
    blocks: Table
    """``BLOCK``: the chunks of one job dispatched to one worker."""
    entries: Table
    """``ENTRY``, ``BUCKET_SIZE`` rows per bucket."""
    buckets: Table
    """``BUCKET``."""
    ahead: Table
    """``ENTRY``: what joins the queue of the worker at hand, in no order."""
    runs: Table
    """``RUN``: what workers have done, one row per uninterrupted run of a chunk."""
    tickets: Table
    """``TICKET``: one row per chunk at the edge, in order of dispatch."""
    totals: Table
    """``TOTALS``: one row."""
    residual: bool
    """Whether keys follow the work left."""


@njit_cached
def came_before(one: Record, other: Record) -> bool:
    """Whether a block stands before another of equal density: by arrival, release, index."""
    if abs(one["arrival"] - other["arrival"]) <= slack(one["duration"], one["arrival"]):
        if one["release_time"] == other["release_time"]:
            return bool(one["job"] < other["job"])
        return bool(one["release_time"] < other["release_time"])
    return bool(one["arrival"] < other["arrival"])


@njit_cached
def precedes(tables: Tables, new: Record, other: Record) -> bool:
    """Whether an entry stands before another."""
    if other["key"] > new["key"] * (1 + TIE):
        return True
    if other["key"] < new["key"] * (1 - TIE):
        return False
    if other["block"] == new["block"]:
        # by the last chunk: those gone from the front of the other may still be counted
        return bool(new["position"] + new["count"] < other["position"] + other["count"])
    return came_before(tables.blocks[new["block"]], tables.blocks[other["block"]])


@njit_cached
def fill_entry(
    tables: Tables, entry: Record, key: float, block: int, position: int, count: int, work: float
) -> None:
    """Write the chunks of a block from ``position`` on, of the first of which ``work`` is left."""
    own = tables.blocks[block]
    entry["key"] = key
    entry["work"] = work
    entry["total"] = (count - 1) * own["duration"] + work
    entry["mass"] = count / own["num_chunks"]
    entry["block"] = block
    entry["position"] = position
    entry["count"] = count


@njit_cached
def drop_first_chunk(tables: Tables, entry: Record) -> None:
    """Take a chunk off an entry that has more."""
    own = tables.blocks[entry["block"]]
    entry["position"] += 1
    entry["count"] -= 1
    entry["work"] = own["duration"]
    entry["total"] = entry["count"] * own["duration"]
    entry["mass"] = entry["count"] / own["num_chunks"]


@njit_cached
def settle(tables: Tables, w: Record) -> None:
    """Take from a worker's buckets what has gone and put in what has joined."""
    while w["head"] != w["bucket"]:
        emptied = w["head"]
        w["head"] = tables.buckets[emptied]["next"]
        _free_bucket(tables, emptied)
    if w["bucket"] != NONE:
        front = tables.entries[w["bucket"] * BUCKET_SIZE + w["index"]]
        while w["taken"] > 0:
            drop_first_chunk(tables, front)
            w["taken"] -= 1
    for i in range(w["ahead"]):
        _insert(tables, w, tables.ahead[i])
    w["ahead"] = 0


@njit_cached
def waiting(tables: Tables, w: Record, limit: float) -> tuple[float, float]:
    """Work of the waiting entries with a key up to a limit, and weight of the others."""
    before, behind = 0.0, 0.0
    bucket, first = w["bucket"], w["index"]
    while bucket != NONE:
        own = tables.buckets[bucket]
        base = bucket * BUCKET_SIZE
        if bucket != w["bucket"] and own["lowest"] > limit:
            behind += own["mass"]
        elif bucket != w["bucket"] and own["highest"] <= limit:
            before += own["total"]
        else:
            for i in range(base + first, base + own["size"]):
                entry = tables.entries[i]
                gone = w["taken"] if bucket == w["bucket"] and i == base + first else 0
                if entry["key"] <= limit:
                    before += entry["total"] if gone == 0 else _total_without(tables, entry, gone)
                else:
                    behind += entry["mass"] if gone == 0 else _mass_without(tables, entry, gone)
        bucket, first = own["next"], 0
    for i in range(w["ahead"]):
        entry = tables.ahead[i]
        if entry["key"] <= limit:
            before += entry["total"]
        else:
            behind += entry["mass"]
    return before, behind


@njit_cached
def _total_without(tables: Tables, entry: Record, gone: int) -> float:
    return float((entry["count"] - gone) * tables.blocks[entry["block"]]["duration"])


@njit_cached
def _mass_without(tables: Tables, entry: Record, gone: int) -> float:
    return float((entry["count"] - gone) / tables.blocks[entry["block"]]["num_chunks"])


@njit_cached
def _insert(tables: Tables, w: Record, new: Record) -> None:
    """Put an entry into the first bucket that ends behind it, or else into the last one."""
    if w["head"] == NONE:
        w["bucket"] = _new_bucket(tables)
        w["head"] = w["bucket"]
        w["index"] = 0
    bucket = w["head"]
    while True:
        own = tables.buckets[bucket]
        if own["next"] == NONE or own["highest"] > new["key"] * (1 + TIE):
            break
        last = bucket * BUCKET_SIZE + own["size"] - 1
        if own["highest"] >= new["key"] * (1 - TIE) and precedes(tables, new, tables.entries[last]):
            break
        bucket = own["next"]
    if own["size"] == BUCKET_SIZE:
        bucket = _make_room(tables, w, bucket, new)
        own = tables.buckets[bucket]
    base = bucket * BUCKET_SIZE
    first = base + (w["index"] if bucket == w["head"] else 0)
    at = base + own["size"]
    while at > first and precedes(tables, new, tables.entries[at - 1]):
        tables.entries[at] = tables.entries[at - 1]
        at -= 1
    tables.entries[at] = new
    own["size"] += 1
    _add_up(tables, bucket)


@njit_cached
def _make_room(tables: Tables, w: Record, bucket: int, new: Record) -> int:
    """Close the gap at the front of a full bucket or halve it; the bucket for the new entry."""
    own = tables.buckets[bucket]
    base = bucket * BUCKET_SIZE
    gap = w["index"] if bucket == w["head"] else 0
    if gap > 0:
        for i in range(base, base + BUCKET_SIZE - gap):
            tables.entries[i] = tables.entries[i + gap]
        own["size"] -= gap
        w["index"] = 0
        return bucket
    half = BUCKET_SIZE // 2
    other = _new_bucket(tables)
    for i in range(half):
        tables.entries[other * BUCKET_SIZE + i] = tables.entries[base + half + i]
    tables.buckets[other]["size"] = half
    tables.buckets[other]["next"] = own["next"]
    own["size"] = half
    own["next"] = other
    _add_up(tables, bucket)
    _add_up(tables, other)
    return bucket if precedes(tables, new, tables.entries[base + half - 1]) else other


@njit_cached
def _add_up(tables: Tables, bucket: int) -> None:
    """Write a bucket's keys and sums; of a worker's first bucket only the last key is read."""
    own = tables.buckets[bucket]
    first, end = bucket * BUCKET_SIZE, bucket * BUCKET_SIZE + own["size"]
    own["lowest"] = tables.entries[first]["key"]
    own["highest"] = tables.entries[end - 1]["key"]
    total, mass = 0.0, 0.0
    for i in range(first, end):
        total += tables.entries[i]["total"]
        mass += tables.entries[i]["mass"]
    own["total"] = total
    own["mass"] = mass


@njit_cached
def _new_bucket(tables: Tables) -> int:
    totals = tables.totals[0]
    bucket = totals["buckets_free"]
    if bucket != NONE:
        totals["buckets_free"] = tables.buckets[bucket]["next"]
    else:
        bucket = totals["buckets_end"]
        totals["buckets_end"] += 1
    totals["buckets"] += 1
    tables.buckets[bucket]["size"] = 0
    tables.buckets[bucket]["next"] = NONE
    return int(bucket)


@njit_cached
def _free_bucket(tables: Tables, bucket: int) -> None:
    totals = tables.totals[0]
    tables.buckets[bucket]["next"] = totals["buckets_free"]
    totals["buckets_free"] = bucket
    totals["buckets"] -= 1


@njit_cached
def new_block(tables: Tables, w: Record) -> int:
    """A row for a block of a worker."""
    block = int(w["spare"])
    if block != NONE:
        w["spare"] = tables.blocks[block]["next"]
        return block
    if w["slab"] % BLOCKS_TOGETHER == 0:
        w["slab"] = tables.totals[0]["blocks_end"]
        tables.totals[0]["blocks_end"] += BLOCKS_TOGETHER
    w["slab"] += 1
    return int(w["slab"] - 1)


@njit_cached
def free_block(tables: Tables, w: Record, block: int) -> None:
    """Give a block's row back."""
    tables.blocks[block]["next"] = w["spare"]
    w["spare"] = block
