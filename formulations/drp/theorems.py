"""What the paper proves of R-DR and R-DSR, evaluated on one instance and one decision.

Propositions 1 and 2 and Theorems 5 and 6 are about a relaxation's point and what rounding makes of
it, Theorem 3 about the number of jobs that a decision admits. What is proven must hold; what the
paper prints and counterexamples refute is reported as it turns out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from formulations.drp.check import check, check_dsrp
from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.lp1_lp2 import fixed_share
from formulations.drp.priced_relaxation import (
    PricedRelaxation,
    job_tables,
    placed_whole,
    relax,
)
from formulations.drp.problem_p3_p5 import soc_relaxation, whole_jobs
from formulations.drp.prune import prune
from formulations.drp.r_dsr_filtering import POSITIVE, around_centres, filtered
from formulations.drp.residual_capacity import Room
from formulations.drp.schedule import Schedule
from optsched.problem.certificate import Certificate, at_most, feasibility
from optsched.solve import solve

PAPER = "Chen et al."
LAMBDA = 1 / 3
"""lambda of (28), as in the paper."""


def certify(instance: Instance, schedule: Schedule) -> list[Certificate]:
    """Propositions and theorems of Section 3 on a decision of DRP."""
    every = np.ones(instance.num_pairs, dtype=np.bool_)
    room, share = Room.empty(instance), instance.comm_share
    allowed, alive = prune(instance, room, every, variant="paper", mode="eps", comm_share=share)
    solution = solve(fixed_share(instance, comm_share=share, allowed=allowed).relax())
    admitted = int(schedule.admit.sum())
    found = [
        feasibility(f"{PAPER}, problem (5)", check(instance, schedule)),
        _any_choice_fits(instance, allowed),
    ]
    found.append(_proposition_1(instance, solution["y"], alive))
    found += _theorem_3(instance, admitted, float(solution.objective or 0.0))
    return found


def certify_dsrp(instance: Instance, schedule: Schedule) -> list[Certificate]:
    """Propositions and theorems of Section 4 on the point of LP2 and a decision of DSRP."""
    relaxed = relax(instance, "eps", instance.comm_share)
    found = [feasibility(f"{PAPER}, problem (22)", check_dsrp(instance, schedule))]
    jobs = np.flatnonzero((relaxed.admit > POSITIVE) & placed_whole(instance, relaxed))
    rounded = [_rounded(instance, relaxed, job) for job in jobs.tolist()]
    gain = (1 + LAMBDA) / LAMBDA
    found.append(
        _worst(
            "Theorem 5", "Psi(x'', z'') <= (1 + 1/lambda) Psi(x', z'), of every job",
            {one.job: (one.filtered, gain * one.relaxed) for one in rounded}, expected=True,
        )
    )  # fmt: skip
    for name, literal in (("as printed", True), ("within reach", False)):
        opened = {one.job: (one.opened[literal], 1.0) for one in rounded}
        found.append(
            _worst(
                f"Proposition 2, {name}",
                "of the servers near one centre, (28), the job's centres open one",
                opened, expected=literal,
            )
        )  # fmt: skip
    most = max(3 * (1 + LAMBDA), 1 + 1 / LAMBDA)
    found.append(
        _worst(
            "Theorem 6, as printed", "Psi(x~, z~) <= max(3 (1 + lambda), 1 + 1/lambda) Psi(x', z')",
            {one.job: (one.cost + one.rent, most * one.relaxed) for one in rounded},
        )
    )  # fmt: skip
    found.append(
        _worst(
            "Theorem 6, corrected",
            "Q(x~) <= (1 + lambda) kappa Q(x'), kappa the largest ratio of rates or data in a job",
            {one.job: (one.cost, (1 + LAMBDA) * one.kappa * one.association) for one in rounded},
            expected=True,
        )
    )
    return found


def _any_choice_fits(instance: Instance, allowed: Booleans) -> Certificate:
    """What the safeguard rests on: one job alone fits on what PRUNE left, however it is drawn."""
    key = instance.pair_job * instance.num_servers + instance.pair_server
    size = instance.num_jobs * instance.num_servers
    share = instance.comm_share
    loads = [
        np.bincount(key[allowed], weights=load[allowed], minlength=size)
        for load in (
            instance.inbound_load, instance.compute_load / (1 - share), instance.comm_load / share,
        )
    ]  # fmt: skip
    worst = max((float(load.max(initial=0.0)) for load in loads), default=0.0)
    return Certificate(
        "PRUNE", f"{PAPER}, Algorithm 1, lines 22 to 31",
        "all nodes of one job that may use a server fit there together: load over capacity <= 1",
        at_most(worst, 1.0), expected=True, left=worst, right=1.0,
    )  # fmt: skip


def _proposition_1(instance: Instance, admit: Floats, alive: Booleans) -> Certificate:
    """Every round admits a job, so at most as many rounds as jobs: with what probability not."""
    nodes = np.bincount(instance.node_job, minlength=instance.num_jobs)
    whole = np.clip(admit, 0.0, 1.0) ** nodes  # every node of the job is drawn somewhere
    nobody = float(np.prod(1 - whole[alive])) if alive.any() else 0.0
    if nobody < POSITIVE:
        nobody = 0.0
    return Certificate(
        "Proposition 1, as printed", f"{PAPER}, Proposition 1",
        "a round of R-DR admits a job: left, the probability that rounding LP1 draws none whole",
        at_most(nobody, 0.0, 0.0), left=nobody, right=0.0,
        detail="true with the safeguard of r_dr, which draws one job anew in such a round",
    )  # fmt: skip


def most_nodes(instance: Instance) -> int:
    """eta: most data nodes that fit on any server by inbound bandwidth."""
    most = 0
    for server in range(instance.num_servers):
        loads = np.sort(instance.inbound_load[instance.pair_server == server])
        most = max(most, int((np.cumsum(loads) <= 1 + 1e-9).sum()))
    return most


def share_of_theorem_3(nodes: int, eta: int) -> float:
    """1/2 + eta / (2 n) - 1 / sqrt(2 pi eta): the printed share of the optimum."""
    return 0.5 + eta / (2 * nodes) - 1 / sqrt(2 * pi * eta)


def factor_of_theorem_3(instance: Instance) -> float:
    """The optimum over the jobs of R-DR by Theorem 3; infinite if no node fits on any server."""
    eta = most_nodes(instance)
    return 1 / share_of_theorem_3(instance.num_data_nodes, eta) if eta else inf


def smallest_capacity_over_demand(instance: Instance) -> float:
    """Return alpha of (32): the least capacity of any server over the largest demand of any node.

    Infinite if no node demands anything; every demand of inbound bandwidth is above 0.
    """
    share = instance.comm_share
    return min(
        float(capacity.min() / demand.max(initial=0.0)) if demand.any() else inf
        for capacity, demand in (
            (instance.server_inbound_bps, instance.node_rate_bps),
            (instance.server_outbound_bps, instance.node_outbound / share),
            (instance.server_compute_flops, instance.node_compute / (1 - share)),
        )
    )


def factor_of_r_dsr(instance: Instance) -> float:
    """3 log n / alpha + 3 of (38) and (39): 1 + rho, the value of LP2 over the jobs of R-DSR.

    Infinite for one node: (37) is about n >= 2.
    """
    nodes = instance.num_data_nodes
    return 3 * log(nodes) / smallest_capacity_over_demand(instance) + 3 if nodes >= 2 else inf


def _theorem_3(instance: Instance, admitted: int, relaxed: float) -> Iterator[Certificate]:
    eta = most_nodes(instance)
    named = "Theorem 3, as printed, against"
    if not eta:
        for against in ("LP1 after PRUNE", "the optimum"):
            yield Certificate(
                f"{named} {against}", f"{PAPER}, Theorem 3", "left <= jobs admitted",
                "not_applicable", detail="no node fits on any server",
            )  # fmt: skip
        return
    share = share_of_theorem_3(instance.num_data_nodes, eta)
    what = f"share {share:.4g} of the optimum, eta = {eta}"
    yield Certificate(
        f"{named} LP1 after PRUNE", f"{PAPER}, Theorem 3",
        "share of what the paper calls optimal <= jobs admitted: left <= right",
        at_most(share * relaxed, admitted), left=share * relaxed, right=float(admitted),
        detail=what,
    )  # fmt: skip
    bound = soc_relaxation(instance).bound
    most = instance.num_jobs if bound is None else min(instance.num_jobs, whole_jobs(bound))
    kept = at_most(share * most, admitted) == "holds"
    yield Certificate(
        f"{named} the optimum", f"{PAPER}, Theorem 3",
        "share of a bound on the optimum <= jobs admitted: left <= right",
        "holds" if kept else "undecided", left=share * most, right=float(admitted),
        detail=f"{what}; the optimum is at most {most}",
    )  # fmt: skip


class _Rounded(NamedTuple):
    """One job of LP2's point, filtered and rounded, at the prices of that point."""

    job: int
    association: float
    """Q(x')."""
    relaxed: float
    """Psi(x', z')."""
    filtered: float
    """Psi(x'', z'')."""
    cost: float
    """Q(x~)."""
    rent: float
    """P(z~)."""
    kappa: float
    opened: Mapping[bool, float]
    """Most servers opened by centres near one node, as printed and within reach."""


