"""An offline schedule guided by prices, and what they prove of the optimum.

Jobs whose cheapest way at the best prices found lies below the fast cloud go to the edge, shortest
remaining work first. Work changes workers, as (2) allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.check import cost
from formulations.preemptive.decode import cloud_services, fits_slots, refuse_too_many_chunks
from formulations.preemptive.exact.edge_choice import EdgeChoice, Times
from formulations.preemptive.exact.lagrangian import STEPS, PriceProof, price
from formulations.preemptive.instance import CLOUD, Booleans, Floats, Instance
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from optsched.parallel.local import Processes
from optsched.problem.methods import LIMITS, ExactMethod
from optsched.solvers.answer import Answer
from optsched.solvers.deadline import Deadline
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status


def price_guided(
    instance: Instance, options: Options, *, slotted: bool | None = None, steps: int = STEPS
) -> Answer:
    """Bound and schedule at the size of a whole trace.

    Args:
        instance: any.
        options: ``time_limit`` and ``stop`` are for the search for prices; ``threads`` are
            processes, which are not stopped on their way.
        slotted: problem (2) as it stands, in whole slots; otherwise in continuous time. None: in
            slots if they fit the jobs.
        steps: improvements of the prices.
    """
    refuse_too_many_chunks(instance)
    slotted = fits_slots(instance) if slotted is None else slotted
    proof = price(
        instance,
        slotted=slotted,
        steps=steps,
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
    honours=LIMITS | {"threads"},
)  # fmt: skip


def guided_schedule(
    instance: Instance, proof: PriceProof, *, clock: Deadline | None = None, seed: int = 0
) -> Schedule:
    """The schedule that the prices guide.

    Args:
        instance: any.
        proof: its prices.
        clock: for exchanges that make the choice of jobs better; None: there are none.
        seed: of these.
    """
    times, rng = Times.of(instance, proof.slotted), np.random.default_rng(seed)
    together, rest = np.ones(instance.jobs, dtype=bool), np.zeros(instance.jobs)
    parts, waiting = [], instance.jobs
    for market, priced in zip(proof.markets, proof.priced, strict=True):
        edge = EdgeChoice(instance, market, times)
        served = edge.settle(market.jobs[np.isfinite(priced.age)])
        if clock is not None:
            share = Deadline(clock.left * len(market.jobs) / waiting, clock.stop)
            served = edge.improved(served, share, rng)
        waiting -= len(market.jobs)
        together[served.jobs], rest[served.jobs] = False, served.rest
        parts.append(served.runs)
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
