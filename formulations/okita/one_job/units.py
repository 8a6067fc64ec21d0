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

from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job.lattice import Levels
from formulations.okita.one_job.terms import JobTerms, Path
from formulations.okita.one_job.unit_search import UnitWork, least_price

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

    def __post_init__(self) -> None:
        instance, i = self.instance, self.job
        q, sites = instance.unit_bandwidth_cost, instance.sites
        share = instance.work_per_chunk[i] / instance.rate_numerator[i]
        talk = share * instance.exchange_size_mb[i] * q.T  # [server, worker]
        way = (instance.chunk_size_mb[i] * q + talk[:, None, :]).min(axis=2)
        self.alpha = way if sites <= FEW_SITES else way.mean(axis=0, keepdims=True)

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
        work = UnitWork(
            instance.num_chunks[i],
            terms.transport_weight * instance.chunk_size_mb[i] * instance.unit_bandwidth_cost,
            int(instance.rate_numerator[i]), int(instance.work_per_chunk[i]), self.needed, self.top,
        )  # fmt: skip
        bound, met = least_price(self.alpha, terms.by_slot, work, steps)
        if np.isfinite(bound):
            bound -= _ROUNDING * max(1.0, abs(bound))
        found = [
            Path(float(met.price[s]), met.workers[s], met.server[s], met.flow[s])
            for s in np.argsort(met.price, kind="stable").tolist()
            if np.isfinite(met.price[s])
        ]
        return found, bound
