"""A schedule made better by taking jobs out and planning them anew, a few at a time.

Where a relaxation is known, half of the jobs are not planned but take one of the schedules that it
chooses in part, as likely as it does: these make room for each other. Half of the time then a job
takes such a schedule whether it fits or not, and what is taken out is who is in its way. Where the
sites' capacities have prices, jobs pay part of them half of the time: those planned first leave to
the others what these need more. What costs a little more than before is kept at times, ever more
rarely as the time passes and nothing better is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from threading import Event

import numpy as np

from formulations.okita.exact.destroy import Demands, Offers, Standing, hold, taken_out
from formulations.okita.exact.pricing import SitePrices
from formulations.okita.exact.quick_units import QuickJobs
from formulations.okita.exact.repair import FLAT, Around, rounds, settle
from formulations.okita.horizon import least_slots, slots_needed
from formulations.okita.instance import Floats, Instance
from formulations.okita.one_job.free_capacity import FreeCapacity
from formulations.okita.one_job.planner import Planner
from formulations.okita.one_job.terms import Path, path_schedule
from formulations.okita.schedule import Schedule
from optsched.jit import limit_left, limited
from optsched.solvers.deadline import Deadline

GUIDED = 0.5
"""Part of the jobs that take a schedule which a relaxation chooses in part, if one fits."""
WARMTH = 0.01
"""How much more is kept, on average, at first; in the end nothing is. Part of what jobs cost more
than each of them would alone. Nothing where planning a job takes so long that rounds are few."""
LOOK = 0.02
"""Seconds between two looks at the clock, about."""
SEARCHES = 2
"""Searches from one schedule that all find no better one, after which a thread of them ends."""


class Neighbourhoods:
    """The best schedule known, as one of every job, and what was planned and kept on the way."""

    def __init__(
        self,
        planner: Planner,
        paths: Iterable[Path],
        floors: Floats,
        heard: Callable[[Schedule], object] = lambda schedule: None,
    ) -> None:
        self.planner = planner
        self.floors = floors
        self.heard = heard
        """Told each schedule that is better than all before."""
        self.prices: SitePrices | None = None
        """Of capacities, if they are known."""
        self.chosen: Mapping[int, Sequence[tuple[Path, float]]] = {}
        """Schedules by job that a relaxation chooses in part, at what they cost, and how far."""
        self._out = np.zeros(planner.instance.jobs, dtype=np.int64)
        self._least, self._needed = least_slots(planner.instance), slots_needed(planner.instance)
        self.take(paths)
        self.planned: list[tuple[int, Path]] = list(enumerate(self.best))
        self._rng = np.random.default_rng(0)

    @property
    def instance(self) -> Instance:
        """The system and its jobs."""
        return self.planner.instance

    @property
    def schedule(self) -> Schedule:
        """The best."""
        parts = (path_schedule(self.instance, i, path) for i, path in enumerate(self.best))
        return Schedule.merged(parts)

    @property
    def paths(self) -> list[Path]:
        """Of each job, at present."""
        return [self._now.paths.one(i) for i in range(self.instance.jobs)]

    def take(self, paths: Iterable[Path]) -> None:
        """Go on from another schedule."""
        self.best = list(paths)
        self.cost = self.best_cost = sum(path.price for path in self.best)
        self._stand(self.best)

    def _stand(self, paths: Sequence[Path]) -> None:
        """Lay schedules out, with what is known; a job has as many slots after them as it needs."""
        instance, prices, chosen = self.instance, self.prices, self.chosen
        self._known = prices, chosen
        first = (instance.release_slot - 1).tolist()
        offered = [(i, path) for i, own in chosen.items() for path, _ in own]
        end = max(first[i] + path.last + 1 for i, path in [*enumerate(paths), *offered])
        slots, jobs, sites = end + int(self._needed.max()), instance.jobs, instance.sites
        self._now, self._then = (Standing.of(instance, paths, slots) for _ in range(2))
        rent = np.zeros((2, jobs, 0 if prices is None else slots, sites))
        for i, known in enumerate(() if prices is None else prices.of_jobs):
            for n, own in enumerate(known):
                rent[n, i, : len(own)] = own[:slots]
        self._around = Around(
            Demands.of(instance), self.floors,
            np.array([instance.latency.of_slots(i, slots) for i in range(jobs)]), self._least,
            self._needed, rent[0], rent[1], instance.capacity,
            Offers.of(chosen, jobs, slots, sites),
        )  # fmt: skip

    @cached_property
    def _jobs(self) -> QuickJobs:
        return QuickJobs.of(self.planner.searches)

    def search(self, clock: Deadline, rounds: int) -> None:
        """Take out and plan anew until time is over, or in vain for so many rounds."""
        vain, most, warmth = 0, 1, 0.0 if self.planner.beyond else WARMTH
        with suppress(TimeoutError):
            while not clock.over() and vain < rounds:
                left = 1.0 if clock.seconds is None else max(0.0, clock.left / clock.seconds)
                warm, before = warmth * min(left, 1.0 - vain / rounds), clock.spent
                made = self._rounds(warm, min(most, rounds - vain), clock)
                vain, most = vain + made, max(1, int(made * LOOK / (clock.spent - before)))
                if self.cost < self.best_cost - FLAT * self.best_cost:
                    vain, self.best, self.best_cost = 0, self.paths, self.cost
                    self.heard(self.schedule)

    def _rounds(self, warmth: float, most: int, clock: Deadline) -> int:
        """Some neighbourhoods, at most as many as asked for; how many they were.

        Args:
            warmth: as ``WARMTH`` by now.
            most: rounds.
            clock: looked at before every job.
        """
        self.planner.look()
        prices, chosen = self._known
        if prices is not self.prices or chosen is not self.chosen:
            self._stand(self.paths)
        around, now, then, out = self._around, self._now, self._then, self._out
        if self.planner.beyond:
            rest, count, limit = taken_out(
                self._rng, around.demands, around.offers, now, then, GUIDED, out
            )
            self._finish(0, rest, count, limit + FLAT * self.cost, clock)
            return 1
        best = self.best_cost - FLAT * self.best_cost
        made, rest, count, limit, self.cost = rounds(
            self._rng, around, self._jobs, now, then, out, GUIDED, warmth, self.cost, best, most
        )
        if rest:
            self._finish(rest - 1, rest, count, limit, clock)
        return made

    def _finish(self, planned: int, rest: int, count: int, limit: float, clock: Deadline) -> None:
        """Plan what a round leaves to be planned, and keep it if that costs less than a limit.

        Args:
            planned: so many of the jobs that are out are planned.
            rest: so many took nothing.
            count: so many are out.
            limit: money.
            clock: looked at before every job.
        """
        now, then, demands = self._now, self._then, self._around.demands
        order = self._out[:rest].tolist()
        for n in range(planned, rest):
            i, room = order[n], FreeCapacity(self.instance, then.left)
            if limit < self.floors[order[n:]].sum() or clock.over():
                return
            path: Path | None
            if n + 1 < rest:
                path = self.planner.optimum(i, room, int(now.paths.slots[i]) + 1)
            else:  # it leaves nothing to anybody, and what it may cost is known
                path = self.planner.cheaper(i, room, limit)
            if path is None or demands.first[i] + path.last >= len(then.left):
                return
            then.paths.put(i, path)
            hold(then.left, demands, i, then.paths, i, 1)
            limit -= path.price
        if limit < 0:
            return
        self.planned.extend((i, then.paths.one(i)) for i in order)  # the relaxation has the others
        self.cost = settle(now, then, self._out[:count], self.cost)


@contextmanager
def beside(near: Neighbourhoods, seconds: float | None, rounds: int) -> Iterator[None]:
    """Neighbourhoods on a thread of their own, while the block runs, there is time and they serve.

    What goes wrong there is raised after it.

    Args:
        near: nobody else may search it, or use its planner, meanwhile.
        seconds: wall time; None: no limit.
        rounds: so many in vain, and they begin anew from the best, or end if they did so in vain.
    """
    done, left = Event(), limit_left()
    clock = Deadline(seconds, done)

    def search() -> None:
        vain = 0
        with limited(left):
            while not clock.over() and vain < SEARCHES:
                before = near.best_cost
                near.search(clock, rounds)
                vain = 0 if near.best_cost < before else vain + 1
                near.take(near.best)

    with ThreadPoolExecutor(1) as pool:
        searched = pool.submit(search)
        try:
            yield
        finally:
            done.set()
    searched.result()
