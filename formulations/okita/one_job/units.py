"""Cheap schedules of one job at any size, with a proven bound on how cheap any can be.

A lattice point says what every site has trained; here only the units of work in all are counted,
a unit being what one worker does in a slot. A price alpha_r >= 0 per chunk of site r stands for the
constraint that every chunk is trained: workers at r' earn what chunks brought to them are worth,

    price >= sum over r of alpha_r D^r + min over t of (f(t) + V(t)),
    V: the cheapest way to do enough units by slot t, where y workers at r' in a slot earn
       max of (alpha_r - delta q^{rr'}) G^r over G^r <= D^r, sum of G^r <= chunks of y workers.

The earnings are concave in y, so the workers of a slot are added one by one at the site that pays
best, and a dynamic program over (slot, units) is exact for fixed alpha. Each alpha gives a
(Lagrangian) bound; the deployments met on the way, with exact transport, are schedules. What chunks
are worth depends on the server's site, and one alpha for all of them can leave several per cent
between bound and price. So a search may have an alpha for each site of the first server: the least
of their bounds counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job.lattice import Levels
from formulations.okita.one_job.paths import JobTerms, Path
from formulations.okita.problem_7 import cheapest_transport
from optsched.jit import njit_cached

STEPS = 12
"""Steps on the prices of chunks, for each site of the first server."""
PATIENCE = 3
"""Non-improving steps after which the step length is halved."""

ANY = -1
"""In place of the first server's site."""

_ROUNDING = 1e-9  # relative, by which the bound is lowered


@dataclass(eq=False)
class ByUnits:
    """The search for one job; it begins at the prices of chunks that were best last time."""

    instance: Instance
    job: int
    by_server: bool = False
    """Whether each site of the first server has its own prices, which takes longer."""
    alpha: Floats = field(init=False)
    """Price of a chunk by site of the first server (one row for all if not by it), site, money."""

    def __post_init__(self) -> None:
        instance, i = self.instance, self.job
        q = instance.unit_bandwidth_cost
        share = instance.work_per_chunk[i] / instance.rate_numerator[i]
        talk = share * instance.exchange_size_mb[i] * q.T  # [server, worker]
        way = (instance.chunk_size_mb[i] * q + talk[:, None, :]).min(axis=2)
        self.alpha = np.ascontiguousarray(way if self.by_server else way.mean(axis=0)[None])

    @cached_property
    def levels(self) -> Levels:
        """The levels that the job's sites can reach."""
        return Levels.of(self.instance, self.job)

    @cached_property
    def top(self) -> int:
        """Most units of a schedule within the job's levels."""
        levels = self.levels
        each = (levels.option_workers / levels.option_levels).max(initial=1.0)
        return int(np.ceil(levels.in_all * each - 1e-9))

    def cheapest(self, terms: JobTerms, *, steps: int = STEPS) -> tuple[list[Path], float]:
        """Return schedules met, cheapest first, and a bound on the price of every schedule.

        Args:
            terms: prices, none of them negative, and limits.
            steps: most steps on the prices of chunks, for each row of them.
        """
        instance, i = self.instance, self.job
        work = Work(
            instance.num_chunks[i],
            terms.transport_weight * instance.chunk_size_mb[i] * instance.unit_bandwidth_cost,
            int(instance.rate_numerator[i]), int(instance.work_per_chunk[i]),
            int(instance.most_workers[i]), self.top,
        )  # fmt: skip
        paths, bound = list[Path](), np.inf
        most = np.where(terms.server_price < np.inf, terms.most.sum(axis=2), 0).max(axis=1)
        fit = np.minimum(most, self.top)
        if fit.sum() < work.needed:
            return paths, bound
        slots, sites = terms.server_price.shape
        units, earned = _units(slots, self.top, self.by_server), np.zeros((sites, self.top + 2))
        for row in range(len(self.alpha)):
            low, price, self.alpha[row], met = _maximise_dual(
                self.alpha[row], row if self.by_server else ANY, terms, work, fit, steps, units,
                earned, _deployment(slots, sites), _deployment(slots, sites),
            )  # fmt: skip
            bound = min(bound, low)
            if np.isfinite(price):
                paths.append(Path(price, met.workers, met.server, met.flow))
        if np.isfinite(bound):
            bound -= _ROUNDING * max(1.0, abs(bound))
        return sorted(paths, key=lambda path: path.price), bound


class Work(NamedTuple):
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


class _Units(NamedTuple):
    """What units cost at some prices of chunks."""

    gain: Floats
    """Gain of so many workers in a slot, shape (slots, most units + 1)."""
    stands: Integers
    """Site of the server then; -1 if so many do not fit."""
    opening: Floats
    """The same as ``gain`` and ``stands``, of the first slot in which the job runs."""
    opens: Integers
    value: Floats
    """Value of so many units before a slot, shape (slots + 1, most units + 1)."""
    chosen: Integers
    """How many of them are of the slot before."""


