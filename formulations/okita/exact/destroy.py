"""What a round of neighbourhoods takes out of a schedule, and what takes its place, compiled.

Jobs near each other in time; or, where a relaxation is known, one job that leads, and who is in the
way of what the relaxation chooses of it. Of the others some take what it chooses, where that fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.one_job.arrays import best_first, copy_into
from formulations.okita.one_job.free_capacity import take
from formulations.okita.one_job.terms import Path
from optsched.jit import njit_cached

LARGEST_NEIGHBOURHOOD, LARGEST_GUIDED = 5, 8
"""Most jobs taken out at a time; where a relaxation is known."""
CHOSEN = 1e-9
"""How far a schedule is chosen where that is a solver's rounding, at most."""
LED = 0.5
"""Part of the rounds then in which one job takes such a schedule whether it fits or not."""


class Demands(NamedTuple):
    """What jobs take, and when they come."""

    first: Integers
    """Position of the first slot, shape (jobs,)."""
    worker: Integers
    """What a worker takes, shape (jobs, resources)."""
    server: Integers
    """What the server takes."""

    @classmethod
    def of(cls, instance: Instance) -> Demands:
        """All jobs of an instance."""
        return cls(instance.release_slot - 1, instance.worker_demand, instance.ps_demand)


class Paths(NamedTuple):
    """Schedules of one job each, from its first slot on."""

    slots: Integers
    """Up to the last in which it runs, shape (paths,)."""
    workers: Integers
    """Shape (paths, slots, sites)."""
    server: Integers
    """Its site, -1 in a pause; shape (paths, slots)."""
    flow: Integers
    """Chunks from row to column in all, shape (paths, sites, sites)."""
    price: Floats
    """Shape (paths,), money."""

    @classmethod
    def empty(cls, paths: int, slots: int, sites: int) -> Paths:
        """Room for so many, in so many slots."""
        return cls(
            np.zeros(paths, dtype=np.int64), np.zeros((paths, slots, sites), dtype=np.int64),
            np.full((paths, slots), -1), np.zeros((paths, sites, sites), dtype=np.int64),
            np.zeros(paths),
        )  # fmt: skip

    @classmethod
    def of(cls, paths: Sequence[Path], slots: int, sites: int) -> Paths:
        """Known ones."""
        made = cls.empty(len(paths), slots, sites)
        for n, path in enumerate(paths):
            made.put(n, path)
        return made

    def put(self, n: int, path: Path) -> None:
        """Write one."""
        slots = path.last + 1
        self.slots[n], self.price[n], self.flow[n] = slots, path.price, path.flow
        self.workers[n, :slots], self.server[n, :slots] = path.workers[:slots], path.server[:slots]

    def one(self, n: int) -> Path:
        """One of them."""
        slots = int(self.slots[n])
        workers, server = self.workers[n, :slots].copy(), self.server[n, :slots].copy()
        return Path(float(self.price[n]), workers, server, self.flow[n].copy())


class Offers(NamedTuple):
    """Schedules of jobs that a relaxation chooses in part."""

    paths: Paths
    share: Floats
    """How far each is chosen, shape (paths,)."""
    begin: Integers
    """The first path of each job, and their end; shape (jobs + 1,)."""

    @classmethod
    def of(
        cls, chosen: Mapping[int, Sequence[tuple[Path, float]]], jobs: int, slots: int, sites: int
    ) -> Offers:
        """By job, schedules and how far each is chosen; up to ``CHOSEN`` it is left out."""
        own = [[one for one in chosen.get(i, ()) if one[1] > CHOSEN] for i in range(jobs)]
        paths = [path for each in own for path, _ in each]
        share = [part for each in own for _, part in each]
        begin = np.cumsum([0, *(len(each) for each in own)])
        return cls(Paths.of(paths, slots, sites), np.array(share, dtype=float), begin)


