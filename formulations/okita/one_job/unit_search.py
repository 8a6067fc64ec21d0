"""The search by units for one job, compiled; ``by_units`` says what it is and why it is exact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Integers
from formulations.okita.one_job.arrays import copy_into
from formulations.okita.one_job.chunk_prices import climb, earnings, subtract
from formulations.okita.one_job.terms import SlotTerms
from formulations.okita.transport import cheapest_transport
from optsched.jit import njit_cached


class UnitWork(NamedTuple):
    """What a job's workers have to do."""

    supply: Integers
    """Chunks that lie at each site."""
    move: Floats
    """Price of a chunk from row to column, money."""
    rate: int
    """With ``work``: y workers train rate * y // work chunks."""
    work: int
    needed: int
    """Units that all chunks take."""
    top: int
    """Most units of any schedule."""


class Met(NamedTuple):
    """The best schedules met, one for each site of the first server, or one for all."""

    price: Floats
    """Shape (first servers,), money; infinite where none was met."""
    workers: Integers
    """Shape (first servers, slots, sites)."""
    server: Integers
    """Its site, -1 in a pause; shape (first servers, slots)."""
    flow: Integers
    """Chunks from row to column in all, shape (first servers, sites, sites)."""


class _Units(NamedTuple):
    """What units cost at some prices of chunks."""

    gain: Floats
    """Of so many workers in a slot, shape (slots, most units + 1)."""
    stands: Integers
    """Where the server stands then; -1 where so many do not fit."""
    opening: Floats
    """The same in the first slot in which the job runs."""
    opens: Integers
    value: Floats
    """Of so many units before a slot, shape (slots + 1, most units + 1)."""
    chosen: Integers
    """How many of them are of the slot before."""


class _Made(NamedTuple):
    """The schedule that cheapest units stand for."""

    workers: Integers
    """Shape (slots, sites)."""
    server: Integers
    """Shape (slots,)."""
    flow: Integers
    """Shape (sites, sites)."""
    room: Integers
    """Chunks that workers at each site train, shape (sites,)."""
    missing: Floats
    """Chunks of each site left untrained; less than 0 where more are trained than there are."""


@njit_cached
def _gains(
    terms: SlotTerms,
    t: int,
    earned: Floats,
    only: int,
    k: int,
    gain: Floats,
    stands: Integers,
    workers: Integers,
) -> None:
    """Cheapest price of so many workers in a slot and where the server stands then.

    Args:
        terms: of the job.
        t: the slot.
        earned: see ``earnings``.
        only: the one site the server may stand at; -1: any.
        k: workers after which to end.
        gain: written: by number of workers.
        stands: written: site of the server; -1 where so many do not fit.
        workers: written: where those counted last are, shape (sites,).
    """
    worker_price, server_price = terms.worker_price[t], terms.server_price[t]
    least, most = terms.least[t], terms.most[t]
    sites = len(server_price)
    gain[:] = np.inf
    stands[:] = -1
    for s in range(sites):
        if (only >= 0 and s != only) or server_price[s] == np.inf:
            continue
        total, count, fits = server_price[s], 0, True
        for r in range(sites):
            workers[r] = least[r]
            fits = fits and least[r] <= most[s, r]
            count += least[r]
        if not fits or count > k:
            continue
        for r in range(sites):
            for y in range(1, workers[r] + 1):
                total += worker_price[s, r] - earned[r, y]
        if count > 0 and total < gain[count]:
            gain[count], stands[count] = total, s
        while count < k:
            best, where = np.inf, -1
            for r in range(sites):
                if workers[r] < most[s, r]:
                    price = worker_price[s, r] - earned[r, workers[r] + 1]
                    if price < best:
                        best, where = price, r
            if where < 0:
                break
            workers[where] += 1
            count += 1
            total += best
            if total < gain[count]:
                gain[count], stands[count] = total, s


