"""From a solver's point to a decision: associations, closed-form allocation, services placed."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.drp.instance import NO_SERVER, Booleans, Floats, Instance, Integers
from formulations.drp.loads import allocate, allocate_by_share, pairs_of
from formulations.drp.problem_22 import placements
from formulations.drp.residual_capacity import Mode, share_of
from formulations.drp.schedule import Schedule
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
