"""(7) planned anew on every arrival.

A chunk takes storage from its job's release on, so where the chunks of a job are stored is decided
when it is first planned, and stays; when they are trained is decided anew. In contrast to (2) the
jobs that are done stay in the model: what they held counts against what is held.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from formulations.preemptive.instance import CLOUD, Floats, Instance, whole_slots
from formulations.preemptive.online import before
from formulations.preemptive.problem_2 import last_windows
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.storage.problem_7 import completed, problem_7_compact, shelves_of
from optsched.model import Model
from optsched.problem.methods import Formulation
from optsched.solvers.answer import Answer
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution


def replan(instance: Instance, schedule: Schedule, now: float, options: Options) -> Answer:
    """(7) with the places of planned jobs, and their work before ``now`` (slots), as they are.

    A slot that has begun is done.
    """
    fresh = np.bincount(schedule.run_job, minlength=instance.jobs) == 0
    sent = np.where(fresh, now, -np.inf) - instance.release_time  # a late plan sends data late
    part = replace(
        instance,
        upload_delay_cloud=np.maximum(instance.upload_delay_cloud, sent),
        upload_delay_edge=np.maximum(instance.upload_delay_edge, sent[:, None]),
        jobs_document=None,
    )
    slot = int(whole_slots(now))
    return Formulation(
        "problem_7_replanned", partial(_model, plan=schedule, slot=slot), "problem (7)",
        "total completion time, places and the past as they are",
        partial(_decode, plan=schedule, slot=slot),
    ).solve(part, options=options)  # fmt: skip


def _past(plan: Schedule, slot: int) -> Floats:
    """Rows (job, chunk, worker, start, end) of what is done at the edge before a slot."""
    past = before(plan, slot)
    rows = (past.run_job, past.run_chunk, past.run_worker, past.run_start, past.run_end)
    return np.asarray(np.column_stack(rows)[past.run_worker != CLOUD], dtype=float)


def _model(instance: Instance, *, plan: Schedule, slot: int) -> Model:
    model, shelves = problem_7_compact(instance), shelves_of(instance)
    grid = shelves.grid
    planned = np.bincount(plan.run_job, minlength=instance.jobs) > 0
    edge = plan.run_worker != CLOUD
    server = instance.worker_server[plan.run_worker[edge]]
    chunk = np.unique(np.stack([plan.run_job[edge], server, plan.run_chunk[edge]]), axis=1)
    stored = np.zeros((instance.jobs, max(instance.edge_servers, 1)))
    np.add.at(stored, (chunk[0], chunk[1]), 1.0)
    mine = np.flatnonzero(planned[shelves.job])
    places = stored[shelves.job[mine], shelves.server[mine]]
    model.add("kept:place", model["stored"][mine] == places)
    jobs, last = last_windows(grid)
    whole = np.flatnonzero(planned[jobs])
    fast = plan.together[jobs[whole]].astype(float)
    model.add("kept:cloud", model["pending"][last[whole]] == fast)
    done = np.flatnonzero(grid.cell_slot < slot)
    work = shelves.units(_past(plan, slot), slot)[done].astype(float)
    model.add("kept:work", model["y"][done] == work)
    return model


def _decode(instance: Instance, solution: Solution, *, plan: Schedule, slot: int) -> Schedule:
    return completed(shelves_of(instance), solution, _past(plan, slot), slot)
