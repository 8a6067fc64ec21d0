"""(5) and (22) with their resource variables, as printed and as second-order cones.

Resources and times are in shares: of a server's capacity, of a job's deadline. Printed, the
deadline is rational: A D / r^c + B D / r^b <= tau. Multiplied out it would be satisfied by
r^c = r^b = 0 with D > 0; said by times with t r >= A D it is not.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from formulations.drp.association import association, numbers
from formulations.drp.instance import Instance, Integers
from formulations.drp.loads import visible
from optsched.arrays import rank_within
from optsched.errors import InputError
from optsched.model import Model
from optsched.model.expression import Expression

Level = Literal["job", "node"]
"""Whether a server's resources are given to jobs, as in (5), or to data nodes, as in (22)."""


class Holders(NamedTuple):
    """Who holds resources: jobs on servers, or nodes on servers."""

    server: Integers
    """Shape (holders,)."""
    of_pair: Integers
    """Holder of each pair, shape (pairs,)."""


def holders(instance: Instance, level: Level) -> Holders:
    """Those of a level.

    Raises:
        InputError: no such level.
    """
    if level == "node":
        return Holders(instance.pair_server, np.arange(instance.num_pairs))
    if level != "job":
        raise InputError.of("level", level, "job or node")
    key = instance.pair_job * instance.num_servers + instance.pair_server
    keys, of_pair = np.unique(key, return_inverse=True)
    return Holders(keys % instance.num_servers, of_pair)


def printed(instance: Instance, *, services: bool = False) -> Model:
    """(5), or (22) with resources summed over the nodes of a job.

    (2) and (3) say that a time is at least work over resources; for binary x the work
    A_k D_jk is the sum of squares of sqrt(A_k d_i) x_ij, which makes both rows cones.
    """
    number = numbers(services)
    model = association("problem (22)" if services else "problem (5)", instance, services=services)
    held = holders(instance, "job")
    compute, outbound = _resources(model, instance, held, number.compute, number.outbound)
    t_compute = model.continuous("time_compute", len(held.server), upper=1, formula=r"t^{cp}_{jk}")
    t_comm = model.continuous("time_comm", len(held.server), upper=1, formula=r"t^{cm}_{jk}")
    for name, time, resource, load in (
        ("2", t_compute, compute, instance.compute_load),
        ("3", t_comm, outbound, instance.comm_load),
    ):
        model.rotated_cone(
            time,
            resource,
            _spread(model["x"] * visible(np.sqrt(load)), held),
            name=name,
            formula=r"t^{cp}_{j,k} r_{j,k}^c \ge A_k D_{j,k}"
            if name == "2"
            else r"t^{cm}_{j,k} r_{j,k}^b \ge B_k D_{j,k}",
        )
    model.add(number.deadline, t_compute + t_comm <= 1, formula=r"t_{j,k} \le \tau_k")
    return model


def cones(
    instance: Instance,
    *,
    services: bool = False,
    level: Level = "job",
    integer: bool = True,
) -> Model:
    """The same with the deadline as the cone (C1), exact and convex in x.

    Args:
        instance: the system.
        services: (22) in place of (5).
        level: one cone per job and server, or per node and server: both have the same optima.
        integer: False relaxes x, y and z.

    Raises:
        InputError: no such level.
    """
    number = numbers(services)
    name = f"problem ({22 if services else 5}) as second-order cones"
    model = association(name, instance, services=services, integer=integer)
    held = holders(instance, level)
    compute, outbound = _resources(model, instance, held, number.compute, number.outbound)
    asked = [
        (model["x"] * visible(load)).sum_by(held.of_pair, len(held.server))
        for load in (instance.compute_load, instance.comm_load, instance.cross_load)
    ]
    # the cone in variables of its own, which SCIP recognises and solves more reliably
    parts = [
        model.continuous(part, len(held.server), upper=1)
        for part in ("more_compute", "more_outbound")
    ]
    model.add("C1:compute", compute - asked[0] >= parts[0])
    model.add("C1:outbound", outbound - asked[1] >= parts[1])
    cross = model.continuous("cross", len(held.server), upper=1)
    model.add("C1:cross", cross == asked[2])
    model.rotated_cone(
        parts[0],
        parts[1],
        cross,
        name=number.deadline,
        formula=r"(r^c - \frac{A}{\tau} D)(r^b - \frac{B}{\tau} D) \ge \frac{A B}{\tau^2} D^2",
    )
    return model


def _resources(
    model: Model, instance: Instance, held: Holders, compute: str, outbound: str
) -> tuple[Expression, Expression]:
    """r^c and r^b as shares of the capacity, with their capacity rows."""
    shares = []
    for name, number, symbol in (("compute", compute, "c"), ("outbound", outbound, "b")):
        share = model.continuous(name, len(held.server), upper=1, formula=f"r^{symbol}_{{j,k}}")
        model.add(
            number,
            share.sum_by(held.server, instance.num_servers) <= 1,
            formula=rf"\sum r^{symbol}_{{j,k}} \le r_j^{symbol}",
        )
        shares.append(share)
    return shares[0], shares[1]


def _spread(values: Expression, held: Holders) -> Expression:
    """Values over pairs as a table, a row per holder, zeros to the right."""
    place = rank_within(held.of_pair)
    width = int(place.max()) + 1
    count = len(held.server)
    return values.sum_by(held.of_pair * width + place, count * width).reshape(count, width)
