"""[P3]: the second-order-cone relaxation, solved by tangent cuts at the top eigenvectors."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from formulations.drp.instance import Booleans, Floats, Instance
from formulations.drp.loads import Loads, cut_weights, server_loads
from formulations.drp.projected import ANGLES, cut_room, tangent_model
from formulations.drp.residual_capacity import Room
from optsched.decomposition import solve_with_cuts
from optsched.decomposition.cuts import Cut
from optsched.errors import ModelError
from optsched.model import Model
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution, Status

TOLERANCE = 1e-7
"""Excess of a load factor over 1 up to which a point of the relaxation counts as feasible."""
HONOURS = frozenset(Options.__dataclass_fields__) - {"warm_start"}
"""What may be asked of it: all that HiGHS heeds."""
FLOOR_SLACK = 1e-6
"""Added to a bound before it is rounded down to whole jobs: the solver's own tolerance."""
COARSE = 1e-3
"""Tolerance where only the whole part of the bound, or a point to round, is wanted."""


def soc_relaxation(
    instance: Instance,
    *,
    services: bool = False,
    tolerance: float = TOLERANCE,
    angles: int = ANGLES,
    allowed: Booleans | None = None,
    room: Room | None = None,
    options: Options | None = None,
) -> Solution:
    """Solve [P3], or its counterpart for (22).

    Its bound is true whatever the tolerance: every cut holds on the whole cone.

    Args:
        instance: the system.
        services: (22) in place of (5).
        tolerance: on load factors.
        angles: of the grid of cuts to begin with.
        allowed: pairs that may be used, shape (pairs,); None: all.
        room: what is taken of the servers already; None: nothing.
        options: limits over all rounds together.
    """
    model = tangent_model(
        instance, services=services, angles=angles, integer=False, allowed=allowed, room=room
    )

    def separate(values: Mapping[str, Floats]) -> list[Cut]:
        loads = server_loads(instance, values["x"])
        if room is not None:
            loads = Loads(*(new + old for new, old in zip(loads, room.loads, strict=True)))
        return eigenvector_cuts(model, instance, loads, tolerance, room)

    return solve_with_cuts(model, separate, options=options).solution


def eigenvector_cuts(
    model: Model, instance: Instance, loads: Loads, tolerance: float, room: Room | None = None
) -> list[Cut]:
    """The most violated (CUT) of every server whose load factor exceeds 1 by the tolerance."""
    over = np.flatnonzero(loads.factor > 1 + tolerance)
    if not len(over):
        return []
    angle = loads.angle
    weight = cut_weights(instance, angle[instance.pair_server])
    row = np.full(instance.num_servers, -1)
    row[over] = np.arange(len(over))
    pairs = np.flatnonzero(row[instance.pair_server] >= 0)
    load = (model["x"][pairs] * weight[pairs]).sum_by(row[instance.pair_server[pairs]], len(over))
    right = np.broadcast_to(cut_room(room, angle), angle.shape)
    return [("CUT", load <= right[over])]


def whole_jobs(bound: float) -> float:
    """A bound on a number of jobs, rounded down."""
    return float(math.floor(bound + FLOOR_SLACK))


def soc_bound(instance: Instance, *, services: bool = False) -> float:
    """floor(z_SOC + 1e-6).

    Raises:
        ModelError: the linear programs fail.
    """
    solution = soc_relaxation(instance, services=services, tolerance=COARSE)
    if solution.status is not Status.OPTIMAL or solution.bound is None:
        raise ModelError(f"the relaxation ended {solution.status}: {solution.message}")
    return whole_jobs(solution.bound)
