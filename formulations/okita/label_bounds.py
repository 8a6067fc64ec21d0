"""What is yet to be paid for a job's schedule at least, from any point and slot on.

That every chunk is trained is priced, as in ``by_units``: what a site earns by the levels it
reaches is concave in them. So no slot earns more than the first would, and a dynamic program over
slots, sites and the levels that are missing in all bounds every completion from below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.by_units import ByUnits, earnings
from formulations.okita.instance import Booleans, Floats, Integers
from formulations.okita.one_job import JobTerms
from optsched.jit import njit_cached

ANY = -1
"""In place of the site of the first server."""


class LabelledJob(NamedTuple):
    """A job and its terms, as machine code takes them."""

    worker_price: Floats
    """Of the terms, as are the next six."""
    server_price: Floats
    least: Integers
    most: Integers
    must_run: Booleans
    flow_cost: Floats
    earliest: int
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
    first: Integers
    """Of its charges, as are the next two."""
    then: Integers
    charge: Floats


class CompletionBounds(NamedTuple):
    """What a schedule pays at least, at some prices of chunks."""

    earned: Floats
    """What a site earns in all, shape (sites, most levels + 1)."""
    ahead: Floats
    """Yet to be paid before a slot, shape (slots + 1, needed + 1), by levels missing."""
    amid: Floats
    """The same within a slot, by ``row``, levels missing."""
    opening: Floats
    """The same before a slot, while nothing is done and the site of the first server is given."""


def labelled_job(search: ByUnits, terms: JobTerms) -> LabelledJob:
    """The job of a search at some terms."""
    instance, i, levels = search.instance, search.job, search.levels
    return LabelledJob(
        terms.worker_price, terms.server_price, terms.least, terms.most, terms.must_run,
        terms.flow_cost, terms.earliest, np.append(0, levels.option_workers),
        np.append(0, levels.option_levels), levels.most, levels.in_all, levels.needed,
        levels.unit, instance.num_chunks[i],
        terms.transport_weight * instance.chunk_size_mb[i] * instance.unit_bandwidth_cost,
        *terms.charged,
    )  # fmt: skip


def completion_bounds(job: LabelledJob, alpha: Floats, first: int) -> CompletionBounds:
    """Those at some prices of chunks, and for a site of the first server, or ``ANY``."""
    slots, sites = job.server_price.shape
    bounds = CompletionBounds(
        np.zeros((sites, int(job.reach.max()) + 1)),
        np.full((slots + 1, job.needed + 1), np.inf),
        np.full((sites * len(job.charge), job.needed + 1), np.inf),
        np.full(slots + 1, np.inf),
    )
    _fill(job, alpha, first, bounds)
    return bounds


@njit_cached
def row(job: LabelledJob, s: int, g: int) -> int:
    """Where a state, with the server at a site, stands among bounds within slots."""
    return s * len(job.charge) + g


@njit_cached
def _fill(job: LabelledJob, alpha: Floats, first: int, bounds: CompletionBounds) -> None:
    """Write the bounds, backwards over the slots and, within each, over the sites."""
    earned, ahead, amid = bounds.earned, bounds.ahead, bounds.amid
    flow_cost, server_price, needed = job.flow_cost, job.server_price, job.needed
    slots, sites = server_price.shape
    each = np.zeros((sites, earned.shape[1]))
    earnings(alpha, job.supply, job.move, float(job.unit), each)
    for r in range(sites):
        for n in range(1, earned.shape[1]):
            earned[r, n] = earned[r, n - 1] + each[r, n]
    ahead[slots, 0] = flow_cost[slots - 1]
    for t in range(slots - 1, -1, -1):
        if not job.must_run[t]:
            ahead[t] = ahead[t + 1]
            bounds.opening[t] = bounds.opening[t + 1]
        if t > job.earliest:
            ahead[t, 0] = min(ahead[t, 0], flow_cost[t - 1])
        for s in range(sites):
            if server_price[t, s] == np.inf:
                continue
            _fill_slot(job, earned, t, s, ahead[t + 1], amid)
            begin = row(job, s, job.first[t, 0])
            for m in range(needed + 1):
                ahead[t, m] = min(ahead[t, m], server_price[t, s] + amid[begin, m])
            if first in (ANY, s):
                begun = server_price[t, s] + amid[begin, needed]
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
        amid: of the bounds, written.
    """
    workers, gains, reach = job.workers, job.gains, job.reach
    least, most, price = job.least[t], job.most[t, s], job.worker_price[t, s]
    sites = len(price)
    for g in range(job.first[t, sites], job.first[t, sites + 1]):
        amid[row(job, s, g)] = after + job.charge[g]
    for r in range(sites - 1, -1, -1):
        for o in range(len(workers)):
            if workers[o] > most[r] or gains[o] > reach[r]:
                break
            if workers[o] < least[r]:
                continue
            paid, gain = price[r] * workers[o] - earned[r, gains[o]], gains[o]
            for g in range(job.first[t, r], job.first[t, r + 1]):
                now = amid[row(job, s, g)]
                then = amid[row(job, s, job.then[g, int(s == r), workers[o]])]
                for m in range(len(after)):
                    total = paid + then[max(0, m - gain)]
                    if total < now[m]:
                        now[m] = total