@njit_cached
def _fitting(server_price: Floats, most: Integers, top: int) -> Integers:
    """Most workers of each slot, up to ``top``, wherever the server may stand; shape (slots,)."""
    slots, sites = server_price.shape
    fit = np.zeros(slots, dtype=np.int64)
    for t in range(slots):
        for s in range(sites):
            if server_price[t, s] < np.inf:
                fit[t] = max(fit[t], most[t, s].sum())
        fit[t] = min(fit[t], top)
    return fit


@njit_cached
def _price_slots(
    terms: SlotTerms, earned: Floats, only: int, fit: Integers, units: _Units, workers: Integers
) -> None:
    """Write what workers cost in every slot.

    Args:
        terms: of the job.
        earned: see ``earnings``.
        only: site of the first server; -1: any.
        fit: most workers of each slot, shape (slots,).
        units: written, but for ``value`` and ``chosen``.
        workers: overwritten, shape (sites,).
    """
    for t in range(len(fit)):
        _gains(terms, t, earned, -1, fit[t], units.gain[t], units.stands[t], workers)
        if only < 0:
            copy_into(units.opening[t], units.gain[t])
            copy_into(units.opens[t], units.stands[t])
        else:
            _gains(terms, t, earned, only, fit[t], units.opening[t], units.opens[t], workers)


@njit_cached
def _add_up(
    terms: SlotTerms, needed: int, fit: Integers, earliest: int, units: _Units
) -> tuple[int, int, float]:
    """Cheapest units from slot to slot: where they are enough, how many, at which price, money.

    Args:
        terms: of the job.
        needed: units that are enough.
        fit: most workers of each slot, shape (slots,).
        earliest: the first slot in which the job may complete.
        units: whose ``value`` and ``chosen`` are written.

    Returns:
        -1 for the slot where there is no schedule.
    """
    value = units.value
    value[0, :] = np.inf
    value[0, 0] = 0.0
    end, best, done = -1, 0, np.inf
    for t in range(len(fit)):
        for n in range(value.shape[1]):
            low, k = (np.inf if terms.must_run[t] else value[t, n]), 0
            for more in range(1, min(n, fit[t]) + 1):
                before = value[t, n - more]
                if before < np.inf:
                    added = units.gain[t, more] if more < n else units.opening[t, more]
                    if before + added < low:
                        low, k = before + added, more
            value[t + 1, n] = low
            units.chosen[t, n] = k
            if n >= needed and t >= earliest and low + terms.flow_cost[t] < done:
                end, best, done = t, n, low + terms.flow_cost[t]
    return end, best, done


@njit_cached
def _read_back(
    terms: SlotTerms,
    work: UnitWork,
    alpha: Floats,
    earned: Floats,
    units: _Units,
    end: int,
    n: int,
    made: _Made,
) -> float:
    """What the schedule of cheapest units pays but for moving chunks, money.

    Args:
        terms: of the job.
        work: of the job.
        alpha: prices of chunks.
        earned: what workers earn at these.
        units: ``opening`` and ``opens`` are overwritten.
        end: the slot in which it completes.
        n: units it does.
        made: written but for ``flow``.
    """
    made.workers[:, :] = 0
    made.server[:] = -1
    made.room[:] = 0
    copy_into(made.missing, work.supply)
    paid, share = float(terms.flow_cost[end]), work.rate / work.work
    for t in range(end, -1, -1):
        k = units.chosen[t, n]
        if k == 0:
            continue
        s = units.stands[t, k] if k < n else units.opens[t, k]
        count = made.workers[t]
        _gains(terms, t, earned, s, k, units.opening[t], units.opens[t], count)
        n -= k
        made.server[t] = s
        paid += terms.server_price[t, s]
        for r in range(len(count)):
            if count[r] > 0:
                made.room[r] += work.rate * count[r] // work.work
                paid += terms.worker_price[t, s, r] * count[r]
                subtract(alpha, work.supply, work.move, r, share * count[r], made.missing)
    return paid


