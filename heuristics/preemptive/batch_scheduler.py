"""BatchSche: jobs wait for a batch, then each takes its cheapest place, without preemption.

A reconstruction: the paper describes the algorithm in a few words, its source is not public. The
loop over batches is ``common.batches``, that of She et al., too. In a batch, jobs choose between
the cloud and a gang of edge workers, whose prices grow exponentially with their utilisation; what
cannot end before the next batch waits for it, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from formulations.preemptive.instance import CLOUD, ROUNDING, Floats, Instance, Integers, Job
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from heuristics.common.batches import in_batches
from heuristics.preemptive.gang import gang_sizes, serve
from optsched.errors import FieldProblem, InputError
from optsched.problem.calls import Positive

MISSES = 2
"""A job nothing suits in so many batches goes to the cloud, or, barred from it, to the edge."""


@dataclass(frozen=True)
class WorkerCosts:
    """Cost of a worker for a slot.

    Raises:
        InputError: a price that is no number > 0, or a least one above the greatest.
    """

    cloud: float
    idle: float
    """pi_min: of an edge worker while its class (server and type) is idle."""
    full: float
    """pi_max: of an edge worker whose class is fully used."""

    def __post_init__(self) -> None:
        named = {"cloud_price": self.cloud, "least_price": self.idle, "greatest_price": self.full}
        problems = [
            FieldProblem(name, value, "a finite number > 0")
            for name, value in named.items()
            if not (value > 0 and math.isfinite(value))
        ]
        if not problems and self.idle > self.full:
            problems.append(FieldProblem("least_price", self.idle, "at most greatest_price"))
        if problems:
            raise InputError(problems)


@dataclass(frozen=True, order=True)
class _Option:
    """A way to run a job; the cheapest first, then the one that ends first, then the edge."""

    cost: float
    end: float
    in_cloud: bool
    start: float
    workers: tuple[int, ...] = ()


class _Reservations:
    """When each edge worker is taken, from now on."""

    def __init__(self, instance: Instance, prices: WorkerCosts) -> None:
        self._prices = prices
        kinds = np.stack([instance.worker_server, instance.worker_type])
        _, self._class, self._class_size = np.unique(
            kinds, axis=1, return_inverse=True, return_counts=True
        )
        self._class = self._class.reshape(-1)
        self._taken: list[list[tuple[float, float]]] = [[] for _ in range(instance.workers)]

    def gang(self, now: float, job: Job, size: int, delay: Floats) -> _Option:
        """The earliest window of a gang, on the cheapest of the workers that are free in it.

        Args:
            now: when the job is dispatched, slots.
            job: what runs.
            size: workers of the gang.
            delay: of the upload to each eligible worker, slots.
        """
        workers = job.eligible_workers
        length = job.num_chunks * job.chunk_time_slow / size
        ready = now + delay
        ends = [end for w in workers.tolist() for _, end in self._taken[w] if end > now]
        for start in sorted({*ready.tolist(), *ends}):
            free = workers[
                (ready <= start + ROUNDING)
                & np.array([self._is_free(w, start, start + length) for w in workers.tolist()])
            ]
            if len(free) >= size:
                price = self._price(free, start, start + length)
                chosen = np.lexsort((free, delay[np.searchsorted(workers, free)], price))[:size]
                cost = float(price[chosen].sum()) * length
                picked = tuple(sorted(free[chosen].tolist()))
                return _Option(cost, start + length, False, start, picked)
        raise AssertionError("after the last reservation every worker is free")

    def _is_free(self, w: int, start: float, end: float) -> bool:
        return all(e <= start + ROUNDING or s >= end - ROUNDING for s, e in self._taken[w])

    def _price(self, workers: Integers, start: float, end: float) -> Floats:
        """Price of each worker, by the mean utilisation of its class over the window."""
        of = self._class[workers]
        used = np.zeros(len(self._class_size))
        for w in np.flatnonzero(np.isin(self._class, of)).tolist():
            for s, e in self._taken[w]:
                used[self._class[w]] += max(0.0, min(e, end) - max(s, start))
        share = used[of] / (self._class_size[of] * (end - start))
        growth = self._prices.full / self._prices.idle
        return np.asarray(self._prices.idle * growth**share)

    def take(self, option: _Option) -> None:
        """Reserve the workers of an option for its whole window."""
        for w in option.workers:
            self._taken[w].append((option.start, option.end))

    def forget(self, now: float) -> None:
        """Drop what has ended."""
        self._taken = [[span for span in spans if span[1] > now] for spans in self._taken]


def batch_sche(
    instance: Instance,
    rng: np.random.Generator,
    *,
    first_batch: Positive = 1.0,
    cloud_price: Positive = 1.0,
    least_price: Positive = 1.0,
    greatest_price: Positive = 10.0,
) -> Schedule:
    """BatchSche: doubling batches, the cheapest place for each job, nothing is ever moved.

    Batches are formed ``first_batch * 2^i`` slots after the first release, i = 0, 1, ...; jobs
    of a batch go by their time in the cloud, shortest first. Data are sent when a job is
    dispatched, not before.

    Args:
        instance: storage limits are not looked at.
        rng: never drawn from.
        first_batch: slots from the first release to the first batch.
        cloud_price: of a worker of the cloud for a slot.
        least_price: of an edge worker of an idle class for a slot.
        greatest_price: of an edge worker of a fully used class.

    Raises:
        InputError: an option out of range.
    """
    if not (first_batch > 0 and math.isfinite(first_batch)):
        raise InputError.of("first_batch", first_batch, "a finite number > 0")
    prices = WorkerCosts(cloud_price, least_price, greatest_price)
    gang = gang_sizes(instance)
    reservations = _Reservations(instance, prices)
    options: dict[int, _Option] = {}
    misses = np.zeros(instance.jobs, dtype=np.int64)
    waiting: list[Job] = []

    def hold(now: float, following: float) -> bool:
        waiting.sort(key=lambda job: job.upload_delay_cloud + job.chunk_time_fast)
        reservations.forget(now)
        for job in waiting:
            chosen = _choice(
                _options(instance, job, int(gang[job.id]), now, reservations, prices),
                following,
                last_chance=bool(misses[job.id] + 1 >= MISSES),
            )
            misses[job.id] += chosen is None
            if chosen is not None:
                reservations.take(chosen)
                options[job.id] = chosen
        waiting[:] = [job for job in waiting if job.id not in options]
        return bool(waiting)

    in_batches(
        instance.arrivals(), lambda job, now: job.release_time <= now + ROUNDING, waiting.append,
        hold, first=first_batch, origin=float(instance.release_time.min()),
    )  # fmt: skip
    return _schedule(instance, rng, options)


def _options(
    instance: Instance,
    job: Job,
    gang: int,
    now: float,
    reservations: _Reservations,
    prices: WorkerCosts,
) -> list[_Option]:
    found = []
    if math.isfinite(job.upload_delay_cloud):
        start = now + job.upload_delay_cloud
        cost = prices.cloud * job.num_chunks * job.chunk_time_fast
        found.append(_Option(cost, start + job.chunk_time_fast, True, start))
    if gang > 0:
        delay = job.upload_delay_edge[instance.worker_server[job.eligible_workers]]
        found.append(reservations.gang(now, job, gang, delay))
    return found


def _choice(options: list[_Option], following: float, *, last_chance: bool) -> _Option | None:
    """The cheapest option that ends before the next batch; on the last chance, some option."""
    in_time = [option for option in options if option.end <= following + ROUNDING]
    if in_time:
        return min(in_time)
    if not last_chance:
        return None
    return max(options, key=lambda option: option.in_cloud)


def _schedule(
    instance: Instance, rng: np.random.Generator, options: dict[int, _Option]
) -> Schedule:
    jobs = np.arange(instance.jobs)
    ordered = [options[j] for j in range(instance.jobs)]
    together = np.array([option.in_cloud for option in ordered])
    places = [
        np.full(instance.num_chunks[j], CLOUD) if option.in_cloud else np.array(option.workers)
        for j, option in enumerate(ordered)
    ]
    job = np.repeat(jobs, [len(place) for place in places])
    start = np.array([option.start for option in ordered])[job]
    end = np.array([option.end for option in ordered])[job]
    worker = np.concatenate(places)
    services = serve(instance, rng, job, start, end, together)
    order = np.lexsort((worker, job, start))
    return Schedule(
        job[order],
        np.full(len(job), NO_CHUNK),
        worker[order],
        start[order],
        end[order],
        services.job,
        services.parameter_server,
        services.start,
        services.end,
        together,
    )
