"""LP1 and LP2: one communication share for all jobs; [LIN]: the linear model without one."""

from __future__ import annotations

import numpy as np

from formulations.drp.association import association, numbers, per_server
from formulations.drp.instance import Booleans, Instance
from formulations.drp.residual_capacity import Room
from optsched.errors import InputError, ModelError
from optsched.model import Model
from optsched.solve import solve
from optsched.solvers.solution import Status


def lp1(
    instance: Instance,
    *,
    services: bool = False,
    comm_share: float | None = None,
    integer: bool = False,
    allowed: Booleans | None = None,
    room: Room | None = None,
) -> Model:
    """LP1 (6) to (13) or, with services, LP2 (23) to (31), resources eliminated.

    An inner approximation of the resource part: neither a bound on the optimum of (5) nor, being
    relaxed, feasible for it.

    Args:
        instance: the system.
        services: LP2.
        comm_share: epsilon in (0, 1); None: the instance's.
        integer: keep x, y and z binary.
        allowed: pairs that may be used, shape (pairs,); None: all.
        room: what is taken of the servers already; None: nothing.

    Raises:
        InputError: ``comm_share`` is out of range.
    """
    share = share_of(instance, comm_share)
    number = numbers(services)
    name = "LP2" if services else "LP1"
    model = association(
        name, instance, services=services, integer=integer, allowed=allowed, room=room
    )
    taken = (0.0, 0.0) if room is None else (room.loads.compute, room.loads.comm)
    for row, load, part, used, formula in (
        (number.compute, instance.compute_load, 1 - share, taken[0], r"\alpha_{ij} x_i^j \le 1 - "),
        (number.outbound, instance.comm_load, share, taken[1], r"\beta_{ij} x_i^j \le "),
    ):
        # relative to the part, so that a small share is no looser in the solver's tolerance
        model.add(
            row,
            per_server(model, instance, load / part) <= np.maximum(0.0, 1 - used / part),
            formula=rf"\sum_{{u_i \in U_j}} {formula}\varepsilon",
        )
    return model


def lin(instance: Instance, *, services: bool = False, integer: bool = False) -> Model:
    """[LIN]: a_j + b_j <= 1. Contains LP1 for every epsilon; feasible for (P1)."""
    model = association("LIN", instance, services=services, integer=integer)
    both = instance.compute_load + instance.comm_load
    model.add(
        "LIN",
        per_server(model, instance, both) <= 1,
        formula=r"\sum_{u_i \in U_j} (\alpha_{ij} + \beta_{ij}) x_i^j \le 1",
    )
    return model


def share_of(instance: Instance, comm_share: float | None) -> float:
    """The communication share given, or the instance's.

    Raises:
        InputError: it is not in (0, 1).
    """
    share = instance.comm_share if comm_share is None else comm_share
    if not 0 < share < 1:
        raise InputError.of("comm_share", share, "a number in (0, 1)")
    return share


def optimum(model: Model) -> float:
    """Value of a linear program of this module.

    Raises:
        ModelError: it is not solved to proof.
    """
    solution = solve(model)
    if solution.status is not Status.OPTIMAL or solution.objective is None:
        raise ModelError(f"{model.name} ended {solution.status}: {solution.message}")
    return solution.objective
