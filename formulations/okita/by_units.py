"""Cheap schedules of one job at any size, with a proven bound on how cheap any can be.

A lattice point says what every site has trained; here only the units of work in all are counted,
a unit being what one worker does in a slot. That every chunk is trained is priced instead, alpha_r
>= 0 per chunk of site r: workers at r' earn what the chunks brought to them are worth,

    price >= sum over r of alpha_r D^r + min over t of (f(t) + V(t)),
    V: the cheapest way to do enough units by slot t, where y workers at r' in a slot earn
       max of (alpha_r - delta q^{rr'}) G^r over G^r <= D^r, sum of G^r <= chunks of y workers.

What they earn is concave in y, so the workers of a slot are filled in one by one where the next
one pays best, and a dynamic program over (slot, units) is exact for fixed alpha. Any alpha gives a
bound; the schedules met on the way, with exact transport, are true ones. Where sites are few there
is an alpha for every site of the first server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.lattice import Levels
from formulations.okita.one_job import JobTerms, Path
from formulations.okita.transport import cheapest_transport
from optsched.jit import njit_cached

FEW_SITES = 12
"""Sites up to which every site of the first server has prices of its own."""

STEPS = 12
"""Steps on the prices of chunks."""

_ROUNDING = 1e-9  # relative, by which the bound is lowered


@dataclass(eq=False)
class ByUnits:
    """The search for one job; it begins at the prices of chunks that were best last time."""

    instance: Instance
    job: int
    alpha: Floats = field(init=False)
    """Price of a chunk by site of the first server (or for all at once), and site; money."""
    charged_alpha: Floats = field(init=False)
    """The same for labels where actions are charged for, of which units know nothing."""

    def __post_init__(self) -> None:
        instance, i = self.instance, self.job
        q, sites = instance.unit_bandwidth_cost, instance.sites
        share = instance.work_per_chunk[i] / instance.rate_numerator[i]
        talk = share * instance.exchange_size_mb[i] * q.T  # [server, worker]
        way = (instance.chunk_size_mb[i] * q + talk[:, None, :]).min(axis=2)
        self.alpha = way if sites <= FEW_SITES else way.mean(axis=0, keepdims=True)
        self.charged_alpha = self.alpha.copy()

    @cached_property
    def levels(self) -> Levels:
        """That the job's sites can reach."""
        return Levels.of(self.instance, self.job)

    @property
    def needed(self) -> int:
        """Units of work that all chunks take at least."""
        return int(self.instance.most_workers[self.job])

    @cached_property
    def top(self) -> int:
        """Most units of a schedule within the job's levels."""
        levels = self.levels
        each = (levels.option_workers / levels.option_levels).max(initial=1.0)
        return int(np.ceil(levels.in_all * each - 1e-9))

    def cheapest(self, terms: JobTerms, *, steps: int = STEPS) -> tuple[list[Path], float]:
        """Schedules met, cheapest first, and a bound on the price of every schedule.

        Args:
            terms: prices, none of them negative, and limits.
            steps: most steps on the prices of chunks, for each site of the first server.
        """
        instance, i = self.instance, self.job
        slots, sites = terms.server_price.shape
        rate, work = int(instance.rate_numerator[i]), int(instance.work_per_chunk[i])
        total = int(instance.total_chunks[i])
        workers = np.zeros((len(self.alpha), slots, sites), dtype=np.int64)
        server = np.full((len(self.alpha), slots), -1, dtype=np.int64)
        flow = np.zeros((len(self.alpha), sites, sites), dtype=np.int64)
        price = np.full(len(self.alpha), np.inf)
        bound = least_price(
            self.alpha, terms.worker_price, terms.server_price, terms.least, terms.most,
            terms.must_run, terms.flow_cost, instance.num_chunks[i], rate, work,
            terms.transport_weight * instance.chunk_size_mb[i] * instance.unit_bandwidth_cost,
            self.needed, self.top, total, steps, workers, server, flow, price,
        )  # fmt: skip
        if np.isfinite(bound):
            bound -= _ROUNDING * max(1.0, abs(bound))
        found = [
            Path(float(price[s]), workers[s], server[s], flow[s])
            for s in np.argsort(price, kind="stable").tolist()
            if np.isfinite(price[s])
        ]
        return found, bound


