"""Problem (4): average fractional flow time, the relaxation the paper's analysis rests on.

Three models of one problem, from the paper's own to the one for scale:

* ``problem_4`` names every chunk and worker; ``problem_4_literal`` has every row of the paper;
* ``problem_4_aggregated`` counts identical chunks and workers, with hubs if asked, both exactly;
* ``network.problem_4_flow`` solves the latter as a min-cost flow where a job has one rate.

Which of a job's two speeds applies is the option ``rates``: "exact" lets each job choose between
the fast cloud alone and the slow speed everywhere (zeta_j); "fast" is the paper's simplification
zeta = 1 with the fast speed everywhere, also at the edge; "slow" is zeta = 0.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from formulations.preemptive.instance import CLOUD, Floats, Instance, Integers, whole_slots
from formulations.preemptive.time_indexed.grid import (
    Grid,
    add_capacity,
    add_parameter_servers,
    build_grid,
)
from optsched.errors import InputError
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation

Rates = Literal["exact", "fast", "slow"]
F_JD = r"\sum_j \sum_d f_{jd}(\mathbf{y})"
"""LaTeX of the objective of (4) and (8)."""


def refuse_unknown(rates: str, allowed: tuple[str, ...] = get_args(Rates)) -> None:
    """Refuse a choice of speeds that a model does not know.

    Raises:
        InputError: ``rates`` is none of those allowed.
    """
    if rates not in allowed:
        raise InputError.of("rates", rates, "must be one of " + ", ".join(allowed))


def work_units(instance: Instance, rates: Rates) -> Integers:
    """N_j: worker-slots of each job at the speed it has at the edge, shape (jobs,)."""
    return instance.work_fast if rates == "fast" else instance.work_slow


def fast_cloud_mean_age(instance: Instance) -> Floats:
    """Mean of t - r_j over the work of a job run whole in the cloud, shape (jobs,), slots.

    Delta_jc + (p^1_j - 1) / 2 where chunk times are whole slots; 0 where the cloud is barred.
    """
    full, rest = np.divmod(instance.work_fast, instance.num_chunks)
    total = instance.num_chunks * full * (full - 1) / 2 + rest * full
    delay = instance.upload_delay_cloud
    age = whole_slots(np.where(np.isfinite(delay), instance.release_time + delay, 0.0))
    age = np.where(np.isfinite(delay), age - instance.release_time, 0.0)
    return np.asarray(age + total / instance.work_fast)


def problem_4_aggregated(
    instance: Instance,
    *,
    rates: Rates = "exact",
    hub: bool = True,
    chunk_parallelism: bool = True,
    integer: bool = True,
    cut_windows: bool = False,
) -> Model:
    """(4) with identical chunks and workers counted, shape: one variable per feasible cell.

    Args:
        instance: times are taken up to whole slots.
        rates: see the module.
        hub: pool the classes of a group once all are reached.
        chunk_parallelism: keep (4e); the paper drops it, which is a weaker bound.
        integer: whole units; False for the linear relaxation.
        cut_windows: leave out slots that no optimal schedule of (2) needs: a bound on (2) that
            is at least as good, but no longer the optimum of (4).

    Raises:
        InputError: ``rates`` is none of the three.
    """
    refuse_unknown(rates)
    grid = build_grid(instance, hub=hub, slow_cloud=rates != "fast" and not cut_windows)
    model = Model(f"problem (4), aggregated, {rates} rates")
    jobs, chunks, work = instance.jobs, instance.num_chunks, work_units(instance, rates)
    variable = model.integer if integer else model.continuous
    y_limit, x_limit = grid.cell_limit, chunks[grid.cloud_job]
    if not chunk_parallelism:
        y_limit, x_limit = grid.pool_size, work[grid.cloud_job]
    y = variable("y", grid.cells, upper=y_limit, formula="y_{jk}(t)")
    x = variable("x", len(grid.cloud_job), upper=x_limit, formula="x_j(t)")
    objective = (y * (grid.cell_age / work[grid.cell_job])).sum() + (
        x * (grid.cloud_age / work[grid.cloud_job])
    ).sum()
    done = y.sum_by(grid.cell_job, jobs) + x.sum_by(grid.cloud_job, jobs)
    busy = y.sum_by(grid.cell_window, len(grid.windows[0])) + x.sum_by(
        grid.cloud_window, len(grid.windows[0])
    )
    limit = chunks[grid.windows[0]]
    if rates == "exact":
        fast = model.binary("fast", jobs) if integer else model.continuous("fast", jobs, upper=1)
        model.add("barred", fast <= (grid.fast_end <= grid.end_slot).astype(float))
        objective = objective + fast @ fast_cloud_mean_age(instance)
        model.add("4a", done + fast * work >= work, formula=ours(r"\sum_{k,t} y_{jk}(t) \ge N_j"))
        if chunk_parallelism:
            model.add(
                "4e",
                busy + fast[grid.windows[0]] * limit <= limit,
                formula=ours(r"\sum_k y_{jk}(t) \le D_j"),
            )
    else:
        model.add("4a", done >= work, formula=ours(r"\sum_{k,t} y_{jk}(t) \ge N_j"))
        if chunk_parallelism:
            model.add("4e", busy <= limit, formula=ours(r"\sum_k y_{jk}(t) \le D_j"))
    add_capacity(model, "4b", grid)
    model.minimize(objective)
    return model


def problem_4(
    instance: Instance,
    *,
    rates: Rates = "exact",
    weights: Literal["rounded", "printed"] = "rounded",
    chunk_parallelism: bool = True,
    integer: bool = True,
    ps_delay_applies: bool = False,
) -> Model:
    """(4) with one variable per (job, chunk, worker, slot).

    Parameter servers are left out where those of the cloud, of which there are enough, may be
    used from release on: (4c) and (4d) then never bind, and the objective does not see them.

    Args:
        instance: times are taken up to whole slots.
        rates: see the module.
        weights: a unit of work costs (t - r_j) over the whole slots a chunk takes ("rounded"),
            or over its real duration ("printed"), which is no lower bound of (2) in the integer
            program when durations are not whole.
        chunk_parallelism: keep (4e); without it, a chunk may have as many workers of the cloud
            in a slot as it can use.
        integer: whole numbers; False for the linear relaxation.
        ps_delay_applies: (4h) as printed: a parameter server, too, serves only once the data
            would have arrived at its server; (4c), (4d) and (4g) are then rows, and bind.

    Raises:
        InputError: ``rates`` or ``weights`` is none of those named.
    """
    refuse_unknown(rates)
    if weights not in ("rounded", "printed"):
        raise InputError.of("weights", weights, "must be one of rounded, printed")
    model = Model(f"problem (4), {rates} rates")
    grid = build_grid(
        instance, hub=False, slow_cloud=rates != "fast", ps_delay_applies=ps_delay_applies
    )
    job, worker, slot = worker_cells(grid)
    owner, chunk = ranges(np.zeros(len(job)), instance.num_chunks[job])
    job, worker, slot = job[owner], worker[owner], slot[owner]
    duration = instance.chunk_time_fast if rates == "fast" else instance.chunk_time_slow
    exact = duration if weights == "printed" or not integer else whole_slots(duration)
    need = whole_slots(duration) if integer else duration
    first_chunk = np.cumsum(instance.num_chunks) - instance.num_chunks
    chunk_of = first_chunk[job] + chunk
    chunks = int(instance.num_chunks.sum())
    job_of_chunk = np.repeat(np.arange(instance.jobs), instance.num_chunks)
    domain = model.integer if integer else model.continuous
    most = 1.0 if chunk_parallelism else np.where(worker == CLOUD, need[job], 1.0)
    variable = domain("y", len(job), upper=most, formula="y_{jdw}(t)")
    age = slot - instance.release_time[job]
    objective = variable @ (age / (exact[job] * instance.num_chunks[job]))
    work = variable.sum_by(chunk_of, chunks)
    horizon = int(grid.end_slot.max())
    row, key = compress(chunk_of * horizon + slot)
    together = variable.sum_by(row, len(key))
    fast = None
    if rates == "exact":
        fast = domain("fast", instance.jobs, upper=1, formula=r"\zeta_j")
        model.add("barred", fast <= (grid.fast_end <= grid.end_slot).astype(float))
        objective = objective + fast @ fast_cloud_mean_age(instance)
        here = fast[job_of_chunk]
        model.add("4a", work + here * need[job_of_chunk] >= need[job_of_chunk], formula=
                  ours(r"\sum_{w,t} y_{jdw}(t) \ge p^0_j (1 - \zeta_j)"))  # fmt: skip
        if chunk_parallelism:
            model.add("4e", together + here[key // horizon] <= 1, formula=
                      ours(r"\sum_w y_{jdw}(t) \le 1 - \zeta_j"))  # fmt: skip
    else:
        model.add("4a", work >= need[job_of_chunk])
        if chunk_parallelism:
            model.add("4e", together <= 1, formula=r"\sum_{s,w} y_{jds}(t) \le 1")
    edge = np.flatnonzero(worker != CLOUD)
    row, key = compress(worker[edge] * horizon + slot[edge])
    exclusive = r"\sum_j \sum_d y_{jds}(t) \le 1"
    model.add("4b", variable[edge].sum_by(row, len(key)) <= 1, formula=exclusive)
    if ps_delay_applies:
        running = domain("running", len(grid.windows[0]), upper=1, formula=r"\rho_j(t)")
        model.add("running", variable <= running[grid.window(job, slot)] * most)
        add_parameter_servers(model, grid, together=fast, ps_delay_applies=True, rows="4")
    model.minimize(objective, formula=F_JD)
    return model


def worker_cells(grid: Grid) -> tuple[Integers, Integers, Integers]:
    """(job, worker, slot) of every cell of a grid without hubs, and of the cloud's cells."""
    of_worker = grid.instance.worker_classes.of_worker
    order = np.argsort(of_worker, kind="stable")
    size = np.bincount(of_worker, minlength=len(grid.group_of_class))
    first = np.cumsum(size) - size
    cell, place = ranges(first[grid.cell_class], (first + size)[grid.cell_class])
    return (
        np.concatenate([grid.cell_job[cell], grid.cloud_job]),
        np.concatenate([order[place], np.full(len(grid.cloud_job), CLOUD)]),
        np.concatenate([grid.cell_slot[cell], grid.cloud_slot]),
    )


