"""One job's cheapest schedules exactly, where its lattice has too many points to be listed.

Points are come to one at a time, slot by slot; one is kept only while the cheapest completion that
its bound allows is cheap enough. Bounds price that every chunk is trained, as in ``units``, but
know of limits on the way; where points are many, the prices of chunks are made better for them. A
site earns what the chunks brought to it are worth, by the levels it reaches in all,

    price >= sum over r of alpha_r D^r + paid so far - sum over r' of E_r'(levels so far)
             + the least that the levels missing cost, sites earning in each slot as in the first,

where E_r' is concave, so that nothing earns more than in the first slot. Where points become too
many, those of the least bounds are kept, and nothing is said of schedules as dear as the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.label_bounds import (
    ANY,
    CompletionBounds,
    LabelledJob,
    completion_bounds,
    labelled_job,
)
from formulations.okita.one_job.terms import JobTerms, Path, widened
from formulations.okita.one_job.units import ByUnits
from formulations.okita.transport import cheapest_flow, cheapest_transport
from optsched.jit import njit_cached

QUICK_POINTS = 300
"""Points after a slot from which on the half of higher bounds is dropped, in a first search: what
it finds limits the second one."""
MOST_POINTS = 3000
"""The same in the second one, where the first did not come to an end."""
THOROUGH = 10
"""So many times more points in a third one, where a bound is needed."""
STEPS = 20
"""Steps on the prices of chunks before the second search; four times as many before the third."""

_ROUNDING = 1e-9  # relative, by which bounds that points were dropped for are lowered


class _Points(NamedTuple):
    """Where points are put, those after a slot behind those before it."""

    level: Integers
    """Shape (points, sites)."""
    value: Floats
    """What was paid, and what all chunks are worth, less what sites have earned."""
    origin: Integers
    """The point it was come to from."""
    server: Integers
    """Its site in the slot; -1: a pause."""
    table: Integers
    """Points after the slot, by a hash of their levels; -1: none."""
    most: int
    """Points after a slot from which on half of them is dropped."""


def cheapest_by_labels(
    search: ByUnits, terms: JobTerms, below: float = np.inf, *, thorough: bool = True
) -> tuple[list[Path], float]:
    """The cheapest schedules, cheapest first, and a bound on the price of every schedule.

    The first is the optimum, and the bound its price, unless points are too many.

    Args:
        search: of the job by units; it gives the prices of chunks.
        terms: prices, none of them negative, and limits.
        below: schedules of a higher price are of no interest, and the bound need not exceed it.
        thorough: whether to go on longer where points are too many.
    """
    near, bound = search.cheapest(terms)
    found = [path for path in near if search.levels.reaches(path.workers)]
    limit = min([below, *(path.price for path in found)])
    if bound < limit:
        paths, proven = _found_below(search, terms, limit, 3 if thorough else 2)
        found.extend(paths)
        bound = max(bound, proven)
    found.sort(key=lambda path: path.price)
    apart: dict[tuple[bytes, bytes], Path] = {}
    for path in found:
        apart.setdefault((path.workers.tobytes(), path.server.tobytes()), path)
    return list(apart.values()), bound


def _found_below(
    search: ByUnits, terms: JobTerms, below: float, searches: int
) -> tuple[list[Path], float]:
    """Schedules that cost less than a limit, if there are any, and a bound up to there."""
    slots, sites = terms.server_price.shape
    job, found, limit = labelled_job(search, terms), list[Path](), below
    alpha = search.alpha
    left = {f if len(alpha) > 1 else ANY: -np.inf for f in range(len(alpha))}
    efforts = (
        (min(QUICK_POINTS, MOST_POINTS), 1),
        (MOST_POINTS, STEPS),
        (THOROUGH * MOST_POINTS, 4 * STEPS),
    )
    for most, steps in efforts[:searches]:
        points = _room(slots, sites, most)
        begun = [(f, *completion_bounds(job, alpha[f], f, limit, steps)) for f in left]
        for first, worth, bounds in sorted(begun, key=lambda one: one[1] + one[2].opening[0]):
            best = np.full(slots, np.inf)
            state = np.full(slots, -1)
            left[first] = _search(job, bounds, worth, first, points, widened(limit), best, state)
            last = np.flatnonzero(best < limit).tolist()
            found.extend(_path(search, terms, points, int(state[t]), t, best[t]) for t in last)
            limit = min([limit, *(path.price for path in found)])
        left = {first: low for first, low in left.items() if low < limit}
        if not left:
            return found, limit
    low = min(left.values())
    return found, low - _ROUNDING * max(1.0, abs(low))


def _room(slots: int, sites: int, most: int) -> _Points:
    size = most * slots + 1
    return _Points(
        np.empty((size, sites), dtype=np.int64), np.empty(size),
        np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64),
        np.empty(1 << (4 * most).bit_length(), dtype=np.int64), most,
    )  # fmt: skip


def _path(
    search: ByUnits, terms: JobTerms, points: _Points, n: int, last: int, price: float
) -> Path:
    """The schedule that comes to a point and completes in a slot."""
    levels = search.levels
    workers: Integers = np.zeros(terms.server_price.shape, dtype=np.int64)
    server = np.full(len(workers), -1)
    flow = cheapest_flow(search.instance, search.job, points.level[n] * levels.unit)
    for t in range(last, -1, -1):
        before = int(points.origin[n])
        gained = points.level[n] - points.level[before]
        works, server[t] = gained > 0, points.server[n]
        option = np.searchsorted(levels.option_levels, gained[works])
        workers[t, works] = levels.option_workers[option]
        n = before
    ended = terms.flow_cost[int(np.flatnonzero(server >= 0)[-1]) : last + 1]
    return Path(float(price - ended[-1] + ended.min()), workers, server, flow)


@njit_cached
def _search(
    job: LabelledJob,
    bounds: CompletionBounds,
    worth: float,
    first: int,
    points: _Points,
    limit: float,
    best: Floats,
    state: Integers,
) -> float:
    """Go through the slots; what remains of the limit is a bound on all prices.

    Args:
        job: whose schedules are looked for.
        bounds: for the same site of the first server.
        worth: of all chunks.
        first: the site, or ``ANY``.
        points: written.
        limit: schedules as dear are of no interest.
        best: written where one is found: by slot of completion, shape (slots,).
        state: written: the point it comes to.
    """
    level, value, needed = points.level, points.value, job.needed
    slots, sites = job.terms.server_price.shape
    gained = np.zeros(sites, dtype=np.int64)
    level[0] = 0
    value[0] = worth
    begin, end = 0, 1
    for t in range(slots):
        points.table[:] = -1
        fresh = end
        for a in range(begin, fresh):
            so_far = level[a].sum()
            missing = max(0, needed - so_far)
            now, later = bounds.ahead[t, missing], bounds.ahead[t + 1, missing]
            if so_far == 0:
                now, later = bounds.opening[t], bounds.opening[t + 1]
            if value[a] + now >= limit:
                continue
            if not job.terms.must_run[t] and value[a] + later < limit:
                gained[:] = 0
                end, limit = _enter(
                    points, bounds.ahead[t + 1], a, gained, value[a], -1, fresh, end, limit
                )
            for s in range(sites):
                fee = job.terms.server_price[t, s]
                if fee == np.inf or not (so_far > 0 or first in (ANY, s)):
                    continue
                if value[a] + fee + bounds.amid[t, s, 0, missing] < limit:
                    end, limit = _expand(job, bounds, points, t, a, s, gained, fresh, end, limit)
        begin = fresh
        if t < job.earliest or job.terms.flow_cost[t] == np.inf:
            continue
        for a in range(begin, end):
            if level[a].sum() >= needed and value[a] + job.terms.flow_cost[t] < min(limit, best[t]):
                price = job.terms.flow_cost[t] + _completed(job, bounds, level[a], value[a] - worth)
                if price < best[t]:
                    best[t], state[t] = price, a
                    limit = min(limit, price)
    return limit


@njit_cached
def _completed(job: LabelledJob, bounds: CompletionBounds, level: Integers, value: float) -> float:
    """What was paid with transport, at a point where all chunks are trained."""
    flow = np.empty(job.move.shape, dtype=np.int64)
    for r in range(len(level)):
        value += bounds.earned[r, level[r]]
    supply, amount = job.supply, int(job.supply.sum())
    return value + cheapest_transport(supply, level * job.unit, job.move, flow, amount)


@njit_cached
def _expand(
    job: LabelledJob,
    bounds: CompletionBounds,
    points: _Points,
    t: int,
    a: int,
    s: int,
    gained: Integers,
    fresh: int,
    end: int,
    limit: float,
) -> tuple[int, float]:
    """Enter all points that a slot with a server at a site leads to, depth first over the sites.

    Args:
        job: whose point it is.
        bounds: see there.
        points: see there.
        t: the slot.
        a: the point before it.
        s: site of the server.
        gained: written: levels by site.
        fresh: the first point after the slot.
        end: after the last of them.
        limit: schedules as dear are of no interest.

    Returns:
        The end and the limit then.
    """
    workers, gains, reach, earned = job.workers, job.gains, job.reach, bounds.earned
    least, most, price = job.terms.least[t], job.terms.most[t, s], job.terms.worker_price[t, s]
    level, amid, sites = points.level[a], bounds.amid, len(price)
    so_far = level.sum()
    option = np.full(sites, -1)
    paid, done = np.empty(sites + 1), np.zeros(sites + 1, dtype=np.int64)
    paid[0] = points.value[a] + job.terms.server_price[t, s]
    r = 0
    while r >= 0:
        if r == sites:
            if done[r] > 0:
                end, limit = _enter(
                    points, bounds.ahead[t + 1], a, gained, paid[r], s, fresh, end, limit
                )
            r -= 1
            continue
        option[r] += 1
        o = option[r]
        full = o == len(workers) or workers[o] > most[r] or level[r] + gains[o] > reach[r]
        if full or so_far + done[r] + gains[o] > job.in_all:
            option[r] = -1
            r -= 1
            continue
        if workers[o] < least[r]:
            continue
        higher = level[r] + gains[o]
        paid[r + 1] = paid[r] + price[r] * workers[o] - (earned[r, higher] - earned[r, level[r]])
        done[r + 1] = done[r] + gains[o]
        ahead = amid[t, s, r + 1, max(0, job.needed - so_far - done[r + 1])]
        if paid[r + 1] + ahead < limit:
            gained[r] = gains[o]
            r += 1
    return end, limit


@njit_cached
def _enter(
    points: _Points,
    ahead: Floats,
    a: int,
    gained: Integers,
    value: float,
    s: int,
    fresh: int,
    end: int,
    limit: float,
) -> tuple[int, float]:
    """Enter one point, or a cheaper way to it.

    Args:
        points: written.
        ahead: yet to be paid after the slot, by levels missing.
        a: the point before.
        gained: levels by site.
        value: as in the points.
        s: site of the server.
        fresh: the first point after the slot.
        end: after the last of them.
        limit: see ``_expand``.

    Returns:
        The end and the limit then.
    """
    level, table = points.level, points.table
    sites, mask = len(gained), len(table) - 1
    for r in range(sites):
        level[end, r] = level[a, r] + gained[r]
    h = _hash(level[end]) & mask
    while table[h] >= 0:
        b, same = table[h], True
        for r in range(sites):
            if level[b, r] != level[end, r]:
                same = False
                break
        if same:
            if value < points.value[b]:
                points.value[b], points.origin[b], points.server[b] = value, a, s
            return end, limit
        h = (h + 1) & mask
    table[h] = end
    points.value[end], points.origin[end], points.server[end] = value, a, s
    end += 1
    if end - fresh == points.most:
        return _halve(points, ahead, fresh, end, limit)
    return end, limit


@njit_cached
def _hash(level: Integers) -> int:
    code = 0
    for r in range(len(level)):
        code = (code * 8191 + level[r]) & 0x7FFFFFFF
    return code ^ (code >> 15)


@njit_cached
def _halve(points: _Points, ahead: Floats, fresh: int, end: int, limit: float) -> tuple[int, float]:
    """Drop the points of higher bounds, all of which are at least the limit then.

    Args:
        points: see there.
        ahead: see ``_enter``.
        fresh: the first point after the slot.
        end: after the last of them.
        limit: see ``_expand``.
    """
    level, value, table = points.level, points.value, points.table
    mask = len(table) - 1
    low = value[fresh:end].copy()
    for n in range(len(low)):
        low[n] += ahead[max(0, len(ahead) - 1 - level[fresh + n].sum())]
    limit = min(limit, np.sort(low)[len(low) // 2])
    table[:] = -1
    kept = fresh
    for n in range(len(low)):
        if low[n] >= limit:
            continue
        b = fresh + n
        level[kept], value[kept] = level[b], value[b]
        points.origin[kept], points.server[kept] = points.origin[b], points.server[b]
        h = _hash(level[kept]) & mask
        while table[h] >= 0:
            h = (h + 1) & mask
        table[h] = kept
        kept += 1
    return kept, limit
