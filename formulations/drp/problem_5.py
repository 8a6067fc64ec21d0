"""DRP: problem (5) and what the paper and its exact reformulation make of it.

A job is admitted (y_k) if each of its data nodes is associated (x_ij) with one server in reach and
every server can train its part of the data before the deadline.
"""

from __future__ import annotations

from formulations.drp import fixed_share, projected, relaxation
from formulations.drp.extended import cones, printed
from formulations.drp.instance import Instance
from optsched.model import Model
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution


def problem_5(instance: Instance) -> Model:
    """(5) as printed, the deadline (5f) rational: A D / r^c + B D / r^b <= tau."""
    return printed(instance)


def problem_5_cone(instance: Instance) -> Model:
    """(5) with (5f) as the second-order cone (C1), without any epsilon."""
    return cones(instance)


def problem_5_projected(
    instance: Instance,
    *,
    angles: int = projected.ANGLES,
    covers: bool = True,
) -> Model:
    """[P4]: resources eliminated, (P1) per server; see ``projected.projected``."""
    return projected.projected(instance, angles=angles, covers=covers)


def drp_eps(instance: Instance, *, comm_share: float | None = None) -> Model:
    """(5) with (12) and (13) in place of (5f), binary: what R-DR approximates."""
    return fixed_share.lp1(instance, comm_share=comm_share, integer=True)


def drp_lin(instance: Instance) -> Model:
    """(5) with a_j + b_j <= 1 in place of (5d) to (5f), binary."""
    return fixed_share.lin(instance, integer=True)


def lp1(instance: Instance, *, comm_share: float | None = None) -> Model:
    """LP1, (6) to (13)."""
    return fixed_share.lp1(instance, comm_share=comm_share)


def lin(instance: Instance) -> Model:
    """[LIN], the replacement of LP1 without a parameter."""
    return fixed_share.lin(instance)


def soc(
    instance: Instance,
    *,
    tolerance: float = relaxation.TOLERANCE,
    options: Options | None = None,
) -> Solution:
    """[P3]: the relaxation that bounds (5)."""
    return relaxation.soc_relaxation(instance, tolerance=tolerance, options=options)