NEVER_BINDS = (
    "Left out: parameter servers of the cloud serve from release on and are never all taken, so it "
    "never binds; with the option ps_delay_applies, which (4h) asks for, it is a block."
)
IN_CLOUD = (
    "`fast`, zeta_j, may be 1 only for a job whole in the cloud, and a job that is there never "
    "gains by 0, the slow speed."
)
BEFORE_UPLOAD = "`y` has no slot before r_j + Delta_js."
EQUATIONS = {
    "3": "The coefficients of `y`, and of `fast` for a job whole in the cloud, in the objective.",
    "4": OBJECTIVE, "4a": "4a", "4b": "4b", "4c": NEVER_BINDS, "4d": NEVER_BINDS, "4e": "4e",
    "4f": IN_CLOUD,
    "4g": "`4e` leaves a job with zeta_j = 1 no worker of its own: its work, whole in the cloud, "
    "is a number in the objective.",
    "4h": BEFORE_UPLOAD,
}  # fmt: skip
"""Where the paper's statements are in ``problem_4``."""

FORMULATIONS = (
    Formulation("problem_4", problem_4, "problem (4)",
                "average fractional flow time, every chunk and worker named; what never binds is "
                "left out",
                equations=EQUATIONS),
    Formulation("problem_4_aggregated", problem_4_aggregated, "problem (4)",
                "average fractional flow time, identical chunks and workers counted"),
)  # fmt: skip
