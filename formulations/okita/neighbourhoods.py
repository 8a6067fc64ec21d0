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
from threading import Event

import numpy as np

from formulations.okita.construct import Planner
from formulations.okita.free_capacity import Choices, FreeCapacity
from formulations.okita.instance import Floats, Instance, Integers
from formulations.okita.one_job import Path, path_schedule
from formulations.okita.pricing import SitePrices
from formulations.okita.schedule import Schedule
from optsched.clock import Clock
from optsched.jit import limit_left, limited

LARGEST_NEIGHBOURHOOD, LARGEST_GUIDED = 5, 8
"""Most jobs taken out at a time; where a relaxation is known."""
GUIDED = 0.5
"""Part of the jobs that take a schedule which it chooses in part, if one fits."""
LED = 0.5
"""Part of the rounds then in which one job takes such a schedule whether it fits or not."""

PAID = (0.0, 0.0, 0.3, 0.6)
"""Parts of the prices that jobs pay, one of them drawn each time."""
WARMTH = 0.01
"""How much more is kept, on average, at first; in the end nothing is. Part of what jobs cost more
than each of them would alone. Nothing where planning a job takes so long that rounds are few."""
SEARCHES = 2
"""Searches from one schedule that all find no better one, after which a thread of them ends."""

_FLAT = 1e-9  # relative difference of costs that is rounding


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
        self.chosen: Mapping[int, Choices] = {}
        """Schedules by job that a relaxation chooses in part; at what they cost."""
        self.take(paths)
        self.planned: list[tuple[int, Path]] = list(enumerate(self.paths))
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

    def take(self, paths: Iterable[Path]) -> None:
        """Go on from another schedule."""
        self.paths = list(paths)
        self.cost = sum(path.price for path in self.paths)
        self.best, self.best_cost = list(self.paths), self.cost
        self._room = FreeCapacity(self.instance)
        for i, path in enumerate(self.paths):
            self._room.hold(i, path)

    def search(self, clock: Clock, rounds: int) -> None:
        """Take out and plan anew until time is over, or in vain for so many rounds."""
        vain, warmth = 0, 0.0 if self.planner.beyond else WARMTH
        with suppress(TimeoutError):
            while not clock.over() and vain < rounds:
                left = 1.0 if clock.seconds is None else max(0.0, clock.left / clock.seconds)
                self._round(warmth * min(left, 1.0 - vain / rounds), clock)
                better = self.cost < self.best_cost - _FLAT * self.best_cost
                vain = 0 if better else vain + 1
                if better:
                    self.best, self.best_cost = list(self.paths), self.cost
                    self.heard(self.schedule)

    def _round(self, warmth: float, clock: Clock) -> None:
        """One neighbourhood: what is taken out, and planned anew in random order.

        Args:
            warmth: as ``WARMTH`` by now.
            clock: looked at before every job.
        """
        rng, room = self._rng, self._room.copy()
        led = bool(self.chosen) and rng.random() < LED
        out, found = self._led(room) if led else (self._near(room), {})
        more = _FLAT * self.cost + warmth * rng.exponential() * (self.cost - self.floors.sum())
        paid = float(rng.choice(PAID))
        prices = self.prices if paid else None
        found |= self._taken([i for i in out if i not in found], room)
        rest = [i for i in out if i not in found]
        spare = sum(self.paths[i].price for i in out)
        spare -= sum(path.price for path in found.values())
        for n, i in enumerate(rest):
            if spare - self.floors[rest[n:]].sum() < -more or clock.over():
                return
            if n + 1 < len(rest):
                path = self.planner.quickly(i, room, self.paths[i].last + 2, prices, paid)
            else:  # it leaves nothing to anybody, and what it may cost is known
                cheapest = self.planner.cheaper(i, room, spare + more)
                if cheapest is None:
                    return
                path = cheapest
            room.hold(i, path)
            found[i] = path
            spare -= path.price
        if spare < -more:
            return
        self._room = room
        self.planned.extend((i, found[i]) for i in rest)  # the others the relaxation has
        for i, path in found.items():
            self.paths[i] = path
        cost = sum(path.price for path in self.paths)
        if abs(cost - self.cost) > _FLAT * self.cost:
            self.cost = cost

    def _near(self, room: FreeCapacity) -> list[int]:
        """Some jobs near each other in time, taken out."""
        instance, rng = self.instance, self._rng
        most = min(LARGEST_GUIDED if self.chosen else LARGEST_NEIGHBOURHOOD, instance.jobs)
        count = int(rng.integers(min(2, most), most, endpoint=True))
        middle = instance.release_slot[rng.integers(instance.jobs)]
        apart = np.abs(instance.release_slot - middle) + rng.uniform(0.0, 3.0, instance.jobs)
        out: list[int] = rng.permutation(np.argsort(apart)[:count]).tolist()
        for i in out:
            room.hold(i, self.paths[i], -1)
        return out

    def _led(self, room: FreeCapacity) -> tuple[list[int], dict[int, Path]]:
        """One job and those in its way, taken out; it holds what the relaxation chooses of it."""
        lead = int(self._rng.integers(self.instance.jobs))
        room.hold(lead, self.paths[lead], -1)
        path = self.paths[lead]
        if (own := self.chosen.get(lead)) is not None:
            path = own.paths[self._by_share(own)[0]]
        out = [lead]
        while (lacking := room.lacking(lead, path)) is not None:
            out.append(int(self._rng.choice(self._busy(*lacking, out))))
            room.hold(out[-1], self.paths[out[-1]], -1)
        room.hold(lead, path)
        return self._rng.permutation(out).tolist(), {lead: path}

    def _busy(self, slot: int, site: int, out: Sequence[int]) -> list[int]:
        """Jobs that hold something of a site in a slot, but for those that are out."""
        first = self.instance.release_slot.tolist()
        return [
            i
            for i, path in enumerate(self.paths)
            if i not in out
            and 0 <= (t := slot - first[i]) < len(path.server)
            and (path.workers[t, site] or path.server[t] == site)
        ]

    def _by_share(self, own: Choices) -> Integers:
        """Positions of schedules in random order: the more the relaxation chooses, the earlier."""
        return np.argsort(self._rng.exponential(size=len(own.share)) / own.share)

    def _taken(self, out: Sequence[int], room: FreeCapacity) -> dict[int, Path]:
        """What some of the jobs take of what the relaxation chooses, held."""
        follow = self._rng.random(len(out)) < GUIDED
        taken = dict[int, Path]()
        for i in (i for i, follows in zip(out, follow, strict=True) if follows):
            if (own := self.chosen.get(i)) is None:
                continue
            if (path := room.hold_first(i, own, self._by_share(own))) is not None:
                taken[i] = path
        return taken


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
    clock = Clock(seconds, done)

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