class _Deployment(NamedTuple):
    """A schedule, or the deployment that cheapest units stand for."""

    workers: Integers
    """Shape (slots, sites)."""
    server: Integers
    """Its site, -1 in a pause; shape (slots,)."""
    flow: Integers
    """Chunks from row to column in all, shape (sites, sites)."""
    room: Integers
    """Chunks that workers at each site train, shape (sites,)."""
    missing: Floats
    """Chunks of each site left untrained; less than 0 if more are trained than there are."""


def _units(slots: int, top: int, by_server: bool) -> _Units:
    """Return room for them; the first slot in which the job runs has its own if by server."""
    size = top + 1
    gain, stands = np.empty((slots, size)), np.empty((slots, size), dtype=np.int64)
    opening, opens = (gain.copy(), stands.copy()) if by_server else (gain, stands)
    value, chosen = np.empty((slots + 1, size)), np.empty((slots, size), dtype=np.int64)
    return _Units(gain, stands, opening, opens, value, chosen)


def _deployment(slots: int, sites: int) -> _Deployment:
    """Return an empty one."""
    return _Deployment(
        np.zeros((slots, sites), dtype=np.int64), np.full(slots, -1),
        np.zeros((sites, sites), dtype=np.int64), np.zeros(sites, dtype=np.int64), np.zeros(sites),
    )  # fmt: skip


@njit_cached
def _maximise_dual(
    alpha: Floats, first: int, terms: JobTerms, work: Work, fit: Integers, steps: int,
    units: _Units, earned: Floats, made: _Deployment, met: _Deployment,
) -> tuple[float, float, Floats, _Deployment]:  # fmt: skip
    """Improve the prices of chunks by Polyak's steps.

    Args:
        alpha: prices of chunks, overwritten, shape (sites,).
        first: site of the first server, or ``ANY``.
        terms: of the job.
        work: of the job.
        fit: most workers of each slot, wherever the server may stand, shape (slots,).
        steps: most steps.
        units: written, as are earned, made and met; either of the last two is returned.
        earned: of ``earnings``; 0 for no worker.
        made: see ``units``.
        met: see there.

    Returns:
        The best bound, the least price of the schedules met, the prices of chunks that gave the
        bound, and the cheapest schedule, if its price is finite.
    """
    chunks, kept = int(work.supply.sum()), alpha.copy()
    cheapest, best, pace, idle = np.inf, -np.inf, 1.0, 0
    for _ in range(steps):
        earnings(alpha, work, earned)
        for t in range(len(fit)):
            _gains(terms, t, earned, ANY, fit[t], units.gain[t], units.stands[t], made.room)
            if first >= 0:
                _gains(terms, t, earned, first, fit[t], units.opening[t], units.opens[t], made.room)
        end, n, done = _add_up(terms, work.needed, fit, units)
        if end < 0:
            return np.inf, cheapest, kept, met
        bound = done + (alpha * work.supply).sum()
        paid, missing = _read_back(terms, work, alpha, earned, units, end, n, made), made.missing
        if made.room.sum() >= chunks and paid < cheapest:
            paid += cheapest_transport(work.supply, made.room, work.move, made.flow, chunks)
            if paid < cheapest:
                cheapest = paid
                made, met = met, made
        if bound > best + 1e-9:
            best, idle = bound, 0
            kept = alpha.copy()
        else:
            idle += 1
            if idle >= PATIENCE:
                alpha = kept.copy()
                pace, idle = pace / 2, 0
                continue
        aim = cheapest if cheapest < np.inf else best + 0.1 * abs(best) + 1.0
        reached = best >= aim - 1e-9 * max(1.0, abs(aim))
        if reached or not _climb(alpha, missing, pace * (max(aim, bound) - bound)):
            break
    return best, cheapest, kept, met


@njit_cached
def _best_first(profit: Floats, order: Integers) -> int:
    """Write the positions of positive profits, the highest first; return how many there are.

    The arrays are so short that numpy's sort takes longer.
    """
    count = 0
    for n in range(len(profit)):
        if profit[n] <= 0.0:
            continue
        at = count
        while at > 0 and profit[order[at - 1]] < profit[n]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = n
        count += 1
    return count


@njit_cached
def earnings(alpha: Floats, work: Work, earned: Floats) -> None:
    """Write what the y-th worker at each site earns in a slot, shape (sites, most units + 1)."""
    sites, share = len(alpha), work.rate / work.work
    profit, order = np.empty(sites), np.empty(sites, dtype=np.int64)
    for v in range(sites):
        for r in range(sites):
            profit[r] = alpha[r] - work.move[r, v]
        pay = _best_first(profit, order)
        at, left = 0, float(work.supply[order[0]]) if pay > 0 else 0.0
        for y in range(1, earned.shape[1]):
            room, total = share, 0.0
            while room > 0.0 and at < pay:
                taken = min(room, left)
                total += taken * profit[order[at]]
                room -= taken
                left -= taken
                if left <= 0.0:
                    at += 1
                    left = float(work.supply[order[at]]) if at < pay else 0.0
            earned[v, y] = total


