"""A_online: dispatch on arrival, preempt by density, never look ahead (Algorithm 1).

The scheduler is made from the system alone and is handed one job at a time, so that it cannot
know the future. Time is continuous and event driven; on instances whose release times, delays
and chunk times are whole slots the result is a slot schedule.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from formulations.preemptive.instance import Instance, Integers, Job
from heuristics.preemptive.dispatch import Dispatch, greedy
from heuristics.preemptive.engine.workers import Runs, WorkerPool
from heuristics.preemptive.online_run import Decided, Decisions, OnlineRun, assemble
from heuristics.preemptive.printed_timetable import PrintedTimetable
from heuristics.preemptive.rules import Margin, PendingRule, Priority, PsPolicy, Rules
from optsched.errors import InputError
from optsched.problem.calls import NonNegative
from optsched.problem.progress import report

TOLD = 500
"""Jobs after which progress is told anew."""


@dataclass(frozen=True)
class System:
    """What an online algorithm knows before the first job."""

    worker_server: Integers
    """Edge server of each edge worker, shape (workers,)."""
    parameter_servers: int
    """Parameter servers at the edge."""

    @classmethod
    def of(cls, instance: Instance) -> System:
        """The system of an instance, without its jobs."""
        return cls(instance.worker_server, instance.parameter_servers)


class OnlineScheduler:
    """A_online on one system: ``arrive`` for each job as it comes, then ``finish``.

    Args:
        system: servers, workers and parameter servers.
        rules: the variant.
        rng: drawn from by the random choice of parameter servers only.
    """

    def __init__(self, system: System, rules: Rules, rng: np.random.Generator) -> None:
        self._system = system
        self._rules = rules
        self._rng = rng
        workers = len(system.worker_server)
        self._pool: WorkerPool | PrintedTimetable = (
            PrintedTimetable(workers)
            if rules.printed
            else WorkerPool(workers, residual=rules.priority == "residual")
        )
        self._decisions = Decisions()

    def arrive(self, job: Job) -> Dispatch:
        """Dispatch every chunk of a job, irrevocably.

        Raises:
            InputError: the job was released before one that has already arrived, or may run
                neither in the cloud nor at the edge.
        """
        if job.release_time < self._decisions.now:
            raise InputError.of(
                f"release_time[{job.id}]", job.release_time, "jobs must arrive in order of release"
            )
        dispatch = self._dispatch(job)
        self._decisions.add(job, dispatch)
        self._pool.send(
            job,
            dispatch.worker,
            job.upload_delay_edge[self._system.worker_server],
            chunk_time=job.chunk_time_slow / self._rules.speed,
        )
        return dispatch

    def _dispatch(self, job: Job) -> Dispatch:
        """The place of every chunk (Algorithm 2)."""
        return greedy(job, self._pool, self._system.worker_server, self._rules)

    def finish(self) -> OnlineRun:
        """The run if no other job arrives; more may be handed over afterwards.

        Raises:
            InputError: the jobs that arrived are not numbered 0, 1, ... in some order.
        """
        return copy(self).close()

    def close(self) -> OnlineRun:
        """The run, without what another job would need; as ``finish``, but for good."""
        return assemble(
            self._decided(),
            self._ran(),
            rules=self._rules,
            parameter_servers=self._system.parameter_servers,
            rng=self._rng,
        )

    def _decided(self) -> Decided:
        """What was decided, which is let go here."""
        decided = self._decisions.decided()
        del self._decisions
        return decided

    def _ran(self) -> Runs:
        """What the workers did, who are let go here."""
        runs = self._pool.finish()
        del self._pool
        return runs


def _run(instance: Instance, rules: Rules, rng: np.random.Generator) -> OnlineRun:
    scheduler = OnlineScheduler(System.of(instance), rules, rng)
    for arrived, job in enumerate(instance.arrivals(), 1):
        scheduler.arrive(job)
        if arrived % TOLD == 0:
            report(arrived, instance.jobs)
    return scheduler.close()


def a_online(
    instance: Instance,
    rng: np.random.Generator,
    *,
    priority: Priority = "static",
    pending_rule: PendingRule = "arrived",
    epsilon: NonNegative = 0.0,
    edge_only: bool = False,
    no_spill: bool = False,
    ps_policy: PsPolicy = "lowest_index",
    printed: bool = False,
) -> OnlineRun:
    """A_online (Algorithms 1 to 5); the options are the fields of ``Rules``.

    Args:
        instance: storage limits are not looked at.
        rng: drawn from by ``ps_policy="random"`` and ``printed`` only.
        priority: which chunk a worker runs.
        pending_rule: how a place is priced.
        epsilon: speed augmentation, >= 0.
        edge_only: leave the cloud to jobs that no edge worker may serve.
        no_spill: never split a job between edge and cloud.
        ps_policy: which free parameter server is taken.
        printed: Algorithms 2, 4 and 5 line by line, errors included (see ``dispatch``,
            ``printed_timetable`` and ``parameter_servers``): prices are not those of Lemma 4,
            workers train two chunks at once, and parameter servers are missing or shared, which
            the checker says.

    Raises:
        InputError: an option out of range.
    """
    rules = Rules(priority, pending_rule, epsilon, edge_only, no_spill, ps_policy, printed)
    return _run(instance, rules, rng)


def a_online_e(
    instance: Instance,
    rng: np.random.Generator,
    *,
    priority: Priority = "static",
    pending_rule: PendingRule = "arrived",
    epsilon: NonNegative = 0.0,
    ps_policy: PsPolicy = "lowest_index",
) -> OnlineRun:
    """A_online-E: edge workers only.

    Jobs that no edge worker may serve go to the cloud; they are those with ``together`` set.
    Arguments and errors are the same as of ``a_online``.
    """
    rules = Rules(priority, pending_rule, epsilon, edge_only=True, ps_policy=ps_policy)
    return _run(instance, rules, rng)


def a_online_ns(
    instance: Instance,
    rng: np.random.Generator,
    *,
    priority: Priority = "static",
    pending_rule: PendingRule = "arrived",
    epsilon: NonNegative = 0.0,
    edge_margin: Margin = 1.0,
    ps_policy: PsPolicy = "lowest_index",
) -> OnlineRun:
    """A_online-NS, beyond the paper: a job goes wholly to the edge or wholly to the cloud.

    Places at the edge are compared with the fast cloud throughout; a job of which any chunk
    would go to the cloud goes there whole. Errors are the same as of ``a_online``.

    Args:
        instance: storage limits are not looked at.
        rng: drawn from by ``ps_policy="random"`` only.
        priority: which chunk a worker runs.
        pending_rule: how a place is priced.
        epsilon: speed augmentation, >= 0.
        edge_margin: share of the cloud's price, in (0, 1], up to which the edge is taken: later
            jobs can delay a chunk at the edge, and none in the cloud.
        ps_policy: which free parameter server is taken.
    """
    rules = Rules(
        priority,
        pending_rule,
        epsilon,
        no_spill=True,
        edge_margin=edge_margin,
        ps_policy=ps_policy,
    )
    return _run(instance, rules, rng)
