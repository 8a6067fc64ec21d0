"""What gang schedulers have in common: jobs that run on all their workers at once, at the edge.

A job holds ``min(g_j, D_j, eligible edge workers)`` workers, all or none, and may be suspended and
moved as a whole. When it is placed on servers without its data it loads them first, holding its
workers; only servers of its last placement keep them. Suspending costs nothing else. A job that
no edge worker may serve runs in the cloud.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from formulations.preemptive.classes import count_alike
from formulations.preemptive.instance import CLOUD, ROUNDING, Floats, Instance, Integers
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from heuristics.preemptive.parameter_servers import Services, assign, running_intervals
from optsched.errors import InputError
from optsched.instances.arrays import ranges

GangMode = Literal["fluid", "rounds"]
"""fluid: the work of all chunks is shared evenly by the gang; rounds: chunks are trained whole,
one per worker and round, and the last round may leave workers without a chunk."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GangRun(Schedule):
    """The schedule of a gang scheduler; runs do not name chunks, as these move with their job."""

    gang: Integers
    """Workers each job holds while it runs, 0 in the cloud; shape (jobs,)."""
    suspensions: Integers
    """How often each job was suspended; shape (jobs,)."""
    loading: Floats
    """Time each job held workers and loaded data, first upload included; shape (jobs,), slots."""
    held: Floats
    """Time for which each job held edge workers, loading or training; shape (jobs,), slots."""

    @property
    def job_preemptions(self) -> int:
        """Suspended jobs, each time one."""
        return int(self.suspensions.sum())

    @property
    def worker_preemptions(self) -> int:
        """Workers taken from suspended jobs: comparable with preemption of single workers."""
        return int(self.suspensions @ self.gang)


def run_gang_scheduler(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: GangMode,
    by_service: bool = False,
    thresholds: ArrayLike = (),
    promote: float = np.inf,
) -> GangRun:
    """Run SRTF or Tiresias-L; nothing is decided on a job before it has arrived.

    Args:
        instance: storage limits are not looked at.
        rng: never drawn from.
        mode: how the chunks of a job share its gang.
        by_service: least attained service by queues; otherwise least remaining time.
        thresholds: of the queues, worker-slots, ascending.
        promote: return to the first queue after waiting so many times the time held.

    Raises:
        InputError: ``mode`` is not known.
    """
    if mode not in get_args(GangMode):
        raise InputError.of("gang_mode", mode, "one of " + ", ".join(get_args(GangMode)))
    from heuristics.preemptive.gang_loop import Gangs, Ranking, State, run_gangs  # compiles

    # one memory layout, so that the loop is compiled once
    floats = partial(np.array, dtype=np.float64, order="C")
    integers = partial(np.array, dtype=np.int64, order="C")

    groups = count_alike(
        np.zeros(instance.workers, dtype=np.int64)
        if instance.explicit_worker_eligible is None
        else np.arange(instance.workers),  # a group each, lest later jobs split earlier groups
        instance.worker_type,
        instance.explicit_worker_eligible,
        instance.job_worker_type,
    )
    gang = gang_sizes(instance)
    arrival = np.lexsort((np.arange(instance.jobs), instance.release_time))
    arrival = arrival[gang[arrival] > 0]
    duration = running_time(instance, gang, mode)
    eligible_job, eligible_group = np.nonzero(groups.eligible[arrival])
    gangs = Gangs(
        release=floats(instance.release_time[arrival]),
        size=integers(gang[arrival]),
        duration=floats(duration[arrival]),
        delay=floats(instance.upload_delay_edge[arrival]),
        server=integers(instance.worker_server),
        group=integers(groups.of_worker),
        first_member=integers(np.concatenate([[0], np.cumsum(groups.size)])),
        member=integers(np.argsort(groups.of_worker, kind="stable")),
        first_eligible=integers(np.searchsorted(eligible_job, np.arange(len(arrival) + 1))),
        eligible=integers(eligible_group),
    )
    ranking = Ranking(by_service, floats(thresholds), promote)
    state = State.before(len(arrival), instance.workers, int(gang.max(initial=1)))
    placed, moments, workers = run_gangs(gangs, ranking, state)
    begin, ready, end = moments.T

    suspensions = np.zeros(instance.jobs, dtype=np.int64)
    suspensions[arrival] = state.suspensions
    job = arrival[placed]
    loading, held = np.zeros(instance.jobs), np.zeros(instance.jobs)
    np.add.at(loading, job, ready - begin)
    np.add.at(held, job, end - begin)
    rows = _training_rows(instance, gang, mode, job, ready, end, workers)
    return _assembled(instance, rng, rows, gang, suspensions, loading, held)