class Standing(NamedTuple):
    """A schedule of every job."""

    paths: Paths
    """By job."""
    left: Integers
    """What they leave of the sites, shape (slots, sites, resources)."""

    @classmethod
    def of(cls, instance: Instance, paths: Iterable[Path], slots: int) -> Standing:
        """Schedules that end within so many slots."""
        made = Paths.of(list(paths), slots, instance.sites)
        left = np.repeat(instance.capacity[None], slots, axis=0)
        demands = Demands.of(instance)
        for i in range(instance.jobs):
            hold(left, demands, i, made, i, 1)
        return cls(made, left)


@njit_cached
def hold(left: Integers, demands: Demands, i: int, paths: Paths, n: int, share: int) -> None:
    """Take what a job's schedule uses; with share -1 give it back.

    Args:
        left: written, shape (slots, sites, resources).
        demands: of jobs.
        i: the job.
        paths: schedules.
        n: its own among them.
        share: how often.
    """
    first, slots = demands.first[i], paths.slots[n]
    take(
        left[first : first + slots], paths.workers[n, :slots], paths.server[n, :slots],
        demands.worker[i], demands.server[i], share,
    )  # fmt: skip


@njit_cached
def lacking(left: Integers, demands: Demands, i: int, paths: Paths, n: int) -> tuple[int, int]:
    """Position of the first slot, and site, where there is less than a job's schedule uses.

    Args:
        left: shape (slots, sites, resources).
        demands: of jobs.
        i: the job.
        paths: schedules.
        n: its own among them.

    Returns:
        -1 for both if there is none.
    """
    first, worker, own = demands.first[i], demands.worker[i], demands.server[i]
    for t in range(paths.slots[n]):
        stands = paths.server[n, t]
        for r in range(left.shape[1]):
            count = paths.workers[n, t, r]
            if count == 0 and stands != r:
                continue
            for k in range(left.shape[2]):
                if count * worker[k] + (own[k] if stands == r else 0) > left[first + t, r, k]:
                    return first + t, r
    return -1, -1


@njit_cached
def copy_path(source: Paths, n: int, target: Paths, m: int) -> None:
    """Write a schedule to another place."""
    slots = source.slots[n]
    target.slots[m], target.price[m] = slots, source.price[n]
    copy_into(target.workers[m, :slots], source.workers[n, :slots])
    copy_into(target.server[m, :slots], source.server[n, :slots])
    copy_into(target.flow[m], source.flow[n])


@njit_cached
def one_of(rng: Generator, end: int) -> int:
    """One of 0 .. end - 1, each as likely."""
    return min(end - 1, int(rng.random() * end))


@njit_cached
def exponential(rng: Generator) -> float:
    """Of mean 1, and more than nothing."""
    return max(1e-300, -math.log(1.0 - rng.random()))


@njit_cached
def _shuffle(rng: Generator, items: Integers) -> None:
    for n in range(len(items) - 1, 0, -1):
        m = one_of(rng, n + 1)
        items[n], items[m] = items[m], items[n]


@njit_cached
def by_share(rng: Generator, share: Floats) -> Integers:
    """Positions in random order: the larger the share, the earlier."""
    key, order = np.empty(len(share)), np.empty(len(share), dtype=np.int64)
    for n in range(len(share)):
        key[n] = share[n] / exponential(rng)
    best_first(key, order)
    return order


@njit_cached
def _near(rng: Generator, demands: Demands, out: Integers, most: int) -> int:
    """Some jobs near each other in time, written; so many."""
    first = demands.first
    least, most = min(2, len(first)), min(most, len(first))
    count = least + one_of(rng, most - least + 1)
    middle = first[one_of(rng, len(first))]
    apart = np.empty(len(first))
    for i in range(len(first)):
        apart[i] = abs(first[i] - middle) + 3.0 * rng.random()
    for n in range(count):
        out[n] = np.argmin(apart)
        apart[out[n]] = np.inf
    return count


