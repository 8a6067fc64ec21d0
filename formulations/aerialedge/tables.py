"""The paper's deployments (Table II) and workloads (Table III), and what they mean as nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from formulations.aerialedge.instance import Floats, Instance
from optsched.errors import InputError

Nodes = Literal["decoded", "two_core", "devices"]
"""decoded: C/2 nodes of two cores (Drone 1: one core each), which the published percentages fit;
two_core: the same on Drone 1, too; devices: one node per device."""


@dataclass(frozen=True)
class Drone:
    """A row of Table II and the row of Table III that was run on it."""

    cpu_cores: float
    mem_gib: float
    devices: tuple[tuple[float, float], ...]
    """(cores, GiB) of each device; those of Drones 1 and 2 are partly assumed, by their sums."""
    jobs: int
    tasks: int
    depth: int
    """Largest dependency depth."""
    total_cpu: float
    total_mem: float
    total_time: float
    """Sum of execution times, seconds."""
    mem_sigma: float = 0.5
    """Sigma of the log-normal memory demands."""


_AZURE, _HIVECELL, _EL300, _INTELLIEDGE = (16.0, 48.0), (6.0, 8.0), (4.0, 8.0), (8.0, 16.0)

DRONES = (
    Drone(12, 8, ((2, 4), (6, 2), (4, 2)), 1, 17, 17, 8.5, 3.5, 384.9, mem_sigma=0.3),
    Drone(18, 258, ((16, 256), (2, 2)), 3, 24, 17, 14.5, 5.77, 456.23),
    Drone(16, 24, (_EL300, _HIVECELL, _HIVECELL), 5, 16, 10, 13.75, 4.94, 506.75),
    Drone(26, 72, (_INTELLIEDGE, _AZURE, (2, 8)), 8, 26, 10, 21.45, 7.74, 609.9),
    Drone(40, 112, (_AZURE, _AZURE, _INTELLIEDGE), 13, 38, 8, 34.0, 12.92, 387.83),
    Drone(76, 208, (_AZURE,) * 4 + (_HIVECELL,) * 2, 16, 77, 16, 64.05, 27.57, 1261.65),
)
"""Drones 1 to 6."""

LEAST_NODES = (9, 8, 7, 11, 17, 33)
"""Optimum of ``make_table3`` on the decoded nodes of each drone, and of every seed."""


def node_capacities(drone: int, nodes: Nodes = "decoded") -> Floats:
    """Capacities of the nodes of a drone (cores, GiB), shape (nodes, 2).

    Args:
        drone: 1 to 6.
        nodes: see ``Nodes``.

    Raises:
        InputError: another drone or another kind of nodes.
    """
    if not 1 <= drone <= len(DRONES):
        raise InputError.of("drone", drone, f"1..{len(DRONES)}")
    of = DRONES[drone - 1]
    if nodes == "devices":
        return np.array(of.devices)
    if nodes not in ("decoded", "two_core"):
        raise InputError.of("nodes", nodes, "must be one of decoded, two_core, devices")
    cores = 1.0 if drone == 1 and nodes == "decoded" else 2.0
    count = int(of.cpu_cores / cores)
    return np.tile([cores, of.mem_gib / count], (count, 1))


def fleet(
    instance: Instance,
    travel_time: list[float],
    *,
    nodes: Nodes = "decoded",
    flight_time: list[float] | float = 1800.0,
) -> Instance:
    """The same multi-job before all six drones of Table II.

    Args:
        instance: whose jobs to take.
        travel_time: f_i^l of Drones 1 to 6, seconds.
        nodes: see ``Nodes``.
        flight_time: f_i, seconds.
    """
    parts = [node_capacities(drone, nodes) for drone in range(1, len(DRONES) + 1)]
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return replace(
        instance,
        capacity=np.concatenate(parts),
        node_deployment=owner,
        node_cost=np.ones(len(owner)),
        flight_time=np.broadcast_to(np.asarray(flight_time, dtype=float), (len(parts),)),
        travel_time=np.array(travel_time, dtype=float),
        deployment_name=tuple(f"Drone {drone}" for drone in range(1, len(parts) + 1)),
    )
