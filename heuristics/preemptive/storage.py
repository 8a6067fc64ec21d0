"""A_online where servers have room for so many chunks only (Section VI).

A chunk reserves storage on its server when its job arrives, and holds it until the job completes
(or until the chunk itself is done). What is held only falls between arrivals, so it is enough to
look at each arrival. A server without room is no place to go; the cloud has room for all.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from formulations.preemptive.check_storage import StorageRelease, refuse_unknown_release
from formulations.preemptive.instance import CLOUD, Floats, Instance, Integers, Job
from heuristics.preemptive.a_online import OnlineScheduler, System
from heuristics.preemptive.dispatch import Dispatch, all_in_cloud, greedy
from heuristics.preemptive.engine.ties import TIE
from heuristics.preemptive.online_run import OnlineRun
from heuristics.preemptive.rules import PendingRule, Priority, PsPolicy, Rules
from optsched.errors import InputError
from optsched.problem.calls import NonNegative

_Owner = tuple[int, int]  # job, and chunk or -1 for all of them


class StorageLedger:
    """Who holds how much storage on which edge server.

    A chunk can only be done later than planned, never sooner, as more jobs arrive. So workers are
    asked only when something planned to be done is wanted: its storage, on an arrival.

    Args:
        capacity: U_s, shape (edge servers,), GB.
        release: until when a chunk holds its storage.
    """

    def __init__(self, capacity: Floats, release: StorageRelease) -> None:
        refuse_unknown_release(release)
        self._capacity = capacity
        self._held = np.zeros(len(capacity))
        self._by_job = release == "job"
        self._amount: dict[_Owner, dict[int, float]] = {}
        self._planned: list[tuple[float, _Owner]] = []  # no later than the storage falls free

    def room(self, size: float) -> Integers:
        """Chunks of a size (GB) that still fit on each server; as many as one likes of size 0."""
        if size == 0:
            return np.full(len(self._capacity), np.iinfo(np.int64).max)
        free = self._capacity - self._held
        most = np.minimum(np.floor(free / size * (1 + TIE) + TIE), 2.0**62)
        return np.maximum(most, 0).astype(np.int64)

    def reserve(self, job: Job, server: Integers, soonest: float) -> None:
        """Hold storage for the chunks of a job.

        Args:
            job: whose chunks they are.
            server: of each chunk; negative where it is in the cloud.
            soonest: before which none of it is done, slots.
        """
        if job.chunk_storage == 0:
            return
        for chunk in np.flatnonzero(server >= 0).tolist():
            owner = (job.id, -1 if self._by_job else chunk)
            amount = self._amount.setdefault(owner, {})
            if not amount:
                heappush(self._planned, (soonest, owner))
            s = int(server[chunk])
            amount[s] = amount.get(s, 0.0) + job.chunk_storage
            self._held[s] += job.chunk_storage

    def is_due(self, now: float) -> bool:
        """Whether some storage may have fallen free by now."""
        return bool(self._planned) and self._planned[0][0] <= now * (1 + TIE)

    def release(self, now: float, completion: dict[_Owner, float]) -> None:
        """Free what belongs to jobs or chunks that are done by now.

        Args:
            now: slots.
            completion: planned with all that is known now, of each chunk, by (job, chunk), and
                of each job, by (job, -1).
        """
        while self.is_due(now):
            _, owner = heappop(self._planned)
            end = completion[owner]
            if end > now * (1 + TIE):
                heappush(self._planned, (end, owner))
                continue
            for s, amount in self._amount.pop(owner).items():
                self._held[s] -= amount


class StorageScheduler(OnlineScheduler):
    """A_online under storage limits: ``arrive`` for each job as it comes, then ``finish``.

    Args:
        system: servers, workers and parameter servers.
        capacity: U_s, shape (edge servers,), GB.
        rules: the variant.
        release: until when a chunk holds its storage.
        rng: drawn from by the random choice of parameter servers only.
    """

    def __init__(
        self,
        system: System,
        capacity: Floats,
        rules: Rules,
        release: StorageRelease,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(system, rules, rng)
        self._ledger = StorageLedger(capacity, release)
        self._cloud_end: dict[int, float] = {}

    def arrive(self, job: Job) -> Dispatch:
        """Dispatch every chunk of a job, irrevocably.

        Raises:
            InputError: as of ``OnlineScheduler``, or the job fits neither at the edge nor, where
                that is allowed, in the cloud.
        """
        dispatch = super().arrive(job)
        duration = job.chunk_time_slow / self._rules.speed
        edge = dispatch.worker != CLOUD
        if edge.any() and not edge.all():
            self._cloud_end[job.id] = job.release_time + job.upload_delay_cloud + duration
        server_of = np.append(self._system.worker_server, CLOUD)
        server = np.where(edge, server_of[dispatch.worker], CLOUD)
        self._ledger.reserve(job, server, job.release_time + duration)
        return dispatch

    def _dispatch(self, job: Job) -> Dispatch:
        """The place of every chunk on what is free when the job arrives."""
        if self._ledger.is_due(job.release_time):
            self._ledger.release(job.release_time, self._completions())
        room = self._ledger.room(job.chunk_storage)
        server_of = self._system.worker_server
        workers = job.eligible_workers
        open_ = workers[room[server_of[workers]] > 0]
        if not len(open_):
            self._refuse_cloud(job, job.num_chunks)
            return all_in_cloud(job, self._rules)
        free = greedy(replace(job, eligible_workers=open_), self._pool, server_of, self._rules)
        edge = free.worker[free.worker != CLOUD]
        if np.all(np.bincount(server_of[edge], minlength=len(room)) <= room):
            return free
        return self._fill(job, room, open_)

    def _fill(self, job: Job, room: Integers, open_: Integers) -> Dispatch:
        """Algorithm 2 where a server drops out once it is full.

        What a server's workers cost depends on the chunks sent there alone. So each server is
        filled by itself, as far as it has room, and the cheapest next place of all is taken.
        """
        server_of, rules = self._system.worker_server, self._rules
        alone = replace(job, chunk_time_fast=job.chunk_time_slow)  # compare with the slow cloud
        offers: list[list[tuple[float, int]]] = []
        for s in np.unique(server_of[open_]).tolist():
            mine = open_[server_of[open_] == s]
            one = greedy(replace(alone, eligible_workers=mine), self._pool, server_of, rules)
            worker = one.worker[one.worker != CLOUD][: room[s]]
            level = one.level[: len(worker)]
            offers.append(list(zip(level.tolist(), worker.tolist(), strict=True)))
        chosen: list[tuple[float, int]] = []
        heads = [offer for offer in offers if offer]
        while heads and len(chosen) < job.num_chunks:
            lowest = min(offer[0][0] for offer in heads)
            close = [offer for offer in heads if offer[0][0] <= lowest * (1 + TIE)]
            best = min(close, key=lambda offer: offer[0][1])
            chosen.append(best.pop(0))
            heads = [offer for offer in heads if offer]
        spilled = job.num_chunks - len(chosen)
        fast = job.upload_delay_cloud + job.chunk_time_fast / rules.speed
        slow = job.upload_delay_cloud + job.chunk_time_slow / rules.speed
        if spilled:
            self._refuse_cloud(job, spilled)
        if not chosen or (not rules.edge_only and chosen[0][0] > fast * (1 + TIE)):
            return all_in_cloud(job, rules)
        level, worker = np.array(chosen).T
        return Dispatch(
            np.concatenate([worker.astype(np.int64), np.full(spilled, CLOUD)]),
            np.concatenate([level, np.full(spilled, slow)]),
            together=False,
        )

    def _refuse_cloud(self, job: Job, chunks: int) -> None:
        """Whether chunks that find no room may go to the cloud."""
        barred = np.isinf(job.upload_delay_cloud)
        if barred or (self._rules.edge_only and len(job.eligible_workers)):
            raise InputError.of(
                "storage_capacity",
                f"no room for {chunks} chunks of job {job.id} at {job.release_time:g}",
                "room at the edge for every chunk that may not go to the cloud",
            )

    def _completions(self) -> dict[_Owner, float]:
        """When each chunk, and each job, at the edge is done if nothing else arrives."""
        runs = self._pool.finish()
        last = runs.finished
        end: dict[_Owner, float] = {}
        columns = (runs.job[last], runs.chunk[last], runs.end[last])
        for job, chunk, until in zip(*(column.tolist() for column in columns), strict=True):
            end[job, chunk] = until
            whole = end.get((job, -1), self._cloud_end.get(job, 0.0))
            end[job, -1] = max(whole, until)
        return end


def a_online_storage(
    instance: Instance,
    rng: np.random.Generator,
    *,
    priority: Priority = "static",
    pending_rule: PendingRule = "arrived",
    epsilon: NonNegative = 0.0,
    edge_only: bool = False,
    ps_policy: PsPolicy = "lowest_index",
    storage_release: StorageRelease = "job",
) -> OnlineRun:
    """A_online where a chunk goes only to a server that has room for it (Section VI).

    Args:
        instance: with chunk sizes and capacities.
        rng: drawn from by ``ps_policy="random"`` only.
        priority: which chunk a worker runs.
        pending_rule: how a place is priced.
        epsilon: speed augmentation, >= 0.
        edge_only: leave the cloud to jobs that no edge worker may serve.
        ps_policy: which free parameter server is taken.
        storage_release: until when a chunk holds its storage.

    Raises:
        InputError: an option out of range, or a job that finds no room and may not use the cloud.
    """
    rules = Rules(priority, pending_rule, epsilon, edge_only, ps_policy=ps_policy)
    scheduler = StorageScheduler(
        System.of(instance), instance.storage_capacity, rules, storage_release, rng
    )
    for job in instance.arrivals():
        scheduler.arrive(job)
    return scheduler.close()
