"""The cheapest schedules of one job whose lattice has too many points to be listed.

Labels are points of the lattice, reached slot by slot. One is kept only while the cheapest
completion that its bound allows is cheap enough. As in ``units``, prices of chunks stand for the
constraint that every chunk is trained. A site earns what the chunks brought to it are worth, by the
levels it reaches in all,

    price >= sum over r of alpha_r D^r + paid so far - sum over r' of E_r'(levels so far)
             + the least that the levels missing cost, sites earning in each slot as in the first,

with E_r' concave, so that no slot earns more than the first one would. If there are too many
labels, those of the least bounds are kept, and the bound is the least of what was dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.lattice import widened
from formulations.okita.one_job.paths import JobTerms, Path
from formulations.okita.one_job.units import ANY, ByUnits, Work, earnings
from formulations.okita.problem_7 import cheapest_flow, cheapest_transport
from optsched.jit import njit_cached

MOST_LABELS = (300, 3000, 30_000)
"""Labels of a slot beyond which half of them is dropped: in the first search, in one that follows
if that was too few, and in a last one if a bound is needed."""

STEPS = 80
"""Steps on the prices of chunks before: the better these are, the fewer the labels."""

_ROUNDING = 1e-9  # relative, by which bounds on what was dropped are lowered


class _Job(NamedTuple):
    """A job and its terms, as machine code takes them."""

    terms: JobTerms
    workers: Integers
    """Numbers of workers on one site without an idle one, ascending from 0."""
    gains: Integers
    """Levels that each advances."""
    reach: Integers
    """Most levels of each site, shape (sites,)."""
    in_all: int
    """Most levels of all sites."""
    needed: int
    """Levels of all sites at which all chunks are trained."""
    unit: int
    """Chunks per level."""
    supply: Integers
    """Chunks that lie at each site."""
    move: Floats
    """Price of a chunk from row to column."""


class _Bounds(NamedTuple):
    """What a schedule pays at least, at some prices of chunks."""

    worth: float
    """Sum of the prices of all chunks."""
    earned: Floats
    """What a site earns in all, shape (sites, most levels + 1)."""
    ahead: Floats
    """Yet to be paid before a slot, shape (slots + 1, needed + 1), by levels missing."""
    amid: Floats
    """The same within a slot, by slot, site of the server, first site to come, levels missing."""
    opening: Floats
    """The same before a slot, shape (slots + 1,), while nothing is done."""


class _Labels(NamedTuple):
    """Where labels are put, those after a slot behind those before it."""

    level: Integers
    """Shape (labels, sites)."""
    value: Floats
    """What was paid, and what all chunks are worth, less what sites have earned."""
    origin: Integers
    """The label it was reached from."""
    server: Integers
    """Its site in the slot; -1: a pause."""
    table: Integers
    """Labels after the slot, by a hash of their levels; -1: none."""
    most: int
    """Labels after a slot beyond which half of them is dropped."""


def cheapest_by_labels(
    search: ByUnits, terms: JobTerms, below: float = np.inf, *, thorough: bool = True
) -> tuple[list[Path], float]:
    """Return schedules that cost less than a limit, cheapest first, and a bound up to there.

    The first is the optimum and the bound its price, unless there are too many labels.

    Args:
        search: of the job by units; it gives the prices of chunks.
        terms: prices, none of them negative, and limits.
        below: the limit, money.
        thorough: whether to go on for longer if there are too many labels.
    """
    met, bound = search.cheapest(terms, steps=STEPS)
    found = [path for path in met if path.price < below]
    limit = min([below, *(path.price for path in found)])
    if bound >= limit:
        return found, bound
    slots, sites = terms.server_price.shape
    rows = {row if search.by_server else ANY: alpha for row, alpha in enumerate(search.alpha)}
    job, left = _job(search, terms), dict.fromkeys(rows, -np.inf)
    for most in MOST_LABELS if thorough else MOST_LABELS[:-1]:
        bounds = {first: _bounds(job, rows[first], first) for first in left}
        labels = _room(slots, sites, most)
        for first in sorted(left, key=lambda f: bounds[f].worth + bounds[f].opening[0]):
            best, state = np.full(slots, np.inf), np.full(slots, -1)
            left[first] = _search(job, bounds[first], first, labels, widened(limit), best, state)
            ends = np.flatnonzero(best < limit).tolist()
            found.extend(_path(search, labels, int(state[t]), t, best[t]) for t in ends)
            limit = min([limit, *best.tolist()])
        left = {first: low for first, low in left.items() if low < limit}
        if not left:
            return sorted(found, key=lambda path: path.price), limit
    low = min(left.values())
    return sorted(found, key=lambda path: path.price), low - _ROUNDING * max(1.0, abs(low))


def _job(search: ByUnits, terms: JobTerms) -> _Job:
    instance, i, levels = search.instance, search.job, search.levels
    move = terms.transport_weight * instance.chunk_size_mb[i] * instance.unit_bandwidth_cost
    return _Job(
        terms, np.append(0, levels.option_workers), np.append(0, levels.option_levels), levels.most,
        levels.in_all, levels.needed, levels.unit, instance.num_chunks[i], move,
    )  # fmt: skip


def _room(slots: int, sites: int, most: int) -> _Labels:
    size = most * slots + 1
    return _Labels(
        np.empty((size, sites), dtype=np.int64), np.empty(size),
        np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64),
        np.empty(1 << (4 * most).bit_length(), dtype=np.int64), most,
    )  # fmt: skip


def _path(search: ByUnits, labels: _Labels, n: int, last: int, price: float) -> Path:
    """Return the schedule that reaches a label and completes in a slot."""
    levels, instance = search.levels, search.instance
    workers: Integers = np.zeros((last + 1, instance.sites), dtype=np.int64)
    server = np.full(last + 1, -1)
    flow = cheapest_flow(instance, search.job, labels.level[n] * levels.unit)
    for t in range(last, -1, -1):
        before = int(labels.origin[n])
        gained = labels.level[n] - labels.level[before]
        works, server[t] = gained > 0, labels.server[n]
        workers[t, works] = levels.option_workers[
            np.searchsorted(levels.option_levels, gained[works])
        ]
        n = before
    return Path(float(price), workers, server, flow)


def _bounds(job: _Job, alpha: Floats, first: int) -> _Bounds:
    """Return the bounds at prices of chunks, with the first server at a site or ``ANY``."""
    (slots, sites), most = job.terms.server_price.shape, int(job.reach.max())
    each = np.zeros((sites, most + 1))
    earnings(alpha, Work(job.supply, job.move, job.unit, 1, 0, 0), each)
    ahead = np.full((slots + 1, job.needed + 1), np.inf)
    amid = np.full((slots, sites, sites + 1, job.needed + 1), np.inf)
    worth = float(alpha @ job.supply)
    bounds = _Bounds(worth, np.cumsum(each, axis=1), ahead, amid, np.full(slots + 1, np.inf))
    _fill(job, first, bounds)
    return bounds


@njit_cached
def _fill(job: _Job, first: int, bounds: _Bounds) -> None:
    """Write the bounds, backwards over the slots and, within each, over the sites."""
    terms, ahead, opening, needed = job.terms, bounds.ahead, bounds.opening, job.needed
    slots, sites = terms.server_price.shape
    ahead[slots, 0] = terms.flow_cost[slots - 1]
    for t in range(slots - 1, -1, -1):
        for m in range(needed + 1):
            ahead[t, m] = ahead[t + 1, m]
        opening[t] = opening[t + 1]
        if t > 0:
            ahead[t, 0] = min(ahead[t, 0], terms.flow_cost[t - 1])
        for s in range(sites):
            fee = terms.server_price[t, s]
            if fee == np.inf:
                continue
            amid = bounds.amid[t, s]
            for m in range(needed + 1):
                amid[sites, m] = ahead[t + 1, m]
            for r in range(sites - 1, -1, -1):
                for o in range(len(job.workers)):
                    gain = job.gains[o]
                    if job.workers[o] > terms.most[t, s, r] or gain > job.reach[r]:
                        break
                    paid = terms.worker_price[t, s, r] * job.workers[o] - bounds.earned[r, gain]
                    for m in range(needed + 1):
                        amid[r, m] = min(amid[r, m], paid + amid[r + 1, max(0, m - gain)])
            for m in range(needed + 1):
                ahead[t, m] = min(ahead[t, m], fee + amid[0, m])
            if first < 0 or first == s:
                opening[t] = min(opening[t], fee + amid[0, needed])


@njit_cached
def _search(
    job: _Job, bounds: _Bounds, first: int, labels: _Labels, limit: float, best: Floats,
    state: Integers,
) -> float:  # fmt: skip
    """Go through the slots; return what remains of the limit: a bound on all prices.

    Args:
        job: whose schedules are looked for.
        bounds: for the same site of the first server.
        first: the site, or ``ANY``.
        labels: written.
        limit: schedules as dear are of no interest.
        best: written if one is found: its price by slot of completion, shape (slots,).
        state: written: its label.
    """
    level, value, terms = labels.level, labels.value, job.terms
    slots, sites = terms.server_price.shape
    gained, flow = np.zeros(sites, dtype=np.int64), np.empty(job.move.shape, dtype=np.int64)
    level[0] = 0
    value[0] = bounds.worth
    begin, end = 0, 1
    for t in range(slots):
        labels.table[:] = -1
        fresh, then = end, bounds.ahead[t + 1]
        for a in range(begin, fresh):
            so_far = level[a].sum()
            missing = max(0, job.needed - so_far)
            later = then[missing] if so_far > 0 else bounds.opening[t + 1]
            if value[a] + later < limit:
                gained[:] = 0
                end, limit = _enter(labels, then, a, gained, value[a], -1, fresh, end, limit)
            for s in range(sites):
                opens = so_far > 0 or first < 0 or first == s
                fee = terms.server_price[t, s]
                if opens and value[a] + fee + bounds.amid[t, s, 0, missing] < limit:
                    end, limit = _expand(job, bounds, labels, t, a, s, gained, fresh, end, limit)
        begin = fresh
        for a in range(begin, end):
            least = value[a] + terms.flow_cost[t]
            if level[a].sum() >= job.needed and least < min(limit, best[t]):
                price, room = least - bounds.worth, level[a] * job.unit
                for r in range(sites):
                    price += bounds.earned[r, level[a, r]]
                price += cheapest_transport(job.supply, room, job.move, flow, job.supply.sum())
                if price < best[t]:
                    best[t], state[t] = price, a
                    limit = min(limit, price)
    return limit


@njit_cached
def _expand(
    job: _Job, bounds: _Bounds, labels: _Labels, t: int, a: int, s: int, gained: Integers,
    fresh: int, end: int, limit: float,
) -> tuple[int, float]:  # fmt: skip
    """Enter all labels that a slot with a server at a site leads to, depth first over the sites.

    Args:
        job: whose label it is.
        bounds: see ``_search``.
        labels: see there.
        t: the slot.
        a: the label before it.
        s: site of the server.
        gained: written: levels by site.
        fresh: the first label after the slot.
        end: after the last of them.
        limit: schedules as dear are of no interest.

    Returns:
        The end and the limit then.
    """
    most, price = job.terms.most[t, s], job.terms.worker_price[t, s]
    level, earned, sites = labels.level[a], bounds.earned, len(price)
    so_far = level.sum()
    option = np.full(sites, -1)
    paid, done = np.empty(sites + 1), np.zeros(sites + 1, dtype=np.int64)
    paid[0] = labels.value[a] + job.terms.server_price[t, s]
    r = 0
    while r >= 0:
        if r == sites:
            if done[r] > 0:
                end, limit = _enter(
                    labels, bounds.ahead[t + 1], a, gained, paid[r], s, fresh, end, limit
                )
            r -= 1
            continue
        option[r] += 1
        o = option[r]
        full = o == len(job.workers) or job.workers[o] > most[r]
        if (
            full
            or level[r] + job.gains[o] > job.reach[r]
            or (so_far + done[r] + job.gains[o] > job.in_all)
        ):
            option[r] = -1
            r -= 1
            continue
        gain = earned[r, level[r] + job.gains[o]] - earned[r, level[r]]
        paid[r + 1] = paid[r] + price[r] * job.workers[o] - gain
        done[r + 1] = done[r] + job.gains[o]
        missing = max(0, job.needed - so_far - done[r + 1])
        if paid[r + 1] + bounds.amid[t, s, r + 1, missing] < limit:
            gained[r] = job.gains[o]
            r += 1
    return end, limit


@njit_cached
def _enter(
    labels: _Labels, ahead: Floats, a: int, gained: Integers, value: float, s: int, fresh: int,
    end: int, limit: float,
) -> tuple[int, float]:  # fmt: skip
    """Enter one label, or a cheaper way to it.

    Args:
        labels: written.
        ahead: yet to be paid after the slot, by levels missing.
        a: the label before.
        gained: levels by site.
        value: as in the labels.
        s: site of the server.
        fresh: the first label after the slot.
        end: after the last of them.
        limit: see ``_expand``.

    Returns:
        The end and the limit then.
    """
    for r in range(len(gained)):
        labels.level[end, r] = labels.level[a, r] + gained[r]
    h = _place(labels, end)
    b = labels.table[h]
    if b >= 0:
        if value < labels.value[b]:
            labels.value[b], labels.origin[b], labels.server[b] = value, a, s
        return end, limit
    labels.table[h] = end
    labels.value[end], labels.origin[end], labels.server[end] = value, a, s
    if end + 1 - fresh == labels.most:
        return _halve(labels, ahead, fresh, end + 1, limit)
    return end + 1, limit


@njit_cached
def _place(labels: _Labels, n: int) -> int:
    """Return where in the table a label with the levels of the nth stands, or belongs."""
    level, table, code = labels.level, labels.table, 0
    for r in range(level.shape[1]):
        code = (code * 8191 + level[n, r]) & 0x7FFFFFFF
    h = (code ^ (code >> 15)) & (len(table) - 1)
    while table[h] >= 0:
        r = 0
        while r < level.shape[1] and level[table[h], r] == level[n, r]:
            r += 1
        if r == level.shape[1]:
            break
        h = (h + 1) & (len(table) - 1)
    return h


@njit_cached
def _median(value: Floats) -> float:
    """Return the upper median by Hoare's selection; the values are put in another order.

    Numpy's sort would take the compiler longer than any function of this file.
    """
    first, last, middle = 0, len(value) - 1, len(value) // 2
    while first < last:
        pivot, i, j = value[middle], first, last
        while i <= j:
            while value[i] < pivot:
                i += 1
            while value[j] > pivot:
                j -= 1
            if i <= j:
                value[i], value[j] = value[j], value[i]
                i += 1
                j -= 1
        if j < middle:
            first = i
        if i > middle:
            last = j
    return float(value[middle])


@njit_cached
def _halve(labels: _Labels, ahead: Floats, fresh: int, end: int, limit: float) -> tuple[int, float]:
    """Drop the labels of higher bounds; return the end, and the limit, which none of them is below.

    Args:
        labels: see there.
        ahead: see ``_enter``.
        fresh: the first label after the slot.
        end: after the last of them.
        limit: see ``_expand``.
    """
    level, value = labels.level, labels.value
    low = value[fresh:end].copy()
    for n in range(len(low)):
        low[n] += ahead[max(0, len(ahead) - 1 - level[fresh + n].sum())]
    limit = min(limit, _median(low.copy()))
    labels.table[:] = -1
    kept = fresh
    for n in range(len(low)):
        if low[n] < limit:
            b = fresh + n
            for r in range(level.shape[1]):
                level[kept, r] = level[b, r]
            value[kept] = value[b]
            labels.origin[kept], labels.server[kept] = labels.origin[b], labels.server[b]
            labels.table[_place(labels, kept)] = kept
            kept += 1
    return kept, limit