@njit_cached
def _keep(work: UnitWork, chunks: int, paid: float, made: _Made, met: Met, f: int) -> None:
    """Keep a schedule that trains all chunks, if it is the best of its first server.

    Args:
        work: of the job.
        chunks: in all.
        paid: what it pays but for moving them, money.
        made: it, whose ``flow`` is written.
        met: written.
        f: position of the first server.
    """
    if made.room.sum() < chunks or paid >= met.price[f]:
        return
    paid += cheapest_transport(work.supply, made.room, work.move, made.flow, chunks)
    if paid < met.price[f]:
        met.price[f] = paid
        copy_into(met.workers[f], made.workers)
        copy_into(met.server[f], made.server)
        copy_into(met.flow[f], made.flow)


@njit_cached
def _raise(
    alpha: Floats,
    terms: SlotTerms,
    work: UnitWork,
    f: int,
    only: int,
    fit: Integers,
    steps: int,
    units: _Units,
    made: _Made,
    met: Met,
) -> float:
    """The best bound for one site of the first server, at prices of chunks that are made better.

    Args:
        alpha: these, read and written, shape (sites,).
        terms: of the job.
        work: of the job.
        f: position of the first server.
        only: its site; -1: any.
        fit: most workers of each slot, shape (slots,).
        steps: most steps on the prices.
        units: overwritten.
        made: overwritten.
        met: written.
    """
    earliest, chunks = 0, int(work.supply.sum())
    for t in range(len(fit)):
        if terms.must_run[t]:
            earliest = t
    earned = np.zeros((len(alpha), work.top + 2))
    kept = alpha.copy()
    best, pace, idle = -np.inf, 1.0, 0
    for _ in range(steps):
        earnings(alpha, work.supply, work.move, work.rate / work.work, earned)
        _price_slots(terms, earned, only, fit, units, made.room)
        end, n, done = _add_up(terms, work.needed, fit, earliest, units)
        if end < 0:  # no schedule at all begins here
            best = np.inf
            break
        bound = done + (alpha * work.supply).sum()
        paid = _read_back(terms, work, alpha, earned, units, end, n, made)
        _keep(work, chunks, paid, made, met, f)
        if bound > best + 1e-9:
            best, idle = bound, 0
            copy_into(kept, alpha)
        else:
            idle += 1
            if idle >= 3:
                copy_into(alpha, kept)
                pace, idle = pace / 2, 0
                continue
        aim = met.price[f] if met.price[f] < np.inf else best + 0.1 * abs(best) + 1.0
        reached = best >= min(aim, met.price.min()) - 1e-9 * max(1.0, abs(aim))
        if reached or not climb(alpha, made.missing, pace * (max(aim, bound) - bound)):
            break
    copy_into(alpha, kept)
    return best


@njit_cached
def least_price(alphas: Floats, terms: SlotTerms, work: UnitWork, steps: int) -> tuple[float, Met]:
    """The least bound over sites of the first server, up to rounding, and schedules met.

    Args:
        alphas: prices of chunks, read and written, shape (first servers, sites): for every site of
            the first server, or one row for all.
        terms: of the job.
        work: of the job.
        steps: most steps on the prices, for each site of the first server.
    """
    slots, sites = terms.server_price.shape
    firsts, size = len(alphas), work.top + 1
    met = Met(
        np.full(firsts, np.inf), np.zeros((firsts, slots, sites), dtype=np.int64),
        np.full((firsts, slots), -1), np.zeros((firsts, sites, sites), dtype=np.int64),
    )  # fmt: skip
    lowest = np.inf
    fit = _fitting(terms.server_price, terms.most, work.top)
    if fit.sum() < work.needed:
        return lowest, met
    units = _Units(
        np.empty((slots, size)), np.empty((slots, size), dtype=np.int64),
        np.empty((slots, size)), np.empty((slots, size), dtype=np.int64),
        np.empty((slots + 1, size)), np.empty((slots, size), dtype=np.int64),
    )  # fmt: skip
    made = _Made(
        np.empty((slots, sites), dtype=np.int64), np.empty(slots, dtype=np.int64),
        np.empty((sites, sites), dtype=np.int64), np.empty(sites, dtype=np.int64),
        np.empty(sites),
    )  # fmt: skip
    for f in range(firsts):
        only = f if firsts > 1 else -1
        best = _raise(alphas[f], terms, work, f, only, fit, steps, units, made, met)
        lowest = min(lowest, best)
    return lowest, met
