"""Problem (2) under the paper's numbers: chunks moved slot by slot, products of worker and server.

The product y s and the conditions of (2c) and (2e) stay what they are in the model; a solver that
does not know them gets the exact linear rows (McCormick for the product).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.okita.horizon import HorizonMode, Windows
from formulations.okita.instance import Instance
from formulations.okita.problem_2_aggregated import add_capacity, deployed, problem_windows
from formulations.okita.schedule import Schedule
from optsched.model import Model
from optsched.model.variables import Variable
from optsched.problem import OBJECTIVE
from optsched.solvers.solution import Solution


def problem_2(
    instance: Instance,
    *,
    horizon_mode: HorizonMode = "safe",
    cut_off: bool = True,
    cost_limit: float | None = None,
    aggregate_2a: bool = False,
) -> Model:
    """(2) as the paper states it, with (2a) per site and (2h).

    Args:
        instance: the system and its jobs.
        horizon_mode: see ``windows``.
        cut_off: leave out slots in which a job's latency alone would cost too much.
        cost_limit: cost of a schedule known, by which to cut off; None: one is made.
        aggregate_2a: (2a) summed over sites, as a related article prints it. It is wrong: all
            chunks may be trained as local ones of a single site, at no cost.

    Raises:
        InputError: an unknown mode, or latencies beyond what a solver may see.
    """
    span = problem_windows(instance, horizon_mode, cut_off=cut_off, cost_limit=cost_limit)
    model = Model("problem (2)")
    job, _ = span.cells
    cells, sites = len(job), instance.sites
    useful = instance.useful_workers[job]
    y = model.integer("y", (cells, sites), upper=useful, formula="y_i^r(t)")
    s = model.binary("s", (cells, sites), formula="s_i^r(t)")
    x = model.binary("x", cells, formula="x_i(t)")
    supply = instance.total_chunks[job, None] if aggregate_2a else instance.num_chunks[job]
    shape = (cells, sites, sites)
    limit = np.broadcast_to(np.broadcast_to(supply, (cells, sites))[:, :, None], shape)
    g = model.integer("g", shape, upper=limit, formula="g_i^{rr'}(t)")
    q = instance.unit_bandwidth_cost
    key = job[:, None] * sites + np.arange(sites)
    sent = g.sum(axis=2).sum_by(key, instance.jobs * sites).reshape(instance.jobs, sites)
    if aggregate_2a:
        model.add("2a", sent.sum(axis=1) == instance.total_chunks)
    else:
        model.add("2a", sent == instance.num_chunks, formula="\\sum_{t,r'} g_i^{rr'}(t) = D_i^r")
    rate, work = instance.rate_numerator[job, None], instance.work_per_chunk[job, None]
    model.add(
        "2b", y * rate - g.sum(axis=1) * work >= 0,
        formula="\\rho_i y_i^{r'}(t) \\ge E_i \\sum_r g_i^{rr'}(t)",
    )  # fmt: skip
    model.add(
        "2c", s.sum(axis=1) - x == 0,
        formula=r"\sum_r s_i^r(t) = 1 \text{ if } \sum_r y_i^r(t) > 0, \text{ else } 0",
    )  # fmt: skip
    model.add("runs", y.sum(axis=1) - x >= 0)
    model.add("pauses", y - x.reshape(cells, 1) * useful <= 0)
    add_capacity(model, "2d", instance, span, y, s)
    w = model.product(
        y.reshape(cells, sites, 1), s.reshape(cells, 1, sites), name="w",
        formula="y_i^r(t) s_i^{r'}(t)",
    )  # fmt: skip
    exchange = (w * (instance.exchange_size_mb[job][:, None, None] * q)).sum()
    data = (g * (instance.chunk_size_mb[job][:, None, None] * q)).sum()
    model.minimize(
        _latency(model, span, x) + exchange + data,
        formula="\\sum_i f_i(t_i - a_i) + \\sum_{i,t,r,r'} q^{rr'} (\\delta_i g_i^{rr'}(t) + "
        "\\pi_i y_i^r(t) s_i^{r'}(t))",
    )
    return model


def _latency(model: Model, span: Windows, x: Variable) -> Any:
    """Sum of f_i(t_i - a_i), where t_i is the last slot in which the job runs (2e)."""
    total: Any = 0.0
    for i in range(span.instance.jobs):
        mine = slice(*span.first_cell[i : i + 2])
        formula = r"t_i = \max \{t : \sum_r y_i^r(t) > 0\}"
        position = model.last_active(x[mine], name=f"2e:{i}", formula=formula)
        model.add(f"served:{i}", position >= 0)
        # entry 0 stands for "never", which the row above rules out
        values = span.flow_cost[mine]
        total = total + model.table(np.append(values[:1], values), position + 1, name=f"f:{i}")
    return total


def decode_problem_2(
    instance: Instance,
    solution: Solution,
    *,
    horizon_mode: HorizonMode = "safe",
    cut_off: bool = True,
    cost_limit: float | None = None,
    **_: Any,
) -> Schedule:
    """The schedule of a solved model."""
    span = problem_windows(instance, horizon_mode, cut_off=cut_off, cost_limit=cost_limit)
    job, slot = span.cells
    moved = np.round(solution["g"]).astype(np.int64)
    move, source, target = np.nonzero(moved)
    chunks = moved[move, source, target]
    moves = np.column_stack([job[move], slot[move], source, target, chunks])
    return deployed(span, solution, moves)


EQUATIONS = {
    "1": "`g` and `w`, which is y s, are the two sums of B_i in the objective.",
    "2": OBJECTIVE, "2a": "2a", "2b": "2b", "2c": "2c", "2d": "2d", "2e": "2e",
    "2f": "y, g", "2g": "s",
    "2h": "`y`, `s` and `g` have no slot before a_i.",
}  # fmt: skip
"""Where the paper's statements are in this model."""
