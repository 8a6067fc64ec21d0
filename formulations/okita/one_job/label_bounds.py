"""What is yet to be paid for a job's schedule at least, from any point and slot on.

That every chunk is trained is priced, as in ``units``: what a site earns by the levels it
reaches is concave in them. So no slot earns more than the first would, and a dynamic program over
slots, sites and the levels that are missing in all bounds every completion from below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.chunk_prices import climb, earnings, subtract
from formulations.okita.one_job.terms import JobTerms, SlotTerms
from formulations.okita.one_job.units import ByUnits
from optsched.jit import njit_cached

ANY = -1
"""In place of the site of the first server."""


class LabelledJob(NamedTuple):
    """A job and its terms, as machine code takes them."""

    terms: SlotTerms
    earliest: int
    """Of the terms."""
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


class CompletionBounds(NamedTuple):
    """What a schedule pays at least, at some prices of chunks."""

    earned: Floats
    """What a site earns in all, shape (sites, most levels + 1)."""
    ahead: Floats
    """Yet to be paid before a slot, shape (slots + 1, needed + 1), by levels missing."""
    amid: Floats
    """The same within a slot, by slot, site of the server, sites decided, levels missing."""
    opening: Floats
    """The same before a slot, while nothing is done and the site of the first server is given."""


def labelled_job(search: ByUnits, terms: JobTerms) -> LabelledJob:
    """The job of a search at some terms."""
    instance, i, levels = search.instance, search.job, search.levels
    return LabelledJob(
        terms.by_slot, terms.earliest, np.append(0, levels.option_workers),
        np.append(0, levels.option_levels), levels.most, levels.in_all, levels.needed,
        levels.unit, instance.num_chunks[i],
        terms.transport_weight * instance.chunk_size_mb[i] * instance.unit_bandwidth_cost,
    )  # fmt: skip


def completion_bounds(
    job: LabelledJob, alpha: Floats, first: int, aim: float, steps: int
) -> tuple[float, CompletionBounds]:
    """What all chunks are worth, and the bounds, at prices of chunks that are made better.

    Args:
        job: whose schedules are looked for.
        alpha: prices of chunks, read and written.
        first: site of the first server, or ``ANY``.
        aim: what schedules are to be proven to cost.
        steps: most steps on the prices, the first being none.
    """
    slots, sites = job.terms.server_price.shape
    bounds = CompletionBounds(
        np.empty((sites, int(job.reach.max()) + 1)),
        np.empty((slots + 1, job.needed + 1)),
        np.empty((slots, sites, sites + 1, job.needed + 1)),
        np.empty(slots + 1),
    )
    _raise(job, alpha, first, aim, steps, bounds)
    return float(alpha @ job.supply), bounds


@njit_cached
def _raise(
    job: LabelledJob, alpha: Floats, first: int, aim: float, steps: int, bounds: CompletionBounds
) -> None:
    """Write the bounds at the best prices of chunks met, and these."""
    kept, missing = alpha.copy(), np.empty(len(alpha))
    best, pace, idle, filled = -np.inf, 1.0, 0, False
    for n in range(steps):
        _fill(job, alpha, first, bounds)
        value = (alpha * job.supply).sum() + bounds.opening[0]
        filled = value > best
        if filled:
            best, idle = value, 0
            kept[:] = alpha
        else:
            idle += 1
            if idle == 3:
                alpha[:] = kept
                pace, idle = pace / 2, 0
                continue
        if best >= aim or n + 1 == steps:
            break
        _miss(job, alpha, first, bounds, missing)
        goal = aim if aim < np.inf else best + 0.1 * abs(best) + 1.0
        if not climb(alpha, missing, pace * (max(goal, value) - value)):
            break
    alpha[:] = kept
    if not filled:
        _fill(job, alpha, first, bounds)


@njit_cached
def _miss(
    job: LabelledJob, alpha: Floats, first: int, bounds: CompletionBounds, missing: Floats
) -> None:
    """Write the chunks of each site that the schedule the bound stands for leaves untrained."""
    terms, (slots, sites) = job.terms, job.terms.server_price.shape
    missing[:] = job.supply
    m, begun = job.needed, False
    for t in range(slots):
        low, stands = np.inf, -1
        if not terms.must_run[t]:
            low = bounds.ahead[t + 1, m] if begun else bounds.opening[t + 1]
        ended = begun and m == 0 and t > job.earliest and terms.flow_cost[t - 1] <= low
        if ended:
            low = terms.flow_cost[t - 1]
        for s in range(sites):
            if terms.server_price[t, s] < np.inf and (begun or first in (ANY, s)):
                price = terms.server_price[t, s] + bounds.amid[t, s, 0, m]
                if price < low:
                    low, stands = price, s
        if stands >= 0:
            begun = True
            m = _miss_in_slot(job, alpha, bounds, t, stands, m, missing)
        elif ended:
            return


@njit_cached
def _miss_in_slot(
    job: LabelledJob,
    alpha: Floats,
    bounds: CompletionBounds,
    t: int,
    s: int,
    m: int,
    missing: Floats,
) -> int:
    """Take off what it trains in a slot with a server at a site; the levels missing then."""
    sites = len(missing)
    least, most = job.terms.least[t], job.terms.most[t, s]
    worker_price = job.terms.worker_price[t, s]
    for r in range(sites):
        low, chosen = np.inf, 0
        for o in range(len(job.workers)):
            if job.workers[o] > most[r] or job.gains[o] > job.reach[r]:
                break
            if job.workers[o] < least[r]:
                continue
            left = max(0, m - job.gains[o])
            price = worker_price[r] * job.workers[o] - bounds.earned[r, job.gains[o]]
            price += bounds.amid[t, s, r + 1, left]
            if price < low:
                low, chosen = price, o
        gain = job.gains[chosen]
        m = max(0, m - gain)
        if gain > 0:
            subtract(alpha, job.supply, job.move, r, float(gain * job.unit), missing)
    return m


@njit_cached
def _fill(job: LabelledJob, alpha: Floats, first: int, bounds: CompletionBounds) -> None:
    """Write the bounds, backwards over the slots and, within each, over the sites."""
    earned, ahead, amid = bounds.earned, bounds.ahead, bounds.amid
    flow_cost, server_price, needed = job.terms.flow_cost, job.terms.server_price, job.needed
    slots, sites = server_price.shape
    ahead[:], amid[:], bounds.opening[:] = np.inf, np.inf, np.inf
    earned[:, 0] = 0.0
    each = np.zeros((sites, earned.shape[1]))
    earnings(alpha, job.supply, job.move, float(job.unit), each)
    for r in range(sites):
        for n in range(1, earned.shape[1]):
            earned[r, n] = earned[r, n - 1] + each[r, n]
    ahead[slots, 0] = flow_cost[slots - 1]
    for t in range(slots - 1, -1, -1):
        if not job.terms.must_run[t]:
            ahead[t] = ahead[t + 1]
            bounds.opening[t] = bounds.opening[t + 1]
        if t > job.earliest:
            ahead[t, 0] = min(ahead[t, 0], flow_cost[t - 1])
        for s in range(sites):
            if server_price[t, s] == np.inf:
                continue
            _fill_slot(job, earned, t, s, ahead[t + 1], amid[t, s])
            for m in range(needed + 1):
                ahead[t, m] = min(ahead[t, m], server_price[t, s] + amid[t, s, 0, m])
            if first in (ANY, s):
                begun = server_price[t, s] + amid[t, s, 0, needed]
                bounds.opening[t] = min(bounds.opening[t], begun)


@njit_cached
def _fill_slot(
    job: LabelledJob, earned: Floats, t: int, s: int, after: Floats, amid: Floats
) -> None:
    """Write what is yet to be paid within a slot whose server is known.

    Args:
        job: whose slot it is.
        earned: of the bounds.
        t: the slot.
        s: site of the server.
        after: yet to be paid after the slot, by levels missing.
        amid: written: of the bounds, those of the slot and the server's site.
    """
    workers, gains, reach = job.workers, job.gains, job.reach
    least, most, price = job.terms.least[t], job.terms.most[t, s], job.terms.worker_price[t, s]
    sites = len(price)
    amid[sites] = after
    for r in range(sites - 1, -1, -1):
        for o in range(len(workers)):
            if workers[o] > most[r] or gains[o] > reach[r]:
                break
            if workers[o] < least[r]:
                continue
            paid, gain = price[r] * workers[o] - earned[r, gains[o]], gains[o]
            now, then = amid[r], amid[r + 1]
            for m in range(len(after)):
                total = paid + then[max(0, m - gain)]
                if total < now[m]:
                    now[m] = total
