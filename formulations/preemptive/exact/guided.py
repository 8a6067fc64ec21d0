"""An offline schedule guided by prices, and what they prove of the optimum.

Jobs whose cheapest way at the best prices found lies below the fast cloud go to the edge, shortest
remaining work first. Those that would end there no sooner than in the fast cloud go to the cloud.
Work changes workers, as (2) allows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from formulations.preemptive.check import cost
from formulations.preemptive.exact.lagrangian import STEPS, PriceProof, price
from formulations.preemptive.exact.shortest_first import shortest_first
from formulations.preemptive.instance import CLOUD, ROUNDING, Booleans, Floats, Instance
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.time_indexed.decode import (
    cloud_services,
    fits_slots,
    refuse_too_many_chunks,
)
from formulations.preemptive.time_indexed.grid import fast_completion
from optsched.parallel.local import Processes
from optsched.problem.methods import LIMITS, ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status


class Times(NamedTuple):
    """When jobs may run and end, in slots; each of shape (jobs,)."""

    begin: Floats
    """When each may run anywhere."""
    cloud: Floats
    """When each may run in the cloud."""
    fast_end: Floats
    """When each ends whole in the cloud."""
    work: Floats
    """Worker-slots with communication."""
    slotted: bool
    """Whether all times are in whole slots."""

    @classmethod
    def of(cls, instance: Instance, slotted: bool) -> Times:
        """Return the times of an instance."""
        begin = instance.release_time
        cloud = begin + instance.upload_delay_cloud
        if slotted:
            begin, cloud = np.ceil(begin - ROUNDING), np.ceil(cloud - ROUNDING)
            work = instance.work_slow.astype(np.float64)
            return cls(begin, cloud, fast_completion(instance), work, slotted)
        work = (instance.num_chunks * instance.chunk_time_slow).astype(np.float64)
        return cls(begin, cloud, cloud + instance.chunk_time_fast, work, slotted)


class PriceParams(BaseModel, frozen=True, extra="forbid"):
    """Parameters of the search for prices."""

    steps: int = Field(STEPS, ge=1, description="evaluations of the Lagrangian bound at most")


def price_guided(
    instance: Instance,
    options: Options,
    *,
    slotted: bool | None = None,
    params: PriceParams,
) -> Answer:
    """Bound and schedule at the size of a whole trace.

    Args:
        instance: any.
        options: ``time_limit`` and ``stop`` are for the search for prices; ``threads`` are
            processes, which are not stopped on their way.
        slotted: problem (2) as it stands, in whole slots; otherwise in continuous time. None: in
            slots if they fit the jobs.
        params: of the search for prices.
    """
    refuse_too_many_chunks(instance)
    slotted = fits_slots(instance) if slotted is None else slotted
    proof = price(
        instance,
        slotted=slotted,
        steps=params.steps,
        time_limit=options.time_limit,
        stop=options.stop,
        executor=Processes(options.threads) if options.threads > 1 else None,
    )
    bound, schedule = proof.bound(instance), guided_schedule(instance, proof)
    if instance.horizon is not None and schedule.run_end.max() > instance.horizon + 1:
        message = f"the schedule that the prices guide ends after the horizon {instance.horizon}"
        return Answer(Solution(Status.NO_SOLUTION, bound=bound, message=message))
    value = cost(instance, schedule)
    status = Status.OPTIMAL if value <= bound else Status.FEASIBLE
    if status is Status.FEASIBLE and options.stop is not None and options.stop.is_set():
        status = Status.INTERRUPTED
    solution = Solution(status, objective=value, bound=bound)
    return Answer(solution, schedule, {"slotted": slotted})


PRICE_GUIDED = ExactMethod(
    "price_guided", price_guided, "problem (2), Lagrangian relaxation of (2d)",
    "total completion time at the size of a whole trace: a bound by prices of worker time and the "
    "schedule they guide, shortest remaining work first, work may migrate",
    supports=LIMITS | {"threads"}, params=PriceParams,
)  # fmt: skip


def guided_schedule(instance: Instance, proof: PriceProof) -> Schedule:
    """Return the schedule that the prices guide."""
    times = Times.of(instance, proof.slotted)
    together, rest = np.ones(instance.jobs, dtype=bool), np.zeros(instance.jobs)
    parts = []
    for component, priced in zip(proof.components, proof.priced, strict=True):
        chosen = component.jobs[np.isfinite(priced.age)]
        chosen = chosen[np.argsort(times.begin[chosen], kind="stable")]
        end, left, runs = shortest_first(
            chosen,
            instance.release_time[chosen],
            times.begin[chosen],
            instance.num_chunks[chosen],
            times.work[chosen],
            instance.upload_delay_edge,
            component.may[np.searchsorted(component.jobs, chosen)],
            component.group,
            instance.worker_server[component.workers],
            times.cloud[chosen],
            times.fast_end[chosen],
            times.slotted,
        )
        sooner = end < times.fast_end[chosen]
        runs = runs[sooner[runs["job"]]]
        runs["job"], runs["worker"] = chosen[runs["job"]], component.workers[runs["worker"]]
        together[chosen[sooner]], rest[chosen[sooner]] = False, left[sooner]
        parts.append(runs)
    return _schedule(instance, np.concatenate(parts), together, times, rest)


def _schedule(
    instance: Instance,
    edge: NDArray[Any],
    together: Booleans,
    times: Times,
    rest: Floats,
) -> Schedule:
    """Runs on edge workers, and in the cloud a worker per chunk: whole jobs, or what is left."""
    slotted, cloud = times.slotted, times.cloud
    work = instance.work_fast if slotted else instance.num_chunks * instance.chunk_time_fast
    work = np.where(together, work, rest)
    job = np.flatnonzero(work > 0)
    chunks = instance.num_chunks[job]
    length = np.repeat(work[job] / chunks, chunks)
    if slotted:  # some chunks a slot longer
        lane = np.arange(len(length)) - np.repeat(np.cumsum(chunks) - chunks, chunks)
        length = np.floor(length) + (lane < np.repeat(work[job] % chunks, chunks))
    some = length > 0
    run_job = np.repeat(job, chunks)[some]
    start = cloud[run_job]
    end = start + length[some]
    longest = cloud[job] + (np.ceil(work[job] / chunks) if slotted else work[job] / chunks)
    away = len(run_job)
    rows = np.column_stack([edge["job"], np.zeros((len(edge), 2)), edge["start"], edge["end"]])
    rows = np.concatenate(
        [rows, np.column_stack([job, np.zeros((len(job), 2)), cloud[job], longest])]
    )
    services = cloud_services(rows)
    return Schedule(
        run_job=np.concatenate([edge["job"], run_job]),
        run_chunk=np.full(len(edge) + away, NO_CHUNK),
        run_worker=np.concatenate([edge["worker"], np.full(away, CLOUD)]),
        run_start=np.concatenate([edge["start"], start]),
        run_end=np.concatenate([edge["end"], end]),
        service_job=services[:, 0].astype(np.int64),
        service_ps=np.full(len(services), CLOUD),
        service_start=services[:, 2].copy(),
        service_end=services[:, 3].copy(),
        together=together,
    )
