"""LP1 and LP2: one communication share for all jobs; [LIN]: the linear model without one.

Restrictions of (5) and (22) in linear rows, resources eliminated. Relaxed they are neither bounds
on (5) and (22) nor feasible for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.drp.instance import Booleans, Instance
from formulations.drp.loads import visible
from formulations.drp.problem_5 import EQUATIONS as EQUATIONS_5
from formulations.drp.problem_5 import (
    PROBLEM_5,
    add_resources,
    association,
    holders,
    per_server,
)
from formulations.drp.problem_22 import EQUATIONS as EQUATIONS_22
from formulations.drp.problem_22 import PROBLEM_22, add_services
from formulations.drp.residual_capacity import Room, share_of
from optsched.errors import ModelError
from optsched.model import Model
from optsched.model.latex import ours
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
            formula=ours(rf"\sum_{{u_i \in U_j}} {formula}\varepsilon"),
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


def lp_literal(
    instance: Instance, *, services: bool = False, comm_share: Share | None = None
) -> Model:
    """LP1 under the paper's numbers, the resources as variables; with services LP2.

    Args:
        instance: the system.
        services: LP2 in place of LP1.
        comm_share: epsilon in (0, 1); None: the instance's.

    Raises:
        InputError: ``comm_share`` is out of range.
    """
    share = share_of(instance, comm_share)
    number = PROBLEM_22 if services else PROBLEM_5
    model = association(f"LP{2 if services else 1}, literal", instance, number)
    if services:
        add_services(model, instance)
    held = holders(instance, "job")
    compute, outbound = add_resources(model, instance, number, held)
    for name, part, given, load, formula in (
        ("12", share, outbound, instance.comm_load,
         r"D_j^k \chi_k h_k - \epsilon \tau_k E_k f_k r_{j,k}^b \le 0"),
        ("13", 1 - share, compute, instance.compute_load,
         r"D_j^k g_k \chi_k - (1 - \epsilon) \tau_k f_k r_{j,k}^c \le 0"),
    ):  # fmt: skip
        asked = (model["x"] * visible(load)).sum_by(held.of_pair, len(held.server))
        model.add(name, asked - given * part <= 0, formula=formula)
    return model.relax()


_SHARED = {
    "8": "`12` is (8) times r_jk^b and E_k f_k.", "9": "`13` is (9) times r_jk^c and f_k.",
    "10": "`12` is (10) times r_jk^b and E_k f_k.", "11": "`13` is (11) times r_jk^c and f_k.",
    "12": "12", "13": "13",
}  # fmt: skip
LP1_EQUATIONS = {
    **{letter: EQUATIONS_5[letter] for letter in ("5a", "5b", "5c", "5d", "5e", "5i")},
    "6": "y", "7": "x", **_SHARED,
}  # fmt: skip
"""Where the paper's statements are in LP1."""
LP2_EQUATIONS = {
    **{f"22{letter}": EQUATIONS_22[f"22{letter}"] for letter in "abcdefgl"},
    "23": "y", "24": "x", "25": "z", **_SHARED,
    "30": "The coefficients of a node in `12`, over epsilon times what a server has: `22g` adds "
    "them up.",
    "31": "The coefficients of a node in `13`, over 1 - epsilon times what a server has: `22f` "
    "adds them up.",
}  # fmt: skip
"""Where the paper's statements are in LP2."""


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
