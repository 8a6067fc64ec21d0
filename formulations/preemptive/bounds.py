"""Lower bounds on the total job completion time, from closed form to linear programs.

All hold for (2) and, as it has fewer schedules, for the model without migration. In order:
``LB-PAPER <= LB-LP4 <= LB-LP4+ <= LB-THETA <= LB-EXT``; ``LB-ALONE <= LB-THETA``.
The bound for large instances is in ``prices``.
"""

from __future__ import annotations

import math

import numpy as np

from formulations.preemptive.instance import Floats, Instance
from formulations.preemptive.metrics import chunk_flow_time
from formulations.preemptive.network import problem_4_flow
from formulations.preemptive.problem_4 import problem_4_aggregated
from formulations.preemptive.time_indexed.grid import Grid, build_grid
from optsched.errors import ModelError
from optsched.instances.arrays import compress, ranges
from optsched.model import Expression, Model
from optsched.problem import Bound
from optsched.solve import solve
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

SLACK = 1e-6
"""Tolerance of the linear programs, allowed for before a bound is rounded up (slots)."""


def rounded_up(instance: Instance, bound: float) -> float:
    """The least total completion time of a slot schedule that is at least ``bound - SLACK``.

    Completion times are whole slots, so only values that differ from the sum of release times
    by whole numbers can occur. An infinite bound, that nothing is feasible, stays infinite.
    """
    if math.isinf(bound):
        return bound
    shift = float(instance.release_time.sum())
    return math.ceil(bound + shift - SLACK * max(1.0, abs(bound))) - shift


def packing_correction(instance: Instance, grid: Grid) -> Floats:
    """kappa_j: least (c_j - r_j) - avg_j over placements at the slow speed, shape (jobs,).

    With at most U_j units a slot, the mean distance of N_j units to their end is least when they
    are packed against it (repaired Lemma 1).
    """
    most = np.zeros(instance.jobs)
    np.maximum.at(most, grid.windows[0], grid.rate)
    work = instance.work_slow
    full, rest = np.divmod(work, np.maximum(most, 1))
    return np.asarray((most * full * (full + 1) / 2 + rest * (full + 1)) / work)


def fast_duration(instance: Instance, grid: Grid) -> Floats:
    """c_j - r_j of each job run whole in the cloud; 0 where it may not be, shape (jobs,)."""
    may = grid.fast_end <= grid.end_slot
    return np.where(may, grid.fast_end - instance.release_time, 0.0)


def slow_duration(instance: Instance, grid: Grid) -> Floats:
    """L_j: c_j - r_j of each job alone at the slow speed, at least its window's length."""
    alone: Floats = np.minimum(grid.earliest_slow_end, grid.end_slot + 1.0)
    return alone - instance.release_time


def lb_alone(instance: Instance) -> float:
    """LB-ALONE: every job as if it were the only one."""
    grid = build_grid(instance)
    fast = grid.fast_end - instance.release_time
    return float(np.minimum(fast, slow_duration(instance, grid)).sum())


def lb_paper(instance: Instance) -> float:
    """LB-PAPER: (4) with the fast speed everywhere, the paper's own yardstick."""
    solution = problem_4_flow(instance, rates="fast")
    return _proven(solution, "LB-PAPER")


def optimum_4(instance: Instance) -> float:
    """The optimum of (4): no more than that of (2) by Lemma 1, which is about whole slots."""
    return _optimum(problem_4_aggregated(instance))


def lb_lp4(instance: Instance) -> float:
    """LB-LP4: the linear relaxation of (4) with each job's choice of speed, windows cut."""
    return _optimum(problem_4_aggregated(instance, integer=False, cut_windows=True))


def lp4_plus(instance: Instance) -> Model:
    """LB-LP4+: LB-LP4 with the mean age of work corrected to the completion time."""
    grid = build_grid(instance)
    model = problem_4_aggregated(instance, integer=False, cut_windows=True)
    kappa = packing_correction(instance, grid)
    fast = model["fast"]
    saved = fast @ (fast_duration(instance, grid) - kappa) + float(kappa.sum())
    model.minimize(_mean_age(model, grid).sum() + saved)
    return model


def theta(instance: Instance) -> Model:
    """LB-THETA: per job the greater of the corrected mean age and the time it needs alone."""
    grid = build_grid(instance)
    model = problem_4_aggregated(instance, integer=False, cut_windows=True)
    kappa, fast = packing_correction(instance, grid), model["fast"]
    cloud, alone = fast_duration(instance, grid), slow_duration(instance, grid)
    bound = model.continuous("theta", instance.jobs, formula=r"\theta_j")
    model.add("mean", bound >= fast * (cloud - kappa) + _mean_age(model, grid) + kappa)
    model.add("alone", bound >= fast * (cloud - alone) + alone)
    model.minimize(bound.sum())
    return model


