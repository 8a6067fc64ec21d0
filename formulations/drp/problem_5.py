"""DRP: problem (5) under the paper's numbers, and with its deadline as a second-order cone.

A job is admitted (y_k) if each of its data nodes is associated (x_ij) with one server in reach and
every server can train its part of the data before the deadline.

Resources and times are in shares: of a server's capacity, of a job's deadline. Printed, the
deadline is rational: A D / r^c + B D / r^b <= tau. Multiplied out it would be satisfied by
r^c = r^b = 0 with D > 0; said by times with t r >= A D it is not.

Problem (22) has the same rows under other numbers; they are written here for both.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from formulations.drp.instance import Booleans, Floats, Instance, Integers
from formulations.drp.loads import visible
from formulations.drp.residual_capacity import Room
from optsched.errors import InputError
from optsched.instances.arrays import rank_within
from optsched.model import Model
from optsched.model.expression import Expression
from optsched.model.latex import ours
from optsched.problem import OBJECTIVE

Level = Literal["job", "node"]
"""Whether a server's resources are given to jobs, as in (5), or to data nodes, as in (22)."""


class Numbers(NamedTuple):
    """The numbers of the rows that (5) and (22) share."""

    problem: str
    nodes: str
    inbound: str
    compute: str
    outbound: str
    deadline: str


PROBLEM_5 = Numbers("5", "5b", "5c", "5d", "5e", "5f")
TIMES = {
    "1": "D_j^k is in `2` and `3` as the sum of d_i x_i^j.",
    "2": "2", "3": "3",
    "4": "t_jk is the sum of times in the deadline.",
}  # fmt: skip
"""Where times and amounts of data are, in shares of a server and of a deadline: a time may be more
than the work asks for, which gains nothing, and work is a sum of squares, as x is 0 or 1."""
EQUATIONS = {
    **TIMES, "5a": OBJECTIVE, "5b": "5b", "5c": "5c", "5d": "5d", "5e": "5e", "5f": "5f",
    "5g": "y", "5h": "x", "5i": "compute, outbound",
}  # fmt: skip
"""Where the paper's statements are in ``problem_5``."""


def problem_5(instance: Instance) -> Model:
    """(5) as printed, the deadline (5f) rational."""
    return add_times(association("problem (5)", instance), instance, PROBLEM_5)


def problem_5_cone(instance: Instance) -> Model:
    """(5) with (5f) as the second-order cone (C1), without any epsilon."""
    model = association("problem (5) as second-order cones", instance)
    return add_deadline_cones(model, instance, PROBLEM_5, holders(instance, "job"))


def association(
    name: str,
    instance: Instance,
    number: Numbers = PROBLEM_5,
    *,
    split: bool = False,
    allowed: Booleans | None = None,
    room: Room | None = None,
    full: bool = False,
) -> Model:
    """Objective, (5b) and (5c), which all models share.

    Variables: "y" of shape (jobs,), admissions, and "x" of shape (pairs,), associations.

    Args:
        name: of the model.
        instance: the system.
        number: of the rows.
        split: x may be fractions.
        allowed: pairs that may be used, shape (pairs,); None: all.
        room: what is taken of the servers already; None: nothing.
        full: let a variable "full" in [0, 1] stand for what is left of every capacity.
    """
    model = Model(name)
    y = model.binary("y", instance.num_jobs, formula="y_k")
    make = model.continuous if split else model.integer
    upper: ArrayLike = 1.0 if allowed is None else allowed.astype(float)
    x = make("x", instance.num_pairs, upper=upper, formula="x_i^j")
    model.maximize(y.sum(), formula=r"\sum_{\phi_k \in \Phi} y_k")
    model.add(
        number.nodes,
        x.sum_by(instance.pair_node, instance.num_data_nodes) - y[instance.node_job] == 0,
        formula=r"\sum_{v_j \in V_i} x_i^j = y_k, \quad u_i \in C_k",
    )
    left: Expression | ArrayLike = 1.0 if room is None else np.maximum(0.0, 1.0 - room.inbound)
    if full:
        left = model.continuous("full", upper=1)
    model.add(
        number.inbound,
        per_server(model, instance, instance.inbound_load) <= left,
        formula=r"\sum_{u_i \in U_j} x_i^j u_i^d \le r_j^d",
    )
    return model


def per_server(model: Model, instance: Instance, weights: Floats) -> Expression:
    """Sum of x weighted by pair, at each server; shape (servers,)."""
    return (model["x"] * visible(weights)).sum_by(instance.pair_server, instance.num_servers)


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


def add_times(model: Model, instance: Instance, number: Numbers) -> Model:
    """(5d) to (5f), with (2) and (3) for the times, which resources held by jobs give.

    (2) and (3) say that a time is at least work over resources; for binary x the work
    A_k D_jk is the sum of squares of sqrt(A_k d_i) x_ij, which makes both rows cones.
    """
    held = holders(instance, "job")
    compute, outbound = add_resources(model, instance, number, held)
    t_compute = model.continuous("time_compute", len(held.server), upper=1, formula=r"t^{cp}_{jk}")
    t_comm = model.continuous("time_comm", len(held.server), upper=1, formula=r"t^{cm}_{jk}")
    model.rotated_cone(
        t_compute, compute, _spread(model["x"] * visible(np.sqrt(instance.compute_load)), held),
        name="2", formula=ours(r"t^{cp}_{j,k} r_{j,k}^c \ge A_k D_j^k"),
    )  # fmt: skip
    model.rotated_cone(
        t_comm, outbound, _spread(model["x"] * visible(np.sqrt(instance.comm_load)), held),
        name="3", formula=ours(r"t^{cm}_{j,k} r_{j,k}^b \ge B_k D_j^k"),
    )  # fmt: skip
    model.add(number.deadline, t_compute + t_comm <= 1, formula=r"t_{j,k} \le \tau_k")
    return model


def add_deadline_cones(model: Model, instance: Instance, number: Numbers, held: Holders) -> Model:
    """(5d) to (5f) with the deadline as the cone (C1), exact and convex in x."""
    compute, outbound = add_resources(model, instance, number, held)
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
        formula=ours(
            r"(r^c - \frac{A}{\tau} D)(r^b - \frac{B}{\tau} D) \ge \frac{A B}{\tau^2} D^2"
        ),
    )
    return model


def add_resources(
    model: Model, instance: Instance, number: Numbers, held: Holders
) -> tuple[Expression, Expression]:
    """r^c and r^b as shares of the capacity, with (5d) and (5e)."""
    shares = []
    for name, row, symbol in (("compute", number.compute, "c"), ("outbound", number.outbound, "b")):
        share = model.continuous(name, len(held.server), upper=1, formula=f"r^{symbol}_{{j,k}}")
        formula = rf"\sum_{{\phi_k \in \Phi}} r^{symbol}_{{j,k}} \le r_j^{symbol}"
        model.add(
            row,
            share.sum_by(held.server, instance.num_servers) <= 1,
            formula=formula if number is PROBLEM_5 else ours(formula),  # (22) has them by node
        )
        shares.append(share)
    return shares[0], shares[1]


def _spread(values: Expression, held: Holders) -> Expression:
    """Values over pairs as a table, a row per holder, zeros to the right."""
    place = rank_within(held.of_pair)
    width = int(place.max()) + 1
    count = len(held.server)
    return values.sum_by(held.of_pair * width + place, count * width).reshape(count, width)