@njit_cached
def copy_into(target: Floats | Integers, source: Floats | Integers) -> None:
    """Write one array to another of its shape, which an assignment would check wherever it is."""
    for n in np.ndindex(source.shape):
        target[n] = source[n]


@njit_cached
def best_first(profit: Floats, order: Integers) -> int:
    """Write positions of what pays by falling profit, and say how many; numpy's sort is slow."""
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
def earnings(alpha: Floats, supply: Integers, move: Floats, share: float, earned: Floats) -> None:
    """What the y-th worker at each site earns in a slot, shape (sites, most units + 1), written."""
    sites = len(alpha)
    profit, order = np.empty(sites), np.empty(sites, dtype=np.int64)
    for v in range(sites):
        for r in range(sites):
            profit[r] = alpha[r] - move[r, v]
        pay = best_first(profit, order)
        at, left = 0, float(supply[order[0]]) if pay > 0 else 0.0
        for y in range(1, earned.shape[1]):
            room, total = share, 0.0
            while room > 0.0 and at < pay:
                taken = min(room, left)
                total += taken * profit[order[at]]
                room -= taken
                left -= taken
                if left <= 0.0:
                    at += 1
                    left = float(supply[order[at]]) if at < pay else 0.0
            earned[v, y] = total


@njit_cached
def subtract(
    alpha: Floats, supply: Integers, move: Floats, v: int, room: float, missing: Floats
) -> None:
    """Take off what workers at ``v`` train in a slot: the chunks that pay best."""
    profit, order = np.empty(len(alpha)), np.empty(len(alpha), dtype=np.int64)
    for r in range(len(alpha)):
        profit[r] = alpha[r] - move[r, v]
    for n in range(best_first(profit, order)):
        r = order[n]
        if room <= 0.0:
            break
        taken = min(room, float(supply[r]))
        missing[r] -= taken
        room -= taken