def _mean_age(model: Model, grid: Grid) -> Expression:
    """avg_j: mean of t - r_j over the work of each job, fast cloud left out, shape (jobs,)."""
    jobs, work = grid.instance.jobs, grid.instance.work_slow
    edge = model["y"] * (grid.cell_age / work[grid.cell_job])
    cloud = model["x"] * (grid.cloud_age / work[grid.cloud_job])
    return edge.sum_by(grid.cell_job, jobs) + cloud.sum_by(grid.cloud_job, jobs)


def lb_lp4_plus(instance: Instance) -> float:
    """Value of ``lp4_plus``."""
    return _optimum(lp4_plus(instance))


def lb_theta(instance: Instance) -> float:
    """Value of ``theta``."""
    return _optimum(theta(instance))


def completion_indexed(instance: Instance) -> Model:
    """LB-EXT: each job's placements are convex combinations over its completion slot.

    The best bound that relaxing nothing but the capacity rows can give. Its size grows with the
    square of the windows: for small instances.
    """
    grid = build_grid(instance, hub=False)
    jobs, work, chunks = instance.jobs, instance.work_slow, instance.num_chunks
    soonest = np.minimum(grid.earliest_slow_end, grid.end_slot + 1.0).astype(np.int64)
    end_job, end = ranges(soonest, grid.end_slot + 1)
    ends = len(end_job)
    first_end = np.cumsum(np.bincount(end_job, minlength=jobs))
    first_end = np.concatenate([[0], first_end[:-1]])
    model = Model("completion-indexed relaxation of (2)")
    fast = model.continuous(
        "fast", jobs, upper=(grid.fast_end <= grid.end_slot).astype(float), formula="x_j"
    )
    ends_at = model.continuous("ends", ends, formula=r"\xi_{j\tau}")
    parts = []
    for name, job, slot in (
        ("y", grid.cell_job, grid.cell_slot),
        ("x", grid.cloud_job, grid.cloud_slot),
    ):
        cell, tau = ranges(np.maximum(slot + 1, soonest[job]), grid.end_slot[job] + 1)
        owner = first_end[job[cell]] + tau - soonest[job[cell]]
        parts.append((model.continuous(name, len(cell)), cell, owner, slot[cell]))
    slots = int(grid.end_slot.max())
    y, cell, owner, _ = parts[0]
    model.add("limit", y - ends_at[owner] * grid.pool_size[cell] <= 0)
    keys = [owner * slots + slot for _, _, owner, slot in parts]
    _, used = compress(np.concatenate(keys))
    rows = [np.searchsorted(used, key) for key in keys]
    done = parts[0][0].sum_by(parts[0][2], ends) + parts[1][0].sum_by(parts[1][2], ends)
    busy = parts[0][0].sum_by(rows[0], len(used)) + parts[1][0].sum_by(rows[1], len(used))
    model.add("choice", fast + ends_at.sum_by(end_job, jobs) >= 1)
    model.add("2b", done - ends_at * work[end_job] >= 0)
    limited = used // slots
    model.add("2c", busy - ends_at[limited] * chunks[end_job[limited]] <= 0)
    row, capacity = grid.class_slots
    model.add("2d", y.sum_by(row[cell], len(capacity)) <= capacity)
    model.minimize(
        fast @ fast_duration(instance, grid) + ends_at @ (end - instance.release_time[end_job])
    )
    return model


def lb_ext(instance: Instance) -> float:
    """Value of ``completion_indexed``."""
    return _optimum(completion_indexed(instance))


def _optimum(model: Model) -> float:
    return _proven(solve(model, "highs", options=Options()), model.name)


def _proven(solution: Solution, name: str) -> float:
    """The optimum; infinite where the horizon leaves no schedule at all."""
    if solution.status is Status.INFEASIBLE:
        return math.inf
    if solution.status is not Status.OPTIMAL or solution.bound is None:
        raise ModelError(f"{name} ended {solution.status}: {solution.message}")
    return solution.bound


ALONE = Bound(
    "lb_alone", lb_alone, "closed form", "every job as if it were the only one", quick=True
)
BOUNDS = (
    Bound("lb_paper", lb_paper, "Lemma 1, Section V-C",
          "(4) with the fast speed everywhere: the paper's own yardstick, for the chunks' mean",
          numerator=chunk_flow_time),
    Bound("optimum_4", optimum_4, "problem (4), Lemma 1",
          "the optimum of (4) itself, for small instances: what Theorem 3 for (4) refers to",
          numerator=chunk_flow_time),
    Bound("lb_lp4", lb_lp4, "problem (4)", "linear relaxation of (4)"),
    ALONE,
    Bound("lb_lp4_plus", lb_lp4_plus, "problem (4)",
          "linear relaxation of (4), mean age corrected to completion"),
    Bound("lb_theta", lambda instance: rounded_up(instance, lb_theta(instance)), "problem (4)",
          "per job the greater of lb_lp4_plus and lb_alone"),
    Bound("lb_ext", lambda instance: rounded_up(instance, lb_ext(instance)), "problem (2)",
          "completion-indexed linear program, for small instances"),
)  # fmt: skip
