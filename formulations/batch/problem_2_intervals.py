"""Problems (2) and (3) as tasks in time with variable demands: no slots.

Every job on servers with limits is a task; its workers on each server are its demand on that
server's cumulative. Pooled, the servers of a type make one cumulative: a relaxation, of which
``split`` says whether a solution can be given back to single servers.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from formulations.batch.domain_reduction import Prospects, prospects, round_prospects
from formulations.batch.instance import Floats, Instance, Integers
from formulations.batch.problem_2 import Objective, objective_terms
from formulations.batch.schedule import Schedule
from optsched.instances.arrays import rank_within
from optsched.model import Model
from optsched.model.blocks import Intervals
from optsched.model.latex import ours
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


def problem_2_intervals(instance: Instance, *, objective: Objective = "flow") -> Model:
    """(2) as tasks in time, server by server.

    Raises:
        InputError: no such objective.
    """
    return problem_2_model(prospects(instance), objective, pooled=False)


def problem_2_pooled(instance: Instance, *, objective: Objective = "flow") -> Model:
    """(2) with the servers of each type pooled: a relaxation.

    Raises:
        InputError: no such objective.
    """
    return problem_2_model(prospects(instance), objective, pooled=True)


def problem_3_intervals(instance: Instance, *, tau: int = 8) -> Model:
    """(3) as tasks in time, server by server: most jobs in the window tau + 1..2 tau.

    Args:
        instance: holds the jobs of the round.
        tau: end of the slot in which the round happens.
    """
    return problem_3_model(round_prospects(instance, tau), pooled=False)


def problem_3_pooled(instance: Instance, *, tau: int = 8) -> Model:
    """(3) with the servers of each type pooled: a relaxation."""
    return problem_3_model(round_prospects(instance, tau), pooled=True)


def problem_2_model(chosen: Prospects, objective: Objective, *, pooled: bool) -> Model:
    """(2) over given choices.

    Raises:
        InputError: no such objective.
    """
    instance = chosen.instance
    weight, constant = objective_terms(instance, objective)
    model = Model("problem (2), pooled" if pooled else "problem (2), tasks")
    cloudless = np.flatnonzero(chosen.cloud_end < 0)
    _add_tasks(model, chosen)
    here = model["at_edge"]
    model.add("R1", here[cloudless] == 1.0)
    k = chosen.choices
    away = np.where(chosen.cloud_end >= 0, chosen.cloud_end + 1.0, 0.0)
    soonest = (model["b"] * (chosen.first + k.duration).astype(float)).sum_by(k.job, instance.jobs)
    model.add(
        "completion",
        model["end"] - soonest + here * away >= away,
        formula=r"c_j \ge \bar T_j (1 - e_j) + \sum_k (h_k + d_k - 1) b_{jk}",
    )
    model.minimize(model["end"] @ weight + (constant - float(weight.sum())))
    if not pooled:
        _add_servers(model, chosen)
    return model


def problem_3_model(chosen: Prospects, *, pooled: bool) -> Model:
    """(3) over given choices: the total weight of the jobs that run inside the window."""
    instance = chosen.instance
    model = Model("problem (3), pooled" if pooled else "problem (3), tasks")
    _add_tasks(model, chosen)
    sent = float(instance.weight[chosen.cloud_end >= 0].sum())
    model.maximize(model["at_edge"] @ instance.weight + sent)
    if not pooled:
        _add_servers(model, chosen)
    return model


def _add_tasks(model: Model, chosen: Prospects) -> None:
    """Variables of every job, and one cumulative per type over all servers with limits."""
    instance, k = chosen.instance, chosen.choices
    jobs = instance.jobs
    b = model.binary("b", len(k), formula=r"b_{jN\xi}")
    at_edge = model.binary("at_edge", jobs, formula="e_j")
    low = instance.release_slot.copy()
    high = np.maximum(np.maximum(chosen.last, chosen.cloud_end) + 1, low)
    start = model.integer("start", jobs, lower=low, upper=high, formula="h_j")
    end = model.integer("end", jobs, lower=low, upper=high, formula="c_j + 1")
    n = model.integer("n", jobs, upper=instance.num_chunks, formula="N_j")
    duration = (b * k.duration.astype(float)).sum_by(k.job, jobs)
    first = (b * chosen.first.astype(float)).sum_by(k.job, jobs)
    model.add("choice", b.sum_by(k.job, jobs) == at_edge, formula=r"\sum_k b_{jk} = e_j")
    model.add("workers", (b * k.workers.astype(float)).sum_by(k.job, jobs) == n)
    model.add("2i:first", start >= first, formula=ours(r"h_j \ge \sum_k h_k b_{jk}"))
    model.add("last", end + at_edge * (high - chosen.last - 1.0) <= high)
    for label, kinds, capacity, demand in (
        ("2g", instance.worker_type, instance.worker_capacity, n),
        ("2h", instance.ps_type, instance.ps_capacity, None),
    ):
        for kind in np.unique(kinds[chosen.contested]).tolist():
            group = np.flatnonzero(chosen.contested & (kinds == kind))
            tasks = model.interval(
                start[group], duration[group], end[group], presence=at_edge[group],
                name=f"{label}:tasks {kind}",
            )  # fmt: skip
            limits = np.where(chosen.limited[group], capacity[:, kind], 0.0)
            total = float(limits.sum(axis=1).max())
            if np.isfinite(total):
                model.cumulative(
                    tasks, 1.0 if demand is None else demand[group], total,
                    name=f"{label}:pool {kind}",
                )  # fmt: skip


def pairs(chosen: Prospects, room: Floats) -> tuple[Integers, Integers]:
    """Job and server of the pairs with room, of contested jobs and servers with limits."""
    job, server = np.nonzero(chosen.limited & chosen.contested[:, None] & (room >= 1))
    return job, server


def _add_servers(model: Model, chosen: Prospects) -> None:
    """Workers and parameter servers by server, with the capacity of each: (2f) to (2i)."""
    instance, jobs = chosen.instance, chosen.instance.jobs
    wj, ws = pairs(chosen, instance.worker_room)
    pj, ps = pairs(chosen, instance.ps_room)
    most = instance.most_workers[wj, ws]
    y = model.integer("y", len(wj), upper=most, formula="y_{js}")
    z = model.binary("z", len(pj), formula="z_{js}")
    model.add("R2", y.sum_by(wj, jobs) == model["n"], formula=r"\sum_s y_{js} = N_j")
    model.add("R3", z.sum_by(pj, jobs) == model["at_edge"], formula=r"\sum_s z_{js} = e_j")
    service = np.full((jobs, instance.servers), -1)
    service[pj, ps] = np.arange(len(pj))
    k = chosen.choices
    fast = np.flatnonzero(k.fast)
    together = model["b"][fast].sum_by(k.job[fast], jobs)
    there = service[wj, ws] >= 0
    with_ps, without = np.flatnonzero(there), np.flatnonzero(~there)
    beside = z[service[wj[with_ps], ws[with_ps]]] * most[with_ps]
    model.add(
        "2f:with PS",
        y[with_ps] + together[wj[with_ps]] * most[with_ps] - beside <= most[with_ps],
        formula=ours(r"y_{js} \le Y_{js} (1 - \xi_j + z_{js})"),
    )
    model.add("2f:without PS", y[without] + together[wj[without]] * most[without] <= most[without])
    _add_uploads(model, chosen, (wj, ws), (pj, ps))
    for label, variable, (job, server), kinds, capacity in (
        ("2g", y, (wj, ws), instance.worker_type, instance.worker_capacity),
        ("2h", z, (pj, ps), instance.ps_type, instance.ps_capacity),
    ):
        for kind in np.unique(kinds[job]).tolist():
            group = np.flatnonzero(chosen.contested & (kinds == kind))
            tasks = model.blocks[f"{label}:tasks {kind}"]
            assert isinstance(tasks, Intervals)
            for s in np.unique(server[kinds[job] == kind]).tolist():
                if not np.isfinite(capacity[s, kind]):
                    continue
                here = np.flatnonzero((server == s) & (kinds[job] == kind))
                place = np.searchsorted(group, job[here])
                demand = variable[here].sum_by(place, len(group))
                model.cumulative(
                    tasks, demand, float(capacity[s, kind]), name=f"{label}:{s},{kind}"
                )


def _add_uploads(
    model: Model,
    chosen: Prospects,
    worker_pair: tuple[Integers, Integers],
    ps_pair: tuple[Integers, Integers],
) -> None:
    """(2i): a job starts once it has reached the farthest server it uses.

    One binary per job and step of its ascending delays says whether it goes that far.
    """
    instance = chosen.instance
    used = chosen.limited & chosen.contested[:, None]
    used &= (instance.worker_room >= 1) | (instance.ps_room >= 1)
    job, server = np.nonzero(used)
    delay = instance.upload_delay[job, server]
    span = int(delay.max(initial=0)) + 1
    key, level = np.unique(job * span + delay, return_inverse=True)
    of, step = np.divmod(key, span)
    rank = rank_within(of)
    far = model.binary("far", len(key), formula="r_{jk}")
    model.add("2i:nearest", far[np.flatnonzero(rank == 0)] >= model["at_edge"][of[rank == 0]])
    later = np.flatnonzero(rank > 0)
    model.add("2i:order", far[later - 1] >= far[later])
    gain = np.where(rank > 0, step - np.concatenate([[0], step[:-1]]), step).astype(float)
    model.add(
        "2i",
        model["start"] - (far * gain).sum_by(of, instance.jobs)
        >= instance.release_slot - np.where(chosen.contested, 0.0, instance.release_slot),
        formula=ours(r"h_j \ge a_j + \Delta_{js} \quad (y_{js} > 0)"),
    )
    where = np.full((instance.jobs, instance.servers), -1)
    where[job, server] = level
    wj, ws = worker_pair
    most = instance.most_workers[wj, ws]
    model.add("2i:workers", model["y"] - far[where[wj, ws]] * most <= 0)
    model.add("2i:parameter servers", model["z"] - far[where[ps_pair]] <= 0)


def decode(chosen: Prospects, values: dict[str, Floats], *, all_jobs: bool = True) -> Schedule:
    """The schedule of a point of a model by server.

    Args:
        chosen: the choices the model was built over.
        values: b, start, y and z.
        all_jobs: jobs that are not on servers with limits run in the cloud; else, only those
            that can do so within their window.
    """
    instance, k = chosen.instance, chosen.choices
    on = np.flatnonzero(values["b"] > 0.5)
    job = k.job[on]
    begin = np.round(values["start"][job]).astype(np.int64)
    pj, ps = pairs(chosen, instance.ps_room)
    served = np.flatnonzero(values["z"] > 0.5)
    place = np.full(instance.jobs, -1)
    place[pj[served]] = ps[served]
    rows = np.column_stack([job, begin, begin + k.duration[on] - 1, k.fast[on], place[job]])
    wj, ws = pairs(chosen, instance.worker_room)
    workers = np.round(values["y"]).astype(np.int64)
    run = np.full(instance.jobs, -1)
    run[job] = np.arange(len(on))
    used = (workers > 0) & (run[wj] >= 0)
    placed = np.column_stack([run[wj[used]], ws[used], workers[used]])
    return with_cloud(chosen, rows, placed)


def with_cloud(chosen: Prospects, rows: Integers, placed: Integers) -> Schedule:
    """Add to the runs given one in the cloud for every other job that can end there.

    Args:
        chosen: the jobs.
        rows: as in ``Schedule.build``.
        placed: as in ``Schedule.build``.
    """
    instance = chosen.instance
    away = chosen.cloud_end >= 0
    away[rows[:, 0]] = False
    jobs = np.flatnonzero(away)
    never = np.iinfo(np.int64).max
    delay = np.where(instance.unlimited, instance.upload_delay, never)[jobs]
    server = np.argmin(delay, axis=1) if len(jobs) else np.zeros(0, dtype=np.int64)
    duration = -(-instance.work_fast[jobs] // instance.num_chunks[jobs])
    end = chosen.cloud_end[jobs]
    more = np.column_stack([jobs, end - duration + 1, end, np.ones_like(jobs), server])
    run = len(rows) + np.arange(len(jobs))
    places = np.column_stack([run, server, instance.num_chunks[jobs]])
    return Schedule.build(
        runs=np.concatenate([rows, more]), placements=np.concatenate([placed, places])
    )


def encode(chosen: Prospects, schedule: Schedule) -> dict[str, Floats]:
    """A schedule with one run per job as values of the variables by server, for a warm start."""
    instance, k = chosen.instance, chosen.choices
    of = np.full(instance.jobs, -1)
    of[schedule.run_job] = np.arange(schedule.runs)
    limited = chosen.limited[schedule.run_job, schedule.run_ps]
    here = np.zeros(instance.jobs, dtype=bool)
    here[schedule.run_job[limited]] = True
    run = of[k.job]
    same = here[k.job] & (schedule.run_workers[run] == k.workers)
    same &= schedule.run_together[run] == k.fast
    table = np.zeros((instance.jobs, instance.servers))
    table[schedule.run_job[schedule.place_run], schedule.place_server] = schedule.place_workers
    service = np.zeros_like(table)
    service[schedule.run_job, schedule.run_ps] = 1.0
    start = np.full(instance.jobs, np.nan)
    start[schedule.run_job] = schedule.run_start
    end = np.full(instance.jobs, np.nan)
    end[schedule.run_job] = schedule.run_end + 1.0
    return {
        "b": same.astype(float),
        "at_edge": here.astype(float),
        "start": start,
        "end": end,
        "n": np.where(here, table.sum(axis=1), 0.0),
        "y": table[pairs(chosen, instance.worker_room)],
        "z": service[pairs(chosen, instance.ps_room)],
    }


def decode_problem_2_intervals(instance: Instance, solution: Solution) -> Schedule:
    """The schedule a solution of ``problem_2_intervals`` stands for."""
    return decode(prospects(instance), dict(solution.values))


def encode_problem_2_intervals(instance: Instance, schedule: Schedule) -> dict[str, Floats]:
    """A schedule as a start for ``problem_2_intervals``."""
    return encode(prospects(instance), schedule)


def formulations(objective: Objective) -> tuple[Formulation, ...]:
    """The models of (2) with that objective."""
    return (
        Formulation(
            "problem_2_intervals", partial(problem_2_intervals, objective=objective),
            "problem (2)", "tasks in time with variable demands, server by server; no slots",
            decode_problem_2_intervals, encode_problem_2_intervals, solver="cpsat",
        ),
        Formulation(
            "problem_2_pooled", partial(problem_2_pooled, objective=objective), "problem (2)",
            "relaxation: one cumulative per type of worker and parameter server", solver="cpsat",
        ),
    )  # fmt: skip


FLOW, COMPLETION = formulations("flow"), formulations("completion")

FORMULATIONS = (
    Formulation("problem_3_intervals", problem_3_intervals, "problem (3)",
                "the same as tasks in time, server by server", solver="cpsat"),
    Formulation("problem_3_pooled", problem_3_pooled, "problem (3)",
                "relaxation: one cumulative per type", solver="cpsat"),
)  # fmt: skip