@njit_cached
def climb(alpha: Floats, slope: Floats, gain: float) -> bool:
    """Write prices of chunks one step on, Polyak's; whether there is anywhere to go.

    Args:
        alpha: read and written, shape (sites,), non-negative.
        slope: chunks of each site left untrained, read; written where prices are to stay at 0.
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
    earned: Floats,
    worker_price: Floats,
    server_price: Floats,
    least: Integers,
    most: Integers,
    only: int,
    k: int,
    gain: Floats,
    stands: Integers,
    workers: Integers,
) -> None:
    """Cheapest price of so many workers in a slot and where the server stands then.

    Args:
        earned: see ``earnings``.
        worker_price: of this slot, by site of the server, site of the worker.
        server_price: of this slot, by site.
        least: of this slot, by site.
        most: of this slot, by site of the server, site of the worker.
        only: the one site the server may stand at; -1: any.
        k: workers after which to end.
        gain: written: by number of workers.
        stands: written: site of the server; -1 where so many do not fit.
        workers: written: where those counted last are, shape (sites,).
    """
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
def least_price(
    alphas: Floats,
    worker_price: Floats,
    server_price: Floats,
    least: Integers,
    most: Integers,
    must_run: Booleans,
    flow_cost: Floats,
    supply: Integers,
    rate: int,
    work: int,
    move: Floats,
    needed: int,
    top: int,
    total: int,
    steps: int,
    workers: Integers,
    server: Integers,
    flow: Integers,
    price: Floats,
) -> float:
    """The least bound over sites of the first server; writes the best schedule met for each.

    Args:
        alphas: read and written, shape (first servers, sites).
        worker_price: of the terms, as are server_price, least, most, must_run and flow_cost.
        server_price: see there.
        least: see there.
        most: see there.
        must_run: see there.
        flow_cost: see there.
        supply: chunks that lie at each site.
        rate: with ``work``: y workers train rate * y // work chunks.
        work: see there.
        move: price of a chunk from row to column.
        needed: units that all chunks take.
        top: most units of any schedule within the levels.
        total: chunks.
        steps: most steps, for each site of the first server.
        workers: written, shape (first servers, slots, sites).
        server: written: where it stands, shape (first servers, slots).
        flow: written, shape (first servers, sites, sites).
        price: written, shape (first servers,).
    """
    slots, sites = server_price.shape
    share = rate / work
    earliest = 0
    for t in range(slots):
        if must_run[t]:
            earliest = t
    gain = np.empty((slots, top + 1))
    stands = np.empty((slots, top + 1), dtype=np.int64)
    opening = np.empty((slots, top + 1))
    opens = np.empty((slots, top + 1), dtype=np.int64)
    value = np.empty((slots + 1, top + 1))
    chosen = np.empty((slots, top + 1), dtype=np.int64)
    earned = np.zeros((sites, top + 2))
    count = np.empty((slots, sites), dtype=np.int64)
    at = np.empty(slots, dtype=np.int64)
    carried = np.empty((sites, sites), dtype=np.int64)
    slope, room = np.empty(sites), np.empty(sites, dtype=np.int64)
    spare, spare_at = np.empty(top + 1), np.empty(top + 1, dtype=np.int64)
    lowest = cheap = np.inf
    fit = _fitting(server_price, most, top)
    if fit.sum() < needed:
        return lowest
    for f in range(len(alphas)):
        only = f if len(alphas) > 1 else -1
        alpha, kept = alphas[f].copy(), alphas[f].copy()
        best, pace, idle = -np.inf, 1.0, 0
        for _ in range(steps):
            earnings(alpha, supply, move, share, earned)
            for t in range(slots):
                _gains(
                    earned, worker_price[t], server_price[t], least[t], most[t], -1, fit[t],
                    gain[t], stands[t], room,
                )  # fmt: skip
                if only < 0:
                    copy_into(opening[t], gain[t])
                    copy_into(opens[t], stands[t])
                    continue
                _gains(
                    earned, worker_price[t], server_price[t], least[t], most[t], only, fit[t],
                    opening[t], opens[t], room,
                )  # fmt: skip
            value[0, :] = np.inf
            value[0, 0] = 0.0
            end, units, done = -1, 0, np.inf
            for t in range(slots):
                for n in range(top + 1):
                    low, k = (np.inf if must_run[t] else value[t, n]), 0
                    for more in range(1, min(n, fit[t]) + 1):
                        before = value[t, n - more]
                        if before < np.inf:
                            added = gain[t, more] if more < n else opening[t, more]
                            if before + added < low:
                                low, k = before + added, more
                    value[t + 1, n] = low
                    chosen[t, n] = k
                    if n >= needed and t >= earliest and low + flow_cost[t] < done:
                        end, units, done = t, n, low + flow_cost[t]
            if end < 0:  # no schedule at all begins here
                best = np.inf
                break
            bound = done + (alpha * supply).sum()
            count[:, :] = 0
            at[:] = -1
            room[:] = 0
            paid = flow_cost[end]
            copy_into(slope, supply)
            n = units
            for t in range(end, -1, -1):
                k = chosen[t, n]
                if k == 0:
                    continue
                s = stands[t, k] if k < n else opens[t, k]
                _gains(
                    earned, worker_price[t], server_price[t], least[t], most[t], s, k,
                    spare, spare_at, count[t],
                )  # fmt: skip
                n -= k
                at[t] = s
                paid += server_price[t, s]
                for r in range(sites):
                    if count[t, r] > 0:
                        room[r] += rate * count[t, r] // work
                        paid += worker_price[t, s, r] * count[t, r]
                        subtract(alpha, supply, move, r, share * count[t, r], slope)
            if room.sum() >= total and paid < price[f]:
                paid += cheapest_transport(supply, room, move, carried, total)
                if paid < price[f]:
                    price[f] = paid
                    copy_into(workers[f], count)
                    copy_into(server[f], at)
                    copy_into(flow[f], carried)
                    cheap = min(cheap, paid)
            if bound > best + 1e-9:
                best, idle = bound, 0
                copy_into(kept, alpha)
            else:
                idle += 1
                if idle >= 3:
                    copy_into(alpha, kept)
                    pace, idle = pace / 2, 0
                    continue
            aim = price[f] if price[f] < np.inf else best + 0.1 * abs(best) + 1.0
            met = best >= min(aim, cheap) - 1e-9 * max(1.0, abs(aim))
            if met or not climb(alpha, slope, pace * (max(aim, bound) - bound)):
                break
        copy_into(alphas[f], kept)
        lowest = min(lowest, best)
    return lowest
