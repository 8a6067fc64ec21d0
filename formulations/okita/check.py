"""The paper's objective and constraints, evaluated on a schedule; knows no solver.

| number | index                  | amount                                                       |
|--------|------------------------|--------------------------------------------------------------|
| 2a     | job, site              | chunks of the site trained more or less often than once      |
| 2b     | job, site, slot        | chunks beyond what the workers there can train               |
| 2c     | job, slot              | parameter servers beyond, or short of, one if it runs, else 0|
| 2d     | site, resource, slot   | units beyond C_r^k                                           |
| 2e     | job                    | 1: it never runs, so t_i is undefined                        |
| 2f     | row                    | how far a count is below 0, or 1: no such job or site        |
| 2g     | row                    | 1: no such job or site                                       |
| 2h     | job, slot              | rows before the release                                      |
| T      | job                    | slots beyond the horizon, where the horizon binds            |

Everything is counted in whole numbers; there is no tolerance. (2a) is per site: the aggregate
over sites would let a site train more chunks than lie there, and call them local.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from formulations.okita.instance import Booleans, Floats, Instance, Integers
from formulations.okita.schedule import Schedule
from optsched.instances.arrays import compress
from optsched.problem.violation import Violation


def completion_slots(instance: Instance, schedule: Schedule) -> Integers:
    """t_i, the last slot with workers, shape (jobs,); 0 if a job never runs."""
    last = np.zeros(instance.jobs, dtype=np.int64)
    counted = (schedule.worker_count > 0) & _known(schedule.worker_job, instance.jobs)
    np.maximum.at(last, schedule.worker_job[counted], schedule.worker_slot[counted])
    return last


def flow_times(instance: Instance, schedule: Schedule) -> Integers:
    """t_i - a_i, shape (jobs,), slots."""
    return completion_slots(instance, schedule) - instance.release_slot


def data_costs(instance: Instance, schedule: Schedule) -> Floats:
    """First part of (1): money paid for moving chunks, shape (jobs,)."""
    q, job = instance.unit_bandwidth_cost, schedule.move_job
    price = q[schedule.move_source, schedule.move_target] * instance.chunk_size_mb[job]
    paid = np.bincount(job, weights=price * schedule.move_chunks, minlength=instance.jobs)
    return paid.astype(np.float64)


def exchange_costs(instance: Instance, schedule: Schedule) -> Floats:
    """Second part of (1): money paid for workers talking to their server, shape (jobs,)."""
    slots = _slots(schedule)
    key, of_server = (
        schedule.worker_job * slots + schedule.worker_slot,
        schedule.server_job * slots + schedule.server_slot,
    )
    order = np.argsort(of_server, kind="stable")
    first = np.searchsorted(of_server[order], key)
    last = np.searchsorted(of_server[order], key, side="right")
    pair = np.repeat(np.arange(len(key)), last - first)  # each worker with every server
    step = np.arange(len(pair)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    server = schedule.server_site[order[first[pair] + step]]
    job = schedule.worker_job[pair]
    price = instance.unit_bandwidth_cost[schedule.worker_site[pair], server]
    paid = price * instance.exchange_size_mb[job] * schedule.worker_count[pair]
    return np.bincount(job, weights=paid, minlength=instance.jobs).astype(np.float64)


def latency_costs(instance: Instance, schedule: Schedule) -> Floats:
    """f_i(t_i - a_i), shape (jobs,); infinite for a job that never runs."""
    last = completion_slots(instance, schedule)
    flow = np.maximum(last - instance.release_slot, 0)
    value = instance.latency.cost(np.arange(instance.jobs), flow)
    return np.where(last > 0, value, np.inf)


def job_costs(instance: Instance, schedule: Schedule) -> Floats:
    """f_i(t_i - a_i) + B_i, shape (jobs,), money."""
    moved, talked = data_costs(instance, schedule), exchange_costs(instance, schedule)
    return latency_costs(instance, schedule) + moved + talked


def cost(instance: Instance, schedule: Schedule) -> float:
    """Latency, data and exchange, in money; infinite if a job never runs or a place is unknown."""
    if any(not good.all() for _, _, good in _sound(instance, schedule)):
        return float("inf")
    return float(job_costs(instance, schedule).sum())


def check(
    instance: Instance, schedule: Schedule, *, within_horizon: bool = False
) -> list[Violation]:
    """List every violated constraint of problem (2), as the module's table describes.

    Args:
        instance: the system and its jobs.
        schedule: what was decided.
        within_horizon: T also ends the schedule, as the paper's problem (2) reads; otherwise
            jobs may end after it.
    """
    found: list[Violation] = []
    kept: dict[str, Booleans] = {}
    for kind, label, good in _sound(instance, schedule):
        bad = np.flatnonzero(~good)
        found += _listed(label, {kind: bad}, np.ones(len(bad)))
        kept[kind] = good
    for kind, column in (("worker", schedule.worker_count), ("move", schedule.move_chunks)):
        bad = np.flatnonzero(column < 0)
        found += _listed("2f", {kind: bad}, -column[bad])
    sound = Schedule(
        *(getattr(schedule, f.name)[kept[f.name.split("_")[0]]] for f in fields(Schedule))
    )
    for rule in (_chunks, _training, _servers, _capacities, _running, _releases):
        found += rule(instance, sound)
    if within_horizon:
        late = completion_slots(instance, sound) - instance.horizon
        job = np.flatnonzero(late > 0)
        found += _listed("T", {"job": job}, late[job])
    return found


def _known(values: Integers, count: int) -> Booleans:
    return (values >= 0) & (values < count)


def _sound(instance: Instance, schedule: Schedule) -> Iterator[tuple[str, str, Booleans]]:
    """Rows that name a job, sites and a slot that there are, by kind."""
    for kind, label, places in (
        ("worker", "2f", ("site",)), ("server", "2g", ("site",)),
        ("move", "2f", ("source", "target")),
    ):  # fmt: skip
        good = _known(getattr(schedule, f"{kind}_job"), instance.jobs)
        good &= getattr(schedule, f"{kind}_slot") >= 0
        for place in places:
            good &= _known(getattr(schedule, f"{kind}_{place}"), instance.sites)
        yield kind, label, good


def _listed(
    label: str, index: Mapping[str, Integers], amount: NDArray[np.generic]
) -> list[Violation]:
    columns = [column.tolist() for column in index.values()]
    return [
        Violation(label, dict(zip(index, row, strict=True)), float(by))
        for *row, by in zip(*columns, amount.tolist(), strict=True)
    ]


def _chunks(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2a): every chunk of every site once."""
    key = schedule.move_job * instance.sites + schedule.move_source
    size = instance.jobs * instance.sites
    done = np.bincount(key, weights=schedule.move_chunks, minlength=size).astype(np.int64)
    wrong = done - instance.num_chunks.ravel()
    at = np.flatnonzero(wrong)
    yield from _listed(
        "2a", {"job": at // instance.sites, "site": at % instance.sites}, np.abs(wrong[at])
    )


def _training(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2b): workers that can train what is trained where they are."""
    key = _key(instance, schedule.worker_job, schedule.worker_site, schedule.worker_slot, schedule)
    moved = _key(instance, schedule.move_job, schedule.move_target, schedule.move_slot, schedule)
    row, used = compress(np.concatenate([key, moved]))
    workers = np.bincount(row[: len(key)], schedule.worker_count, len(used)).astype(np.int64)
    chunks = np.bincount(row[len(key) :], schedule.move_chunks, len(used)).astype(np.int64)
    slots = _slots(schedule)
    job, site, slot = used // slots // instance.sites, used // slots % instance.sites, used % slots
    over = chunks - instance.chunks_done(job, workers)
    bad = np.flatnonzero(over > 0)
    yield from _listed("2b", {"job": job[bad], "site": site[bad], "slot": slot[bad]}, over[bad])


def _servers(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2c): one parameter server while the job runs, none otherwise."""
    slots = _slots(schedule)
    key = schedule.worker_job * slots + schedule.worker_slot
    serving = schedule.server_job * slots + schedule.server_slot
    row, used = compress(np.concatenate([key, serving]))
    workers = np.bincount(row[: len(key)], schedule.worker_count, len(used))
    wrong = np.bincount(row[len(key) :], minlength=len(used)) - (workers > 0)
    bad = np.flatnonzero(wrong)
    yield from _listed(
        "2c", {"job": used[bad] // slots, "slot": used[bad] % slots}, np.abs(wrong[bad])
    )


def _capacities(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2d): what workers and servers hold within what the site has."""
    slots = _slots(schedule)
    key = schedule.worker_site * slots + schedule.worker_slot
    serving = schedule.server_site * slots + schedule.server_slot
    row, used = compress(np.concatenate([key, serving]))
    site, slot = used // slots, used % slots
    for k in range(instance.resources):
        held = np.concatenate(
            [
                instance.worker_demand[schedule.worker_job, k] * schedule.worker_count,
                instance.ps_demand[schedule.server_job, k],
            ]
        )
        over = np.bincount(row, held, len(used)).astype(np.int64) - instance.capacity[site, k]
        bad = np.flatnonzero(over > 0)
        resource = np.full(len(bad), k)
        yield from _listed(
            "2d", {"site": site[bad], "resource": resource, "slot": slot[bad]}, over[bad]
        )


def _running(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2e): a completion slot for everyone."""
    never = np.flatnonzero(completion_slots(instance, schedule) == 0)
    yield from _listed("2e", {"job": never}, np.ones(len(never)))


def _releases(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """(2h): nothing before the release."""
    job = np.concatenate([schedule.worker_job, schedule.server_job, schedule.move_job])
    slot = np.concatenate([schedule.worker_slot, schedule.server_slot, schedule.move_slot])
    early = slot < instance.release_slot[job]
    pairs, count = np.unique(
        np.stack([job[early], slot[early]]), axis=1, return_counts=True
    )  # fmt: skip
    yield from _listed("2h", {"job": pairs[0], "slot": pairs[1]}, count)


def _slots(schedule: Schedule) -> int:
    """One more than the last slot named."""
    columns = (schedule.worker_slot, schedule.server_slot, schedule.move_slot)
    return 1 + max(int(column.max(initial=0)) for column in columns)


def _key(
    instance: Instance, job: Integers, site: Integers, slot: Integers, schedule: Schedule
) -> Integers:
    return (job * instance.sites + site) * _slots(schedule) + slot


MEASURES = {
    "without_worst_job": lambda instance, s: float(
        job_costs(instance, s).sum() - job_costs(instance, s).max()
    ),
    "bandwidth": lambda instance, s: float(
        (data_costs(instance, s) + exchange_costs(instance, s)).sum()
    ),
    "mean_flow_time": lambda instance, s: float(flow_times(instance, s).mean()),
    "jobs_after_horizon": lambda instance, s: float(
        (completion_slots(instance, s) > instance.horizon).sum()
    ),
}
"""What a table of ratios shows beside the cost."""
