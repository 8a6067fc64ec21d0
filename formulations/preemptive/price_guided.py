"""An offline schedule guided by prices, and what they prove of the optimum (sheet, section 11).

Jobs whose cheapest way at the best prices found lies below the fast cloud go to the edge, shortest
remaining work first; those that would end there no sooner than in the fast cloud go there, and the
others run again. Work changes workers, as (2) allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.preemptive.check import cost
from formulations.preemptive.decode import cloud_services
from formulations.preemptive.grid import fast_completion
from formulations.preemptive.instance import CLOUD, ROUNDING, Booleans, Floats, Instance, Integers
from formulations.preemptive.markets import Market
from formulations.preemptive.prices import STEPS, PriceProof, price
from formulations.preemptive.schedule import NO_CHUNK, Schedule
from formulations.preemptive.shortest_first import shortest_first
from optsched.methods import Answer, ExactMethod
from optsched.parallel import Processes
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

ROUNDS = 10
"""Runs of shortest remaining work first, at most."""


SLOTS_ADD = 1.1
"""Factor by which whole slots may raise the work of half of the jobs; where they raise it more,
they are too long for the jobs, and time is continuous."""


def fits_slots(instance: Instance) -> bool:
    """Whether whole slots are a fair measure of the jobs."""
    work = instance.num_chunks * instance.chunk_time_slow
    return bool(np.median(instance.work_slow / work) <= SLOTS_ADD)


def price_guided(
    instance: Instance, options: Options, *, slotted: bool | None = None, steps: int = STEPS
) -> Answer:
    """Bound and schedule at the size of a whole trace.

    Args:
        instance: any.
        options: ``time_limit`` is for the search for prices; ``threads`` are processes.
        slotted: problem (2) as it stands, in whole slots; otherwise in continuous time. None: in
            slots if they fit the jobs.
        steps: improvements of the prices.
    """
    slotted = fits_slots(instance) if slotted is None else slotted
    proof = price(
        instance,
        slotted=slotted,
        steps=steps,
        time_limit=options.time_limit,
        executor=Processes(options.threads) if options.threads > 1 else None,
    )
    bound, schedule = proof.bound(instance), guided_schedule(instance, proof)
    if instance.horizon is not None and schedule.run_end.max() > instance.horizon + 1:
        message = f"the schedule that the prices guide ends after the horizon {instance.horizon}"
        return Answer(Solution(Status.NO_SOLUTION, bound=bound, message=message))
    value = cost(instance, schedule)
    status = Status.OPTIMAL if value <= bound else Status.FEASIBLE
    solution = Solution(status, objective=value, bound=bound)
    return Answer(solution, schedule, {"slotted": slotted})


PRICE_GUIDED = ExactMethod(
    "price_guided", price_guided, "problem (2), Lagrangian relaxation of (2d)",
    "total completion time at the size of a whole trace: a bound by prices of worker time and the "
    "schedule they guide, shortest remaining work first, work may migrate",
    honours=frozenset({"time_limit", "threads"}),
)  # fmt: skip


def guided_schedule(instance: Instance, proof: PriceProof) -> Schedule:
    """The schedule that the prices guide."""
    slotted, begin = proof.slotted, instance.release_time
    cloud = begin + instance.upload_delay_cloud
    fast_end = cloud + instance.chunk_time_fast
    if slotted:
        begin, cloud = np.ceil(begin - ROUNDING), np.ceil(cloud - ROUNDING)
        fast_end = fast_completion(instance)
    together, rest = np.ones(instance.jobs, dtype=bool), np.zeros(instance.jobs)
    parts = []
    for market, priced in zip(proof.markets, proof.priced, strict=True):
        chosen = market.jobs[np.isfinite(priced.age)]
        served, left, runs = _edge(instance, market, chosen, begin, cloud, fast_end, slotted)
        together[served], rest[served] = False, left
        parts.append(runs)
    return _schedule(instance, np.concatenate(parts), together, cloud, rest, slotted)


def _edge(
    instance: Instance,
    market: Market,
    chosen: Integers,
    begin: Floats,
    cloud: Floats,
    fast_end: Floats,
    slotted: bool,
) -> tuple[Integers, Floats, NDArray[Any]]:
    """Who of a market ends at the edge before it would in the fast cloud, and how.

    Args:
        instance: any.
        market: whose workers there are.
        chosen: jobs to try.
        begin: when each job may run first, slots.
        cloud: when each may run in the cloud, slots.
        fast_end: when each ends whole in the cloud, slots.
        slotted: whether all of that is in whole slots.

    Returns:
        The jobs, the work each leaves to the cloud, the runs at the edge.
    """
    work = instance.work_slow if slotted else instance.num_chunks * instance.chunk_time_slow
    chosen = chosen[np.argsort(begin[chosen], kind="stable")]
    for again in range(ROUNDS):
        end, rest, runs = shortest_first(
            chosen,
            instance.release_time[chosen],
            begin[chosen],
            instance.num_chunks[chosen],
            work[chosen].astype(np.float64),
            instance.upload_delay_edge,
            market.may[np.searchsorted(market.jobs, chosen)],
            market.group,
            instance.worker_server[market.workers],
            cloud[chosen],
            fast_end[chosen],
            slotted,
        )
        sooner = end < fast_end[chosen]
        if sooner.all() or again == ROUNDS - 1:
            break
        chosen = chosen[sooner]
    runs = runs[sooner[runs["job"]]]
    runs["job"], runs["worker"] = chosen[runs["job"]], market.workers[runs["worker"]]
    return chosen[sooner], rest[sooner], runs


def _schedule(
    instance: Instance,
    edge: NDArray[Any],
    together: Booleans,
    cloud: Floats,
    rest: Floats,
    slotted: bool,
) -> Schedule:
    """Runs on edge workers, and in the cloud a worker per chunk: whole jobs, or what is left."""
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