@njit_cached
def _in_the_way(
    rng: Generator, demands: Demands, paths: Paths, t: int, r: int, gone: Booleans
) -> int:
    """One of the jobs that hold something of a site in a slot, but for those that are gone."""
    chosen, count = -1, 0
    for i in range(len(gone)):
        at = t - demands.first[i]
        if gone[i] or at < 0 or at >= paths.slots[i]:
            continue
        if paths.workers[i, at, r] > 0 or paths.server[i, at] == r:
            count += 1
            if one_of(rng, count) == 0:
                chosen = i
    return chosen


@njit_cached
def led(
    rng: Generator, demands: Demands, offers: Offers, now: Standing, then: Standing, out: Integers
) -> int:
    """One job and those in its way, taken out; it holds what the relaxation chooses of it.

    Args:
        rng: for the draws.
        demands: of jobs.
        offers: what the relaxation chooses.
        now: the schedule.
        then: what is left and the job's schedule are written.
        out: written: the jobs, that one first.

    Returns:
        How many they are.
    """
    gone = np.zeros(len(out), dtype=np.bool_)
    lead = one_of(rng, len(out))
    out[0], gone[lead], count = lead, True, 1
    hold(then.left, demands, lead, now.paths, lead, -1)
    begin, end = offers.begin[lead], offers.begin[lead + 1]
    if end > begin:
        copy_path(offers.paths, begin + by_share(rng, offers.share[begin:end])[0], then.paths, lead)
    else:
        copy_path(now.paths, lead, then.paths, lead)
    while True:
        t, r = lacking(then.left, demands, lead, then.paths, lead)
        if r < 0:
            break
        i = _in_the_way(rng, demands, now.paths, t, r, gone)
        hold(then.left, demands, i, now.paths, i, -1)
        out[count], gone[i] = i, True
        count += 1
    hold(then.left, demands, lead, then.paths, lead, 1)
    return count


@njit_cached
def take_offer(rng: Generator, demands: Demands, offers: Offers, then: Standing, i: int) -> bool:
    """Whether a job holds one of the schedules that the relaxation chooses, now that it tried."""
    begin, end = offers.begin[i], offers.begin[i + 1]
    for n in by_share(rng, offers.share[begin:end]):
        if lacking(then.left, demands, i, offers.paths, begin + n)[1] < 0:
            copy_path(offers.paths, begin + n, then.paths, i)
            hold(then.left, demands, i, then.paths, i, 1)
            return True
    return False


@njit_cached
def taken_out(
    rng: Generator,
    demands: Demands,
    offers: Offers,
    now: Standing,
    then: Standing,
    guided: float,
    out: Integers,
) -> tuple[int, int, float]:
    """Begin a round.

    Args:
        rng: for the draws.
        demands: of jobs.
        offers: what the relaxation chooses; none where none is known.
        now: the schedule.
        then: written: what is left, and what those hold that took something.
        guided: part of the jobs that take what the relaxation chooses, if it fits.
        out: written: jobs taken out, in random order, those that took something in the end.

    Returns:
        How many of them are to be planned, how many are out, and what the former may cost for the
        schedule to cost what it did, money.
    """
    copy_into(then.left, now.left)
    leads = len(offers.share) > 0 and rng.random() < LED
    if leads:
        count = led(rng, demands, offers, now, then, out)
    else:
        most = LARGEST_GUIDED if len(offers.share) > 0 else LARGEST_NEIGHBOURHOOD
        count = _near(rng, demands, out, most)
        for n in range(count):
            hold(then.left, demands, out[n], now.paths, out[n], -1)
    lead = out[0] if leads else -1
    _shuffle(rng, out[:count])
    order, rest, took, spare = out[:count].copy(), 0, 0, 0.0
    for i in order:
        spare += now.paths.price[i]
        if i == lead or (rng.random() < guided and take_offer(rng, demands, offers, then, i)):
            took += 1
            out[count - took] = i
            spare -= then.paths.price[i]
        else:
            out[rest] = i
            rest += 1
    return rest, count, spare
