"""Problem (2): minimise total job completion time, as printed: no chunks, work may migrate.

Two models with one optimum, which is that of ``problem_2_literal``, too:

* ``problem_2`` is (2) over classes of identical workers and parameter servers; all its
  variables are integer, so CP-SAT takes it as well as HiGHS;
* ``problem_2_compact`` states completion by monotone "not yet complete" binaries over hubs: its
  bound is strong and its size small. It leaves parameter servers out, which never bind while those
  of the cloud may be used from release on.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from formulations.preemptive.check import completion_times
from formulations.preemptive.instance import (
    CLOUD,
    Booleans,
    Floats,
    Instance,
    Integers,
    whole_slots,
)
from formulations.preemptive.network import whole_flow
from formulations.preemptive.schedule import Schedule
from formulations.preemptive.time_indexed.decode import (
    fast_cloud_runs,
    refuse_too_many_chunks,
    slot_schedule,
    whole_units,
)
from formulations.preemptive.time_indexed.grid import (
    Grid,
    add_capacity,
    add_parameter_servers,
    build_grid,
    service_cells,
)
from optsched.instances.arrays import rank_within
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation
from optsched.solvers.solution import Solution


def problem_2(instance: Instance, *, ps_delay_applies: bool = False) -> Model:
    """(2) with identical workers and parameter servers counted.

    Args:
        instance: times are taken up to whole slots.
        ps_delay_applies: a parameter server, too, may serve only once the data would have
            arrived at its server, as (2i) literally says.
    """
    refuse_too_many_chunks(instance)
    grid = build_grid(instance, hub=False, ps_delay_applies=ps_delay_applies)
    jobs, chunks = instance.jobs, instance.num_chunks
    window_job, window_slot = grid.windows
    windows = len(window_job)
    model = Model("problem (2)")
    y = model.integer("y", grid.cells, upper=grid.cell_limit, formula="y_{jk}(t)")
    x = model.integer("x", len(grid.cloud_job), upper=chunks[grid.cloud_job], formula="x_j(t)")
    running = model.binary("running", windows, formula=r"\rho_j(t)")
    together = model.binary("together", jobs, formula=r"\zeta_j")
    latest = np.maximum(grid.end_slot, grid.first_slot)
    completion = model.integer(
        "completion", jobs, lower=grid.first_slot, upper=latest, formula="c_j"
    )
    busy = y.sum_by(grid.cell_window, windows) + x.sum_by(grid.cloud_window, windows)
    done = y.sum_by(grid.cell_job, jobs) + x.sum_by(grid.cloud_job, jobs)
    slow, fast = instance.work_slow, instance.work_fast
    total = completion.sum() - instance.release_time.sum()
    model.minimize(total, formula=r"\sum_j (c_j - r_j)")
    model.add(
        "2b",
        done + together * (slow - fast) >= slow,
        formula=ours(r"\sum_{k,t} y_{jk}(t) \ge N^0_j - (N^0_j - N^1_j) \zeta_j"),
    )
    model.add("2c", busy <= chunks[window_job], formula=ours(r"\sum_k y_{jk}(t) \le D_j"))
    add_capacity(model, "2d", grid)
    model.add(
        "2h:workers",
        y + together[grid.cell_job] * grid.cell_limit <= grid.cell_limit,
        formula=ours(r"y_{jk}(t) \le C_k (1 - \zeta_j)"),
    )
    model.add("running:edge", y <= running[grid.cell_window] * grid.cell_limit)
    model.add("running:cloud", x <= running[grid.cloud_window] * chunks[grid.cloud_job])
    add_parameter_servers(
        model, grid, together=together, ps_delay_applies=ps_delay_applies, rows="2"
    )
    model.add(
        "2j",
        completion[window_job] >= running * (window_slot + 1),
        formula=ours(r"c_j \ge (t + 1) \rho_j(t)"),
    )
    return model


def decode_problem_2(
    instance: Instance, solution: Solution, *, ps_delay_applies: bool = False
) -> Schedule:
    """The schedule a solution of ``problem_2`` stands for, surplus work included."""
    grid = build_grid(instance, hub=False, ps_delay_applies=ps_delay_applies)
    window_job, window_slot = grid.windows
    window, klass = service_cells(grid, ps_delay_applies)
    used = np.flatnonzero(whole_units(solution["z"], "z"))
    window, klass = window[used], klass[used]
    classes = instance.ps_classes
    members = np.argsort(classes.of_worker, kind="stable")
    first = np.cumsum(classes.size) - classes.size
    slots = int(grid.end_slot.max(initial=0)) + 1
    server = members[first[klass] + rank_within(klass * slots + window_slot[window])]
    cloud = np.flatnonzero(whole_units(solution["z_cloud"], "z_cloud"))
    served = np.concatenate([window, cloud])
    server = np.concatenate([server, np.full(len(cloud), CLOUD)])
    slot = window_slot[served]
    return slot_schedule(
        grid,
        whole_units(solution["y"], "y"),
        whole_units(solution["x"], "x"),
        services=np.column_stack([window_job[served], server, slot, slot + 1]).astype(float),
    )


def problem_2_compact(instance: Instance) -> Model:
    """(2) by monotone completion binaries over hubs, parameter servers left out.

    ``pending[j, t]`` is 1 until job j completes, so their sum is the total completion time. A job
    still pending in its last slot is one run whole in the cloud, as that is when its window ends.
    With ``pending`` fixed, what remains is a flow: whole units exist without being asked for.

    Args:
        instance: times are taken up to whole slots.
    """
    refuse_too_many_chunks(instance)
    grid = build_grid(instance)
    earliest = np.minimum(grid.earliest_slow_end, grid.fast_end)
    window_job, window_slot = grid.windows
    return compact_model(grid, window_slot + 1 >= earliest[window_job])


def compact_model(grid: Grid, may_end: Booleans) -> Model:
    """The model of ``problem_2_compact`` with some completions only.

    Args:
        grid: with hubs.
        may_end: windows with which a job may complete, shape (windows,); a job without any does
            not.
    """
    instance = grid.instance
    jobs, chunks = instance.jobs, instance.num_chunks.astype(float)
    window_job, window_slot = grid.windows
    windows = len(window_job)
    first, latest = grid.end_slot.copy(), grid.first_slot - 1
    np.minimum.at(first, window_job[may_end], window_slot[may_end])
    np.maximum.at(latest, window_job[may_end], window_slot[may_end])
    latest[first == grid.end_slot] = grid.end_slot[first == grid.end_slot]
    model = Model("problem (2), compact")
    pending = model.integer(
        "pending",
        windows,
        lower=(window_slot <= first[window_job]).astype(float),
        upper=(window_slot <= latest[window_job]).astype(float),
        formula="A_j(t)",
    )
    y = model.continuous("y", grid.cells, upper=grid.cell_limit, formula="y_{jk}(t)")
    x = model.continuous("x", len(grid.cloud_job), upper=chunks[grid.cloud_job], formula="x_j(t)")
    fast_jobs, last = last_windows(grid)
    fast = pending[last].sum_by(fast_jobs, jobs)
    busy = y.sum_by(grid.cell_window, windows) + x.sum_by(grid.cloud_window, windows)
    done = y.sum_by(grid.cell_job, jobs) + x.sum_by(grid.cloud_job, jobs)
    late = grid.first_slot - instance.release_time
    model.minimize(pending.sum() + float(late.sum()))
    work = instance.work_slow.astype(float)
    model.add(
        "2b",
        done + fast * work >= work,
        formula=ours(r"\sum_{k,t} y_{jk}(t) \ge N^0_j (1 - \zeta_j)"),
    )
    model.add(
        "2c",
        busy + (fast[window_job] - pending) * grid.rate <= 0,
        formula=ours(r"\sum_k y_{jk}(t) \le D_j (A_j(t) - \zeta_j)"),
    )
    add_capacity(model, "2d", grid)
    follows = np.flatnonzero(window_job[1:] == window_job[:-1])
    ends, goes_on = follows[may_end[follows]], follows[~may_end[follows]]
    model.add("2j", pending[ends] >= pending[ends + 1], formula=ours(r"A_j(t) \ge A_j(t + 1)"))
    if not may_end[follows].all():
        model.add("2j:no end", pending[goes_on] == pending[goes_on + 1])
    return model


def last_windows(grid: Grid) -> tuple[Integers, Integers]:
    """Jobs whose window ends with the fast cloud, and the position of their last slot."""
    jobs = np.flatnonzero(grid.fast_end == grid.end_slot)
    return jobs, grid.window(jobs, grid.end_slot[jobs] - 1)


def decode_problem_2_compact(instance: Instance, solution: Solution) -> Schedule:
    """The schedule a solution of ``problem_2_compact`` stands for.

    The solver's fractions of units are replaced by whole ones: a maximum flow within the
    completion times it chose.
    """
    grid = build_grid(instance)
    window_job = grid.windows[0]
    pending = whole_units(solution["pending"], "pending").astype(bool)
    fast = np.zeros(instance.jobs, dtype=bool)
    jobs, last = last_windows(grid)
    fast[jobs] = pending[last]
    completion = grid.first_slot + np.bincount(window_job, weights=pending, minlength=instance.jobs)
    cells, cloud = whole_flow(grid, instance.work_slow, np.where(fast, 0, completion))
    return slot_schedule(
        grid, cells, cloud, more_runs=fast_cloud_runs(instance, np.flatnonzero(fast))
    )


def encode_problem_2_compact(instance: Instance, schedule: Schedule) -> dict[str, Floats]:
    """Completion times of a schedule as a start for ``problem_2_compact``."""
    grid = build_grid(instance)
    job, slot = grid.windows
    completion = whole_slots(completion_times(instance, schedule))
    return {"pending": (slot < completion[job]).astype(float)}


EQUATIONS = {
    "1": "`2b` counts in whole slots of work, fewer if zeta_j = 1.",
    "2": OBJECTIVE,
    "2a": "`y` has no entry for workers that may not train the job, so `2b` to `2d` need no v.",
    "2b": "2b", "2c": "2c", "2d": "2d", "2e": "2e", "2f": "2f",
    "2g": "`2b` asks for less if zeta_j = 1, so a job with nothing at the edge never gains by 0.",
    "2h": "2h",
    "2i": "`y` and `x` have no slot before the upload is done, `z` none before release; with the "
    "option ps_delay_applies, as printed, `z` waits for the upload, too.",
    "2j": "2j", "2k": "y, x, z, z_cloud, together",
}  # fmt: skip
"""Where the paper's statements are in ``problem_2``."""

COMPACT = Formulation(
    "problem_2_compact", problem_2_compact, "problem (2)",
    "total completion time, work may migrate; completion binaries over hubs: the model for "
    "scale, without parameter servers, which never bind",
    decode_problem_2_compact, encode_problem_2_compact,
)  # fmt: skip

FORMULATIONS = (
    COMPACT,
    Formulation(
        "problem_2", problem_2, "problem (2)",
        "total completion time, work may migrate; identical workers and parameter servers counted",
        decode_problem_2, equations=EQUATIONS,
    ),
)  # fmt: skip

WITHOUT_STORAGE = replace(
    COMPACT,
    summary="total completion time without limits of storage: a relaxation",
    decode=None,
    encode=None,
)