def gang_sizes(instance: Instance) -> Integers:
    """Workers each job holds: min(g_j, D_j, eligible edge workers), shape (jobs,)."""
    classes = instance.worker_classes
    eligible = classes.eligible @ classes.size
    return np.minimum(np.minimum(instance.gang_size, instance.num_chunks), eligible)


def running_time(instance: Instance, gang: Integers, mode: GangMode) -> Floats:
    """How long each job trains on its gang, shape (jobs,), slots; infinite without a gang."""
    with np.errstate(divide="ignore"):
        rounds = instance.num_chunks / gang
    if mode == "rounds":
        rounds = np.ceil(rounds)
    return np.asarray(rounds * instance.chunk_time_slow)


_Rows = tuple[Integers, Integers, Floats, Floats]  # job, worker, start, end


def _training_rows(
    instance: Instance,
    gang: Integers,
    mode: GangMode,
    job: Integers,
    ready: Floats,
    end: Floats,
    workers: Integers,
) -> _Rows:
    """Who trains when: placements without loading, and without workers that have no chunk left."""
    placement, _ = ranges(np.zeros(len(job)), gang[job])
    of = job[placement]
    start, stop = ready[placement], end[placement].copy()
    if mode == "rounds":
        order = np.lexsort((end, job))
        trained = np.cumsum((end - ready)[order])
        before = trained - (end - ready)[order]
        opens = np.flatnonzero(np.diff(job[order], prepend=-1))
        before -= np.repeat(before[opens], np.diff(np.append(opens, len(job))))
        done = np.empty(len(job))
        done[order] = before  # time trained before each placement
        last, rest = np.divmod(instance.num_chunks - 1, np.maximum(gang, 1))
        member = np.arange(len(placement)) - np.repeat(np.cumsum(gang[job]) - gang[job], gang[job])
        spare = member > rest[of]
        full = start + last[of] * instance.chunk_time_slow[of] - done[placement]
        stop[spare] = np.minimum(stop, full)[spare]
    kept = stop - start > ROUNDING
    return of[kept], workers[kept], start[kept], stop[kept]


def _assembled(
    instance: Instance,
    rng: np.random.Generator,
    edge: _Rows,
    gang: Integers,
    suspensions: Integers,
    loading: Floats,
    held: Floats,
) -> GangRun:
    """Add the jobs in the cloud and the parameter servers."""
    in_cloud = np.flatnonzero(gang == 0)
    delay = instance.upload_delay_cloud[in_cloud]
    loading[in_cloud] = delay
    job = np.repeat(in_cloud, instance.num_chunks[in_cloud])
    begin = (instance.release_time + instance.upload_delay_cloud)[job]
    run_job, worker, start, end = (
        np.concatenate(pair)
        for pair in zip(
            edge,
            (job, np.full(len(job), CLOUD), begin, begin + instance.chunk_time_fast[job]),
            strict=True,
        )
    )
    together = gang == 0
    services = serve(instance, rng, run_job, start, end, together)
    order = np.lexsort((worker, run_job, start))
    return GangRun(
        run_job[order],
        np.full(len(order), NO_CHUNK),
        worker[order],
        start[order],
        end[order],
        services.job,
        services.parameter_server,
        services.start,
        services.end,
        together,
        gang=gang,
        suspensions=suspensions,
        loading=loading,
        held=held,
    )


def serve(
    instance: Instance,
    rng: np.random.Generator,
    job: Integers,
    start: Floats,
    end: Floats,
    together: ArrayLike,
) -> Services:
    """A parameter server for every job while it runs: a free one at the edge, or the cloud's."""
    return assign(
        running_intervals(job, start, end),
        together=np.asarray(together),
        eligible=[instance.job(j).eligible_parameter_servers for j in range(instance.jobs)],
        parameter_servers=instance.parameter_servers,
        policy="lowest_index",
        rng=rng,
    )
