"""Problem (6): the dual of the linear relaxation of (4), as printed and as it should be.

Printed, it has two defects: a row for slots in which the primal variable does not exist (before
the upload is done), and no variable for (4e), which the paper takes for redundant.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from formulations.preemptive.instance import CLOUD, Instance, Integers
from formulations.preemptive.problem_4 import Rates, refuse_unknown, worker_cells
from formulations.preemptive.time_indexed.grid import build_grid
from optsched.instances.arrays import compress, ranges
from optsched.model import Model
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE
from optsched.problem.methods import Formulation


def problem_6(
    instance: Instance,
    *,
    rates: Rates = "fast",
    chunk_parallelism: bool = True,
    printed_rows: bool = False,
) -> Model:
    """(6'): maximise sum alpha - sum beta - sum delta, one row per (job, chunk, worker, slot).

    Its optimum is that of the linear relaxation of ``problem_4`` at the same rates.

    Args:
        instance: times are taken up to whole slots.
        rates: "fast" or "slow": the one speed of a job.
        chunk_parallelism: keep the dual variable of (4e); without it, the dual of (4) less (4e).
        printed_rows: rows for all t >= r_j as printed; without ``chunk_parallelism``, as printed
            too, the optimum is then 0 if every job may use the cloud.

    Raises:
        InputError: ``rates`` is neither "fast" nor "slow".
    """
    return dual_of_4(
        instance,
        "problem (6)",
        "6a",
        rates=rates,
        chunk_parallelism=chunk_parallelism,
        printed_rows=printed_rows,
    )


def dual_of_4(
    instance: Instance,
    name: str,
    row_name: str,
    *,
    rates: Rates,
    chunk_parallelism: bool,
    printed_rows: bool = False,
    storage: bool = False,
) -> Model:
    """The dual that (6), (9) and (11) share.

    Args:
        instance: times are taken up to whole slots.
        name: of the model.
        row_name: number of its rows.
        rates: "fast" or "slow".
        chunk_parallelism: as in ``problem_6``.
        printed_rows: as in ``problem_6``.
        storage: with a price eta_s(t) of the storage that a chunk takes while it is trained.

    Raises:
        InputError: ``rates`` is neither "fast" nor "slow".
    """
    refuse_unknown(rates, ("fast", "slow"))
    grid = build_grid(instance, hub=False, slow_cloud=rates == "slow")
    job, worker, slot = worker_cells(grid)
    if printed_rows:
        job, worker, slot = _from_release(instance, grid.end_slot)
    duration = instance.chunk_time_fast if rates == "fast" else instance.chunk_time_slow
    owner, chunk = ranges(np.zeros(len(job)), instance.num_chunks[job])
    job, worker, slot = job[owner], worker[owner], slot[owner]
    first_chunk = np.cumsum(instance.num_chunks) - instance.num_chunks
    chunk = first_chunk[job] + chunk
    horizon = int(grid.end_slot.max()) + 1
    model = Model(name)
    alpha = model.continuous("alpha", int(instance.num_chunks.sum()), formula=r"\alpha_{jd}")
    edge = np.flatnonzero(worker != CLOUD)
    price, keys = compress(worker[edge] * horizon + slot[edge])
    beta = model.continuous("beta", len(keys), formula=r"\beta_w(t)")
    # a row reads alpha <= w_j (t - r_j) + p_j (beta + delta); the cloud's beta is 0
    priced = beta[price] * duration[job[edge]]
    left = alpha[chunk] - priced.sum_by(edge, len(job))
    value = alpha.sum() - beta.sum()
    formula, goal = r"\beta_{sw}(t)", r"\sum_j \sum_d \alpha_{jd} - \sum_{s,w,t} \beta_{sw}(t)"
    if chunk_parallelism:
        pause, keys = compress(chunk * horizon + slot)
        delta = model.continuous("delta", len(keys), formula=r"\delta_{jd}(t)")
        left = left - delta[pause] * duration[job]
        value = value - delta.sum()
        formula += r" + \delta_{jd}(t)"
        goal += r" - \sum_{j,d,t} \delta_{jd}(t)"
    if storage:
        server = instance.worker_server[worker[edge]]
        limited = np.isfinite(instance.storage_capacity[server])
        kept = edge[limited]
        shelf, keys = compress(server[limited] * horizon + slot[kept])
        eta = model.continuous("eta", len(keys), formula=r"\eta_s(t)")
        size = instance.chunk_storage[job[kept]] * duration[job[kept]]
        left = left - (eta[shelf] * size).sum_by(kept, len(job))
        value = value - eta @ instance.storage_capacity[keys // horizon]
        formula += r" + \eta_s(t) u_j"
        goal += r" - \sum_{s,t} \eta_s(t) U_s"
    model.maximize(value, formula=ours(goal) if chunk_parallelism else goal)
    age = slot - instance.release_time[job]
    rate = r"\frac{n_{jsw}}{E_j B_j}"  # the row is said for p_j, its inverse, on both sides
    row = rf"\alpha_{{jd}} {rate} \le \frac{{n_{{jsw}}}}{{E_j D_j B_j}} (t - r_j) + {formula}"
    model.add(
        row_name,
        left <= instance.weight[job] * age,
        formula=row if printed_rows and not chunk_parallelism else ours(row),
    )
    return model


def _from_release(instance: Instance, end: Integers) -> tuple[Integers, Integers, Integers]:
    """(job, worker, slot) for every slot from release on, whatever the upload takes."""
    job, worker = np.nonzero(instance.worker_eligible)
    open_ = np.flatnonzero(np.isfinite(instance.upload_delay_cloud))
    job = np.concatenate([job, open_])
    worker = np.concatenate([worker, np.full(len(open_), CLOUD)])
    owner, slot = ranges(np.ceil(instance.release_time[job]), end[job])
    return job[owner], worker[owner], slot


EQUATIONS = {"6": OBJECTIVE, "6a": "6a", "6b": "alpha, beta"}

FORMULATIONS = (
    Formulation("problem_6", problem_6, "problem (6)",
                "dual of the linear relaxation of (4), corrected", equations=EQUATIONS),
    Formulation("problem_6_printed",
                partial(problem_6, chunk_parallelism=False, printed_rows=True), "problem (6)",
                "as printed: the optimum is 0 if every job may use the cloud", equations=EQUATIONS),
)  # fmt: skip
