"""Jobs and prices drawn at random, and every way in which a job may complete at them."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np

from formulations.preemptive.exact.cheapest_purchase import JOB, NEVER, STEP, cheapest_ages

PRICE_BITS = 3


class Shop:
    """Jobs, steps and prices as ``cheapest_ages`` takes them, drawn."""

    def __init__(self, rng: np.random.Generator, *, slotted: bool, jobs: int = 1) -> None:
        pools, cells = rng.integers(1, 4), rng.integers(3, 9)
        widths = np.ones(cells, dtype=np.int64) if slotted else rng.integers(1, 4, cells)
        self.jobs = np.zeros(jobs, dtype=JOB)
        steps = []
        for job in self.jobs:
            job["release"], job["chunks"] = rng.integers(0, 3), rng.integers(1, 5)
            job["work"] = rng.integers(1, 14)
            job["cloud"], job["fast"] = NEVER, NEVER
            if rng.random() < 0.5:
                job["cloud"] = rng.integers(0, 12)
                job["fast"] = job["cloud"] + rng.integers(1, 6)
            job["first"] = len(steps)
            offered = [(rng.integers(0, 5), pool, rng.integers(1, 4)) for pool in range(pools)]
            offered += [(rng.integers(0, 5), rng.integers(pools), 1) for _ in range(2)]
            steps += sorted(map(tuple, np.array(offered).tolist()))[rng.integers(0, 3) :]
            job["last"] = len(steps)
        self.steps = np.array(steps, dtype=STEP)
        free = self.jobs["work"].max() + 8
        self.edges = np.concatenate([[0], np.cumsum(widths), [widths.sum() + free]])
        self.price = rng.integers(0, 8, (pools, cells + 1)) * (rng.random((pools, cells + 1)) < 0.8)
        self.price[:, -1] = 0
        self.slotted = slotted

    def sold(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the module makes of it."""
        return cheapest_ages(
            self.jobs, self.steps, self.edges, self.price, PRICE_BITS, self.slotted
        )

    def ways(self, job: np.void) -> Iterator[tuple[Fraction, int]]:
        """Age and price of every way to complete, the cloud's fast way left out."""
        release, chunks, work = (int(job[name]) for name in ("release", "chunks", "work"))
        steps = self.steps[job["first"] : job["last"]]
        opens = release + int(job["cloud"])
        cuts = {release, opens, *self.edges.tolist(), *(release + steps["age"]).tolist()}
        bought: list[int] = []
        for now, end in pairwise(sorted(c for c in cuts if release <= c <= self.edges[-1])):
            cell = int(np.searchsorted(self.edges, now, side="right")) - 1
            offers = [0] * chunks
            if now < opens:
                there = steps[release + steps["age"] <= now]
                each = np.repeat(self.price[there["pool"], cell], there["workers"])
                offers = sorted(each.tolist())[:chunks]
            units = sorted(offers * (end - now))
            whole = self.slotted and cell + 2 < len(self.edges)
            for n in range(len(units) if whole else 1, len(units) + 1):
                if units and len(bought) + n >= work:
                    at = now + Fraction(n, len(offers)) - release
                    yield at, sum(sorted(bought + units[:n])[:work])
            bought += units
