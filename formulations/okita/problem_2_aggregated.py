"""Problem (2) with transport added up over time (Lemma 1): the compact models.

* ``problem_2_aggregated``: an integer program, the exchange cost as an epigraph (R9) or as the
  convex hull of the product;
* ``problem_2_logical``: the same with the product left as it is, all variables whole, for
  constraint programming.

Variables per cell, a job with one of its slots: workers "y" and chunks "h" by site, server "s",
"x" for running; the integer program adds "e" for completing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from formulations.okita.bounds import job_bounds
from formulations.okita.horizon import HorizonMode, Windows, windows
from formulations.okita.instance import Instance, Integers
from formulations.okita.one_job.paths import dealt
from formulations.okita.one_job.planner import Planner, known_cost
from formulations.okita.problem_7 import cheapest_flow
from formulations.okita.schedule import Schedule
from formulations.okita.symmetry import add_direct_transport, add_job_order, add_site_order
from optsched.errors import InputError
from optsched.model import Model
from optsched.model.expression import Expression
from optsched.model.latex import ours
from optsched.model.variables import Variable
from optsched.problem import OBJECTIVE
from optsched.solvers.solution import Solution

Exchange = Literal["epigraph", "hull"]


def problem_windows(
    instance: Instance, mode: HorizonMode, *, cut_off: bool, cost_limit: float | None
) -> Windows:
    """The slots a model of (2) speaks of.

    Args:
        instance: the system and its jobs.
        mode: see ``windows``.
        cut_off: leave out slots that cost more than a schedule made here, or ``cost_limit``.
        cost_limit: cost of a schedule known, money.

    Raises:
        InputError: an unknown mode, or latencies beyond what a solver may see.
    """
    if not cut_off:
        return windows(instance, mode=mode)
    limit = cost_limit
    if limit is None:
        horizon = instance.horizon if mode == "given" else None
        limit = known_cost(instance, Planner(instance).best_insertion(), horizon=horizon)
    return windows(instance, mode=mode, known_cost=limit, job_bounds=job_bounds(instance))


@dataclass(frozen=True, eq=False)
class Core:
    """What the models share: the model, its windows and its variables."""

    model: Model
    windows: Windows
    y: Variable
    h: Variable
    s: Variable
    x: Variable
    transport: Variable
    """G_i^{rr'}, shape (jobs, sites, sites)."""
    trained: Expression
    """Chunks in all, shape (jobs, sites)."""


def build_core(instance: Instance, name: str, span: Windows, *, whole: bool) -> Core:
    """Variables and rows R4, R5, R6, R7, R10, R11.

    Args:
        instance: the system and its jobs.
        name: of the model.
        span: slots each job may use.
        whole: transport in whole chunks; otherwise continuous, which has the same optimum.
    """
    model = Model(name)
    job, _ = span.cells
    cells, sites = len(job), instance.sites
    useful = instance.useful_workers[job]
    trains = instance.chunks_done(job[:, None], useful)
    y = model.integer("y", (cells, sites), upper=useful, formula="y_i^r(t)")
    most = np.minimum(trains, instance.total_chunks[job, None])
    h = model.integer("h", (cells, sites), upper=most, formula="h_i^r(t)")
    s = model.binary("s", (cells, sites), formula="s_i^r(t)")
    x = model.binary("x", cells, formula="x_i(t)")
    kind = model.integer if whole else model.continuous
    supply = instance.num_chunks
    shape = (instance.jobs, sites, sites)
    g = kind("G", shape, upper=np.broadcast_to(supply[:, :, None], shape), formula="G_i^{rr'}")
    model.add("R4", s.sum(axis=1) == x, formula=r"\sum_r s_i^r(t) = x_i(t)")
    running = x.reshape(cells, 1)
    model.add("R5", y - running * useful <= 0, formula=r"y_i^r(t) \le Y_i^r x_i(t)")
    model.add("R6", y.sum(axis=1) - x >= 0, formula=r"\sum_r y_i^r(t) \ge x_i(t)")
    rate, work = instance.rate_numerator[job, None], instance.work_per_chunk[job, None]
    model.add("R7", y * rate - h * work >= 0, formula=r"\rho_i y_i^r(t) \ge E_i h_i^r(t)")
    model.add("R10:from", g.sum(axis=2) == supply, formula="\\sum_{r'} G_i^{rr'} = D_i^r")
    key = job[:, None] * sites + np.arange(sites)
    trained = h.sum_by(key, instance.jobs * sites).reshape(instance.jobs, sites)
    model.add(
        "R10:to", g.sum(axis=1) - trained == 0, formula="\\sum_r G_i^{rr'} = \\sum_t h_i^{r'}(t)"
    )
    add_capacity(model, "R11", instance, span, y, s)
    return Core(model, span, y, h, s, x, g, trained)


def add_capacity(
    model: Model, name: str, instance: Instance, span: Windows, y: Variable, s: Variable
) -> None:
    """Add (2d) under a name: one row per slot in use, site and resource."""
    job, slot = span.cells
    used, row = np.unique(slot, return_inverse=True)
    sites = instance.sites
    key = row[:, None] * sites + np.arange(sites)
    groups = len(used) * sites
    for k in range(instance.resources):
        held = y * instance.worker_demand[job, k][:, None] + s * instance.ps_demand[job, k][:, None]
        limit = np.tile(instance.capacity[:, k], len(used))
        model.add(
            f"{name}:{k}", held.sum_by(key, groups) <= limit,
            formula=r"\sum_i (m_i^k y_i^r(t) + n_i^k s_i^r(t)) \le C_r^k",
        )  # fmt: skip


def problem_2_aggregated(
    instance: Instance,
    *,
    exchange: Exchange = "epigraph",
    horizon_mode: HorizonMode = "safe",
    no_idle: bool = True,
    tighten: bool = True,
    cut_off: bool = True,
    cost_limit: float | None = None,
    order_sites: bool = False,
    direct_transport: bool = False,
) -> Model:
    """The compact integer program of (2).

    Args:
        instance: the system and its jobs.
        exchange: cost of talking to the server as an epigraph (R9), small, or as the convex hull
            of the product, tight.
        horizon_mode: see ``windows``.
        no_idle: R8, no idle workers (Lemma 2).
        tighten: rows that follow from whole numbers, identical jobs in order.
        cut_off: leave out slots in which a job's latency alone would cost too much.
        cost_limit: cost of a schedule known, by which to cut off; None: one is made.
        order_sites: interchangeable sites in order; a solver that finds symmetry itself, as HiGHS
            does, is better off without.
        direct_transport: no site both imports and exports, where bandwidth costs allow to say so;
            a binary per job and site.

    Raises:
        InputError: an unknown option, or latencies beyond what a solver may see.
    """
    if exchange not in get_args(Exchange):
        raise InputError.of("exchange", exchange, "one of " + ", ".join(get_args(Exchange)))
    span = problem_windows(instance, horizon_mode, cut_off=cut_off, cost_limit=cost_limit)
    core = build_core(instance, f"problem (2), aggregated, {exchange}", span, whole=False)
    model, job = core.model, span.cells[0]
    e = model.binary("e", len(job), formula="e_i(t)")
    model.add("R1", e.sum_by(job, instance.jobs) == 1, formula=r"\sum_t e_i(t) = 1")
    model.add("R2", e - core.x <= 0, formula=r"e_i(t) \le x_i(t)")
    model.add("R3", core.x - _later(span) @ e <= 0, formula="x_i(t) \\le \\sum_{t' \\ge t} e_i(t')")
    if no_idle:
        rate, work = instance.rate_numerator[job, None], instance.work_per_chunk[job, None]
        idle = core.y * rate - core.h * work
        model.add("R8", idle <= np.broadcast_to(rate - 1, idle.shape), formula=
                  r"\rho_i y_i^r(t) \le E_i h_i^r(t) + \rho_i - 1")  # fmt: skip
    talk = _hull(instance, core) if exchange == "hull" else _epigraph(instance, core, tighten)
    if tighten:
        _tighten(instance, core, e)
    _order(instance, core, order_sites, direct_transport)
    q = instance.unit_bandwidth_cost
    moved = (core.transport * (instance.chunk_size_mb[:, None, None] * q)).sum()
    model.minimize((e * span.flow_cost).sum() + talk + moved)
    return model


def _order(instance: Instance, core: Core, order_sites: bool, direct_transport: bool) -> None:
    """The part of sites and transport that is left out because something as good is kept."""
    if order_sites:
        add_site_order(core.model, instance, core.trained)
    if direct_transport:
        add_direct_transport(core.model, instance, core.transport)


def _later(span: Windows) -> Any:
    """Matrix that adds up the entries of a job's cells from each cell on."""
    from scipy import sparse

    length = np.diff(span.first_cell)
    blocks = [sparse.coo_array(np.triu(np.ones((n, n)))) for n in length if n]
    return sparse.block_diag(blocks, format="csr")


def _epigraph(instance: Instance, core: Core, tighten: bool) -> Any:
    """R9: c_i(t), exchange cost per MB, is what it is for the server's site."""
    job, _ = core.windows.cells
    q, useful = instance.unit_bandwidth_cost, instance.useful_workers[job]
    largest = useful @ q  # Gamma_i^{r'}
    c = core.model.continuous("c", len(job), upper=largest.max(axis=1), formula="c_i(t)")
    talk = core.y @ q
    core.model.add(
        "R9", c.reshape(-1, 1) - talk - core.s * largest >= -largest,
        formula="c_i(t) \\ge \\sum_r q^{rr'} y_i^r(t) - \\Gamma_i^{r'} (1 - s_i^{r'}(t))",
    )  # fmt: skip
    if tighten and instance.sites > 1:
        least = q[~np.eye(instance.sites, dtype=bool)].min()
        remote = core.y.sum(axis=1) - useful.max(axis=1)
        core.model.add("remote", c - remote * least >= 0)
    return (c * instance.exchange_size_mb[job]).sum()


def _hull(instance: Instance, core: Core) -> Any:
    """Product y s by site of the worker and of the server."""
    job, _ = core.windows.cells
    sites, useful = instance.sites, instance.useful_workers[job]
    limit = np.broadcast_to(useful[:, :, None], (len(job), sites, sites))
    w = core.model.continuous("w", limit.shape, upper=limit, formula="w_i^{rr'}(t)")
    core.model.add(
        "hull:sum", w.sum(axis=2) - core.y == 0, formula="y_i^r(t) = \\sum_{r'} w_i^{rr'}(t)"
    )
    server = core.s.reshape(len(job), 1, sites)
    core.model.add(
        "hull:server", w - server * limit <= 0, formula="w_i^{rr'}(t) \\le Y_i^r s_i^{r'}(t)"
    )
    price = instance.exchange_size_mb[job][:, None, None] * instance.unit_bandwidth_cost
    return (w * price).sum()


def _tighten(instance: Instance, core: Core, e: Variable) -> None:
    """What whole numbers imply: completion, progress, enough workers, room."""
    model, span = core.model, core.windows
    job, slot = span.cells
    early = slot < span.earliest[job]
    model.add("earliest", e <= (~early).astype(float))
    model.add("progress", core.x - core.h.sum(axis=1) <= 0, formula=r"x_i(t) \le \sum_r h_i^r(t)")
    model.add("enough", core.y.sum(axis=1).sum_by(job, instance.jobs) >= instance.most_workers)
    fits = np.array([(instance.capacity >= n).all(axis=1) for n in instance.ps_demand])
    model.add("server", core.s <= fits[job].astype(float))
    add_job_order(model, instance, (e * slot.astype(float)).sum_by(job, instance.jobs))


def problem_2_logical(
    instance: Instance,
    *,
    horizon_mode: HorizonMode = "safe",
    cut_off: bool = True,
    cost_limit: float | None = None,
    order_sites: bool = False,
    direct_transport: bool = False,
) -> Model:
    """(2) with y s as a product and all variables whole: what constraint programming takes.

    For the options see ``problem_2_aggregated``.
    """
    span = problem_windows(instance, horizon_mode, cut_off=cut_off, cost_limit=cost_limit)
    core = build_core(instance, "problem (2), logical", span, whole=True)
    model, job = core.model, span.cells[0]
    sites = instance.sites
    _order(instance, core, order_sites, direct_transport)
    worker = core.y.reshape(len(job), sites, 1)
    server = core.s.reshape(len(job), 1, sites)
    w = model.product(worker, server, name="w", formula="y_i^r(t) s_i^{r'}(t)")
    talk = instance.exchange_size_mb[job][:, None, None] * instance.unit_bandwidth_cost
    q = instance.unit_bandwidth_cost
    moved = core.transport * (instance.chunk_size_mb[:, None, None] * q)
    model.minimize((w * talk).sum() + moved.sum() + _latency(core))
    return model


def _latency(core: Core) -> Any:
    """Sum of f_i(t_i - a_i) as what every further slot adds until the job has completed (2e).

    "late" says of a cell that the job runs in its slot or later: costs that are no whole numbers
    stay coefficients, as constraint programming wants them.
    """
    model, span, x = core.model, core.windows, core.x
    job, slot = span.cells
    late = model.binary("late", len(job), formula=r"[t_i \ge t]")
    model.add("2e", late - x >= 0, formula=ours(r"x_i(t) = 1 \Rightarrow t_i \ge t"))
    followed = np.flatnonzero(job[:-1] == job[1:])
    model.add("2e:falls", late[followed] - late[followed + 1] >= 0)
    goes_on = late - x
    last = np.setdiff1d(np.arange(len(job)), followed)
    model.add("2e:last", goes_on[last] <= 0)
    model.add("2e:ends", goes_on[followed] - late[followed + 1] <= 0)
    first = slot == span.instance.release_slot[job]
    model.add("2e:runs", late[first] >= 1)
    added = np.where(first, span.flow_cost, np.diff(span.flow_cost, prepend=0.0))
    return (late * added).sum()


def decode_aggregated(
    instance: Instance,
    solution: Solution,
    *,
    horizon_mode: HorizonMode = "safe",
    cut_off: bool = True,
    cost_limit: float | None = None,
    **_: Any,
) -> Schedule:
    """The schedule of a solved model, transport dealt to slots (Lemma 1)."""
    span = problem_windows(instance, horizon_mode, cut_off=cut_off, cost_limit=cost_limit)
    chunks = np.round(solution["h"]).astype(np.int64)
    moves = [np.zeros((0, 5), dtype=np.int64)]
    for i in range(instance.jobs):
        mine = slice(*span.first_cell[i : i + 2])
        flow = cheapest_flow(instance, i, chunks[mine].sum(axis=0))
        moves.append(dealt(i, flow, chunks[mine], int(instance.release_slot[i])))
    return deployed(span, solution, np.concatenate(moves))


def deployed(span: Windows, solution: Solution, moves: Integers) -> Schedule:
    """The schedule with the workers and servers of a solved model.

    Args:
        span: whose cells the model's y and s go by.
        solution: its point.
        moves: rows (job, slot, source, target, chunks), shape (moves, 5).
    """
    job, slot = span.cells
    workers, server = (np.round(solution[name]).astype(np.int64) for name in ("y", "s"))
    cell, site = np.nonzero(workers)
    runs, at = np.nonzero(server)
    return Schedule.build(
        workers=np.column_stack([job[cell], slot[cell], site, workers[cell, site]]),
        servers=np.column_stack([job[runs], slot[runs], at]),
        moves=moves,
    )


EQUATIONS = {
    "1": "The costs of `G` and of `R9` are the two sums of B_i in the objective.",
    "2": OBJECTIVE,
    "2a": "R10:from", "2b": "R7, R10:to", "2c": "R4, R5, R6", "2d": "R11",
    "2e": "`R1`, `R2` and `R3`: of the slots in which a job runs, `e` marks the last.",
    "2f": "`y` and `h`, the chunks trained in a slot, are whole. `G`, the chunks moved in all "
    "slots, is then whole in some optimum, as in any transport problem; dealt to slots it is g.",
    "2g": "s",
    "2h": "`y`, `s` and `h` have no slot before a_i.",
}  # fmt: skip
"""Where the paper's statements are in the integer program."""
