"""LP1 and LP2: one communication share for all jobs; [LIN]: the linear model without one.

Restrictions of (5) and (22) in linear rows, resources eliminated. Relaxed they are neither bounds
on (5) and (22) nor feasible for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.drp.instance import Booleans, Instance
from formulations.drp.problem_5 import PROBLEM_5, association, per_server
from formulations.drp.problem_22 import PROBLEM_22, add_services
from formulations.drp.residual_capacity import Room, share_of
from optsched.errors import ModelError
from optsched.model import Model
from optsched.problem import Bound
from optsched.problem.calls import Share
from optsched.solve import solve
from optsched.solvers.solution import Status


def fixed_share(
    instance: Instance,
    *,
    services: bool = False,
    comm_share: Share | None = None,
    allowed: Booleans | None = None,
    room: Room | None = None,
) -> Model:
    """(5) with (12) and (13) in place of (5f); with services (22) with (30) and (31).

    Args:
        instance: the system.
        services: (22) in place of (5).
        comm_share: epsilon in (0, 1); None: the instance's.
        allowed: pairs that may be used, shape (pairs,); None: all.
        room: what is taken of the servers already; None: nothing.

    Raises:
        InputError: ``comm_share`` is out of range.
    """
    share = share_of(instance, comm_share)
    number = PROBLEM_22 if services else PROBLEM_5
    name = f"problem ({number.problem}), one communication share"
    model = association(name, instance, number, allowed=allowed, room=room)
    if services:
        add_services(model, instance)
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


def drp_eps(instance: Instance, *, comm_share: Share | None = None) -> Model:
    """(5) with one communication share: what R-DR approximates."""
    return fixed_share(instance, comm_share=comm_share)


def dsrp_eps(instance: Instance, *, comm_share: Share | None = None) -> Model:
    """(22) with one communication share."""
    return fixed_share(instance, services=True, comm_share=comm_share)


def lp1(instance: Instance, *, comm_share: Share | None = None) -> Model:
    """LP1, (6) to (13)."""
    return drp_eps(instance, comm_share=comm_share).relax()


def lp2(instance: Instance, *, comm_share: Share | None = None) -> Model:
    """LP2, (23) to (31)."""
    return dsrp_eps(instance, comm_share=comm_share).relax()


def drp_lin(instance: Instance) -> Model:
    """(5) with a_j + b_j <= 1 in place of (5d) to (5f): contains ``drp_eps`` for every epsilon."""
    return _add_lin(association("problem (5), linear", instance), instance)


def dsrp_lin(instance: Instance) -> Model:
    """(22) with a_j + b_j <= 1 in place of (22f) to (22h)."""
    model = association("problem (22), linear", instance, PROBLEM_22)
    return _add_lin(add_services(model, instance), instance)


def lin(instance: Instance) -> Model:
    """[LIN], the replacement of LP1 without a parameter."""
    return drp_lin(instance).relax()


def lin_services(instance: Instance) -> Model:
    """[LIN] with services."""
    return dsrp_lin(instance).relax()


def _add_lin(model: Model, instance: Instance) -> Model:
    both = instance.compute_load + instance.comm_load
    model.add(
        "LIN",
        per_server(model, instance, both) <= 1,
        formula=r"\sum_{u_i \in U_j} (\alpha_{ij} + \beta_{ij}) x_i^j \le 1",
    )
    return model


def optimum(model: Model) -> float:
    """Value of a linear program of this module.

    Raises:
        ModelError: it is not solved to proof.
    """
    solution = solve(model)
    if solution.status is not Status.OPTIMAL or solution.objective is None:
        raise ModelError(f"{model.name} ended {solution.status}: {solution.message}")
    return solution.objective


def yardstick(model: Callable[[Instance], Model], source: str, summary: str) -> Bound:
    """The value of a linear program with which the paper compares, and which bounds nothing."""
    name = model.__name__
    return Bound(name, lambda instance: optimum(model(instance)), source, summary, proven=False)


LP2 = yardstick(lp2, "LP2, (23) to (31)", "the paper's yardstick; no bound on (22)")
