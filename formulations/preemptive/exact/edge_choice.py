"""Which jobs of a market go to the edge, where they run shortest remaining work first.

Jobs that would end at the edge no sooner than in the fast cloud go there, and the others run
again. A choice is made better by exchange: a job goes in or out, or two that begin near each other
change places; one that is little worse is gone on from, ever less so as nothing comes of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.exact.components import Market
from formulations.preemptive.exact.shortest_first import shortest_first
from formulations.preemptive.grid import fast_completion
from formulations.preemptive.instance import ROUNDING, Floats, Instance, Integers
from optsched.solvers.deadline import Deadline

ROUNDS = 10
"""Runs of shortest remaining work first, at most."""
PATIENCE = 15
"""Exchanges in vain, for each job of a market, after which there are no more."""
WARMTH = 1.5
"""Mean loss, slots, at which a choice is gone on from at first."""
NEAR = 12
"""Jobs that begin nearest to one and may change places with it."""


class Times(NamedTuple):
    """When jobs may run and end, in slots; each of shape (jobs,)."""

    begin: Floats
    """Anywhere."""
    cloud: Floats
    """When each may run in the cloud."""
    fast_end: Floats
    """When each ends whole in the cloud."""
    work: Floats
    """Worker-slots with communication."""
    slotted: bool
    """Whether all of that is in whole slots."""

    @classmethod
    def of(cls, instance: Instance, slotted: bool) -> Times:
        """Those of an instance."""
        begin = instance.release_time
        cloud = begin + instance.upload_delay_cloud
        if slotted:
            begin, cloud = np.ceil(begin - ROUNDING), np.ceil(cloud - ROUNDING)
            work = instance.work_slow.astype(np.float64)
            return cls(begin, cloud, fast_completion(instance), work, slotted)
        work = (instance.num_chunks * instance.chunk_time_slow).astype(np.float64)
        return cls(begin, cloud, cloud + instance.chunk_time_fast, work, slotted)


class Served(NamedTuple):
    """Who of a market ends at the edge before it would in the fast cloud, and how."""

    jobs: Integers
    rest: Floats
    """Work each leaves to the cloud, shape (jobs,)."""
    runs: NDArray[Any]
    """At the edge."""
    total: float
    """Completion times of all jobs of the market."""


class EdgeChoice:
    """One market."""

    def __init__(self, instance: Instance, market: Market, times: Times) -> None:
        self.instance, self.market, self.times = instance, market, times

    def settle(self, chosen: Integers) -> Served:
        """Run jobs at the edge, less and less of them, until all end there sooner."""
        instance, market, times = self.instance, self.market, self.times
        chosen = chosen[np.argsort(times.begin[chosen], kind="stable")]
        for again in range(ROUNDS):
            end, rest, runs = shortest_first(
                chosen,
                instance.release_time[chosen],
                times.begin[chosen],
                instance.num_chunks[chosen],
                times.work[chosen],
                instance.upload_delay_edge,
                market.may[np.searchsorted(market.jobs, chosen)],
                market.group,
                instance.worker_server[market.workers],
                times.cloud[chosen],
                times.fast_end[chosen],
                times.slotted,
            )
            sooner = end < times.fast_end[chosen]
            if sooner.all() or again == ROUNDS - 1:
                break
            chosen = chosen[sooner]
        runs = runs[sooner[runs["job"]]]
        runs["job"], runs["worker"] = chosen[runs["job"]], market.workers[runs["worker"]]
        served = chosen[sooner]
        away = np.setdiff1d(market.jobs, served)
        total = float(end[sooner].sum() + times.fast_end[away].sum())
        return Served(served, rest[sooner], runs, total)

    def improved(self, served: Served, clock: Deadline, rng: np.random.Generator) -> Served:
        """The best choice met in exchanges from one, while there is time."""
        jobs = self.market.jobs
        order = np.argsort(self.times.begin[jobs], kind="stable")
        place = np.argsort(order, kind="stable")
        best = now = served
        inside = np.isin(jobs, now.jobs)
        patience = PATIENCE * len(jobs)
        vain = 0
        while vain < patience and np.isfinite(now.total) and not clock.over():
            tried = inside.copy()
            one = rng.integers(len(jobs))
            tried[one] ^= True
            near = order[max(0, place[one] - NEAR // 2) : place[one] + NEAR // 2]
            others = near[inside[near] != inside[one]]
            if len(others) and rng.random() < 0.5:
                tried[rng.choice(others)] ^= True
            found = self.settle(jobs[tried])
            vain += 1
            loss = found.total - now.total
            if loss > WARMTH * (1 - vain / patience) * rng.exponential():
                continue
            now, inside = found, np.isin(jobs, found.jobs)
            if now.total < best.total:
                best, vain = now, 0
        return best
