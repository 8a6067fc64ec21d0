"""From a solver's point to a decision: associations, closed-form allocation, services placed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from formulations.drp.fixed_share import (
    drp_eps,
    drp_lin,
    dsrp_eps,
    dsrp_lin,
    lin,
    lin_services,
    lp1,
    lp2,
    share_of,
)
from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.loads import allocate, allocate_by_share, pairs_of
from formulations.drp.problem_5 import problem_5, problem_5_cone
from formulations.drp.problem_22 import placements, problem_22, problem_22_cone
from formulations.drp.projected import problem_5_projected, problem_22_projected
from formulations.drp.prune import lp1_first
from formulations.drp.residual_capacity import Mode
from formulations.drp.schedule import Schedule
from optsched.problem import Formulation
from optsched.solvers.solution import Solution


def assoc_of(instance: Instance, x: Floats) -> Integers:
    """Server of each node with x_ij > 1/2, ``NO_SERVER`` where there is none."""
    chosen = np.flatnonzero(x > 0.5)
    assoc = np.full(instance.num_data_nodes, NO_SERVER)
    assoc[instance.pair_node[chosen]] = instance.pair_server[chosen]
    return assoc


def schedule_of(
    instance: Instance,
    assoc: Integers,
    *,
    services: bool = False,
    mode: Mode = "exact",
    comm_share: float | None = None,
) -> Schedule:
    """The decision that admits the jobs all of whose nodes are associated.

    Args:
        instance: the system.
        assoc: server of each node, shape (nodes,); those of other jobs are dropped.
        services: place the services the associations need.
        mode: allocate by (P2), or the least amounts under one communication share.
        comm_share: epsilon; None: the instance's.
    """
    missing = np.bincount(instance.node_job, weights=assoc == NO_SERVER)
    admit: Booleans = missing == 0
    kept = np.where(admit[instance.node_job], assoc, NO_SERVER)
    if mode == "exact":
        rows = allocate(instance, kept)
    else:
        rows = allocate_by_share(instance, kept, share_of(instance, comm_share))
    placed = needed_placements(instance, kept) if services else ()
    return Schedule.build(admit=admit, assoc=kept, allocations=rows, placements=placed)


def needed_placements(instance: Instance, assoc: Integers) -> Integers:
    """Rows (service, server) that an association needs."""
    node = np.flatnonzero(assoc != NO_SERVER)
    service = instance.job_service[instance.node_job[node]]
    keys = np.unique(service * instance.num_servers + assoc[node])
    return np.column_stack(np.divmod(keys, instance.num_servers))


def decode(instance: Instance, solution: Solution, *, services: bool = False, **_: Any) -> Schedule:
    """The decision of an exact model's point, allocated by (P2)."""
    return schedule_of(instance, assoc_of(instance, solution["x"]), services=services)


def decode_share(
    instance: Instance,
    solution: Solution,
    *,
    services: bool = False,
    comm_share: float | None = None,
) -> Schedule:
    """The decision of a point of LP1 or LP2 with binaries, with the least amounts."""
    assoc = assoc_of(instance, solution["x"])
    return schedule_of(instance, assoc, services=services, mode="eps", comm_share=comm_share)


def encode(instance: Instance, schedule: Schedule) -> dict[str, Floats]:
    """X and y of a decision, for a warm start."""
    return {"x": pairs_of(instance, schedule.assoc), "y": schedule.admit.astype(float)}


def encode_services(instance: Instance, schedule: Schedule) -> dict[str, Floats]:
    """x, y and z of a decision, for a warm start."""
    place = placements(instance)
    needed = needed_placements(instance, schedule.assoc)
    key = needed[:, 0] * instance.num_servers + needed[:, 1]
    there = np.isin(place.service * instance.num_servers + place.server, key)
    return {**encode(instance, schedule), "z": there.astype(float)}


DRP = (
    Formulation("problem_5_oa", problem_5_projected, "problem (5), [P4]",
                "the same model, handed to the solver or to outer approximation as it is",
                decode, encode),
    Formulation("problem_5_cone", problem_5_cone, "problem (5), (C1)",
                "a second-order cone per job and server", decode, encode),
    Formulation("problem_5", problem_5, "problem (5)",
                "as printed, the deadline rational", decode, encode),
    Formulation("drp_eps", drp_eps, "problem (5) with (12), (13)",
                "one communication share for all jobs: a restriction of (5)",
                decode_share, encode),
    Formulation("drp_lin", drp_lin, "[LIN]",
                "a_j + b_j <= 1: a restriction of (5) without a parameter", decode, encode),
    Formulation("lp1", lp1, "LP1, (6) to (13)",
                "relaxation of drp_eps; no bound on (5)"),
    Formulation("lp1_first", lp1_first, "LP1 after PRUNE",
                "what the paper's evaluation calls optimal; no bound on (5)"),
    Formulation("lin", lin, "[LIN]", "relaxation of drp_lin; no bound on (5)"),
)  # fmt: skip

_decode = partial(decode, services=True)

DSRP = (
    Formulation("problem_22_oa", problem_22_projected, "problem (22), [P5]",
                "the same model, handed to the solver or to outer approximation as it is",
                _decode, encode_services),
    Formulation("problem_22_cone", problem_22_cone, "problem (22), (C1)",
                "a second-order cone per job (or node) and server", _decode, encode_services),
    Formulation("problem_22", problem_22, "problem (22)",
                "as printed, the deadline rational", _decode, encode_services),
    Formulation("dsrp_eps", dsrp_eps, "problem (22) with (30), (31)",
                "one communication share for all jobs: a restriction of (22)",
                partial(decode_share, services=True), encode_services),
    Formulation("dsrp_lin", dsrp_lin, "[LIN]",
                "a_j + b_j <= 1: a restriction of (22) without a parameter",
                _decode, encode_services),
    Formulation("lp2", lp2, "LP2, (23) to (31)", "relaxation of dsrp_eps; no bound on (22)"),
    Formulation("lin", lin_services, "[LIN]", "relaxation of dsrp_lin; no bound on (22)"),
)  # fmt: skip
