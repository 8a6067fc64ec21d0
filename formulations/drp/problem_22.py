"""DSRP: problem (22), in which a server trains a job only if it holds the job's service."""

from __future__ import annotations

from formulations.drp import fixed_share, projected, relaxation
from formulations.drp.extended import Level, cones, printed
from formulations.drp.instance import Instance
from optsched.model import Model
from optsched.solvers.options import Options
from optsched.solvers.solution import Solution


def problem_22(instance: Instance) -> Model:
    """(22) as printed, with r_jk for the sum of r_ij over the nodes of job k."""
    return printed(instance, services=True)


def problem_22_cone(instance: Instance, *, level: Level = "job") -> Model:
    """(22) with (22h) as the cone (C1), resources held per job or per data node.

    Raises:
        InputError: no such level.
    """
    return cones(instance, services=True, level=level)


def problem_22_projected(
    instance: Instance,
    *,
    angles: int = projected.ANGLES,
    covers: bool = True,
) -> Model:
    """[P5]: resources eliminated, (P1) per server; see ``projected.projected``."""
    return projected.projected(instance, services=True, angles=angles, covers=covers)


def dsrp_eps(instance: Instance, *, comm_share: float | None = None) -> Model:
    """(22) with one communication share in place of (22h), binary."""
    return fixed_share.lp1(instance, services=True, comm_share=comm_share, integer=True)


def dsrp_lin(instance: Instance) -> Model:
    """(22) with a_j + b_j <= 1 in place of (22f) to (22h), binary."""
    return fixed_share.lin(instance, services=True, integer=True)


def lp2(instance: Instance, *, comm_share: float | None = None) -> Model:
    """LP2, (23) to (31)."""
    return fixed_share.lp1(instance, services=True, comm_share=comm_share)


def lin_services(instance: Instance) -> Model:
    """[LIN] with services."""
    return fixed_share.lin(instance, services=True)


def soc_services(
    instance: Instance,
    *,
    tolerance: float = relaxation.TOLERANCE,
    options: Options | None = None,
) -> Solution:
    """The second-order-cone relaxation of (22)."""
    return relaxation.soc_relaxation(instance, services=True, tolerance=tolerance, options=options)