@njit_cached
def _subtract(alpha: Floats, work: Work, v: int, workers: int, missing: Floats) -> None:
    """Take off what workers at ``v`` train in a slot: the chunks that pay best."""
    profit, order = np.empty(len(alpha)), np.empty(len(alpha), dtype=np.int64)
    for r in range(len(alpha)):
        profit[r] = alpha[r] - work.move[r, v]
    room = work.rate / work.work * workers
    for n in range(_best_first(profit, order)):
        r = order[n]
        if room <= 0.0:
            break
        taken = min(room, float(work.supply[r]))
        missing[r] -= taken
        room -= taken


@njit_cached
def _climb(alpha: Floats, slope: Floats, gain: float) -> bool:
    """Write the prices of chunks after Polyak's step; return whether there is a direction to go.

    Args:
        alpha: read and written, shape (sites,), non-negative.
        slope: chunks of each site left untrained; set to 0 if the price is to stay at 0.
        gain: what the bound is to gain, money.
    """
    for r in range(len(alpha)):
        if alpha[r] <= 0.0 and slope[r] < 0.0:
            slope[r] = 0.0
    length = (slope * slope).sum()
    if length <= 1e-12:
        return False
    for r in range(len(alpha)):
        alpha[r] = max(0.0, alpha[r] + gain / length * slope[r])
    return True


@njit_cached
def _gains(
    terms: JobTerms, t: int, earned: Floats, only: int, k: int, gain: Floats, stands: Integers,
    workers: Integers,
) -> None:  # fmt: skip
    """Write the cheapest price of so many workers in a slot, and the server's site then.

    Args:
        terms: of the job.
        t: the slot.
        earned: of ``earnings``.
        only: the one site the server may stand at, or ``ANY``.
        k: workers after which to end.
        gain: written: by number of workers.
        stands: written: site of the server; -1 if so many do not fit.
        workers: written: where those counted last are, shape (sites,).
    """
    worker_price, server_price, most = terms.worker_price[t], terms.server_price[t], terms.most[t]
    sites = len(server_price)
    gain[:] = np.inf
    stands[:] = -1
    for s in range(sites):
        if (only >= 0 and s != only) or server_price[s] == np.inf:
            continue
        total = server_price[s]
        workers[:] = 0
        for count in range(1, k + 1):
            best, where = np.inf, -1
            for r in range(sites):
                if workers[r] < most[s, r]:
                    price = worker_price[s, r] - earned[r, workers[r] + 1]
                    if price < best:
                        best, where = price, r
            if where < 0:
                break
            workers[where] += 1
            total += best
            if total < gain[count]:
                gain[count], stands[count] = total, s


@njit_cached
def _add_up(terms: JobTerms, needed: int, fit: Integers, units: _Units) -> tuple[int, int, float]:
    """Return the slot by which enough units are cheapest, how many, and at which price, money.

    Args:
        terms: of the job.
        needed: units that are enough.
        fit: most workers of each slot, shape (slots,).
        units: whose ``value`` and ``chosen`` are written.

    Returns:
        -1 for the slot if there is no schedule.
    """
    value = units.value
    value[0, :] = np.inf
    value[0, 0] = 0.0
    end, best, done = -1, 0, np.inf
    for t in range(len(fit)):
        for n in range(value.shape[1]):
            low, k = value[t, n], 0
            for more in range(1, min(n, fit[t]) + 1):
                gain = units.opening[t, more] if more == n else units.gain[t, more]
                total = value[t, n - more] + gain
                if total < low:
                    low, k = total, more
            value[t + 1, n] = low
            units.chosen[t, n] = k
            if n >= needed and low + terms.flow_cost[t] < done:
                end, best, done = t, n, low + terms.flow_cost[t]
    return end, best, done


@njit_cached
def _read_back(
    terms: JobTerms, work: Work, alpha: Floats, earned: Floats, units: _Units, end: int, n: int,
    made: _Deployment,
) -> float:  # fmt: skip
    """Return what the deployment of cheapest units pays but for moving chunks, money.

    Args:
        terms: of the job.
        work: of the job.
        alpha: prices of chunks.
        earned: what workers earn at these.
        units: ``gain`` and ``stands`` are overwritten.
        end: the slot in which it completes.
        n: units it does.
        made: written but for ``flow``.
    """
    made.workers[:, :] = 0
    made.server[:] = -1
    made.room[:] = 0
    for r in range(len(work.supply)):
        made.missing[r] = work.supply[r]
    paid = float(terms.flow_cost[end])
    for t in range(end, -1, -1):
        k = units.chosen[t, n]
        if k == 0:
            continue
        s, count = units.opens[t, k] if k == n else units.stands[t, k], made.workers[t]
        _gains(terms, t, earned, s, k, units.gain[t], units.stands[t], count)
        n -= k
        made.server[t] = s
        paid += terms.server_price[t, s]
        for r in range(len(count)):
            if count[r] > 0:
                made.room[r] += work.rate * count[r] // work.work
                paid += terms.worker_price[t, s, r] * count[r]
                _subtract(alpha, work, r, count[r], made.missing)
    return paid