def _rounded(instance: Instance, relaxed: PricedRelaxation, job: int) -> _Rounded:
    x, cost, reach = job_tables(instance, relaxed, job)
    x = x / x.sum(axis=1, keepdims=True)
    part = filtered(x, cost, LAMBDA)
    price = relaxed.service_price * instance.service_load[instance.job_service[job]]
    nodes = instance.job_nodes[job]
    servers = {
        literal: around_centres(part.theta, part.near, reach, price, literal=literal)
        for literal in (True, False)
    }
    inside, _ = servers[False]
    rate, data = instance.node_rate_bps[nodes], instance.node_data_bytes[nodes]
    association = float((cost * x).sum())
    return _Rounded(
        job,
        association,
        association + float(price @ x.max(axis=0)),
        float((cost * part.x).sum() + price @ part.z),
        float(cost[np.arange(len(nodes)), inside].sum()),
        float(price[np.unique(inside)].sum()),
        float(max(rate.max() / rate.min(), data.max() / data.min())),
        {literal: _opened(part.near, *made) for literal, made in servers.items()},
    )


def _opened(near: Booleans, servers: Integers, followed: Integers) -> float:
    """Most servers that centres opened among those near one centre."""
    centres = np.unique(followed)
    opened = np.zeros(near.shape[1], dtype=bool)
    opened[servers[centres]] = True
    return float((near[centres] & opened).sum(axis=1).max())


def _worst(
    name: str, claim: str, sides: Mapping[int, tuple[float, float]], *, expected: bool = False
) -> Certificate:
    """A statement about every job, at the job where it is tightest or fails worst."""
    source = f"{PAPER}, {name.split(',')[0]}"
    if not sides:
        return Certificate(name, source, claim, "not_applicable", detail="LP2 admits no job")
    job = max(sides, key=lambda j: sides[j][0] - sides[j][1])
    left, right = sides[job]
    return Certificate(
        name, source, claim, at_most(left, right, 1e-7), expected=expected, left=left, right=right,
        where={"job": job},
    )  # fmt: skip
