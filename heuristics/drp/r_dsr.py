"""R-DSR (Algorithm 2): relax, admit at random, round each job's nodes around few servers.

Without repair its decision may exceed capacities and storage; ``utilisation`` says by how much.
The repaired variant makes it feasible and fills what is left. As printed, it also admits jobs by
the wrong side of the number drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from formulations.drp.check import utilisation
from formulations.drp.decode import schedule_of
from formulations.drp.instance import NO_SERVER, Floats, Instance, Integers
from formulations.drp.priced_relaxation import PricedRelaxation, job_tables, placed_whole, relax
from formulations.drp.r_dsr_filtering import around_centres, filtered
from formulations.drp.residual_capacity import Mode
from formulations.drp.schedule import Schedule
from heuristics.drp.options import checked_share
from heuristics.drp.servers import Servers
from optsched.errors import InputError
from optsched.problem.calls import Positive, Share


@dataclass(frozen=True, eq=False, kw_only=True)
class PlacementRun(Schedule):
    """The decision of R-DSR, with its relaxation and what it was before the repair."""

    relaxation: float
    """Value of LP2, or of the second-order-cone relaxation, jobs."""
    raw_throughput: int
    """Jobs admitted before the repair."""
    raw_load: dict[str, float]
    """Largest load over capacity before the repair: inbound, compute, outbound, storage."""


def r_dsr(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    comm_share: Share | None = None,
    lam: Positive = 1 / 3,
    repair: bool = True,
    printed: bool = False,
) -> PlacementRun:
    """Run R-DSR.

    Args:
        instance: the system.
        rng: one uniform number per job.
        mode: "eps", the paper's LP2; "exact", the second-order-cone relaxation.
        comm_share: epsilon of mode "eps"; None: the instance's.
        lam: lambda of (28), > 0.
        repair: move what does not fit and fill up; False keeps the rounded decision, which in
            general breaks capacities.
        printed: line by line, errors included: a job is admitted where the number drawn is above
            y_k, so with probability 1 - y_k (a job with y_k = 0, by which (26) divides, is not),
            and nodes follow a centre to servers out of their reach.

    A job is not admitted either where y_k is above 0 within the solver's tolerance only, so that
    the relaxation places nothing of one of its nodes.

    Raises:
        InputError: an option out of range.
        ModelError: the relaxation fails.
    """
    share = checked_share(instance, mode, comm_share)
    if not (lam > 0 and math.isfinite(lam)):
        raise InputError.of("lam", lam, "a finite number > 0")
    relaxed = relax(instance, mode, share)
    return place(instance, rng, relaxed, mode, share, lam=lam, repair=repair, printed=printed)


def place(
    instance: Instance,
    rng: np.random.Generator,
    relaxed: PricedRelaxation,
    mode: Mode,
    share: float,
    *,
    lam: float = 1 / 3,
    repair: bool = True,
    printed: bool = False,
) -> PlacementRun:
    """R-DSR from its relaxation on; arguments and errors are the same as of ``r_dsr``."""
    drawn = rng.random(instance.num_jobs)
    admit = (drawn > relaxed.admit) & (relaxed.admit > 0) if printed else drawn < relaxed.admit
    admit &= placed_whole(instance, relaxed)
    assoc = round_jobs(instance, relaxed, np.flatnonzero(admit), lam, literal=printed)
    raw = schedule_of(instance, assoc, services=True, mode=mode, comm_share=share)
    made = raw
    if repair:
        assoc = repaired(instance, assoc, relaxed.admit, mode, share)
        made = schedule_of(instance, assoc, services=True, mode=mode, comm_share=share)
    return PlacementRun(
        **{f.name: getattr(made, f.name) for f in fields(Schedule)},
        relaxation=relaxed.value,
        raw_throughput=int(raw.admit.sum()),
        raw_load=utilisation(instance, raw),
    )


def r_dsr_raw(
    instance: Instance,
    rng: np.random.Generator,
    *,
    mode: Mode = "eps",
    comm_share: Share | None = None,
    lam: Positive = 1 / 3,
    printed: bool = False,
) -> PlacementRun:
    """R-DSR without repair: its decision in general breaks capacities, and the checker says so."""
    return r_dsr(
        instance, rng, mode=mode, comm_share=comm_share, lam=lam, repair=False, printed=printed
    )


def round_jobs(
    instance: Instance,
    relaxed: PricedRelaxation,
    jobs: Integers,
    lam: float,
    *,
    literal: bool = False,
) -> Integers:
    """Server of each node of the admitted jobs, ``NO_SERVER`` for all others; shape (nodes,).

    ``literal``: see ``around_centres``.
    """
    assoc = np.full(instance.num_data_nodes, NO_SERVER)
    for job in jobs.tolist():
        x, cost, reach = job_tables(instance, relaxed, job)
        part = filtered(x / x.sum(axis=1, keepdims=True), cost, lam)
        size = instance.service_load[instance.job_service[job]]
        price = relaxed.service_price * size
        servers, _ = around_centres(part.theta, part.near, reach, price, literal=literal)
        assoc[instance.job_nodes[job]] = servers
    return assoc


def repaired(
    instance: Instance, assoc: Integers, admit: Floats, mode: Mode, comm_share: float
) -> Integers:
    """A feasible association near a given one, then other jobs where there is room.

    Args:
        instance: the system.
        assoc: server of each node of the jobs to keep, shape (nodes,).
        admit: y of the relaxation, by which jobs take precedence, shape (jobs,).
        mode: how resources are tested.
        comm_share: epsilon.
    """
    servers = Servers(instance, mode, comm_share, services=True)
    order = np.lexsort((np.arange(instance.num_jobs), -np.round(admit, 9)))
    kept = (
        np.bincount(instance.node_job, weights=assoc == NO_SERVER, minlength=instance.num_jobs)[
            order
        ]
        == 0
    )
    for job in np.concatenate([order[kept], order[~kept]]).tolist():
        before = servers.now.copy()
        if not _place_job(servers, job, assoc):
            servers.now = before
    return servers.now.assoc


def _place_job(servers: Servers, job: int, preferred: Integers) -> bool:
    """Place every node of a job, the least flexible first; whether all found a server."""
    instance = servers.instance
    nodes = instance.job_nodes[job]
    for node in nodes[np.lexsort((nodes, instance.degree[nodes]))].tolist():
        pairs = servers.candidates(node)
        at = instance.pair_server[pairs]
        order = np.lexsort(
            (at, servers.utilisation(at), servers.new_service(pairs), at != preferred[node])
        )
        good = servers.fits(pairs[order])
        if not good.any():
            return False
        servers.place(int(pairs[order[np.argmax(good)]]))
    return True
